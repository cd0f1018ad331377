/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a debugger needs to copy a replayed process (remote/copy.h): an instruction by which it
 * makes system calls in the process, and a function that tells a copy that it is one. Both are
 * called by setting the registers of a stopped thread, and come back by a trap. They have a stack
 * of their own: the program's is as it was.
 */
#include "ckpt/raw.h"
#include "hook/common/process.h"
#include "hook/common/thread.h"
#include "hook/image/image.h"
#include "hook/input/value/input.h"
#include "hook/session/session.h"

#define STACK 16384

static uint8_t stack[STACK] __attribute__((aligned(16)));

__attribute__((naked)) static void call(void)
{
	__asm__("syscall\n\t"
		"int3");
}

/* The process has another number than before, and so has each of its threads. */
static void begin(void)
{
	int before = hook_process.pid;

	hook_process.pid = (int)raw(SYS_getpid);
	if (before != hook_process.pid)
		hook_input_pid_changed(before);
	if (hook_self)
		hook_thread_renumber(hook_self);
	__asm__ volatile("int3");
}

/* Records that were taken, and polls; and inputs. */
static void tell_how_far(struct replay_copy *copy, const struct hook_thread_replay *r)
{
	copy->come[0] = (uintptr_t)&r->order_reader;
	copy->come_bytes[0] = offsetof(struct hook_thread_replay, guide) -
			      offsetof(struct hook_thread_replay, order_reader);
	copy->come[1] = (uintptr_t)&r->input_reader;
	copy->come_bytes[1] = sizeof(r->input_reader);
}

void hook_image_copy_offer(void)
{
	if (hook_self) {
		tell_how_far(&hook_slot->copy, &hook_self->replay);
		hook_slot->copy.calls = (uintptr_t)&hook_self->signal.calls;
	}
	hook_slot->copy.call = (uintptr_t)call;
	hook_slot->copy.begin = (uintptr_t)begin;
	hook_slot->copy.stack = (uintptr_t)(stack + STACK);
}
