/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process ids. A replayed program gets the recorded ones. What it does to them must reach the
 * process they stand for, not the process that has that number today. In a recording the numbers
 * are the real ones, and nothing is ever translated.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#include "hook/common/child.h"
#include "hook/common/real.h"
#include "hook/common/signal.h"
#include "hook/input/channel/io.h"
#include "hook/input/value/input.h"
#include "hook/kit/text.h"
#include "hook/thread/life/stuck.h"

#define SITE __builtin_return_address(0)

struct alias {
	pid_t given; /* 0: none */
	pid_t real;
};

static struct alias self, parent, group, session;
static bool tids_given;

/* `real` is stored first: who sees the alias sees what it stands for. */
static void remember(struct alias *alias, pid_t given, pid_t real)
{
	__atomic_store_n(&alias->real, real, __ATOMIC_RELAXED);
	__atomic_store_n(&alias->given, given, __ATOMIC_RELEASE);
}

/* A vfork child runs in our memory, but what it learns is not the program's. */
static bool is_program(void)
{
	return REAL(getpid)() == hook_process.pid;
}

void hook_input_was_pid(pid_t pid)
{
	remember(&self, pid, hook_process.pid);
}

void hook_input_pid_changed(pid_t before)
{
	struct alias *const all[] = {&self, &group, &session};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i]->real == before)
			all[i]->real = hook_process.pid;
	}
	parent.real = REAL(getppid)();
}

static int fetch_getpid(void *ctx, uint64_t *value)
{
	(void)ctx;
	*value = (uint64_t)REAL(getpid)();
	return 0;
}

HOOK_EXPORT pid_t getpid(void)
{
	uint64_t value;

	if (hook_depth)
		return REAL(getpid)();
	hook_input_number(TRACE_IN_PID, "getpid", fetch_getpid, NULL, &value);
	if ((pid_t)value != hook_process.pid && is_program())
		remember(&self, (pid_t)value, hook_process.pid);
	return (pid_t)value;
}

static int fetch_getppid(void *ctx, uint64_t *value)
{
	(void)ctx;
	*value = (uint64_t)REAL(getppid)();
	return 0;
}

HOOK_EXPORT pid_t getppid(void)
{
	uint64_t value;

	if (hook_depth)
		return REAL(getppid)();
	hook_input_number(TRACE_IN_PPID, "getppid", fetch_getppid, NULL, &value);
	if (is_program())
		remember(&parent, (pid_t)value, REAL(getppid)());
	return (pid_t)value;
}

static int fetch_gettid(void *ctx, uint64_t *value)
{
	(void)ctx;
	*value = (uint64_t)REAL(gettid)();
	return 0;
}

/* Of the main thread it is the process id, too. */
HOOK_EXPORT pid_t gettid(void)
{
	uint64_t value;
	pid_t real;

	if (hook_depth)
		return REAL(gettid)();
	hook_input_number(TRACE_IN_TID, "gettid", fetch_gettid, NULL, &value);
	real = REAL(gettid)();
	if ((pid_t)value == real || REAL(getpid)() != hook_process.pid)
		return (pid_t)value;
	if (real == hook_process.pid)
		remember(&self, (pid_t)value, real);
	hook_self->replay.tid_real = real;
	__atomic_store_n(&hook_self->replay.tid_given, (int)value, __ATOMIC_RELEASE);
	__atomic_store_n(&tids_given, true, __ATOMIC_RELEASE);
	return (pid_t)value;
}

/* Code of libraries knows real numbers only; a forked child has ours from before the fork. */
static bool knows_aliases(void)
{
	return hook_depth == 0 || REAL(getpid)() != hook_process.pid;
}

static const struct alias *const known[] = {&self, &parent, &group, &session};
#define KNOWN (sizeof(known) / sizeof(known[0]))

static bool is_known(pid_t pid)
{
	for (size_t i = 0; i < KNOWN; i++) {
		if (known[i]->given == pid)
			return true;
	}
	return hook_child_real(pid) != 0;
}

static pid_t real_pid(pid_t pid)
{
	pid_t child, thread;

	if (pid <= 0 || hook_process.mode == HOOK_RECORD || !knows_aliases())
		return pid;
	for (size_t i = 0; i < KNOWN; i++) {
		if (__atomic_load_n(&known[i]->given, __ATOMIC_ACQUIRE) == pid)
			return known[i]->real;
	}
	child = hook_child_real(pid);
	thread = tids_given && !child ? hook_sync_real_tid(pid) : 0;
	return child ? child : thread ? thread : pid;
}

