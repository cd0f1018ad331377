/* SPDX-License-Identifier: Apache-2.0 */
/* What process.c, which knows the process and its threads, has for run.c, which lets them run. */
#ifndef REMOTE_PROCESS_INNER_H
#define REMOTE_PROCESS_INNER_H

#include "remote/process.h"

#define REMOTE_TICK_US 5000 /* between two looks at the rest of the world */

struct remote_thread *remote_process_by_tid(const struct remote_process *p, int tid);
void remote_process_drop(struct remote_process *p, int tid);

/* Memory of another program than before, after exec, has to be opened again. 0 or -errno. */
int remote_process_open_memory(struct remote_process *p);

/* Instructions that tell the program of the flag by which it is stepped. */
enum remote_telling { REMOTE_TELLS_NOTHING, REMOTE_TELLS_IN_R11, REMOTE_TELLS_ON_STACK };

/* What the instruction to come tells; and that is put right, so that it is the same with steps and
   without. */
enum remote_telling remote_process_tells(const struct remote_process *p,
					 const struct remote_thread *t);
void remote_process_hide_step(const struct remote_process *p, const struct remote_thread *t,
			      enum remote_telling telling);

/* A status that is sure to come. */
bool remote_process_await(int tid, int *status);

#endif
