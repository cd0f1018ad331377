/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stdio on a channel. libc reads and writes without calling any function that we could wrap. So
 * fdopen makes a FILE whose reads and writes are ours.
 */
#undef _FORTIFY_SOURCE
#include <string.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"

static ssize_t file_read(void *inner, char *buffer, size_t n)
{
	int fd = fileno(inner);

	return hook_channel_has(fd, NULL) ? hook_channel_read(fd, "fread", buffer, n)
					  : REAL(read)(fd, buffer, n);
}

/* 0 is a failure here. */
static ssize_t file_write(void *inner, const char *bytes, size_t n)
{
	ssize_t done = write(fileno(inner), bytes, n);

	return done < 0 ? 0 : done;
}

static int file_close(void *inner)
{
	int fd = fileno(inner);

	if (hook_channel_has(fd, NULL)) {
		hook_depth = HOOK_CLOSED;
		hook_io_step(hook_thread_self());
		hook_channel_forget(fd);
		hook_depth = hook_self->passive;
	}
	return fclose(inner);
}

static int file_seek(void *inner, off64_t *offset, int whence)
{
	off64_t at = lseek64(fileno(inner), *offset, whence);

	if (at < 0)
		return -1;
	*offset = at;
	return 0;
}

FILE *hook_channel_file(FILE *inner, const char *mode)
{
	static const cookie_io_functions_t functions = {file_read, file_write, file_seek,
							file_close};
	FILE *outer = fopencookie(inner, mode, functions);

	if (!outer)
		return inner;
	outer->_fileno = fileno(inner);
	return outer;
}
