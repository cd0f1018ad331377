/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A restored process. Memory, threads and descriptors are what they were; what is not is the
 * process itself: its number, those of its threads, and the session. The thread that took the image
 * puts that right while all others wait. Kernel numbers of threads are new, but libc's stay the old
 * ones, since mutexes that are held have them as their owners.
 */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <unistd.h>

#include "ckpt/raw.h"
#include "hook/common/end.h"
#include "hook/common/environ.h"
#include "hook/common/process.h"
#include "hook/session/halt.h"
#include "hook/session/private.h"
#include "hook/session/session.h"
#include "hook/common/signal.h"
#include "hook/common/thread.h"
#include "hook/image/image.h"
#include "hook/input/value/input.h"
#include "hook/output/output.h"
#include "hook/thread/evaluate/account.h"

/*
 * Both are in the next image, too, if this process takes one: nobody has arrived there, and the
 * number is not that of the next.
 */
static uint32_t arrived; /* threads, but for the taker */
static uint32_t right;   /* the image after which everything is as it should be; a futex */

__attribute__((naked, used)) void hook_image_return(void)
{
	__asm__("mov $15, %eax\n\t"
		"syscall");
}

static void __attribute__((noreturn)) return_from_handler(uint64_t frame)
{
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "mov $15, %%eax\n\t"
			 "syscall"
			 :
			 : "r"(frame)
			 : "memory");
	__builtin_unreachable();
}

/*
 * What the front has set stays, all else is as it was. Other ranks read the flags at any time:
 * they must not see those of the image.
 */
static void fill_slot(void)
{
	const struct replay_slot now = *hook_slot;
	struct replay_slot next = hook_image.slot;

	next.flags = now.flags;
	next.patience = now.patience;
	next.recorded_ms = now.recorded_ms;
	next.halt = now.halt;
	next.stage = now.stage;
	next.go = now.go;
	next.halted = 0;
	next.pid = hook_process.pid;
	*hook_slot = next;
}

static void put_right(void)
{
	int before = hook_process.pid, depth = hook_depth, error = errno;

	hook_depth = HOOK_CLOSED;
	hook_process.pid = (int)raw(SYS_getpid);
	strcpy(hook_process.dir, hook_image.note.dir);
	strcpy(hook_process.session, hook_image.note.session);
	hook_process.replay.checkpoint = false;
	hook_process.replay.evaluate = false;
	hook_end_flush = NULL;
	hook_private_resume();
	hook_image_go_on();
	hook_input_pid_changed(before);
	hook_output_resume();
	fill_slot();
	hook_environ_change("REPRISE_DIR", hook_image.note.dir);
	hook_environ_change("REPRISE_SESSION", hook_image.note.session);
	hook_halt_resume();
	hook_depth = depth;
	errno = error;
}

/* Somebody may want this thread to halt, who did not when the image was taken. */
static void halt_anew(void)
{
	struct hook_thread *t = hook_self;

	if (!t || !t->opened)
		return;
	hook_halt_open(t);
	if (t->replay.halt_at && t->replay.halt_at < t->replay.calm)
		t->replay.calm = t->replay.halt_at;
	if (t->replay.halt_op && t->replay.halt_op <= t->replay.quick_until)
		t->replay.quick_until = t->replay.halt_op - 1;
}

/*
 * What is noted of the threads counts until all have arrived: from then on the taker may take the
 * next image, and write another one's there, before a slow thread has gone on.
 */
void hook_image_resume(uint64_t index)
{
	const struct ckpt_thread *t = &hook_image.thread[index];
	uint64_t frame = t->frame;
	uint32_t before;

	if (hook_self) {
		hook_thread_renumber(hook_self);
		hook_account_forget(hook_self);
	}
	if (!(t->flags & CKPT_THREAD_TAKER)) {
		before = __atomic_load_n(&right, __ATOMIC_ACQUIRE);
		__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
		while (__atomic_load_n(&right, __ATOMIC_ACQUIRE) == before)
			raw(SYS_futex, &right, FUTEX_WAIT_PRIVATE, before, NULL, NULL, 0);
		halt_anew();
		return_from_handler(frame);
	}
	while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) + 1 < hook_image.threads)
		raw(SYS_sched_yield);
	raw(SYS_munmap, hook_image.note.scratch, hook_image.note.scratch_bytes);
	put_right();
	arrived = 0;
	__atomic_store_n(&right, hook_image.head.number, __ATOMIC_RELEASE);
	raw(SYS_futex, &right, FUTEX_WAKE_PRIVATE, CKPT_MOST_THREADS);
	halt_anew();
	return_from_handler(frame);
}
