/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data through channels. Bytes that were read are recorded. Of a write the count and a hash are
 * recorded: the program writes again, and nobody is there to read it.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/input/channel/given.h"
#include "hook/output/output.h"

#define SITE __builtin_return_address(0)

static size_t got(const struct hook_io *io, size_t room)
{
	size_t n = io->result > 0 ? (size_t)io->result : 0;

	/* MSG_TRUNC tells of more than there is. */
	return n < room ? n : room;
}

static void data(struct hook_io *io, int fd, void *buffer, size_t n, int flags)
{
	if (io->result < 0)
		return;
	hook_io_part(io, buffer, got(io, n), n);
	if (n)
		hook_channel_step_in(io, fd, flags);
}

static size_t room_of(const struct iovec *parts, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += parts[i].iov_len;
	return sum;
}

static void scattered(struct hook_io *io, const struct iovec *parts, size_t n)
{
	size_t left = io->result > 0 ? (size_t)io->result : 0;

	for (size_t i = 0; i < n && left; i++) {
		size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;

		if (size)
			hook_io_part(io, parts[i].iov_base, size, parts[i].iov_len);
		left -= size;
	}
}

ssize_t hook_channel_read(int fd, const char *call, void *buffer, size_t n)
{
	HOOK_IO(io, call, HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(read)(fd, buffer, n));
	data(&io, fd, buffer, n, 0);
	return hook_io_result(&io);
}

ssize_t hook_channel_readv(int fd, const struct iovec *parts, int n, int flags)
{
	HOOK_IO(io, "readv", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, flags ? REAL(preadv2)(fd, parts, n, -1, flags)
				       : REAL(readv)(fd, parts, n));
	scattered(&io, parts, (size_t)n);
	if (room_of(parts, (size_t)n))
		hook_channel_step_in(&io, fd, 0);
	return hook_io_result(&io);
}

/* Files of the kernel have positions. */
ssize_t hook_channel_preadv(int fd, const struct iovec *parts, int n, off64_t at)
{
	HOOK_IO(io, "pread", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(preadv)(fd, parts, n, at));
	scattered(&io, parts, (size_t)n);
	return hook_io_result(&io);
}

static void gave(struct hook_io *io, int fd, const struct iovec *parts, size_t n, uint32_t given)
{
	if (io->result > 0)
		hook_io_gave(io, given, (size_t)io->result);
	hook_channel_step_out(io, fd, parts, n);
}

ssize_t hook_channel_write(int fd, const void *p, size_t n)
{
	struct iovec part = {(void *)p, n};
	HOOK_IO(io, "write", HOOK_IO_GIVES);
	uint32_t given = hook_given(fd, 0, &part, 1);

	if (io.live)
		hook_io_did(&io, REAL(write)(fd, p, n));
	gave(&io, fd, &part, 1, given);
	return hook_io_result(&io);
}

ssize_t hook_channel_writev(int fd, const struct iovec *parts, int n, int flags)
{
	HOOK_IO(io, "writev", HOOK_IO_GIVES);
	uint32_t given = hook_given(fd, flags & RWF_NOWAIT ? MSG_DONTWAIT : 0, parts, (size_t)n);

	if (io.live)
		hook_io_did(&io, flags ? REAL(pwritev2)(fd, parts, n, -1, flags)
				       : REAL(writev)(fd, parts, n));
	gave(&io, fd, parts, (size_t)n, given);
	return hook_io_result(&io);
}

static ssize_t receive(int fd, void *buffer, size_t n, int flags)
{
	HOOK_IO(io, "recv", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(recv)(fd, buffer, n, flags));
	data(&io, fd, buffer, n, flags);
	return hook_io_result(&io);
}

HOOK_EXPORT ssize_t recv(int fd, void *buffer, size_t n, int flags)
{
	if (!hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(recv)(fd, buffer, n, flags);
	}
	return receive(fd, buffer, n, flags);
}

HOOK_EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t n, size_t room, int flags)
{
	if (n > room || !hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(__recv_chk)(fd, buffer, n, room, flags);
	}
	return receive(fd, buffer, n, flags);
}

