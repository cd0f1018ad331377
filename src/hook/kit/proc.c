/* SPDX-License-Identifier: Apache-2.0 */
/* Names are built in fixed buffers; a file is read once, as far as there is room. */
#include "hook/kit/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/kit/text.h"

size_t hook_proc_read(const char *path, char *text, size_t size)
{
	int saved = errno;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : syscall(SYS_read, fd, text, size - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = saved;
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static size_t read_of(const char *directory, pid_t number, const char *file, char *text,
		      size_t size)
{
	char path[HOOK_PROC_PATH];
	struct hook_text out = hook_text_in(path, sizeof(path));

	hook_text_add(&out, directory);
	hook_text_number(&out, number);
	hook_text_add(&out, "/");
	hook_text_add(&out, file);
	return hook_proc_read(path, text, size);
}

size_t hook_proc_of_process(pid_t pid, const char *file, char *text, size_t size)
{
	return read_of("/proc/", pid, file, text, size);
}

size_t hook_proc_of_thread(pid_t tid, const char *file, char *text, size_t size)
{
	return read_of("/proc/self/task/", tid, file, text, size);
}

const char *hook_proc_value(const char *text, const char *label)
{
	const char *p = strstr(text, label);

	if (!p)
		return NULL;
	p += strlen(label);
	return p + strspn(p, " \t");
}

void hook_proc_fd_path(int fd, char path[HOOK_PROC_PATH])
{
	struct hook_text out = hook_text_in(path, HOOK_PROC_PATH);

	hook_text_add(&out, "/proc/self/fd/");
	hook_text_number(&out, fd);
}

size_t hook_proc_fd_target(int fd, char *target, size_t size)
{
	char path[HOOK_PROC_PATH];
	int saved = errno;
	long n;

	hook_proc_fd_path(fd, path);
	n = syscall(SYS_readlinkat, AT_FDCWD, path, target, size - 1);
	errno = saved;
	target[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}
