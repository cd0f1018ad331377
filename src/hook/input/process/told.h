/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that others write to, too. We do not see what they write there, and report that. */
#ifndef HOOK_INPUT_TOLD_H
#define HOOK_INPUT_TOLD_H

/* The program maps memory to be shared: of a file, or of nothing. */
void hook_told_mapped(int prot, int flags);

/* It attaches a segment of System V. */
void hook_told_attached(void);

/* It opens a message queue. */
void hook_told_queue(void);

/* It makes a child that has its mappings and queues. */
void hook_told_inherited(void);

#endif
