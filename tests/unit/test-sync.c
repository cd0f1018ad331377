/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronisation records: whatever threads do to objects, each stream tells its thread's outcomes
 * again, in any order of the threads that the versions allow; also when the writer was killed.
 */
#include "trace/numbers.h"
#include "trace/sync.h"

#include <errno.h>
#include <signal.h>

#include "base/mem.h"
#include "scratch.h"

#define OBJECTS 2000
#define THREADS 4
#define OPS 30000
#define QUIET 20000

struct op {
	uint32_t thread, object, code_op;
	enum trace_sync_class how;
	struct trace_sync_outcome out;
	uint64_t id;
	bool first; /* the object had no id before */
};

static uint64_t seed_now, followed;

static uint64_t rnd(uint64_t n)
{
	return random_next(&seed_now) % n;
}

static struct {
	uint64_t id;
	uint32_t version;
} object[OBJECTS];
static struct op ops[OPS];

static bool is_atomic(enum trace_sync_class how)
{
	return how == TRACE_SYNC_LOOK || how == TRACE_SYNC_SWAP;
}

static uint32_t known_code(enum trace_sync_class how)
{
	return how == TRACE_SYNC_LOOK ? TRACE_SYNC_LOOK_KNOWN : TRACE_SYNC_SWAP_KNOWN;
}

/* Few objects are used often, many seldom; a thread stays with what it does for a while. */
static void make_op(struct op *op, const struct op *before)
{
	static const enum trace_sync_class classes[] = {
		TRACE_SYNC_PLAIN, TRACE_SYNC_PLAIN, TRACE_SYNC_TRY,  TRACE_SYNC_TIMED,
		TRACE_SYNC_WAIT,  TRACE_SYNC_VALUE, TRACE_SYNC_LOOK, TRACE_SYNC_SWAP};
	uint32_t o;

	*op = (struct op){.thread = (uint32_t)rnd(THREADS), .code_op = (uint32_t)rnd(30)};
	if (before && rnd(4)) {
		op->thread = before->thread;
		op->object = before->object;
	} else {
		op->object = (uint32_t)(rnd(3) ? rnd(5) : rnd(OBJECTS));
	}
	o = op->object;
	op->how = classes[rnd(8)];
	if (op->how == TRACE_SYNC_VALUE) {
		op->out.code = (uint32_t)rnd(2);
		op->id = (o + 1) * 0xd1b54a32d192ed03ull;
		return;
	}
	op->first = !object[o].id;
	if (is_atomic(op->how)) {
		op->out.takes = op->first || rnd(3);
		op->out.code = op->out.takes ? (uint32_t)(rnd(8) ? 0 : TRACE_SYNC_ELSEWHERE + 7)
					     : known_code(op->how);
	} else {
		op->out.takes = op->how != TRACE_SYNC_TRY || rnd(3);
		if (!op->out.takes || (op->how == TRACE_SYNC_TIMED && rnd(2)))
			op->out.code = (uint32_t)(rnd(2) ? EBUSY : ETIMEDOUT);
	}
	if (op->out.takes) {
		op->out.version = ++object[o].version;
		if (op->first)
			object[o].id = (o + 1) * 0x9e3779b97f4a7c15ull;
	} else {
		op->out.nameless = op->first;
	}
	op->id = object[o].id;
}

static int put(struct trace_sync_writer *w, const struct op *op)
{
	struct trace_sync_rec rec = {.kind = TRACE_SYNC_CODE_NEW, .code = op->out.code};

	if (op->out.nameless)
		return trace_sync_put(w, op->code_op, 0, &rec);
	if (op->how == TRACE_SYNC_PLAIN && trace_sync_step(w, op->code_op, op->id, op->out.version))
		return 0;
	if (is_atomic(op->how) && !op->out.takes &&
	    trace_sync_step_known(w, op->code_op, op->id, op->out.code))
		return 0;
	if (op->how == TRACE_SYNC_SWAP && op->out.takes && !op->out.code &&
	    trace_sync_step_swap(w, op->code_op, op->id, op->out.version))
		return 0;
	if (op->first)
		return trace_sync_put_new(w, op->code_op, op->how, op->id, &op->out);
	if (op->how == TRACE_SYNC_PLAIN)
		return trace_sync_put_take(w, op->code_op, op->id, op->out.version);
	return trace_sync_put_outcome(w, op->code_op, op->how, op->id, &op->out);
}

