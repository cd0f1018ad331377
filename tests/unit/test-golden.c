/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of every published format version stay readable. tests/golden/format-N was written by the
 * Reprise that had TRACE_VERSION N and is never written again; tests/golden/format-N.h says what is
 * in it. The writer of a golden trace and its reader share that list: it is the specification.
 *
 * A new version gets a list, a place in `goldens`, and its trace by
 *   GOLDEN_WRITE=tests/golden/format-N build/tests/unit/test-golden
 */
#include "trace/format.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/varint.h"
#include "../golden/format-4.h"
#include "scratch.h"
#include "trace/calls.h"
#include "trace/dir.h"
#include "trace/files.h"
#include "trace/input.h"
#include "trace/meta.h"
#include "trace/numbers.h"
#include "trace/order.h"
#include "trace/sync.h"

static const struct golden *const goldens[] = {&format_1, &format_2, &format_3, &format_4};

static const struct golden *find_golden(unsigned version)
{
	for (size_t i = 0; i < GOLDEN_COUNT(goldens); i++) {
		if (goldens[i]->version == version)
			return goldens[i];
	}
	return NULL;
}

static int write_order(int rankfd, const struct stream_spec *s)
{
	struct trace_order_writer *w = rp_alloc(1, sizeof(*w));
	int rc = trace_stream_create(&w->stream, rankfd, s->name, s->kind, s->rank, s->process,
				     s->thread);

	for (size_t i = 0; !rc && i < s->n; i++) {
		const struct order_spec *o = &s->order[i];

		/* Kinds of guides have the same numbers. */
		bool fails = s->kind == TRACE_STREAM_ORDER && o->kind == TRACE_FAIL;

		for (uint64_t n = 0; fails && n < o->a; n++)
			trace_order_fail(w);
		for (uint32_t n = 0; !fails && !rc && n < o->times; n++) {
			w->events += o->step;
			rc = trace_order_put(w, o->kind, o->a, o->b);
		}
	}
	if (!rc && s->digest)
		trace_stream_begin_event(&w->stream, s->events, s->digest);
	if (!rc && s->digest)
		trace_stream_set_events(&w->stream, s->events - s->inside, false);
	else if (!rc)
		trace_stream_set_events(&w->stream, s->events, s->inside);
	trace_stream_close(&w->stream);
	free(w);
	return rc;
}

/* The bytes of one input; the caller frees. */
static uint8_t *input_bytes(const struct input_spec *input, size_t *n)
{
	uint8_t *bytes;

	*n = input->text ? strlen(input->text) : input->value;
	bytes = rp_alloc(*n + 1, 1);
	for (size_t i = 0; i < *n; i++)
		bytes[i] = input->text ? (uint8_t)input->text[i] : (uint8_t)(i * 7 + (i >> 8));
	return bytes;
}

static int write_input(int rankfd, const struct stream_spec *s)
{
	struct trace_input_writer w = {0};
	int rc = trace_stream_create(&w.stream, rankfd, s->name, s->kind, s->rank, s->process,
				     s->thread);

	for (size_t i = 0; !rc && i < s->n; i++) {
		const struct input_spec *input = &s->input[i];
		uint8_t *bytes;
		size_t n;

		if (input->kind < TRACE_IN_NUMBERS) {
			rc = trace_input_put_number(&w, input->kind, input->value);
			continue;
		}
		bytes = input_bytes(input, &n);
		rc = trace_input_put_bytes(&w, input->kind, bytes, n);
		free(bytes);
	}
	trace_stream_close(&w.stream);
	return rc;
}

static int write_stdin(int rankfd, const struct stream_spec *s)
{
	struct trace_stream stream;
	int rc = trace_stream_create(&stream, rankfd, s->name, s->kind, s->rank, s->process,
				     s->thread);

	if (!rc)
		rc = trace_stream_reserve(&stream, strlen(s->text));
	if (!rc)
		trace_stream_append(&stream, s->text, strlen(s->text));
	trace_stream_close(&stream);
	return rc;
}

/* What each operation of the list does, in turn; the caller keeps versions by slot and tag. */
struct sync_state {
	uint64_t object[16];
	uint32_t version[16];
};

static struct trace_sync_outcome next_outcome(struct sync_state *state, const struct sync_spec *o)
{
	size_t i = 0;

