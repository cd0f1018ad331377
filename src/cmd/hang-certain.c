/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living ranks that wait for each other for certain. What a rank wants is known if all arguments of
 * its call could be read, and the communicator is MPI_COMM_WORLD. That it has not been sent, and
 * is not on its way, is told by time: none of them has come out of its call, while each has looked
 * for messages much longer than it takes to move all that they have in memory: of operations that
 * were begun before, nothing is known. So all of them were in these calls at the same time, and
 * still are. A rank with other threads of the program may be helped by these; and a
 * barrier by ranks that compute.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/hang.h"
#include "symbol/process.h"
#include "symbol/watch.h"
#include "trace/events.h"

#define MPICH_WORLD 0x44000000
#define MPICH_TYPE 0x4c /* first byte of a predefined one; its size is the third */
#define MOST_OF_TYPE 32 /* bytes of a predefined one of Open MPI */
#define RANKS_MOST 65536

#define WATCHED 1.0   /* seconds by the clock */
#define LOOKED 0.25   /* seconds of the processor, for each rank, */
#define PER_BYTE 1e-8 /* and more for each byte that may be on its way */
#define LONGEST 60.0  /* seconds by the clock */
#define PACE 5.0      /* after so many of them it is plain whether that will do */

struct stand {
	unsigned rank;
	int pid;
	struct symbol_standing s;
	bool alone;   /* no other thread is the program's */
	bool world;   /* the call is on MPI_COMM_WORLD */
	double bytes; /* of the message at most; less than 0: not known */
	int watch;    /* descriptor, or -1 */
	uint64_t pc;  /* that is watched */
	double base;  /* what it had run when all were watched */
};

struct finding {
	struct graph_stuck *stuck;
	struct stand *at;
	size_t n;
	bool whole; /* all ranks of the program are in calls of MPI, each with one thread */
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool is_call(const struct stand *a, const char *name)
{
	return a->s.call && strcmp(a->s.call, name) == 0;
}

static bool is_in_mpi(const struct stand *a)
{
	return a->s.call && strncmp(a->s.call, "MPI_", 4) == 0;
}

static bool is_world(int pid, uint64_t comm)
{
	char *name = symbol_process_variable(pid, comm);
	bool is = name ? strcmp(name, "ompi_mpi_comm_world") == 0 : comm == MPICH_WORLD;

	free(name);
	return is;
}

static double size_of_type(int pid, uint64_t type)
{
	char *name = symbol_process_variable(pid, type);
	double size = -1;

	if (name && strncmp(name, "ompi_mpi_", 9) == 0 && !strchr(name, '+'))
		size = MOST_OF_TYPE;
	else if (!name && type >> 24 == MPICH_TYPE)
		size = (double)(type >> 8 & 0xff);
	free(name);
	return size;
}

/* A count that is less than 0 is an error, and no wait. */
static double bytes_of(const struct stand *a)
{
	double size;

	if (!a->s.known[SYMBOL_COUNT] || !a->s.known[SYMBOL_TYPE])
		return is_call(a, "MPI_Probe") || is_call(a, "MPI_Mprobe") ? 0 : -1;
	size = size_of_type(a->pid, a->s.word[SYMBOL_TYPE]);
	return size < 0 ? -1 : size * (int32_t)a->s.word[SYMBOL_COUNT];
}

static void forget(struct stand *a)
{
	free(a->s.call);
	free(a->s.place);
	a->s = (struct symbol_standing){0};
}

static void look(struct stand *a)
{
	struct symbol_process *p = symbol_process_open(a->pid);

	forget(a);
	if (p && symbol_process_look_closely(p, a->pid, a->alone, &a->s) != 0)
		a->s = (struct symbol_standing){0};
	symbol_process_close(p);
	a->world = a->s.known[SYMBOL_COMM] && is_world(a->pid, a->s.word[SYMBOL_COMM]);
	a->bytes = bytes_of(a);
}

static const struct stand *find(const struct finding *f, int64_t rank)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->at[i].rank == rank)
			return &f->at[i];
	}
	return NULL;
}

static void need(struct graph_wish *w, unsigned rank)
{
	w->whom = rp_widen(w->whom, w->whoms, w->whoms + 1, sizeof(*w->whom));
	w->whom[w->whoms++] = rank;
}

