/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process makes the fork and the threads itself: its registers are set to a system call, and
 * set back. Whatever a thread stood in, it finds itself there again.
 */
#include "remote/copy.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define PATIENCE 5.0 /* seconds for a system call that does not wait */
#define STATE_BYTES 8192
#define SHARED_MOST (64u << 20)
#define SCRATCH 4096 /* below the top of the stack: where calls put what they tell */

#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

/* All that the kernel knows of a thread and a fork or a clone does not pass on. */
struct thread_state {
	struct user_regs_struct regs;
	uint8_t extended[STATE_BYTES];
	size_t extended_bytes;
	uint64_t mask;
	uint64_t tid_address;
	uint64_t robust;
	size_t robust_bytes;
	stack_t alternate;
};

static int get_mask(int tid, uint64_t *mask)
{
	return ptrace(PTRACE_GETSIGMASK, tid, sizeof(*mask), mask) == 0 ? 0 : -errno;
}

static int set_mask(int tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) == 0 ? 0 : -errno;
}

/* Runs the thread up to the next trap; *made: what it has cloned meanwhile. */
static int run_to_trap(int tid, int *made)
{
	unsigned long message;
	int status;

	for (;;) {
		if (ptrace(PTRACE_CONT, tid, NULL, NULL) != 0)
			return -errno;
		if (!remote_process_wait(tid, &status, PATIENCE))
			return -ETIMEDOUT;
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (status >> 16 == PTRACE_EVENT_CLONE && made &&
		    ptrace(PTRACE_GETEVENTMSG, tid, NULL, &message) == 0)
			*made = (int)message;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP)
			return 0;
		if (status >> 16 == 0)
			return -EINTR;
	}
}

/* The thread makes a system call; its registers are then those of that call. */
static int call(int tid, const struct replay_copy *how, const struct user_regs_struct *base,
		const long words[6], int *made, long *result)
{
	struct user_regs_struct regs = *base;
	int rc;

	regs.rip = how->call;
	regs.rsp = how->stack - SCRATCH;
	regs.rax = (unsigned long long)words[0];
	regs.rdi = (unsigned long long)words[1];
	regs.rsi = (unsigned long long)words[2];
	regs.rdx = (unsigned long long)words[3];
	regs.r10 = (unsigned long long)words[4];
	regs.r8 = (unsigned long long)words[5];
	regs.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &regs) != 0)
		return -errno;
	rc = run_to_trap(tid, made);
	if (!rc && ptrace(PTRACE_GETREGS, tid, NULL, &regs) != 0)
		rc = -errno;
	*result = rc ? rc : (long)regs.rax;
	return rc;
}

/* The thread's part of the process that is now another one. */
static int begin(int tid, const struct replay_copy *how, const struct user_regs_struct *base)
{
	struct user_regs_struct regs = *base;

	regs.rip = how->begin;
	regs.rsp = how->stack - SCRATCH - 8;
	regs.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &regs) != 0)
		return -errno;
	return run_to_trap(tid, NULL);
}

/* What has to be asked for by the thread itself. */
static int ask(const struct remote_process *p, int tid, const struct replay_copy *how,
	       struct thread_state *s)
{
	uint64_t scratch = how->stack - SCRATCH / 2;
	long result;
	int rc = call(tid, how, &s->regs, (long[6]){SYS_prctl, PR_GET_TID_ADDRESS, (long)scratch},
		      NULL, &result);

	if (!rc && result == 0)
		remote_process_read(p, scratch, &s->tid_address, sizeof(s->tid_address));
	if (!rc)
		rc = call(tid, how, &s->regs, (long[6]){SYS_sigaltstack, 0, (long)scratch}, NULL,
			  &result);
	if (!rc && result == 0)
		remote_process_read(p, scratch, &s->alternate, sizeof(s->alternate));
	return rc;
}

static int get_state(const struct remote_process *p, const struct remote_thread *t,
		     const struct replay_copy *how, struct thread_state *s)
{
	struct iovec v = {s->extended, sizeof(s->extended)};
	int rc = remote_process_registers(t, &s->regs);

	if (!rc)
		rc = get_mask(t->tid, &s->mask);
	if (!rc && ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) != 0)
		rc = -errno;
	s->extended_bytes = v.iov_len;
	if (rc || t->tid == p->pid)
		return rc;
	if (syscall(SYS_get_robust_list, t->tid, &s->robust, &s->robust_bytes) != 0)
		s->robust = 0;
	rc = set_mask(t->tid, ~(1ull << (SIGTRAP - 1)));
	if (!rc)
		rc = ask(p, t->tid, how, s);
	if (remote_process_set_registers(t, &s->regs) != 0 || set_mask(t->tid, s->mask) != 0)
		return -ESRCH;
	return rc;
}

