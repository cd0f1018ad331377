/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limit.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>

static struct sigaction before;
static bool ignored;

int rp_limit_check(uint64_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return 0;
	return size > limit.rlim_cur ? -EFBIG : 0;
}

void rp_limit_ignore_signal(void)
{
	struct sigaction action = {.sa_handler = SIG_IGN};

	ignored = sigaction(SIGXFSZ, &action, &before) == 0;
}

void rp_limit_restore_signal(void)
{
	if (ignored)
		sigaction(SIGXFSZ, &before, NULL);
}
