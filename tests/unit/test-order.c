/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order records come back as they were put, cost what the format promises, and survive the death
 * of the writer at every instruction. What a test puts is a list of steps; a FAIL record of n is n
 * steps, so that a reader's records compare with the writer's steps however they were packed.
 */
#include "trace/order.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <zstd.h>

#include "scratch.h"

#define NO_PTRACE 77
#define STEP_POLL 100 /* a failed poll; other kinds are those of a record */

struct step {
	uint32_t kind;
	uint64_t event;
	uint64_t a, b;
};

/* Gives the steps of a test one after the other. */
struct steps {
	uint64_t seed;
	uint64_t event;
	uint64_t n;
	struct step (*next)(struct steps *);
};

static void writer_open(struct trace_order_writer *w, const struct scratch *dir)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(
		trace_stream_create(&w->stream, dir->fd, "s", TRACE_STREAM_ORDER, 0, 0, "0"), 0);
}

static int writer_do(struct trace_order_writer *w, const struct step *s)
{
	if (s->kind == STEP_POLL) {
		trace_order_fail(w);
		return 0;
	}
	w->events = s->event;
	return trace_order_put(w, s->kind, s->a, s->b);
}

/* The same by the shortest way there is, as the hooks do it. */
static int writer_do_shortly(struct trace_order_writer *w, const struct step *s)
{
	if (s->kind == STEP_POLL || s->b)
		return writer_do(w, s);
	w->events = s->event;
	if (trace_order_again(w, s->kind, s->a) || trace_order_run(w, s->kind, s->a))
		return 0;
	return trace_order_put(w, s->kind, s->a, 0);
}

/*
 * Reads the stream beside the steps it was made of and returns how many there are. It may have an
 * END behind them where `ended` is given.
 */
static uint64_t compare_ended(const struct scratch *dir, const char *name, struct steps steps,
			      bool *ended)
{
	struct trace_order_reader *r = malloc(sizeof(*r));
	const char *why = NULL;
	struct trace_view v;
	struct trace_rec rec;
	uint64_t n = 0;
	int rc;

	if (ended)
		*ended = false;
	if (trace_view_open(&v, dir->fd, name, &why))
		fail_msg("the stream %s", why);
	trace_order_reader_init(r, &v);
	while ((rc = trace_order_next(r, &rec)) == 1) {
		uint64_t count = rec.kind == TRACE_FAIL ? rec.a : 1;

		assert_int_not_equal(count, 0);
		if (ended && rec.kind == TRACE_END && rec.a == TRACE_END_SIGNAL) {
			*ended = true;
			continue;
		}
		if (ended)
			assert_false(*ended);
		for (uint64_t i = 0; i < count; i++, n++) {
			struct step want = steps.next(&steps);

			if (rec.kind == TRACE_FAIL) {
				assert_int_equal(want.kind, STEP_POLL);
				continue;
			}
			assert_int_equal(rec.kind, want.kind);
			assert_int_equal(rec.a, want.a);
			assert_int_equal(rec.b, want.b);
			assert_int_equal(trace_order_event(r), want.event);
		}
	}
	assert_int_equal(rc, 0);
	trace_view_close(&v);
	free(r);
	return n;
}

static uint64_t compare(const struct scratch *dir, struct steps steps)
{
	return compare_ended(dir, "s", steps, NULL);
}

struct sums {
	uint64_t records[TRACE_KINDS], a, events;
};

static void add_to(struct sums *sums, const struct trace_rec *rec, uint64_t times)
{
	sums->records[rec->kind] += times;
	sums->a += rec->a * times;
	sums->events += rec->delta * times;
}

/* Counting by whole turns gives what counting one by one gives. */
static void compare_sums(const struct scratch *dir)
{
	struct trace_order_reader *r = malloc(sizeof(*r));
	struct trace_order_turns turns = {0};
	struct sums one = {0}, many = {0};
	struct trace_view v;
	struct trace_rec rec;
	uint64_t times, event;
	const char *why;

	assert_int_equal(trace_view_open(&v, dir->fd, "s", &why), 0);
	trace_order_reader_init(r, &v);
	while (trace_order_next(r, &rec) == 1)
		add_to(&one, &rec, 1);
	event = trace_order_event(r);
	trace_order_reader_init(r, &v);
	while (trace_order_next_times(r, &turns, &rec, &times) == 1)
		add_to(&many, &rec, times);
	assert_memory_equal(&one, &many, sizeof(one));
	assert_int_equal(trace_order_event(r), event);
	trace_view_close(&v);
	free(r);
}

