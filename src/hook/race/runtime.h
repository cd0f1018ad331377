/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the runtime share. */
#ifndef HOOK_RACE_RUNTIME_H
#define HOOK_RACE_RUNTIME_H

#include "hook/race/interface.h"
#include "race/access.h"

#define RUNTIME_EXPORT __attribute__((visibility("default")))

/* The calling thread; one that nobody looks at before it begins. */
extern __thread struct race_thread *runtime_self;

/* n bytes, of any number and alignment. */
static inline void runtime_range(const void *p, size_t n, bool write, const void *site)
{
	if (n)
		race_touch(runtime_self, (uintptr_t)p, n, write, site);
}

/* log.c */
struct race_log_entry;

int runtime_log_open(int dir, const char *name);
/* Those that are loaded and not yet in the log. */
void runtime_log_modules(void);
void runtime_log_module(const char *name, uint64_t address, uint64_t end);
void runtime_log_thread(const struct race_thread *t, const char *name);
void runtime_log_thread_end(const struct race_thread *t);
/* Where the thread counts how far it is; a task counts where the thread does that runs it. */
void runtime_log_counts(const struct race_thread *t, const uint64_t *events,
			const uint64_t *operations);
void runtime_log_task(const struct race_thread *task, const struct race_thread *runs);
/* Notes how far it is. */
void runtime_log_position(struct race_log_entry *e, const struct race_thread *t);
/* race_log_segment() of the one that the thread is in. */
uint64_t runtime_log_segment(const struct race_thread *t);
void runtime_log_race(const struct race_found *f);

/* A new entry, which is whole with runtime_log_put(); NULL: no room. */
struct race_log_entry *runtime_log_new(void);
void runtime_log_put(struct race_log_entry *e, uint32_t kind);
void runtime_log_stopped(void);
/* It goes on, but may not find all. */
void runtime_log_partly(enum race_stop why);
/* All of what threads did last, or not all. */
void runtime_log_looked(bool all);

/* watch.c: the second pass. True if there is one. */
bool runtime_watch_open(int dir, const char *name, const struct hook_race_frames *frames);
/* A block of the heap; numbers grow. */
void runtime_watch_block(const void *p, size_t n, const void *site, uint64_t number);
uint64_t runtime_block_number(void);
extern bool runtime_watches;

/* early.c: blocks of the heap up to the first thread; whoever watches is then told of them. */
extern bool runtime_early;
void runtime_early_block(const void *p, size_t n, const void *site);
void runtime_early_gone(const void *p);
void runtime_early_end(void);

/* engines.c: others, if they are asked for; `name` is that of the log. */
void runtime_engine_open(int dir, const char *name, const struct hook_race_frames *frames);
extern bool runtime_depends, runtime_segments;

/* depends.c */
struct race_depend_figures;
void runtime_depends_open(int dir, const char *name, unsigned shift,
			  struct race_depend_figures *figures,
			  const struct hook_race_frames *frames);

/* obey.c: accesses in a given order. False: there is none. */
bool runtime_obey_open(int dir, const char *name, const struct hook_race_frames *frames);
extern bool runtime_obeys;
struct race_thread *runtime_obey_first(void);
struct race_thread *runtime_obey_fork(const char *name);
void runtime_obey_end(void);
void runtime_obey_sync(const void *object, bool releases);
void runtime_obey_passed(void);
/* What the next n accesses have to wait for is done: the thread may look before it tells. */
void runtime_obey_turn(unsigned n);

static inline void runtime_turn(unsigned n)
{
	if (__builtin_expect(runtime_obeys, 0))
		runtime_obey_turn(n);
}

/* runtime.c: does anybody look at the calling thread? */
bool runtime_is_seen(void);

/* Memory becomes another's, or nobody's. */
void runtime_block(const void *p, size_t n, const void *site);

#endif
