/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When images are taken, and how all threads are made to stand still. The signal is the one by
 * which libc changes user ids in all threads: no program can block it. Ours are told from libc's by
 * what they carry. Invariant: a thread gets it once for an image; who does not come in time is not
 * waited for, and then there is no image.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include <asm/prctl.h>

#include "ckpt/raw.h"
#include "hook/common/end.h"
#include "hook/common/process.h"
#include "hook/common/signal.h"
#include "hook/kit/text.h"
#include "hook/common/thread.h"
#include "hook/image/image.h"
#include "hook/session/session.h"

#define SIGNAL 33
#define PATIENCE_NS 500000000ull
#define AGAIN_NS 20000000ull /* until it is tried again, where it was not possible */
#define CHAIN 64             /* after so many images there is one with all pages */
#define SECOND_NS 1000000000ull

/* A rank of MPI can be restored where its log can serve it, and not at any time. */
#ifdef HOOK_FLAVOUR_PLAIN
#define BY_TIME true
#else
#define BY_TIME false
#endif

struct hook_image hook_image;

static struct {
	uint64_t began, every;
	uint64_t due; /* when the next one is; UINT64_MAX: never, or one is being taken */
	uint32_t number;
	uint32_t good; /* the last one that is whole, or 0 */
	int writer;    /* the child that writes the last one, or 0 */
	bool told;     /* why there is none */
	const struct hook_thread *main;
} images = {.due = UINT64_MAX};

static struct {
	int taker; /* kernel's number of the thread; 0: nobody takes one */
	bool taken;
	uint64_t begun;
	uint32_t slots; /* given to threads */
	int parked;     /* threads that have come; a futex */
	int released;   /* how often; a futex */
	int sent[CKPT_MOST_THREADS];
	uint32_t sents;
	const struct hook_thread *who[CKPT_MOST_THREADS]; /* by slot; NULL: none of the program's */
} park;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

void hook_image_path(char *out, size_t size, const char *name)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/ckpt/rank-");
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "/");
	hook_text_add(&text, name);
}

/* What the kernel knows of the calling thread; its number comes last, and says that it is there. */
static void note_thread(struct ckpt_thread *t, const ucontext_t *context, int tid)
{
	t->frame = (uint64_t)context;
	t->fs = t->gs = 0;
	raw(SYS_arch_prctl, ARCH_GET_FS, &t->fs);
	raw(SYS_arch_prctl, ARCH_GET_GS, &t->gs);
	raw(SYS_prctl, PR_GET_TID_ADDRESS, &t->tid_address);
	raw(SYS_get_robust_list, 0, &t->robust, &t->robust_bytes);
	t->rseq = __rseq_size ? t->fs + (uint64_t)__rseq_offset : 0;
	t->flags = (tid == hook_process.pid ? CKPT_THREAD_MAIN : 0) |
		   (tid == park.taker ? CKPT_THREAD_TAKER : 0);
	__atomic_store_n(&t->tid, tid, __ATOMIC_RELEASE);
}

static bool has_come(int tid)
{
	uint32_t n = __atomic_load_n(&park.slots, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < CKPT_MOST_THREADS; i++) {
		if (__atomic_load_n(&hook_image.thread[i].tid, __ATOMIC_ACQUIRE) == tid)
			return true;
	}
	return false;
}

static bool was_sent(int tid)
{
	for (uint32_t i = 0; i < park.sents; i++) {
		if (park.sent[i] == tid)
			return true;
	}
	return false;
}

static void send_to(int tid)
{
	siginfo_t info = {.si_signo = SIGNAL, .si_code = SI_QUEUE};

	info.si_pid = hook_process.pid;
	info.si_value.sival_ptr = &park;
	park.sent[park.sents++] = tid;
	raw(SYS_rt_tgsigqueueinfo, hook_process.pid, tid, SIGNAL, &info);
}

