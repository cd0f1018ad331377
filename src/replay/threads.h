/* SPDX-License-Identifier: Apache-2.0 */
/* The program's threads as they are listed in the memory of a rank that is replayed here. */
#ifndef REPLAY_THREADS_H
#define REPLAY_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "replay/session.h"
#include "symbol/process.h"

struct replay_listed {
	char name[REPLAY_NAME_BYTES + 1];
	char call[64];
	int tid;
	uint64_t handle;       /* its pthread_t */
	uint64_t object, cond; /* of the operation that it is in at its end, or 0 */
};

/* The oldest last; none while there is only one. The caller frees. */
size_t replay_threads_list(const struct replay_slot *slot, struct replay_listed **out);

/* The call that it is in, by its stack and by what it says itself. NULL if it is in none. */
const char *replay_threads_call(const struct replay_listed *l, const struct symbol_standing *s);

#endif
