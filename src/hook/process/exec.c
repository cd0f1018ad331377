/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are executed get our variables (common/environ.h). A child by vfork runs here on
 * the memory of its parent, so all that is made is on the stack.
 */
#include <stdarg.h>

#include "hook/common/environ.h"
#include "hook/common/hook.h"
#include "hook/common/process.h"
#include "hook/common/real.h"
#include "hook/output/output.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"

/* Threads are gone afterwards: what they noted of their accesses is looked at now. */
static size_t room_of(char *const env[])
{
	if (hook_process_is_this()) {
		if (hook_self && hook_sync_has_others(hook_self))
			hook_output_ends_with_others();
		hook_race_finish();
	}
	return hook_environ_room(env);
}

#define WHOLE(env) hook_environ_whole(env, __builtin_alloca(room_of(env)))

HOOK_EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	hook_output_ran(argv, path);
	return REAL(execve)(path, argv, WHOLE(env));
}

HOOK_EXPORT int execv(const char *path, char *const argv[])
{
	hook_output_ran(argv, path);
	return REAL(execve)(path, argv, WHOLE(environ));
}

HOOK_EXPORT int execvpe(const char *file, char *const argv[], char *const env[])
{
	hook_output_ran(argv, file);
	return REAL(execvpe)(file, argv, WHOLE(env));
}

HOOK_EXPORT int execvp(const char *file, char *const argv[])
{
	hook_output_ran(argv, file);
	return REAL(execvpe)(file, argv, WHOLE(environ));
}

HOOK_EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	hook_output_ran(argv, "");
	return REAL(fexecve)(fd, argv, WHOLE(env));
}

HOOK_EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[],
			 int flags)
{
	hook_output_ran(argv, path);
	return REAL(execveat)(dir, path, argv, WHOLE(env), flags);
}

/* With the end of the list. */
static size_t count_words(const char *word, va_list ap)
{
	size_t n = 1;

	for (; word; word = va_arg(ap, char *))
		n++;
	return n;
}

/* The words of a call that has them as arguments, in an array; `ap` stands behind their end. */
#define LIST(argv, first, ap)                                                                      \
	do {                                                                                       \
		va_list again;                                                                     \
		size_t n;                                                                          \
                                                                                                   \
		va_copy(again, ap);                                                                \
		argv = __builtin_alloca(count_words(first, again) * sizeof(char *));               \
		va_end(again);                                                                     \
		argv[0] = (char *)first;                                                           \
		for (n = 0; argv[n]; n++)                                                          \
			argv[n + 1] = va_arg(ap, char *);                                          \
	} while (0)

HOOK_EXPORT int execl(const char *path, const char *first, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, first);
	LIST(argv, first, ap);
	va_end(ap);
	hook_output_ran(argv, path);
	return REAL(execve)(path, argv, WHOLE(environ));
}

HOOK_EXPORT int execlp(const char *file, const char *first, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, first);
	LIST(argv, first, ap);
	va_end(ap);
	hook_output_ran(argv, file);
	return REAL(execvpe)(file, argv, WHOLE(environ));
}

HOOK_EXPORT int execle(const char *path, const char *first, ...)
{
	char **argv, *const *env;
	va_list ap;

	va_start(ap, first);
	LIST(argv, first, ap);
	env = va_arg(ap, char *const *);
	va_end(ap);
	hook_output_ran(argv, path);
	return REAL(execve)(path, argv, WHOLE(env));
}