static int set_state(int tid, const struct thread_state *s)
{
	struct iovec v = {(void *)s->extended, s->extended_bytes};

	if (ptrace(PTRACE_SETREGSET, tid, (void *)NT_X86_XSTATE, &v) != 0 ||
	    ptrace(PTRACE_SETREGS, tid, NULL, &s->regs) != 0)
		return -errno;
	return set_mask(tid, s->mask);
}

/* All that we know of a thread but who it is, and debug registers, which it does not have. */
static void take_rest(struct remote_thread *to, const struct remote_thread *from)
{
	int tid = to->tid;

	*to = *from;
	to->tid = tid;
	to->control = 0;
	memset(to->address, 0, sizeof(to->address));
}

/* Makes a thread in the copy, which has all but that. */
static int make_thread(struct remote_process *to, const struct replay_copy *how,
		       const struct thread_state *first, const struct thread_state *s,
		       const struct remote_thread *t)
{
	uint64_t scratch = how->stack - SCRATCH / 2;
	int made = 0, status, rc;
	long result;

	rc = call(to->pid, how, &first->regs,
		  (long[6]){SYS_clone, THREAD, (long)(how->stack - 2 * SCRATCH)}, &made, &result);
	if (!rc && result < 0)
		rc = (int)result;
	if (!rc && (!made || !remote_process_wait(made, &status, PATIENCE)))
		rc = -ESRCH;
	if (rc)
		return rc;
	take_rest(remote_process_add(to, made, t->number), t);
	rc = set_mask(made, ~(1ull << (SIGTRAP - 1)));
	if (!rc && s->tid_address)
		rc = call(made, how, &s->regs, (long[6]){SYS_set_tid_address, (long)s->tid_address},
			  NULL, &result);
	if (!rc && s->robust)
		rc = call(made, how, &s->regs,
			  (long[6]){SYS_set_robust_list, (long)s->robust, (long)s->robust_bytes},
			  NULL, &result);
	remote_process_write(to, scratch, &s->alternate, sizeof(s->alternate));
	if (!rc)
		rc = call(made, how, &s->regs, (long[6]){SYS_sigaltstack, (long)scratch}, NULL,
			  &result);
	if (!rc)
		rc = begin(made, how, &s->regs);
	return rc ? rc : set_state(made, s);
}

static const struct remote_thread *first_thread(const struct remote_process *p)
{
	for (size_t i = 0; i < p->threads; i++) {
		if (p->thread[i].tid == p->pid)
			return &p->thread[i];
	}
	return NULL;
}

static int fork_first(const struct remote_process *from, const struct replay_copy *how,
		      const struct thread_state *s, struct remote_process *to)
{
	int made = 0, rc;
	long result;

	rc = set_mask(from->pid, ~(1ull << (SIGTRAP - 1)));
	if (!rc)
		rc = call(from->pid, how, &s->regs, (long[6]){SYS_clone}, &made, &result);
	if (!rc && result < 0)
		rc = (int)result;
	if (set_state(from->pid, s) != 0 && !rc)
		rc = -ESRCH;
	if (!rc && !made)
		rc = -ESRCH;
	if (!rc)
		rc = remote_process_take(to, made);
	if (!rc)
		rc = begin(made, how, &s->regs);
	return rc;
}

/* What its threads were called before may be in its memory. */
static void take_numbers(struct remote_process *to, const struct remote_process *from)
{
	to->had = rp_widen(to->had, to->hads, to->hads + from->hads, sizeof(*to->had));
	memcpy(to->had + to->hads, from->had, from->hads * sizeof(*to->had));
	to->hads += from->hads;
}

int remote_copy_make(const struct remote_process *from, const struct replay_copy *how,
		     struct remote_process *to)
{
	const struct remote_thread *first = first_thread(from);
	struct thread_state *s = rp_alloc(from->threads + 1, sizeof(*s));
	int rc = first && how->call ? 0 : -EINVAL;