pid_t hook_input_real_pid(pid_t pid)
{
	return pid < -1 ? -real_pid(-pid) : real_pid(pid);
}

const char *hook_input_real_path(const char *path, char buffer[HOOK_INPUT_PATH])
{
	static const char prefix[] = "/proc/";
	struct hook_text out = hook_text_in(buffer, HOOK_INPUT_PATH);
	pid_t pid = 0;
	const char *p;

	if (hook_process.mode == HOOK_RECORD || strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return path;
	for (p = path + sizeof(prefix) - 1; *p >= '0' && *p <= '9' && pid < INT_MAX / 10; p++)
		pid = pid * 10 + (*p - '0');
	if ((*p && *p != '/') || strlen(p) > HOOK_INPUT_PATH / 2 || real_pid(pid) == pid)
		return path;
	hook_text_add(&out, prefix);
	hook_text_number(&out, real_pid(pid));
	hook_text_add(&out, p);
	return buffer;
}

/* To the program itself, in replay: it comes when it was recorded to come. */
static bool comes_as_recorded(pid_t pid, int sig)
{
	return hook_signal_is_recorded(sig) && (pid == 0 || pid == hook_process.pid);
}

/* Replay: whoever the program does not know any more, or never did, is left in peace: 0. */
static pid_t target_of(pid_t pid)
{
	pid_t id = pid < 0 ? -pid : pid;

	if (pid == -1 || !is_known(id))
		return 0;
	return pid < 0 ? -real_pid(id) : real_pid(id);
}

/* To others: whether they are there is an input. */
static int send_to_others(pid_t pid, int sig)
{
	pid_t target = target_of(pid);
	HOOK_IO(io, "kill", HOOK_IO_GIVES);

	if (io.live)
		hook_io_did(&io, REAL(kill)(pid, sig));
	if (io.result == 0 && sig)
		hook_signal_check(io.t, "kill", sig);
	if (!io.live && target)
		REAL(kill)(target, sig);
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int kill(pid_t pid, int sig)
{
	bool to_itself = pid == 0 || real_pid(pid) == hook_process.pid;
	int rc;

	if (!to_itself && hook_io_is_programs(SITE))
		return send_to_others(pid, sig);
	hook_signal_pass();
	hook_signal_sends("kill", sig, SITE);
	pid = hook_input_real_pid(pid);
	rc = comes_as_recorded(pid, sig) ? 0 : REAL(kill)(pid, sig);
	hook_signal_pass();
	return rc;
}

HOOK_EXPORT int sigqueue(pid_t pid, int sig, const union sigval value)
{
	int rc;

	hook_signal_pass();
	hook_signal_sends("sigqueue", sig, SITE);
	pid = real_pid(pid);
	rc = comes_as_recorded(pid, sig) ? 0 : REAL(sigqueue)(pid, sig, value);
	hook_signal_pass();
	return rc;
}

HOOK_EXPORT int killpg(pid_t whom, int signal)
{
	if (hook_depth || whom < 0)
		return REAL(killpg)(real_pid(whom), signal);
	return kill(-whom, signal);
}

HOOK_EXPORT int tgkill(pid_t pid, pid_t tid, int signal)
{
	int rc;

	hook_signal_pass();
	hook_signal_sends("tgkill", signal, SITE);
	rc = REAL(tgkill)(real_pid(pid), real_pid(tid), signal);
	hook_signal_pass();
	return rc;
}

static int fetch_getpgid(void *ctx, uint64_t *value)
{
	pid_t got = REAL(getpgid)(real_pid(*(pid_t *)ctx));

	*value = (uint64_t)got;
	return got < 0 ? -errno : 0;
}

/* Groups and sessions have the numbers of processes. */
HOOK_EXPORT pid_t getpgid(pid_t pid)
{
	uint64_t value;

	if (hook_depth)
		return REAL(getpgid)(real_pid(pid));
	if (hook_input_number(TRACE_IN_GROUP, "getpgid", fetch_getpgid, &pid, &value))
		return -1;
	if ((!pid || real_pid(pid) == hook_process.pid) && is_program())
		remember(&group, (pid_t)value, REAL(getpgid)(0));
	return (pid_t)value;
}

HOOK_EXPORT pid_t getpgrp(void)
{
	return hook_depth ? REAL(getpgrp)() : getpgid(0);
}

static int fetch_getsid(void *ctx, uint64_t *value)
{
	pid_t got = REAL(getsid)(real_pid(*(pid_t *)ctx));

	*value = (uint64_t)got;
	return got < 0 ? -errno : 0;
}

HOOK_EXPORT pid_t getsid(pid_t pid)
{
	uint64_t value;

	if (hook_depth)
		return REAL(getsid)(real_pid(pid));
	if (hook_input_number(TRACE_IN_GROUP, "getsid", fetch_getsid, &pid, &value))
		return -1;
	if ((!pid || real_pid(pid) == hook_process.pid) && is_program())
		remember(&session, (pid_t)value, REAL(getsid)(0));
	return (pid_t)value;
}

struct made {
	pid_t id; /* or -errno */
};

static int fetch_made(void *ctx, uint64_t *value)
{
	const struct made *made = ctx;

	*value = (uint64_t)made->id;
	return made->id < 0 ? made->id : 0;
}

/* Done in replay, too: it also leads a group of its own from then on. */
HOOK_EXPORT pid_t setsid(void)
{
	struct made made = {REAL(setsid)()};
	uint64_t value;

	if (hook_depth)
		return made.id;
	made.id = made.id < 0 ? -errno : made.id;
	if (hook_input_number(TRACE_IN_GROUP, "setsid", fetch_made, &made, &value))
		return -1;
	if (is_program()) {
		remember(&session, (pid_t)value, hook_process.pid);
		remember(&group, (pid_t)value, hook_process.pid);
	}
	return (pid_t)value;
}

HOOK_EXPORT int setpgid(pid_t pid, pid_t into)
{
	return REAL(setpgid)(real_pid(pid), real_pid(into));
}

HOOK_EXPORT ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long parts,
				     const struct iovec *there, unsigned long parts_there,
				     unsigned long flags)
{
	return REAL(process_vm_readv)(real_pid(pid), here, parts, there, parts_there, flags);
}

HOOK_EXPORT ssize_t process_vm_writev(pid_t pid, const struct iovec *here, unsigned long parts,
				      const struct iovec *there, unsigned long parts_there,
				      unsigned long flags)
{
	return REAL(process_vm_writev)(real_pid(pid), here, parts, there, parts_there, flags);
}

HOOK_EXPORT int getpriority(__priority_which_t which, id_t who)
{
	if (which == PRIO_PROCESS)
		who = (id_t)real_pid((pid_t)who);
	return REAL(getpriority)(which, who);
}

HOOK_EXPORT int setpriority(__priority_which_t which, id_t who, int value)
{
	if (which == PRIO_PROCESS)
		who = (id_t)real_pid((pid_t)who);
	return REAL(setpriority)(which, who, value);
}

HOOK_EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *set,
			struct rlimit *old)
{
	return REAL(prlimit)(real_pid(pid), resource, set, old);
}

