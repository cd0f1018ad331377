/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of a program that was not compiled for it and runs in our Valgrind tool: each function
 * is a request to the tool. A request is a row of instructions that does nothing, and that Valgrind
 * knows. It is part of Valgrind's published interface.
 */

#include "hook/common/process.h"
#include "hook/race/module.h"
#include "hook/thread/race/race.h"

bool hook_race_in_valgrind;

#define TOOL ((uintptr_t)'R' << 24 | (uintptr_t)'P' << 16)

static uintptr_t request(enum hook_race_request what, uintptr_t a, uintptr_t b, uintptr_t c)
{
	volatile uintptr_t words[6] = {TOOL | (uintptr_t)what, a, b, c, 0, 0};
	uintptr_t result = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(words)
			 : "cc", "memory");
	return result;
}

static int put_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	request(HOOK_RACE_REQUEST_MODULE, (uintptr_t)info->dlpi_name, info->dlpi_addr,
		hook_race_module_end(info));
	return 0;
}

static int start(int dir, const char *name, const char *watch,
		 const struct hook_race_frames *frames)
{
	int rc = (int)request(HOOK_RACE_REQUEST_START, (uintptr_t)dir, (uintptr_t)name,
			      (uintptr_t)watch);

	(void)frames;
	if (!rc)
		dl_iterate_phdr(put_module, NULL);
	return rc;
}

static void stop(void)
{
	request(HOOK_RACE_REQUEST_STOP, 0, 0, 0);
}

static void finish(void)
{
	request(HOOK_RACE_REQUEST_FINISH, 0, 0, 0);
}

static void *fork_child(const char *name)
{
	return (void *)request(HOOK_RACE_REQUEST_FORK, (uintptr_t)name, 0, 0);
}

static void begin(void *child)
{
	request(HOOK_RACE_REQUEST_BEGIN, (uintptr_t)child, 0, 0);
}

static void abandon(void *child)
{
	request(HOOK_RACE_REQUEST_ABANDON, (uintptr_t)child, 0, 0);
}

static void end(void)
{
	request(HOOK_RACE_REQUEST_END, 0, 0, 0);
}

static void acquire(const void *object)
{
	request(HOOK_RACE_REQUEST_ACQUIRE, (uintptr_t)object, 0, 0);
}

static void release(const void *object)
{
	request(HOOK_RACE_REQUEST_RELEASE, (uintptr_t)object, 0, 0);
}

static void forget(const void *object)
{
	request(HOOK_RACE_REQUEST_FORGET, (uintptr_t)object, 0, 0);
}

static void atomic(const void *object, int what, int order)
{
	request(HOOK_RACE_REQUEST_ATOMIC, (uintptr_t)object, (uintptr_t)what, (uintptr_t)order);
}

static void fence(int order)
{
	request(HOOK_RACE_REQUEST_FENCE, (uintptr_t)order, 0, 0);
}

static void *arrive(const void *object, uint32_t count)
{
	return (void *)request(HOOK_RACE_REQUEST_ARRIVE, (uintptr_t)object, count, 0);
}

static void leave(const void *object, void *meeting)
{
	request(HOOK_RACE_REQUEST_LEAVE, (uintptr_t)object, (uintptr_t)meeting, 0);
}

static void reset(const void *address, size_t n)
{
	request(HOOK_RACE_REQUEST_RESET, (uintptr_t)address, n, 0);
}

static void reset_data(const void *address, size_t n)
{
	request(HOOK_RACE_REQUEST_RESET_DATA, (uintptr_t)address, n, 0);
}

static void counts(const uint64_t *events, const uint64_t *operations)
{
	request(HOOK_RACE_REQUEST_COUNTS, (uintptr_t)events, (uintptr_t)operations, 0);
}

static void guard(const void *object)
{
	request(HOOK_RACE_REQUEST_GUARD, (uintptr_t)object, 0, 0);
}

void hook_race_of_valgrind_early(const void *p, size_t n)
{
	if (hook_process.replay.races)
		reset(p, n);
}

bool hook_race_of_valgrind_wake(const int *word)
{
	return request(HOOK_RACE_REQUEST_WAKE, (uintptr_t)word, 0, 0) != 0;
}

static void forbidden(void)
{
	request(HOOK_RACE_REQUEST_FORBIDDEN, 0, 0, 0);
}

static const struct hook_race_table table = {
	.version = HOOK_RACE_VERSION,
	.start = start,
	.stop = stop,
	.finish = finish,
	.fork = fork_child,
	.begin = begin,
	.abandon = abandon,
	.end = end,
	.acquire = acquire,
	.release = release,
	.forget = forget,
	.atomic = atomic,
	.fence = fence,
	.arrive = arrive,
	.leave = leave,
	.reset = reset,
	.reset_data = reset_data,
	.counts = counts,
	.guard = guard,
	.forbidden = forbidden,
};

const struct hook_race_table *hook_race_of_valgrind(void)
{
	hook_race_in_valgrind = request(HOOK_RACE_REQUEST_VERSION, 0, 0, 0) == HOOK_RACE_VERSION;
	return hook_race_in_valgrind ? &table : NULL;
}