	while (state->object[i] && state->object[i] != o->object)
		i++;
	state->object[i] = o->object;
	state->version[i] += o->step;
	return (struct trace_sync_outcome){
		.takes = o->step > 0, .code = o->code, .version = o->step ? state->version[i] : 0};
}

static int write_sync(int rankfd, const struct stream_spec *s)
{
	struct trace_sync_writer *w = rp_alloc(1, sizeof(*w));
	struct sync_state state = {0};
	int rc = trace_stream_create(&w->stream, rankfd, s->name, s->kind, s->rank, s->process,
				     s->thread);

	trace_sync_writer_init(w);
	for (size_t i = 0; !rc && i < s->n; i++) {
		for (uint32_t n = 0; !rc && n < s->sync[i].times; n++) {
			struct trace_sync_outcome out = next_outcome(&state, &s->sync[i]);

			rc = trace_sync_put_outcome(w, s->sync[i].op, s->sync[i].how,
						    s->sync[i].object, &out);
		}
	}
	trace_sync_close(w);
	free(w);
	return rc;
}

static struct trace_file file_of(const struct file_spec *f)
{
	return (struct trace_file){.device = f->device,
				   .inode = f->inode,
				   .size = f->size,
				   .modified = f->modified,
				   .flags = f->flags,
				   .hash = f->hash,
				   .length = (uint32_t)strlen(f->path),
				   .path = f->path};
}

static int write_files(int rankfd, const struct stream_spec *s)
{
	struct trace_stream stream;
	int rc = trace_stream_create(&stream, rankfd, s->name, s->kind, s->rank, s->process,
				     s->thread);

	for (size_t i = 0; !rc && i < s->n; i++) {
		struct trace_file file = file_of(&s->file[i]);

		rc = trace_file_put(&stream, &file);
	}
	trace_stream_close(&stream);
	return rc;
}

static int write_stream(int rankfd, const struct stream_spec *s)
{
	if (s->kind == TRACE_STREAM_ORDER || s->kind == TRACE_STREAM_GUIDE)
		return write_order(rankfd, s);
	if (s->kind == TRACE_STREAM_FILES)
		return write_files(rankfd, s);
	if (s->kind == TRACE_STREAM_SYNC)
		return write_sync(rankfd, s);
	return s->kind == TRACE_STREAM_INPUT ? write_input(rankfd, s) : write_stdin(rankfd, s);
}

/* A stream names the pid of its writer, and readers tell an exec from a fork by it. */
static int write_forked(int rankfd, const struct stream_spec *s)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(-write_stream(rankfd, s));
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

static int write_rank(const struct golden *golden, const struct trace_dir *dir, unsigned rank)
{
	int rankfd = trace_dir_claim_rank(dir, rank), rc;

	if (rankfd < 0)
		return rankfd;
	rc = trace_start_write(rankfd, &golden->start[rank]);
	for (size_t i = 0; !rc && i < golden->streams; i++) {
		const struct stream_spec *s = &golden->stream[i];

		if (s->rank == rank)
			rc = s->process ? write_forked(rankfd, s) : write_stream(rankfd, s);
	}
	close(rankfd);
	return rc;
}

/* 0 or -errno; what is there is not touched. */
static int write_golden(const struct golden *golden, const char *path)
{
	struct trace_dir dir;
	int rc;

	if (mkdir(path, 0700) != 0)
		return -errno;
	rc = trace_dir_enter(&dir, path);
	if (rc)
		return rc;
	rc = trace_meta_write(&dir, &golden->meta);
	for (unsigned rank = 0; !rc && rank < golden->ranks; rank++)
		rc = write_rank(golden, &dir, rank);
	trace_dir_close(&dir);
	return rc;
}

/* "<source>/tests/golden": the compiler was given this file's name relative to the build. */
static char *golden_root(void)
{
	char *exe = realpath("/proc/self/exe", NULL), *file = rp_strdup(__FILE__), *root;

	assert_non_null(exe);
	root = file[0] == '/' ? rp_format("%s/../golden", dirname(file))
			      : rp_format("%s/../../%s/../golden", dirname(exe), dirname(file));
	free(exe);
	free(file);
	return root;
}

static void enter_golden(struct trace_dir *dir, unsigned version)
{
	char *root = golden_root(), *path = rp_format("%s/format-%u", root, version);

	if (trace_dir_open(dir, path))
		fail_msg("there is no golden trace %s", path);
	free(root);
	free(path);
}

