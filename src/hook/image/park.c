/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads are made to stand still. The signal is the one by which libc changes user ids in all
 * threads: no program can block it. Ours are told from libc's by what they carry. Invariant: a
 * thread gets it once for an image; who does not come in time is not waited for, and then there is
 * no image.
 */
#include "hook/image/park.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <ucontext.h>

#include <asm/prctl.h>

#include "ckpt/raw.h"

/*
 * Where others use the processors, a thread may need seconds to come; one that never does costs
 * that once.
 */
#define PATIENCE_NS 5000000000ull
#define SHORT_PATIENCE_NS 500000000ull

struct hook_park hook_park;

/* What the kernel knows of the calling thread; its number comes last, and says that it is there. */
static void note_thread(struct ckpt_thread *t, const ucontext_t *context, int tid)
{
	t->frame = (uint64_t)context;
	t->fs = t->gs = 0;
	raw(SYS_arch_prctl, ARCH_GET_FS, &t->fs);
	raw(SYS_arch_prctl, ARCH_GET_GS, &t->gs);
	raw(SYS_prctl, PR_GET_TID_ADDRESS, &t->tid_address);
	raw(SYS_get_robust_list, 0, &t->robust, &t->robust_bytes);
	for (int i = 0; i < CKPT_CPU_WORDS; i++)
		t->cpus[i] = 0;
	raw(SYS_sched_getaffinity, 0, sizeof(t->cpus), t->cpus);
	t->rseq = __rseq_size ? t->fs + (uint64_t)__rseq_offset : 0;
	t->flags = (tid == hook_process.pid ? CKPT_THREAD_MAIN : 0) |
		   (tid == hook_park.taker ? CKPT_THREAD_TAKER : 0);
	__atomic_store_n(&t->tid, tid, __ATOMIC_RELEASE);
}

static bool has_come(int tid)
{
	uint32_t n = __atomic_load_n(&hook_park.slots, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < CKPT_MOST_THREADS; i++) {
		if (__atomic_load_n(&hook_image.thread[i].tid, __ATOMIC_ACQUIRE) == tid)
			return true;
	}
	return false;
}

static bool was_sent(int tid)
{
	for (uint32_t i = 0; i < hook_park.sents; i++) {
		if (hook_park.sent[i] == tid)
			return true;
	}
	return false;
}

static void send_to(int tid)
{
	siginfo_t info = {.si_signo = HOOK_PARK_SIGNAL, .si_code = SI_QUEUE};

	info.si_pid = hook_process.pid;
	info.si_value.sival_ptr = &hook_park;
	hook_park.sent[hook_park.sents++] = tid;
	raw(SYS_rt_tgsigqueueinfo, hook_process.pid, tid, HOOK_PARK_SIGNAL, &info);
}

struct task {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* Sends to those that are new; how many have not come. */
static uint32_t look_at_tasks(void)
{
	char buffer[2048];
	long dir = raw(SYS_open, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), n;
	uint32_t missing = dir < 0;

	while (dir >= 0 && (n = raw(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < n;) {
			struct task *e = (struct task *)(buffer + at);
			char *p = e->name;
			int tid = (int)raw_decimal(&p);

			at += e->bytes;
			if (p == e->name || tid == hook_park.taker || has_come(tid))
				continue;
			missing++;
			if (!was_sent(tid) && hook_park.sents < CKPT_MOST_THREADS)
				send_to(tid);
		}
	}
	if (dir >= 0)
		raw(SYS_close, dir);
	return missing;
}

bool hook_park_others(void)
{
	static uint64_t patience = PATIENCE_NS;
	uint64_t until = hook_park.begun + patience;

	while (look_at_tasks()) {
		struct timespec tick = {0, 100000};
		int parked = __atomic_load_n(&hook_park.parked, __ATOMIC_ACQUIRE);

		if (hook_park_now() > until) {
			patience = SHORT_PATIENCE_NS;
			return false;
		}
		raw(SYS_futex, &hook_park.parked, FUTEX_WAIT_PRIVATE, parked, &tick, NULL, 0);
	}
	patience = PATIENCE_NS;
	return true;
}

static void on_park(int sig, siginfo_t *info, void *context)
{
	int tid = (int)raw(SYS_gettid), released;
	uint32_t i;

	if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != &hook_park) {
		void (*before)(int, siginfo_t *, void *) =
			(void (*)(int, siginfo_t *, void *))hook_image.parking.handler;

		if ((uint64_t)before > 1)
			before(sig, info, context);
		return;
	}
	if (!__atomic_load_n(&hook_park.taker, __ATOMIC_ACQUIRE))
		return; /* it came too late */
	released = __atomic_load_n(&hook_park.released, __ATOMIC_ACQUIRE);
	i = __atomic_fetch_add(&hook_park.slots, 1, __ATOMIC_ACQ_REL);
	if (i < CKPT_MOST_THREADS) {
		hook_park.who[i] = hook_self;
		note_thread(&hook_image.thread[i], context, tid);
	}
	if (tid == hook_park.taker) {
		hook_park.work();
		return;
	}
	__atomic_add_fetch(&hook_park.parked, 1, __ATOMIC_ACQ_REL);
	raw(SYS_futex, &hook_park.parked, FUTEX_WAKE_PRIVATE, 1);
	while (__atomic_load_n(&hook_park.released, __ATOMIC_ACQUIRE) == released)
		raw(SYS_futex, &hook_park.released, FUTEX_WAIT_PRIVATE, released, NULL, NULL, 0);
}

static void release(void)
{
	__atomic_store_n(&hook_park.taker, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&hook_park.released, 1, __ATOMIC_ACQ_REL);
	raw(SYS_futex, &hook_park.released, FUTEX_WAKE_PRIVATE, CKPT_MOST_THREADS);
}

static void set_handler(struct ckpt_action *before)
{
	struct ckpt_action ours = {
		.handler = (uint64_t)on_park,
		.flags = SA_SIGINFO | SA_RESTART | 0x04000000 /* SA_RESTORER */,
		.restorer = (uint64_t)hook_image_return,
		.mask = UINT64_MAX,
	};

	raw(SYS_rt_sigaction, HOOK_PARK_SIGNAL, &ours, before, 8);
}

bool hook_park_and(void (*work)(void))
{
	uint64_t unblock = 1ull << (HOOK_PARK_SIGNAL - 1), mask;
	int error = errno;

	hook_image.note.restored = 0;
	hook_park.slots = 0;
	hook_park.parked = 0;
	hook_park.sents = 0;
	hook_park.work = work;
	hook_park.begun = hook_park_now();
	for (int i = 0; i < CKPT_MOST_THREADS && hook_image.thread[i].tid; i++)
		hook_image.thread[i].tid = 0;
	set_handler(&hook_image.parking);
	__atomic_store_n(&hook_park.taker, (int)raw(SYS_gettid), __ATOMIC_RELEASE);
	raw(SYS_rt_sigprocmask, SIG_UNBLOCK, &unblock, &mask, 8);
	send_to(hook_park.taker);
	raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	if (!hook_image.note.restored) {
		release();
		if (hook_image.parking.handler || !hook_park.sents)
			raw(SYS_rt_sigaction, HOOK_PARK_SIGNAL, &hook_image.parking, NULL, 8);
	}
	errno = error;
	return hook_image.note.restored;
}
