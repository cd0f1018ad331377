/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all hooks share: is this process recorded or replayed, which of its threads are the
 * program's own, and where a thread's streams are.
 *
 * hook_depth decides everything a wrapper does first: it is 0 only in a thread of the program
 * while it runs the program's own code. It starts at 1 in every thread, and stays so in inert
 * processes, in threads the MPI library made, and in forked children; it is 1 or more while a
 * wrapper is at work, so that what MPI or our own code calls goes straight through.
 */
#ifndef HOOK_HOOK_H
#define HOOK_HOOK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/input.h"
#include "trace/order.h"
#include "trace/sync.h"

#define HOOK_EXPORT __attribute__((visibility("default")))

enum hook_mode { HOOK_INERT, HOOK_RECORD, HOOK_REPLAY };

/* Is MPI served from the log, and are the other ranks there all the same (tests)? */
enum hook_recover { HOOK_RECOVER_NOT, HOOK_RECOVER_ALONE, HOOK_RECOVER_AMONG };

/* Recording alone sets it, and reads it. */
struct hook_process_record {
	bool discard;      /* the last rank that ends well removes the trace */
	uint64_t snapshot; /* how many bytes of files that are read may be copied */
	uint32_t stopped;  /* enum trace_stop, once a thread's recording has stopped */
	uint64_t stop_detail;
};

struct hook_process_replay {
	bool evaluate;             /* it writes down all events */
	bool races;                /* it looks for data that raced */
	bool checkpoint;           /* it takes images and logs what is received */
	bool unevaluated;          /* not all of its events are written: none is from now on */
	bool meets;                /* other ranks do that, and wait for it where MPI_Init returns */
	enum hook_recover recover; /* it is of this rank alone */
};

/* Recording along a prelude, which decides what happens up to a cut. */
struct hook_process_explore {
	bool on;
	int prelude_fd; /* the prelude's directory of the rank */
};

struct hook_process {
	enum hook_mode mode;
	uint32_t rank;
	uint32_t process; /* n-th process of this rank that claimed streams */
	int pid;          /* the real one */
	int rank_fd;      /* directory of the rank */
	bool claimed;     /* this process is recorded or replayed */
	bool mpi_open;    /* between MPI_Init and MPI_Finalize */
	bool ended;       /* the end of this process is written */
	int world;        /* ranks, 1 without MPI */
	uint64_t noise;   /* seed, 0 for none */
	uint32_t threads; /* enum trace_threads, see hook/thread/serial/baton.h */
	uint32_t trace;   /* enum trace_mode that was asked for */
	struct hook_process_record record;
	struct hook_process_replay replay;
	struct hook_process_explore explore;
	char dir[1024];
	char session[1024];
};

#define HOOK_SCRATCHES 8
#define HOOK_STAT_WORDS 32
#define HOOK_SIGNALS_WAITING 64

/* A hook_depth from here on: streams are at work, the handlers of signals have to wait. */
#define HOOK_CLOSED 256

/* What a replayed thread is about, for those who wait for it. */
enum hook_thread_state {
	HOOK_THREAD_RUNS,
	HOOK_THREAD_WAITS,   /* for its turn, looking around now and then */
	HOOK_THREAD_BLOCKED, /* in a call that only another thread of the program can end */
	HOOK_THREAD_AT_END,  /* of its recording */
};

/* How it begins and ends. */
struct hook_thread_life {
	struct hook_thread *next, **link; /* in the list of the program's threads */
	void *(*start)(void *);
	void *start_arg;
	uint64_t handle;   /* its pthread_t */
	int rounds;        /* of destructors it has been through */
	int cancel_at_end; /* when it has done all that was recorded */
	bool makes_team;   /* it begins a region of OpenMP: the threads it makes belong to that */
	bool is_of_team;   /* it was made so */
	bool has_stack;    /* of ours, see hook/thread/life/stack.h */
	bool masked;       /* it begins with all signals blocked, and then has: */
	sigset_t mask;
};

/* MPI: the call at work, and what was before. */
struct hook_thread_mpi {
	uint32_t call;
	int peer, tag;
	const void *site; /* where the program called it */
	uint64_t digest;  /* of all calls so far */
	uint64_t turn;    /* the turn this thread expects next, see hook/mpi/object/turn.c */
	void *scratch[HOOK_SCRATCHES];
	size_t scratch_size[HOOK_SCRATCHES];
};

