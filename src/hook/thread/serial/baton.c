/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The baton. While recording, threads queue for it, and it is given to the first. An owner that
 * comes to no point may compute, and is then left alone. Or it may wait for the others in a loop of
 * its own, which must not be. A probe decides (hook/thread/serial/probe.h). An owner that waits is
 * parked where it is, in the handler of the probe, and queues as at a point; in replay it is
 * stopped in the same loop. An owner that sleeps in a call we do not know, or that runs for too
 * long and could not be probed, loses the baton to the first in the queue. The thief records such a
 * theft, and a message reports it. The robbed thread runs on beside the others until its next
 * point, in the recording and in the replay. Invariant: the thread that runs the program's code has
 * made the newest version, except for robbed threads. Where the runtime of a checked program keeps
 * all accesses in their order (hook/race/obey.c), turns are read in replay, but nobody waits for
 * them.
 */
#include "hook/thread/serial/baton.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "hook/common/signal.h"
#include "hook/kit/lock.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/session/unseen.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/race/race.h"
#include "hook/thread/sync/streams.h"
#include "hook/thread/sync/wait.h"

#define SLICE_CYCLES 400000
#define TICK_NS 20000000
#define SHORT_TICK_NS 1000000 /* if its owner has been found to wait before */
#define SLEEP_NS 60000000
#define PROBE_NS 10000000
#define RUN_NS 20000000000ull
#define RUN_LOOKS_NS 2000000000ull  /* of one that may wait to be stopped */
#define RUN_UNASKED_NS 300000000ull /* of one that cannot be asked */
#define RUN_AGAIN_NS 200000000ull   /* of one that was robbed before */
#define NAPS_OF_PATIENCE 10

struct waiter {
	struct waiter *next;
	struct hook_thread *t;
	int go;
};

bool hook_baton_on;

static struct {
	struct hook_lock locked;
	struct hook_thread *owner; /* recording: NULL if it is free */
	uint32_t version;          /* the last one made; in replay the last one given away */
	uint32_t taken;            /* replay: the last one made */
	uint64_t since;            /* when its owner got it */
	uint64_t probe_at;         /* its time of processor when it is asked what it does */
	struct waiter *first, **last;
} baton;

static const struct mode {
	void (*give)(struct hook_thread *t);
	void (*take)(struct hook_thread *t);
	bool (*park)(struct hook_thread *t, enum hook_probe what); /* false: not now */
	bool always_gives; /* at a point, also if nobody waits for it */
} recording, replaying, *mode;

void hook_baton_start(struct hook_thread *t)
{
	baton.owner = t;
	baton.last = &baton.first;
	mode = hook_process.mode == HOOK_RECORD ? &recording : &replaying;
	baton.version = mode == &recording;
	baton.taken = 1;
	t->serial.baton = 1;
	hook_baton_on = true;
}

void hook_baton_stop(void)
{
	hook_baton_on = false;
}

static void note(struct hook_thread *t, uint32_t version, uint32_t how)
{
	struct trace_sync_outcome out = {.takes = true, .code = how, .version = version};

	t->serial.baton = version;
	if (t->passive || hook_is_stopped(t))
		return;
	hook_sync_wrote(t, trace_sync_put_outcome(&t->record.sync, SYNC_BATON,
						  hook_sync_class(SYNC_BATON),
						  trace_sync_op_id(SYNC_BATON), &out));
}

/* Locked. The word to wake, if any. */
static int *hand_over(void)
{
	struct waiter *w = baton.first;

	baton.owner = w ? w->t : NULL;
	if (!w)
		return NULL;
	baton.first = w->next;
	if (!baton.first)
		baton.last = &baton.first;
	baton.since = __rdtsc();
	__atomic_store_n(&w->go, 1, __ATOMIC_RELEASE);
	return &w->go;
}

