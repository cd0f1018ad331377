/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The on-disk format of a stream: the one contract between the code inside the user's program and
 * the tool. A change here needs a new TRACE_VERSION and a golden trace. Numbers are append-only,
 * here as in numbers.h; tools/trace-numbers compares them with what was published.
 *
 * Version 2: operations of threads have other numbers than in version 1, and there are streams of
 * heaps, files, output and short threads. Version 3: atomic operations. Version 4:
 * TRACE_BEGUN_AT, and what was done to names of files (trace/output.h).
 *
 * A stream is a header page followed by bytes. It is mapped MAP_SHARED and written with plain
 * stores by one thread; what the header says is true after every single store, so a process
 * killed at any instruction leaves a stream that reads back exactly up to that instruction.
 *
 * Five header words change while the program runs. Each carries its own check bits, so that a
 * damaged word is noticed and a half-done update cannot exist (one aligned 64-bit store each):
 *
 *   committed  bytes that count (40 bits) and a running hash over them (24 bits)
 *   events     2 * events + (1 while inside the last one) (48 bits), check (16 bits)
 *   run        outcomes that came as predicted since the last byte was written
 *   polls      failed polls since the last outcome
 *   turn       of an order stream: the turn that the thread had last, plus 1 (48 bits), check
 *
 * `run` and `polls` hold a count (32 bits), a tag (16 bits) and 16 check bits. The tag tells what
 * they belong to, so that the next record, in one store, makes them stale. For `run` it is the
 * low 16 bits of the committed length; for `polls` the low bytes of that length and of the run.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "REPRISE\n"
#define TRACE_VERSION 4
#define TRACE_VERSION_OLDEST 1 /* that is shown; only the newest one is replayed */
#define TRACE_HEADER_BYTES 4096
#define TRACE_NAME_BYTES 64

enum trace_stream_kind {
	TRACE_STREAM_ORDER = 1,    /* outcomes of MPI events */
	TRACE_STREAM_INPUT = 2,    /* values the outside world gave */
	TRACE_STREAM_STDIN = 3,    /* bytes of standard input, nothing else */
	TRACE_STREAM_EVENTS = 4,   /* evaluate: events in columns (trace/events.h) */
	TRACE_STREAM_SITES = 5,    /* evaluate: stacks that events name */
	TRACE_STREAM_GUIDE = 6,    /* how a reduced trace is replayed */
	TRACE_STREAM_SYNC = 7,     /* order of a thread's synchronisation (trace/sync.h) */
	TRACE_STREAM_HEAP = 8,     /* what is not determined of the heap's addresses */
	TRACE_STREAM_OBJECTS = 9,  /* evaluate: what a thread synchronised on (trace/objects.h) */
	TRACE_STREAM_POLLS = 10,   /* evaluate: failed polls, by the event that they came after */
	TRACE_STREAM_THREADS = 11, /* closed streams of threads (below) */
	TRACE_STREAM_LIVE = 12,    /* pages of open ones */
	TRACE_STREAM_FILES = 13,   /* which files the process read (trace/files.h) */
	TRACE_STREAM_OUTPUT = 14,  /* what a process printed (trace/output.h) */
	TRACE_STREAM_WRITTEN = 15, /* files that the run wrote (trace/written.h) */
	TRACE_STREAM_KINDS = 16,
};

struct trace_header {
	char magic[8];
	uint32_t version;
	uint32_t kind;
	uint32_t rank;
	uint32_t process; /* 0 for the first process of the rank, then 1, 2, … */
	uint32_t pid;     /* of the writer */
	uint32_t pad;
	char thread[TRACE_NAME_BYTES]; /* "0" for the main thread, "0.3" for its third child;
					  "0~" and a hash of what would be too long */
	uint64_t start_ns;             /* CLOCK_REALTIME at creation */
	uint64_t check;                /* over everything above */
	uint64_t committed;
	uint64_t events;
	uint64_t run;
	uint64_t polls;
	uint64_t turn;
};

/*
 * A sixth word, in the header page of an order stream: the digest up to the last event that began
 * (32 bits), the low 16 bits of that event's number, and a check. If it is the event after
 * `events`, the thread is inside of it. So what a killed thread did is compared to its end. 0:
 * nothing is known.
 */
#define TRACE_BEGUN_AT 192

