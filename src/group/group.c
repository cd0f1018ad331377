/* SPDX-License-Identifier: Apache-2.0 */
#include "group/group.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "group/program.h"
#include "group/stacks.h"

#define TICK_MS 20
#define QUIET 0.5    /* seconds without an event, of ranks that wait */
#define ATTACH 60.0  /* seconds for gdb to come up, on a busy machine */
#define PATIENCE 5.0 /* seconds for a rank to stop that is told to */
#define AGAIN 1.0    /* seconds until it is told again */

static volatile sig_atomic_t interrupted;

static void take_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

bool group_was_interrupted(void)
{
	static bool ready;
	bool was = interrupted;
	struct sigaction act = {.sa_handler = take_interrupt};

	if (!ready)
		sigaction(SIGINT, &act, NULL);
	ready = true;
	interrupted = 0;
	return was;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Takes what has come from all of them, or waits for something to come. */
static void listen(struct group *g, int ms)
{
	struct pollfd *p = rp_alloc(g->ranks + 1, sizeof(*p));
	nfds_t n = 0;

	for (unsigned i = 0; i < g->ranks; i++) {
		if (g->gdb[i].pid && g->gdb[i].state != GROUP_GDB_GONE)
			p[n++] = (struct pollfd){.fd = g->gdb[i].out, .events = POLLIN};
	}
	poll(p, n, ms);
	for (unsigned i = 0; i < g->ranks; i++) {
		if (g->gdb[i].pid && g->gdb[i].state != GROUP_GDB_GONE)
			group_gdb_read(&g->gdb[i]);
	}
	free(p);
}

static bool any_waits(const struct group *g)
{
	for (unsigned i = 0; i < g->ranks; i++) {
		if (g->gdb[i].waits)
			return true;
	}
	return false;
}

/* Some of what is asked for takes long; but whoever does nothing does not answer either. */
static void doubt(struct group *g)
{
	for (unsigned i = 0; i < g->ranks; i++) {
		if (g->gdb[i].waits)
			group_gdb_doubt(&g->gdb[i],
					g->live.patience > 0 ? g->live.patience : ATTACH);
	}
}

static bool await_answers(struct group *g)
{
	double next = now() + AGAIN;

	while (any_waits(g) && !interrupted) {
		listen(g, TICK_MS);
		if (now() > next) {
			doubt(g);
			next = now() + AGAIN;
		}
		/* What the ranks print has to be taken. */
		if (g->told)
			g->told(g->context);
	}
	return !interrupted;
}

bool group_ask_each(struct group *g, char **command)
{
	for (unsigned i = 0; i < g->ranks; i++) {
		if (command[i])
			group_gdb_ask(&g->gdb[i], command[i]);
		free(command[i]);
		command[i] = NULL;
	}
	return await_answers(g);
}

bool group_ask(struct group *g, const struct group_set *set, const char *command)
{
	for (unsigned i = 0; i < g->ranks; i++) {
		if (set->has[i])
			group_gdb_ask(&g->gdb[i], command);
	}
	return await_answers(g);
}

uint64_t group_events(const struct group *g, unsigned rank, bool *inside)
{
	uint64_t events = g->alone        ? g->gdb[rank].events
			  : g->live.state ? __atomic_load_n(&g->live.state->slot[rank].events,
							    __ATOMIC_ACQUIRE)
					  : 0;

	*inside = events & 1;
	return events >> 1;
}

bool group_is_at_end(const struct group *g, unsigned rank)
{
	return g->alone ? g->gdb[rank].at_end : group_live_is_at_end(&g->live, rank);
}

bool group_dies(const struct group *g, unsigned rank)
{
	const struct trace_run_stream *last = g->live.run->rank[rank].last;

	return g->alone ? last && last->end == TRACE_END_SIGNAL : group_live_dies(&g->live, rank);
}

/* Waits in a call for others, or at its end: it comes no further by itself. */
static bool is_idle(const struct group *g, unsigned rank)
{
	bool inside;

	group_events(g, rank, &inside);
	return inside || group_is_at_end(g, rank);
}

/* A word to gdb that comes while it sets a rank going may have no effect: it is said again. */
static void stop_running(struct group *g)
{
	double end = now() + PATIENCE, next = 0;
	bool running = true;

	while (running && now() < end) {
		bool due = now() >= next;

		for (unsigned i = 0; i < g->ranks && due; i++) {
			if (g->gdb[i].state == GROUP_GDB_RUNNING)
				group_gdb_send(&g->gdb[i], "-exec-interrupt");
		}
		if (due)
			next = now() + AGAIN;
		listen(g, TICK_MS);
		running = false;
		for (unsigned i = 0; i < g->ranks; i++)
			running |= g->gdb[i].state == GROUP_GDB_RUNNING;
	}
}

/* Until nobody runs, or nobody who runs can come any further. */
static void settle(struct group *g)
{
	double quiet_since = now();
	uint64_t seen = 0;

	for (;;) {
		size_t running = 0, idle = 0, at_end = 0;
		uint64_t sum = 0;

		listen(g, TICK_MS);
		if (g->told && g->told(g->context))
			interrupted = 1;
		for (unsigned i = 0; i < g->ranks; i++) {
			bool inside;

			sum += 2 * group_events(g, i, &inside) + inside + g->gdb[i].stopped;
			if (g->gdb[i].state != GROUP_GDB_RUNNING)
				continue;
			running++;
			idle += is_idle(g, i);
			at_end += group_is_at_end(g, i);
		}
		if (!running)
			return;
		if (sum != seen)
			quiet_since = now();
		seen = sum;
		/* Who is alone waits for nobody. */
		if (interrupted || (!g->alone && group_live_has_ended(&g->live)) ||
		    (!g->alone && idle == running && now() - quiet_since > QUIET &&
		     (running < g->ranks || at_end == running))) {
			stop_running(g);
			return;
		}
	}
}

static void note_refusals(struct group *g, const bool *moved)
{
	for (unsigned i = 0; i < g->ranks; i++) {
		struct group_gdb *gdb = &g->gdb[i];
		const char *error = moved[i] ? group_gdb_error(gdb) : NULL;

		if (!moved[i])
			continue;
		free(gdb->refused);
		gdb->refused = error && gdb->state == GROUP_GDB_STOPPED ? rp_strdup(error) : NULL;
	}
}

void group_move(struct group *g, char **command)
{
	bool *moved = rp_alloc(g->ranks + 1, sizeof(*moved));

	for (unsigned i = 0; i < g->ranks; i++) {
		struct group_gdb *gdb = &g->gdb[i];

		if (command[i] && gdb->state == GROUP_GDB_STOPPED &&
		    group_gdb_send(gdb, command[i])) {
			json_decref(gdb->stop);
			gdb->stop = NULL;
			gdb->looked = false;
			moved[i] = true;
		}
		free(command[i]);
		command[i] = NULL;
	}
	/* "running" comes with the answer, or an error does. */
	if (await_answers(g)) {
		note_refusals(g, moved);
		settle(g);
	} else {
		stop_running(g);
	}
	if (g->alone)
		group_alone_look(g);
	free(moved);
}

/* To where the program goes on; or, if ranks are alone and it is back, to before its call. */
static void leave_calls(struct group *g, const struct group_set *set, bool back, bool *moved)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	bool any = false;

	group_look(g, set);
	for (unsigned i = 0; i < g->ranks; i++) {
		const struct group_gdb *gdb = &g->gdb[i];

		if (!set->has[i] || gdb->state != GROUP_GDB_STOPPED || gdb->level <= 0 ||
		    (back && gdb->at_begin))
			continue;
		any = moved[i] = true;
		if (!back)
			command[i] = rp_format("-exec-finish --thread %s --frame %d",
					       group_thread(gdb), gdb->level - 1);
	}
	if (any && back)
		group_alone_uncall(g, moved);
	else if (any)
		group_move(g, command);
	free(command);
}

