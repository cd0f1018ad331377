/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stdio on a channel. libc reads and writes without calling any function that we could stand in
 * for, so such a FILE is one whose reads and writes are ours. They are the program's calls although
 * the operation on the stream is at work, which is one of ours in a program of several threads.
 */
#undef _FORTIFY_SOURCE
#include <string.h>

#include "hook/input/channel.h"
#include "hook/input/real.h"

/* Makes way for the call inside, if it is the program's; -1: it is not. */
static int enter(int fd)
{
	int depth = hook_depth;

	if (!hook_channel_kind(fd) || hook_process.mode == HOOK_INERT ||
	    (depth && !(hook_self && hook_self->in_stream)))
		return -1;
	hook_depth = 0;
	return depth;
}

static ssize_t file_read(void *inner, char *buffer, size_t n)
{
	int fd = fileno(inner), depth = enter(fd);
	ssize_t rc;

	if (depth < 0)
		return REAL(read)(fd, buffer, n);
	rc = hook_channel_read(fd, "fread", buffer, n);
	hook_depth = depth;
	return rc;
}

static ssize_t file_write(void *inner, const char *bytes, size_t n)
{
	int fd = fileno(inner), depth = enter(fd);
	ssize_t rc;

	if (depth < 0)
		return REAL(write)(fd, bytes, n);
	rc = hook_channel_write(fd, bytes, n);
	hook_depth = depth;
	return rc < 0 ? 0 : rc;
}

static int file_close(void *inner)
{
	int fd = fileno(inner), depth = enter(fd);

	if (depth >= 0) {
		hook_depth = HOOK_CLOSED;
		hook_io_step(hook_thread_self());
		hook_channel_forget(fd);
		hook_depth = depth;
	}
	return fclose(inner);
}

FILE *hook_channel_file(FILE *inner, const char *mode)
{
	static const cookie_io_functions_t functions = {file_read, file_write, NULL, file_close};
	FILE *outer = fopencookie(inner, mode, functions);

	if (!outer)
		return inner;
	outer->_fileno = fileno(inner);
	return outer;
}