static uint64_t write_steps(const struct scratch *dir, struct steps steps, uint64_t count)
{
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct steps again = steps;
	uint64_t bytes;

	writer_open(w, dir);
	for (uint64_t i = 0; i < count; i++) {
		struct step s = steps.next(&steps);

		assert_int_equal(writer_do(w, &s), 0);
	}
	assert_int_equal(compare(dir, again), count);
	bytes = w->stream.length;
	trace_stream_close(&w->stream);
	assert_int_equal(compare(dir, again), count);
	compare_sums(dir);
	free(w);
	return bytes;
}

static struct step any_step(struct steps *s)
{
	uint64_t kind = random_next(&s->seed) % (TRACE_KINDS + 3);

	if (kind >= TRACE_KINDS || kind == TRACE_FAIL)
		return (struct step){.kind = STEP_POLL};
	s->event += random_value(&s->seed) >> 34;
	return (struct step){(uint32_t)kind, s->event, random_value(&s->seed),
			     random_next(&s->seed) % 2 ? 0 : random_value(&s->seed)};
}

static struct step small_step(struct steps *s)
{
	uint64_t x = random_next(&s->seed);

	if (x % 5 == 4)
		return (struct step){.kind = STEP_POLL};
	s->event += 1 + (x >> 8 & 1);
	x >>= 16;
	return (struct step){x % 5 == TRACE_FAIL ? TRACE_CHECK : x % 5, s->event, x >> 8 & 3,
			     x >> 16 & 1};
}

/* Phases of everything a program does: cycles, chance, polls; few bytes and many. */
static struct step mixed_step(struct steps *s)
{
	uint64_t n = s->n++;

	switch ((n >> 6) % 5) {
	case 0:
		s->event += 2;
		return (struct step){TRACE_SRC, s->event, n % 3, 0};
	case 4:
		s->event++;
		return (struct step){TRACE_SRC, s->event, 1, 0};
	case 1:
		if (n % 4)
			return (struct step){.kind = STEP_POLL};
		s->event++;
		return (struct step){TRACE_HIT, s->event, n & 64, 0};
	case 2:
		return small_step(s);
	default:
		return any_step(s);
	}
}

static struct step round_robin(struct steps *s)
{
	s->event++;
	return (struct step){TRACE_SRC, s->event, 1 + s->n++ % 2, 0};
}

static struct step polled_cycle(struct steps *s)
{
	if (s->n++ % 8)
		return (struct step){.kind = STEP_POLL};
	s->event += 3;
	return (struct step){TRACE_HIT, s->event, 1 + s->n / 8 % 5, 0};
}

static struct step random_source(struct steps *s)
{
	s->event++;
	return (struct step){TRACE_SRC, s->event, 1 + random_next(&s->seed) % 2, 0};
}

static struct step random_post(struct steps *s)
{
	s->event += 2;
	return (struct step){TRACE_POST, s->event, 2 + random_next(&s->seed) % 44, 0};
}

static void test_any_records_come_back(void **state)
{
	struct scratch *dir = *state;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		write_steps(dir, (struct steps){.seed = seed, .next = any_step}, 500);
		assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
		write_steps(dir, (struct steps){.seed = seed, .next = small_step}, 500);
		assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
	}
}

static void test_records_come_back_from_many_windows(void **state)
{
	struct steps steps = {.seed = 9, .next = any_step};

	assert_true(write_steps(*state, steps, 200000) > 3u << 19);
}

static void test_an_empty_stream_has_no_records(void **state)
{
	write_steps(*state, (struct steps){.next = any_step}, 0);
}

static void test_cycles_are_free(void **state)
{
	struct scratch *dir = *state;

	assert_in_range(write_steps(dir, (struct steps){.next = round_robin}, 100000), 1, 99);
	assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
	assert_in_range(write_steps(dir, (struct steps){.next = polled_cycle}, 100000), 1, 99);
}

