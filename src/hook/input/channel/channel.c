/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which descriptors are channels, and what stands for them in replay.
 * Invariant: a mark ends when its descriptor is closed, or opened anew, by a call that we see; a
 * child made by vfork shares the marks and leaves them alone.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/channel/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "hook/common/child.h"
#include "hook/common/real.h"
#include "hook/kit/text.h"
#include "hook/output/output.h"
#include "hook/program/sanitizer.h"
#include "hook/session/unseen.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/sync/sync.h"

#define NAPS_ALONE 10
#define POLL_MS 100

int hook_channels;
uint8_t hook_channel_kinds[HOOK_CHANNEL_MOST];

static bool is_ours(void)
{
	return REAL(getpid)() == hook_process.pid;
}

void hook_channel_mark(int fd, enum hook_channel_kind kind)
{
	static struct hook_unseen high = {.key = "high-descriptors",
					  .what = "sockets and pipes with numbers from 65536 on"};

	if (fd < 0 || !is_ours())
		return;
	if (fd >= HOOK_CHANNEL_MOST) {
		hook_unseen(&high);
		return;
	}
	hook_output_closed(fd);
	if (!__atomic_exchange_n(&hook_channel_kinds[fd], (uint8_t)kind, __ATOMIC_RELAXED))
		__atomic_add_fetch(&hook_channels, 1, __ATOMIC_RELAXED);
}

void hook_channel_is_foreign(int fd, const void *site)
{
	static struct hook_unseen given = {
		.key = "given-sockets",
		.what = "what comes through sockets that the program was started with"};

	int error = errno;

	if (fd > STDERR_FILENO && hook_io_is_programs(site) && REAL(fcntl)(fd, F_GETFD) >= 0)
		hook_unseen(&given);
	errno = error;
}

void hook_channel_forget(int fd)
{
	if (!hook_channel_kind(fd) || !is_ours())
		return;
	if (__atomic_exchange_n(&hook_channel_kinds[fd], 0, __ATOMIC_RELAXED))
		__atomic_sub_fetch(&hook_channels, 1, __ATOMIC_RELAXED);
}

/* Below /proc and /sys; not what leads elsewhere from there. */
bool hook_channel_is_told(const char *path, bool writes)
{
	if (path[0] != '/')
		return false;
	if (strcmp(path, "/dev/tty") == 0)
		return true;
	if (writes)
		return false;
	return (strncmp(path, "/proc/", 6) == 0 && !strstr(path, "/fd/")) ||
	       strncmp(path, "/sys/", 5) == 0;
}

/* A file of the kernel's that was opened by a path from elsewhere. */
void hook_channel_opened_from(int fd, const char *path, int flags)
{
	static dev_t proc, sys;
	struct stat st;

	if (path[0] == '/' || (flags & (O_ACCMODE | O_DIRECTORY | O_PATH)) != O_RDONLY)
		return;
	if (!proc && !sys) {
		proc = REAL(stat)("/proc", &st) == 0 ? st.st_dev : 0;
		sys = REAL(stat)("/sys", &st) == 0 ? st.st_dev : 0;
	}
	if (REAL(fstat)(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_dev == proc || st.st_dev == sys))
		hook_channel_mark(fd, HOOK_CHANNEL_OTHER);
}

bool hook_channel_may_make(const void *site)
{
	if (hook_depth || hook_sanitizer_is_behind(site))
		return false;
#ifndef HOOK_FLAVOUR_PLAIN
	hook_runtime_find();
#endif
	return hook_io_is_programs(site);
}

static int copy_from(int made, int lowest)
{
	int flags = REAL(fcntl)(made, F_GETFD);

	return REAL(fcntl)(made, flags & FD_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, lowest);
}

/* Never by dup2: another thread may get the number meanwhile, for a while. */
bool hook_channel_renumber(int made, int fd)
{
	int copy;

	if (made == fd)
		return true;
	copy = copy_from(made, fd);
	if (copy >= 0)
		REAL(close)(copy == fd ? made : copy);
	return copy == fd;
}

int hook_channel_lift(int made)
{
	int flags = REAL(fcntl)(made, F_GETFD), high = rp_fd_lift(made, NULL);

	if (!(flags & FD_CLOEXEC))
		REAL(fcntl)(high, F_SETFD, flags);
	return high;
}

static void __attribute__((noreturn)) never_free(struct hook_io *io, int fd)
{
	char text[48];
	struct hook_text out = hook_text_in(text, sizeof(text));

	hook_text_add(&out, "descriptor ");
	hook_text_number(&out, fd);
	hook_diverged(io->t, io->call, text, "that it is in use");
}

/*
 * A library may have something open there, which it closes soon. Meanwhile others go on, and may
 * need the number that this one has got.
 */
void hook_channel_move(struct hook_io *io, int made, int fd)
{
	if (made < 0)
		hook_failed(io->t, "a descriptor cannot be made: too many are open");
	for (int naps = 0; !hook_channel_renumber(made, fd); naps++) {
		if (!hook_sync_mode && naps > NAPS_ALONE)
			never_free(io, fd);
		made = naps ? made : hook_channel_lift(made);
		hook_sync_let_go(io->t);
		io->t->wait.in = io->call;
		io->t->wait.state = HOOK_THREAD_WAITS;
		hook_sync_nap(io->t);
	}
	io->t->wait.state = HOOK_THREAD_RUNS;
}