/* Who is in another call has not entered: else all have, and whoever is inside comes out. */
static bool wish_for_all(const struct finding *f, struct graph_wish *w)
{
	if (!f->whole)
		return false;
	for (size_t i = 0; i < f->n; i++) {
		if (is_call(&f->at[i], "MPI_Barrier") && !f->at[i].world)
			return false;
	}
	w->need = GRAPH_NEED_ALL;
	w->peer = TRACE_NO_PEER;
	for (size_t i = 0; i < f->n; i++) {
		if (!is_call(&f->at[i], "MPI_Barrier"))
			need(w, f->at[i].rank);
	}
	return true;
}

static bool is_receive(const struct stand *a)
{
	return is_call(a, "MPI_Recv") || is_call(a, "MPI_Probe") || is_call(a, "MPI_Mprobe");
}

static bool is_send(const struct stand *a)
{
	return is_call(a, "MPI_Send") || is_call(a, "MPI_Ssend");
}

/* False: it is not known, or may be had of several. */
static bool find_wish(const struct finding *f, const struct stand *a, struct graph_wish *w)
{
	int32_t peer = (int32_t)a->s.word[SYMBOL_PEER];

	*w = (struct graph_wish){0};
	if (!a->alone || !a->world)
		return false;
	if (is_call(a, "MPI_Barrier"))
		return wish_for_all(f, w);
	if ((!is_receive(a) && !is_send(a)) || !a->s.known[SYMBOL_PEER] ||
	    !a->s.known[SYMBOL_TAG] || a->bytes < 0 || peer < 0 || !find(f, peer))
		return false;
	w->need = is_send(a) ? GRAPH_NEED_TAKER : GRAPH_NEED_MESSAGE;
	w->peer = peer;
	w->tag = (int32_t)a->s.word[SYMBOL_TAG];
	need(w, (unsigned)peer);
	return true;
}

static const struct graph_wish *wish_of(const struct graph_stuck *s, unsigned rank)
{
	for (size_t i = 0; i < s->ops; i++) {
		if (s->op[i].rank == rank)
			return s->op[i].wishes ? s->op[i].wish : NULL;
	}
	return NULL;
}

/* The one sends what the other receives. */
static bool meet(const struct graph_stuck *s, unsigned rank, const struct graph_wish *w)
{
	const struct graph_wish *other =
		w->need == GRAPH_NEED_ALL ? NULL : wish_of(s, (unsigned)w->peer);

	if (!other || other->peer != (int32_t)rank)
		return false;
	return w->need == GRAPH_NEED_TAKER
		       ? graph_wish_admits(other, rank, w->tag, 0)
		       : other->need == GRAPH_NEED_TAKER &&
				 graph_wish_admits(w, (unsigned)w->peer, other->tag, 0);
}

static void judge(struct finding *f)
{
	struct graph_stuck *s = f->stuck;

	graph_stuck_free(s);
	for (size_t i = 0; i < f->n; i++) {
		if (f->at[i].rank >= s->ranks)
			s->ranks = f->at[i].rank + 1;
	}
	s->standing = rp_alloc(s->ranks + 1, sizeof(*s->standing));
	s->op = rp_alloc(f->n + 1, sizeof(*s->op));
	for (size_t i = 0; i < f->n; i++) {
		struct graph_stuck_op *op = &s->op[s->ops];
		struct graph_wish wish;

		if (!is_in_mpi(&f->at[i]))
			continue;
		*op = (struct graph_stuck_op){.rank = f->at[i].rank};
		if (find_wish(f, &f->at[i], &wish)) {
			op->wish = rp_alloc(1, sizeof(wish));
			op->wish[op->wishes++] = wish;
		}
		s->ops++;
	}
	for (size_t i = 0; i < s->ops; i++) {
		for (size_t k = 0; k < s->op[i].wishes; k++)
			s->op[i].wish[k].on_its_way = meet(s, s->op[i].rank, &s->op[i].wish[k]);
	}
	graph_stuck_judge(s);
}

static bool is_stuck(const struct finding *f, const struct stand *a)
{
	return f->stuck->standing[a->rank] == GRAPH_STUCK;
}

static void look_at_all(struct finding *f, int world)
{
	f->whole = (int)f->n == world;
	for (size_t i = 0; i < f->n; i++) {
		look(&f->at[i]);
		f->whole = f->whole && f->at[i].alone && is_in_mpi(&f->at[i]);
	}
	judge(f);
}

/* 0 or -errno. */
static int watch_stuck(struct finding *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct stand *a = &f->at[i];

		if (!is_stuck(f, a))
			continue;
		a->pc = a->s.pc;
		a->watch = symbol_watch_open(a->pid, a->pc);
		if (a->watch < 0)
			return a->watch;
	}
	return 0;
}