/*
 * Short streams of threads other than the first one, of kinds SYNC, INPUT and HEAP, have no files
 * of their own. A stream that its writer has closed is a record of the stream "threads": this
 * struct, the pending bytes of a SYNC stream, its bytes, and zeros up to a multiple of 8.
 */
struct trace_shelved {
	struct trace_header header;
	uint32_t pending, data;
};

/*
 * A stream that is open has a page of "threads.live". The page holds its header, its pending bytes
 * at their place, and its bytes from here on. A page whose `check` is 0 is free. `events` in the
 * header of the file is the number of pages. A stream that was moved elsewhere may still be here.
 */
static inline uint32_t trace_live_data_at(uint32_t kind)
{
	return kind == TRACE_STREAM_SYNC ? 3072 : 256;
}

/*
 * Order records. `delta` is the number of events since the previous record of this stream
 * (0 if both belong to one event). Values of `a` and `b` per kind:
 */
enum trace_order_kind {
	TRACE_SRC = 0,    /* a blocking wildcard receive: a = source */
	TRACE_POST = 1,   /* a posted receive: a = TRACE_POST_*, or source + 2; b = its number, as
			     the zigzag of its distance to the one after the last */
	TRACE_INDEX = 2,  /* Waitany, Testany: a = index + 1, 0 for MPI_UNDEFINED; part of SOME */
	TRACE_FAIL = 3,   /* a polls answered "no" */
	TRACE_HIT = 4,    /* a poll answered "yes": a = 0, or source + 1 for a wildcard probe */
	TRACE_SOME = 5,   /* Waitsome, Testsome, a Waitall that failed: a = outcount + 1, or 0 for
			     MPI_UNDEFINED; then as many INDEX records */
	TRACE_FLAG = 6,   /* Test_cancelled: a = flag */
	TRACE_TURN = 7,   /* a = turns other threads took since this thread's last one */
	TRACE_CHECK = 8,  /* a = digest of all events up to this one */
	TRACE_CANCEL = 9, /* receive number a (all posted receives counted) was cancelled */
	TRACE_LOOK = 10,  /* a blocking wildcard probe: a = source */
	TRACE_STOP = 11,  /* recording ends here: a = enum trace_stop, b = errno or call number */
	TRACE_END = 12,   /* the process ends: a = enum trace_end, b = status, signal or code */
	TRACE_WORLD = 13, /* after MPI_Init: a = size of MPI_COMM_WORLD, b = thread level + 256 *
			     enum trace_mode */
	TRACE_GOT = 14,   /* TRACE_MODE_ALL: a receive or probe got: a = source, b = tag */
	TRACE_KINDS = 15,
};

/*
 * Which outcomes of wildcards are written. The racing modes have no SRC and LOOK: blocking
 * wildcards are numbered together with posted ones, and a POST, sooner or later, gives the source
 * of one that raced. The others stay wildcards in replay.
 */
enum trace_mode {
	TRACE_MODE_ORDER = 0,
	TRACE_MODE_ALL = 1,
	TRACE_MODE_RACING_FIXED = 2, /* the rest of the name: what clocks rode on the messages */
	TRACE_MODE_RACING_INCREMENTAL = 3,
	TRACE_MODE_RACING_FULL = 4,
	TRACE_MODE_REDUCED = 5, /* by reprise reduce: wildcards without a record stay wildcards */
	TRACE_MODE_GUIDED = 6,  /* the same, and every order stream has a guide beside it */
	TRACE_MODES = 7,
};

/* How the threads of a process run. */
enum trace_threads {
	TRACE_THREADS_PARALLEL = 0,
	TRACE_THREADS_SERIAL = 1, /* one at a time */
	TRACE_THREADS_AUTO = 2,   /* serial if the program's code needs it: a note says which */
	TRACE_THREADS_KINDS = 3,
};

/* The note of an automatic choice. */
#define TRACE_NOTE_SERIAL "threads=serial"
#define TRACE_NOTE_PARALLEL "threads=parallel"

static inline uint32_t trace_world_mode(uint64_t b)
{
	return b >> 8 < TRACE_MODES ? (uint32_t)(b >> 8) : TRACE_MODE_ORDER;
}

enum { TRACE_POST_UNKNOWN = 0, TRACE_POST_CANCELLED = 1, TRACE_POST_SOURCE = 2 };