HOOK_EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *set,
			  struct rlimit64 *old)
{
	return REAL(prlimit64)(real_pid(pid), resource, set, old);
}

HOOK_EXPORT int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	return REAL(sched_getaffinity)(real_pid(pid), size, set);
}

HOOK_EXPORT int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	return REAL(sched_setaffinity)(real_pid(pid), size, set);
}

HOOK_EXPORT int sched_getscheduler(pid_t pid)
{
	return REAL(sched_getscheduler)(real_pid(pid));
}

HOOK_EXPORT int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	return REAL(sched_setscheduler)(real_pid(pid), policy, param);
}

HOOK_EXPORT int sched_rr_get_interval(pid_t pid, struct timespec *interval)
{
	return REAL(sched_rr_get_interval)(real_pid(pid), interval);
}

/* Of older versions of libc, which have none, the program can call none. */
HOOK_EXPORT int pidfd_open(pid_t pid, unsigned int flags)
{
	return (int)syscall(SYS_pidfd_open, real_pid(pid), flags);
}

HOOK_EXPORT int sched_getparam(pid_t pid, struct sched_param *param)
{
	return REAL(sched_getparam)(real_pid(pid), param);
}

HOOK_EXPORT int sched_setparam(pid_t pid, const struct sched_param *param)
{
	return REAL(sched_setparam)(real_pid(pid), param);
}

/* As the kernel has it; libc has no header for these two. */
struct capabilities {
	uint32_t version;
	int pid;
};

static int with_capabilities(long number, struct capabilities *head, void *data)
{
	struct capabilities with;
	long rc;

	if (!head)
		return (int)syscall(number, head, data);
	with = (struct capabilities){head->version, real_pid(head->pid)};
	rc = syscall(number, &with, data);
	if (head->version != with.version)
		head->version = with.version;
	return (int)rc;
}

HOOK_EXPORT int capget(struct capabilities *head, void *data)
{
	return with_capabilities(SYS_capget, head, data);
}

HOOK_EXPORT int capset(struct capabilities *head, void *data)
{
	return with_capabilities(SYS_capset, head, data);
}
