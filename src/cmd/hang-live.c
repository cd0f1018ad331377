/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that hang now. Ranks are found below their launcher by what it tells them in their
 * environment; their threads are stopped for a moment each. What a rank wants of which other one is
 * to be seen from outside only where the arguments of its call can be read (hang-certain.c); locks
 * are, by the word that the kernel is asked to wait on.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/hang.h"
#include "symbol/process.h"

#define MOST 65536

static char *read_proc(int pid, const char *what, size_t *n)
{
	char *path = rp_format("/proc/%d/%s", pid, what), *text = rp_alloc(1, MOST);
	FILE *file = fopen(path, "re");

	*n = file ? fread(text, 1, MOST - 1, file) : 0;
	if (file)
		fclose(file);
	free(path);
	return text;
}

static int parent_of(int pid)
{
	size_t n;
	char *text = read_proc(pid, "stat", &n), *end = strrchr(text, ')');
	int parent = 0;

	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		parent = 0;
	free(text);
	return parent;
}

static bool is_below(int pid, int ancestor)
{
	for (int steps = 0; pid > 1 && steps < 64; steps++, pid = parent_of(pid)) {
		if (pid == ancestor)
			return true;
	}
	return false;
}

/* The number that the environment of the process has under one of these names; -1: none. */
static int number_of(int pid, const char *const names[], size_t n_names)
{
	size_t n;
	char *text = read_proc(pid, "environ", &n);
	int number = -1;

	for (size_t i = 0; i < n_names && number < 0; i++) {
		for (const char *p = text; p < text + n && number < 0; p += strlen(p) + 1) {
			if (strncmp(p, names[i], strlen(names[i])) == 0)
				number = atoi(p + strlen(names[i]));
		}
	}
	free(text);
	return number;
}

/* As the launchers write it; -1: it is no rank. */
static int rank_of(int pid)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="};

	return number_of(pid, names, sizeof(names) / sizeof(names[0]));
}

/* How many there are of all hosts. */
static int size_of(int pid)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE=", "PMI_SIZE=", "SLURM_NTASKS="};

	return number_of(pid, names, sizeof(names) / sizeof(names[0]));
}

/* The word that the thread waits on in the kernel, or 0. */
static uint64_t futex_of(int pid, int tid)
{
	char *what = rp_format("task/%d/syscall", tid), *text;
	unsigned long address = 0;
	long call = -1;
	size_t n;

	text = read_proc(pid, what, &n);
	if (sscanf(text, "%ld 0x%lx", &call, &address) != 2 || call != SYS_futex)
		address = 0;
	free(what);
	free(text);
	return address;
}

/*
 * glibc: a mutex begins with the word that is waited on, and its owner is at 8. A condition has two
 * such words, at 40 and 44. A join waits for the word that holds the other's number to be cleared.
 */
static void find_object(struct replay_seen *s, int pid, uint64_t word)
{
	int32_t other = 0;

	if (!word)
		return;
	s->object = word;
	if (strstr(s->call, "cond_"))
		s->cond = word - (word % 8 ? 44 : 40);
	else if (strstr(s->call, "join") && !symbol_process_read(pid, word, &other, sizeof(other)))
		other = 0;
	else if (strstr(s->call, "mutex_") &&
		 !symbol_process_read(pid, word + 8, &other, sizeof(other)))
		other = 0;
	if (other > 0)
		s->holder = rp_format("%d", other);
}

/* In the numbers of its communicator. What is less than 0 has a meaning of its own, which is
   another one in each MPI. */
static char *partner_of(const struct symbol_standing *s)
{
	int32_t peer = (int32_t)s->word[SYMBOL_PEER], tag = (int32_t)s->word[SYMBOL_TAG];
	char *with, *text;

	if (!s->known[SYMBOL_PEER] || peer < 0)
		return NULL;
	with = s->known[SYMBOL_TAG] && tag >= 0 ? rp_format(", tag %" PRId32, tag) : rp_strdup("");
	text = rp_format("rank %" PRId32 " of its communicator%s", peer, with);
	free(with);
	return text;
}