/* They are where they are watched; what they did before counts no more. */
static bool begin_watch(struct finding *f)
{
	uint64_t times;

	for (size_t i = 0; i < f->n; i++) {
		struct stand *a = &f->at[i];

		if (is_stuck(f, a) && (a->watch < 0 || a->s.pc != a->pc ||
				       !symbol_watch_read(a->watch, &times, &a->base) || times))
			return false;
	}
	return true;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Bytes that the process has in memory. */
static double resident(int pid)
{
	char *path = rp_format("/proc/%d/statm", pid);
	FILE *file = fopen(path, "re");
	double pages;

	if (!file || fscanf(file, "%*s %lf", &pages) != 1)
		pages = INFINITY;
	if (file)
		fclose(file);
	free(path);
	return pages * (double)sysconf(_SC_PAGESIZE);
}

/* Seconds that each has to look for. */
static double needed(const struct finding *f)
{
	double bytes = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct stand *a = &f->at[i];

		if (is_stuck(f, a))
			bytes = larger(bytes, larger(a->bytes, resident(a->pid)));
	}
	return LOOKED + bytes * PER_BYTE;
}

/* The least that one of them has looked for; false: somebody has come out. */
static bool have_looked(const struct finding *f, double *least)
{
	*least = INFINITY;
	for (size_t i = 0; i < f->n; i++) {
		const struct stand *a = &f->at[i];
		uint64_t times;
		double seconds;

		if (!is_stuck(f, a))
			continue;
		if (!symbol_watch_read(a->watch, &times, &seconds) || times)
			return false;
		if (seconds - a->base < *least)
			*least = seconds - a->base;
	}
	return true;
}

/* Nobody comes out, and all have looked for messages for long enough. */
static bool await(const struct finding *f, bool *gave_up)
{
	static const struct timespec nap = {0, 50000000};
	double begun = now(), passed, least;

	do {
		nanosleep(&nap, NULL);
		if (!have_looked(f, &least))
			return false;
		passed = now() - begun;
		if (passed > WATCHED && least > needed(f))
			return true;
	} while (passed < PACE || least * LONGEST > needed(f) * passed);
	*gave_up = true;
	return false;
}

static bool take_ranks(struct finding *f, const struct cmd_hang *h)
{
	f->at = rp_alloc(h->ranks + 1, sizeof(*f->at));
	for (size_t i = 0; i < h->ranks; i++) {
		struct stand *a = &f->at[f->n++];

		*a = (struct stand){.rank = h->rank[i].rank, .pid = h->rank[i].pid, .watch = -1};
		a->alone = cmd_hang_threads_of(h, a->rank) == 1;
		/* Of programs that were started by others there may be several of that number. */
		if (a->rank >= RANKS_MOST || find(f, a->rank) != a)
			return false;
	}
	return true;
}

static void keep_stood(struct cmd_hang *h, const struct finding *f)
{
	h->stood_ranks = h->stuck.ranks;
	h->stood = rp_alloc(h->stood_ranks + 1, sizeof(*h->stood));
	for (size_t i = 0; i < f->n; i++) {
		const struct stand *a = &f->at[i];

		if (is_stuck(f, a))
			h->stood[a->rank] = rp_format("%s%s", a->s.call, a->s.place);
	}
}

static bool any_in_mpi(const struct cmd_hang *h)
{
	for (size_t i = 0; i < h->ranks; i++) {
		if (cmd_hang_is_in_mpi(cmd_hang_main(h, h->rank[i].rank)))
			return true;
	}
	return false;
}

void cmd_hang_find_certain(struct cmd_hang *h, int world)
{
	struct finding f = {.stuck = &h->stuck};
	bool certain = false;

	/* Nobody is stopped once more for nothing. */
	if (any_in_mpi(h) && take_ranks(&f, h))
		look_at_all(&f, world);
	if (h->stuck.cycles)
		h->unwatched = watch_stuck(&f);
	if (h->stuck.cycles && !h->unwatched) {
		look_at_all(&f, world);
		certain = h->stuck.cycles && begin_watch(&f) && await(&f, &h->gave_up);
	}
	if (certain)
		keep_stood(h, &f);
	else
		graph_stuck_free(&h->stuck);
	for (size_t i = 0; i < f.n; i++) {
		forget(&f.at[i]);
		if (f.at[i].watch >= 0)
			close(f.at[i].watch);
	}
	free(f.at);
}
