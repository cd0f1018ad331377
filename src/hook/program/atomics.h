/* SPDX-License-Identifier: Apache-2.0 */
/* Does the program order its threads by atomic operations, which only serial mode keeps? */
#ifndef HOOK_ATOMICS_H
#define HOOK_ATOMICS_H

#include <stdbool.h>

/* Recording, when threads begin: looks through the code in memory. False: by none that were seen.
 */
bool hook_atomics_look(void);

/* After a look that found some: says so, and what is done about it; and notes it for `info`. */
void hook_atomics_tell(bool serial);

#endif
