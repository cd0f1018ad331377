/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks. All are recorded in nanoseconds, by the kind of clock, whatever the unit of the call:
 * a unit the call can show divides the nanosecond count, so nothing is lost.
 */
#include <errno.h>
#include <string.h>
#include <sys/timeb.h>

#include "hook/common/real.h"
#include "hook/input/value/input.h"
#include "hook/program/runtime.h"
#include "hook/program/sanitizer.h"

#define NS_PER_SECOND 1000000000
#define NS_PER_MICROSECOND 1000

static uint64_t to_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * NS_PER_SECOND + (uint64_t)ts->tv_nsec;
}

static uint32_t kind_of(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
		return TRACE_IN_REALTIME;
	case CLOCK_MONOTONIC:
		return TRACE_IN_MONOTONIC;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		return TRACE_IN_CPUTIME;
	default:
		return TRACE_IN_OTHERCLOCK;
	}
}

static int fetch_clock(void *ctx, uint64_t *value)
{
	struct timespec ts;

	if (REAL(clock_gettime)(*(clockid_t *)ctx, &ts) != 0)
		return -errno;
	*value = to_ns(&ts);
	return 0;
}

/* An allocator that the program brings looks when it likes, and tells nobody. */
HOOK_EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t ns;

	if (hook_depth || hook_runtime_is_allocator(__builtin_return_address(0)) ||
	    hook_sanitizer_calls(__builtin_return_address(0)))
		return REAL(clock_gettime)(clock, ts);
	if (hook_input_number(kind_of(clock), "clock_gettime", fetch_clock, &clock, &ns) != 0)
		return -1;
	ts->tv_sec = (time_t)(ns / NS_PER_SECOND);
	ts->tv_nsec = (long)(ns % NS_PER_SECOND);
	return 0;
}

static int fetch_timeofday(void *ctx, uint64_t *value)
{
	struct timeval tv;

	(void)ctx;
	if (REAL(gettimeofday)(&tv, NULL) != 0)
		return -errno;
	*value = (uint64_t)tv.tv_sec * NS_PER_SECOND + (uint64_t)tv.tv_usec * NS_PER_MICROSECOND;
	return 0;
}

/* Under another name, as the header promises that tv is not NULL, and the kernel does not. */
HOOK_EXPORT int wrap_gettimeofday(struct timeval *tv, void *tz) __asm__("gettimeofday");

HOOK_EXPORT int wrap_gettimeofday(struct timeval *tv, void *tz)
{
	uint64_t ns;

	if (hook_depth || !tv)
		return REAL(gettimeofday)(tv, tz);
	if (hook_input_number(TRACE_IN_REALTIME, "gettimeofday", fetch_timeofday, NULL, &ns) != 0)
		return -1;
	tv->tv_sec = (time_t)(ns / NS_PER_SECOND);
	tv->tv_usec = (suseconds_t)(ns % NS_PER_SECOND / NS_PER_MICROSECOND);
	return tz ? REAL(gettimeofday)(&(struct timeval){0}, tz) : 0;
}

static int fetch_time(void *ctx, uint64_t *value)
{
	(void)ctx;
	*value = (uint64_t)REAL(time)(NULL) * NS_PER_SECOND;
	return 0;
}

HOOK_EXPORT time_t time(time_t *out)
{
	uint64_t ns;
	time_t now;

	if (hook_depth)
		return REAL(time)(out);
	if (hook_input_number(TRACE_IN_REALTIME, "time", fetch_time, NULL, &ns) != 0)
		return -1;
	now = (time_t)(ns / NS_PER_SECOND);
	if (out)
		*out = now;
	return now;
}

HOOK_EXPORT int timespec_get(struct timespec *ts, int base)
{
	clockid_t clock = CLOCK_REALTIME;
	int error = errno;
	uint64_t ns;

	if (hook_depth || base != TIME_UTC)
		return REAL(timespec_get)(ts, base);
	if (hook_input_number(TRACE_IN_REALTIME, "timespec_get", fetch_clock, &clock, &ns) != 0) {
		errno = error;
		return 0;
	}
	ts->tv_sec = (time_t)(ns / NS_PER_SECOND);
	ts->tv_nsec = (long)(ns % NS_PER_SECOND);
	return base;
}

/* libc keeps ftime for old programs only, where it can no longer be looked up. */
HOOK_EXPORT int wrap_ftime(struct timeb *tb) __asm__("ftime");

HOOK_EXPORT int wrap_ftime(struct timeb *tb)
{
	clockid_t clock = CLOCK_REALTIME;
	uint64_t ns;
	int rc;

	if (hook_depth)
		rc = fetch_clock(&clock, &ns);
	else
		rc = hook_input_number(TRACE_IN_REALTIME, "ftime", fetch_clock, &clock, &ns);
	if (rc)
		return -1;
	tb->time = (time_t)(ns / NS_PER_SECOND);
	tb->millitm = (unsigned short)(ns % NS_PER_SECOND / 1000000);
	tb->timezone = 0;
	tb->dstflag = 0;
	return 0;
}

static int fetch_cpu(void *ctx, uint64_t *value)
{
	clock_t now = REAL(clock)();

	(void)ctx;
	if (now == (clock_t)-1)
		return -EOVERFLOW;
	*value = (uint64_t)now * (NS_PER_SECOND / CLOCKS_PER_SEC);
	return 0;
}

HOOK_EXPORT clock_t clock(void)
{
	uint64_t ns;

	if (hook_depth)
		return REAL(clock)();
	if (hook_input_number(TRACE_IN_CPUTIME, "clock", fetch_cpu, NULL, &ns) != 0)
		return -1;
	return (clock_t)(ns / (NS_PER_SECOND / CLOCKS_PER_SEC));
}

struct times_result {
	clock_t elapsed;
	struct tms tms;
};

static ssize_t fetch_times(void *ctx, void *buffer, size_t size)
{
	struct times_result *result = buffer;

	(void)ctx;
	memset(result, 0, size);
	result->elapsed = REAL(times)(&result->tms);
	return (ssize_t)size;
}

HOOK_EXPORT clock_t times(struct tms *out)
{
	struct times_result result;

	if (hook_depth)
		return REAL(times)(out);
	if (hook_input_bytes(TRACE_IN_STRUCT, "times", fetch_times, NULL, &result, sizeof(result)) <
	    0)
		return -1;
	if (out)
		*out = result.tms;
	return result.elapsed;
}

/* Straight into the program's memory, so that a bad pointer is the kernel's to refuse. */
static ssize_t fetch_usage(void *ctx, void *buffer, size_t size)
{
	return REAL(getrusage)(*(__rusage_who_t *)ctx, buffer) == 0 ? (ssize_t)size : -errno;
}

HOOK_EXPORT int getrusage(__rusage_who_t who, struct rusage *usage)
{
	if (hook_depth)
		return REAL(getrusage)(who, usage);
	return hook_input_bytes(TRACE_IN_STRUCT, "getrusage", fetch_usage, &who, usage,
				sizeof(*usage)) < 0
		       ? -1
		       : 0;
}
