/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gdb speaks to (target remote | …): a target that runs forward and backward through the
 * replay of one rank. serve.c: packets; resume.c: those by which it moves; monitor.c: what gdb's
 * "monitor" asks for.
 */
#ifndef REMOTE_SERVE_H
#define REMOTE_SERVE_H

#include "remote/packet.h"
#include "remote/travel.h"

struct remote_server {
	struct remote_link link;
	struct remote_travel travel;
	const struct remote_known *known;
	int print;
	unsigned general; /* thread of the packets that look */
	unsigned chosen;  /* the one that steps back, if gdb has been told to say so; or 0 */
	char *description;
	bool elsewhere;    /* it has gone there without a word to gdb */
	bool over;         /* the debugger is done */
	bool end_told;     /* it knows that it is at the recorded end */
	bool begin_told;   /* or where the history begins */
	bool diverged;     /* what it looks at is not what was recorded */
	char stopped[256]; /* the last answer, to be given again */
};

/* What the events of the whole run tell, by whoever starts the server. */
struct remote_known {
	/* The races of the rank that are nearest to an event of its; the caller frees. */
	char *(*race)(void *context, unsigned rank, uint64_t event, bool inside);
	void *context;
};

/*
 * Serves until the debugger goes, on standard input and output. What the program prints goes to
 * that descriptor, or if it is 0 to the debugger. 0, or the exit code after saying why.
 */
int remote_serve(struct replay_front *f, size_t rank, int print, const struct remote_known *known);

/* resume.c: true if the packet was one of these. */
bool remote_resume(struct remote_server *s, const char *packet);
/* Where it stands. */
void remote_resume_tell(struct remote_server *s, const struct remote_stop *stop);

/* recorded.c: records about where it is, and the message that it got last. The same. */
char *remote_recorded_events(const struct remote_server *s);
char *remote_recorded_message(const struct remote_server *s);
/* The same of races; the run is evaluated first if it is not. */
char *remote_recorded_race(struct remote_server *s);

/* libraries.c: what the loader of the process has loaded, in the words of the protocol. NULL, or it
   has to be freed. */
char *remote_libraries(const struct remote_process *p);

/* monitor.c: the text to be shown; it has to be freed. */
char *remote_monitor(struct remote_server *s, const char *words);

#endif
