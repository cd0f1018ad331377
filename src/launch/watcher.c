/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first process of a rank is recorded. If a command starts the program as its child, that is
 * the command, and nothing of the program would be in the trace. Valgrind runs the program in its
 * own process, so it is not among these commands.
 */
#include "launch/watcher.h"

#include <string.h>

#include "base/log.h"

enum kind {
	DEBUGGER, /* waits for the program in ways of its own */
	TRACER,
	PREFIX, /* in prefix.c, too: the flavour is that of the program */
};

static const struct {
	const char *name;
	enum kind kind;
	const char *instead;
} watchers[] = {
	{"gdb", DEBUGGER, "gdb -ex 'set follow-fork-mode child' --args"},
	{"cgdb", DEBUGGER, "cgdb -ex 'set follow-fork-mode child' --args"},
	{"gdbserver", DEBUGGER, "gdbserver :PORT"},
	{"lldb", DEBUGGER, "lldb --"},
	{"rr", DEBUGGER, "rr"},
	{"strace", TRACER, "strace -f"},
	{"ltrace", TRACER, "ltrace -f"},
	{"perf", TRACER, "perf …"},
	{"timeout", PREFIX, "timeout …"},
	{"time", PREFIX, "time"},
};

static size_t find(const char *word)
{
	const char *slash = strrchr(word, '/');
	size_t i = 0, n = sizeof(watchers) / sizeof(watchers[0]);

	while (i < n && strcmp(watchers[i].name, slash ? slash + 1 : word) != 0)
		i++;
	return i;
}

bool launch_watcher_is_debugger(const char *word)
{
	size_t i = find(word);

	return i < sizeof(watchers) / sizeof(watchers[0]) && watchers[i].kind == DEBUGGER;
}

int launch_watcher_check(const char *word, enum launch_mpi mpi, bool has_launcher)
{
	size_t i = find(word), n = sizeof(watchers) / sizeof(watchers[0]);

	if (i == n || (watchers[i].kind == TRACER && has_launcher) ||
	    (watchers[i].kind == PREFIX && (has_launcher || mpi != LAUNCH_MPI_NONE)))
		return 0;
	rp_say("%s would be recorded, and not the program that it starts: %s'%s reprise record …'",
	       watchers[i].name,
	       watchers[i].kind == DEBUGGER ? "record without it and look into the recording with "
					      "'reprise gdb RANK'; or put it in front, "
					    : "put it in front, ",
	       watchers[i].instead);
	return RP_EXIT_BAD_INPUT;
}
