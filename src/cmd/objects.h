/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects that threads synchronised on, put together from the accounts that an evaluation left
 * of each thread (trace/objects.h).
 */
#ifndef CMD_OBJECTS_H
#define CMD_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/dir.h"

struct cmd_sums {
	uint64_t count;
	uint64_t handed; /* another thread had taken the object since */
	uint64_t failed;
	uint64_t predicted;
	uint64_t bytes;
};

struct cmd_use {
	const char *op;
	const char *place;
	struct cmd_sums sum;
};

struct cmd_object {
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
	struct cmd_sums sum;
	struct cmd_use *use; /* most first */
	size_t uses;
	struct rp_map by_place; /* while they are gathered */
};

struct cmd_thread {
	unsigned rank;
	uint32_t process;
	char *thread;      /* "0.2" */
	const char *name;  /* that the program gave it, or NULL */
	const char *start; /* its routine, or NULL: the main thread, or one of C++ */
	struct cmd_sums sum;
};

struct cmd_objects {
	struct cmd_object **object; /* worst first: by what was handed over, then by operations */
	size_t objects;
	struct cmd_thread *thread;
	size_t threads;
	struct rp_map by_id;
	struct rp_map texts;
};

/* Of an evaluated trace. 0, or the exit code after saying why. */
int cmd_objects_open(struct cmd_objects *all, const struct trace_dir *dir)
	__attribute__((warn_unused_result));
void cmd_objects_close(struct cmd_objects *all);

#endif
