/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual checkpoints of a run, by time (Thoai and Volkert 2003, sections 2 and 6): where images
 * would be taken, found on the event graph. The rules of what to log (graph/logging.h) and the
 * lines to restart from (graph/line.h) build on them.
 *
 * Each process has checkpoint 0 before its first event. It takes the next one at the first begin of
 * a call at which `period` has passed since its last one. Messages carry the number of their
 * sender's last checkpoint; a process that learns of a higher one than its own takes a forced
 * checkpoint of that number, before the call by which it learns. Collective operations carry it as
 * messages do, from whom they transfer (graph/coll.h). Numbers that are passed over so belong to
 * the same place: the intervals between them are empty.
 *
 * Interval i of a process is what it does from checkpoint i on until checkpoint i + 1. So, where no
 * call both sends and receives, a message never comes from a later interval than the one it is
 * received in. Nothing that builds on this relies on it.
 */
#ifndef GRAPH_CKPT_H
#define GRAPH_CKPT_H

#include <stdbool.h>

#include "graph/source.h"

struct graph_ckpt {
	uint64_t time;  /* of the event before it: a call has just ended, and the image is taken */
	uint32_t count; /* so many events of its process come before it */
	bool forced;
};

struct graph_ckpts;

#define GRAPH_CKPT_NEVER UINT32_MAX

/* 0, or -EBADMSG after saying what is wrong with the events. */
int graph_ckpts_place(const struct graph_source *source, uint64_t period,
		      struct graph_ckpts **ckpts) __attribute__((warn_unused_result));
/* Others of the same processes: ckpt[rank][0 ... last[rank]]; end[rank]: time of the last event. */
struct graph_ckpts *graph_ckpts_make(unsigned ranks, struct graph_ckpt *const *ckpt,
				     const uint32_t *last, const uint64_t *end);
void graph_ckpts_free(struct graph_ckpts *ckpts);

unsigned graph_ckpts_ranks(const struct graph_ckpts *ckpts);
/* The number of the last one of a process, and of the last one of all. */
uint32_t graph_ckpts_last(const struct graph_ckpts *ckpts, unsigned rank);
uint32_t graph_ckpts_highest(const struct graph_ckpts *ckpts);
/* NULL if the process has none of that number. */
const struct graph_ckpt *graph_ckpts_get(const struct graph_ckpts *ckpts, unsigned rank,
					 uint32_t number);
/* How many events come before it; GRAPH_CKPT_NEVER if there is none of that number. */
uint32_t graph_ckpts_count(const struct graph_ckpts *ckpts, unsigned rank, uint32_t number);
/* In which interval an event lies, and in which one a process is after its first `count` events. */
uint32_t graph_ckpts_of_event(const struct graph_ckpts *ckpts, unsigned rank, uint32_t index);
uint32_t graph_ckpts_of_place(const struct graph_ckpts *ckpts, unsigned rank, uint32_t count);
/* When an interval ends: at the next checkpoint, or with the last event of the process. */
uint64_t graph_ckpts_end(const struct graph_ckpts *ckpts, unsigned rank, uint32_t number);

/* The longest interval of all: the paper's T, which may exceed the period by what a call takes. */
uint64_t graph_ckpts_longest(const struct graph_ckpts *ckpts);
/*
 * How long replaying any interval may take if time is counted from graph_ckpts_shared_start(): as
 * long as intervals of one number last together, from the first begin to the last end in any
 * process; but no more than an eighth above the longest interval, lest clocks that differ spoil it.
 */
uint64_t graph_ckpts_bound(const struct graph_ckpts *ckpts);
/*
 * From when on the time in an interval is counted, so that it can be compared among processes: from
 * the first checkpoint of that number in any process, or, if that is later, as long before the end
 * of the interval as the bound allows.
 */
uint64_t graph_ckpts_shared_start(const struct graph_ckpts *ckpts, unsigned rank, uint32_t number);
/* How many images there are, and how many of them were forced. */
void graph_ckpts_images(const struct graph_ckpts *ckpts, uint64_t *all, uint64_t *forced);

#endif