static bool is_gone(int pid, int tid)
{
	char *path = rp_format("/proc/%d/task/%d", pid, tid);
	bool gone = access(path, F_OK) != 0;

	free(path);
	return gone;
}

static void add_seen(struct cmd_hang *h, const struct replay_seen *seen)
{
	h->look.seen = rp_widen(h->look.seen, h->look.n, h->look.n + 1, sizeof(*h->look.seen));
	h->look.seen[h->look.n++] = *seen;
}

/*
 * MPI has threads of its own, which are left out. But one of which that is not sure may be the
 * program's, and do anything. False if it could not be looked at.
 */
static bool add_thread(struct cmd_hang *h, struct symbol_process *p, unsigned rank, int pid,
		       int tid, bool alone)
{
	struct replay_seen seen = {.rank = rank};
	struct symbol_standing s = {0};
	/* Having been looked at, it is not there again at once. */
	uint64_t word = futex_of(pid, tid);
	int rc = symbol_process_look_closely(p, tid, alone, &s);

	if (rc != 0 && (tid == pid || is_gone(pid, tid)))
		return false;
	if (tid != pid && s.foreign) {
		free(s.call);
		free(s.place);
		return true;
	}
	if (rc != 0 || !s.place[0]) {
		free(s.place);
		s.place = rp_strdup(rc ? " (it cannot be looked at)"
				       : " (nothing of the program is seen on its stack)");
	}
	seen.thread = rp_format("%d", tid);
	seen.call = s.call;
	seen.place = s.place;
	seen.partner = partner_of(&s);
	if (seen.call) {
		find_object(&seen, pid, word);
		seen.variable = replay_look_variable(pid, &seen);
	}
	add_seen(h, &seen);
	return rc == 0;
}

struct threads {
	int *tid;
	size_t n, held;
};

static bool knows(const struct threads *t, int tid)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->tid[i] == tid)
			return true;
	}
	return false;
}

/* Those that are not known yet. */
static void add_threads(struct cmd_hang *h, struct symbol_process *p, unsigned rank, int pid,
			struct threads *t)
{
	char *path = rp_format("/proc/%d/task", pid);
	DIR *dir = opendir(path);
	struct dirent *entry;

	free(path);
	while (dir && (entry = readdir(dir))) {
		int tid = atoi(entry->d_name);

		if (tid <= 0 || tid == pid || knows(t, tid))
			continue;
		t->held += add_thread(h, p, rank, pid, tid, false);
		t->tid = rp_widen(t->tid, t->n, t->n + 1, sizeof(*t->tid));
		t->tid[t->n++] = tid;
	}
	if (dir)
		closedir(dir);
}

/* The main thread was looked at last, and comes first. */
static void put_first(struct cmd_hang *h, size_t at)
{
	struct replay_seen main = h->look.seen[h->look.n - 1];

	memmove(&h->look.seen[at + 1], &h->look.seen[at],
		(h->look.n - 1 - at) * sizeof(*h->look.seen));
	h->look.seen[at] = main;
}

/* What others may have changed is not read; nor by one that came since. */
static void add_all(struct cmd_hang *h, struct symbol_process *p, unsigned rank, int pid,
		    struct threads *t)
{
	size_t first = h->look.n, others;

	add_threads(h, p, rank, pid, t);
	others = h->look.n;
	if (!add_thread(h, p, rank, pid, pid, others == first))
		return;
	t->held++;
	put_first(h, first);
	others = h->look.n;
	add_threads(h, p, rank, pid, t);
	if (h->look.n == others)
		return;
	free(h->look.seen[first].partner);
	h->look.seen[first].partner = NULL;
}

/* False if that cannot be done; errno may say why. */
static bool add_rank(struct cmd_hang *h, unsigned rank, int pid)
{
	struct symbol_process *p = symbol_process_open(pid);
	struct threads t = {0};

	if (p)
		add_all(h, p, rank, pid, &t);
	symbol_process_close(p);
	free(t.tid);
	if (t.held) {
		h->rank = rp_widen(h->rank, h->ranks, h->ranks + 1, sizeof(*h->rank));
		h->rank[h->ranks++] = (struct cmd_hang_rank){rank, pid};
	}
	return t.held;
}

