/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RecPlay's ROLT, for comparison: a library to preload that records to the directory ROLT_TO or
 * replays from ROLT_FROM. Threads and mutexes have Lamport clocks; an operation's time is one more
 * than both. It is written only if it is not one more than the thread's own clock: operations since
 * the last one written, and how far the clock jumped, coded as our own records are. In replay an
 * operation waits until all threads are beyond its time. A barrier costs nothing: it sets all
 * clocks to the latest one, which is the same in every replay. There is one barrier, and all
 * threads meet at it; the main thread makes them all. At the end of a recording a line on standard
 * error: "rolt BYTES".
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/coder.h"

#define OBJECTS 65536
#define THREADS 65
#define TRACE_BYTES (64u << 20)
#define SPINS 60
#define SPINS_LONG 600
#define CONTEXTS 9
#define NEVER UINT64_MAX

#define REAL(name)                                                                                 \
	({                                                                                         \
		static __typeof__(name) *real;                                                     \
		if (!real)                                                                         \
			real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                        \
		real;                                                                              \
	})

static struct {
	_Atomic(const void *) object;
	uint64_t clock; /* guarded by the mutex it belongs to */
} table[OBJECTS];

static struct thread {
	_Atomic uint64_t next; /* replay: the time of its next operation, or less */
	atomic_int sleeps;     /* futex: 1 while it waits for others to come that far */
	uint64_t clock, unwritten;
	uint64_t jump; /* replay: of the operation after `unwritten` more */
	uint64_t last; /* jump, for the coder */
	uint8_t *bytes;
	struct trace_coder coder;
	struct trace_number run[CONTEXTS], far[CONTEXTS];
	void *(*start)(void *);
	void *arg;
} __attribute__((aligned(64))) threads[THREADS];

static atomic_int count = 1, sleepers, spinners;
static int spare;
static unsigned int team;
static const char *to, *from;
static atomic_ulong latest[2]; /* by turns: a fast thread may be at the next barrier already */
static atomic_uint arrived[2];
static __thread struct thread *self;
static __thread uint64_t meetings;