/* The short way to read what is predicted; false where it is closed. */
static bool follow_op(struct trace_sync_reader *r, const struct op *op, uint64_t *digest)
{
	uint32_t version = trace_sync_foresee(r, op->id);

	if (op->how == TRACE_SYNC_LOOK && trace_sync_foresee_known(r, op->id) &&
	    trace_sync_calm(r)) {
		assert_false(op->out.takes);
		trace_sync_follow(r, op->id, trace_sync_slot(r->slot, op->id)->seen);
		*digest = trace_sync_digest(*digest, op->code_op, op->id);
		return true;
	}
	if (op->how != TRACE_SYNC_PLAIN || op->first || !version || !trace_sync_calm(r))
		return false;
	assert_true(op->out.takes);
	assert_int_equal(op->out.code, 0);
	assert_int_equal(version, op->out.version);
	trace_sync_follow(r, op->id, version);
	*digest = trace_sync_digest(*digest, op->code_op, op->id);
	return true;
}

/* Reads one operation; the object may not have its id yet if this thread comes early. */
static void check_op(struct trace_sync_reader *r, const struct op *op, uint64_t *digest, bool early)
{
	struct trace_sync_outcome out;
	struct trace_sync_rec rec;
	int rc;

	if (op->id % 2 && !early && follow_op(r, op, digest)) {
		followed++;
		return;
	}
	while ((rc = trace_sync_next(r, op->how, &rec)) == 2 && rec.kind == TRACE_SYNC_CHECK)
		assert_true(trace_sync_is_digest(&rec, *digest));
	assert_in_range(rc, 1, 2);
	assert_true(trace_sync_expect(r, op->how, op->first || early ? 0 : op->id,
				      rc == 1 ? NULL : &rec, &out));
	assert_int_equal(out.takes, op->out.takes);
	assert_int_equal(out.code, op->out.code);
	assert_int_equal(out.nameless, op->out.nameless);
	if (out.takes)
		assert_int_equal(out.version, op->out.version);
	trace_sync_expected(r, op->how, op->id, &out);
	*digest = trace_sync_digest(*digest, op->code_op, out.nameless ? 0 : op->id);
}

static void read_thread(int dirfd, uint32_t thread, size_t count, bool closed)
{
	struct trace_sync_reader *r = rp_alloc(1, sizeof(*r));
	bool *used = rp_alloc(OBJECTS, sizeof(*used));
	struct trace_sync_rec rec;
	struct trace_view view;
	uint64_t digest = 0;
	bool ended = false;
	const char *why;
	char name[8];

	snprintf(name, sizeof(name), "%u", thread);
	assert_int_equal(trace_view_open(&view, dirfd, name, &why), 0);
	assert_int_equal(trace_sync_reader_init(r, &view), 0);
	for (size_t i = 0; i < count; i++) {
		if (ops[i].thread != thread)
			continue;
		/* What this thread has never had may have no id yet when it comes. */
		check_op(r, &ops[i], &digest, !used[ops[i].object] && ops[i].out.takes);
		used[ops[i].object] = true;
	}
	while (trace_sync_next(r, TRACE_SYNC_PLAIN, &rec) == 2) {
		assert_in_range(rec.kind, TRACE_SYNC_CHECK, TRACE_SYNC_END);
		assert_true(trace_sync_is_digest(&rec, digest));
		ended |= rec.kind == TRACE_SYNC_END;
	}
	assert_int_equal(ended, closed && r->total > 0);
	assert_int_equal(r->ops, r->total);
	trace_view_close(&view);
	free(used);
	free(r);
}

/* Bytes of the blocks of the first. */
static uint64_t write_threads(int dirfd, size_t count, bool closed)
{
	uint64_t bytes;
	struct trace_sync_writer *w[THREADS];
	char name[8];

	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = rp_alloc(1, sizeof(*w[i]));
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(trace_stream_create(&w[i]->stream, dirfd, name, TRACE_STREAM_SYNC,
						     0, 0, "0"),
				 0);
		trace_sync_writer_init(w[i]);
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(put(w[ops[i].thread], &ops[i]), 0);
	bytes = w[0]->stream.length + w[0]->pending;
	for (uint32_t i = 0; i < THREADS; i++) {
		if (closed)
			trace_sync_close(w[i]);
		else
			trace_stream_forget(&w[i]->stream);
		free(w[i]);
		read_thread(dirfd, i, count, closed);
		snprintf(name, sizeof(name), "%u", i);
		unlinkat(dirfd, name, 0);
	}
	return bytes;
}

