/* SPDX-License-Identifier: Apache-2.0 */
/* How all threads are made to stand still while an image is taken: park.c. */
#ifndef HOOK_IMAGE_PARK_H
#define HOOK_IMAGE_PARK_H

#include <time.h>

#include "hook/image/image.h"

#define HOOK_PARK_SIGNAL 33

struct hook_park {
	int taker;          /* kernel's number of the thread; 0: nobody takes one */
	void (*work)(void); /* what that does when all have been asked to come */
	uint64_t begun;
	uint32_t slots; /* given to threads */
	int parked;     /* threads that have come; a futex */
	int released;   /* how often; a futex */
	int sent[CKPT_MOST_THREADS];
	uint32_t sents;
	const struct hook_thread *who[CKPT_MOST_THREADS]; /* by slot; NULL: none of the program's */
};
extern struct hook_park hook_park;

/*
 * Calls `work` in a handler of the calling thread, and lets all others go on when that has
 * returned. True in the process that is restored from what it has written.
 */
bool hook_park_and(void (*work)(void));

/* In `work`: until all others have come; false if one does not. */
bool hook_park_others(void);

static inline uint64_t hook_park_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