static void open_stream(struct trace_view *v, const struct trace_dir *dir,
			const struct stream_spec *s)
{
	char rank[TRACE_RANK_NAME_BYTES];
	const char *why;
	char *name;

	trace_dir_rank_name(s->rank, rank);
	name = rp_format("%s/%s", rank, s->name);
	if (trace_view_open(v, dir->fd, name, &why))
		fail_msg("%s of %s %s", name, dir->show, why);
	free(name);
}

static void check_order(const struct trace_view *v, const struct stream_spec *s)
{
	struct trace_order_reader *r = rp_alloc(1, sizeof(*r));
	struct trace_rec rec;
	uint64_t event = 0;

	trace_order_reader_init(r, v);
	for (size_t i = 0; i < s->n; i++) {
		const struct order_spec *want = &s->order[i];

		for (uint32_t n = 0; n < want->times; n++) {
			event += want->step;
			assert_int_equal(trace_order_next(r, &rec), 1);
			assert_int_equal(rec.kind, want->kind);
			assert_int_equal(rec.a, want->a);
			assert_int_equal(rec.b, want->b);
			assert_int_equal(trace_order_event(r), event);
		}
	}
	assert_int_equal(trace_order_next(r, &rec), 0);
	assert_in_range(event, 0, v->events);
	free(r);
}

static void check_bytes(struct trace_input_reader *r, const struct input_spec *want)
{
	struct trace_input_rec rec;
	size_t n, done = 0;
	uint8_t *bytes = input_bytes(want, &n);

	do {
		assert_int_equal(trace_input_next(r, &rec), 1);
		assert_int_equal(rec.kind, want->kind);
		assert_non_null(rec.bytes);
		assert_in_range(done + rec.length, 0, n);
		assert_memory_equal(rec.bytes, bytes + done, rec.length);
		done += rec.length;
	} while (rec.length == TRACE_INPUT_CHUNK);
	assert_int_equal(done, n);
	free(bytes);
}

static void check_input(const struct trace_view *v, const struct stream_spec *s)
{
	struct trace_input_reader r;
	struct trace_input_rec rec;

	trace_input_reader_init(&r, v);
	for (size_t i = 0; i < s->n; i++) {
		if (s->input[i].kind >= TRACE_IN_NUMBERS) {
			check_bytes(&r, &s->input[i]);
			continue;
		}
		assert_int_equal(trace_input_next(&r, &rec), 1);
		assert_int_equal(rec.kind, s->input[i].kind);
		assert_int_equal(rec.value, s->input[i].value);
		assert_null(rec.bytes);
	}
	assert_int_equal(trace_input_next(&r, &rec), 0);
}

static void check_operation(struct trace_sync_reader *r, const struct sync_spec *o,
			    const struct trace_sync_outcome *want, uint64_t *digest)
{
	struct trace_sync_outcome out;
	struct trace_sync_rec rec;
	int rc;

	while ((rc = trace_sync_next(r, o->how, &rec)) == 2 && rec.kind == TRACE_SYNC_CHECK)
		assert_true(trace_sync_is_digest(&rec, *digest));
	assert_in_range(rc, 1, 2);
	assert_true(trace_sync_expect(r, o->how, o->object, rc == 1 ? NULL : &rec, &out));
	assert_int_equal(out.takes, want->takes);
	assert_int_equal(out.code, want->code);
	if (out.takes)
		assert_int_equal(out.version, want->version);
	trace_sync_expected(r, o->how, o->object, &out);
	*digest = trace_sync_digest(*digest, o->op, o->object);
}

static void check_sync(const struct trace_view *v, const struct stream_spec *s)
{
	struct trace_sync_reader *r = rp_alloc(1, sizeof(*r));
	struct sync_state state = {0};
	struct trace_sync_rec rec;
	uint64_t digest = 0;

	assert_int_equal(trace_sync_reader_init(r, v), 0);
	for (size_t i = 0; i < s->n; i++) {
		for (uint32_t n = 0; n < s->sync[i].times; n++) {
			struct trace_sync_outcome want = next_outcome(&state, &s->sync[i]);

			check_operation(r, &s->sync[i], &want, &digest);
		}
	}
	assert_int_equal(r->ops, r->total);
	assert_int_equal(trace_sync_next(r, TRACE_SYNC_PLAIN, &rec), 2);
	assert_int_equal(rec.kind, TRACE_SYNC_END);
	assert_true(trace_sync_is_digest(&rec, digest));
	free(r);
}

