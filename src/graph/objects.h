/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that threads synchronised on, put together from the accounts that an evaluation left
 * of each thread (trace/objects.h).
 */
#ifndef GRAPH_OBJECTS_H
#define GRAPH_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/dir.h"
#include "trace/modules.h"

struct graph_sums {
	uint64_t count;
	uint64_t handed; /* another thread had taken the object since */
	uint64_t failed;
	uint64_t predicted;
	uint64_t bytes;
};

struct graph_use {
	const char *op;
	const char *place;
	struct graph_sums sum;
};

struct graph_object {
	unsigned rank;
	uint32_t process;
	uint64_t id;
	const char *kind;
	const char *name;     /* NULL if it has none */
	uint64_t address;     /* 0 if it has none */
	const char *place;    /* where it was made or first used */
	bool made;            /* the former */
	uint64_t version;     /* that the thread of its first use had; 0 if unknown */
	uint64_t last_thread; /* that was added to `threads` */
	size_t threads;
	struct graph_sums sum;
	struct graph_use *use; /* most first */
	size_t uses;
	struct rp_map by_place; /* while they are gathered */
};

struct graph_thread {
	unsigned rank;
	uint32_t process;
	char *thread;      /* "0.2" */
	const char *name;  /* that the program gave it, or NULL */
	const char *start; /* its routine, or NULL: the main thread, or one of C++ */
	struct graph_sums sum;
};

struct graph_objects {
	struct graph_object **object; /* worst first: by what was handed over, then by operations */
	size_t objects;
	struct graph_thread *thread;
	size_t threads;
	struct rp_map by_id;
	struct rp_map texts;
};

/* Functions that know the symbols of a program. What they return is malloc'd. */
struct graph_objects_names {
	/* "file.c:12 (function)", "?" of a stack */
	char *(*place)(const struct trace_modules *modules, const uint64_t address[],
		       uint32_t depth);
	/* "name+0x28" of a variable, or NULL */
	char *(*variable)(const struct trace_modules *modules, uint64_t address);
};

/* Of an evaluated trace. 0, or the exit code after saying why. */
int graph_objects_open(struct graph_objects *all, const struct trace_dir *dir,
		       const struct graph_objects_names *names) __attribute__((warn_unused_result));
void graph_objects_close(struct graph_objects *all);

#endif
