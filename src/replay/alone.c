/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part, what he is served from, and the parent of them all. */
#include "replay/alone.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/live.h"
#include "replay/log.h"

#define NAP_NS 5000000
#define GRACE 200 /* naps, for those that end by themselves when one has died */

bool replay_alone_is_in(const struct replay_front *f, size_t rank)
{
	return !f->alone || f->image[rank];
}

static void leave_out(struct replay_front *f, size_t rank)
{
	f->word[rank].why = rp_strdup(REPLAY_WHY_ABSENT);
	f->word[rank].call = rp_strdup("");
	f->word[rank].text = rp_strdup("");
	f->word[rank].thread = rp_strdup("0");
	f->words++;
}

int replay_alone_prepare(struct replay_front *f)
{
	int code = 0, rc = f->live ? replay_live_tell(f) : 0;

	if (rc) {
		rp_say("cannot write into the session: %s", strerror(-rc));
		return RP_EXIT_FAILURE;
	}
	for (size_t i = 0; i < f->ranks && !code; i++) {
		if (replay_alone_is_in(f, i))
			code = replay_log_serve(f, i);
		else
			leave_out(f, i);
	}
	f->unserved = code;
	return code;
}

static bool is_released(const struct replay_front *f)
{
	return faccessat(f->session_fd, "all", F_OK, 0) == 0;
}

static int code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void end_all(const pid_t pids[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	}
}

/* It has not come to its recorded end: it has died, or could not be restored. */
static bool is_lost(const struct replay_front *f, int status)
{
	return (WIFSIGNALED(status) || WEXITSTATUS(status) == RP_EXIT_FAILURE) && !is_released(f);
}

static void say_lost(const struct replay_front *f, size_t rank, int status)
{
	unsigned number = f->run->rank[rank].rank;

	if (WIFSIGNALED(status))
		rp_say("rank %u died of signal %d before its recorded end", number,
		       WTERMSIG(status));
	else
		rp_say("rank %u could not be restored", number);
}

/* The exit code of the first that did not end well. */
static int await_all(const struct replay_front *f, pid_t pids[])
{
	struct timespec nap = {0, NAP_NS};
	int code = 0, status, naps = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) >= 0) {
		for (size_t i = 0; i < f->ranks && pid; i++) {
			if (pids[i] != pid)
				continue;
			pids[i] = 0;
			if (!code && is_lost(f, status))
				say_lost(f, i, status);
		}
		if (pid && !code)
			code = code_of(status);
		if (pid && is_lost(f, status))
			end_all(pids, f->ranks);
		if (pid)
			continue;
		if (code && is_released(f) && naps++ == GRACE)
			end_all(pids, f->ranks);
		nanosleep(&nap, NULL);
	}
	return code;
}

static int start_all(const struct replay_front *f)
{
	pid_t *pids = rp_alloc(f->ranks, sizeof(*pids)), self = getpid();
	int code, error = 0;

	for (size_t i = 0; i < f->ranks && !error; i++) {
		if (!replay_alone_is_in(f, i))
			continue;
		pids[i] = fork();
		error = pids[i] < 0 ? errno : 0;
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != self)
				_exit(RP_EXIT_FAILURE);
			_exit(replay_become(f, i));
		}
	}
	if (error) {
		rp_say("cannot start a process: %s", strerror(error));
		end_all(pids, f->ranks);
		while (waitpid(-1, NULL, 0) > 0)
			;
		code = RP_EXIT_FAILURE;
	} else {
		code = await_all(f, pids);
	}
	free(pids);
	return code;
}

int replay_alone_run(void *front)
{
	const struct replay_front *f = front;
	size_t in = 0, one = 0;

	for (size_t i = 0; i < f->ranks; i++) {
		if (replay_alone_is_in(f, i)) {
			in++;
			one = i;
		}
	}
	return in == 1 ? replay_become(f, one) : start_all(f);
}