/* Bytes of the stream "s" after zstd. */
static uint64_t compressed(const struct scratch *dir)
{
	const char *why = NULL;
	struct trace_view v;
	size_t room, n;
	void *out;

	assert_int_equal(trace_view_open(&v, dir->fd, "s", &why), 0);
	room = ZSTD_compressBound(v.length);
	out = malloc(room);
	n = ZSTD_compress(out, room, v.bytes, v.length, 3);
	assert_false(ZSTD_isError(n));
	free(out);
	trace_view_close(&v);
	return n;
}

static void test_chance_costs_little(void **state)
{
	struct scratch *dir = *state;
	struct steps two = {.seed = 10, .next = random_source};
	struct steps many = {.seed = 11, .next = random_post};
	const uint64_t count = 100000;

	assert_in_range(write_steps(dir, two, count), 1, count);
	assert_in_range(compressed(dir), 1, count / 4);
	assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
	assert_in_range(write_steps(dir, many, count), 1, count * 51 / 50);
}

/* Blocks of one record, at one event; before some of them a poll fails. */
static struct step block_step(struct steps *s)
{
	uint64_t x = random_next(&s->seed);

	if (s->n == 0) {
		if (x % 11 == 0)
			return (struct step){.kind = STEP_POLL};
		s->n = x % 7 ? 1 + (x >> 8) % 40 : 1 + (x >> 8) % 3000;
		s->event += 1 + (x >> 32) % 3;
	}
	s->n--;
	return (struct step){TRACE_POST, s->event, 2 + s->event % 2, 0};
}

/* What is counted at once is as if it had been put one by one. */
static void test_blocks_come_back(void **state)
{
	struct scratch *dir = *state;
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct steps steps = {.seed = 5, .next = block_step}, again = steps;
	uint64_t count = 0, single, at_once = 0;

	writer_open(w, dir);
	while (count < 100000) {
		struct step s = steps.next(&steps);
		uint32_t more;

		assert_int_equal(writer_do(w, &s), 0);
		count++;
		if (s.kind == STEP_POLL || !steps.n)
			continue;
		more = trace_order_run_on(w, s.kind, s.a, (uint32_t)steps.n);
		assert_true(more <= steps.n);
		at_once += more;
		count += more;
		for (; more; more--)
			assert_int_equal(steps.next(&steps).kind, s.kind);
	}
	assert_true(at_once > count / 2);
	assert_int_equal(compare(dir, again), count);
	single = w->stream.length;
	trace_stream_close(&w->stream);
	assert_int_equal(compare(dir, again), count);
	assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
	assert_int_equal(write_steps(dir, again, count), single);
	free(w);
}

/* 65,536 bytes later the low bits of the length are the same again: old counts must not be. */
static void test_an_old_run_does_not_come_back(void **state)
{
	struct trace_order_writer *w = malloc(sizeof(*w));
	const char *why = NULL;
	struct trace_view v;
	uint64_t event = 0, length;

	writer_open(w, *state);
	while (w->run < 5) {
		w->events = ++event;
		assert_int_equal(trace_order_put(w, TRACE_SRC, 1, 0), 0);
	}
	length = w->stream.length;
	for (uint64_t i = 0; w->stream.length < length + 65536; i++) {
		w->events = ++event;
		if (w->stream.length + 1 + 1 + 1 + 3 + 1 < length + 65536)
			assert_int_equal(trace_order_put(w, TRACE_CHECK, 65536 + i % 1000, 0), 0);
		else
			assert_int_equal(trace_order_put(w, TRACE_SRC, i % 70, 0), 0);
		assert_int_equal(w->run, 0);
	}
	assert_int_equal(w->stream.length, length + 65536);
	assert_int_equal(trace_view_open(&v, ((struct scratch *)*state)->fd, "s", &why), 0);
	assert_int_equal(v.run, 0);
	trace_view_close(&v);
	trace_stream_close(&w->stream);
	free(w);
}

static void test_billions_of_polls_are_counted(void **state)
{
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct trace_order_reader *r = malloc(sizeof(*r));
	const char *why = NULL;
	struct trace_view v;
	struct trace_rec rec;
	uint64_t polls = 0;

	writer_open(w, *state);
	w->polls = UINT32_MAX - 2;
	for (int i = 0; i < 5; i++)
		trace_order_fail(w);
	w->events = 1;
	assert_int_equal(trace_order_put(w, TRACE_HIT, 0, 0), 0);
	trace_stream_close(&w->stream);
	assert_int_equal(trace_view_open(&v, ((struct scratch *)*state)->fd, "s", &why), 0);
	trace_order_reader_init(r, &v);
	for (;;) {
		assert_int_equal(trace_order_next(r, &rec), 1);
		if (rec.kind != TRACE_FAIL)
			break;
		polls += rec.a;
	}
	assert_int_equal(polls, (uint64_t)UINT32_MAX + 3);
	assert_int_equal(rec.kind, TRACE_HIT);
	trace_view_close(&v);
	free(w);
	free(r);
}