static ssize_t receive_from(int fd, void *buffer, size_t n, int flags, struct sockaddr *from,
			    socklen_t *length)
{
	socklen_t room = from && length ? *length : 0;
	HOOK_IO(io, "recvfrom", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(recvfrom)(fd, buffer, n, flags, from, length));
	data(&io, fd, buffer, n, flags);
	if (io.result >= 0 && from && length) {
		hook_io_part(&io, length, sizeof(*length), sizeof(*length));
		hook_io_part(&io, from, *length < room ? *length : room, room);
	}
	return hook_io_result(&io);
}

HOOK_EXPORT ssize_t recvfrom(int fd, void *buffer, size_t n, int flags, __SOCKADDR_ARG from,
			     socklen_t *length)
{
	if (!hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(recvfrom)(fd, buffer, n, flags, from, length);
	}
	return receive_from(fd, buffer, n, flags, from.__sockaddr__, length);
}

HOOK_EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t n, size_t room, int flags,
				   struct sockaddr *from, socklen_t *length)
{
	if (n > room || !hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(__recvfrom_chk)(fd, buffer, n, room, flags, from, length);
	}
	return receive_from(fd, buffer, n, flags, from, length);
}

/* Descriptors that came in a message are channels from now on, whatever they are. */
static void descriptors_in(struct hook_io *io, struct msghdr *m, int flags)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd;

		if (c->cmsg_len < CMSG_LEN(0) || c->cmsg_level != SOL_SOCKET ||
		    c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			hook_channel_made(io, fd, HOOK_CHANNEL_SOCKET,
					  flags & MSG_CMSG_CLOEXEC ? O_CLOEXEC : 0);
		}
	}
}

struct message_head {
	uint32_t name, control;
	int32_t flags;
};

/* All of a message but its length, `result` bytes; the rooms are what the program offered. */
static void message(struct hook_io *io, struct msghdr *m, socklen_t name_room, size_t control_room,
		    int flags)
{
	struct message_head head = {m->msg_namelen, (uint32_t)m->msg_controllen, m->msg_flags};

	scattered(io, m->msg_iov, m->msg_iovlen);
	hook_io_part(io, &head, sizeof(head), sizeof(head));
	m->msg_namelen = head.name;
	m->msg_controllen = head.control;
	m->msg_flags = head.flags;
	if (m->msg_name)
		hook_io_part(io, m->msg_name, head.name < name_room ? head.name : name_room,
			     name_room);
	if (m->msg_control && head.control) {
		if (hook_io_part(io, m->msg_control, head.control, control_room) != head.control)
			hook_failed(io->t, "a recorded message makes no sense");
		descriptors_in(io, m, flags);
	}
}

/* Nothing is taken from a stream where there is no room; but a packet always is. */
static void message_in(const struct hook_io *io, int fd, const struct msghdr *m, int flags)
{
	if (hook_channel_kind(fd) == HOOK_CHANNEL_PACKETS || room_of(m->msg_iov, m->msg_iovlen))
		hook_channel_step_in(io, fd, flags);
}

HOOK_EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	if (!hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(recvmsg)(fd, m, flags);
	}
	socklen_t name_room = m->msg_namelen;
	size_t control_room = m->msg_controllen;
	HOOK_IO(io, "recvmsg", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(recvmsg)(fd, m, flags));
	if (io.result >= 0) {
		message(&io, m, name_room, control_room, flags);
		message_in(&io, fd, m, flags);
	}
	return hook_io_result(&io);
}

HOOK_EXPORT int recvmmsg(int fd, struct mmsghdr *m, unsigned int n, int flags,
			 struct timespec *timeout)
{
	if (!hook_channel_has(fd, SITE)) {
		hook_channel_is_foreign(fd, SITE);
		return REAL(recvmmsg)(fd, m, n, flags, timeout);
	}
	HOOK_IO(io, "recvmmsg", HOOK_IO_GETS);

	if (io.live)
		hook_io_did(&io, REAL(recvmmsg)(fd, m, n, flags, timeout));
	int64_t count = io.result;