/* No handler runs meanwhile: it could want the lock, too. */
static void record_give(struct hook_thread *t)
{
	int *wake = NULL, depth = hook_depth;

	hook_depth = HOOK_CLOSED;
	hook_lock_take(&baton.locked);
	if (baton.owner == t)
		wake = hand_over();
	hook_lock_give(&baton.locked);
	hook_depth = depth;
	if (wake)
		syscall(SYS_futex, wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void leave_queue(struct waiter *w)
{
	struct waiter **p = &baton.first;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	if (!w->next)
		baton.last = p;
}

/* What its owner has done since it made the version. */
struct watch {
	uint32_t version;
	long tick_ns;       /* until the next look */
	uint64_t asleep_ns; /* in a row */
	uint64_t cpu_ns;    /* of its owner, when this began */
	bool unasked;       /* it could not be asked what it does */
};

/* In a call that something may end; not while a disk is at work for it, which nobody else ends. */
static bool is_asleep(const struct hook_thread *t)
{
	char stat[128];
	size_t n = hook_proc_of_thread(t->kernel_tid, "stat", stat, sizeof(stat));
	const char *p = memrchr(stat, ')', n);

	return p && p + 2 < stat + n && p[2] == 'S';
}

static uint64_t cpu_ns(const struct hook_thread *t)
{
	clockid_t its_clock = (clockid_t)(~(unsigned int)t->kernel_tid << 3 | 6);
	struct timespec ts = {0, 0};

	syscall(SYS_clock_gettime, its_clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Locked. A thread that waits for a processor does not count as one that comes to no point. */
static bool is_lost(struct watch *watch)
{
	struct hook_thread *owner = baton.owner;
	uint64_t now = cpu_ns(owner), ran;

	watch->tick_ns = owner->serial.parks ? SHORT_TICK_NS : TICK_NS;
	if (watch->version != baton.version) {
		*watch = (struct watch){
			.version = baton.version, .cpu_ns = now, .tick_ns = watch->tick_ns};
		baton.probe_at = owner->serial.parks ? 0 : PROBE_NS;
		return false;
	}
	watch->asleep_ns = is_asleep(owner) ? watch->asleep_ns + (uint64_t)watch->tick_ns : 0;
	ran = now - watch->cpu_ns;
	if (ran > baton.probe_at) {
		watch->unasked = !hook_probe_ask(owner);
		baton.probe_at = 2 * ran + PROBE_NS;
	}
	if (watch->asleep_ns > SLEEP_NS)
		return true;
	if (ran > SLEEP_NS)
		watch->tick_ns = TICK_NS;
	return ran > (owner->serial.robbed  ? RUN_AGAIN_NS
		      : watch->unasked      ? RUN_UNASKED_NS
		      : owner->serial.looks ? RUN_LOOKS_NS
					    : RUN_NS);
}

static void tell_theft(struct hook_thread *robbed, const struct watch *watch)
{
	static struct hook_unseen slept = {
		.key = "slept",
		.what = "the order of a thread that slept in a call that is not recorded, and then "
			"ran beside the others",
		.remedy = "the replay may differ if it shares data with them"};
	static struct hook_unseen ran = {
		.key = "robbed",
		.what = "the order of a thread that ran for long without a call, and then beside "
			"the others",
		.remedy = "the replay may differ if it shares data with them"};

	robbed->serial.robbed = watch->asleep_ns <= SLEEP_NS;
	hook_unseen(robbed->serial.robbed ? &ran : &slept);
}

/* True if the caller, first in the queue, has it now, since its owner comes to no point. */
static bool steal(struct waiter *w, struct watch *watch)
{
	bool stolen;

	watch->tick_ns = TICK_NS;
	hook_lock_take(&baton.locked);
	stolen = baton.first == w && is_lost(watch);
	if (stolen) {
		tell_theft(baton.owner, watch);
		leave_queue(w);
		baton.owner = w->t;
		baton.since = __rdtsc();
	}
	hook_lock_give(&baton.locked);
	return stolen;
}

static int wait_in_queue(struct waiter *w)
{
	struct watch watch = {.tick_ns = SHORT_TICK_NS};
	int got = TRACE_SYNC_BATON_TAKEN, error = errno;

	while (got == TRACE_SYNC_BATON_TAKEN && !__atomic_load_n(&w->go, __ATOMIC_ACQUIRE)) {
		const struct timespec tick = {0, watch.tick_ns};

		if (syscall(SYS_futex, &w->go, FUTEX_WAIT_PRIVATE, 0, &tick, NULL, 0) == 0)
			continue;
		if (!__atomic_load_n(&w->go, __ATOMIC_ACQUIRE) && steal(w, &watch))
			got = TRACE_SYNC_BATON_STOLEN;
	}
	errno = error;
	return got;
}

/* Locked; unlocks. */
static int queue(struct hook_thread *t)
{
	struct waiter w = {.t = t};

	*baton.last = &w;
	baton.last = &w.next;
	hook_lock_give(&baton.locked);
	return wait_in_queue(&w);
}

/* How it got it, or `otherwise` if it just did. */
static void record_take(struct hook_thread *t, uint32_t otherwise)
{
	int how = TRACE_SYNC_BATON_TAKEN, depth = hook_depth;
	uint32_t version;

	hook_depth = HOOK_CLOSED;
	hook_lock_take(&baton.locked);
	if (!baton.owner) {
		baton.owner = t;
		baton.since = __rdtsc();
	}
	if (baton.owner != t) {
		how = queue(t);
		hook_lock_take(&baton.locked);
	}
	version = ++baton.version;
	hook_lock_give(&baton.locked);
	note(t, version, how ? (uint32_t)how : otherwise);
	hook_depth = depth;
}

static void record_next(struct hook_thread *t)
{
	record_take(t, TRACE_SYNC_BATON_TAKEN);
}

static bool record_park(struct hook_thread *t, enum hook_probe what)
{
	static struct hook_unseen counting = {
		.key = "counts",
		.what = "how often a thread polled, in a loop that counts",
		.quiet = true};

	if (what == HOOK_PROBE_COUNTS)
		hook_unseen(&counting);
	record_give(t);
	record_take(t, TRACE_SYNC_BATON_PARKED + (t->serial.parks & 1));
	t->serial.parks++;
	return true;
}

static const struct mode recording = {record_give, record_next, record_park, false};

void hook_baton_answer(struct hook_thread *t, enum hook_probe what)
{
	t->serial.looks = what == HOOK_PROBE_LOOKS;
	if (what <= HOOK_PROBE_LOOKS || t->passive || !hook_baton_has(t) || !mode->park(t, what))
		return;
	/* Signals that came meanwhile: the loop may wait for their handler. */
	if (hook_signals)
		hook_signal_run(t, HOOK_SIGNAL_AFTER);
}

bool hook_baton_has(const struct hook_thread *t)
{
	return __atomic_load_n(&baton.owner, __ATOMIC_RELAXED) == t;
}

bool hook_baton_is_due(void)
{
	return __atomic_load_n(&baton.first, __ATOMIC_RELAXED) &&
	       __rdtsc() - baton.since > SLICE_CYCLES;
}

static void take_turn(struct hook_thread *t);

/* Nobody is parked: what it waited for in a loop has come by itself. */
static void run_on(struct hook_thread *t)
{
	hook_race_passed();
	while (!t->passive && hook_baton_parks_next(t))
		take_turn(t);
}

/* A version that a thief has overtaken is of no use to anybody. */
static void replay_give(struct hook_thread *t)
{
	if (hook_race_obeys) {
		run_on(t);
		return;
	}
	hook_lock_take(&baton.locked);
	if ((int32_t)(t->serial.baton - baton.version) > 0)
		hook_sync_pass(&baton.version, t->serial.baton);
	if (baton.owner == t)
		baton.owner = NULL;
	hook_lock_give(&baton.locked);
}

/* The one before may never give it away: then it has run for so long, too. */
static void await_theft(struct hook_thread *t, uint32_t version)
{
	int naps = 0;

	while (naps < NAPS_OF_PATIENCE &&
	       (int32_t)(__atomic_load_n(&baton.version, __ATOMIC_ACQUIRE) - version) < -1) {
		t->wait.state = HOOK_THREAD_WAITS;
		hook_sync_nap(t);
		if (__atomic_load_n(&baton.taken, __ATOMIC_ACQUIRE) == version - 1)
			naps++;
	}
	t->wait.state = HOOK_THREAD_RUNS;
}

static void await_turn(struct hook_thread *t, const struct trace_sync_outcome *out)
{
	t->serial.turns = true;
	if (out->code == TRACE_SYNC_BATON_STOLEN)
		await_theft(t, out->version);
	else
		hook_sync_await(t, &baton.version, out->version - 1);
	t->serial.turns = false;
	hook_lock_take(&baton.locked);
	baton.taken = out->version;
	baton.owner = t;
	hook_lock_give(&baton.locked);
}

static void take_turn(struct hook_thread *t)
{
	struct hook_sync_call c = {.op = SYNC_BATON, .site = t->mpi.site};
	uint64_t id = trace_sync_op_id(SYNC_BATON);
	struct trace_sync_outcome out;

	/* What follows its step has an order by the baton, which others may have to have first. */
	hook_sync_let_go(t);
	hook_sync_expect(t, &c, id, &out);
	if (!hook_race_obeys)
		await_turn(t, &out);
	t->serial.baton = out.version;
	hook_sync_done(t, &c, id, &out);
}

void hook_baton_park(struct hook_thread *t)
{
	replay_give(t);
	if (!hook_race_obeys)
		take_turn(t);
}

/* Only if that is what it did next: it may be on its way to a point. */
static bool replay_park(struct hook_thread *t, enum hook_probe what)
{
	(void)what;
	if (!hook_baton_may_park(t))
		return false;
	hook_baton_park(t);
	return true;
}

/* In a loop that counts it may have come to an end by itself. */
static void replay_take(struct hook_thread *t)
{
	while (hook_baton_parks_next(t)) {
		take_turn(t);
		replay_give(t);
	}
	take_turn(t);
}

static const struct mode replaying = {replay_give, replay_take, replay_park, true};

/* Whoever has the turn before may wait in a loop for what comes after it. */
bool hook_baton_hurry(uint32_t turn)
{
	int depth = hook_depth;
	bool parks;

	hook_depth = HOOK_CLOSED;
	hook_lock_take(&baton.locked);
	parks = baton.owner && baton.taken == turn && (int32_t)(baton.version - turn) < 0 &&
		hook_baton_may_park(baton.owner);
	if (parks)
		hook_probe_ask(baton.owner);
	hook_lock_give(&baton.locked);
	hook_depth = depth;
	return parks;
}

void hook_baton_give(struct hook_thread *t)
{
	mode->give(t);
}

void hook_baton_take(struct hook_thread *t)
{
	if (!t->passive)
		mode->take(t);
}

void hook_baton_offer(struct hook_thread *t)
{
	if (t->serial.whole || hook_runtime_loads(t->tid))
		return;
	if (mode->always_gives || hook_baton_is_due())
		hook_baton_give(t);
	hook_baton_take(t);
}
