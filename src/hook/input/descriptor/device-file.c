/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stdio on /dev/random and /dev/urandom. libc reads without calling any function that we could
 * wrap. So such a FILE is replaced by one whose reads are ours (fopencookie), and every stdio
 * function works on it. It is unbuffered: what is recorded is what the program asked for, not what
 * a buffer holds.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <string.h>

#include "hook/common/child.h"
#include "hook/common/environ.h"
#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/input/descriptor/device.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/file/infile.h"
#include "hook/input/file/names.h"
#include "hook/input/value/input.h"
#include "hook/output/output.h"
#include "hook/program/residue.h"
#include "hook/session/moved.h"

#define SITE __builtin_return_address(0)

static ssize_t file_read(void *inner, char *buffer, size_t n)
{
	int fd = fileno(inner);

	return hook_depth ? REAL(read)(fd, buffer, n)
			  : hook_input_device_read(fd, "fread", buffer, n);
}

static ssize_t file_write(void *inner, const char *bytes, size_t n)
{
	return write(fileno(inner), bytes, n);
}

static int file_seek(void *inner, off64_t *offset, int whence)
{
	(void)inner;
	(void)whence;
	*offset = 0;
	return 0;
}

static int file_close(void *inner)
{
	hook_input_device_forget(fileno(inner));
	return fclose(inner);
}

static FILE *wrap(FILE *inner, const char *mode)
{
	static const cookie_io_functions_t functions = {file_read, file_write, file_seek,
							file_close};
	FILE *outer = fopencookie(inner, mode, functions);

	if (!outer)
		return inner;
	setvbuf(outer, NULL, _IONBF, 0);
	/* fileno() works on it, as before: libstdc++ reads by descriptor. */
	outer->_fileno = fileno(inner);
	return outer;
}

static bool reads(const char *mode)
{
	return mode[0] == 'r' || strchr(mode, '+');
}

static FILE *opened(FILE *f, const char *path, const char *mode)
{
	if (!f || hook_depth || !reads(mode) || !hook_input_device_opened(fileno(f), path))
		return f;
	return wrap(f, mode);
}

/* Its descriptor gets its number; in replay the stream is there only if it was. */
static FILE *numbered(FILE *f, const char *call)
{
	int fd = hook_file_opened(call, f ? fileno(f) : -1), error = errno;

	if (f)
		f->_fileno = fd;
	if (f && fd < 0) {
		hook_self->serial.whole = true;
		REAL(fclose)(f);
		hook_self->serial.whole = false;
		errno = error;
		return NULL;
	}
	return f;
}

/* A file that is missing in replay may be there as a copy. */
static FILE *compared(FILE *f, const char *path, const char *mode, int flags)
{
	int fd = hook_infile_opened(f ? fileno(f) : -1, AT_FDCWD, path, flags);

	return f || fd < 0 ? f : REAL(fdopen)(fd, mode);
}

static FILE *open_told(const char *path, const char *mode)
{
	int fd = hook_channel_open_told(path, hook_infile_flags(mode));
	FILE *f = fd < 0 ? NULL : REAL(fdopen)(fd, mode);

	return f ? hook_channel_file(f, mode) : NULL;
}

/* It must not be there, and may be in replay. */
static FILE *make_new(const char *path, const char *mode, int flags, const void *site)
{
	int fd = hook_device_make(path, flags, site);
	FILE *f = fd < 0 ? NULL : REAL(fdopen)(fd, mode);

	return opened(f, path, mode);
}

static HOOK_RESIDUE_BELOW FILE *open_stream(const char *path, const char *mode, const void *site)
{
	char buffer[HOOK_INPUT_PATH], elsewhere[HOOK_MOVED_PATH], own[HOOK_MOVED_PATH];
	const char *name;
	int flags = hook_infile_flags(mode);
	bool numbers, told;
	FILE *f;

	path = hook_input_real_path(path, buffer);
	if (__builtin_expect(hook_moved, 0) && hook_io_is_programs(site))
		path = hook_moved_path(path, elsewhere);
	if (hook_channel_is_told(path, mode[0] != 'r' || strchr(mode, '+')) &&
	    hook_channel_may_make(site))
		return open_told(path, mode);
	if (mode[0] != 'r' && strchr(mode, 'x') && hook_io_is_programs(site))
		return make_new(path, mode, flags | O_EXCL, site);
	numbers = hook_file_opens(site);
	told = !numbers && hook_io_is_programs(site) && !hook_runtime_is_allocator(site);
	if (told && hook_names_open_failed())
		return NULL;
	name = path;
	if (__builtin_expect(hook_private, 0) && hook_io_is_programs(site))
		path = hook_device_own(AT_FDCWD, path, flags, site, own);
	f = REAL(fopen)(path, mode);
	if (path != own && hook_infile_is_wanted(flags, site))
		f = compared(f, path, mode, flags);
	if (numbers)
		f = numbered(f, "fopen");
	else if (told && hook_process.mode == HOOK_RECORD)
		hook_names_opened(f ? fileno(f) : -1);
	if (f) {
		hook_channel_forget(fileno(f));
		hook_output_opened(fileno(f), name);
		if (hook_io_is_programs(site))
			hook_channel_opened_from(fileno(f), name, flags);
		if (mode[0] != 'r' || strchr(mode, '+'))
			hook_output_child_writes(fileno(f));
		if (mode[0] == 'w')
			hook_output_writes(AT_FDCWD, name);
		else if (mode[0] == 'a')
			hook_output_appends(AT_FDCWD, name, fileno(f));
	}
	return opened(f, name, mode);
}

HOOK_EXPORT FILE *fopen(const char *path, const char *mode)
{
	return HOOK_RESIDUE_OF(open_stream(path, mode, SITE));
}

HOOK_EXPORT FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

HOOK_EXPORT FILE *tmpfile(void)
{
	bool numbers = hook_file_opens(SITE);
	FILE *f = REAL(tmpfile)();

	return numbers ? numbered(f, "tmpfile") : f;
}

HOOK_EXPORT FILE *tmpfile64(void) __attribute__((alias("tmpfile")));

/* The child runs again in replay; what was read from it is given back. */
HOOK_EXPORT FILE *popen(const char *command, const char *mode)
{
	bool numbers = hook_file_opens(SITE);
	FILE *f;

	hook_environ_show();
	f = REAL(popen)(command, mode);
	hook_environ_unshow();
	if (numbers)
		f = numbered(f, "popen");
	if (!f || !hook_channel_may_make(SITE))
		return f;
	hook_child_note();
	hook_output_ran(NULL, command);
	hook_channel_mark(fileno(f), HOOK_CHANNEL_PIPE);
	return hook_channel_file(f, mode);
}

HOOK_EXPORT FILE *fdopen(int fd, const char *mode)
{
	FILE *f = REAL(fdopen)(fd, mode);

	if (f && hook_channel_has(fd, SITE))
		return hook_channel_file(f, mode);
	if (!f || !hook_input_devices || !reads(mode) || !hook_input_device_is(fd))
		return f;
	return wrap(f, mode);
}
