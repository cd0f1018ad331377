/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session directory of a replay: how the ranks tell the front where they are. Written by the
 * hook libraries, read by the front.
 *
 * S/state is an array of slots, one per rank, mapped by everybody on the host; the front holds a
 * lock (flock) on it.
 * S/credit counts messages received, by receiver and sender, and then messages sent, by sender and
 * receiver (hook/mpi/replay/credit.h).
 * S/end-NNNN is a rank's last word, lines "key=value": why (enum below, by name), event, call,
 * thread, value, where ("module+0xoffset", one line per stack frame, innermost first),
 * text (a sentence part, for divergence: what was expected and what was found). At the end of a
 * recording there are also lines for other threads that have reached theirs: other ("thread
 * module+0xoffset"), in (the call).
 * S/moved has "OLD\0NEW\0" for each directory that has moved since the recording.
 * S/changed-N has the message of a rank about an input file that has changed.
 * S/output-NNNN-K has what process K of the rank prints (trace/output.h).
 * S/evaluate, if it is there, asks the ranks to write events below S/graph
 * (hook/mpi/evaluate/evaluate.h); it holds the time of its start, nanoseconds of CLOCK_REALTIME.
 * S/checkpoint asks those that have a directory S/log/rank-NNNN to take images below S/ckpt and to
 * log what they receive there, in lines "key=value": every (nanoseconds), patient (1: wait until an
 * image is written), budget (bytes for the images of a rank), keep (how many of the last images; 0:
 * all), pagemap (1: as if the kernel had no PAGEMAP_SCAN), verify (1: compare
 * pages of which the kernel says that nobody has written to them).
 * S/ckpt/rank-NNNN/at, if it is there, names the events before which images are taken, one in a
 * line, in the place of `every`.
 * S/live has what ranks that are restarted together send to each other (trace/live.h).
 * S/races asks checked programs for data that raced (race/log.h).
 * S/halt-NNNN says where threads of the rank halt, in lines "thread first second …": before that
 * event (without MPI, operation of threads), and, once the slot says so, before the second. S/all
 * is created by the front when every rank has said its last word. S/refused is created by a rank
 * that cannot be started and has said why.
 */
#ifndef REPLAY_SESSION_H
#define REPLAY_SESSION_H

#include <stddef.h>
#include <stdint.h>

/* Above this number of ranks there is no S/credit. */
#define REPLAY_CREDIT_RANKS 4096

/* Counters per row of S/credit: two ranks write no line of the cache in common. */
static inline size_t replay_credit_row(size_t ranks)
{
	return (ranks + 15) / 16 * 16;
}

#define REPLAY_PRINTED "output-"
#define REPLAY_WORD "word-" /* and the rank: its last word before it has its name */
#define REPLAY_GAVE "gave-" /* and the rank: where it first wrote other bytes to a channel */
#define REPLAY_GAVE_MORE "gave-more-" /* the same: where it wrote more or fewer bytes */
#define REPLAY_WORD_BYTES 8192
#define REPLAY_THEIRS "theirs-" /* and the rank, four digits: files its children may write */

#define REPLAY_STATE_MAGIC 0x5245504c41593031ull

/* What a rank is doing. */
enum replay_state {
	REPLAY_ABSENT = 0,
	REPLAY_RUNNING = 1,
	REPLAY_AT_END = 2, /* said its last word: waits for S/all, or in its last call */
	REPLAY_GONE = 3,   /* ended by itself */
};

/* The rank's recording has no end: the run was killed. Set by the front. */
#define REPLAY_CUT 1
/* It ended by a thread that is not its main one. Set by the front. */
#define REPLAY_BY_HELPER 2
/* Its recording stopped by itself. Set by the front. */
#define REPLAY_STOPPED 4
/* What it sends to others of which this is said goes to S/live (trace/live.h). Set by the front. */
#define REPLAY_LIVE 8
/* The call within which its recording ends may be the one that ended the job. Set by the front. */
#define REPLAY_MAY_ABORT 16

/* Before main; before what S/halt-NNNN names, events or operations; nowhere, but a debugger may
   come; and before the process exits, until S/all. */
#define REPLAY_HALT_START 1
#define REPLAY_HALT_EVENTS 2
#define REPLAY_HALT_OPERATIONS 4
#define REPLAY_HALT_OPEN 8
#define REPLAY_HALT_END 16
/* A debugger lets one thread run at a time: the others stand, and are not held by anybody. */
#define REPLAY_HALT_TURNS 32
/* What it writes is its own (hook/session/private.h), also if it has not gone on from an image. */
#define REPLAY_HALT_PRIVATE 64
/* Before what S/halt-NNNN names, calls of a program with one thread and without MPI. */
#define REPLAY_HALT_CALLS 128
#define REPLAY_HALT_BYTES 65536

/* No place is left to halt at; and it need not wait for S/all to die as it did. */
#define REPLAY_GO 1
#define REPLAY_GO_TO_DEATH 2

/*
 * Before the front ends a rank that does not get any further: SIGILL with this value asks it to
 * look at what its threads did (race/log.h).
 */
#define REPLAY_LOOK 0x52504c4b

#define REPLAY_SYNC_UNIT 256
#define REPLAY_COMMS 47 /* so that a slot is whole cache lines */
#define REPLAY_KINDS 64 /* of messages, see below: a power of two */
#define REPLAY_WANTS 4
#define REPLAY_ANY (-1) /* source, tag */

/* What a receive that is waited for would take. */
struct replay_want {
	int32_t source; /* among all ranks */
	int32_t tag;
	uint32_t comm; /* as below, or 0: none of those */
};

/* The kind of a message by its source, its communicator and, if it is not REPLAY_ANY, its tag. */
static inline uint32_t replay_kind(int32_t source, int32_t tag, uint32_t comm)
{
	uint64_t x = (uint64_t)(uint32_t)source << 32 | (uint32_t)tag;

	x = (x ^ (uint64_t)comm << 20) * 0x9e3779b97f4a7c15ull;
	x ^= x >> 29;
	return (uint32_t)((x * 0xbf58476d1ce4e5b9ull) >> 32) % REPLAY_KINDS;
}

/*
 * Where the list of the program's threads is in the memory of the rank, and the layout of an entry.
 * The front reads it when it has to say where each thread is. All 0 while there is only one thread.
 */
struct replay_threads {
	uint64_t first; /* the address of the pointer to the first one */
	uint32_t next;  /* pointer to the next one */
	uint32_t name;  /* up to REPLAY_NAME_BYTES */
	uint32_t tid;   /* int */
	uint32_t call;  /* pointer to the name of its last call, or NULL */
	/* pointer to the operation that it is in at the end of its recording, or NULL; and there,
	   pointers to its object (of a join the handle) and to the condition */
	uint32_t last, object, cond;
	uint32_t handle; /* 8 bytes: its pthread_t */
	/* what tells how far it has come in its recording */
	uint32_t come[3], come_bytes[3];
	/* 8 bytes each: events that it has begun; operations that it has done; and what is written
	   as it begins one more of these (where it is called from) */
	uint32_t events, ops, begun;
};

#define REPLAY_NAME_BYTES 64
#define REPLAY_COMES 2

/* What the program has, but for its first stack, lies below this (hook/memory/memory.h). */
#define REPLAY_PROGRAM_END (105ull << 40)
/* Nothing but stacks of threads lies there (hook/thread/life/stack.c). */
#define REPLAY_STACKS (76ull << 40)
#define REPLAY_STACKS_END (81ull << 40)

/*
 * Addresses in the rank by which a debugger copies it (hook/image/copy.c): "syscall; int3", a
 * function for each thread of a copy, which ends in a trap, and the top of their stack. And where
 * is written how far the main thread has come in its recording: two moments of a run at which the
 * program's memory is the same differ there.
 */
struct replay_copy {
	uint64_t call, begin, stack;
	uint64_t come[REPLAY_COMES], come_bytes[REPLAY_COMES];
	uint64_t calls; /* 8 bytes: calls of the main thread that the hooks stand in for */
};

struct replay_slot {
	uint64_t events; /* 2 * events + (1 while inside the last one) */
	uint64_t limit;  /* the same for the whole recording of the main thread */
	uint32_t state;
	uint32_t call; /* number of the current call, see hook/mpi/call/calls.tbl */
	int32_t peer;  /* what it waits for: a rank, or INT32_MIN */
	int32_t tag;
	int32_t pid;
	uint32_t flags;  /* REPLAY_CUT and others */
	uint64_t site;   /* the address it was called from */
	uint64_t parked; /* threads beside the main one that have come to their end */
	uint64_t polls;  /* failed ones past the cut; only along a prelude */
	uint64_t sync;   /* what threads beside the main one did, in REPLAY_SYNC_UNIT operations or,
			    along a prelude, events */
	uint32_t todo;   /* threads beside the main one that have yet to do what they did */
	uint32_t todo_main; /* 1 if the main one has */
	uint64_t patience;  /* seconds in which a thread that runs comes to an operation; set by the
			       front */
	uint64_t
		recorded_ms; /* what the whole run took, 0 if that is not known; set by the front */
	struct replay_threads threads;
	/* along a prelude: what is between the ranks, see hook/mpi/explore/traffic.c */
	uint64_t sent_here; /* messages that others have sent to this rank */
	uint64_t received;  /* by it */
	uint32_t open;      /* receives that are posted, when it began its event */
	int32_t to;         /* whom it sends to, or the root, among all ranks; or -1 */
	uint32_t uncounted; /* it does what is not counted */
	uint32_t comm;      /* of the collective operation at work: its place below, plus 1; or 0 */
	/* messages sent to this rank and not received by it, by kind: with tag, and whatever it is
	 */
	int32_t with_tag[REPLAY_KINDS], of_source[REPLAY_KINDS];
	/* receives without which the call at work does not return, as far as they are known */
	struct replay_want want[REPLAY_WANTS];
	uint32_t wants;
	/* somebody wants to look at it, see hook/session/halt.h; set by the front but for the last
	 * two */
	uint32_t halt;    /* REPLAY_HALT_START and others */
	uint32_t stage;   /* 1: on to the second places */
	uint32_t go;      /* REPLAY_GO, REPLAY_GO_TO_DEATH */
	uint32_t halted;  /* threads that are at their places */
	uint64_t program; /* the address of main, or behind MPI_Init in a rank alone */
	struct replay_copy copy;
	uint64_t stopped; /* nanoseconds for which it stood still for the last image; 0: it does */
	/* collective operations entered, by communicator of all ranks, in the order of their birth
	 */
	uint32_t entered[REPLAY_COMMS];
};

struct replay_state_file {
	uint64_t magic;
	uint32_t ranks;
	uint32_t parted;   /* a rank has given up a meeting, and goes on */
	uint32_t met[4];   /* how many ranks have come to each meeting (hook_session_meet) */
	uint32_t released; /* S/all is there, for who cannot look */
	char host[96];     /* the front's */
	struct replay_slot slot[];
};

/*
 * Behind the slots, one for each rank: the beginning of its last word, if it can open no files any
 * more.
 */
struct replay_spare {
	uint32_t length; /* 0: it is not used */
	char text[1020];
};

static inline struct replay_spare *replay_spare(struct replay_state_file *file, size_t rank)
{
	return (struct replay_spare *)&file->slot[file->ranks] + rank;
}

static inline size_t replay_state_bytes(size_t ranks)
{
	return sizeof(struct replay_state_file) +
	       ranks * (sizeof(struct replay_slot) + sizeof(struct replay_spare));
}

/* Reasons, as written after "why=". */
#define REPLAY_WHY_END "end"   /* the recording ends here (the run was killed) */
#define REPLAY_WHY_STOP "stop" /* recording had stopped here (disk full, call not covered) */
#define REPLAY_WHY_DIVERGED "diverged" /* the program asked for something else */
#define REPLAY_WHY_SIGNAL "signal"     /* value = signal: about to die of it, as recorded */
#define REPLAY_WHY_ABORT "abort"       /* value = code: about to call MPI_Abort, as recorded */
#define REPLAY_WHY_EXIT "exit"         /* value = status */
#define REPLAY_WHY_ABSENT "absent"     /* by the front: the rank is not replayed */
#define REPLAY_WHY_FAILURE "failure"   /* the hook cannot go on; text says why */

/* How such a text, or S/refused, ends if the program or a library has changed. */
#define REPLAY_RECORD_AGAIN "record it again"

#endif
