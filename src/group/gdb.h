/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One gdb on one process, spoken to in MI3. It is in a process group of its own: Ctrl-C in the
 * terminal is for whoever drives it. Nothing here waits: group_gdb_read() takes what is there.
 */
#ifndef GROUP_GDB_H
#define GROUP_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

enum group_gdb_state {
	GROUP_GDB_GONE,    /* it is not there, or its process is not */
	GROUP_GDB_STOPPED, /* its process is held */
	GROUP_GDB_RUNNING,
};

/*
 * Debug information of libc is large, kept in files of its own, and of no use here. So it is not
 * looked for where such files are, until libc has been read (stacks.h).
 */
#define GROUP_GDB_NO_DEBUG "set $reprise_debug = $_gdb_setting(\"debug-file-directory\")"
#define GROUP_GDB_DEBUG "eval \"set debug-file-directory %s\", $reprise_debug"

struct group_gdb {
	unsigned rank;
	pid_t pid;   /* gdb's; 0: none */
	int process; /* that it is attached to, or that its target has now */
	int in, out;
	enum group_gdb_state state;
	char *gone; /* why, once it is; or NULL */

	char *line; /* what has come of the next one */
	size_t used, room;
	long token;       /* of the last command */
	bool waits;       /* for its answer */
	double busy, at;  /* what it had used when it was last seen to work, and when that was */
	char *class;      /* of the answer: "done", "running", "error" */
	json_t *answer;   /* its results */
	char *said;       /* what it printed for people meanwhile */
	char *error;      /* what has come of the next line of its errors, or NULL */
	json_t *stop;     /* the last reason to stop, or NULL */
	unsigned stopped; /* how often it has */
	char *refused;    /* why it did not make the last move, or NULL */
	/* of a rank alone: as its slot has it, and whether it has come to an end of its recording
	 */
	uint64_t events;
	bool at_end, at_begin;

	char *thread; /* gdb's number of the thread that was chosen since it stopped, or NULL */
	char *thread_name; /* what the recording calls the one that is looked at, or NULL */

	/* since it stopped: the innermost frame of the program, and all frames; see stacks.h */
	bool looked;
	bool our_symbols; /* have been read, */
	bool all_symbols; /* or all, */
	json_t *read;     /* or those of these libraries besides */
	char *unread;     /* the library that the frames cannot be told without, or NULL */
	int level;
	json_t *frames;
};

/*
 * On a process; or, if that is 0, on nothing yet, with what is in the file `first` said before
 * anything of the user's. `program` is the file of the program, or NULL. 0, or -errno.
 */
int group_gdb_start(struct group_gdb *g, unsigned rank, int process, const char *first,
		    const char *program, char **env) __attribute__((warn_unused_result));

/* It is elsewhere, or another thread is looked at: nothing that was known of stacks holds. */
void group_gdb_forget_look(struct group_gdb *g);

/* It is elsewhere, without a word of gdb: nothing that was known of it holds. */
void group_gdb_forget(struct group_gdb *g);

/* Sends a command; its answer comes later. False if gdb is gone. */
bool group_gdb_send(struct group_gdb *g, const char *command);

/* The same of a rank that is stopped. Of another one no answer is known any more, and false. */
bool group_gdb_ask(struct group_gdb *g, const char *command);

/*
 * Has it, with its process and all that it has started, done nothing for so many seconds while an
 * answer is awaited? Then it is given up. To be asked now and then.
 */
void group_gdb_doubt(struct group_gdb *g, double seconds);

/* Takes what has come. */
void group_gdb_read(struct group_gdb *g);

/* What gdb said of an error, or NULL if the last command succeeded. */
const char *group_gdb_error(const struct group_gdb *g);

/* Ends gdb; its process goes on, or ends with the replay. */
void group_gdb_end(struct group_gdb *g);

#endif
