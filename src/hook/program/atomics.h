/* SPDX-License-Identifier: Apache-2.0 */
/* Does the program order its threads by atomic operations, which only serial mode keeps? */
#ifndef HOOK_ATOMICS_H
#define HOOK_ATOMICS_H

#include <stdbool.h>

/* Recording, when threads begin: searches the code in memory. False: nothing was found. */
bool hook_atomics_look(void);

/* After a search that found some: says so, and what is done about it, and notes it for `info`. */
void hook_atomics_tell(bool serial);

#endif
