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

/* run.c, for turns.c: registers for marks and what is watched; breakpoints in memory; what the stop
   of a thread is, false if it is nothing to tell of; and one that is told of later. */
void remote_run_set_debug(struct remote_thread *t, const struct remote_points *points,
			  uint64_t mark, uint64_t word);
void remote_run_insert(const struct remote_process *p, const struct remote_points *points);
void remote_run_remove(const struct remote_process *p, const struct remote_points *points);
bool remote_run_has_break(const struct remote_points *points, uint64_t at);
bool remote_run_explain(const struct remote_process *p, const struct remote_run *how,
			struct remote_thread *t, int status, struct remote_stop *stop);
void remote_run_put_off(struct remote_thread *t, int status, const struct remote_points *points);
/* A call that was interrupted is one that has not begun. */
void remote_run_stand_before_call(const struct remote_thread *t);

/* turns.c: the same as remote_process_run(), of a process whose threads take turns; nothing is
   pending. */
void remote_turns_run(struct remote_process *p, const struct remote_run *how,
		      struct remote_stop *stop);

/* What a thread does, as the kernel says: R, S, Z ... */
char remote_process_state(int pid, int tid);

/* A status that is sure to come. */
bool remote_process_await(int tid, int *status);

#endif
