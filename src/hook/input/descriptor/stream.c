/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of stdio are opened anew and closed: an operation on the stream among threads
 * (hook/thread/stdio/stdio.c), and one on its descriptor.
 */
/* No definitions in stdio.h of what is defined here. */
#define __NO_INLINE__ 1

#include <stdio.h>

#include "hook/common/child.h"
#include "hook/input/channel/io.h"
#include "hook/input/descriptor/device.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/file/infile.h"
#include "hook/kit/proc.h"
#include "hook/output/output.h"
#include "hook/thread/stdio/wrap.h"
#include "hook/thread/sync/objects.h"

static struct {
	__typeof__(freopen) *freopen;
	__typeof__(fclose) *fclose;
} real;

static void resolve(void)
{
	real.freopen = (__typeof__(freopen) *)hook_real("freopen");
	real.fclose = (__typeof__(fclose) *)hook_real("fclose");
}

HOOK_EXPORT FILE *freopen(const char *path, const char *mode, FILE *f)
{
	int flags = hook_infile_flags(mode);
	const void *site = __builtin_return_address(0);
	char copy[HOOK_PROC_PATH], own[HOOK_MOVED_PATH];
	bool is_own = path && __builtin_expect(hook_private, 0) && hook_io_is_programs(site);
	const char *place = is_own ? hook_device_own(AT_FDCWD, path, flags, site, own) : path;
	/* What it has written is no input. */
	bool reads = path && place != own && hook_infile_is_wanted(flags, site);
	int fd = reads ? hook_infile_before(AT_FDCWD, path, flags) : -1;
	int before = f->_fileno;
	FILE *opened;
	USE(f, SYNC_STREAM);

	if (fd >= 0)
		hook_proc_fd_path(fd, copy);
	opened = REAL(freopen)(fd >= 0 ? copy : place, mode, f);
	if (fd >= 0)
		close(fd);
	else if (opened && reads)
		hook_infile_opened(fileno(opened), AT_FDCWD, path, flags);
	if (path)
		hook_output_reopened(before, opened ? opened->_fileno : -1, path);
	if (path && opened && mode[0] == 'w')
		hook_output_writes(AT_FDCWD, path);
	else if (path && opened && mode[0] == 'a')
		hook_output_appends(AT_FDCWD, path, fileno(opened));
	return opened;
}

HOOK_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *f)
	__attribute__((alias("freopen")));
/* The next stream at this place is another one; it may be there before this call returns. */
static int close_stream(FILE *f, int (*how)(FILE *), const void *site)
{
	struct hook_sync_call c = {.op = SYNC_STREAM, .object = f, .site = site};
	struct hook_thread *t;
	int fd = f->_fileno, rc;

	if (!hook_sync_is_on(site)) {
		rc = how(f);
		hook_output_closed(fd);
		return rc;
	}
	t = hook_sync_enter();
	hook_sync_mode->take(t, &c);
	hook_sync_forget(f);
	hook_sync_leave(t);
	hook_file_closes();
	rc = how(f);
	hook_output_closed(fd);
	hook_file_closed();
	return rc;
}

HOOK_EXPORT int fclose(FILE *f)
{
	return close_stream(f, REAL(fclose), __builtin_return_address(0));
}

HOOK_EXPORT int pclose(FILE *f)
{
	return close_stream(f, hook_child_pclose, __builtin_return_address(0));
}