static void check_files(const struct trace_view *v, const struct stream_spec *s)
{
	struct trace_file file;
	uint64_t at = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct trace_file want = file_of(&s->file[i]);

		assert_int_equal(trace_file_next(v, &at, &file), 1);
		assert_int_equal(file.device, want.device);
		assert_int_equal(file.inode, want.inode);
		assert_int_equal(file.size, want.size);
		assert_int_equal(file.modified, want.modified);
		assert_int_equal(file.flags, want.flags);
		assert_int_equal(file.hash, want.hash);
		assert_int_equal(file.length, want.length);
		assert_memory_equal(file.path, want.path, want.length);
	}
	assert_int_equal(trace_file_next(v, &at, &file), 0);
}

static void check_stream(const struct golden *golden, const struct trace_dir *dir,
			 const struct stream_spec *s)
{
	struct trace_view v;

	open_stream(&v, dir, s);
	assert_int_equal(v.header->version, golden->version);
	assert_int_equal(v.header->kind, s->kind);
	assert_int_equal(v.header->rank, s->rank);
	assert_int_equal(v.header->process, s->process);
	assert_string_equal(v.header->thread, s->thread);
	assert_int_equal(v.events, s->events);
	assert_int_equal(v.inside, s->inside);
	assert_int_equal(v.has_digest, s->digest != 0);
	assert_int_equal(v.digest, s->digest);
	assert_int_equal(v.run, s->run);
	if (s->kind != TRACE_STREAM_SYNC)
		assert_int_equal(v.polls, s->polls);
	if (s->kind == TRACE_STREAM_ORDER || s->kind == TRACE_STREAM_GUIDE) {
		check_order(&v, s);
	} else if (s->kind == TRACE_STREAM_FILES) {
		check_files(&v, s);
	} else if (s->kind == TRACE_STREAM_INPUT) {
		check_input(&v, s);
	} else if (s->kind == TRACE_STREAM_SYNC) {
		check_sync(&v, s);
	} else {
		assert_int_equal(v.length, strlen(s->text));
		assert_memory_equal(v.bytes, s->text, v.length);
	}
	trace_view_close(&v);
}

static void check_strings(char *const *got, char *const *want)
{
	assert_int_equal(rp_strings_count(got), rp_strings_count(want));
	for (size_t i = 0; want[i]; i++)
		assert_string_equal(got[i], want[i]);
}

static void check_meta(const struct trace_dir *dir, const struct trace_meta *want)
{
	struct trace_meta meta;

	assert_int_equal(trace_meta_read(dir, &meta), 0);
	assert_string_equal(meta.version, want->version);
	check_strings(meta.argv, want->argv);
	assert_string_equal(meta.mpi, want->mpi);
	assert_int_equal(meta.front, want->front);
	assert_string_equal(meta.cwd, want->cwd);
	assert_string_equal(meta.host, want->host);
	assert_string_equal(meta.start, want->start);
	assert_int_equal(meta.noisy, want->noisy);
	assert_int_equal(meta.noise, want->noise);
	assert_int_equal(meta.ended, want->ended);
	assert_int_equal(meta.status, want->status);
	assert_true(meta.seconds == want->seconds);
	trace_meta_free(&meta);
}

static void check_start(const struct trace_dir *dir, const struct trace_start *want)
{
	struct trace_start start;

	assert_int_equal(trace_start_read(dir, want->rank, &start), 0);
	check_strings(start.argv, want->argv);
	check_strings(start.env, want->env);
	assert_string_equal(start.cwd, want->cwd);
	assert_string_equal(start.host, want->host);
	assert_string_equal(start.program, want->program);
	assert_string_equal(start.build_id, want->build_id);
	assert_string_equal(start.mpi, want->mpi);
	assert_string_equal(start.input, want->input);
	assert_int_equal(start.stack, want->stack);
	trace_start_free(&start);
}

/* The streams of the list are there, in its order, and no others. */
static void check_names(const struct golden *golden, const struct trace_dir *dir)
{
	struct trace_ranks ranks;
	struct trace_streams streams;
	size_t n = 0;
	int rankfd;

	assert_int_equal(trace_dir_ranks(dir, &ranks), 0);
	assert_int_equal(ranks.n, golden->ranks);
	assert_true(ranks.contiguous);
	trace_ranks_free(&ranks);
	for (unsigned rank = 0; rank < golden->ranks; rank++) {
		assert_int_equal(trace_dir_streams(dir, rank, &streams, &rankfd), 0);
		for (size_t i = 0; i < streams.n; i++, n++) {
			assert_in_range(n, 0, golden->streams - 1);
			assert_int_equal(golden->stream[n].rank, rank);
			assert_string_equal(streams.stream[i].name, golden->stream[n].name);
		}
		trace_streams_free(&streams);
		close(rankfd);
	}
	assert_int_equal(n, golden->streams);
}

