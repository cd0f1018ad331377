/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: reports which files, loaded at start, make system calls without libc. */
#ifndef HOOK_RAWCALLS_H
#define HOOK_RAWCALLS_H

void hook_rawcalls_look(void);

#endif
