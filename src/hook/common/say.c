/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the user and to the front from inside the program: one write(2) per line, errno
 * untouched. A limit on the size of files may stop them, or the reader may be gone. The program
 * does not get the signal for that.
 */
#include "hook/common/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "hook/kit/text.h"

ssize_t hook_write(int fd, const void *bytes, size_t n)
{
	const uint64_t ours = 1ull << (SIGXFSZ - 1) | 1ull << (SIGPIPE - 1);
	struct timespec now = {0, 0};
	uint64_t before = 0, mask, sent;
	ssize_t done;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &ours, &mask, sizeof(mask));
	syscall(SYS_rt_sigpending, &before, sizeof(before));
	done = syscall(SYS_write, fd, bytes, n);
	sent = ours & ~before;
	if (done < 0 && (errno == EFBIG || errno == EPIPE) && sent)
		syscall(SYS_rt_sigtimedwait, &sent, NULL, &now, sizeof(sent));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return done;
}

/* In replay names come from the trace, which may be somebody else's. */
static void clean(char *line)
{
	size_t n;

	for (unsigned char *p = (unsigned char *)line; *p; p += n) {
		n = rp_utf8_length(p);
		if (n && !rp_utf8_is_control(p))
			continue;
		for (n = n ? n : 1; n > 1; n--)
			*p++ = '?';
		*p = '?';
	}
}

static void say(const char *a, va_list ap)
{
	char line[2048];
	struct hook_text text = hook_text_in(line, sizeof(line) - 1);
	int saved = errno;

	hook_text_add(&text, "reprise: ");
	for (; a; a = va_arg(ap, const char *))
		hook_text_add(&text, a);
	clean(line);
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
