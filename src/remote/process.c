/* SPDX-License-Identifier: Apache-2.0 */
/* The process and its threads, memory and registers; run.c lets them run. */
#include "remote/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "remote/process-inner.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void on_tick(int sig)
{
	(void)sig;
}

/* From now on no wait lasts longer than a tick. */
static void begin_ticks(void)
{
	struct sigaction action = {.sa_handler = on_tick};
	struct itimerval every = {{0, REMOTE_TICK_US}, {0, REMOTE_TICK_US}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

struct remote_thread *remote_process_thread(const struct remote_process *p, unsigned number)
{
	for (size_t i = 0; i < p->threads; i++) {
		if (p->thread[i].number == number)
			return &p->thread[i];
	}
	return NULL;
}

struct remote_thread *remote_process_by_tid(const struct remote_process *p, int tid)
{
	for (size_t i = 0; i < p->threads; i++) {
		if (p->thread[i].tid == tid)
			return &p->thread[i];
	}
	return NULL;
}

struct remote_thread *remote_process_add(struct remote_process *p, int tid, unsigned number)
{
	p->thread = rp_widen(p->thread, p->threads, p->threads + 1, sizeof(*p->thread));
	p->thread[p->threads].tid = tid;
	p->thread[p->threads].number = number;
	if (number > p->numbers)
		p->numbers = number;
	p->had = rp_widen(p->had, p->hads, p->hads + 1, sizeof(*p->had));
	p->had[p->hads++] = (struct remote_number){tid, number};
	return &p->thread[p->threads++];
}

void remote_process_drop(struct remote_process *p, int tid)
{
	struct remote_thread *t = remote_process_by_tid(p, tid);

	if (!t)
		return;
	p->threads--;
	memmove(t, t + 1, (size_t)(p->thread + p->threads - t) * sizeof(*t));
}

size_t remote_process_read(const struct remote_process *p, uint64_t at, void *to, size_t n)
{
	ssize_t done = pread(p->memory, to, n, (off_t)at);

	/* Up to the end of a mapping it tells how much there is; what begins outside is an error.
	 */
	return done < 0 ? 0 : (size_t)done;
}

size_t remote_process_write(const struct remote_process *p, uint64_t at, const void *from, size_t n)
{
	ssize_t done = pwrite(p->memory, from, n, (off_t)at);

	return done < 0 ? 0 : (size_t)done;
}

int remote_process_registers(const struct remote_thread *t, struct user_regs_struct *regs)
{
	return ptrace(PTRACE_GETREGS, t->tid, NULL, regs) == 0 ? 0 : -errno;
}

int remote_process_set_registers(const struct remote_thread *t, const struct user_regs_struct *regs)
{
	return ptrace(PTRACE_SETREGS, t->tid, NULL, regs) == 0 ? 0 : -errno;
}

double remote_process_cpu(const struct remote_process *p)
{
	struct timespec ts = {0, 0};
	clockid_t clock;

	if (clock_getcpuclockid(p->pid, &clock) == 0)
		clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

char remote_process_state(int pid, int tid)
{
	char path[64], line[512], *at = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		at = strrchr(line, ')');
	if (file)
		fclose(file);
	return at && at[1] ? at[2] : 'Z';
}

bool remote_process_wait(int tid, int *status, double seconds)
{
	double end = now() + seconds;

	for (;;) {
		int got = waitpid(tid, status, __WALL);

		if (got == tid)
			return true;
		if (got < 0 && errno != EINTR)
			return false;
		if (now() > end)
			return false;
	}
}

/* A status that is sure to come. */
bool remote_process_await(int tid, int *status)
{
	int got;

	do
		got = waitpid(tid, status, __WALL);
	while (got < 0 && errno == EINTR);
	return got == tid;
}

/* Memory of another program than before, after exec, has to be opened again. */
int remote_process_open_memory(struct remote_process *p)
{
	char path[32];

	if (p->memory >= 0)
		close(p->memory);
	snprintf(path, sizeof(path), "/proc/%d/mem", p->pid);
	p->memory = open(path, O_RDWR | O_CLOEXEC);
	return p->memory < 0 ? -errno : 0;
}

int remote_process_take(struct remote_process *p, pid_t pid)
{
	int status;

	if (!remote_process_await(pid, &status) || !WIFSTOPPED(status))
		return -ECHILD;
	*p = (struct remote_process){.pid = pid, .memory = -1};
	remote_process_add(p, pid, 1);
	return remote_process_open_memory(p);
}

int remote_process_seize(struct remote_process *p, pid_t pid)
{
	long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
		       PTRACE_O_TRACESYSGOOD;

	begin_ticks();
	if (ptrace(PTRACE_SEIZE, pid, NULL, options) != 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0)
		return -errno;
	return remote_process_take(p, pid);
}

/* Its end is yet to be told of. Who waited for another one may have been told, if it was killed. */
static bool is_there(pid_t pid)
{
	int status, got = waitpid(pid, &status, __WALL | WNOHANG);

	return got == 0 || (got == pid && WIFSTOPPED(status));
}

/* Nobody else runs. Its first thread is told of last. */
void remote_process_kill(struct remote_process *p)
{
	int status, tid;

	if (p->pid && !p->gone && is_there(p->pid) && kill(p->pid, SIGKILL) == 0) {
		do
			tid = waitpid(-1, &status, __WALL);
		while (tid < 0 ? errno == EINTR : tid != p->pid || WIFSTOPPED(status));
	}
	if (p->memory >= 0)
		close(p->memory);
	free(p->thread);
	free(p->had);
	*p = (struct remote_process){.memory = -1, .gone = true};
}

#define STEP_FLAG 0x100ull

enum remote_telling remote_process_tells(const struct remote_process *p,
					 const struct remote_thread *t)
{
	struct user_regs_struct regs;
	uint8_t code[3] = {0};

	if (remote_process_registers(t, &regs) != 0 ||
	    !remote_process_read(p, regs.rip, code, sizeof(code)))
		return REMOTE_TELLS_NOTHING;
	if (code[0] == 0x0f && code[1] == 0x05)
		return REMOTE_TELLS_IN_R11;
	return code[0] == 0x9c || (code[0] == 0x66 && code[1] == 0x9c) ? REMOTE_TELLS_ON_STACK
								       : REMOTE_TELLS_NOTHING;
}

void remote_process_hide_step(const struct remote_process *p, const struct remote_thread *t,
			      enum remote_telling telling)
{
	struct user_regs_struct regs;
	uint16_t flags;

	if (telling == REMOTE_TELLS_NOTHING || remote_process_registers(t, &regs) != 0)
		return;
	if (telling == REMOTE_TELLS_IN_R11) {
		regs.r11 &= ~STEP_FLAG;
		remote_process_set_registers(t, &regs);
	} else if (remote_process_read(p, regs.rsp, &flags, sizeof(flags)) == sizeof(flags)) {
		flags &= (uint16_t)~STEP_FLAG;
		remote_process_write(p, regs.rsp, &flags, sizeof(flags));
	}
}
