/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of a process at a moment of its run, by fork: a copy stands there for as long as it is
 * kept, and others are made of it that run on from that moment. What a fork does not copy is put
 * right: other threads, memory that is shared, positions in files and what is in those that it
 * writes (hook/image/copy.c has the part that is inside of the process).
 */
#ifndef REMOTE_COPY_H
#define REMOTE_COPY_H

#include "remote/files.h"
#include "remote/process.h"
#include "replay/session.h"

/* What copies have in common with the process. */
struct remote_shared {
	uint64_t address;
	size_t bytes;
	uint8_t *saved;
};

struct remote_position {
	int fd;
	int64_t at;
};

struct remote_copy {
	struct remote_process process;
	struct remote_shared *shared;
	size_t shareds;
	struct remote_position *position;
	size_t positions;
	struct remote_files files;
};

/* All threads of `from` stand. 0 or -errno; nothing is left of what fails. */
int remote_copy_make(const struct remote_process *from, const struct replay_copy *how,
		     struct remote_process *to) __attribute__((warn_unused_result));

/* The same with what is shared noted as it is now: the process can be taken up from there. */
int remote_copy_keep(const struct remote_process *from, const struct replay_copy *how,
		     struct remote_copy *copy) __attribute__((warn_unused_result));

/* A process that goes on from the copy. What is shared is as it was. 0 or -errno. */
int remote_copy_take_up(const struct remote_copy *copy, const struct replay_copy *how,
			struct remote_process *to) __attribute__((warn_unused_result));

/* Does the process have its files where they were then, and as they were? */
bool remote_copy_has_files(const struct remote_copy *copy, const struct remote_process *p);

void remote_copy_drop(struct remote_copy *copy);

#endif