static void check_golden(const struct golden *golden, const struct trace_dir *dir)
{
	check_meta(dir, &golden->meta);
	for (unsigned rank = 0; rank < golden->ranks; rank++)
		check_start(dir, &golden->start[rank]);
	check_names(golden, dir);
	for (size_t i = 0; i < golden->streams; i++)
		check_stream(golden, dir, &golden->stream[i]);
}

static void test_golden_traces_are_readable(void **state)
{
	(void)state;
	for (size_t i = 0; i < GOLDEN_COUNT(goldens); i++) {
		struct trace_dir dir;

		enter_golden(&dir, goldens[i]->version);
		check_golden(goldens[i], &dir);
		trace_dir_close(&dir);
	}
}

static void test_every_golden_trace_has_a_list(void **state)
{
	char *root = golden_root();
	DIR *entries = opendir(root);
	struct dirent *entry;
	unsigned version;

	(void)state;
	assert_non_null(entries);
	while ((entry = readdir(entries))) {
		if (sscanf(entry->d_name, "format-%u", &version) == 1 && !find_golden(version))
			fail_msg("%s/%s is not looked at", root, entry->d_name);
	}
	closedir(entries);
	free(root);
}

static void test_this_version_has_a_golden_trace(void **state)
{
	struct trace_dir dir;

	(void)state;
	enter_golden(&dir, TRACE_VERSION);
	trace_dir_close(&dir);
	assert_non_null(find_golden(TRACE_VERSION));
}

/* Whoever changes what is written must raise the version: pid, time and their check aside. */
static void test_this_version_still_writes_the_same(void **state)
{
	const struct golden *golden = find_golden(TRACE_VERSION);
	const size_t from = offsetof(struct trace_header, check) + sizeof(uint64_t);
	struct trace_dir dir, again;
	char *path = rp_format("%s/again", ((struct scratch *)*state)->path);

	assert_non_null(golden);
	enter_golden(&dir, TRACE_VERSION);
	assert_int_equal(write_golden(golden, path), 0);
	assert_int_equal(trace_dir_open(&again, path), 0);
	check_golden(golden, &again);
	for (size_t i = 0; i < golden->streams; i++) {
		struct trace_view old, new;

		open_stream(&old, &dir, &golden->stream[i]);
		open_stream(&new, &again, &golden->stream[i]);
		assert_int_equal(new.mapped, old.mapped);
		assert_memory_equal((const uint8_t *)new.header + from,
				    (const uint8_t *)old.header + from, old.mapped - from);
		trace_view_close(&old);
		trace_view_close(&new);
	}
	assert_int_equal(write_golden(golden, path), -EEXIST);
	trace_dir_close(&dir);
	trace_dir_close(&again);
	free(path);
}

static const uint8_t *skip_varints(const uint8_t *p, const uint8_t *end, int n)
{
	uint64_t value;

	while (n--) {
		size_t taken = rp_varint_get(p, end, &value);

		assert_int_not_equal(taken, 0);
		p += taken;
	}
	return p;
}

/* Marks the bytes that records begin with, by format.h alone. */
static void mark_order(const struct trace_view *v, bool *seen)
{
	const uint8_t *p = v->bytes, *end = p + v->length;

	while (p < end) {
		uint8_t head = *p++;

		seen[head] = true;
		if (head >= TRACE_BYTE_LONG && head < TRACE_BYTE_RUN)
			p = skip_varints(p, end, 3);
		else if (head == TRACE_BYTE_RUNS)
			p = skip_varints(p, end, 1);
	}
}

static void mark_input(const struct trace_view *v, bool *seen)
{
	const uint8_t *p = v->bytes, *end = p + v->length;

	while (p < end) {
		uint8_t head = *p++;
		uint64_t length = 0;

		seen[head] = true;
		if (head >= TRACE_IN_BYTES && head < 0x20)
			p += rp_varint_get(p, end, &length) + length;
		else if (head < 0x20 || head & 0x10)
			p = skip_varints(p, end, 1);
	}
}

