/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells in /proc. By plain system calls: the program's own reads of files are
 * wrapped, and these may be made in a handler of a signal. errno stays as it is.
 */
#ifndef HOOK_PROC_H
#define HOOK_PROC_H

#include <stddef.h>
#include <sys/types.h>

#define HOOK_PROC_PATH 48 /* room for the names below */

/* The beginning of a file, as text; how many bytes that is, 0 if it cannot be read. */
size_t hook_proc_read(const char *path, char *text, size_t size);

/* Of a process, or of a thread of our own, the file of that name. */
size_t hook_proc_of_process(pid_t pid, const char *file, char *text, size_t size);
size_t hook_proc_of_thread(pid_t tid, const char *file, char *text, size_t size);

/* What follows such a label, as "TracerPid:", and blanks, in a text of "status"; NULL: nothing. */
const char *hook_proc_value(const char *text, const char *label);

/* The name by which a descriptor can be opened again. */
void hook_proc_fd_path(int fd, char path[HOOK_PROC_PATH]);
/* Where the descriptor leads: how long that is, 0 and "" if that is not known. May be cut off. */
size_t hook_proc_fd_target(int fd, char *target, size_t size);

#endif
