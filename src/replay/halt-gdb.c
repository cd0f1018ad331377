/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gdb on a rank that has halted, in the terminal of the user, in his directory and environment. It
 * is attached to the process, so that it leaves it as it was when it goes. What it is told
 * beforehand is in files of the session; all that the user says comes after that.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/halt.h"
#include "replay/pass.h"
#include "symbol/process.h"
#include "symbol/symbol.h"

#define FRAMES 200

int replay_halt_find_gdb(void)
{
	const char *path = getenv("PATH");
	bool found = false;

	for (const char *p = path ? path : ""; *p && !found; p += strcspn(p, ":"), p += *p == ':') {
		char *name = rp_format("%.*s/gdb", (int)strcspn(p, ":"), p);

		found = access(name, X_OK) == 0;
		free(name);
	}
	if (found)
		return 0;
	rp_say("there is no gdb here: install it (Debian: 'apt install gdb')");
	return RP_EXIT_NOT_FOUND;
}

/* Signals of ours, and functions of ours that nobody wants to step into. */
static const char first[] = "handle SIGURG SIG32 SIG33 nostop noprint pass\n"
			    "pipe skip -gfi */src/hook/* | cat >/dev/null\n";

const char replay_halt_leave_call[] = "define hook-next\n"
				      "if $_reprise > 0\n"
				      "frame level $_reprise - 1\n"
				      "set $_reprise = 0\n"
				      "finish\n"
				      "end\n"
				      "end\n"
				      "define hook-step\n"
				      "if $_reprise > 0\n"
				      "frame level $_reprise - 1\n"
				      "set $_reprise = 0\n"
				      "finish\n"
				      "end\n"
				      "end\n"
				      "define hook-continue\n"
				      "set $_reprise = 0\n"
				      "end\n";

/*
 * The innermost frame of the program's; frames of ours and of MPI are inside of it. The first step
 * leaves those, as a step over the call would.
 */
static char *select_frame(uint64_t pc)
{
	if (!pc)
		return rp_strdup("frame\n");
	return rp_format("set $_reprise = 0\n"
			 "while $pc != 0x%" PRIx64 " && $_reprise < %d\n"
			 "up-silently\n"
			 "set $_reprise = $_reprise + 1\n"
			 "end\n"
			 "frame\n"
			 "%s",
			 pc, FRAMES, replay_halt_leave_call);
}

static uint64_t pc_of_program(int pid)
{
	struct symbol_process *p = symbol_process_open(pid);
	struct symbol_standing s = {0};

	if (p && symbol_process_look(p, pid, &s) == 0) {
		free(s.call);
		free(s.place);
	}
	symbol_process_close(p);
	return s.pc;
}

/* Fortran's main program has a name of its own; without symbols there is the address. */
static char *go_to_main(int pid, uint64_t address)
{
	char *exe = rp_format("/proc/%d/exe", pid), *text;

	if (symbol_has(exe, "MAIN__"))
		text = rp_strdup("tbreak MAIN__\ncontinue\n");
	else if (symbol_has(exe, "main"))
		text = rp_strdup("tbreak main\ncontinue\n");
	else
		text = rp_format("tbreak *0x%" PRIx64 "\ncontinue\n", address);
	free(exe);
	return text;
}

static char *then(const struct replay_front *f)
{
	const struct replay_halt *h = f->halt;
	const struct replay_slot *slot = &f->state->slot[h->debugged];
	const struct replay_word *w = &f->word[h->debugged];

	if (h->kind == REPLAY_TO_START)
		return go_to_main(slot->pid, slot->program);
	/* It is in the handler of the signal, and comes out of it to where that came. */
	if (h->kind == REPLAY_TO_CRASH && w->why && strcmp(w->why, REPLAY_WHY_SIGNAL) == 0)
		return rp_strdup("continue\n");
	return select_frame(pc_of_program(slot->pid));
}

static void __attribute__((noreturn)) become_gdb(const struct replay_front *f, char *pid)
{
	const struct replay_halt *h = f->halt;
	char *words[16] = {"gdb", "-q"}, **argv;
	size_t n = 2, more = 0;

	words[n++] = "-ix";
	words[n++] = rp_format("%s/gdb-first", f->session);
	words[n++] = "-p";
	words[n++] = pid;
	words[n++] = "-x";
	words[n++] = rp_format("%s/gdb-then", f->session);
	while (h->arguments && h->arguments[more])
		more++;
	argv = rp_alloc(n + more + 1, sizeof(*argv));
	memcpy(argv, words, n * sizeof(*argv));
	if (more)
		memcpy(argv + n, h->arguments, more * sizeof(*argv));
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	environ = f->env;
	if (fchdir(f->here) != 0)
		errno = 0;
	execvp("gdb", argv);
	rp_say("cannot start gdb: %s", strerror(errno));
	_exit(RP_EXIT_CANNOT_EXEC);
}

void replay_halt_debug(struct replay_front *f)
{
	struct replay_halt *h = f->halt;
	char *pid = rp_format("%d", f->state->slot[h->debugged].pid), *text = then(f);
	int rc = replay_pass_write(f->session_fd, "gdb-first", first);

	if (!rc)
		rc = replay_pass_write(f->session_fd, "gdb-then", text);
	if (rc)
		rp_say("cannot write into the session: %s", strerror(-rc));
	fflush(NULL);
	h->gdb = rc ? 0 : fork();
	if (h->gdb == 0 && !rc)
		become_gdb(f, pid);
	if (h->gdb <= 0) {
		h->gdb = 0;
		h->gdb_status = RP_EXIT_FAILURE;
	}
	free(pid);
	free(text);
}