/* The record that did not fit leaves no trace of itself; the last record says where that was. */
static void check_full_disk(const struct scratch *dir, int (*next_kind)(uint64_t), uint64_t value)
{
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct trace_order_reader *r = malloc(sizeof(*r));
	struct trace_rec rec = {0}, last = {0};
	const char *why = NULL;
	struct trace_view v;
	uint64_t written = 0, n = 0;
	int rc = 0;

	trace_stream_limit = 1;
	writer_open(w, dir);
	while (!rc) {
		w->events += 3;
		trace_order_fail(w);
		rc = trace_order_put(w, (uint32_t)next_kind(written), written * 977, value);
		written += !rc;
	}
	trace_stream_limit = UINT64_MAX;
	assert_int_equal(rc, -ENOSPC);
	trace_stream_set_events(&w->stream, w->events, true);
	trace_order_put_last(w, TRACE_STOP, TRACE_STOP_NOSPACE, ENOSPC);
	trace_stream_close(&w->stream);
	assert_int_equal(trace_view_open(&v, dir->fd, "s", &why), 0);
	trace_order_reader_init(r, &v);
	while ((rc = trace_order_next(r, &rec)) == 1) {
		if (rec.kind != TRACE_FAIL && rec.kind != TRACE_STOP)
			assert_int_equal(trace_order_event(r), 3 * ++n);
		last = rec;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(n, written);
	assert_int_equal(last.kind, TRACE_STOP);
	assert_int_equal(last.a, TRACE_STOP_NOSPACE);
	assert_int_equal(last.b, ENOSPC);
	assert_int_equal(trace_order_event(r), v.events);
	trace_view_close(&v);
	assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
	free(w);
	free(r);
}

static int kind_check(uint64_t n)
{
	(void)n;
	return TRACE_CHECK;
}

static int kind_any(uint64_t n)
{
	int kind = (int)(n % TRACE_STOP);

	return kind == TRACE_FAIL ? TRACE_CHECK : kind;
}

static void test_a_full_disk_ends_with_the_reason(void **state)
{
	check_full_disk(*state, kind_check, 0);
	check_full_disk(*state, kind_any, UINT64_MAX);
	for (uint64_t value = 1; value < 1ull << 60; value *= 3)
		check_full_disk(*state, kind_any, value);
}

/* The largest last records, after the largest count of polls and of predicted records. */
static void test_the_last_records_fit_the_spare(void **state)
{
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct trace_order_reader *r = malloc(sizeof(*r));
	struct trace_rec rec = {0};
	const char *why = NULL;
	struct trace_view v;
	int rc;

	trace_stream_limit = 1;
	writer_open(w, *state);
	do {
		w->events++;
		rc = trace_order_put(w, TRACE_CHECK, 0, 0);
	} while (!rc);
	w->run = 100000;
	trace_stream_set_run(&w->stream, w->run);
	w->polls = UINT32_MAX;
	w->events += UINT32_MAX;
	trace_order_put_last(w, TRACE_CHECK, UINT32_MAX, 0);
	trace_order_put_last(w, TRACE_END, TRACE_END_ABORT, UINT64_MAX);
	trace_stream_limit = UINT64_MAX;
	trace_stream_close(&w->stream);
	assert_int_equal(trace_view_open(&v, ((struct scratch *)*state)->fd, "s", &why), 0);
	trace_order_reader_init(r, &v);
	while (rec.kind != TRACE_END)
		assert_int_equal(trace_order_next(r, &rec), 1);
	assert_true(rec.b == UINT64_MAX);
	assert_int_equal(trace_order_next(r, &rec), 0);
	trace_view_close(&v);
	free(w);
	free(r);
}

/* Shared with a child that writes: how many steps it has finished. */
static volatile uint64_t *shared_counter(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void __attribute__((noreturn))
write_until_killed(struct trace_order_writer *w, struct steps steps, uint64_t count,
		   volatile uint64_t *done)
{
	for (uint64_t i = 0; i < count; i++) {
		struct step s = steps.next(&steps);

		if (writer_do_shortly(w, &s))
			_exit(1);
		*done = i + 1;
	}
	_exit(0);
}

static void test_kill_9_at_any_time_loses_nothing(void **state)
{
	struct scratch *dir = *state;
	volatile uint64_t *done = shared_counter();
	uint64_t seed = 12;

	for (int round = 0; round < 60; round++) {
		struct trace_order_writer *w = malloc(sizeof(*w));
		struct steps steps = {.seed = (uint64_t)round, .next = mixed_step};
		uint64_t n;
		pid_t child;

		*done = 0;
		writer_open(w, dir);
		child = fork();
		if (child == 0)
			write_until_killed(w, steps, UINT64_MAX, done);
		usleep((useconds_t)(random_next(&seed) % (round % 10 ? 3000 : 100000)));
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		n = compare(dir, steps);
		assert_in_range(n, *done, *done + 1);
		assert_int_equal(unlinkat(dir->fd, "s", 0), 0);
		trace_stream_close(&w->stream);
		free(w);
	}
	munmap((void *)done, 4096);
}

/* A child that stops before it puts `count` steps, to be walked through them. */
static pid_t start_walk(struct trace_order_writer *w, struct steps steps, uint64_t count,
			volatile uint64_t *done)
{
	pid_t child = fork();

	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(NO_PTRACE);
		raise(SIGSTOP);
		write_until_killed(w, steps, count, done);
	}
	return child;
}

/* One instruction on; false at the end. */
static bool walk_on(pid_t child, bool first)
{
	int status;

	if (!first)
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSTOPPED(status))
		return true;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_PTRACE)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return false;
}