/* Recording alone sets it, and reads it. */
struct hook_thread_record {
	uint64_t attention; /* the next event with which there is more to do than to count it */
	uint64_t quick;     /* the same, if outcomes alone are recorded and threads take no turns;
			       otherwise 0, see hook/mpi/quick/quick.h */
	struct trace_order_writer order;
	struct trace_input_writer input;
	uint64_t last_wild; /* number of the wildcard post last written, plus 1 */
	struct trace_sync_writer sync;
};

/* Replay. Recording along a prelude reads that prelude by it, too. */
struct hook_thread_replay {
	struct trace_view order_view;
	struct trace_order_reader order_reader;
	struct trace_rec next; /* the record to come */
	uint64_t next_event;   /* its event */
	bool more;             /* there is one */
	bool todo;             /* it has yet to do what it did, see done.h */
	bool final;            /* in the call the recording never saw return */
	bool steps;            /* waits for the turn of a step, see hook_io_step */
	bool holds;            /* has not passed it on */
	uint64_t calm; /* before this event a quick way may be taken, see hook/mpi/quick/quick.h */
	uint64_t events; /* it has been through; a recorder counts in its stream */
	/* where it halts, of its events, its operations or its calls, 0 for nowhere; and where
	 * after that: see hook/session/halt.h */
	uint64_t halt_at, halt_op, halt_call, halt_then;
	uint64_t failed;      /* polls since the last event; reset by who wants to know */
	uint64_t checked;     /* up to this event the digest was right */
	void *guide;          /* see hook/mpi/replay/held.c; NULL until its first event */
	void *race;           /* hook/thread/race/race.h */
	struct hook_log *log; /* hook/mpi/log/log.h */
	struct trace_view input_view;
	struct trace_input_reader input_reader;
	int tid_given, tid_real; /* what gettid told, and what it stands for */
	uint64_t quick_until;    /* this many operations may be done in line, see
				    hook/thread/sync/quick.h */
	struct trace_view sync_view;
	struct trace_sync_reader sync_reader;
};

struct hook_thread_evaluate {
	struct evaluate *events; /* hook/mpi/evaluate/evaluate.h */
	struct hook_stacks *stacks;
	struct hook_account *account; /* hook/thread/evaluate/account.h */
	int bytes; /* of the record of the operation at work, -1 if it is a predicted one */
};

/* Along a prelude. */
struct hook_thread_explore {
	bool past;       /* past the cut: nothing is decided any more */
	bool last_begun; /* the last event before it has begun, and posted what it posts */
	bool has_due;    /* a digest of the prelude was read ahead of its event */
	uint32_t due;
};

/* Synchronisation, see hook/thread/sync/sync.h */
struct hook_thread_sync {
	uint64_t id_base, ids; /* of the objects it was the first to take */
	uint64_t digest;
	struct hook_atoms *atoms; /* what it knows of atomic variables; NULL until its first one */
};

/* Replay: what it waits for, and whether that can come; see hook/thread/life/stuck.c */
struct hook_thread_wait {
	enum hook_thread_state state;
	const char *in;          /* the operation at work */
	const void *at;          /* where the program called it, or NULL */
	const uint32_t *version; /* of the object whose turn it waits for, or NULL */
	uint32_t version_wanted;
	int processor;                     /* where it was when it waited last */
	uint64_t ops_at_last_look;         /* of all threads, if none ran */
	uint64_t looks_alike;              /* in a row */
	uint64_t ops_seen_running;         /* the same, if one ran */
	uint64_t looks_in_vain;            /* since then */
	const struct hook_sync_call *lost; /* at its end: perhaps done */
	const struct hook_sync_call *last; /* the operation that it is in, at its end */
	bool released;                     /* its wait on a condition has let the mutex go */
};

/* One thread at a time, see hook/thread/serial/baton.c */
struct hook_thread_serial {
	uint32_t baton;   /* its last turn to run */
	uint32_t parks;   /* how often it was found to wait in a loop */
	bool robbed;      /* of the baton, since it computed for too long */
	bool looks;       /* it computes, but may wait to be stopped, see probe.h */
	bool whole;       /* in a call of libc that is one step: its allocations are no points */
	bool turns;       /* waits for the turn to run */
	bool blocks_trap; /* the program thinks that SIGTRAP is blocked, see probe.c */
};

struct hook_thread_input {
	uint64_t stat_last[HOOK_STAT_WORDS]; /* see hook/input/file/stat.c */
};

/* See hook/common/signal.h */
struct hook_thread_signal {
	uint64_t calls;    /* points it has been through */
	uint64_t given_at; /* points and operations when it last gave a lock back */
	uint32_t given;    /* locks it has given back since its last point or operation */
	uint16_t handlers; /* at work */
	uint32_t waiting;
	siginfo_t waits[HOOK_SIGNALS_WAITING];
	uint64_t timers; /* bits: there is one of this signal */
	int timer[64];
};

