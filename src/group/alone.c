/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks alone. Nothing is between them, so there is no front and nobody waits: a jump is one of
 * each rank by itself, to its place in the cut. What a rank tells of itself, its target knows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "group/group.h"
#include "group/mi.h"
#include "group/program.h"
#include "group/stacks.h"
#include "group/threads.h"
#include "replay/from.h"

/* A line for gdb's console, as a command; the caller frees. */
static char *console(const char *line)
{
	char *quoted = group_mi_quoted(line);
	char *command = rp_format("-interpreter-exec console %s", quoted);

	free(quoted);
	return command;
}

static bool ask_all(struct group *g, const char *line)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	bool answered;

	for (unsigned i = 0; i < g->ranks; i++)
		command[i] = console(line);
	answered = group_ask_each(g, command);
	free(command);
	return answered;
}

void group_alone_look(struct group *g)
{
	if (!ask_all(g, "monitor state"))
		return;
	for (unsigned i = 0; i < g->ranks; i++) {
		struct group_gdb *gdb = &g->gdb[i];
		int end = 0, begin = 0;

		if (gdb->state != GROUP_GDB_STOPPED || !gdb->said ||
		    sscanf(gdb->said, "pid %d events %" SCNu64 " end %d begin %d", &gdb->process,
			   &gdb->events, &end, &begin) != 4)
			continue;
		gdb->at_end = end;
		gdb->at_begin = begin;
	}
}

/* The first that could not be taken has said why on standard error, or gdb has. */
static int check_targets(struct group *g)
{
	for (unsigned i = 0; i < g->ranks; i++) {
		const char *error = group_gdb_error(&g->gdb[i]);

		if (!error && g->gdb[i].process)
			continue;
		rp_say("rank %u cannot be taken: %s", i, error ? error : "its target is silent");
		return RP_EXIT_FAILURE;
	}
	return 0;
}

int group_alone_start(struct group *g)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command)), *file;
	int rc = 0, code = 0;

	if (g->alone->fd > 0)
		close(g->alone->fd);
	g->alone->fd = memfd_create("reprise", 0);
	rc = g->alone->fd < 0 || write(g->alone->fd, g->alone->said, strlen(g->alone->said)) !=
					 (ssize_t)strlen(g->alone->said)
		     ? -1
		     : 0;
	file = rp_format("/proc/self/fd/%d", g->alone->fd);
	for (unsigned i = 0; i < g->ranks && !rc; i++) {
		rc = group_gdb_start(&g->gdb[i], i, 0, file, g->alone->program[i], g->env);
		command[i] = console(g->alone->target[i]);
	}
	free(file);
	if (rc) {
		rp_say("cannot start gdb");
		code = RP_EXIT_FAILURE;
	}
	if (!code && !group_ask_each(g, command))
		code = 128 + 2;
	if (!code) {
		group_alone_look(g);
		code = check_targets(g);
	}
	if (!code && !group_read_symbols(g))
		code = 128 + 2;
	free(command);
	return code;
}

/* The position of the cut that the user has named for the rank, or NULL. */
static const struct replay_halt_place *named(const struct replay_halt *halt, unsigned rank)
{
	for (size_t i = 0; i < halt->by_hands; i++) {
		if (halt->by_hand[i].rank == rank)
			return &halt->by_hand[i];
	}
	return NULL;
}

/*
 * Where the rank is to go: before its event in the cut, which may be behind all it has done. Of a
 * rank that the user has not named, the main thread's place counts.
 */
static char *position_of(const struct group *g, const struct replay_halt *halt, unsigned rank)
{
	const struct trace_run *run = g->live.run;
	const struct replay_halt_place *place = named(halt, rank);
	const char *places = halt->places[rank];
	uint64_t event = 0;

	if (place && (strcmp(place->thread, "0") != 0 || replay_halt_unit(run) != REPLAY_UNIT_MPI))
		return rp_format("monitor goto %u.%s@%" PRIu64, rank, place->thread, place->event);
	for (const char *line = places; line && *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		if (sscanf(line, "0 %*u %*u %" SCNu64, &event) == 1)
			break;
	}
	if (event > run->rank[rank].events)
		return rp_strdup("monitor goto end");
	return event < 2 ? rp_strdup("monitor goto start")
			 : rp_format("monitor goto %u@%" PRIu64, rank, event);
}

static char *place_of(const struct group *g, const struct replay_halt *halt, unsigned rank)
{
	switch (halt->kind) {
	case REPLAY_TO_CRASH:
		return rp_strdup(group_dies(g, rank) ? "monitor goto crash" : "monitor goto end");
	case REPLAY_TO_END:
		return rp_strdup("monitor goto end");
	case REPLAY_TO_POSITION:
		return position_of(g, halt, rank);
	default:
		return rp_strdup("monitor goto start");
	}
}

/* What remote/monitor.c says of a rank that is where it was sent. */
static bool is_there(const char *said)
{
	unsigned rank;
	int n = 0;

	return (sscanf(said, "rank %u is %n", &rank, &n) == 1 && n) ||
	       (sscanf(said, "rank %u has run for %n", &rank, &n) == 1 && n);
}

/* Who has not come there says so when it is asked where it is. */
static void note_lost(struct group_gdb *gdb, const char *said)
{
	if (said && *said && !is_there(said))
		gdb->refused = rp_format("%.*s", (int)strcspn(said, "\n"), said);
}

void group_alone_uncall(struct group *g, const bool *wanted)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));

	for (unsigned i = 0; i < g->ranks; i++) {
		if (wanted[i])
			command[i] = rp_format("-interpreter-exec console \"python "
					       "reprise_uncall(%d)\"",
					       g->gdb[i].level);
	}
	group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		if (!wanted[i])
			continue;
		group_gdb_forget(&g->gdb[i]);
		note_lost(&g->gdb[i], g->gdb[i].said);
	}
	group_alone_look(g);
	group_threads_in_turn(g);
	free(command);
}

int group_alone_goto(struct group *g, const struct replay_halt *halt)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	bool any = false;

	for (unsigned i = 0; i < g->ranks; i++) {
		char *line = place_of(g, halt, i);

		command[i] = console(line);
		free(line);
	}
	group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		group_gdb_forget(&g->gdb[i]);
		note_lost(&g->gdb[i], g->gdb[i].said);
	}
	group_alone_look(g);
	group_threads_in_turn(g);
	/* With MPI the history begins behind MPI_Init. */
	if (halt->kind == REPLAY_TO_START && !replay_from_is_mpi(g->live.run))
		group_come_to_main(g);
	/* Out of where the signal is about to come, to where it has. */
	for (unsigned i = 0; i < g->ranks && halt->kind == REPLAY_TO_CRASH; i++) {
		if (!group_dies(g, i))
			continue;
		command[i] = rp_strdup("-exec-continue");
		any = true;
	}
	if (any)
		group_move(g, command);
	free(command);
	return 0;
}
