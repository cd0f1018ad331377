/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program asks of the kernel about its own clocks, timers and signals. Timers are not armed
 * in replay and no signal is pending there, so the answers are those that were recorded; a program
 * may ask until it likes the answer.
 */
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "hook/input/channel/call.h"

#define SITE __builtin_return_address(0)
#define RANDOM_BYTES 16

HOOK_CALL_OUT(int, sigpending, HOOK_IO_GETS, set, (sigset_t * set), (set))
HOOK_CALL_OUT(int, getitimer, HOOK_IO_GETS, value,
	      (__itimer_which_t which, struct itimerval *value), (which, value))
HOOK_CALL_OUT(int, timer_gettime, HOOK_IO_GETS, value, (timer_t timer, struct itimerspec *value),
	      (timer, value))
HOOK_CALL(int, timer_getoverrun, HOOK_IO_GETS, (timer_t timer), (timer))
HOOK_CALL_OUT(int, adjtimex, HOOK_IO_GETS, clock, (struct timex * clock), (clock))
HOOK_CALL_OUT(int, clock_adjtime, HOOK_IO_GETS, clock, (clockid_t id, struct timex *clock),
	      (id, clock))
HOOK_CALL_OUT(int, ntp_gettimex, HOOK_IO_GETS, clock, (struct ntptimeval * clock), (clock))
/* Numbers of threads and processes are in these. */
HOOK_CALL_OUT(int, pthread_getcpuclockid, HOOK_IO_GETS, id, (pthread_t thread, clockid_t *id),
	      (thread, id))
HOOK_CALL_OUT(int, clock_getcpuclockid, HOOK_IO_GETS, id, (pid_t pid, clockid_t *id), (pid, id))

HOOK_EXPORT int ntp_adjtime(struct timex *clock) __attribute__((alias("adjtimex")));

static ssize_t fetch_random(void *ctx, void *buffer, size_t size)
{
	memcpy(buffer, ctx, size);
	return (ssize_t)size;
}

/* The kernel leaves random bytes for each program; whoever asks where gets those recorded. */
HOOK_EXPORT unsigned long getauxval(unsigned long type)
{
	unsigned long value = REAL(getauxval)(type);
	int error = errno;

	if (type == AT_RANDOM && value && hook_io_is_programs(SITE))
		hook_input_bytes(TRACE_IN_RANDOM, "getauxval", fetch_random, (void *)value,
				 (void *)value, RANDOM_BYTES);
	errno = error;
	return value;
}
