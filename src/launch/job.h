/* SPDX-License-Identifier: Apache-2.0 */
/* What a launcher tells the processes it starts, in their environment. */
#ifndef LAUNCH_JOB_H
#define LAUNCH_JOB_H

#include <stdbool.h>

/* True and *rank if a launcher started this process. */
bool launch_job_rank(unsigned *rank);

/* A text that is the same in all ranks of one launch and in no other launch; from malloc. */
char *launch_job_key(void);

/* Is this variable ("NAME=value") the launcher's or ours, and not the user's? */
bool launch_job_owns(const char *variable);

char *launch_host(void);

#endif