static int by_rank(const void *a, const void *b)
{
	const struct cmd_hang_rank *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool is_reprise(int pid)
{
	size_t n;
	char *text = read_proc(pid, "comm", &n);
	bool is = strcmp(text, "reprise\n") == 0;

	free(text);
	return is;
}

/* Of a rank that is a script, the program below it is the one. */
static bool has_rank_below(int pid, int rank, const int *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (parent_of(all[i]) == pid && rank_of(all[i]) == rank)
			return true;
	}
	return false;
}

/* Without ranks: the process itself, or what we run for it. */
static int program_of(int pid, const int *all, size_t n)
{
	for (size_t i = 0; i < n && is_reprise(pid); i++) {
		if (parent_of(all[i]) == pid)
			return all[i];
	}
	return pid;
}

/* 0, or the process that could not be looked at. */
static int look_at_all(struct cmd_hang *h, const struct cmd_hang_rank *found, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!add_rank(h, found[i].rank, found[i].pid))
			return found[i].pid;
	}
	return 0;
}

static int look_first(struct cmd_hang *h, const struct cmd_hang_rank *found, size_t n)
{
	int failed = look_at_all(h, found, n);

	if (!failed)
		return 0;
	rp_say("cannot look at process %d: %s", failed,
	       errno == EPERM || errno == EACCES ? "it may not be traced (is it another user's?)"
						 : "it has ended, or a debugger holds it");
	return RP_EXIT_BAD_INPUT;
}

/* They may have come where they are since. If one has gone, what was seen before has to do. */
static void look_again(struct cmd_hang *h, const struct cmd_hang_rank *found, size_t n)
{
	struct replay_look look = h->look;
	struct cmd_hang_rank *rank = h->rank;
	size_t ranks = h->ranks;
	int failed;

	h->look = (struct replay_look){0};
	h->rank = NULL;
	h->ranks = 0;
	failed = look_at_all(h, found, n);
	if (!failed) {
		cmd_hang_confirm(h);
	} else {
		struct replay_look part = h->look;
		struct cmd_hang_rank *partial = h->rank;

		rp_say("process %d has ended meanwhile; this is how it was before", failed);
		cmd_hang_doubt(h);
		h->look = look;
		h->rank = rank;
		h->ranks = ranks;
		look = part;
		rank = partial;
	}
	replay_look_free(&look);
	free(rank);
}

int cmd_hang_open_live(struct cmd_hang *h, int pid)
{
	DIR *proc = opendir("/proc");
	struct cmd_hang_rank *found = NULL;
	struct dirent *entry;
	size_t n = 0, founds = 0;
	int *all = NULL, code = 0;

	*h = (struct cmd_hang){.live = true};
	/* What they do now is asked, and not what they will have done when a server has answered.
	 */
	unsetenv("DEBUGINFOD_URLS");
	while (proc && (entry = readdir(proc))) {
		int other = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (other && is_below(other, pid)) {
			all = rp_widen(all, n, n + 1, sizeof(*all));
			all[n++] = other;
		}
	}
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < n; i++) {
		int rank = rank_of(all[i]);

		if (rank < 0 || is_reprise(all[i]) || has_rank_below(all[i], rank, all, n))
			continue;
		found = rp_widen(found, founds, founds + 1, sizeof(*found));
		found[founds++] = (struct cmd_hang_rank){(unsigned)rank, all[i]};
	}
	if (!n) {
		rp_say("there is no process %d", pid);
		code = RP_EXIT_BAD_INPUT;
	} else if (!founds) {
		found = rp_alloc(1, sizeof(*found));
		found[founds++] = (struct cmd_hang_rank){0, program_of(pid, all, n)};
	}
	qsort(found, founds, sizeof(*found), by_rank);
	if (!code)
		code = look_first(h, found, founds);
	if (!code)
		cmd_hang_find_certain(h, size_of(found[0].pid));
	if (!code)
		cmd_hang_find_still(h);
	if (!code && (h->stuck.cycles || h->stills))
		look_again(h, found, founds);
	free(all);
	free(found);
	if (code)
		cmd_hang_close(h);
	return code;
}