static void round_trip(int dirfd, uint64_t seed, size_t count, bool closed)
{
	seed_now = seed;
	memset(object, 0, sizeof(object));
	for (size_t i = 0; i < count; i++)
		make_op(&ops[i], i ? &ops[i - 1] : NULL);
	write_threads(dirfd, count, closed);
}

static void random_operations(void **state)
{
	const struct scratch *s = *state;

	for (uint64_t seed = 1; seed <= 20; seed++)
		round_trip(s->fd, seed * 7919, 3000, true);
	round_trip(s->fd, 5, OPS, true);
	assert_true(followed > 0);
}

/* All of one thread, on one object, whose version grows by up to `most`. Bytes of an operation. */
static double rich(int dirfd, size_t count, uint32_t most, bool closed)
{
	seed_now = count;
	object[0].version = UINT32_MAX - (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		object[0].version += 1 + (uint32_t)rnd(most);
		ops[i] = (struct op){.how = TRACE_SYNC_PLAIN, .id = 77ull << 50, .first = !i};
		ops[i].out = (struct trace_sync_outcome){true, 0, object[0].version, false};
	}
	return write_threads(dirfd, count, closed) / (double)count;
}

/* Where nearly every operation has a record of a byte they are not coded. */
static void rich_thread(void **state)
{
	const struct scratch *s = *state;

	assert_in_range(100 * rich(s->fd, OPS, 8, true), 80, 100);
	assert_in_range(100 * rich(s->fd, OPS, 20, true), 95, 150);
	assert_in_range(100 * rich(s->fd, OPS, 1000, true), 100, 150);
	assert_in_range(100 * rich(s->fd, 2200, 8, true), 20, 60);
	for (size_t count = 4000; count < 6000; count += 37)
		rich(s->fd, count, 8, false);
}

/* A long time without a record, only with checks, is in a block of its own. */
static void quiet_thread(void **state)
{
	const struct scratch *s = *state;

	seed_now = 3;
	memset(object, 0, sizeof(object));
	for (size_t i = 0; i < QUIET; i++) {
		ops[i] = (struct op){.how = i % 3 ? TRACE_SYNC_PLAIN : TRACE_SYNC_VALUE};
		ops[i].id = i % 3 ? 77 : 78;
		ops[i].first = i == 1;
		if (i % 3) {
			object[0].version += i % 5000 == 4999 ? 9 : 1;
			ops[i].out = (struct trace_sync_outcome){.takes = true,
								 .version = object[0].version};
		}
	}
	write_threads(s->fd, QUIET, true);
}

static void killed_anywhere(void **state)
{
	const struct scratch *s = *state;

	for (uint64_t seed = 1; seed <= 200; seed++)
		round_trip(s->fd, seed * 104729, seed, false);
}

#if defined(__x86_64__)

static struct trace_sync_writer *stepped;
static sigjmp_buf ended;
static volatile size_t steps_left;

/* Comes after every instruction. */
static void on_step(int sig)
{
	(void)sig;
	if (--steps_left)
		return;
	trace_sync_close(stepped);
	siglongjmp(ended, 1);
}

