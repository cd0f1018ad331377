/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which child is which in replay, and waits for them. A table has the children that were not yet
 * waited for; it grows by chunks that stay, and is read and written without locks, also by handlers
 * of signals and, as a copy, by the children.
 */
#undef _FORTIFY_SOURCE
#include "hook/common/child.h"

#include <errno.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/wait.h>

#include "base/held.h"
#include "hook/common/environ.h"
#include "hook/common/real.h"
#include "hook/common/signal.h"
#include "hook/input/channel/channel.h"
#include "hook/kit/pages.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/output/output.h"
#include "hook/session/unseen.h"
#include "hook/thread/call/real.h"
#include "hook/thread/sync/sync.h"

#define SITE __builtin_return_address(0)
#define CHUNK 255
#define BUSY (-1)
#define NS_PER_SECOND 1000000000ll
#define SHORTEST_NAP_NS 50000
#define LONGEST_NAP_NS 10000000
#define LOOK_NS 100000000
#define PATIENCE_WITH_SEMAPHORES 2 /* seconds: other children may need what is behind this */

struct chunk {
	struct {
		pid_t given; /* 0: free */
		pid_t real;
	} child[CHUNK];
	struct chunk *next;
};

static struct chunk first;
static int children; /* in the table */

static struct chunk *next_of(struct chunk *c)
{
	struct chunk *none = NULL, *new;