	*to = (struct remote_process){.memory = -1};
	for (size_t i = 0; i < from->threads && !rc; i++)
		rc = get_state(from, &from->thread[i], how, &s[i]);
	if (!rc)
		rc = fork_first(from, how, &s[first - from->thread], to);
	if (!rc)
		take_rest(&to->thread[0], first);
	for (size_t i = 0; i < from->threads && !rc; i++) {
		if (&from->thread[i] != first)
			rc = make_thread(to, how, &s[first - from->thread], &s[i],
					 &from->thread[i]);
	}
	if (!rc)
		rc = set_state(to->pid, &s[first - from->thread]);
	take_numbers(to, from);
	to->home = from->home;
	to->numbers = from->numbers;
	to->only = from->only;
	to->turns = from->turns;
	to->turn = from->turn;
	to->taken = from->taken;
	to->turn_cpu = from->turn_cpu;
	to->clock = from->clock;
	to->waits = from->waits;
	free(s);
	if (rc && to->pid)
		remote_process_kill(to);
	return rc;
}

/* --- what is shared */

static int note_shared(const struct remote_process *p, struct remote_copy *copy)
{
	char path[64], line[4400], kind[8];
	uint64_t start, end;
	FILE *file;
	int rc = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		struct remote_shared *s;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, kind) != 3 ||
		    kind[1] != 'w' || kind[3] != 's')
			continue;
		if (end - start > SHARED_MOST) {
			rc = -E2BIG;
			continue;
		}
		copy->shared = rp_widen(copy->shared, copy->shareds, copy->shareds + 1,
					sizeof(*copy->shared));
		s = &copy->shared[copy->shareds++];
		s->address = start;
		s->saved = rp_alloc(end - start, 1);
		/* A file may be shorter than its mapping. */
		s->bytes = remote_process_read(p, start, s->saved, end - start);
	}
	if (file)
		fclose(file);
	return rc;
}

static void restore_shared(const struct remote_copy *copy, const struct remote_process *to)
{
	for (size_t i = 0; i < copy->shareds; i++)
		remote_process_write(to, copy->shared[i].address, copy->shared[i].saved,
				     copy->shared[i].bytes);
}

/* A descriptor of the process as one of ours, for the file that both then have. */
static int borrow(int pid, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int ours = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

	if (pidfd >= 0)
		close(pidfd);
	return ours;
}

static void note_positions(const struct remote_process *p, struct remote_copy *copy)
{
	char path[64];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", p->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name), ours;
		off_t at;

		if (fstatat(dirfd(dir), entry->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode))
			continue;
		ours = borrow(p->pid, fd);
		at = ours < 0 ? -1 : lseek(ours, 0, SEEK_CUR);
		if (ours >= 0)
			close(ours);
		if (at < 0)
			continue;
		copy->position = rp_widen(copy->position, copy->positions, copy->positions + 1,
					  sizeof(*copy->position));
		copy->position[copy->positions++] = (struct remote_position){fd, at};
	}
	if (dir)
		closedir(dir);
}

static void restore_positions(const struct remote_copy *copy, const struct remote_process *to)
{
	for (size_t i = 0; i < copy->positions; i++) {
		int ours = borrow(to->pid, copy->position[i].fd);

		if (ours < 0)
			continue;
		lseek(ours, copy->position[i].at, SEEK_SET);
		close(ours);
	}
}

bool remote_copy_has_files(const struct remote_copy *copy, const struct remote_process *p)
{
	for (size_t i = 0; i < copy->positions; i++) {
		int ours = borrow(p->pid, copy->position[i].fd);
		off_t at = ours < 0 ? -1 : lseek(ours, 0, SEEK_CUR);

		if (ours >= 0)
			close(ours);
		if (at != copy->position[i].at)
			return false;
	}
	return remote_files_are(p, &copy->files);
}

int remote_copy_keep(const struct remote_process *from, const struct replay_copy *how,
		     struct remote_copy *copy)
{
	int rc;

	*copy = (struct remote_copy){.process = {.memory = -1}};
	rc = remote_copy_make(from, how, &copy->process);
	if (rc)
		return rc;
	rc = note_shared(&copy->process, copy);
	note_positions(&copy->process, copy);
	remote_files_note(&copy->process, &copy->files);
	if (rc)
		remote_copy_drop(copy);
	return rc;
}

int remote_copy_take_up(const struct remote_copy *copy, const struct replay_copy *how,
			struct remote_process *to)
{
	int rc = remote_copy_make(&copy->process, how, to);

	if (rc)
		return rc;
	remote_files_put_back(to, &copy->files);
	restore_shared(copy, to);
	restore_positions(copy, to);
	return 0;
}

void remote_copy_drop(struct remote_copy *copy)
{
	remote_process_kill(&copy->process);
	for (size_t i = 0; i < copy->shareds; i++)
		free(copy->shared[i].saved);
	free(copy->shared);
	free(copy->position);
	remote_files_free(&copy->files);
	*copy = (struct remote_copy){.process = {.memory = -1, .gone = true}};
}