void group_step(struct group *g, const struct group_set *set, const char *step)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	bool *moved = rp_alloc(g->ranks + 1, sizeof(*moved));

	leave_calls(g, set, strstr(step, "--reverse"), moved);
	for (unsigned i = 0; i < g->ranks; i++) {
		const struct group_gdb *gdb = &g->gdb[i];

		if (set->has[i] && gdb->state == GROUP_GDB_STOPPED &&
		    !(moved[i] && (group_stopped_early(gdb) || gdb->refused)))
			command[i] = rp_strdup(step);
	}
	if (!interrupted)
		group_move(g, command);
	/* Backwards gdb steps into calls whose functions it is to skip. */
	if (!interrupted && strstr(step, "-exec-step --reverse"))
		leave_calls(g, set, true, moved);
	free(command);
	free(moved);
}

static int await_arrival(struct group *g)
{
	while (!group_live_has_arrived(&g->live)) {
		if (interrupted)
			return 128 + SIGINT;
		if (group_live_has_ended(&g->live))
			return g->live.code ? g->live.code : RP_EXIT_FAILURE;
		usleep(2000);
	}
	return 0;
}

/* The file of the process, or NULL; the caller frees. */
static char *program_of(int pid)
{
	char *link = rp_format("/proc/%d/exe", pid), *path = realpath(link, NULL);

	free(link);
	return path;
}