enum trace_stop {
	TRACE_STOP_NOSPACE = 1, /* b = errno */
	TRACE_STOP_CALL = 2,    /* b = number of the call that cannot be replayed */
	TRACE_STOP_TABLE = 3,   /* a table inside the hook is full */
	TRACE_STOP_CLONE = 4,   /* clone() made a second thread of the same state */
	TRACE_STOP_FILTER = 5,  /* a seccomp filter forbids what recording needs */
	TRACE_STOP_STDIN = 6,   /* in no record: the stream of standard input ends `inside` */
};

enum trace_end {
	TRACE_END_EXIT = 1,   /* b = exit status, after MPI_Finalize or without MPI */
	TRACE_END_EARLY = 2,  /* b = exit status, between MPI_Init and MPI_Finalize */
	TRACE_END_SIGNAL = 3, /* b = signal */
	TRACE_END_ABORT = 4,  /* b = code given to MPI_Abort */
};

/*
 * How an order record is written. The writer and the reader keep the same model (trace/order.h):
 * a record that the model predicts is only counted; a count of predicted records is written when
 * a record comes that was not predicted. One byte suffices for most records:
 *
 *   0x00..0x3f  SRC    a = byte                    delta as in the last SRC
 *   0x40..0x6f  POST   a = byte - 0x40, b = 0      delta as in the last POST
 *   0x70..0x8f  INDEX  a = byte - 0x70             delta as in the last INDEX
 *   0x90..0x9f  FAIL   a = byte - 0x90 + 1         delta as in the last FAIL
 *   0xa0..0xaf  HIT    a = byte - 0xa0             delta as in the last HIT
 *   0xb0..0xcf  LOOK   a = byte - 0xb0             delta as in the last LOOK
 *   0xd0..0xef  kind = byte - 0xd0, then varints delta, a, b
 *   0xf0..0xfe  byte - 0xef predicted records
 *   0xff        varint n: n predicted records
 */
#define TRACE_BYTE_SRC 0x00
#define TRACE_BYTE_POST 0x40
#define TRACE_BYTE_INDEX 0x70
#define TRACE_BYTE_FAIL 0x90
#define TRACE_BYTE_HIT 0xa0
#define TRACE_BYTE_LOOK 0xb0
#define TRACE_BYTE_LONG 0xd0
#define TRACE_BYTE_RUN 0xf0
#define TRACE_BYTE_RUNS 0xff

/*
 * Guide records, written off line, beside the order stream of a thread and in its encoding. They
 * say what replay does at an event besides what the program asks for. A message that is held back
 * is sent and received on a second communicator, the shadow, so that no wildcard gets it.
 */
enum trace_guide_kind {
	TRACE_GUIDE_SEND = 0,   /* the message that the event sends is held back */
	TRACE_GUIDE_RECV = 1,   /* receive a of the event (or a probe) is for one held back */
	TRACE_GUIDE_SHADOW = 2, /* a = 0: the communicator that comes up here has a shadow; after
				   MPI_Init MPI_COMM_WORLD has; a = 1: there are permits */
	TRACE_GUIDE_AWAIT = 3,  /* before the event: wait for permit b of rank a */
	TRACE_GUIDE_PERMIT = 4, /* after the event: permit b to rank a */
	TRACE_GUIDE_KINDS = 5,
};

/*
 * Input records. A number is predicted as the previous number of its kind plus the step before
 * the last one (a step from 0 counts as 0); d = zigzag(number - prediction). Bytes come in records
 * of at most TRACE_INPUT_CHUNK; one of just so many is continued by the next one (of 0 bytes too).
 *
 *   0x20..0xff  number of kind (byte >> 5) - 1: the low 4 bits of d, and if bit 4 is set
 *               varint d >> 4
 *   0x00..0x1f  kind = byte; a number: varint d; bytes: varint length, the bytes
 */
#define TRACE_INPUT_CHUNK 1024

