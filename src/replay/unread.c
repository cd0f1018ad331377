/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/unread.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"

bool replay_unread(const struct replay_front *f)
{
	struct pollfd to[] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};

	return !f->pass && !f->output && poll(to, 2, 0) > 0 &&
	       (to[0].revents | to[1].revents) & (POLLERR | POLLHUP);
}

void replay_unread_say(void)
{
	static bool said;

	if (!said)
		rp_say("nobody reads what the replay prints any more: it is not compared with the "
		       "recording from there on");
	said = true;
}

int replay_unread_or(const struct replay_front *f, void (*report)(const struct replay_front *f))
{
	if (replay_unread(f)) {
		replay_unread_say();
		return 128 + SIGPIPE;
	}
	report(f);
	return RP_EXIT_DIVERGED;
}