/* A kill after any instruction: whenever a word of the header has moved, the stream is whole. */
static void test_every_instruction_leaves_a_whole_stream(void **state)
{
	const uint64_t count = 320;
	struct scratch *dir = *state;
	volatile uint64_t *done = shared_counter();
	struct steps steps = {.seed = 13, .next = mixed_step};
	struct trace_order_writer *w = malloc(sizeof(*w));
	uint64_t seen[4] = {0};
	pid_t child;

	writer_open(w, dir);
	child = start_walk(w, steps, count, done);
	for (bool first = true; walk_on(child, first); first = false) {
		const struct trace_header *h = w->stream.header;
		uint64_t now[4] = {h->committed, h->events, h->run, h->polls};

		if (memcmp(seen, now, sizeof(now)) == 0)
			continue;
		memcpy(seen, now, sizeof(now));
		assert_in_range(compare(dir, steps), *done, *done + 1);
	}
	assert_int_equal(*done, count);
	assert_int_equal(compare(dir, steps), count);
	trace_stream_close(&w->stream);
	free(w);
	munmap((void *)done, 4096);
}

/*
 * What a signal handler would do in the child right now, done here on a copy: it finds the
 * writer in the state that the child has in memory. Tells if it had the last word.
 */
static bool end_copy(const struct scratch *dir, pid_t child, struct trace_order_writer *w,
		     struct trace_stream *copy, struct steps steps, const volatile uint64_t *done)
{
	static struct trace_order_writer theirs;
	struct iovec here = {&theirs, sizeof(theirs)}, there = {w, sizeof(*w)};
	bool ended;

	assert_int_equal(process_vm_readv(child, &here, 1, &there, 1, 0), sizeof(theirs));
	memcpy(copy->header, w->stream.header, sizeof(*copy->header));
	memcpy(copy->window, w->stream.window, 4096);
	theirs.stream.header = copy->header;
	theirs.stream.window = copy->window;
	trace_order_put_last(&theirs, TRACE_END, TRACE_END_SIGNAL, SIGABRT);
	assert_in_range(compare_ended(dir, "copy", steps, &ended), *done, *done + 1);
	return ended;
}