	if (__atomic_load_n(&c->next, __ATOMIC_ACQUIRE))
		return c->next;
	new = hook_pages(sizeof(*new));
	if (!new)
		return NULL;
	if (!__atomic_compare_exchange_n(&c->next, &none, new, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		hook_pages_free(new, sizeof(*new));
	return c->next;
}

/* `real` is stored first: who sees the number sees what it stands for. */
static void remember(struct hook_thread *t, pid_t given, pid_t real)
{
	for (struct chunk *c = &first; c; c = next_of(c)) {
		for (int i = 0; i < CHUNK; i++) {
			pid_t none = 0;

			if (!__atomic_compare_exchange_n(&c->child[i].given, &none, BUSY, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				continue;
			c->child[i].real = real;
			__atomic_store_n(&c->child[i].given, given, __ATOMIC_RELEASE);
			__atomic_add_fetch(&children, 1, __ATOMIC_RELEASE);
			return;
		}
	}
	hook_failed(t, "there is no memory for the numbers of its children");
}

static pid_t look_up(pid_t given, bool forget)
{
	if (given <= 0 || !__atomic_load_n(&children, __ATOMIC_ACQUIRE))
		return 0;
	for (struct chunk *c = &first; c; c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < CHUNK; i++) {
			pid_t real = c->child[i].real;

			if (__atomic_load_n(&c->child[i].given, __ATOMIC_ACQUIRE) != given)
				continue;
			if (forget) {
				__atomic_store_n(&c->child[i].given, 0, __ATOMIC_RELEASE);
				__atomic_sub_fetch(&children, 1, __ATOMIC_RELEASE);
			}
			return real;
		}
	}
	return 0;
}

pid_t hook_child_real(pid_t given)
{
	return look_up(given, false);
}

bool hook_child_any(void)
{
	return __atomic_load_n(&children, __ATOMIC_ACQUIRE) > 0;
}

void hook_child_note(void)
{
	static struct hook_unseen unseen = {
		.key = "children",
		.what = "what child processes do: they run again in replay",
		.quiet = true};

	hook_unseen(&unseen);
}

/* One that could not be made when it was recorded. */
static void undo(pid_t pid)
{
	REAL(kill)(pid, SIGKILL);
	REAL(waitpid)(pid, NULL, 0);
}

static pid_t replay_made(struct hook_thread *t, const char *call, pid_t pid)
{
	struct trace_input_rec rec;
	int64_t given;

	if (!hook_input_take(t, TRACE_IN_CHILD, call, &rec))
		hook_end_of_recording(t, call);
	if (rec.kind != TRACE_IN_CHILD)
		hook_diverged(t, call, "another input, which failed", "a new process");
	given = (int64_t)rec.value;
	if (given > 0 && pid < 0)
		hook_diverged(t, call, "a new process", strerror(errno));
	if (given <= 0 && pid > 0)
		undo(pid);
	if (given > 0)
		remember(t, (pid_t)given, pid);
	else
		errno = (int)-given;
	return given > 0 ? (pid_t)given : -1;
}

pid_t hook_child_made(const char *call, pid_t pid)
{
	struct hook_thread *t = hook_thread_self();
	int depth = hook_depth, error = errno;

	if (t->passive)
		return pid;
	hook_depth = HOOK_CLOSED;
	if (hook_process.mode == HOOK_REPLAY) {
		pid = replay_made(t, call, pid);
		error = pid < 0 ? errno : error;
	} else {
		hook_input_put_number(t, TRACE_IN_CHILD,
				      (uint64_t)(pid < 0 ? -(int64_t)error : pid));
		if (pid > 0)
			hook_child_note();
	}
	hook_signal_point(t);
	hook_return_to(t, depth);
	errno = error;
	return pid;
}

static void describe(struct hook_text *out, int status)
{
	if (WIFEXITED(status))
		hook_text_add(out, "exit ");
	else
		hook_text_add(out, WIFSIGNALED(status) ? "signal " : "status ");
	hook_text_number(out, WIFEXITED(status)     ? WEXITSTATUS(status)
			      : WIFSIGNALED(status) ? WTERMSIG(status)
						    : status);
}

/* The program gets the recorded status all the same. */
static void compare(const char *call, int recorded, int found)
{
	char expected[32], got[32];
	struct hook_text e = hook_text_in(expected, sizeof(expected));
	struct hook_text g = hook_text_in(got, sizeof(got));
	static bool said;

	if (recorded == found || __atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		return;
	describe(&e, recorded);
	describe(&g, found);
	hook_say(call, ": a child process ended with ", got, ", not with ", expected,
		 " as recorded; children run again, they are not replayed", NULL);
}

/* What a process has done, or 0: of its line in /proc the state and times are of interest. */
static uint64_t work_of(pid_t pid)
{
	char line[512];
	uint64_t sum = 0, value;
	const char *p;

	hook_proc_of_process(pid, "stat", line, sizeof(line));
	p = strrchr(line, ')');
	if (!p)
		return 0;
	/* From the state, which is field 3, to the times, own and of its children, 14 to 17. */
	for (int field = 3; *p && field <= 17; field++) {
		p = strchr(p + 1, ' ');
		if (!p)
			break;
		value = field == 3 ? p[1] == 'R' : strtoull(p + 1, NULL, 10);
		sum += field == 3 || field >= 14 ? value : 0;
	}
	return sum;
}

static uint64_t work_of_all(void)
{
	uint64_t sum = 0;

	for (struct chunk *c = &first; c; c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < CHUNK; i++) {
			if (__atomic_load_n(&c->child[i].given, __ATOMIC_ACQUIRE) > 0)
				sum += work_of(c->child[i].real);
		}
	}
	return sum;
}

static bool any_is_held(void)
{
	for (struct chunk *c = &first; c; c = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < CHUNK; i++) {
			if (__atomic_load_n(&c->child[i].given, __ATOMIC_ACQUIRE) > 0 &&
			    rp_held(c->child[i].real))
				return true;
		}
	}
	return false;
}

static int64_t now_ns(void)
{
	struct timespec t = {0};

	REAL(clock_gettime)(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_SECOND + t.tv_nsec;
}

bool hook_child_given_up(struct hook_child_patience *p, int seconds)
{
	int64_t now = now_ns();
	static bool said;
	uint64_t work;

	if (p->looked && now - p->looked < LOOK_NS)
		return false;
	work = work_of_all();
	/* Somebody who debugs us may have held us, or holds one of them. */
	if (!p->looked || work != p->work || now - p->looked > NS_PER_SECOND || any_is_held()) {
		p->since = now;
		p->work = work;
	}
	p->looked = now;
	if (now - p->since < seconds * NS_PER_SECOND)
		return false;
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		hook_say("a child process does not do what it did when recorded; the replay goes "
			 "on without it: children run again, they are not replayed",
			 NULL);
	return true;
}

void hook_child_wait_semaphore(sem_t *s)
{
	struct hook_child_patience p = {0};
	struct timespec until;
	int64_t end;

	do {
		end = now_ns() + LOOK_NS;
		until = (struct timespec){end / NS_PER_SECOND, end % NS_PER_SECOND};
	} while (SYNC_REAL(sem_clockwait)(s, CLOCK_MONOTONIC, &until) != 0 &&
		 !hook_child_given_up(&p, PATIENCE_WITH_SEMAPHORES));
}

/* Its status, or -1. */
static int await(pid_t real, int options)
{
	struct timespec nap = {0, SHORTEST_NAP_NS};
	struct hook_child_patience p = {0};
	int64_t waited = 0;
	int status = 0;
	pid_t got;

	while ((got = REAL(wait4)(real, &status, options | WNOHANG, NULL)) == 0 ||
	       (got < 0 && errno == EINTR)) {
		if (hook_child_given_up(&p, HOOK_CHILD_PATIENCE))
			return -1;
		REAL(nanosleep)(&nap, NULL);
		waited += nap.tv_nsec;
		nap.tv_nsec = waited / 8 < LONGEST_NAP_NS ? waited / 8 : LONGEST_NAP_NS;
		if (nap.tv_nsec < SHORTEST_NAP_NS)
			nap.tv_nsec = SHORTEST_NAP_NS;
	}
	return got > 0 ? status : -1;
}

/* Replay: the recorded call has told this of a child. */
static void follow(const struct hook_io *io, pid_t given, int status, int options)
{
	pid_t real = hook_child_real(given);
	int found;

	if (io->live || !real)
		return;
	hook_sync_let_go(io->t);
	found = await(real, options & (WUNTRACED | WCONTINUED));
	if (found == -1 || WIFEXITED(found) || WIFSIGNALED(found))
		look_up(given, true);
	if (found != -1)
		compare(io->call, status, found);
}

static pid_t wait_for(const char *call, pid_t pid, int *status, int options, struct rusage *usage)
{
	int got = 0;
	HOOK_IO(io, call, HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(wait4)(pid, &got, options, usage));
	if (io.result > 0) {
		hook_io_part(&io, &got, sizeof(got), sizeof(got));
		if (usage)
			hook_io_part(&io, usage, sizeof(*usage), sizeof(*usage));
		follow(&io, (pid_t)io.result, got, options);
		if (status)
			*status = got;
	}
	return (pid_t)hook_io_result(&io);
}

HOOK_EXPORT pid_t wait(int *status)
{
	if (!hook_io_is_programs(SITE))
		return REAL(wait)(status);
	return wait_for("wait", -1, status, 0, NULL);
}

HOOK_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	if (!hook_io_is_programs(SITE))
		return REAL(waitpid)(pid, status, options);
	return wait_for("waitpid", pid, status, options, NULL);
}

HOOK_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	if (!hook_io_is_programs(SITE))
		return REAL(wait3)(status, options, usage);
	return wait_for("wait3", -1, status, options, usage);
}

HOOK_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	if (!hook_io_is_programs(SITE))
		return REAL(wait4)(pid, status, options, usage);
	return wait_for("wait4", pid, status, options, usage);
}