static int attach_all(struct group *g)
{
	double end = now() + ATTACH;
	bool waiting = true;
	int rc = 0;

	for (unsigned i = 0; i < g->ranks && !rc; i++) {
		int pid = g->live.state->slot[i].pid;
		char *program = program_of(pid);

		rc = group_gdb_start(&g->gdb[i], i, pid, NULL, program, g->env);
		free(program);
	}
	if (rc) {
		rp_say("cannot start gdb: %s", strerror(-rc));
		return RP_EXIT_FAILURE;
	}
	while (waiting && now() < end && !interrupted) {
		listen(g, TICK_MS);
		waiting = false;
		for (unsigned i = 0; i < g->ranks; i++)
			waiting |= g->gdb[i].state == GROUP_GDB_RUNNING;
	}
	return group_read_symbols(g) ? 0 : 128 + SIGINT;
}

/* From before main, or out of the handler of the signal that it dies of, to where one looks. */
static void come_to_program(struct group *g, enum replay_halt_kind kind)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	bool any = false;

	if (kind == REPLAY_TO_START)
		group_come_to_main(g);
	for (unsigned i = 0; i < g->ranks; i++) {
		if (kind != REPLAY_TO_CRASH || !group_dies(g, i))
			continue;
		command[i] = rp_strdup("-exec-continue");
		any = true;
	}
	if (any)
		group_move(g, command);
	free(command);
}

int group_start(struct group *g, const struct replay_halt *halt)
{
	int code;

	group_was_interrupted();
	signal(SIGPIPE, SIG_IGN);
	g->ranks = (unsigned)g->live.run->ranks;
	g->gdb = rp_alloc(g->ranks + 1, sizeof(*g->gdb));
	for (unsigned i = 0; i < g->ranks; i++)
		g->gdb[i].in = g->gdb[i].out = -1;
	g->ended_told = false;
	if (g->alone) {
		code = group_alone_start(g);
		if (code)
			group_stop(g);
		return code ? code : group_alone_goto(g, halt);
	}
	code = group_live_start(&g->live, halt);
	if (!code)
		code = await_arrival(g);
	if (!code)
		code = attach_all(g);
	if (code) {
		group_stop(g);
		return code;
	}
	group_live_release(&g->live);
	come_to_program(g, halt->kind);
	return 0;
}

/* It is gone, or the signal that ends it has come. */
static bool is_dying(int pid)
{
	char *path = rp_format("/proc/%d/status", pid), line[256];
	FILE *file = fopen(path, "re");
	unsigned long mask, pending = 0;
	bool zombie = false;

	free(path);
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigPnd: %lx", &mask) == 1 ||
		    sscanf(line, "ShdPnd: %lx", &mask) == 1)
			pending |= mask;
		zombie |= strncmp(line, "State:\tZ", 8) == 0;
	}
	if (file)
		fclose(file);
	return !file || zombie ||
	       pending & (1ul << (SIGTERM - 1) | 1ul << (SIGKILL - 1) | 1ul << (SIGHUP - 1));
}

static bool all_are_dying(const struct group *g)
{
	bool dying = true;

	for (unsigned i = 0; i < g->ranks && g->gdb; i++)
		dying &= !g->gdb[i].pid || is_dying(g->gdb[i].process);
	return dying;
}

void group_stop(struct group *g)
{
	double end = now() + PATIENCE;
	bool dying = false;

	/* Let go before, a rank would go on, and perhaps run into a breakpoint without its gdb. */
	group_live_leave(&g->live);
	while (g->live.state && !dying && !group_live_has_ended(&g->live) && now() < end) {
		usleep(5000);
		dying = all_are_dying(g);
	}
	/* Its target sees that gdb is gone, and ends. */
	for (unsigned i = 0; i < g->ranks && g->gdb; i++)
		group_gdb_end(&g->gdb[i]);
	free(g->gdb);
	g->gdb = NULL;
	group_live_end(&g->live);
}

/* The processes themselves: a gdb that has ended leaves its rank behind. */
static bool all_are_gone(const struct group *g)
{
	for (unsigned i = 0; i < g->ranks && g->gdb; i++) {
		if (g->gdb[i].state != GROUP_GDB_GONE)
			return false;
	}
	return g->gdb && all_are_dying(g);
}

bool group_has_ended(struct group *g)
{
	double end = now() + PATIENCE;

	if (g->alone || g->ended_told)
		return false;
	/* The front notices the end of its last rank a little later than gdb does. */
	while (!group_live_has_ended(&g->live) && all_are_gone(g) && now() < end)
		usleep(5000);
	if (!group_live_has_ended(&g->live))
		return false;
	g->ended_told = true;
	return true;
}
