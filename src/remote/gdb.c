/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gdb is told beforehand is in files that only it and we have; all that the user says comes
 * after that. We wait, so that the exit code can be that of a replay that has diverged.
 */
#include "remote/gdb.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/front.h"
#include "launch/moved.h"
#include "launch/program.h"
#include "replay/halt.h"
#include "replay/from.h"
#include "symbol/symbol.h"

#define TAKES_TO_END 50 /* naps for gdb to end by itself */

/*
 * Files are those of this machine. Signals of ours, and functions of ours that nobody wants to step
 * into. gdb does not ask for registers, stacks and threads again after a "monitor" that has gone
 * elsewhere, where the thread that was looked at may not be, nor the signal that it got. What these
 * say is for nobody; a pipe would cost two processes each time.
 */
const char remote_gdb_first[] =
	"set sysroot /\n"
	"set remotetimeout 60\n"
	"handle SIGURG SIG32 SIG33 nostop noprint pass\n"
	"python gdb.execute('skip -gfi */src/hook/*', to_string=True)\n"
	"python\n"
	"def reprise_forget():\n"
	"    words = ['maintenance flush register-cache', 'maintenance flush dcache']\n"
	"    if len(gdb.selected_inferior().threads()) > 1:\n"
	"        words.append('info threads')\n"
	"    for word in words:\n"
	"        try:\n"
	"            gdb.execute(word, to_string=True)\n"
	"        except gdb.error:\n"
	"            pass\n"
	"    try:\n"
	"        gone = not gdb.selected_thread().is_valid()\n"
	"    except SystemError:\n"
	"        gone = True\n"
	"    if gone:\n"
	"        gdb.execute('thread 1', to_string=True)\n"
	"    asked = gdb.execute('maintenance packet qReprise.Elsewhere', to_string=True)\n"
	"    if 'yes' in asked:\n"
	"        try:\n"
	"            gdb.execute('queue-signal 0', to_string=True)\n"
	"        except gdb.error:\n"
	"            pass\n"
	"def reprise_uncall(level):\n"
	"    frame = gdb.newest_frame()\n"
	"    for _ in range(level):\n"
	"        frame = frame.older()\n"
	"    words = gdb.selected_thread().ptid[1] or 1, int(frame.read_register('rsp')) - 8\n"
	"    gdb.execute('monitor uncall %x %x' % words)\n"
	"def reprise_turn():\n"
	"    number = int(gdb.execute('monitor state', to_string=True).split()[9])\n"
	"    for thread in gdb.selected_inferior().threads():\n"
	"        if thread.ptid[1] == number:\n"
	"            thread.switch()\n"
	"            print(thread.num)\n"
	"end\n"
	"define hookpost-monitor\n"
	"python reprise_forget()\n"
	"end\n";

/* Frames of ours and of MPI are inside of the program's. */
static const char select_frame[] =
	"set $_reprise = 0\n"
	"python\n"
	"import re\n"
	"reprise_site = re.search('0x[0-9a-f]+', gdb.execute('monitor site', to_string=True))\n"
	"reprise_frame = gdb.newest_frame()\n"
	"while reprise_site and reprise_frame and reprise_frame.pc() != int(reprise_site.group(), "
	"0):\n"
	"    reprise_frame = reprise_frame.older()\n"
	"if reprise_site and reprise_frame:\n"
	"    reprise_frame.select()\n"
	"    gdb.set_convenience_variable('_reprise', reprise_frame.level())\n"
	"end\n"
	"frame\n";

/* Back gdb does not say which thread it wants to step, and may ask for registers of any. */
const char remote_gdb_threads[] =
	"python\n"
	"def reprise_choose():\n"
	"    gdb.execute('maintenance packet QReprise.Thread:%x' % gdb.selected_thread().ptid[1], "
	"to_string=True)\n"
	"for reprise_word in 'step stepi next nexti finish'.split():\n"
	"    gdb.execute('define hook-reverse-%s\\npython reprise_choose()\\nend' % reprise_word)\n"
	"end\n";

/* In a shell's words. */
static char *quoted(const char *text)
{
	char *out = rp_alloc(4 * strlen(text) + 3, 1), *to = out;

	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			to += sprintf(to, "'\\''");
		else
			*to++ = *text;
	}
	*to++ = '\'';
	return out;
}

static void add_text(char **text, const char *more)
{
	char *longer = rp_format("%s%s", *text, more);

	free(*text);
	*text = longer;
}

static void add_number(char **text, const char *option, int value)
{
	char *longer = value < 0 ? rp_strdup(*text) : rp_format("%s --%s=%d", *text, option, value);

	free(*text);
	*text = longer;
}

