/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise dap: the ranks of a recorded run for editors, in the Debug Adapter Protocol on standard
 * input and output. Ranks are its threads, rank + 1 their numbers; other threads than the main one
 * of a rank alone have the numbers behind these. It is a front of the same core as `reprise debug`
 * (cmd/debug.h, group/). dap-wire.c: messages. dap.c: requests that move, and what is told of
 * stops. dap-threads.c: ranks and their threads. dap-values.c: stacks, variables and expressions.
 *
 * One request is answered after the other. While ranks run, what comes is kept; but a request to
 * stop them is seen, and stops them.
 */
#ifndef CMD_DAP_H
#define CMD_DAP_H

#include "cmd/debug.h"

#define CMD_DAP_MOST (16u << 20) /* bytes of a message */

/* Something that has parts: a scope, or a value. */
struct cmd_dap_parts {
	int thread;
	int level;  /* of the frame whose variables these are; -1: */
	char *name; /* of a variable of gdb's machine interface */
};

/* A thread of a rank alone that is not its main one, by the name that the recording gave it. */
struct cmd_dap_thread {
	unsigned rank;
	char *name;
};

struct cmd_dap {
	struct cmd_debug debug;
	struct group_alone alone;
	const struct trace_run *run; /* or NULL: not launched */
	bool started;                /* configurationDone has come */
	bool over;
	int output[2]; /* what the ranks print */

	char *in; /* bytes that have come */
	size_t used, room;
	bool ended; /* no more will */
	long seq;

	struct cmd_dap_parts *parts; /* number n is n + 1 for the client; until a rank moves */
	size_t partses;
	unsigned variables; /* names given so far */

	struct cmd_dap_thread *thread; /* that were ever seen: number n is ranks + n + 1 */
	size_t threads;
};

/* The next message, or NULL: the client is gone, or it sends what is none (*bad). */
json_t *cmd_dap_read(struct cmd_dap *d, bool *bad);
/* Is there a request to stop among what has come? Takes what is there, and does not wait. */
bool cmd_dap_is_told(void *dap);
/* Takes the object. */
void cmd_dap_send(struct cmd_dap *d, json_t *message);
void cmd_dap_event(struct cmd_dap *d, const char *name, json_t *body);
/* The answer to a request: its body, or why not. */
void cmd_dap_answer(struct cmd_dap *d, const json_t *request, json_t *body);
void cmd_dap_refuse(struct cmd_dap *d, const json_t *request, const char *why);

/* The thread that "threadId" names, or 0 after refusing. From now on its rank's gdb looks at it. */
int cmd_dap_thread(struct cmd_dap *d, const json_t *request);
/* The same of a number that was given. False if it is not there any more. */
bool cmd_dap_choose(struct cmd_dap *d, int thread);
unsigned cmd_dap_rank_of(const struct cmd_dap *d, int thread);
/* The number of the one that a rank's gdb looks at. */
int cmd_dap_looked_at(struct cmd_dap *d, unsigned rank);
void cmd_dap_threads(struct cmd_dap *d, const json_t *request);

void cmd_dap_stack(struct cmd_dap *d, const json_t *request);
void cmd_dap_scopes(struct cmd_dap *d, const json_t *request);
void cmd_dap_variables(struct cmd_dap *d, const json_t *request);
void cmd_dap_evaluate(struct cmd_dap *d, const json_t *request);
/* Ranks have moved. */
void cmd_dap_forget(struct cmd_dap *d);

/* What the ranks have printed is passed on. */
void cmd_dap_drain(struct cmd_dap *d);

/* How a run is to be looked at, unless the client says otherwise. */
struct cmd_dap_wanted {
	const char *trace, *at;
	bool force;
	double patience;
};

/* Until the client goes: the exit code. */
int cmd_dap_serve(struct cmd_dap *d, const struct cmd_dap_wanted *wanted);

#endif
