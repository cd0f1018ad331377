/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process under ptrace, with all of its threads. Between two calls every thread stands still, and
 * no breakpoint is in its memory: what is read there is the program. A thread that was stopped in a
 * system call stands before that call.
 */
#ifndef REMOTE_PROCESS_H
#define REMOTE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "replay/session.h"

#define REMOTE_WATCHES 3 /* of four debug registers; the last one is for marks */
#define REMOTE_BREAKS 512

enum remote_watch_kind {
	REMOTE_WATCH_NONE = 0,
	REMOTE_WATCH_WRITE = 2, /* as the remote protocol counts them */
	REMOTE_WATCH_READ = 3,
	REMOTE_WATCH_ACCESS = 4,
};

struct remote_watch {
	enum remote_watch_kind kind;
	uint64_t address;
	unsigned length; /* 1, 2, 4 or 8 */
	bool only;       /* when the eight bytes at `counter` are that: */
	uint64_t counter, value;
	uint64_t owner; /* where the name of whoever counts there is, or 0 */
	char name[REPLAY_NAME_BYTES];
};

/* What the debugger has asked for, whatever process it is looking at. */
struct remote_points {
	uint64_t at[REMOTE_BREAKS];
	size_t breaks;
	struct remote_watch watch[REMOTE_WATCHES];
};

/* Why a thread does not run, where threads take turns (turns.c). */
enum remote_wait {
	REMOTE_READY,
	REMOTE_ON_WORD, /* until the word is another one, or it is woken */
	REMOTE_ASLEEP,
	REMOTE_LEFT, /* the first one, which has ended before the others */
	REMOTE_IDLE, /* MPI's own, of which a rank alone has no use */
};

struct remote_thread {
	int tid;
	unsigned number; /* the same in every copy of the process */
	bool running;
	bool has_pending; /* a stop that nobody has looked at yet */
	int pending;
	int signal;       /* delivered when it goes on */
	uint64_t control; /* of its debug registers, as they are */
	uint64_t address[4];
	uint64_t ran;          /* the last turn in which it did, 0: none */
	enum remote_wait wait; /* it stands before the call in which it does */
	uint64_t word;
	uint32_t value, bits;
	uint64_t since; /* counts those who wait */
	int64_t until;  /* of the clock of the process, or -1 */
	bool woken, late;
	bool again; /* it makes that call once more */
};

/* What a thread is called, by the kernel and by us. */
struct remote_number {
	int tid;
	unsigned number;
};

/* The session, in which the process has files of its own (files.h). */
struct remote_home {
	int fd;
	char path[4096];
	char own[16]; /* how the names of these begin */
};

struct remote_process {
	int pid;
	int memory; /* /proc/PID/mem */
	const struct remote_home *home;
	struct remote_thread *thread;
	size_t threads;
	unsigned numbers;          /* given so far */
	struct remote_number *had; /* all threads that it or what it was copied from ever had */
	size_t hads;
	unsigned only;                /* number of the one thread that ever runs; 0: all do */
	const struct remote_run *how; /* it runs; or NULL */
	bool turns;                   /* one thread runs at a time, the others stand */
	unsigned turn;                /* the number of that one */
	uint64_t taken;               /* turns so far */
	double turn_cpu;              /* seconds of processor time in this one, at the last stop */
	int64_t clock;                /* nanoseconds in which nobody could do anything but sleep */
	uint64_t waits;               /* counts who began to wait */
	unsigned unsure;              /* how often it was time that let another one run */
	bool gone;
	int status; /* how it ended, as waitpid tells */
};

enum remote_stop_kind {
	REMOTE_STEPPED,
	REMOTE_BREAK,
	REMOTE_MARK,
	REMOTE_WATCHED,
	REMOTE_SIGNAL,
	REMOTE_GONE,
	REMOTE_TOLD,  /* `wake` has said so */
	REMOTE_TIRED, /* it has had the time that it was given */
	REMOTE_TURN,  /* that turn begins */
};

struct remote_stop {
	enum remote_stop_kind kind;
	unsigned number; /* of the thread */
	int signal;
	uint64_t address; /* that was watched */
	enum remote_watch_kind watch;
	bool event; /* of the recording: gdb has not asked for it */
};

/* How a process runs. */
struct remote_run {
	const struct remote_points *points; /* or NULL */
	unsigned number;                    /* of the thread that steps or is marked */
	bool step;
	bool alone;    /* the other threads stand still */
	uint64_t mark; /* an address at which that thread stops, or 0 */
	uint64_t word; /* else: four bytes; who writes them has told something */
	double cpu;    /* seconds of processor time after which all stop, or 0 */
	uint64_t turn; /* at the beginning of which all stop, or 0 */
	/* While it runs, now and then: true stops it. */
	bool (*wake)(void *context);
	void *context;
	const uint64_t *quiet; /* bits of signals that nobody is told of, or NULL */
};

/* Takes a child, which stops; or one that is traced from its birth. 0 or -errno. */
int remote_process_seize(struct remote_process *p, pid_t pid) __attribute__((warn_unused_result));
int remote_process_take(struct remote_process *p, pid_t pid) __attribute__((warn_unused_result));

/* Runs until there is something to tell. */
void remote_process_run(struct remote_process *p, const struct remote_run *how,
			struct remote_stop *stop);

/* Ends it, and waits until it is gone. */
void remote_process_kill(struct remote_process *p);

/* A waitpid that knows processes at work; true if there is a status within the time. */
bool remote_process_wait(int tid, int *status, double seconds);

struct remote_thread *remote_process_thread(const struct remote_process *p, unsigned number);
/* Does it never run again? */
static inline bool remote_process_is_out(const struct remote_thread *t)
{
	return t->wait == REMOTE_LEFT || t->wait == REMOTE_IDLE;
}
struct remote_thread *remote_process_add(struct remote_process *p, int tid, unsigned number);

/* How many bytes of them could be read or written. */
size_t remote_process_read(const struct remote_process *p, uint64_t at, void *to, size_t n);
size_t remote_process_write(const struct remote_process *p, uint64_t at, const void *from,
			    size_t n);

int remote_process_registers(const struct remote_thread *t, struct user_regs_struct *regs);
int remote_process_set_registers(const struct remote_thread *t,
				 const struct user_regs_struct *regs);

/* Seconds of processor time that it has had. */
double remote_process_cpu(const struct remote_process *p);

#endif
