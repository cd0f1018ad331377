/* SPDX-License-Identifier: Apache-2.0 */
/* How tasks are made: of a task, or of the parts of a loop. */
#ifndef HOOK_GOMP_TASK_H
#define HOOK_GOMP_TASK_H

#include "hook/thread/gomp/gomp.h"

enum {
	GOMP_FLAG_FINAL = 1 << 1,
	GOMP_FLAG_UP = 1 << 8,
	GOMP_FLAG_GRAINSIZE = 1 << 9,
	GOMP_FLAG_IF = 1 << 10,
	GOMP_FLAG_NOGROUP = 1 << 11,
	GOMP_FLAG_REDUCTION = 1 << 12,
	GOMP_FLAG_DETACH = 1 << 13,
	GOMP_FLAG_STRICT = 1 << 14,
};

typedef void hook_gomp_copier(void *to, void *from);

/* As the program or libgomp gives them. */
struct hook_gomp_making {
	hook_gomp_body *body;
	void *data;
	hook_gomp_copier *copy;
	long size, align;
	bool deferrable;
	unsigned int flags;
	void **depend;
	int priority;
	bool has_part; /* of a loop: two words at the beginning of the data */
	uint64_t part[2];
};

static inline struct hook_gomp_making hook_gomp_making_of(hook_gomp_body *body, void *data,
							  hook_gomp_copier *copy, long size,
							  long align, unsigned int flags,
							  int priority)
{
	return (struct hook_gomp_making){.body = body,
					 .data = data,
					 .copy = copy,
					 .size = size,
					 .align = align > 0 ? align : 1,
					 .flags = flags,
					 .priority = priority};
}

/* May it be made by us? Says so if not all of it is kept. */
bool hook_gomp_makes(unsigned int flags, const void *site);

void hook_gomp_make(struct hook_thread *t, const struct hook_gomp_making *m, const void *site);

#endif
