/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay that is for images and logs is evaluated as well, but need not be. S/whole is there as
 * long as what is evaluated is whole: a file that goes can say so on a disk that is full.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/process.h"
#include "hook/kit/text.h"
#include "hook/thread/evaluate/stacks.h"

void hook_evaluate_give_up(struct hook_thread *t)
{
	char path[1100];
	struct hook_text text = hook_text_in(path, sizeof(path));
	int saved = errno;

	hook_process.replay.unevaluated = true;
	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/whole");
	if (syscall(SYS_unlinkat, AT_FDCWD, path, 0) != 0 && errno != ENOENT)
		hook_failed(t, "it cannot be told that not all events are written");
	errno = saved;
}

void hook_evaluate_lost(struct hook_thread *t, int rc)
{
	if (hook_process.replay.meets)
		hook_evaluate_give_up(t);
	else
		hook_failed_by(t, "cannot write events", ": ", strerror(-rc));
}