/*
 * By owner: a part is set and read by those it is named for, and by those that begin and end all
 * (hook/process). tools/check-layers knows which modes must not know which.
 */
struct hook_thread {
	char name[TRACE_NAME_BYTES]; /* "0", "0.1", … */
	uint32_t children;
	int tid;            /* by which libc knows it; once the program has several threads */
	int kernel_tid;     /* its number in this process, another one if that is restored */
	int passive;        /* what hook_depth returns to: 1 once recording has stopped */
	bool opened;        /* its order stream is open */
	uint32_t heap_slot; /* see hook/heap/slots.h */
	uint64_t noise;
	struct hook_thread_life life;
	struct hook_thread_mpi mpi;
	struct hook_thread_record record;
	struct hook_thread_replay replay;
	struct hook_thread_evaluate evaluate;
	struct hook_thread_explore explore;
	struct hook_thread_sync sync;
	struct hook_thread_wait wait;
	struct hook_thread_serial serial;
	struct hook_thread_input input;
	struct hook_thread_signal signal;
};

extern struct hook_process hook_process;

/* Of the calling thread, all in one: wrappers look at all of it, and so need its address once. */
struct hook_here {
	int depth;
	struct hook_thread *self; /* NULL before the first use */
	uintptr_t mpi_frame;      /* see hook/mpi/call/mpi.h */
};

extern __thread struct hook_here hook_here;
#define hook_depth hook_here.depth
#define hook_self hook_here.self

/* From a wrapper to what called it: recording may have stopped meanwhile. */
static inline void hook_return_to(const struct hook_thread *t, int depth)
{
	hook_depth = depth ? depth : t->passive;
}

/* The calling thread's state, made at first use; only where hook_depth was 0. */
struct hook_thread *hook_thread_self(void);

/* The real function behind a wrapper: the next definition after ours. Never NULL for libc. */
void *hook_real(const char *name);
/* True while the calling thread has a name looked up: the allocator gives the loader memory that is
 * not the program's. */
extern __thread bool hook_real_resolving;

/* The file name of a stream of thread t: "0.order", "p1-0.2.input". */
void hook_stream_name(const struct hook_thread *t, const char *what, char *out, size_t size);

/*
 * Recording cannot go on in this thread: a trailer is written, one line said (once per process),
 * and the program runs on. `what` is a sentence part: "the disk is full".
 */
void hook_stop_recording(struct hook_thread *t, uint32_t reason, uint64_t detail, const char *what)
	__attribute__((cold));

/*
 * Another thread's recording has stopped. What this thread would record from now on depends on
 * unknown things, so its own recording stops here, at the next thing it would record.
 */
void hook_stop_too(struct hook_thread *t) __attribute__((cold));
static inline bool hook_is_stopped(struct hook_thread *t)
{
	if (__builtin_expect(!hook_process.record.stopped, 1))
		return false;
	hook_stop_too(t);
	return true;
}

/* The same, for streams that cannot grow: rc is -errno. */
void hook_stop_growing(struct hook_thread *t, int rc) __attribute__((cold));

/* What is in their way: "the disk is full". */
const char *hook_no_room(int rc);

/* Replay: the program asked for something else than recorded; does not return. */
void hook_diverged(struct hook_thread *t, const char *call, const char *expected, const char *found)
	__attribute__((noreturn));

/* Replay: this thread's recording ends here; does not return. */
void hook_end_of_recording(struct hook_thread *t, const char *call) __attribute__((noreturn));

/* Replay: the hook cannot go on; does not return. */
void hook_failed(struct hook_thread *t, const char *text) __attribute__((noreturn));
/* The same in several words: what it is about, then why. */
void hook_failed_by(struct hook_thread *t, const char *what, const char *between, const char *why)
	__attribute__((noreturn));

/* There is no memory for a table of what the program uses: the end of the recording, or of the
   replay. `what` is a sentence part. */
void hook_table_is_full(struct hook_thread *t, const char *what) __attribute__((cold));

/* write(2) without SIGXFSZ and SIGPIPE. */
ssize_t hook_write(int fd, const void *bytes, size_t n);

/* One line on stderr, prefixed "reprise: ", without stdio. Arguments end with NULL. */
void hook_say(const char *a, ...) __attribute__((sentinel));

/* The same, but by the first of all processes of the run that says it: `key` names the line. */
void hook_say_once(const char *key, const char *a, ...) __attribute__((sentinel));

#endif
