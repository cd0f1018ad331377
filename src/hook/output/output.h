/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program prints. Whatever goes to a descriptor that is its standard output or error,
 * whoever in the process writes it, is noted at the descriptor: in a stream of the process
 * (trace/output.h), in the trace when recording, in the session when replaying, where the front
 * compares the two. A child process that is not recorded adds a hash of what it prints to a sum in
 * the page of its parent's stream.
 *
 * Which descriptors these are is known by their tags: 1 and 2 are tagged when the process begins, a
 * duplicate gets the tag of its origin, and one that is closed loses it.
 * What MPI prints inside its calls (hook_depth is not 0) is not the program's: it names pids and
 * hosts. Once the program exits all of it counts, since stdio's buffers are written after that.
 */
#ifndef HOOK_OUTPUT_H
#define HOOK_OUTPUT_H

#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "hook/common/hook.h"

enum hook_output_tag {
	HOOK_OUTPUT_NONE,
	HOOK_OUTPUT_OUT,
	HOOK_OUTPUT_ERR,
	HOOK_OUTPUT_IN, /* standard input: what kind of file it was is of interest */
};

#define HOOK_OUTPUT_MOST 1024

extern uint8_t hook_output_tags[HOOK_OUTPUT_MOST];
extern bool hook_output_exits; /* the program's own code is done */
extern bool hook_output_typed; /* standard input is a terminal, or was when it was recorded */

static inline enum hook_output_tag hook_output_tag(int fd)
{
	return (unsigned int)fd < HOOK_OUTPUT_MOST ? (enum hook_output_tag)hook_output_tags[fd]
						   : HOOK_OUTPUT_NONE;
}

/* Is this one of the descriptors whose output counts? */
static inline bool hook_output_has(int fd)
{
	enum hook_output_tag tag = hook_output_tag(fd);

	return tag == HOOK_OUTPUT_OUT || tag == HOOK_OUTPUT_ERR;
}

/* Is this standard input, and a terminal? What is read there is recorded. */
static inline bool hook_output_is_typed(int fd)
{
	return __builtin_expect(hook_output_typed, 0) && hook_output_tag(fd) == HOOK_OUTPUT_IN;
}

/* Around a write to one of these and what notes it: the process may end in between. */
void hook_output_begins(void);
void hook_output_is_done(void);

/* The process is recorded or replayed; or it is a child of one that is; or becomes that by fork. */
void hook_output_start(void);
void hook_output_attach(void);
void hook_output_is_child(void);

/*
 * For an image of the process: the name of its stream in the session, the head of that file, and
 * what may be half written behind its end. How many bytes the file has up to there; 0: there is
 * none.
 */
uint64_t hook_output_snapshot(char *name, size_t size, uint8_t head[4096], uint8_t *tail,
			      size_t *tail_bytes);
/* The process is restored from it. */
void hook_output_resume(void);

/* Other threads are there when the process ends by itself. */
void hook_output_ends_with_others(void);

/* A call has written these bytes; errno is preserved. */
void hook_output_wrote(int fd, const void *bytes, ssize_t n);
void hook_output_wrote_parts(int fd, const struct iovec *parts, int count, ssize_t n);

/* The program has made or emptied a file, to write it; or opened it to append. */
void hook_output_writes(int dir, const char *path);
void hook_output_appends(int dir, const char *path, int fd);
/* One that it has written gets this name, too, or instead. */
void hook_output_renamed(int from_dir, const char *from, int to_dir, const char *to);
/* What it does to names is chance from here on: they are not compared. */
void hook_output_names_vary(void);
/*
 * It starts a program, becomes one, or is a forked child that does: the arguments, or, without
 * them, all in one word.
 */
void hook_output_ran(char *const argv[], const char *file);
/* It has done something to a name: "mkdir", "chmod 0600"; words that are too long are cut off. */
#define HOOK_OUTPUT_WORDS 256
void hook_output_did(const char *what, int dir, const char *path);

/* The same of a child process, by whatever way it may write. */
void hook_output_child_writes(int fd);

/* Descriptors come and go. */
void hook_output_duplicated(int from, int to);
void hook_output_opened(int fd, const char *path);
void hook_output_closed(int fd);
void hook_output_reopened(int before, int fd, const char *path); /* fd < 0: that failed */

/* Replay: was the standard descriptor behind this one a terminal? -1: it is none, ask the kernel.
 */
int hook_output_was_terminal(int fd);
/* In replay: was it a socket? */
bool hook_output_was_socket(int fd);

/* Stdio's own calls come to us (hook/input/channel/slots.c); done once. */
void hook_output_watch_stdio(void);

#ifdef _SYS_STAT_H
/* Replay: what stdio asks of a standard descriptor is as it was. */
void hook_output_stat(int fd, struct stat *st);
#endif

#endif