enum trace_input_kind {
	TRACE_IN_REALTIME = 0,   /* ns; time(), gettimeofday(), clock_gettime(CLOCK_REALTIME) */
	TRACE_IN_MONOTONIC = 1,  /* ns */
	TRACE_IN_CPUTIME = 2,    /* ns; clock(), CPU clocks, times() */
	TRACE_IN_OTHERCLOCK = 3, /* ns; any other clock */
	TRACE_IN_WTIME = 4,      /* bits of the double MPI_Wtime returned */
	TRACE_IN_PID = 5,
	TRACE_IN_PPID = 6,
	TRACE_IN_ERRNO = 7, /* the next call fails with this errno */
	TRACE_IN_RESULT =
		8, /* what a call on a descriptor returned, or -errno (hook/input/channel/io.h) */
	TRACE_IN_TID = 9,
	TRACE_IN_CHILD = 10,   /* the number of a new process, or -errno */
	TRACE_IN_GROUP = 11,   /* of processes, or a session */
	TRACE_IN_NUMBERS = 12, /* kinds below carry a number */
	TRACE_IN_BYTES = 16,   /* kinds from here on carry bytes */
	TRACE_IN_RANDOM = 16,  /* getrandom, getentropy, arc4random, /dev/urandom */
	TRACE_IN_STRUCT =
		17, /* a result as it is: getrusage, times, uname, stat (hook/input/file/stat.c) */
	TRACE_IN_MODULE = 18, /* not an input: "build-id path" of a loaded file */
	TRACE_IN_NOTE = 19,   /* not an input: "key=value", for `reprise info` */
	TRACE_IN_DATA = 20,   /* what a call on a descriptor wrote to the program's memory */
	TRACE_IN_SIGNAL = 21, /* a handler runs: struct trace_signal (trace/numbers.h) */
	TRACE_IN_GAVE = 22,   /* 4 bytes: what a call was given to write: TRACE_GAVE */
	TRACE_IN_SENT = 23,   /* 4 bytes: the number of a signal that was sent */
	TRACE_IN_KINDS = 24,
};

/* Of bytes to write: some bits of a hash of them, and some of a hash of their number. */
#define TRACE_GAVE_NUMBER 0xfffu
#define TRACE_GAVE(hash, number) ((uint32_t)(hash) << 12 | ((uint32_t)(number)&TRACE_GAVE_NUMBER))

/*
 * File records: what the process opened to read, once per state of a file. Varints: flags, device,
 * inode, size, zigzag of the time of the last change in ns; if HASHED 8 bytes, the XXH64 of the
 * contents; varint length of the path, the path.
 */
enum trace_file_flag {
	TRACE_FILE_FRESH = 1, /* made or changed since the run began: perhaps by the run itself */
	TRACE_FILE_HASHED = 2,
	TRACE_FILE_KEPT = 4, /* a copy was to be made, see TRACE_FILE_COPIES */
	TRACE_FILE_FLAGS = 7,
};

/*
 * Heap records: a byte, the kind, and varints. A refill is a number that the heap counts; the first
 * delta counts from where the thread got the heap.
 */
enum trace_heap_kind {
	TRACE_HEAP_CHILD = 1, /* a child of this thread whose slot is not a new one, next to that of
				 the child before, or that has not the stack of its slot: how many
				 came since the last record of one, slot, twice the turn of the
				 slot and 1 if it has that stack */
	TRACE_HEAP_LIST = 2,  /* a list of blocks came back: refills since the last one, sender's
				 slot, number of the list */
};

/*
 * Synchronisation records: the outcome of an operation that was not predicted, and how many
 * predicted operations came before it. The operation itself is not named: the program makes it
 * again. `run` counts predicted operations that can take an object; `skip` of RESULT counts the
 * others after the last of them. `events` in the header counts all of both kinds.
 *
 * New records are put plainly into TRACE_SYNC_PENDING_BYTES of the header page. `run` in the header
 * has their length (low 16 bits) and a hash of them; `polls` the digest at the end of the thread.
 *
 *   0x00..0xbf  TAKE   run = byte / 16, step = byte % 16 + 1
 *   0xc0..0xff  kind = byte - 0xc0, then varints: but for CHECK run; for RESULT skip; but for TAKE
 *               code; for TAKE, TAKE_CODE and STOP step
 *
 * From there they go to the stream in blocks: varint 8 * records + checks, then by trace/coder.h
 * the checks, TRACE_SYNC_CHECK_BITS each, and the records (trace/sync-pack.c). Where a check
 * belongs follows from its number: after 16, 32, ... 1024 operations, then every 1024. Or plainly:
 * varint 8 * (TRACE_SYNC_PENDING_BYTES + bytes), then the bytes as they were.
 */