struct task {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* Sends to those that are new; how many have not come. */
static uint32_t look_at_tasks(void)
{
	char buffer[2048];
	long dir = raw(SYS_open, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), n;
	uint32_t missing = dir < 0;

	while (dir >= 0 && (n = raw(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < n;) {
			struct task *e = (struct task *)(buffer + at);
			char *p = e->name;
			int tid = (int)raw_decimal(&p);

			at += e->bytes;
			if (p == e->name || tid == park.taker || has_come(tid))
				continue;
			missing++;
			if (!was_sent(tid) && park.sents < CKPT_MOST_THREADS)
				send_to(tid);
		}
	}
	if (dir >= 0)
		raw(SYS_close, dir);
	return missing;
}

static bool park_others(void)
{
	uint64_t until = park.begun + PATIENCE_NS;

	while (look_at_tasks()) {
		struct timespec tick = {0, 100000};
		int parked = __atomic_load_n(&park.parked, __ATOMIC_ACQUIRE);

		if (now() > until)
			return false;
		raw(SYS_futex, &park.parked, FUTEX_WAIT_PRIVATE, parked, &tick, NULL, 0);
	}
	return true;
}

static void give_up(const char *why)
{
	struct hook_text out = hook_text_in(hook_image.why, sizeof(hook_image.why));

	hook_text_add(&out, why);
}

/* Where the threads of the program are; those that are not its own have no name. */
static void fill_positions(void)
{
	for (uint32_t i = 0; i < hook_image.threads; i++) {
		const struct hook_thread *t = park.who[i];

		hook_image.thread[i].event = t ? t->replay.events + 1 : 0;
		hook_image.thread[i].name = t ? hook_image_text(t->name) : 0;
	}
}

static void fill_head(void)
{
	struct ckpt_head *h = &hook_image.head;

	memcpy(h->magic, CKPT_MAGIC, sizeof(h->magic));
	h->version = CKPT_VERSION;
	h->head_bytes = sizeof(*h);
	h->rank = hook_process.rank;
	h->process = hook_process.process;
	h->number = images.number;
	h->pid = hook_process.pid;
	hook_image.base = h->number % CHAIN == 1 ? 0 : images.good;
	h->event =
		(hook_process.mpi_open ? images.main->replay.events : images.main->signal.calls) +
		1;
	h->elapsed = park.begun - images.began;
	h->stopped = park.begun; /* until the child knows more */
	h->note = (uint64_t)&hook_image.note;
	h->resume = (uint64_t)hook_image_resume;
	h->rseq_bytes = __rseq_size ? 32 : 0;
	h->rseq_signature = RSEQ_SIG;
	h->action[SIGNAL - 1] = hook_image.parking;
}

/* All stand still: the child has the memory as it is now. */
static void take_now(void)
{
	long pid;

	hook_image.why[0] = 0;
	if (!park_others()) {
		give_up("a thread of it does not come when it is asked to");
		return;
	}
	if (park.slots > CKPT_MOST_THREADS) {
		give_up("it has more threads than an image can hold");
		return;
	}
	hook_image.threads = park.slots;
	if (hook_image_capture()) {
		fill_head();
		fill_positions();
		pid = raw(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (pid == 0)
			hook_image_write();
		if (pid < 0)
			give_up("there can be no more processes");
		else
			images.writer = (int)pid;
	}
	if (hook_image.copies_fd >= 0)
		raw(SYS_close, hook_image.copies_fd);
	hook_image.copies_fd = -1;
}

static void on_park(int sig, siginfo_t *info, void *context)
{
	int tid = (int)raw(SYS_gettid), released;
	uint32_t i;

	if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != &park) {
		void (*before)(int, siginfo_t *, void *) =
			(void (*)(int, siginfo_t *, void *))hook_image.parking.handler;

		if ((uint64_t)before > 1)
			before(sig, info, context);
		return;
	}
	if (!__atomic_load_n(&park.taker, __ATOMIC_ACQUIRE))
		return; /* it came too late */
	released = __atomic_load_n(&park.released, __ATOMIC_ACQUIRE);
	i = __atomic_fetch_add(&park.slots, 1, __ATOMIC_ACQ_REL);
	if (i < CKPT_MOST_THREADS) {
		park.who[i] = hook_self;
		note_thread(&hook_image.thread[i], context, tid);
	}
	if (tid == park.taker) {
		take_now();
		park.taken = true;
		return;
	}
	__atomic_add_fetch(&park.parked, 1, __ATOMIC_ACQ_REL);
	raw(SYS_futex, &park.parked, FUTEX_WAKE_PRIVATE, 1);
	while (__atomic_load_n(&park.released, __ATOMIC_ACQUIRE) == released)
		raw(SYS_futex, &park.released, FUTEX_WAIT_PRIVATE, released, NULL, NULL, 0);
}

static void release(void)
{
	__atomic_store_n(&park.taker, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&park.released, 1, __ATOMIC_ACQ_REL);
	raw(SYS_futex, &park.released, FUTEX_WAKE_PRIVATE, CKPT_MOST_THREADS);
}

static void set_handler(struct ckpt_action *before)
{
	struct ckpt_action ours = {
		.handler = (uint64_t)on_park,
		.flags = SA_SIGINFO | SA_RESTART | 0x04000000 /* SA_RESTORER */,
		.restorer = (uint64_t)hook_image_return,
		.mask = UINT64_MAX,
	};

	raw(SYS_rt_sigaction, SIGNAL, &ours, before, 8);
}

bool hook_image_take(struct hook_thread *t)
{
	uint64_t unblock = 1ull << (SIGNAL - 1), mask;
	int error = errno;

	(void)t;
	hook_image.note.restored = 0;
	images.number++;
	park.slots = 0;
	park.parked = 0;
	park.sents = 0;
	park.taken = false;
	park.begun = now();
	for (int i = 0; i < CKPT_MOST_THREADS && hook_image.thread[i].tid; i++)
		hook_image.thread[i].tid = 0;
	set_handler(&hook_image.parking);
	__atomic_store_n(&park.taker, (int)raw(SYS_gettid), __ATOMIC_RELEASE);
	raw(SYS_rt_sigprocmask, SIG_UNBLOCK, &unblock, &mask, 8);
	send_to(park.taker);
	raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	if (!hook_image.note.restored) {
		release();
		if (hook_image.parking.handler || !park.sents)
			raw(SYS_rt_sigaction, SIGNAL, &hook_image.parking, NULL, 8);
	}
	errno = error;
	return hook_image.note.restored;
}

static void leave_word(const char *name, const char *text)
{
	char path[1100];
	long fd;

	hook_image_path(path, sizeof(path), name);
	fd = raw(SYS_open, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	raw(SYS_write, fd, text, strlen(text));
	raw(SYS_close, fd);
}

/* For the front, once: why there are no images, or not as many as were wanted. */
static void tell_why(const char *why)
{
	if (images.told)
		return;
	images.told = true;
	leave_word("refused", why);
}

/* What the child ended with. */
static const char *why_not(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "the disk is full";
	case ENOENT:
		return "a file is mapped that has no name any more";
	case EXDEV:
		return "it has memory that is shared (MAP_SHARED)";
	case ENOMEM:
		return "there is not enough memory";
	default:
		return "its image could not be written";
	}
}

/* True if no child is at work any more. */
static bool reap(bool wait)
{
	int status = 0;
	long rc;

	if (!images.writer)
		return true;
	do
		rc = raw(SYS_wait4, images.writer, &status, __WCLONE | (wait ? 0 : WNOHANG), NULL);
	while (rc == -EINTR);
	if (rc == 0)
		return false;
	images.writer = 0;
	if (rc > 0 && !status)
		images.good = hook_image.head.number;
	if (rc > 0 && status)
		tell_why(why_not(WIFEXITED(status) ? WEXITSTATUS(status) : 0));
	return true;
}

void hook_image_finish(void)
{
	if (images.writer && hook_process_is_this())
		reap(true);
}

/* At a point of the program where one may be due. */
static void at_point(struct hook_thread *t)
{
	uint64_t due = __atomic_load_n(&images.due, __ATOMIC_RELAXED), at = now();
	bool restored = false;

	if (at < due || t->passive || hook_process.ended ||
	    !__atomic_compare_exchange_n(&images.due, &due, UINT64_MAX, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	if (!reap(false)) {
		__atomic_store_n(&images.due, at + AGAIN_NS, __ATOMIC_RELEASE);
		return;
	}
	restored = hook_image_take(t);
	if (restored)
		return;
	if (hook_image.why[0]) {
		images.number--;
		tell_why(hook_image.why);
	}
	at = now();
	__atomic_store_n(&images.due, at + (hook_image.why[0] ? AGAIN_NS : images.every),
			 __ATOMIC_RELEASE);
}

/*
 * MPI shares memory with the other ranks, and that is written by the child: so none of them moves
 * a message from the second meeting to the third.
 */
bool hook_image_take_open(struct hook_thread *t)
{
	char number[24];
	struct hook_text text = hook_text_in(number, sizeof(number));
	uint64_t due;

	if (hook_process.process || !images.every)
		return false;
	if (!hook_session_is_local() || !hook_session_meet(0, hook_end_progress) ||
	    !hook_session_meet(1, NULL)) {
		tell_why("not all ranks came to MPI_Init on this host");
		return false;
	}
	/* Another thread may be taking one. */
	while (__atomic_load_n(&park.taker, __ATOMIC_ACQUIRE))
		raw(SYS_sched_yield);
	due = __atomic_exchange_n(&images.due, UINT64_MAX, __ATOMIC_ACQUIRE);
	reap(true);
	if (hook_image_take(t))
		return true;
	if (hook_image.why[0]) {
		images.number--;
		tell_why(hook_image.why);
	} else {
		hook_text_number(&text, images.number);
		leave_word("init", number);
	}
	reap(true);
	if (!hook_session_meet(2, NULL))
		tell_why("not all ranks could take an image in time");
	__atomic_store_n(&images.due, due, __ATOMIC_RELEASE);
	return false;
}

/* S/checkpoint: lines "key=value". */
static uint64_t wanted(const char *key)
{
	char path[1100], text[512];
	struct hook_text out = hook_text_in(path, sizeof(path));
	const char *p;

	hook_text_add(&out, hook_process.session);
	hook_text_add(&out, "/checkpoint");
	if (raw_slurp(path, text, sizeof(text)) <= 0)
		return 0;
	p = strstr(text, key);
	return p && (p == text || p[-1] == '\n') ? strtoull(p + strlen(key), NULL, 10) : 0;
}

/* The process is one of its own, and the image it began with is there to be based on. */
void hook_image_go_on(void)
{
	uint64_t at = now();

	images.every = hook_process.mpi_open ? wanted("every=") : 0;
	images.due = UINT64_MAX;
	images.good = hook_image.head.number;
	images.began = at - hook_image.head.elapsed;
	images.told = false;
	hook_signal_image = NULL;
	if (images.every) {
		images.due = at + images.every;
		hook_signal_image = at_point;
	}
	hook_points = hook_signals || images.every;
}

void hook_image_start(void)
{
	images.main = hook_self;
	if (!hook_process.replay.checkpoint)
		return;
	images.began = now();
	hook_image_note_found();
	images.every = wanted("every=");
	if (!images.every || hook_process.process || !BY_TIME)
		return;
	images.due = images.began + images.every;
	hook_signal_image = at_point;
	hook_points = 1;
}
