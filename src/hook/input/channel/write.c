/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by which a program writes to descriptors past stdio. To a channel they are inputs; to
 * standard output and error they are in one order with stdio, and what they wrote is noted once it
 * is known how much that was.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/output/output.h"
#include "hook/thread/stdio/use.h"

#define SITE __builtin_return_address(0)
#define PART 16384

/* From here to the end of the wrapper no other thread prints by the same stream. */
#define IN_ORDER(fd, site) HOOK_STDIO_USE(hook_stdio_begin_write, fd, site)

static ssize_t write_in_order(int fd, const void *p, size_t n, const void *site)
{
	IN_ORDER(fd, site);
	ssize_t done;

	hook_output_begins();
	done = REAL(write)(fd, p, n);
	hook_output_wrote(fd, p, done);
	hook_output_is_done();
	return done;
}

HOOK_EXPORT ssize_t write(int fd, const void *p, size_t n)
{
	if (hook_channel_has(fd, SITE))
		return hook_channel_write(fd, p, n);
	if (!hook_output_has(fd))
		return REAL(write)(fd, p, n);
	return write_in_order(fd, p, n, SITE);
}

HOOK_EXPORT ssize_t __write(int fd, const void *p, size_t n) __attribute__((alias("write")));

HOOK_EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t done;

	if (count > 0 && hook_channel_has(fd, SITE))
		return hook_channel_writev(fd, parts, count, 0);
	if (!hook_output_has(fd))
		return REAL(writev)(fd, parts, count);
	IN_ORDER(fd, SITE);
	done = REAL(writev)(fd, parts, count);
	hook_output_wrote_parts(fd, parts, count, done);
	return done;
}

HOOK_EXPORT ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	ssize_t done;

	if (!hook_output_has(fd))
		return REAL(pwrite)(fd, p, n, at);
	IN_ORDER(fd, SITE);
	done = REAL(pwrite)(fd, p, n, at);
	hook_output_wrote(fd, p, done);
	return done;
}

_Static_assert(sizeof(off_t) == sizeof(off64_t), "one pwrite is the other");
HOOK_EXPORT ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
	__attribute__((alias("pwrite")));
HOOK_EXPORT ssize_t __pwrite64(int fd, const void *p, size_t n, off64_t at)
	__attribute__((alias("pwrite")));

HOOK_EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	ssize_t done;

	if (!hook_output_has(fd))
		return REAL(pwritev)(fd, parts, count, at);
	IN_ORDER(fd, SITE);
	done = REAL(pwritev)(fd, parts, count, at);
	hook_output_wrote_parts(fd, parts, count, done);
	return done;
}

HOOK_EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
	__attribute__((alias("pwritev")));

HOOK_EXPORT ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
	ssize_t done;

	if (at == -1 && count > 0 && hook_channel_has(fd, SITE))
		return hook_channel_writev(fd, parts, count, flags);
	if (!hook_output_has(fd))
		return REAL(pwritev2)(fd, parts, count, at, flags);
	IN_ORDER(fd, SITE);
	done = REAL(pwritev2)(fd, parts, count, at, flags);
	hook_output_wrote_parts(fd, parts, count, done);
	return done;
}

HOOK_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
	__attribute__((alias("pwritev2")));

/* What the kernel has copied from a file, read again. */
static void copied(int out, int in, off64_t at, ssize_t n)
{
	int error = errno;
	char bytes[PART];

	while (n > 0) {
		ssize_t part = REAL(pread64)(in, bytes, n < PART ? (size_t)n : PART, at);

		if (part <= 0)
			break;
		hook_output_wrote(out, bytes, part);
		at += part;
		n -= part;
	}
	errno = error;
}

/* The file is a real one in replay, too: its position moves on. */
static void moved(const struct hook_io *io, int in, off64_t *offset)
{
	if (io->live || io->result <= 0)
		return;
	if (offset)
		*offset += io->result;
	else
		lseek64(in, io->result, SEEK_CUR);
}

static ssize_t send_to_channel(int out, int in, off64_t *offset, size_t n)
{
	HOOK_IO(io, "sendfile", HOOK_IO_GIVES);

	if (io.live)
		hook_io_did(&io, REAL(sendfile64)(out, in, offset, n));
	moved(&io, in, offset);
	return hook_io_result(&io);
}

HOOK_EXPORT ssize_t sendfile64(int out, int in, off64_t *offset, size_t n)
{
	off64_t at;
	ssize_t done;

	if (hook_channel_has(out, SITE))
		return send_to_channel(out, in, offset, n);
	if (!hook_output_has(out))
		return REAL(sendfile64)(out, in, offset, n);
	IN_ORDER(out, SITE);
	at = offset ? *offset : lseek64(in, 0, SEEK_CUR);
	done = REAL(sendfile64)(out, in, offset, n);
	copied(out, in, at, done);
	return done;
}

HOOK_EXPORT ssize_t sendfile(int out, int in, off_t *offset, size_t n)
	__attribute__((alias("sendfile64")));

HOOK_EXPORT ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t n,
				    unsigned int flags)
{
	off64_t at;
	ssize_t done;

	if (!hook_output_has(out))
		return REAL(copy_file_range)(in, in_at, out, out_at, n, flags);
	IN_ORDER(out, SITE);
	at = in_at ? *in_at : lseek64(in, 0, SEEK_CUR);
	done = REAL(copy_file_range)(in, in_at, out, out_at, n, flags);
	copied(out, in, at, done);
	return done;
}

/* Bytes that go from pipe to pipe inside the kernel are seen by nobody. */
static void unseen(int out, ssize_t done)
{
	if (done > 0 && hook_depth == 0 && hook_output_has(out))
		hook_say_once("splice", "the program prints by splice or tee: this is not compared",
			      " in replay", NULL);
}

HOOK_EXPORT ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n,
			   unsigned int flags)
{
	ssize_t done = REAL(splice)(in, in_at, out, out_at, n, flags);

	unseen(out, done);
	return done;
}

HOOK_EXPORT ssize_t tee(int in, int out, size_t n, unsigned int flags)
{
	ssize_t done = REAL(tee)(in, out, n, flags);

	unseen(out, done);
	return done;
}

HOOK_EXPORT ssize_t vmsplice(int fd, const struct iovec *parts, size_t count, unsigned int flags)
{
	ssize_t done = REAL(vmsplice)(fd, parts, count, flags);

	if (hook_output_has(fd))
		hook_output_wrote_parts(fd, parts, (int)count, done);
	return done;
}
