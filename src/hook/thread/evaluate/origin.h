/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation: where objects were made. See origin.c. */
#ifndef HOOK_SYNC_ORIGIN_H
#define HOOK_SYNC_ORIGIN_H

#include "hook/common/hook.h"

/* By this call; site NULL: the object is no more. Only where hook_depth is 0. */
void hook_origin_note(const void *object, const void *site);

/* Its number in made.sites, or 0. */
uint32_t hook_origin_site(const void *object);

static inline void hook_origin(const void *object, const void *site)
{
	if (__builtin_expect(hook_process.replay.evaluate, 0))
		hook_origin_note(object, site);
}

#endif
