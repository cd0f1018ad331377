/* SPDX-License-Identifier: Apache-2.0 */
/* Files that child processes may write: see theirs.c. For children only. */
#ifndef HOOK_OUTPUT_THEIRS_H
#define HOOK_OUTPUT_THEIRS_H

/* When the child begins: all that it has open. */
void hook_output_theirs_inherited(void);

void hook_output_theirs_by_descriptor(int fd);
void hook_output_theirs_by_path(int dir, const char *path);

#endif