HOOK_EXPORT pid_t __wait(int *status) __attribute__((alias("wait")));
HOOK_EXPORT pid_t __waitpid(pid_t pid, int *status, int options) __attribute__((alias("waitpid")));

/* As wait would tell it. */
static int status_of(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return info->si_status << 8;
	case CLD_DUMPED:
		return info->si_status | 0x80;
	case CLD_STOPPED:
	case CLD_TRAPPED:
		return info->si_status << 8 | 0x7f;
	case CLD_CONTINUED:
		return 0xffff;
	default:
		return info->si_status;
	}
}

HOOK_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t got = {0};
	int status;

	if (!hook_io_is_programs(SITE))
		return REAL(waitid)(type, id, info, options);
	HOOK_IO(io, "waitid", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(waitid)(type, id, &got, options));
	if (io.result == 0) {
		hook_io_part(&io, &got, sizeof(got), sizeof(got));
		status = status_of(&got);
		if (got.si_pid && !(options & WNOWAIT))
			follow(&io, got.si_pid, status,
			       (options & WSTOPPED ? WUNTRACED : 0) | (options & WCONTINUED));
		if (info)
			*info = got;
	}
	return (int)hook_io_result(&io);
}

/* Its child is made and waited for by libc, in replay, too. */
static int run(const char *command)
{
	int rc;

	hook_environ_show();
	rc = REAL(system)(command);
	hook_environ_unshow();
	return rc;
}

HOOK_EXPORT int system(const char *command)
{
	if (!hook_io_is_programs(SITE))
		return run(command);
	if (command)
		hook_output_ran(NULL, command);
	HOOK_IO(io, "system", HOOK_IO_GETS);
	if (io.live) {
		hook_io_did(&io, run(command));
		if (command)
			hook_child_note();
	} else {
		hook_sync_let_go(io.t);
		compare("system", io.result < 0 ? -1 : (int)io.result, run(command));
	}
	return (int)hook_io_result(&io);
}

int hook_child_pclose(FILE *f)
{
	int fd = fileno(f);

	if (!hook_io_is_programs(NULL))
		return REAL(pclose)(f);
	/* What is still to be written is the program's. */
	bool lost = __fwriting(f) && fflush(f) != 0;
	int error = errno, rc;
	HOOK_IO(io, "pclose", HOOK_IO_GETS);
	hook_channel_forget(fd);
	if (io.live) {
		hook_io_did(&io, REAL(pclose)(f));
	} else {
		hook_sync_let_go(io.t);
		compare("pclose", io.result < 0 ? -1 : (int)io.result, REAL(pclose)(f));
	}
	rc = (int)hook_io_result(&io);
	if (rc != 0 || !lost)
		return rc;
	errno = error;
	return -1;
}
