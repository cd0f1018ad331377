/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front of a replay: starts the recorded command, watches its ranks, and says how it ended.
 * run.c: the whole. session.c: the shared directory. plan.c: the command. watch.c: the waiting.
 * report.c: the words. halt*.c: stops on the way. pass.c: a replay that makes something of the run;
 * evaluate.c: events; checkpoint.c: images and logs; from.c: a replay that begins in the middle;
 * alone.c: ranks without the others; races.c: data that raced; memory*.c: the order of accesses.
 * explore*.c: runs with another
 * outcome, and explore-prelude.c what they begin with.
 */
#ifndef REPLAY_FRONT_H
#define REPLAY_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "replay/session.h"
#include "trace/run.h"

#define REPLAY_FRAMES 48

/* A rank's last word, as S/end-NNNN has it. */
struct replay_word {
	char *why; /* NULL while the rank has said nothing */
	char *call, *text, *thread;
	uint64_t event;
	int64_t value;
	char *other[REPLAY_FRAMES], *in[REPLAY_FRAMES]; /* threads at their ends, and their calls */
	size_t others;
	char *where[REPLAY_FRAMES]; /* "module+0xoffset", innermost first */
	size_t frames;
};

struct replay_pass;

/* A rank that is traced from its first instruction. */
struct replay_traced {
	int gate;   /* a byte comes here when it may begin */
	int output; /* for all that it prints */
};

struct replay_front {
	const struct trace_run *run;
	bool force, noisy;
	const char *or_force; /* ", or …": how a changed program is run all the same; or NULL */
	uint64_t noise;
	double patience;
	char **command;   /* given by the user, or NULL */
	const char *twin; /* runs in place of the program: an absolute path, or NULL */
	bool valgrind;    /* the program runs in our Valgrind tool */
	bool memory;      /* the twin keeps accesses in their order (memory-order.h) */
	bool explore;     /* along the prelude in the trace, recording into it */
	char *output;     /* a directory for what the ranks and the launcher print, or NULL */
	const struct replay_pass *pass;     /* something is made of the run (pass.h), or NULL */
	const struct replay_traced *traced; /* or NULL */
	struct replay_halt *halt;           /* a point to stop at (replay/halt.h), or NULL */
	char **env; /* the user's environment and directory, if there is one */
	int here;
	void (*watching)(const struct replay_front *f); /* called now and then; may be NULL */

	double every;      /* checkpoint: seconds between images */
	uint64_t budget;   /* checkpoint: bytes for images; 0: as many as there are */
	unsigned keep;     /* checkpoint: how many of the last images are kept; 0: all */
	bool evaluates;    /* checkpoint: the run is evaluated by the same pass */
	const bool *group; /* checkpoint: by rank: it has a log, and images; NULL: all have */
	struct replay_prune *prune; /* checkpoint: the log is to have what MRT names; or NULL */
	bool alone;   /* ranks are served from their logs, without a launcher (alone.h) */
	bool live;    /* alone: what the logs do not have is sent again (live.h) */
	char **image; /* by rank: from which it goes on (from.h), or NULL; NULL: all from the start;
			 alone, a rank without one is left out */

	char *session;
	int session_fd;
	int elsewhere; /* -errno: why it is not in the trace; 0: it is */
	int state_fd;  /* locked while we live */
	struct replay_state_file *state;
	struct replay_word *word; /* by rank */
	size_t ranks, words;
	bool released;      /* S/all is there */
	bool death_awaited; /* all wait, and some for the death of one that is to die */
	bool past_end;      /* somebody computes on after the last recorded event */
	double done_at;     /* when all had done what they did, or 0 */
	bool stuck;         /* all wait for what cannot come */
	int unserved;       /* exit code: a log does not hold what is needed of it; or 0 */
	bool complete;      /* the replay came to the recorded end */
	bool cut_short;     /* pass: it did not, by chance, and is to be tried again */
};

