/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words to the user and to the front from inside the program: one write(2) per line, errno
 * untouched. A limit on the size of files may stop them; the program does not get the signal for
 * that.
 */
#include "hook/common/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hook/common/text.h"

ssize_t hook_write(int fd, const void *bytes, size_t n)
{
	uint64_t before = 0, mask, too_large = 1ull << (SIGXFSZ - 1);
	struct timespec now = {0, 0};
	ssize_t done;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &too_large, &mask, sizeof(mask));
	syscall(SYS_rt_sigpending, &before, sizeof(before));
	done = syscall(SYS_write, fd, bytes, n);
	if (done < 0 && errno == EFBIG && !(before & too_large))
		syscall(SYS_rt_sigtimedwait, &too_large, NULL, &now, sizeof(too_large));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return done;
}

static void say(const char *a, va_list ap)
{
	char line[2048];
	struct hook_text text = hook_text_in(line, sizeof(line) - 1);
	int saved = errno;

	hook_text_add(&text, "reprise: ");
	for (; a; a = va_arg(ap, const char *))
		hook_text_add(&text, a);
	*text.at++ = '\n';
	hook_write(STDERR_FILENO, line, (size_t)(text.at - line));
	errno = saved;
}

void hook_say(const char *a, ...)
{
	va_list ap;

	va_start(ap, a);
	say(a, ap);
	va_end(ap);
}

void hook_say_once(const char *key, const char *a, ...)
{
	char path[1200];
	struct hook_text text = hook_text_in(path, sizeof(path));
	int saved = errno;
	va_list ap;
	int fd;

	hook_text_add(&text, hook_process.dir);
	hook_text_add(&text, "/said-");
	hook_text_add(&text, key);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		close(fd);
		va_start(ap, a);
		say(a, ap);
		va_end(ap);
	}
	errno = saved;
}
