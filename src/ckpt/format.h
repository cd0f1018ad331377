/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image of a process: a file TRACE/ckpt/rank-NNNN/<number>.image. Written by a child of the
 * process (hook/image/), checked by the tool (ckpt/image.c), put back before main by the restorer
 * (hook/restore/). The head comes first, the sections where it says; each has its own checksum
 * (XXH3, 64 bits), and so has the head. Only pages that the process has made its own are in it.
 *
 * An image may be based on earlier ones of its rank: a run of pages names the image it lies in. A
 * change of a number or a struct here needs a new CKPT_VERSION (tools/trace-numbers compares them
 * with those of this version); images of other versions are refused.
 */
#ifndef CKPT_FORMAT_H
#define CKPT_FORMAT_H

#include <stdint.h>

#define CKPT_MAGIC "RPRIMAGE"
#define CKPT_VERSION 8
#define CKPT_PAGE 4096ul
#define CKPT_SUFFIX ".image"

#define CKPT_MOST_THREADS 1024
#define CKPT_MOST_FDS 1024
#define CKPT_SIGNALS 64
#define CKPT_AUXV_WORDS 64
#define CKPT_CPU_WORDS 16 /* for 1,024 processors */

enum ckpt_section_kind {
	CKPT_THREADS = 0, /* struct ckpt_thread */
	CKPT_MAPS = 1,    /* struct ckpt_map, by address */
	CKPT_RUNS = 2,    /* struct ckpt_run, by address */
	CKPT_HASHES = 3,  /* uint64_t for each page of the runs */
	CKPT_FDS = 4,     /* struct ckpt_fd, by number */
	CKPT_TEXT = 5,    /* strings, each with its 0; offsets lead here, 0 to an empty one */
	CKPT_OUTPUT = 6,  /* what the process had printed: the file of that stream */
	CKPT_COPIES = 7,  /* contents of files that were open for writing */
	CKPT_PAGES = 8,   /* those that lie in this file */
	CKPT_SECTIONS = 9,
};

struct ckpt_section {
	uint64_t at, bytes, check;
};

/* What a path is relative to. */
enum ckpt_base {
	CKPT_BASE_NONE = 0,    /* nothing: it is absolute */
	CKPT_BASE_TRACE = 1,   /* the trace directory */
	CKPT_BASE_SESSION = 2, /* that of the replay, another one each time */
};

enum ckpt_map_kind {
	CKPT_MAP_ANON = 1,
	CKPT_MAP_FILE = 2,   /* private, of a file that must be what it was */
	CKPT_MAP_STACK = 3,  /* the main thread's */
	CKPT_MAP_SHARED = 4, /* of a file of ours, mapped again */
};

struct ckpt_map {
	uint64_t start, end, offset;
	uint32_t kind, prot; /* prot as in mmap() */
	uint32_t first_run, runs;
	uint32_t path, base;            /* of a file */
	uint64_t file_bytes, file_time; /* its size, and its mtime in nanoseconds */
	uint64_t build;                 /* of its first part: what ckpt/build.h makes of it, or 0 */
};

/* Pages that follow each other, in memory and in the file. */
struct ckpt_run {
	uint64_t address;
	uint32_t pages;
	uint32_t image; /* number of the image in whose file they are */
	uint64_t at;    /* in that file */
};

enum ckpt_fd_kind {
	CKPT_FD_KEPT = 1,  /* what the new process has as its `same`: 0, 1 or 2 */
	CKPT_FD_FILE = 2,  /* opened again by its path */
	CKPT_FD_COPY = 3,  /* a copy in the session, made from what is in CKPT_COPIES */
	CKPT_FD_SAME = 4,  /* the same open file as the descriptor `same` */
	CKPT_FD_IDLE = 5,  /* a channel whose other end stays silent */
	CKPT_FD_FOUND = 6, /* came with the process: what the new one has by this number, or idle */
	CKPT_FD_EPOLL = 7,
	CKPT_FD_EVENT = 8,
	CKPT_FD_PIPE = 9, /* an end; `same` is the lower number of the two, and its own there */
};

struct ckpt_fd {
	int32_t fd, same;
	uint32_t kind, flags; /* flags as of open(), with O_CLOEXEC */
	int64_t position;     /* -1: it has none */
	uint32_t path, base;
	uint32_t original;         /* of a copy: where the file was */
	uint32_t room;             /* of a pipe, in bytes */
	uint64_t copy, copy_bytes; /* in CKPT_COPIES; of a pipe at its lower number */
	/* Of a file that is only read: size and mtime in nanoseconds; a time of 0: any will do. */
	uint64_t file_bytes, file_time;
};

#define CKPT_THREAD_MAIN 1  /* the first of the process */
#define CKPT_THREAD_TAKER 2 /* took the image, and puts the hooks right again */

struct ckpt_thread {
	uint64_t fs, gs;
	uint64_t tid_address, robust, robust_bytes, rseq;
	uint64_t frame; /* of a signal, on its stack: how it goes on */
	int32_t tid;
	uint32_t flags;
	uint64_t event;     /* of MPI, of this thread: it is taken before this one */
	uint64_t operation; /* of synchronisation, the same */
	uint32_t name;      /* of the thread; empty for one that is not the program's */
	uint32_t children;  /* threads that it has made: those that are not here have ended */
	uint64_t cpus[CKPT_CPU_WORDS]; /* on which it may run, as of sched_getaffinity(); 0: any */
};

struct ckpt_action {
	uint64_t handler, flags, restorer, mask;
};

/* As PR_SET_MM_MAP takes it. */
struct ckpt_mm {
	uint64_t start_code, end_code, start_data, end_data, start_brk, brk, start_stack;
	uint64_t arg_start, arg_end, env_start, env_end;
	uint64_t auxv;
	uint32_t auxv_bytes, exe_fd;
};

/* Where in the restored process the restorer leaves word. */
struct ckpt_note {
	uint64_t restored; /* 1 */
	uint64_t scratch, scratch_bytes;
	char dir[1024], session[1024];
};

struct ckpt_head {
	char magic[8];
	uint32_t version, head_bytes;
	uint32_t rank, process, number;
	int32_t pid;
	uint64_t event;   /* of the main thread, without MPI a call: it is taken before this one */
	uint64_t elapsed; /* since the process began, in nanoseconds */
	uint64_t stopped; /* how long the process stood still for it */
	uint64_t pages;   /* in all runs */
	uint64_t note;    /* address of a struct ckpt_note */
	uint64_t resume;  /* address of a function: goes on as thread number <argument> */
	uint64_t vdso, vdso_bytes;
	uint64_t stack_limit, stack_low, stack_high;
	struct ckpt_mm mm;
	uint64_t auxv[CKPT_AUXV_WORDS];
	struct ckpt_action action[CKPT_SIGNALS]; /* of signal i + 1 */
	char kernel[160];
	char processor[64];    /* its name; ckpt/processor.h */
	uint64_t features;     /* what it can do */
	uint32_t cwd, program; /* paths */
	uint32_t rseq_bytes, rseq_signature;
	uint32_t umask, pad;
	struct ckpt_section section[CKPT_SECTIONS];
	uint64_t check; /* of all before */
};

#endif