/* Functions that return an exit code have said why if it is not 0. */
int replay_session_open(struct replay_front *f, const char *trace)
	__attribute__((warn_unused_result));
void replay_session_read(struct replay_front *f);
/* A file of the form of a rank's last word; false: there is none. */
bool replay_session_read_word(const struct replay_front *f, const char *prefix, size_t rank,
			      struct replay_word *w);
void replay_session_release(struct replay_front *f);
void replay_session_close(struct replay_front *f);

/* True if nobody else replays the trace now. */
bool replay_session_is_alone(const struct replay_front *f);

/* The launcher's command line, or NULL words and *alone for a program without a launcher. */
int replay_plan(const struct replay_front *f, char ***words, bool *alone)
	__attribute__((warn_unused_result));

/* Says what keeps the trace from being replayed, in one sentence; 0 if nothing does. */
int replay_check_trace(const struct trace_run *run) __attribute__((warn_unused_result));

/*
 * Checks that the trace can be replayed, that it may be run, and that its program has not changed.
 */
int replay_check(const struct replay_front *f) __attribute__((warn_unused_result));

/* Starts the recorded command in an open session. */
int replay_start(struct replay_front *f, pid_t *pid) __attribute__((warn_unused_result));

/* Becomes the rank; returns an exit code if it cannot. */
int replay_become(const struct replay_front *f, size_t rank);

/* All of it: session, command, waiting; the exit code. */
int replay_run(struct replay_front *f);

/* Waits for the job with process `pid`; the exit code. */
int replay_watch(struct replay_front *f, pid_t pid);

/* Ends the job and everything else that belongs to the session. */
void replay_end_job(const struct replay_front *f, pid_t pid, bool started);

/*
 * The letter of the process's state, or 0 if there is no such process; *ticks, if it is not NULL:
 * the hundredths of a second it has had of the processor.
 */
char replay_process_state(int pid, uint64_t *ticks);

/* How many pages of memory it has; 0 if there is no such process. */
uint64_t replay_process_pages(int pid);

/* True if processes of the session are there, on this host. */
bool replay_front_has_processes(const struct replay_front *f);

/* True if some rank's word is `why`. */
bool replay_front_any(const struct replay_front *f, const char *why);

/*
 * Names what the recording does not hold, as a likely cause. False: the recording holds everything.
 */
bool replay_report_unseen(const struct replay_front *f);
void replay_report_divergence(const struct replay_front *f);
void replay_report_failure(const struct replay_front *f);
/* True if a rank could not be started; its sentence is said. */
bool replay_report_refusal(const struct replay_front *f);
/* The input files that are not what they were; `end` follows each sentence. How many were named. */
size_t replay_report_inputs(const struct replay_front *f, const char *end);
/* Says of which ranks pipes and sockets got more or fewer bytes than recorded; false: of none. */
bool replay_report_gave_more(const struct replay_front *f);
/* The same of other bytes, which need not be another run: those that a program never sets. */
void replay_report_gave(const struct replay_front *f);
void replay_report_stuck(const struct replay_front *f);
void replay_report_end(const struct replay_front *f);
/* A rank has died, and the launcher has ended others that had more to do. */
void replay_report_left_behind(const struct replay_front *f);
/* A rank has ended as recorded, but without a last word; false: none has. */
bool replay_report_unseen_run(const struct replay_front *f);
/* The program has ended without a last word, and with another status. */
void replay_report_other_status(const struct replay_front *f, int code, int recorded);

/* Sentence parts; the caller frees. What a rank waits for: "MPI_Recv with rank 2, tag 1 at …". */
char *replay_wait_text(const struct replay_front *f, size_t rank);
/* A rank's last word: "rank 1, event 7, MPI_Recv at …: …". */
char *replay_word_text(const struct replay_front *f, size_t rank);
/* Where the word was said: " at file.c:12 (function)", or "". */
char *replay_place_text(const struct replay_word *w);

#endif