	for (int64_t i = 0; i < count; i++) {
		struct msghdr *one = &m[i].msg_hdr;

		hook_io_part(&io, &m[i].msg_len, sizeof(m[i].msg_len), sizeof(m[i].msg_len));
		io.result = m[i].msg_len;
		message(&io, one, one->msg_namelen, one->msg_controllen, flags);
		message_in(&io, fd, one, flags);
	}
	io.result = count;
	if (timeout && count >= 0)
		hook_io_part(&io, timeout, sizeof(*timeout), sizeof(*timeout));
	return (int)hook_io_result(&io);
}

/* Standard output may be a socket; in replay it may be none any more. */
static ssize_t printed(int fd, const void *p, size_t n, ssize_t done)
{
	if (!hook_output_has(fd))
		return done;
	if (done < 0 && errno == ENOTSOCK && hook_output_was_socket(fd))
		return write(fd, p, n);
	if (done > 0)
		hook_output_wrote(fd, p, done);
	return done;
}

HOOK_EXPORT ssize_t send(int fd, const void *p, size_t n, int flags)
{
	if (!hook_channel_has(fd, SITE))
		return printed(fd, p, n, REAL(send)(fd, p, n, flags));
	struct iovec part = {(void *)p, n};
	HOOK_IO(io, "send", HOOK_IO_GIVES);
	uint32_t given = hook_given(fd, flags, &part, 1);

	if (io.live)
		hook_io_did(&io, REAL(send)(fd, p, n, flags));
	gave(&io, fd, &part, 1, given);
	return hook_io_result(&io);
}

HOOK_EXPORT ssize_t sendto(int fd, const void *p, size_t n, int flags, __CONST_SOCKADDR_ARG to,
			   socklen_t length)
{
	if (!hook_channel_has(fd, SITE))
		return printed(fd, p, n, REAL(sendto)(fd, p, n, flags, to, length));
	struct iovec part = {(void *)p, n};
	HOOK_IO(io, "sendto", HOOK_IO_GIVES);
	uint32_t given = hook_given(fd, flags, &part, 1);

	if (io.live)
		hook_io_did(&io, REAL(sendto)(fd, p, n, flags, to, length));
	gave(&io, fd, &part, 1, given);
	return hook_io_result(&io);
}

HOOK_EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	if (!hook_channel_has(fd, SITE)) {
		ssize_t done = REAL(sendmsg)(fd, m, flags);

		if (done > 0 && hook_output_has(fd))
			hook_output_wrote_parts(fd, m->msg_iov, (int)m->msg_iovlen, done);
		return done;
	}
	HOOK_IO(io, "sendmsg", HOOK_IO_GIVES);
	uint32_t given = hook_given_message(fd, flags, m);

	if (io.live)
		hook_io_did(&io, REAL(sendmsg)(fd, m, flags));
	if (io.result >= 0)
		gave(&io, fd, m->msg_iov, m->msg_iovlen, given);
	return hook_io_result(&io);
}

HOOK_EXPORT int sendmmsg(int fd, struct mmsghdr *m, unsigned int n, int flags)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(sendmmsg)(fd, m, n, flags);
	HOOK_IO(io, "sendmmsg", HOOK_IO_GIVES);
	uint32_t given = hook_given_messages(fd, flags, m, n);

	if (io.live)
		hook_io_did(&io, REAL(sendmmsg)(fd, m, n, flags));
	int64_t count = io.result;
	size_t taken = 0;

	for (int64_t i = 0; i < count; i++) {
		hook_io_part(&io, &m[i].msg_len, sizeof(m[i].msg_len), sizeof(m[i].msg_len));
		io.result = m[i].msg_len;
		taken += m[i].msg_len;
		hook_channel_step_out(&io, fd, m[i].msg_hdr.msg_iov, m[i].msg_hdr.msg_iovlen);
	}
	if (count > 0)
		hook_io_gave(&io, given, taken);
	io.result = count;
	return (int)hook_io_result(&io);
}
