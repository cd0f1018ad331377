/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the program looks up in a library by its handle. That gives it the function of
 * that library, not the first one among all libraries, which is ours. So calls of MPI would bypass
 * us.
 */
#ifndef HOOK_LOOKUP_H
#define HOOK_LOOKUP_H

#include <stdbool.h>

/* libc's dlsym, for handles: it does not see who calls. NULL leaves dlerror as if nobody had asked.
 */
void *hook_lookup_in(void *handle, const char *name);

/*
 * The first of that name in the program and its libraries, or NULL. Not inside of dl_iterate_phdr:
 * the loader takes its two locks in the other order.
 */
void *hook_lookup_any(const char *name);

/* What this library itself has of that name, or NULL. */
void *hook_lookup_own(const char *name);

/*
 * What the program gets for the name of a function of MPI; NULL: what it asked for. In the library
 * without MPI, the recording says that such calls are not recorded.
 */
extern void *(*hook_lookup_mpi)(void *handle, const char *name);

/* Before the program's dlopen, which is called at `site`; NULL without MPI. */
extern void (*hook_lookup_opening)(const char *file, int mode, const void *site);

/*
 * The same file is opened whoever asks for it: by its path, or because neither the program nor the
 * library of `site` brings paths of its own in which to look.
 */
bool hook_lookup_is_the_same(const char *file, const void *site);

#endif