static uint64_t *clock_of(const void *object)
{
	size_t i = ((uintptr_t)object * 0x9e3779b97f4a7c15ull) >> 48;
	const void *none;

	for (;; i = (i + 1) % OBJECTS) {
		none = NULL;
		if (atomic_compare_exchange_strong(&table[i].object, &none, object) ||
		    none == object)
			return &table[i].clock;
	}
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Both ways. */
static void code(struct thread *t)
{
	size_t context = least(t->last, CONTEXTS - 1);

	t->unwritten = trace_coder_number(&t->coder, &t->run[context], t->unwritten);
	t->jump = trace_coder_number(&t->coder, &t->far[context], t->jump);
	t->last = t->jump;
}

static void record(const void *object)
{
	uint64_t *clock = clock_of(object);
	struct thread *t = self;

	if (*clock > t->clock) {
		t->jump = *clock - t->clock;
		code(t);
		t->unwritten = 0;
		t->clock = *clock;
	} else {
		t->unwritten++;
	}
	*clock = ++t->clock;
}

static uint64_t earliest(void)
{
	int n = atomic_load(&count);
	uint64_t first = NEVER;

	for (int i = 0; i < n; i++)
		first = least(first, atomic_load(&threads[i].next));
	return first;
}

/* The thread goes on to this time, and wakes whom it kept waiting. */
static void publish(struct thread *t, uint64_t next)
{
	uint64_t first;

	atomic_store(&t->next, next);
	if (!atomic_load(&sleepers))
		return;
	first = earliest();
	for (int i = 0, n = atomic_load(&count); i < n; i++) {
		struct thread *other = &threads[i];
		int yes = 1;

		if (atomic_load(&other->next) <= first &&
		    atomic_compare_exchange_strong(&other->sleeps, &yes, 0))
			syscall(SYS_futex, &other->sleeps, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static uint64_t time_of_next(const struct thread *t)
{
	return t->clock + (t->unwritten ? 0 : t->jump) + 1;
}

/* As our own replay waits: awake for a moment, for longer if there is a processor to spare. */
static void await_turn(struct thread *t)
{
	uint64_t time = time_of_next(t);
	int n = atomic_fetch_add(&spinners, 1) < spare ? SPINS_LONG : SPINS;

	while (n && earliest() < time) {
		__builtin_ia32_pause();
		n--;
	}
	atomic_fetch_sub(&spinners, 1);
	while (earliest() < time) {
		atomic_store(&t->sleeps, 1);
		atomic_fetch_add(&sleepers, 1);
		while (atomic_load(&t->sleeps) && earliest() < time)
			syscall(SYS_futex, &t->sleeps, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
		atomic_fetch_sub(&sleepers, 1);
		atomic_store(&t->sleeps, 0);
	}
}

static void pass_turn(struct thread *t)
{
	t->clock = time_of_next(t);
	if (t->unwritten)
		t->unwritten--;
	else
		code(t);
	publish(t, time_of_next(t));
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	int rc;

	if (!self)
		return REAL(pthread_mutex_lock)(m);
	if (from)
		await_turn(self);
	rc = REAL(pthread_mutex_lock)(m);
	if (from)
		pass_turn(self);
	else
		record(m);
	return rc;
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *);
	int rc;

	if (from) {
		REAL(pthread_mutex_unlock)(m);
		return pthread_mutex_lock(m);
	}
	if (!real)
		real = (int (*)(pthread_cond_t *, pthread_mutex_t *))dlvsym(
			RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	rc = real(c, m);
	record(m);
	return rc;
}

int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *attr, unsigned int n)
{
	team = n;
	return REAL(pthread_barrier_init)(b, attr, n);
}

/* Nobody waits for a thread that waits here; whoever comes last knows where all go on. */
static void meet(atomic_ulong *here, atomic_uint *met)
{
	unsigned long seen = atomic_load(here);

	while (seen < self->clock && !atomic_compare_exchange_weak(here, &seen, self->clock))
		;
	if (from)
		publish(self, NEVER);
	if (atomic_fetch_add(met, 1) + 1 < team)
		return;
	atomic_store(met, 0);
	for (unsigned int i = 0; from && i < team; i++)
		atomic_store(&threads[i].next, atomic_load(here) + 2);
}

int pthread_barrier_wait(pthread_barrier_t *b)
{
	atomic_ulong *here = &latest[meetings % 2];
	int rc;

	meet(here, &arrived[meetings++ % 2]);
	rc = REAL(pthread_barrier_wait)(b);
	self->clock = atomic_load(here) + 1;
	if (from)
		publish(self, time_of_next(self));
	return rc;
}

static const char *name_of(const char *directory, const struct thread *t)
{
	static __thread char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/%ld", directory, (long)(t - threads));
	return name;
}

/* What is read behind the end belongs to operations that do not come. */
static void begin(struct thread *t)
{
	int fd = from ? open(name_of(from, t), O_RDONLY) : -1;

	self = t;
	t->bytes = mmap(NULL, TRACE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->bytes == MAP_FAILED || (from && fd < 0))
		abort();
	if (!from) {
		trace_coder_to(&t->coder, t->bytes);
		return;
	}
	trace_coder_from(&t->coder, t->bytes, t->bytes + read(fd, t->bytes, TRACE_BYTES));
	close(fd);
	code(t);
	publish(t, time_of_next(t));
}

static void end(struct thread *t)
{
	int fd;

	if (from) {
		publish(t, NEVER);
		return;
	}
	if (t->unwritten)
		code(t);
	trace_coder_finish(&t->coder);
	fd = open(name_of(to, t), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, t->bytes, t->coder.bytes) != (ssize_t)t->coder.bytes)
		abort();
	close(fd);
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	void *value;

	begin(t);
	value = t->start(t->arg);
	end(t);
	return value;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	struct thread *t = &threads[atomic_load(&count)];

	t->start = start;
	t->arg = arg;
	atomic_fetch_add(&count, 1);
	return REAL(pthread_create)(thread, attr, thread_main, t);
}

static void __attribute__((constructor)) start(void)
{
	to = getenv("ROLT_TO");
	from = getenv("ROLT_FROM");
	spare = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	if (!to && !from)
		abort();
	begin(&threads[0]);
}

static void __attribute__((destructor)) say(void)
{
	unsigned long sum = 0;

	end(&threads[0]);
	for (int i = 0; i < count; i++)
		sum += threads[i].coder.bytes;
	if (to)
		fprintf(stderr, "rolt %lu\n", sum);
}