static void test_a_signal_handler_may_end_it_after_every_instruction(void **state)
{
	struct scratch *dir = *state;
	volatile uint64_t *done = shared_counter();
	struct steps steps = {.seed = 14, .n = 290, .next = mixed_step};
	struct trace_order_writer *w = malloc(sizeof(*w));
	struct trace_stream copy;
	unsigned ended = 0, silent = 0;
	pid_t child;

	writer_open(w, dir);
	assert_int_equal(trace_stream_create(&copy, dir->fd, "copy", TRACE_STREAM_ORDER, 0, 0, "0"),
			 0);
	child = start_walk(w, steps, 130, done);
	for (bool first = true; walk_on(child, first); first = false) {
		if (end_copy(dir, child, w, &copy, steps, done))
			ended++;
		else
			silent++;
	}
	assert_in_range(ended, 100, UINT_MAX);
	assert_in_range(silent, 100, UINT_MAX);
	trace_stream_forget(&copy);
	trace_stream_close(&w->stream);
	free(w);
	munmap((void *)done, 4096);
}

/* Bytes that pass the checksum and mean nothing: the reader ends, and soon. */
static void test_nonsense_is_survived(void **state)
{
	struct trace_order_reader *r = malloc(sizeof(*r));
	uint8_t bytes[64];
	uint64_t seed = 14;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct trace_view v = {.bytes = bytes, .length = random_next(&seed) % 64};
		struct trace_rec rec;
		int rc = 1;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)random_next(&seed);
		trace_order_reader_init(r, &v);
		for (int i = 0; i < 2000 && rc == 1; i++) {
			rc = trace_order_next(r, &rec);
			if (rc == 1)
				assert_true(rec.kind < TRACE_KINDS);
		}
		assert_true(rc == 0 || rc == 1 || rc == -EBADMSG);
	}
	free(r);
}

/* Runs as long as they get, again and again: nobody could read them one by one. */
static void test_long_runs_are_counted(void **state)
{
	static const uint8_t run[] = {TRACE_BYTE_RUNS,   0xff, 0xff, 0xff, 0xff, 0x0f,
				      TRACE_BYTE_SRC + 3};
	enum { RUNS = 1000, FIRST = 20 };
	uint8_t bytes[FIRST + RUNS * sizeof(run)];
	struct trace_order_reader *r = malloc(sizeof(*r));
	struct trace_view v = {.bytes = bytes, .length = sizeof(bytes)};
	struct trace_order_turns turns = {0};
	uint64_t times, all = 0;
	struct trace_rec rec;

	(void)state;
	for (size_t i = 0; i < FIRST; i++)
		bytes[i] = (uint8_t)(TRACE_BYTE_SRC + i % 2);
	for (size_t i = 0; i < RUNS; i++)
		memcpy(bytes + FIRST + i * sizeof(run), run, sizeof(run));
	trace_order_reader_init(r, &v);
	while (trace_order_next_times(r, &turns, &rec, &times) == 1)
		all += times;
	assert_int_equal(all, FIRST + RUNS * (UINT32_MAX + 1ull));
	assert_true(turns.taken < 100000);
	free(r);
}

static void test_a_run_of_nothing_is_nonsense(void **state)
{
	static const uint8_t bytes[] = {TRACE_BYTE_RUNS, 0x00, 0x01};
	struct trace_order_reader *r = malloc(sizeof(*r));
	struct trace_view v = {.bytes = bytes, .length = sizeof(bytes)};
	struct trace_rec rec;

	(void)state;
	trace_order_reader_init(r, &v);
	assert_int_equal(trace_order_next(r, &rec), -EBADMSG);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_any_records_come_back),
		scratch_test(test_records_come_back_from_many_windows),
		scratch_test(test_an_empty_stream_has_no_records),
		scratch_test(test_cycles_are_free),
		scratch_test(test_chance_costs_little),
		scratch_test(test_blocks_come_back),
		scratch_test(test_an_old_run_does_not_come_back),
		scratch_test(test_billions_of_polls_are_counted),
		scratch_test(test_a_full_disk_ends_with_the_reason),
		scratch_test(test_the_last_records_fit_the_spare),
		scratch_test(test_kill_9_at_any_time_loses_nothing),
		scratch_test(test_every_instruction_leaves_a_whole_stream),
		scratch_test(test_a_signal_handler_may_end_it_after_every_instruction),
		cmocka_unit_test(test_nonsense_is_survived),
		cmocka_unit_test(test_a_run_of_nothing_is_nonsense),
		cmocka_unit_test(test_long_runs_are_counted),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
