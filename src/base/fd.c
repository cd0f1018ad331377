/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIGH 4096 /* programs may raise their limit; a table of so many costs a fork little */
#define ROOM 1024
#define TOP 16 /* of those within the limit */

int rp_fd_lowest = INT_MAX;

static int set_limit(const struct rlimit *limit)
{
	return (int)syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, limit, NULL);
}

/* False if it may not be. */
static bool raise_limit(struct rlimit *before, rlim_t least, rlim_t more_than_now)
{
	struct rlimit more;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, before) != 0 ||
	    before->rlim_cur > INT_MAX / 2)
		return false;
	more = *before;
	more.rlim_cur += more_than_now;
	if (more.rlim_cur < least)
		more.rlim_cur = least;
	if (more.rlim_max < more.rlim_cur)
		more.rlim_max = more.rlim_cur;
	return set_limit(&more) == 0;
}

static int copy(int fd, rlim_t from)
{
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, (int)from);
}

static int copy_beyond(int fd, rlim_t from)
{
	struct rlimit before;
	int high;

	if (!raise_limit(&before, from + ROOM, 0))
		return -1;
	high = copy(fd, from);
	set_limit(&before);
	return high;
}

int rp_fd_lift(int fd, bool *beyond)
{
	int error = errno, high = -1;
	struct rlimit limit;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) != 0)
		return fd;
	if (limit.rlim_cur >= HIGH + ROOM)
		high = copy(fd, HIGH);
	if (high < 0)
		high = copy_beyond(fd, limit.rlim_cur < HIGH ? HIGH : limit.rlim_cur);
	if (high < 0)
		high = copy_beyond(fd, limit.rlim_cur);
	if (beyond)
		*beyond = high >= 0;
	if (high < 0 && limit.rlim_cur > TOP)
		high = copy(fd, limit.rlim_cur - TOP);
	if (high >= 0)
		syscall(SYS_close, fd);
	else
		high = fd;
	if (high < rp_fd_lowest)
		rp_fd_lowest = high;
	errno = error;
	return high;
}

#define STANDARD 3

/* What another thread writes to them meanwhile fails, as it does when they are closed. */
static int fill_standard(int filler[STANDARD])
{
	int n = 0;

	for (int fd = 0; fd < STANDARD; fd++) {
		if (syscall(SYS_fcntl, fd, F_GETFD) < 0)
			filler[n++] = (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
	}
	return n;
}

static int open_above(int dirfd, const char *name, int flags, mode_t mode)
{
	int filler[STANDARD], n = fill_standard(filler);
	int fd = openat(dirfd, name, flags, mode), error = errno;

	while (n)
		syscall(SYS_close, filler[--n]);
	errno = error;
	return fd;
}

int rp_fd_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	int fd = open_above(dirfd, name, flags, mode);
	struct rlimit before;

	if (fd >= 0 || errno != EMFILE)
		return fd;
	if (!raise_limit(&before, 0, ROOM)) {
		errno = EMFILE;
		return -1;
	}
	fd = open_above(dirfd, name, flags, mode);
	set_limit(&before);
	return fd;
}

int rp_fd_open_file(int dirfd, const char *name)
{
	int fd = rp_fd_openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	syscall(SYS_close, fd);
	errno = ENOTSUP;
	return -1;
}
