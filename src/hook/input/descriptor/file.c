/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In replay a file is opened when the program asks for it, out of the way of the recorded numbers,
 * and gets its number in its turn. Libraries open descriptors that we do not see: if one of those
 * sits on the number, the file keeps another, which the program may never notice.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/descriptor/file.h"

#include <errno.h>

#include "base/held.h"
#include "hook/common/real.h"
#include "hook/common/signal.h"
#include "hook/input/channel/channel.h"
#include "hook/thread/life/stuck.h"

#define NAPS_OF_PATIENCE 50

/* The recorded one, in its turn. */
static int number(struct hook_io *io, int made)
{
	int fd = (int)io->result;

	hook_sync_let_go(io->t);
	for (int naps = 0; naps < NAPS_OF_PATIENCE; naps += !rp_held(hook_process.pid)) {
		if (hook_channel_renumber(made, fd))
			return fd;
		hook_sync_nap(io->t);
	}
	return made;
}

int hook_file_opened(const char *call, int fd)
{
	hook_thread_self()->serial.whole = false;
	if (hook_process.mode == HOOK_REPLAY && fd >= 0)
		fd = hook_channel_lift(fd);
	HOOK_IO(io, call, HOOK_IO_GETS);

	errno = io.error;
	if (io.live)
		hook_io_did(&io, fd);
	else if (io.result >= 0 && fd < 0)
		io.result = -io.error;
	else if (io.result >= 0)
		io.result = number(&io, fd);
	else if (fd >= 0)
		REAL(close)(fd);
	return (int)hook_io_result(&io);
}

void hook_file_closes(void)
{
	struct hook_thread *t = hook_thread_self();

	hook_depth = HOOK_CLOSED;
	hook_signal_point(t);
	hook_io_step(t);
	t->serial.whole = true;
	hook_depth = t->passive;
}

void hook_file_closed(void)
{
	struct hook_thread *t = hook_thread_self();

	t->serial.whole = false;
	hook_sync_let_go(t);
	hook_signal_pass();
}
