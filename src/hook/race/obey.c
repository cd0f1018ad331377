/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads run side by side, and use memory in the order that was kept (trace/memory.h). A thread
 * counts what it does, and before some of it waits until another one has done something. Invariant:
 * `done` is the number up to which a thread has done everything. Its code tells of an access before
 * it makes it, and of several if one statement or function makes them. So an access is done when
 * the thread has told of so many more, calls something that may wait, or comes to where others ran
 * when the order was found. A processor of this kind makes stores visible in their order, and no
 * load after a later store, so a plain store says so.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "hook/race/runtime.h"
#include "race/inner.h"
#include "race/sys.h"
#include "trace/memory.h"

#define PLACE ((115ul << 40) + (1ul << 37))
#define TOGETHER 4 /* accesses, told of before the first of them is made */
#define SPINS 200
#define YIELDS 100
#define NAP_NS 50000
#define NAP_MOST_NS 1000000
#define SILENCE_NS 20000000000ull /* nobody does anything, and nobody computes either */

/* One for each thread of the file, in its order. */
struct obeyer {
	struct race_thread thread; /* first: it is one */
	uint32_t now, done;
	uint32_t due;  /* it has to look what comes next from this number on */
	uint32_t told; /* number of the last access or operation */
	const struct trace_memory_wait *wait, *end;
	const struct trace_memory_thread *kept;
} __attribute__((aligned(64)));

bool runtime_obeys;

static const struct trace_memory *file;
static struct obeyer *obeyers;
static const struct hook_race_frames *hooks;

static struct obeyer *of(struct race_thread *t)
{
	return (struct obeyer *)t;
}

static uint64_t now_ns(int clock)
{
	struct timespec ts = {0, 0};

	rp_raw_call(SYS_clock_gettime, clock, (long)&ts, 0, 0, 0, 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static char *put_number(char *out, uint64_t value, unsigned base)
{
	char digits[24], *p = digits + sizeof(digits);

	do
		*--p = "0123456789abcdef"[value % base];
	while (value /= base);
	memcpy(out, p, (size_t)(digits + sizeof(digits) - p));
	return out + (digits + sizeof(digits) - p);
}

static char *put(char *out, const char *text)
{
	size_t n = strlen(text);

	memcpy(out, text, n);
	return out + n;
}

/* "access N, of address X" */
static void describe(char *out, uint32_t number, uintptr_t address)
{
	out = put(out, "access ");
	out = put_number(out, number, 10);
	out = put(out, ", of address 0x");
	out = put_number(out, address, 16);
	*out = '\0';
}

static void differs(const char *expected, const char *found)
{
	if (hooks && hooks->diverged)
		hooks->diverged(expected, found);
}

/* --- waiting --- */

/* What would change if anything did. */
struct silence {
	uint64_t since, cpu, done;
};

static uint64_t done_by_all(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < file->threads; i++)
		sum += __atomic_load_n(&obeyers[i].now, __ATOMIC_RELAXED);
	return sum;
}

/* Nothing happens for so long only if the run is another one: all wait for each other. */
static bool is_silent(struct silence *s)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t done = done_by_all();

	if (!s->since || done != s->done || cpu - s->cpu > (now - s->since) / 4) {
		*s = (struct silence){now, cpu, done};
		return false;
	}
	return now - s->since > SILENCE_NS;
}

static bool is_done(const struct obeyer *other, uint32_t until)
{
	return __atomic_load_n(&other->done, __ATOMIC_ACQUIRE) >= until;
}

