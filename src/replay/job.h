/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a replayed job, and the clock of those who wait for them. */
#ifndef REPLAY_JOB_H
#define REPLAY_JOB_H

#include <time.h>

#include "replay/front.h"

#define REPLAY_GRACE 3.0 /* seconds a job gets to end by itself */
#define REPLAY_LAST 0.25 /* seconds for what threads do behind their last recorded operation */

/* In seconds. */
static inline double replay_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static inline void replay_nap(void)
{
	struct timespec ts = {0, 5000000};

	nanosleep(&ts, NULL);
}

/* Does it belong to this session? */
bool replay_job_is_ours(const struct replay_front *f, int pid);

/*
 * Kills all processes of the session, and waits until they and these helpers are gone: nothing that
 * we started is to be there when we are not.
 */
void replay_job_clear(const struct replay_front *f, const int helpers[], size_t n);

/* True if the process has ended by then. */
bool replay_wait_until(pid_t pid, int *status, double deadline);

#endif