/* The words by which gdb starts us. */
char *remote_gdb_target(const struct remote_gdb *how, int tell, int print)
{
	char *self = quoted(launch_self()), *trace = quoted(how->trace), *text;
	size_t n;
	const struct launch_moved *moved = launch_moved_all(&n);

	text = rp_format("target remote | exec %s gdb-target --trust%s", self,
			 how->force ? " --force" : "");
	/* In whole seconds, and no less. */
	add_number(&text, "patience", how->patience > 0 ? (int)how->patience + 1 : -1);
	add_number(&text, "tell", tell);
	add_number(&text, "print", print);
	for (size_t i = 0; i < n; i++) {
		char *map = rp_format("%s=%s", moved[i].from, moved[i].to);
		char *word = quoted(map), *longer;

		longer = moved[i].guessed ? rp_strdup(text) : rp_format("%s --map %s", text, word);
		free(text);
		free(word);
		free(map);
		text = longer;
	}
	self = rp_format("%s %u %s\n", text, how->rank, trace);
	free(text);
	free(trace);
	return self;
}

/* Fortran's main program has a name of its own. It may begin just where it stands. */
static char *go_to_main(const char *program)
{
	const char *name = symbol_has(program, "MAIN__") ? "MAIN__" : "main";

	if (!symbol_has(program, name))
		return rp_strdup("");
	return rp_format("tbreak %s\n"
			 "pipe info breakpoints | cat >/dev/null\n"
			 "if $_ == $pc\n"
			 "delete $bpnum\n"
			 "frame\n"
			 "else\n"
			 "continue\n"
			 "end\n",
			 name);
}

static char *then(const struct remote_gdb *how)
{
	if (!how->at)
		return how->behind_init ? rp_strdup("frame\n") : go_to_main(how->program);
	if (how->at_crash)
		return rp_format("monitor goto %s\ncontinue\n", how->at);
	return rp_format("monitor goto %s\n%s%s", how->at, select_frame, replay_halt_leave_call);
}

/* A file with that text, by the name that gdb knows it by. */
static char *keep(const char *text)
{
	int fd = memfd_create("reprise", 0);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return NULL;
	return rp_format("/proc/self/fd/%d", fd);
}

struct start {
	const struct remote_gdb *how;
	char *files[3];
};

static int become_gdb(void *data)
{
	const struct start *start = data;
	const struct remote_gdb *how = start->how;
	char *const *files = start->files;
	char *words[] = {"gdb", "-q",    (char *)how->program, "-ix", files[0], "-x", files[1],
			 "-x",  files[2]};
	size_t n = sizeof(words) / sizeof(words[0]), more = 0;
	char **argv;

	while (how->arguments && how->arguments[more])
		more++;
	argv = rp_alloc(n + more + 1, sizeof(*argv));
	memcpy(argv, words, sizeof(words));
	if (more)
		memcpy(argv + n, how->arguments, more * sizeof(*argv));
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	execvp("gdb", argv);
	rp_say("cannot start gdb: %s", strerror(errno));
	return RP_EXIT_CANNOT_EXEC;
}

/*
 * Until gdb has ended. If we are to end, by a terminal that is closed, say, gdb is, too: while it
 * waits for the target it does not listen to such signals. The target ends when gdb is gone.
 */
static int await_gdb(pid_t pid)
{
	static const struct timespec nap = {0, 10000000};
	int status = 0, told = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		int sig = launch_front_signal();

		if ((sig == SIGHUP || sig == SIGTERM) && told++ == TAKES_TO_END)
			kill(pid, SIGKILL);
		nanosleep(&nap, NULL);
	}
	return status;
}

int remote_gdb_run(const struct remote_gdb *how)
{
	struct start start = {.how = how};
	struct launch_ended ended;
	char *words, *last, said[16] = "";
	int tell[2], code;
	pid_t pid;

	if (pipe(tell) != 0) {
		rp_say("cannot make a pipe: %s", strerror(errno));
		return RP_EXIT_FAILURE;
	}
	fcntl(tell[0], F_SETFD, FD_CLOEXEC);
	fcntl(tell[0], F_SETFL, O_NONBLOCK);
	words = remote_gdb_target(how, tell[1], dup(STDOUT_FILENO));
	if (how->threads)
		add_text(&words, remote_gdb_threads);
	last = then(how);
	start.files[0] = keep(remote_gdb_first);
	start.files[1] = keep(words);
	start.files[2] = keep(last);
	if (!start.files[0] || !start.files[1] || !start.files[2]) {
		rp_say("cannot make a file in memory: %s", strerror(errno));
		return RP_EXIT_FAILURE;
	}
	/* ctrl-C is gdb's. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	fflush(NULL);
	pid = launch_front_start(become_gdb, &start);
	if (pid < 0) {
		rp_say("cannot start gdb: %s", strerror((int)-pid));
		return RP_EXIT_FAILURE;
	}
	launch_front_ended(pid, await_gdb(pid), &ended);
	code = launch_ended_code(&ended);
	if (ended.signaled)
		rp_say("gdb was ended by signal %d", ended.status);
	if (read(tell[0], said, sizeof(said) - 1) > 0 && atoi(said))
		code = atoi(said);
	return code;
}

const char *remote_unsuited(const struct trace_run *trace)
{
	return !replay_from_is_mpi(trace) && trace->ranks != 1 ? "it has no MPI that is known"
							       : NULL;
}
