/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hook library tells the runtime of a checked program, reprise-race.o, and all that
 * the two know of each other. The runtime is part of the program: the hook library looks the table
 * up by its name, and programs without it are none of its business.
 */
#ifndef HOOK_RACE_INTERFACE_H
#define HOOK_RACE_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#define HOOK_RACE_VERSION 8
#define HOOK_RACE_NAME "reprise_race"

struct hook_race_frames {
	/* Return addresses of the calling thread, the one at `site` first; how many. */
	unsigned (*walk)(const void *site, uint64_t *frame, unsigned most);
	/* The calling thread does not do what it did; does not return. */
	void (*diverged)(const char *expected, const char *found);
	/*
	 * The calling thread has read the same few words so many times in a row, and comes to read
	 * one of them again. Other threads run now if it waited here for them: then not 0. Also,
	 * with a large number, where a thread stays until the run is over.
	 */
	int (*polls)(uint64_t times);
};

struct hook_race_table {
	uint32_t version;
	/*
	 * The program makes its first thread: from now on accesses count. The log is `name` in the
	 * directory, what is to be watched `watch`, if it is there. 0 or -errno.
	 */
	int (*start)(int dir, const char *name, const char *watch,
		     const struct hook_race_frames *frames);
	/* In a forked child: nothing counts. */
	void (*stop)(void);
	/* The process ends: what threads did up to now is looked at. */
	void (*finish)(void);
	/* In the parent, before the child runs; in the child; and at its end. */
	void *(*fork)(const char *name);
	void (*begin)(void *child);
	/* In the parent: there is no child after all. */
	void (*abandon)(void *child);
	void (*end)(void);
	void (*acquire)(const void *object);
	void (*release)(const void *object);
	void (*forget)(const void *object);
	/* See race/race.h: `what` is an enum race_atomic. */
	void (*atomic)(const void *object, int what, int order);
	void (*fence)(int order);
	void *(*arrive)(const void *object, uint32_t count);
	void (*leave)(const void *object, void *meeting);
	/* Objects in there are forgotten, too; or not. */
	void (*reset)(const void *address, size_t n);
	void (*reset_data)(const void *address, size_t n);
	/* The same as reset() of a block of the heap; NULL: the runtime knows of them by other
	 * means. */
	void (*block)(const void *address, size_t n);
	/*
	 * The calling thread runs a task, which knows what was released to the object and nothing
	 * else; until task_end(), which is given what task_begin() gave. NULL: the thread has to
	 * run it as a part of itself; the function may be missing for that reason, too.
	 */
	void *(*task_begin)(const void *object, const char *name);
	/* What was released to the object is for a task that begins later; until forget(). */
	void (*task_waits)(const void *object);
	void (*task_end)(void *was);
	/* The calling thread runs a task as a part of itself: a race of it may be hidden. */
	void (*task_hidden)(void);
	/* Does it keep accesses in the order that S/order-NNNN-K has? NULL: it cannot. */
	int (*obeys)(void);
	/* The calling thread may wait for others from now on: what it did before is done. */
	void (*passed)(void);
	/* The calling thread, which has begun, counts its calls of MPI and its operations there. */
	void (*counts)(const uint64_t *events, const uint64_t *operations);
	/*
	 * The program is about to look whether a variable of a function (C++) is made: whoever
	 * loads the first byte of its guard acquires it. NULL: the runtime sees such loads itself.
	 */
	void (*guard)(const void *guard);
	/* The program is about to forbid that the kernel orders its threads (membarrier). */
	void (*forbidden)(void);
};

/*
 * The same for a program that was not compiled for it, and runs in the Valgrind tool (valgrind/):
 * client requests, whose arguments are those of the functions. Numbers of the tool 'R', 'P'.
 */
enum hook_race_request {
	HOOK_RACE_REQUEST_VERSION = 1, /* gives HOOK_RACE_VERSION */
	HOOK_RACE_REQUEST_START,       /* without frames */
	HOOK_RACE_REQUEST_MODULE,      /* file, where it is loaded, its end */
	HOOK_RACE_REQUEST_STOP,
	HOOK_RACE_REQUEST_FINISH,
	HOOK_RACE_REQUEST_FORK,
	HOOK_RACE_REQUEST_BEGIN,
	HOOK_RACE_REQUEST_END,
	HOOK_RACE_REQUEST_ACQUIRE,
	HOOK_RACE_REQUEST_RELEASE,
	HOOK_RACE_REQUEST_FORGET,
	HOOK_RACE_REQUEST_ARRIVE,
	HOOK_RACE_REQUEST_LEAVE,
	HOOK_RACE_REQUEST_RESET, /* and where it was allocated */
	HOOK_RACE_REQUEST_ATOMIC,
	HOOK_RACE_REQUEST_FENCE,
	HOOK_RACE_REQUEST_ABANDON,
	HOOK_RACE_REQUEST_COUNTS,
	HOOK_RACE_REQUEST_GUARD,
	HOOK_RACE_REQUEST_RESET_DATA,
	HOOK_RACE_REQUEST_FORBIDDEN,
	HOOK_RACE_REQUEST_WAKE, /* a word: gives 1 if who waits there will be woken */
};

#endif