static int placeholder(enum hook_channel_kind kind, int flags)
{
	int type =
		(flags & O_CLOEXEC ? SOCK_CLOEXEC : 0) | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);

	if (kind == HOOK_CHANNEL_SOCKET)
		return REAL(socket)(AF_UNIX, SOCK_STREAM | type, 0);
	return REAL(eventfd)(0, flags & (O_CLOEXEC | O_NONBLOCK));
}

void hook_channel_made(struct hook_io *io, int fd, enum hook_channel_kind kind, int flags)
{
	if (fd < 0)
		return;
	if (!io->live)
		hook_channel_move(io, placeholder(kind, flags), fd);
	hook_channel_mark(fd, kind);
}

/* It may not be there in replay: of a process that was. */
int hook_channel_open_told(const char *path, int flags)
{
	HOOK_IO(io, "open", HOOK_IO_GETS);

	if (io.live) {
		hook_io_did(&io, REAL(openat)(AT_FDCWD, path, flags));
	} else if (io.result >= 0) {
		int fd = REAL(openat)(AT_FDCWD, path, flags);

		if (fd < 0)
			fd = REAL(openat)(AT_FDCWD, "/dev/null", flags & (O_ACCMODE | O_CLOEXEC));
		if (!hook_channel_renumber(fd, (int)io.result))
			io.result = fd;
	}
	if (io.result >= 0)
		hook_channel_mark((int)io.result, HOOK_CHANNEL_OTHER);
	return (int)hook_io_result(&io);
}

static bool is_in_step(const struct hook_io *io, int fd)
{
	enum hook_channel_kind kind = hook_channel_kind(fd);

	return !io->live && (kind == HOOK_CHANNEL_PIPE || kind == HOOK_CHANNEL_PACKETS);
}

/* It is a child that is waited for. Once that was in vain the channel is not kept in step. */
static bool await(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	struct hook_child_patience patience = {0};
	int rc;

	while ((rc = REAL(poll)(&p, 1, POLL_MS)) <= 0) {
		if (rc < 0 && errno != EINTR)
			return false;
		if (!hook_child_given_up(&patience, HOOK_CHILD_PATIENCE))
			continue;
		hook_channel_mark(fd, HOOK_CHANNEL_OTHER);
		errno = ETIMEDOUT;
		return false;
	}
	errno = EPIPE;
	return !(p.revents & (events == POLLOUT ? POLLERR | POLLNVAL : POLLNVAL));
}

/* The bytes themselves are the recorded ones; these may be others, from a child that varies. */
void hook_channel_step_in(const struct hook_io *io, int fd, int flags)
{
	bool packets = hook_channel_kind(fd) == HOOK_CHANNEL_PACKETS;
	int64_t left = io->result;
	char bytes[4096];

	if (!is_in_step(io, fd) || left < 0 || flags & MSG_PEEK)
		return;
	hook_sync_let_go(io->t);
	do {
		size_t room = left && (size_t)left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
		ssize_t n;

		if (!await(fd, POLLIN))
			return;
		n = REAL(read)(fd, bytes, room);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0 || packets)
			return;
		left -= io->result ? n : 0;
	} while (left > 0 || io->result == 0);
}

/*
 * Without waiting. A pipe or socket may take bytes long after it has ceased to say that it is ready
 * for them.
 */
static ssize_t put_now(int fd, const struct iovec *parts, size_t n)
{
	struct msghdr m = {.msg_iov = (struct iovec *)parts, .msg_iovlen = n};
	struct pollfd p = {.fd = fd};
	ssize_t done;

	if (REAL(poll)(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLNVAL)) {
		errno = EPIPE;
		return -1;
	}
	done = REAL(sendmsg)(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (done < 0 && errno == ENOTSOCK)
		done = REAL(pwritev2)(fd, parts, (int)n, -1, RWF_NOWAIT);
	if (done < 0 && (errno == EOPNOTSUPP || errno == EINTR))
		errno = EAGAIN;
	return done;
}

static ssize_t put(int fd, const struct iovec *parts, size_t n)
{
	ssize_t done = put_now(fd, parts, n);

	if (done >= 0 || errno != EAGAIN)
		return done;
	return await(fd, POLLOUT) ? REAL(writev)(fd, parts, (int)n) : -1;
}

static bool write_all(int fd, const char *p, size_t n)
{
	while (n) {
		struct iovec part = {(void *)p, n};
		ssize_t done = put(fd, &part, 1);

		if (done < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		p += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

void hook_channel_step_out(const struct hook_io *io, int fd, const struct iovec *parts, size_t n)
{
	size_t left = io->result > 0 ? (size_t)io->result : 0;

	if (!is_in_step(io, fd) || io->result < 0)
		return;
	hook_sync_let_go(io->t);
	if (hook_channel_kind(fd) == HOOK_CHANNEL_PACKETS) {
		if (put(fd, parts, n) < 0)
			return;
		left = 0;
	}
	for (size_t i = 0; i < n && left > 0; i++) {
		size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;

		if (!write_all(fd, parts[i].iov_base, size))
			return;
		left -= size;
	}
}