static bool any(const bool *seen, unsigned from, unsigned to)
{
	while (from <= to && !seen[from])
		from++;
	return from <= to;
}

/* A golden trace that leaves a form out would not notice that it can no longer be read. */
static void test_every_form_is_in_it(void **state)
{
	static const uint8_t ends[] = {0x00, 0x3f, 0x40, 0x6f, 0x70, 0x8f, 0x90, 0x9f,
				       0xa0, 0xaf, 0xb0, 0xcf, 0xf0, 0xfe, 0xff};
	const struct golden *golden = find_golden(TRACE_VERSION);
	bool order[256] = {false}, input[256] = {false};
	struct trace_dir dir;

	(void)state;
	enter_golden(&dir, TRACE_VERSION);
	for (size_t i = 0; i < golden->streams; i++) {
		struct trace_view v;

		open_stream(&v, &dir, &golden->stream[i]);
		if (golden->stream[i].kind == TRACE_STREAM_ORDER)
			mark_order(&v, order);
		else if (golden->stream[i].kind == TRACE_STREAM_INPUT)
			mark_input(&v, input);
		trace_view_close(&v);
	}
	trace_dir_close(&dir);
	for (size_t i = 0; i < GOLDEN_COUNT(ends); i++)
		assert_true(order[ends[i]]);
	for (unsigned kind = 0; kind < TRACE_KINDS; kind++)
		assert_true(order[TRACE_BYTE_LONG + kind]);
	for (unsigned kind = 0; kind < TRACE_IN_ERRNO; kind++) {
		assert_true(any(input, (kind + 1) << 5, ((kind + 1) << 5) + 15));
		assert_true(any(input, ((kind + 1) << 5) + 16, ((kind + 1) << 5) + 31));
	}
	for (unsigned kind = TRACE_IN_ERRNO; kind < TRACE_IN_NUMBERS; kind++)
		assert_true(input[kind]);
	for (unsigned kind = TRACE_IN_BYTES; kind < TRACE_IN_KINDS; kind++)
		assert_true(input[kind]);
}

/* Records name calls by number. */
static void test_calls_keep_their_numbers(void **state)
{
	(void)state;
	assert_string_equal(trace_call_name(FORMAT_1_CALL_PUT), "MPI_Put");
}

/* Ids and digests are in every recording: a formula that gives another value makes all of them
 * diverge. */
static void test_formulas_keep_their_values(void **state)
{
	(void)state;
	assert_true(trace_sync_maker("0") == 0xaf63ad4c86019cafull);
	assert_true(trace_sync_object_id(trace_sync_maker("0.1"), 1) == 0xa045557ac04c8c73ull);
	assert_true(trace_sync_object_id(trace_sync_maker("0.1"), 2) == 0x3e7ccf343f970888ull);
	assert_true(trace_sync_object_id(5, (uint64_t)-5) == 1);
	assert_true(trace_sync_op_id(7) == 8ull << 54);
	assert_true(trace_call_digest(3, 12, -1, 7, 100) == 0x986b42031def1d38ull);
	assert_int_equal(trace_digest_argument(0, 7), 21);
	assert_int_equal(trace_digest_argument(1, 7), 35);
	assert_int_equal(trace_digest_receive(7), 7);
	assert_int_equal(trace_digest_exchange(7, 5), 22);
	assert_int_equal(trace_digest_requests(true, 7), 7);
	assert_int_equal(trace_digest_requests(false, 7), 0);
	assert_int_equal(trace_digest_partition(7), 7);
}

static int write_new(const char *path)
{
	const struct golden *golden = find_golden(TRACE_VERSION);
	int rc = golden ? write_golden(golden, path) : -ENOENT;

	if (!golden)
		fprintf(stderr, "there is no list for format %d\n", TRACE_VERSION);
	else if (rc)
		fprintf(stderr, "cannot write %s: %s\n", path, strerror(-rc));
	return rc ? 1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_traces_are_readable),
		cmocka_unit_test(test_every_golden_trace_has_a_list),
		cmocka_unit_test(test_this_version_has_a_golden_trace),
		scratch_test(test_this_version_still_writes_the_same),
		cmocka_unit_test(test_every_form_is_in_it),
		cmocka_unit_test(test_calls_keep_their_numbers),
		cmocka_unit_test(test_formulas_keep_their_values),
	};
	const char *path = getenv("GOLDEN_WRITE");

	return path ? write_new(path) : cmocka_run_group_tests(tests, NULL, NULL);
}
