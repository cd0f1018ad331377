/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When images are taken: where the time has come, and where MPI has just been opened. One child
 * writes at a time. Where no image can be taken, the front is told why, once.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/wait.h>

#include "ckpt/raw.h"
#include "hook/common/end.h"
#include "hook/common/process.h"
#include "hook/common/signal.h"
#include "hook/kit/text.h"
#include "hook/common/thread.h"
#include "hook/image/written/apart.h"
#include "hook/image/park.h"
#include "hook/image/written/written.h"
#include "hook/session/session.h"

#define AGAIN_NS 20000000ull /* until it is tried again, where it was not possible */
#define LOOKS 16             /* in an interval, whether the one before is written */
#define SELDOM 16            /* times as long as a try took, if need be */
#define CHAIN 64             /* after so many images there is one with all pages */
#define NO_ROOM "no more of them fit into --budget"
#define PLACES "at" /* S/ckpt/rank-NNNN/at: a line for each */

/* A rank of MPI can be restored where its log can serve it, and not at any time. */
#ifdef HOOK_FLAVOUR_PLAIN
#define BY_TIME true
#else
#define BY_TIME false
#endif

struct hook_image hook_image;

static struct {
	uint64_t began, every;
	uint64_t due;   /* when the next one is; UINT64_MAX: never, or one is being taken */
	uint64_t place; /* the event of the main thread at which it is; 0: any; UINT64_MAX: none */
	bool placed;    /* at certain events */
	uint64_t next;  /* where the next of these is in the file */
	uint32_t number;
	uint32_t good;    /* the last one that is whole, or 0 */
	int writer;       /* the child that writes the last one, or 0 */
	bool told;        /* why there is none */
	uint64_t left;    /* bytes that may still be written; at 0 there are no more of them */
	uint32_t keep;    /* how many of the last ones are wanted; 0: all */
	uint32_t kept;    /* the one this process began with, which stays; or 0 */
	uint32_t oldest;  /* none below is there, but for that one */
	uint32_t chain;   /* the last one that has all pages */
	uint32_t chained; /* from there on: how many there are */
	bool patient;     /* none is left out since the one before is not written yet */
	bool over;        /* there can be no more */
	uint64_t failing; /* how long it was waited after the last that could not be */
	bool unwritten;   /* the last one could not be written */
	const struct hook_thread *main;
} images = {.due = UINT64_MAX};

void hook_image_path(char *out, size_t size, const char *name)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/ckpt/rank-");
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "/");
	hook_text_add(&text, name);
}

static void give_up(const char *why)
{
	struct hook_text out = hook_text_in(hook_image.why, sizeof(hook_image.why));

	hook_text_add(&out, why);
}

/* After so many, one has all pages: those before it can go. */
static uint32_t chain_length(void)
{
	return images.keep ? images.keep : CHAIN;
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
	hook_image.base = (h->number - 1) % chain_length() == 0 ? 0 : images.good;
	h->event =
		(hook_image_has_mpi() ? images.main->replay.events : images.main->signal.calls) + 1;
	h->elapsed = hook_park.begun - images.began;
	h->stopped = hook_park.begun; /* until the child knows more */
	h->note = (uint64_t)&hook_image.note;
	h->resume = (uint64_t)hook_image_resume;
	h->rseq_bytes = __rseq_size ? 32 : 0;
	h->rseq_signature = RSEQ_SIG;
	h->action[HOOK_PARK_SIGNAL - 1] = hook_image.parking;
}