static inline void set_stepping(bool on)
{
	if (on)
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

/* Whatever is there, the digest at its end belongs to it. */
static void read_ended(int dirfd, size_t least)
{
	struct trace_sync_reader *r = rp_alloc(1, sizeof(*r));
	bool *used = rp_alloc(OBJECTS, sizeof(*used));
	struct trace_sync_rec rec;
	struct trace_view view;
	uint64_t digest = 0;
	const char *why;

	assert_int_equal(trace_view_open(&view, dirfd, "0", &why), 0);
	assert_int_equal(trace_sync_reader_init(r, &view), 0);
	assert_true(r->total >= least);
	for (size_t i = 0; i < r->total; i++) {
		check_op(r, &ops[i], &digest, !used[ops[i].object] && ops[i].out.takes);
		used[ops[i].object] = true;
	}
	while (trace_sync_next(r, TRACE_SYNC_PLAIN, &rec) == 2)
		assert_true(trace_sync_is_digest(&rec, digest));
	trace_view_close(&view);
	unlinkat(dirfd, "0", 0);
	free(used);
	free(r);
}

/* Operations up to `last`, the last one stepwise; false: it was over before so many steps. */
static bool end_after(int dirfd, size_t last, size_t steps)
{
	stepped = rp_alloc(1, sizeof(*stepped));
	assert_int_equal(
		trace_stream_create(&stepped->stream, dirfd, "0", TRACE_STREAM_SYNC, 0, 0, "0"), 0);
	trace_sync_writer_init(stepped);
	for (size_t i = 0; i < last; i++)
		assert_int_equal(put(stepped, &ops[i]), 0);
	steps_left = steps;
	if (sigsetjmp(ended, 1) == 0) {
		set_stepping(true);
		if (put(stepped, &ops[last]))
			abort();
		set_stepping(false);
		trace_sync_close(stepped);
	}
	free(stepped);
	read_ended(dirfd, last);
	return steps_left == 0;
}

static size_t first_with_block(int dirfd)
{
	struct trace_sync_writer *w = rp_alloc(1, sizeof(*w));
	size_t i = 0;

	assert_int_equal(trace_stream_create(&w->stream, dirfd, "0", TRACE_STREAM_SYNC, 0, 0, "0"),
			 0);
	trace_sync_writer_init(w);
	while (!w->stream.length)
		assert_int_equal(put(w, &ops[i++]), 0);
	trace_sync_close(w);
	unlinkat(dirfd, "0", 0);
	free(w);
	return i - 1;
}

static void ended_after_every_instruction(void **state)
{
	const struct scratch *s = *state;
	struct sigaction action = {.sa_handler = on_step}, before;
	size_t last[4] = {2, 3, 15};

	seed_now = 1;
	memset(object, 0, sizeof(object));
	for (size_t i = 0; i < 400; i++) {
		make_op(&ops[i], i ? &ops[i - 1] : NULL);
		ops[i].thread = 0;
	}
	/* Two early ones, one with a check, one with a block. */
	last[3] = first_with_block(s->fd);
	sigaction(SIGTRAP, &action, &before);
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		for (size_t n = 1; n < 10000 && end_after(s->fd, last[i], n);)
			n += 1 + (n < 300 ? n / 50 : n);
	}
	sigaction(SIGTRAP, &before, NULL);
}

#endif

static void same_step_costs_nothing(void **state)
{
	const struct scratch *s = *state;
	struct trace_sync_writer *w = rp_alloc(1, sizeof(*w));
	struct trace_sync_outcome out = {.takes = true, .version = 1};

	assert_int_equal(trace_stream_create(&w->stream, s->fd, "s", TRACE_STREAM_SYNC, 0, 0, "0"),
			 0);
	trace_sync_writer_init(w);
	w->check_at = UINT64_MAX;
	assert_int_equal(trace_sync_put_new(w, 1, TRACE_SYNC_PLAIN, 77, &out), 0);
	for (uint32_t v = 2; v < 100000; v++)
		assert_true(trace_sync_step(w, 1, 77, v));
	assert_int_equal(w->pending, 0);
	assert_false(trace_sync_step(w, 1, 77, 100007));
	assert_false(trace_sync_step(w, 1, 99, 0));
	out.version = 100007;
	assert_int_equal(trace_sync_put_outcome(w, 1, TRACE_SYNC_PLAIN, 77, &out), 0);
	assert_in_range(w->pending, 1, 5);
	trace_sync_close(w);
	free(w);
}

static void bytes_without_sense(void **unused)
{
	/* No block is empty, so long, or goes on behind the end of the stream; nor a plain one. */
	static const uint8_t bad[][4] = {
		{0, 1, 1, 1},       {0x80, 0x80, 0x80, 0x80}, {0x80, 0x80, 0x7f, 1}, {7, 1, 1, 1},
		{0x98, 0x20, 1, 1}, {0x90, 0x20, 0xff, 1},    {0x88, 0x40, 1, 1}};

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct trace_sync_reader *r = rp_alloc(1, sizeof(*r));
		struct trace_view view = {.bytes = bad[i], .length = 4};

		assert_int_equal(trace_sync_reader_init(r, &view), -EBADMSG);
		free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(random_operations),
		scratch_test(quiet_thread),
		scratch_test(rich_thread),
		scratch_test(killed_anywhere),
		scratch_test(same_step_costs_nothing),
		cmocka_unit_test(bytes_without_sense),
#if defined(__x86_64__)
		scratch_test(ended_after_every_instruction),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