enum trace_sync_kind {
	TRACE_SYNC_TAKE = 0,      /* took the object, step versions after the one seen last */
	TRACE_SYNC_TAKE_CODE = 1, /* the same, and returned code */
	TRACE_SYNC_CODE = 2,      /* took nothing, returned code */
	TRACE_SYNC_CODE_NEW = 3,  /* the same, of an object that nobody had taken before */
	TRACE_SYNC_RESULT = 4,    /* an operation that takes nothing: code */
	TRACE_SYNC_CHECK = 5,     /* no operation: code = some bits of the digest so far */
	TRACE_SYNC_STOP = 6,      /* recording ends here: code = enum trace_stop, step = errno */
	TRACE_SYNC_END = 7,       /* never in bytes: code = digest at the end, from the header */
	TRACE_SYNC_KINDS = 8,
};

/*
 * Output: what a process wrote to its standard output and error, each by itself, whichever code of
 * the process wrote it. The number of pieces does not count. The first TRACE_OUTPUT_TEXT bytes are
 * kept; of the rest, the hash (XXH3, 64 bits) of each block of TRACE_OUTPUT_BLOCK bytes. Records
 * are a varint 4 * number + kind; a kill may cut the last one short.
 *
 * struct trace_output_page lies in the header page, and is true after every store; its words have
 * check bits as those of the header (trace_word_pack).
 */
#define TRACE_OUTPUT_TEXT (1u << 20)
#define TRACE_OUTPUT_BLOCK (1u << 16)
#define TRACE_OUTPUT_AT 1024 /* in the header page */

enum trace_output_kind {
	TRACE_OUTPUT_OUT = 0,  /* so many bytes of standard output follow */
	TRACE_OUTPUT_ERR = 1,  /* the same of standard error */
	TRACE_OUTPUT_HASH = 2, /* 8 bytes follow: hash of the next block of output (0) or error (1)
				*/
	/*
	 * So many bytes follow: the path of a file that was written anew. If the file was opened
	 * for append, a zero byte follows the path, then its size at that time, in decimal.
	 */
	TRACE_OUTPUT_FILE = 3,
};

struct trace_output_page {
	uint64_t length[2]; /* 2 * bytes written + (1 if the last of them ends no line) */
	uint64_t hash[2];   /* of those behind the last whole block */
	uint64_t was[3];    /* what descriptors 0, 1 and 2 were: TRACE_OUTPUT_WAS */
	uint64_t flags;     /* TRACE_OUTPUT_LOST, … */
	uint64_t children;  /* sum of a hash of what each child process printed */
	/* Of no use to readers: which files descriptors 1 and 2 were. */
	uint64_t device[2], inode[2];
	/* Threads that write and have not noted it yet: a number without check bits. */
	uint64_t writing;
};

/* The same, behind it, since version 4. */
#define TRACE_OUTPUT_RAN_AT 1536

struct trace_output_ran {
	uint64_t commands; /* sum of a hash of what each child that it forked executed */
};

enum trace_output_was {
	TRACE_OUTPUT_CLOSED = 0,
	TRACE_OUTPUT_TERMINAL = 1,
	TRACE_OUTPUT_REGULAR = 2,
	TRACE_OUTPUT_PIPE = 3,
	TRACE_OUTPUT_SOCKET = 4,
	TRACE_OUTPUT_OTHER = 5,
};

/* The kind of the file, and the size of its blocks, by which stdio chooses its buffer. */
#define TRACE_OUTPUT_WAS(kind, block) ((uint64_t)(block) << 4 | (kind))

#define TRACE_OUTPUT_LOST 1      /* from some byte on nothing could be kept: the disk was full */
#define TRACE_OUTPUT_ALIVE 2     /* other threads were alive when the process ended by itself */
#define TRACE_OUTPUT_UNSEEN 4    /* what children print cannot be told from what they throw away */
#define TRACE_OUTPUT_INHERITED 8 /* forked children have files that were written, and may write */

#define TRACE_SYNC_PENDING_AT 1024 /* in the header page */
#define TRACE_SYNC_PENDING_BYTES 2048
#define TRACE_SYNC_CHECKS_MOST 7 /* in a block */
#define TRACE_SYNC_CHECK_BITS 12
#define TRACE_SYNC_SHORT_RUNS 12
#define TRACE_SYNC_SHORT_STEPS 16
#define TRACE_SYNC_BYTE_LONG 0xc0

#endif
