/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other bytes need not be another run: what the program never sets, such as the rest of a structure
 * on the stack, is what calls have left there, ours among them. Another number of them is another
 * run. So the number has bits of its own.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hook/input/channel/given.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/real.h"
#include "hook/kit/text.h"
#include "hook/program/sanitizer.h"
#include "hook/session/session.h"

#define PAGE 4096ul
#define MOST (256ul << 10)

/*
 * A program may write what it cannot read, to find that out. The kernel looks before it refuses
 * this; but it takes NULL for nothing to look at.
 */
static bool can_read(const void *p, size_t n)
{
	uintptr_t at = (uintptr_t)p & -8ul, end;

	if (n == 0)
		return true;
	if (n > SSIZE_MAX || !at || __builtin_add_overflow((uintptr_t)p, n, &end))
		return false;
	for (; at < end; at = (at & -PAGE) + PAGE) {
		if (syscall(SYS_rt_sigprocmask, -1, at, NULL, 8) != 0 && errno == EFAULT)
			return false;
	}
	return true;
}

/* Ours, in a frame of a caller. */
static bool is_here(const void *p)
{
	return (uintptr_t)p - (uintptr_t)__builtin_frame_address(0) < PAGE;
}

static bool takes_all(int fd, int flags)
{
	return !(flags & MSG_DONTWAIT) && !(REAL(fcntl)(fd, F_GETFL) & O_NONBLOCK);
}

static bool is_over(void)
{
	return !hook_self || hook_self->passive || hook_is_stopped(hook_self);
}

uint32_t hook_given(int fd, int flags, const struct iovec *parts, size_t n)
{
	uint64_t hash = (uint64_t)fd;
	size_t all = 0, left;
	int error = errno;

	if (is_over())
		return 0;
	if (n > IOV_MAX || (!is_here(parts) && !can_read(parts, n * sizeof(*parts))))
		n = 0;
	for (size_t i = 0; i < n; i++)
		all += parts[i].iov_len;
	left = all <= MOST || takes_all(fd, flags) ? all : MOST;
	for (size_t i = 0; i < n && left; i++) {
		size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;

		if (size && can_read(parts[i].iov_base, size))
			hash = XXH3_64bits_withSeed(parts[i].iov_base, size, hash);
		left -= size;
	}
	errno = error;
	return TRACE_GAVE(hash, XXH3_64bits(&all, sizeof(all)));
}

uint32_t hook_given_message(int fd, int flags, const struct msghdr *m)
{
	int error = errno;
	bool is = !is_over() && can_read(m, sizeof(*m));

	errno = error;
	return is ? hook_given(fd, flags, m->msg_iov, m->msg_iovlen) : 0;
}

uint32_t hook_given_messages(int fd, int flags, const struct mmsghdr *m, unsigned int n)
{
	uint32_t hash = 0, number = 0, one;

	for (unsigned int i = 0; i < n; i++) {
		one = hook_given_message(fd, flags, &m[i].msg_hdr);
		hash = hash * 31 + (one & ~TRACE_GAVE_NUMBER);
		number = number * 31 + (one & TRACE_GAVE_NUMBER);
	}
	return (hash & ~TRACE_GAVE_NUMBER) | (number & TRACE_GAVE_NUMBER);
}

/* The first time of the process; what comes then may follow from it. */
static void tell(const struct hook_io *io, const char *name, size_t taken)
{
	char text[32];
	struct hook_text out = hook_text_in(text, sizeof(text));
	void *frames[HOOK_SESSION_FRAMES];

	hook_text_number(&out, (int64_t)taken);
	hook_session_gave(io->t, name, io->call, text, frames,
			  hook_sanitizer_backtrace(frames, HOOK_SESSION_FRAMES));
}

void hook_io_gave(struct hook_io *io, uint32_t given, size_t taken)
{
	static bool told, told_number;
	uint32_t other = given ^ hook_input_given(io->t, TRACE_IN_GAVE, io->call, given);

	if (!other)
		return;
	if (!(other & TRACE_GAVE_NUMBER)) {
		if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
			tell(io, REPLAY_GAVE, taken);
	} else if (!__atomic_exchange_n(&told_number, true, __ATOMIC_RELAXED)) {
		tell(io, REPLAY_GAVE_MORE, taken);
	}
}