static void nap(long ns)
{
	const struct timespec ts = {0, ns};

	rp_raw_call(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

static void await(const struct obeyer *other, uint32_t until)
{
	struct silence silence = {0};
	long ns = NAP_NS;

	for (int i = 0; i < SPINS; i++) {
		if (is_done(other, until))
			return;
		__builtin_ia32_pause();
	}
	for (int i = 0; i < YIELDS; i++) {
		if (is_done(other, until))
			return;
		race_sys_yield();
	}
	while (!is_done(other, until)) {
		nap(ns);
		ns = 2 * ns < NAP_MOST_NS ? 2 * ns : NAP_MOST_NS;
		if (ns == NAP_MOST_NS && is_silent(&silence))
			differs("what it waits for in another thread", "nothing");
	}
}

/* The recorded run ended while this thread was here. */
static void stay(void)
{
	struct silence silence = {0};

	if (hooks && hooks->polls)
		hooks->polls(UINT64_MAX);
	for (;;) {
		nap(NAP_MOST_NS);
		if (is_silent(&silence))
			differs("the end of the run", "nothing");
	}
}

/* --- what a thread does --- */

static void foresee(struct obeyer *o)
{
	o->due = o->wait < o->end ? o->wait->number : o->kept->last + 1;
}

static bool others_ran(const struct obeyer *o)
{
	const struct trace_memory_wait *w = o->wait;

	while (w < o->end && w->number == o->now && &obeyers[w->thread] != o)
		w++;
	return w < o->end && w->number == o->now;
}

static __attribute__((noinline)) void look(struct obeyer *o, uintptr_t address)
{
	char expected[64], found[64];

	describe(found, o->now, address);
	if (o->now > o->kept->last && o->kept->ended)
		differs("the end of the thread", found);
	if (o->now > o->kept->last)
		stay();
	if (others_ran(o))
		__atomic_store_n(&o->done, o->now - 1, __ATOMIC_RELEASE);
	for (; o->wait < o->end && o->wait->number <= o->now; o->wait++) {
		describe(expected, o->wait->number, o->wait->address);
		if (o->wait->number != o->now || o->wait->address != address)
			differs(expected, found);
		if (&obeyers[o->wait->thread] != o)
			await(&obeyers[o->wait->thread], o->wait->until);
	}
	foresee(o);
}

static void publish(struct obeyer *o)
{
	__atomic_store_n(&o->done, o->now, __ATOMIC_RELEASE);
}

static void step(struct obeyer *o, uintptr_t address)
{
	__atomic_store_n(&o->now, o->now + 1, __ATOMIC_RELAXED);
	o->told = o->now;
	if (__builtin_expect(o->now >= o->due, 0))
		look(o, address);
}

static void touched(struct race_thread *t, uintptr_t address, size_t n, bool write,
		    const void *site)
{
	struct obeyer *o = of(t);

	(void)n;
	(void)write;
	(void)site;
	if ((int32_t)(o->now - o->done) >= TOGETHER)
		__atomic_store_n(&o->done, o->now + 1 - TOGETHER, __ATOMIC_RELEASE);
	step(o, address);
}

void runtime_obey_sync(const void *object, bool releases)
{
	struct obeyer *o = of(runtime_self);

	publish(o);
	step(o, (uintptr_t)object);
	if (releases)
		__atomic_store_n(&o->now, o->now + 1, __ATOMIC_RELAXED);
	publish(o);
}

void runtime_obey_turn(unsigned n)
{
	struct obeyer *o = of(runtime_self);

	if (!o->thread.live)
		return;
	publish(o);
	for (const struct trace_memory_wait *w = o->wait; w < o->end && w->number <= o->now + n;
	     w++) {
		if (&obeyers[w->thread] != o)
			await(&obeyers[w->thread], w->until);
	}
}

void runtime_obey_passed(void)
{
	if (runtime_self->live)
		publish(of(runtime_self));
}

/* --- threads --- */

static struct race_thread *find(const char *name)
{
	size_t n = strlen(name) + 1;

	for (uint32_t i = 0; i < file->threads && n <= TRACE_NAME_BYTES; i++) {
		if (memcmp(obeyers[i].kept->name, name, n) == 0)
			return &obeyers[i].thread;
	}
	return NULL;
}

struct race_thread *runtime_obey_first(void)
{
	struct race_thread *t = find("0");

	if (!t)
		differs("threads that use memory", "others");
	return t;
}

struct race_thread *runtime_obey_fork(const char *name)
{
	struct race_thread *t = find(name);
	struct obeyer *o = of(runtime_self);

	if (!t)
		differs("another thread", "one that was not there");
	__atomic_store_n(&o->now, o->now + 1, __ATOMIC_RELAXED);
	publish(o);
	return t;
}

void runtime_obey_end(void)
{
	struct obeyer *o = of(runtime_self);
	char expected[64];

	publish(o);
	if (o->told == o->kept->last)
		return;
	describe(expected, o->told + 1, 0);
	differs(expected, "the end of the thread");
}

/* --- the file --- */

static bool map(int dir, const char *name)
{
	long fd = rp_raw_call(SYS_openat, dir, (long)name, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long at = -1;
	struct stat st;

	if (fd < 0)
		return false;
	if (rp_raw_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) == 0 &&
	    (size_t)st.st_size >= sizeof(*file))
		at = rp_raw_call(SYS_mmap, (long)PLACE, st.st_size, PROT_READ,
				 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
	rp_raw_call(SYS_close, fd, 0, 0, 0, 0, 0);
	if (at < 0)
		return false;
	file = (const struct trace_memory *)at;
	return file->magic == TRACE_MEMORY_MAGIC && file->version == TRACE_MEMORY_VERSION &&
	       file->threads && trace_memory_bytes(file) == (uint64_t)st.st_size;
}

/* What is wrong in a file the front has looked for before: here only what would lead astray. */
static bool fill(struct obeyer *o, const struct trace_memory_thread *kept,
		 const struct trace_memory_wait *waits)
{
	if (kept->first > file->waits || kept->waits > file->waits - kept->first)
		return false;
	o->kept = kept;
	o->wait = waits + kept->first;
	o->end = o->wait + kept->waits;
	for (const struct trace_memory_wait *w = o->wait; w < o->end; w++) {
		if (w->thread >= file->threads)
			return false;
	}
	o->thread.quick = (struct race_quick)RACE_QUICK_CLOSED;
	o->thread.live = true;
	foresee(o);
	return true;
}

bool runtime_obey_open(int dir, const char *name, const struct hook_race_frames *frames)
{
	const struct trace_memory_thread *kept;
	const struct trace_memory_wait *waits;

	if (!map(dir, name))
		return false;
	kept = (const void *)(file + 1);
	waits = (const void *)(kept + file->threads);
	obeyers = race_arena_alloc(file->threads * sizeof(*obeyers));
	for (uint32_t i = 0; obeyers && i < file->threads; i++) {
		if (!fill(&obeyers[i], &kept[i], waits))
			return false;
	}
	hooks = frames;
	runtime_obeys = obeyers != NULL;
	if (runtime_obeys)
		race_tell_all(touched);
	return runtime_obeys;
}
