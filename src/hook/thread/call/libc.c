/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of libc that share state of the process, protected by a lock inside libc or by none: the
 * sequence of random numbers, the environment, the locale and the time zone, the log, the list of
 * what runs at exit, the position of strtok in its string. The order of these calls decides what
 * each finds there, and each call is one step. Costs nothing with one thread.
 */
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "hook/common/environ.h"
#include "hook/program/runtime.h"
#include "hook/thread/call/statics.h"
#include "hook/thread/stdio/wrap.h"

/* Declared nowhere: what atexit, at_quick_exit and programs built with _FORTIFY_SOURCE call. */
int __cxa_atexit(void (*function)(void *), void *arg, void *dso);
int __cxa_at_quick_exit(void (*function)(void *), void *dso);
void __vsyslog_chk(int priority, int flag, const char *format, va_list ap);
void __syslog_chk(int priority, int flag, const char *format, ...);

/* clang-format off */
#define REALS(X) \
	X(random) X(srandom) X(initstate) X(setstate) X(rand) X(srand) \
	X(drand48) X(lrand48) X(mrand48) X(srand48) X(seed48) X(lcong48) \
	X(setenv) X(unsetenv) X(putenv) X(clearenv) \
	X(setlocale) X(localeconv) \
	X(tzset) X(localtime) X(localtime_r) X(gmtime) X(mktime) X(ctime) X(ctime_r) X(asctime) \
	X(strtok) \
	X(openlog) X(closelog) X(setlogmask) X(vsyslog) X(__vsyslog_chk) \
	X(__cxa_atexit) X(__cxa_at_quick_exit) X(on_exit)
/* clang-format on */

static struct {
	REALS(FIELD)
} real;

static void resolve(void)
{
	REALS(RESOLVE)
}

/* A handler of a signal may call what it has come between. */
#define EACH [0 ... SYNC_LIBC_LAST - SYNC_LIBC_FIRST]
static pthread_mutex_t states[] = {EACH = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

/*
 * Not while a library is loaded, whose lock others wait for, nor in what a static variable of C++
 * begins with, which another thread may do in replay.
 */
static void begin(struct hook_stdio_use *u, enum hook_sync_op op, const void *site)
{
	if (hook_sync_is_on(site) && (hook_statics || hook_runtime_loads(hook_thread_self()->tid)))
		u->t = NULL;
	else
		hook_stdio_begin(u, &states[op - SYNC_LIBC_FIRST], op, site);
}

#define USE_STATE(op) HOOK_STDIO_USE(begin, op, __builtin_return_address(0))

#define SHARED(op, type, name, parameters, arguments)                                              \
	HOOK_EXPORT type name parameters                                                           \
	{                                                                                          \
		USE_STATE(op);                                                                     \
		return REAL(name) arguments;                                                       \
	}

SHARED(SYNC_RANDOM, long, random, (void), ())
SHARED(SYNC_RANDOM, void, srandom, (unsigned int seed), (seed))
SHARED(SYNC_RANDOM, char *, initstate, (unsigned int seed, char *state, size_t n), (seed, state, n))
SHARED(SYNC_RANDOM, char *, setstate, (char *state), (state))
SHARED(SYNC_RANDOM, int, rand, (void), ())
SHARED(SYNC_RANDOM, void, srand, (unsigned int seed), (seed))
SHARED(SYNC_RANDOM, double, drand48, (void), ())
SHARED(SYNC_RANDOM, long, lrand48, (void), ())
SHARED(SYNC_RANDOM, long, mrand48, (void), ())
SHARED(SYNC_RANDOM, void, srand48, (long seed), (seed))
SHARED(SYNC_RANDOM, unsigned short *, seed48, (unsigned short seed[3]), (seed))
SHARED(SYNC_RANDOM, void, lcong48, (unsigned short parameters[7]), (parameters))

/*
 * Time zone and locale follow the environment, so they are one state with it. The allocator asks
 * for variables when nothing can be looked up yet; who is called here may trust its environment.
 */
HOOK_EXPORT char *getenv(const char *name)
{
	USE_STATE(SYNC_SETTINGS);
	return secure_getenv(name);
}

/* What is executed meanwhile gets another array (common/environ.h). */
#define CHANGES(name, parameters, arguments)                                                       \
	HOOK_EXPORT int name parameters                                                            \
	{                                                                                          \
		USE_STATE(SYNC_SETTINGS);                                                          \
		int rc;                                                                            \
                                                                                                   \
		hook_environ_begin();                                                              \
		rc = REAL(name) arguments;                                                         \
		hook_environ_end();                                                                \
		return rc;                                                                         \
	}

CHANGES(setenv, (const char *name, const char *value, int replaces), (name, value, replaces))
CHANGES(unsetenv, (const char *name), (name))
CHANGES(putenv, (char *setting), (setting))
CHANGES(clearenv, (void), ())
SHARED(SYNC_SETTINGS, char *, setlocale, (int category, const char *name), (category, name))
SHARED(SYNC_SETTINGS, struct lconv *, localeconv, (void), ())
SHARED(SYNC_SETTINGS, void, tzset, (void), ())
SHARED(SYNC_SETTINGS, struct tm *, localtime, (const time_t *t), (t))
SHARED(SYNC_SETTINGS, struct tm *, localtime_r, (const time_t *t, struct tm *out), (t, out))
SHARED(SYNC_SETTINGS, struct tm *, gmtime, (const time_t *t), (t))
SHARED(SYNC_SETTINGS, time_t, mktime, (struct tm * tm), (tm))
SHARED(SYNC_SETTINGS, char *, ctime, (const time_t *t), (t))
SHARED(SYNC_SETTINGS, char *, ctime_r, (const time_t *t, char *out), (t, out))
SHARED(SYNC_SETTINGS, char *, asctime, (const struct tm *tm), (tm))
HOOK_EXPORT time_t timelocal(struct tm *tm) __attribute__((alias("mktime")));

SHARED(SYNC_TOKEN, char *, strtok, (char *s, const char *delimiters), (s, delimiters))

SHARED(SYNC_LOG, void, openlog, (const char *name, int options, int facility),
       (name, options, facility))
SHARED(SYNC_LOG, void, closelog, (void), ())
SHARED(SYNC_LOG, int, setlogmask, (int mask), (mask))
SHARED(SYNC_LOG, void, vsyslog, (int priority, const char *format, va_list ap),
       (priority, format, ap))
SHARED(SYNC_LOG, void, __vsyslog_chk, (int priority, int flag, const char *format, va_list ap),
       (priority, flag, format, ap))

#define LOGS(name, other, parameters, arguments)                                                   \
	HOOK_EXPORT void name parameters                                                           \
	{                                                                                          \
		USE_STATE(SYNC_LOG);                                                               \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, format);                                                              \
		REAL(other) arguments;                                                             \
		va_end(ap);                                                                        \
	}

LOGS(syslog, vsyslog, (int priority, const char *format, ...), (priority, format, ap))
LOGS(__syslog_chk, __vsyslog_chk, (int priority, int flag, const char *format, ...),
     (priority, flag, format, ap))

SHARED(SYNC_AT_EXIT, int, __cxa_atexit, (void (*function)(void *), void *arg, void *dso),
       (function, arg, dso))
SHARED(SYNC_AT_EXIT, int, __cxa_at_quick_exit, (void (*function)(void *), void *dso),
       (function, dso))
SHARED(SYNC_AT_EXIT, int, on_exit, (void (*function)(int, void *), void *arg), (function, arg))