/* It stays a zombie, and comes to no handler. */
static bool main_has_left(void)
{
	char text[2048];
	const char *p =
		raw_slurp("/proc/self/stat", text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;

	return p && p[1] == ' ' && p[2] == 'Z';
}

/* All stand still: the child has the memory as it is now. */
static void take_now(void)
{
	long pid;

	hook_image.why[0] = 0;
	if (main_has_left()) {
		give_up("its main thread has ended before the others");
		images.over = true;
		return;
	}
	if (!hook_park_others()) {
		give_up("a thread of it does not come when it is asked to");
		return;
	}
	if (hook_park.slots > CKPT_MOST_THREADS) {
		give_up("it has more threads than an image can hold");
		return;
	}
	hook_image.threads = hook_park.slots;
	if (hook_image_capture()) {
		fill_head();
		hook_image_fill_positions();
		hook_image_find_written();
		pid = raw(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (pid == 0)
			hook_image_write();
		hook_image_apart_end();
		if (pid < 0)
			give_up("there can be no more processes");
		else
			images.writer = (int)pid;
	}
	if (hook_image.copies_fd >= 0)
		raw(SYS_close, hook_image.copies_fd);
	hook_image.copies_fd = -1;
}

/* True in the process that is restored from it. */
static bool take(void)
{
	images.number++;
	hook_slot->stopped = 0;
	if (hook_park_and(take_now))
		return true;
	__atomic_store_n(&hook_slot->stopped, hook_park_now() - hook_park.begun, __ATOMIC_RELEASE);
	return false;
}

/* For the front, once: why there are no images, or not as many as were wanted. */
static void tell_why(const char *why)
{
	if (images.told)
		return;
	images.told = true;
	hook_image_leave_word("refused", why);
}

/* Its size, and its path. */
static uint64_t look_at(uint32_t number, char path[1100])
{
	struct stat st = {0};

	hook_image_name(path, 1100, number, CKPT_SUFFIX);
	return raw(SYS_stat, path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/*
 * An image is written. Where only the last ones are wanted, those before the last that has all
 * pages go, as soon as there are enough without them: nothing is based on them any more.
 */
static void let_go(void)
{
	char path[1100];

	if (!hook_image.base) {
		images.chain = images.good;
		images.chained = 0;
	}
	if (++images.chained < images.keep || !images.keep || !images.chain)
		return;
	for (; images.oldest < images.chain; images.oldest++) {
		uint64_t bytes = look_at(images.oldest, path);

		if (images.oldest != images.kept && bytes && raw(SYS_unlink, path) == 0)
			images.left += images.left < UINT64_MAX - bytes ? bytes : 0;
	}
}

/* The image is written: is there room for another one? */
static void spend(void)
{
	char path[1100];
	uint64_t bytes = look_at(images.good, path);

	images.left -= bytes < images.left ? bytes : images.left;
	if (!images.left)
		tell_why(NO_ROOM);
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
	images.unwritten = rc > 0 && status;
	if (rc > 0 && !status) {
		images.failing = 0;
		images.good = hook_image.head.number;
		let_go();
		spend();
	}
	if (images.unwritten)
		tell_why(hook_image_why_not(WIFEXITED(status) ? WEXITSTATUS(status) : 0));
	return true;
}

void hook_image_finish(void)
{
	char length[24];
	struct hook_text text = hook_text_in(length, sizeof(length));

	if (!images.number || !hook_process_is_this())
		return;
	reap(true);
	hook_text_number(&text, hook_park_now() - images.began);
	if (images.every)
		hook_image_leave_word("length", length);
}

/* The next of the places behind the event that the main thread is at. */
static void find_place(void)
{
	uint64_t at = images.main->replay.events;
	char path[1100], line[24], *end;
	long fd, n;

	if (!images.placed)
		return;
	hook_image_path(path, sizeof(path), PLACES);
	fd = raw(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		tell_why("where they are wanted cannot be read");
	do {
		n = fd < 0 ? 0 : raw(SYS_pread64, fd, line, sizeof(line) - 1, images.next);
		line[n > 0 ? n : 0] = 0;
		images.place = strtoull(line, &end, 10);
		images.next += (uint64_t)(end - line);
	} while (images.place && images.place <= at);
	if (fd >= 0)
		raw(SYS_close, fd);
	if (!images.place)
		images.place = UINT64_MAX;
}

static bool is_at_place(const struct hook_thread *t)
{
	return !images.place || (t == images.main && t->replay.events >= images.place);
}

/*
 * Where there was none, twice as long as before; but no longer than from one to the next, unless
 * the process would stand still for a good part of it.
 */
static uint64_t until_again(void)
{
	uint64_t most = SELDOM * hook_slot->stopped;

	if (most < images.every)
		most = images.every;
	if (most < AGAIN_NS)
		most = AGAIN_NS;
	images.failing = images.failing ? 2 * images.failing : AGAIN_NS;
	if (images.failing > most)
		images.failing = most;
	return images.failing;
}

/* From one to the next it is `every`, but for half of that the process is left alone. */
static uint64_t when_next(uint64_t now)
{
	uint64_t next = hook_park.begun + images.every, least = now + images.every / 2;

	if (hook_image.why[0])
		return now + until_again();
	find_place();
	return images.place ? now : next > least ? next : least;
}

static uint64_t until_look(void)
{
	return images.every / LOOKS < AGAIN_NS ? images.every / LOOKS : AGAIN_NS;
}

/* At a point of the program where one may be due. */
static void at_point(struct hook_thread *t)
{
	uint64_t due, at;
	bool restored = false;

	if (!is_at_place(t))
		return;
	due = __atomic_load_n(&images.due, __ATOMIC_RELAXED);
	at = hook_park_now();
	if (at < due || t->passive || hook_process.ended ||
	    !__atomic_compare_exchange_n(&images.due, &due, UINT64_MAX, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return;
	if (!reap(images.patient)) {
		__atomic_store_n(&images.due, at + until_look(), __ATOMIC_RELEASE);
		return;
	}
	if (!images.left)
		return;
	if (images.unwritten) { /* a disk that is full is so for the next one, too */
		images.unwritten = false;
		__atomic_store_n(&images.due, at + until_again(), __ATOMIC_RELEASE);
		return;
	}
	hook_image.awaited = images.patient;
	restored = take();
	if (restored)
		return;
	if (hook_image.why[0]) {
		images.number--;
		tell_why(hook_image.why);
	}
	at = hook_park_now();
	__atomic_store_n(&images.due, images.over ? UINT64_MAX : when_next(at), __ATOMIC_RELEASE);
}

/*
 * MPI shares memory with the other ranks, and that is written by the child: so none of them moves
 * a message from the second meeting to the third.
 */
static bool all_are_quiet(void)
{
	return hook_session_is_local() && hook_session_meet(0, hook_end_progress) &&
	       hook_session_meet(1, NULL);
}

/* For tests: the first rank goes on while the others write. */
static bool all_are_done(void)
{
	if (hook_image.late && hook_process.rank == 0)
		hook_session_part();
	return hook_session_meet(HOOK_SESSION_WRITTEN, NULL);
}

/* It is written. If anybody moved messages by then, what it has of MPI's memory may be torn. */
static void keep_first(void)
{
	char number[24], path[1100];
	struct hook_text text = hook_text_in(number, sizeof(number));

	if (images.good != images.number)
		return;
	hook_text_number(&text, images.number);
	if (!hook_session_has_parted()) {
		hook_image_leave_word("init", number);
		return;
	}
	hook_image_name(path, sizeof(path), images.number, CKPT_SUFFIX);
	raw(SYS_unlink, path);
	images.good = 0;
	tell_why("another rank went on before its image was written");
}

/* If they wait in vain, they say so. */
void hook_image_let_others(void)
{
	if (!hook_process.process && all_are_quiet())
		(void)hook_session_meet(HOOK_SESSION_WRITTEN, NULL);
}

bool hook_image_take_open(void)
{
	uint64_t due;

	if (hook_process.process || !images.every)
		return false;
	if (!all_are_quiet()) {
		tell_why("not all ranks came to MPI_Init on this host");
		return false;
	}
	/* Another thread may be taking one. */
	while (__atomic_load_n(&hook_park.taker, __ATOMIC_ACQUIRE))
		raw(SYS_sched_yield);
	due = __atomic_exchange_n(&images.due, UINT64_MAX, __ATOMIC_ACQUIRE);
	reap(true);
	hook_image.awaited = true;
	if (take())
		return true;
	if (hook_image.why[0]) {
		images.number--;
		tell_why(hook_image.why);
	} else {
		reap(true);
		keep_first();
	}
	if (!all_are_done())
		tell_why("not all ranks could take an image in time");
	__atomic_store_n(&images.due, due, __ATOMIC_RELEASE);
	return false;
}

static void read_wishes(void)
{
	images.patient = hook_image_wanted("patient=");
	hook_image.no_scan = hook_image_wanted("pagemap=");
	hook_image.no_kcmp = hook_image_wanted("kcmp=");
	hook_image.late = hook_image_wanted("late=");
	hook_image.verifies = hook_image_wanted("verify=");
	hook_image.all_apart = hook_image_wanted("apart=");
	images.left = hook_image_budget();
	images.keep = (uint32_t)hook_image_wanted("keep=");
	images.oldest = 1;
}

/* Images may be wanted at certain events. */
static void read_places(void)
{
	char path[1100];
	struct stat st;

	images.place = images.next = 0;
	hook_image_path(path, sizeof(path), PLACES);
	images.placed = raw(SYS_stat, path, &st) == 0;
	find_place();
}

/* The process is one of its own, and the image it began with is there to be based on. */
void hook_image_go_on(void)
{
	uint64_t at = hook_park_now();

	images.every = hook_image_has_mpi() ? hook_image_wanted("every=") : 0;
	read_wishes();
	images.due = UINT64_MAX;
	images.good = images.kept = hook_image.head.number;
	images.chain = images.chained = 0;
	images.began = at - hook_image.head.elapsed;
	images.told = false;
	hook_image_forget_written();
	hook_signal_image = NULL;
	read_places();
	if (images.every && !images.left)
		tell_why(NO_ROOM);
	if (images.every) {
		images.due = images.place ? 0 : at + images.every;
		hook_signal_image = at_point;
	}
	hook_points = hook_signals || images.every;
}

void hook_image_start(void)
{
	images.main = hook_self;
	if (hook_process.mode == HOOK_REPLAY)
		hook_image_copy_offer();
	if (!hook_process.replay.checkpoint)
		return;
	images.began = hook_park_now();
	hook_image_note_found();
	images.every = hook_image_wanted("every=");
	read_wishes();
	if (!images.every || hook_process.process || !BY_TIME)
		return;
	images.due = images.began + images.every;
	hook_signal_image = at_point;
	hook_points = 1;
}
