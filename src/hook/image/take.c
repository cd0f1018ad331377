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
#include "hook/image/park.h"
#include "hook/session/session.h"

#define AGAIN_NS 20000000ull /* until it is tried again, where it was not possible */
#define CHAIN 64             /* after so many images there is one with all pages */
#define PLACES_BYTES 32768   /* of S/ckpt/rank-NNNN/at */

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
	char *places;   /* the events to come, as text */
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

/* Where the threads of the program are; those that are not its own have no name. */
static void fill_positions(void)
{
	for (uint32_t i = 0; i < hook_image.threads; i++) {
		const struct hook_thread *t = hook_park.who[i];

		hook_image.thread[i].event = t ? t->replay.events + 1 : 0;
		hook_image.thread[i].children = t ? t->children : 0;
		hook_image.thread[i].name = t ? hook_image_text(t->name) : 0;
	}
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

/* True in the process that is restored from it. */
static bool take(void)
{
	images.number++;
	return hook_park_and(take_now);
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
	case ECHILD:
		return "it has memory that a child does not get (MADV_DONTFORK, MADV_WIPEONFORK)";
	case ENOMEM:
		return "there is not enough memory";
	default:
		return "its image could not be written";
	}
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
		tell_why("no more of them fit into --budget");
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
	if (rc > 0 && !status) {
		images.good = hook_image.head.number;
		let_go();
		spend();
	}
	if (rc > 0 && status)
		tell_why(why_not(WIFEXITED(status) ? WEXITSTATUS(status) : 0));
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
		leave_word("length", length);
}

/* The next of the places behind the event that the main thread is at. */
static void find_place(void)
{
	uint64_t at = images.main->replay.events;

	if (!images.places)
		return;
	do {
		images.place = strtoull(images.places, &images.places, 10);
	} while (images.place && images.place <= at);
	if (!images.place)
		images.place = UINT64_MAX;
}

static bool is_at_place(const struct hook_thread *t)
{
	return !images.place || (t == images.main && t->replay.events >= images.place);
}

/* Until the next one; where there was none, twice as long as before. */
static uint64_t until_next(void)
{
	if (!hook_image.why[0]) {
		images.failing = 0;
		find_place();
		return images.place ? 0 : images.every;
	}
	images.failing = images.failing ? 2 * images.failing : AGAIN_NS;
	return images.failing;
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
		__atomic_store_n(&images.due, at + AGAIN_NS, __ATOMIC_RELEASE);
		return;
	}
	if (!images.left)
		return;
	restored = take();
	if (restored)
		return;
	if (hook_image.why[0]) {
		images.number--;
		tell_why(hook_image.why);
	}
	at = hook_park_now();
	__atomic_store_n(&images.due, images.over ? UINT64_MAX : at + until_next(),
			 __ATOMIC_RELEASE);
}

/*
 * MPI shares memory with the other ranks, and that is written by the child: so none of them moves
 * a message from the second meeting to the third.
 */
bool hook_image_take_open(void)
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
	while (__atomic_load_n(&hook_park.taker, __ATOMIC_ACQUIRE))
		raw(SYS_sched_yield);
	due = __atomic_exchange_n(&images.due, UINT64_MAX, __ATOMIC_ACQUIRE);
	reap(true);
	if (take())
		return true;
	if (hook_image.why[0]) {
		images.number--;
		tell_why(hook_image.why);
	} else {
		reap(true);
		hook_text_number(&text, images.number);
		if (images.good == images.number)
			leave_word("init", number);
	}
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

static void read_wishes(void)
{
	images.patient = wanted("patient=");
	images.left = wanted("budget=");
	images.keep = (uint32_t)wanted("keep=");
	images.oldest = 1;
}

/* Images may be wanted at certain events. */
static void read_places(void)
{
	static char text[PLACES_BYTES];
	char path[1100];

	images.place = 0;
	images.places = NULL;
	hook_image_path(path, sizeof(path), "at");
	if (raw_slurp(path, text, sizeof(text)) < 0)
		return;
	images.places = text;
	find_place();
}

/* The process is one of its own, and the image it began with is there to be based on. */
void hook_image_go_on(void)
{
	uint64_t at = hook_park_now();

	images.every = hook_image_has_mpi() ? wanted("every=") : 0;
	read_wishes();
	images.due = UINT64_MAX;
	images.good = images.kept = hook_image.head.number;
	images.chain = images.chained = 0;
	images.began = at - hook_image.head.elapsed;
	images.told = false;
	hook_signal_image = NULL;
	read_places();
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
	images.every = wanted("every=");
	read_wishes();
	if (!images.every || hook_process.process || !BY_TIME)
		return;
	images.due = images.began + images.every;
	hook_signal_image = at_point;
	hook_points = 1;
}
