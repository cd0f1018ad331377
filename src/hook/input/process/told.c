/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways of input that we do not see. They are let through and reported. For some of them libc makes
 * threads of its own, which we do not count as the program's.
 */
#undef _FORTIFY_SOURCE
#include <aio.h>
#include <errno.h>
#include <pty.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <wordexp.h>

#include "hook/common/real.h"
#include "hook/common/signal.h"
#include "hook/input/process/told.h"
#include "hook/session/unseen.h"

static struct hook_unseen aio = {
	.key = "aio",
	.what = "the moment at which asynchronous input and output ends (aio_read and its kin)"};
static struct hook_unseen timers = {
	.key = "timer-threads", .what = "the moment at which threads of timers run (SIGEV_THREAD)"};
static struct hook_unseen ring = {.key = "io-uring",
				  .what = "io_uring: what comes through its rings"};
static struct hook_unseen kernel_aio = {
	.key = "libaio",
	.what = "the moment at which asynchronous input and output by libaio ends"};
static struct hook_unseen memory = {
	.key = "shared-memory",
	.what = "memory shared with other processes (shm_open, shmat): what they write there"};

static struct hook_unseen terminals = {
	.key = "terminals",
	.what = "what comes from terminals that the program makes (openpty, posix_openpt)"};
static struct hook_unseen queues = {
	.key = "system-v-queues",
	.what = "System V message queues: their numbers, and who gets which message"};
static struct hook_unseen semaphores = {
	.key = "system-v-semaphores",
	.what = "System V semaphores: their numbers, and who gets them in which order"};
static struct hook_unseen watches = {.key = "fanotify", .what = "what fanotify tells"};
static struct hook_unseen commands = {.key = "wordexp",
				      .what = "what commands print that wordexp starts"};

int hook_signal_thread_timers;

static void tell(struct hook_unseen *u)
{
	if (!hook_depth)
		hook_unseen(u);
}

/* A function of libc, or of a library that the program may have. */
#define TOLD(name, u, parameters, arguments)                                                       \
	HOOK_EXPORT int name parameters;                                                           \
	int name parameters                                                                        \
	{                                                                                          \
		static __typeof__(name) *real;                                                     \
                                                                                                   \
		tell(&(u));                                                                        \
		if (!real)                                                                         \
			real = (__typeof__(name) *)hook_real(#name);                               \
		return real ? real arguments : -ENOSYS;                                            \
	}

TOLD(aio_read, aio, (struct aiocb * cb), (cb))
TOLD(aio_write, aio, (struct aiocb * cb), (cb))
TOLD(aio_fsync, aio, (int op, struct aiocb *cb), (op, cb))
TOLD(lio_listio, aio, (int mode, struct aiocb *const list[], int n, struct sigevent *event),
     (mode, list, n, event))
TOLD(aio_read64, aio, (struct aiocb64 * cb), (cb))
TOLD(aio_write64, aio, (struct aiocb64 * cb), (cb))
TOLD(aio_fsync64, aio, (int op, struct aiocb64 *cb), (op, cb))
TOLD(lio_listio64, aio, (int mode, struct aiocb64 *const list[], int n, struct sigevent *event),
     (mode, list, n, event))

TOLD(io_uring_queue_init, ring, (unsigned int entries, void *r, unsigned int flags),
     (entries, r, flags))
TOLD(io_uring_queue_init_params, ring, (unsigned int entries, void *r, void *parameters),
     (entries, r, parameters))
TOLD(io_setup, kernel_aio, (int events, void *context), (events, context))
TOLD(io_queue_init, kernel_aio, (int events, void *context), (events, context))

TOLD(shm_open, memory, (const char *name, int flags, mode_t mode), (name, flags, mode))

TOLD(openpty, terminals,
     (int *master, int *slave, char *name, const struct termios *state, const struct winsize *size),
     (master, slave, name, state, size))
TOLD(posix_openpt, terminals, (int flags), (flags))
TOLD(getpt, terminals, (void), ())
TOLD(msgget, queues, (key_t key, int flags), (key, flags))
TOLD(semget, semaphores, (key_t key, int n, int flags), (key, n, flags))
TOLD(fanotify_init, watches, (unsigned int flags, unsigned int how), (flags, how))

/* libc starts a shell and reads what it prints, by itself. */
HOOK_EXPORT int wordexp(const char *words, wordexp_t *out, int flags)
{
	static __typeof__(wordexp) *real;

	if (!(flags & WRDE_NOCMD) && (strstr(words, "$(") || strchr(words, '`')))
		tell(&commands);
	if (!real)
		real = (__typeof__(wordexp) *)hook_real("wordexp");
	return real(words, out, flags);
}

static bool makes_thread(const struct sigevent *event)
{
	return event && event->sigev_notify == SIGEV_THREAD;
}

HOOK_EXPORT int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	if (makes_thread(event) && !hook_depth) {
		hook_unseen(&timers);
		hook_signal_thread_timers = 1;
	}
	return REAL(timer_create)(clock, event, timer);
}

static bool has_shared, has_queue;

void hook_told_mapped(int prot, int flags)
{
	static struct hook_unseen file = {
		.key = "mapped-files",
		.what = "what other processes write to files that are mapped (MAP_SHARED)",
		.quiet = true};

	if (hook_depth || !(prot & PROT_WRITE) || !(flags & MAP_SHARED))
		return;
	if (!(flags & MAP_ANONYMOUS))
		hook_unseen(&file);
	__atomic_store_n(&has_shared, true, __ATOMIC_RELAXED);
}

void hook_told_attached(void)
{
	tell(&memory);
}

void hook_told_queue(void)
{
	__atomic_store_n(&has_queue, true, __ATOMIC_RELAXED);
}

void hook_told_inherited(void)
{
	static struct hook_unseen inherited = {
		.key = "memory-of-children",
		.what = "memory shared with child processes: what they write there"};
	static struct hook_unseen children = {
		.key = "queues-of-children",
		.what = "message queues that child processes inherit: what they do with them"};

	if (__atomic_load_n(&has_queue, __ATOMIC_RELAXED))
		hook_unseen(&children);
	if (__atomic_load_n(&has_shared, __ATOMIC_RELAXED))
		hook_unseen(&inherited);
}
