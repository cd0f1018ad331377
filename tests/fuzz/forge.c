/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace lies in memory, and each file is made by one write. Of ranks there are as many as the
 * files say; meta.json and start.json are there even if no file says so.
 */
#include "forge.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "replay/evaluate.h"
#include "trace/dir.h"
#include "trace/meta.h"
#include "trace/order.h"
#include "trace/stream-inner.h"
#include "trace/unseen.h"
#include "trace/window.h"

#define RANKS 2
#define HEAD 21
#define FILES_MOST 48
#define IMAGE (256u << 10)
#define WINDOW_PAGE 4096

enum place { RANK, GRAPH, ROOT, SESSION, INPUTS, PLACES };

/* Kind 0: no stream. tests/fuzz/seed takes the names from here. */
static const struct {
	const char *name;
	enum place place;
	enum trace_stream_kind kind;
	uint32_t process;
	const char *thread;
} files[] = {
	{"0.order", RANK, TRACE_STREAM_ORDER, 0, "0"},
	{"0.input", RANK, TRACE_STREAM_INPUT, 0, "0"},
	{"0.sync", RANK, TRACE_STREAM_SYNC, 0, "0"},
	{"0.1.sync", RANK, TRACE_STREAM_SYNC, 0, "0.1"},
	{"0.heap", RANK, TRACE_STREAM_HEAP, 0, "0"},
	{"0.files", RANK, TRACE_STREAM_FILES, 0, "0"},
	{"0.output", RANK, TRACE_STREAM_OUTPUT, 0, "0"},
	{"0.guide", RANK, TRACE_STREAM_GUIDE, 0, "0"},
	{"threads", RANK, TRACE_STREAM_THREADS, 0, "0"},
	{"threads.live", RANK, TRACE_STREAM_LIVE, 0, "0"},
	{"stdin", RANK, TRACE_STREAM_STDIN, 0, ""},
	{"p1-0.order", RANK, TRACE_STREAM_ORDER, 1, "0"},
	{"0.events", GRAPH, TRACE_STREAM_EVENTS, 0, "0"},
	{"0.1.events", GRAPH, TRACE_STREAM_EVENTS, 0, "0.1"},
	{"0.sites", GRAPH, TRACE_STREAM_SITES, 0, "0"},
	{"0.objects", GRAPH, TRACE_STREAM_OBJECTS, 0, "0"},
	{"unseen", RANK, 0, 0, NULL},
	{"start.json", RANK, 0, 0, NULL},
	{"p0-modules", GRAPH, 0, 0, NULL},
	{"0.window", RANK, 0, 0, NULL},
	{"meta.json", ROOT, 0, 0, NULL},
	{"written", ROOT, TRACE_STREAM_WRITTEN, 0, "0"},
	{"0.polls", GRAPH, TRACE_STREAM_POLLS, 0, "0"},
	{"made.sites", GRAPH, TRACE_STREAM_SITES, 0, "0"},
	{"0.1.objects", GRAPH, TRACE_STREAM_OBJECTS, 0, "0.1"},
	{"0.1.sites", GRAPH, TRACE_STREAM_SITES, 0, "0.1"},
	{"0.1.order", RANK, TRACE_STREAM_ORDER, 0, "0.1"},
	{"0.1.input", RANK, TRACE_STREAM_INPUT, 0, "0.1"},
	{"0.1.heap", RANK, TRACE_STREAM_HEAP, 0, "0.1"},
	{"0.2.sync", RANK, TRACE_STREAM_SYNC, 0, "0.2"},
	{"p1-0.input", RANK, TRACE_STREAM_INPUT, 1, "0"},
	{"p1-0.output", RANK, TRACE_STREAM_OUTPUT, 1, "0"},
	{"p1-threads", RANK, TRACE_STREAM_THREADS, 1, "0"},
	{"p1-0.events", GRAPH, TRACE_STREAM_EVENTS, 1, "0"},
	{"0~0123456789abcdef.1.sync", RANK, TRACE_STREAM_SYNC, 0, "0~0123456789abcdef.1"},
	{"output-0000-0", SESSION, TRACE_STREAM_OUTPUT, 0, "0"},
	{"output-0000-1", SESSION, TRACE_STREAM_OUTPUT, 1, "0"},
	{"output-0001-0", SESSION, TRACE_STREAM_OUTPUT, 0, "0"},
	{"0123456789abcdef", INPUTS, 0, 0, NULL},
};

/* Streams of threads that are no files of their own. */
static const struct {
	enum trace_stream_kind kind;
	const char *thread;
} shelved[] = {
	{TRACE_STREAM_SYNC, "0.1"},  {TRACE_STREAM_SYNC, "0.2"},   {TRACE_STREAM_SYNC, "0.2.1"},
	{TRACE_STREAM_INPUT, "0.1"}, {TRACE_STREAM_INPUT, "0.2"},  {TRACE_STREAM_HEAP, "0.1"},
	{TRACE_STREAM_SYNC, "0.3"},  {TRACE_STREAM_ORDER, "0.1"},  {TRACE_STREAM_SYNC, "0"},
	{TRACE_STREAM_SYNC, "x"},    {TRACE_STREAM_SYNC, "0.999"},
};

struct part {
	unsigned which, how;
	uint64_t events, turn;
	uint32_t run, polls;
	const uint8_t *page, *data;
	size_t page_n, n;
};

static struct {
	char path[64], output[80];
	int root, graph_root, dir[PLACES][RANKS];
	bool second; /* rank 1 is there */
	struct {
		int dirfd;
		const char *name;
	} written[FILES_MOST];
	size_t files;
	uint8_t image[IMAGE];
} forge;

void forge_require(int condition)
{
	if (!condition)
		abort();
}

/* No verb that is fuzzed starts a program: what it would make is in the input. */
int __wrap_replay_evaluate(const char *trace, const struct replay_evaluate *how);

int __wrap_replay_evaluate(const char *trace, const struct replay_evaluate *how)
{
	(void)trace;
	(void)how;
	return 0;
}

const struct trace_view *forge_view;

int __real_trace_view_open(struct trace_view *v, int dirfd, const char *name, const char **why);
int __wrap_trace_view_open(struct trace_view *v, int dirfd, const char *name, const char **why);
void __real_trace_view_close(struct trace_view *v);
void __wrap_trace_view_close(struct trace_view *v);

int __wrap_trace_view_open(struct trace_view *v, int dirfd, const char *name, const char **why)
{
	if (!forge_view)
		return __real_trace_view_open(v, dirfd, name, why);
	*v = *forge_view;
	return 0;
}

void __wrap_trace_view_close(struct trace_view *v)
{
	if (forge_view)
		memset(v, 0, sizeof(*v));
	else
		__real_trace_view_close(v);
}

static int made(int dirfd, const char *name)
{
	int fd;

	forge_require(mkdirat(dirfd, name, 0700) == 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	forge_require(fd >= 0);
	return fd;
}

static void remove_tree(const char *path)
{
	struct trace_dir dir;

	if (trace_dir_enter(&dir, path) == 0) {
		forge_require(trace_dir_remove(&dir) == 0);
		trace_dir_close(&dir);
	}
}

static void leave(void)
{
	remove_tree(forge.path);
	remove_tree(forge.output);
}

static void write_start(unsigned rank)
{
	char *argv[] = {"./program", NULL}, *env[] = {"HOME=/", NULL};
	const struct trace_start start = {.rank = rank,
					  .argv = argv,
					  .env = env,
					  .cwd = "/",
					  .host = "host",
					  .program = "/program",
					  .build_id = "00",
					  .mpi = "openmpi",
					  .input = "empty"};

	forge_require(trace_start_write(forge.dir[RANK][rank], &start) == 0);
}

static void write_meta(void)
{
	char *argv[] = {"mpirun", "-n", "2", "./program", NULL};
	const struct trace_dir dir = {.path = forge.path, .show = forge.path, .fd = forge.root};
	const struct trace_meta meta = {.version = "0",
					.argv = argv,
					.mpi = "openmpi",
					.front = true,
					.cwd = "/",
					.host = "host",
					.start = "2026-01-01T00:00:00Z",
					.ended = TRACE_ENDED_EXIT};

	forge_require(trace_meta_write(&dir, &meta) == 0);
}

static void begin_rank(unsigned rank)
{
	char name[TRACE_RANK_NAME_BYTES];

	trace_dir_rank_name(rank, name);
	forge.dir[RANK][rank] = made(forge.root, name);
	forge.dir[GRAPH][rank] = made(forge.graph_root, name);
	write_start(rank);
}

void forge_open(const char *name)
{
	snprintf(forge.path, sizeof(forge.path), "%s/fuzz-%s-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name);
	forge_require(mkdtemp(forge.path) != NULL);
	/* Whoever goes through so many finds nothing new, and takes long. */
	trace_order_most = 1u << 16;
	snprintf(forge.output, sizeof(forge.output), "%s.out", forge.path);
	/* The key of this user's seals is none of ours. */
	setenv("XDG_STATE_HOME", forge.path, 1);
	forge.root = open(forge.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	forge_require(forge.root >= 0);
	forge.graph_root = made(forge.root, "graph");
	forge.dir[SESSION][0] = forge.dir[SESSION][1] = made(forge.root, "replay-session");
	forge.dir[INPUTS][0] = forge.dir[INPUTS][1] = made(forge.root, "inputs");
	forge.dir[ROOT][0] = forge.dir[ROOT][1] = forge.root;
	begin_rank(0);
	write_meta();
	atexit(leave);
	/* A verb that has so much to print prints more of the same: it stops, since that fails. */
	forge_require(freopen("/dev/full", "w", stdout) != NULL);
	setvbuf(stdout, NULL, _IOFBF, 64u << 10);
}

const char *forge_path(void)
{
	return forge.path;
}

const char *forge_output(void)
{
	return forge.output;
}

int forge_rank_fd(unsigned rank)
{
	return rank < RANKS && (!rank || forge.second) ? forge.dir[RANK][rank] : -1;
}

int forge_graph_fd(unsigned rank)
{
	return rank < RANKS && (!rank || forge.second) ? forge.dir[GRAPH][rank] : -1;
}

int forge_session_fd(void)
{
	return forge.dir[SESSION][0];
}

static uint64_t number(const uint8_t *p, int bytes)
{
	uint64_t n = 0;

	for (int i = bytes; i--;)
		n = n << 8 | p[i];
	return n;
}

/* Where the next one begins, or NULL if there is none. */
static const uint8_t *take_part(const uint8_t *p, const uint8_t *end, struct part *part)
{
	size_t room;

	if (end - p < HEAD)
		return NULL;
	*part = (struct part){.which = p[0],
			      .how = p[1],
			      .events = number(p + 2, 6),
			      .run = (uint32_t)number(p + 8, 4),
			      .polls = (uint32_t)number(p + 12, 4),
			      .turn = number(p + 16, 2)};
	part->page_n = (size_t)p[18] * 8;
	part->n = (size_t)number(p + 19, 2);
	p += HEAD;
	room = (size_t)(end - p);
	if (part->page_n > room)
		part->page_n = room;
	if (part->n > room - part->page_n)
		part->n = room - part->page_n;
	part->page = p;
	part->data = p + part->page_n;
	return part->data + part->n;
}

/* Of what is pending in the page of a stream of synchronisation, as the reader computes it. */
static uint32_t pending_run(const uint8_t *bytes, size_t n)
{
	uint16_t hash = 0;

	for (size_t i = 0; i < n; i++)
		hash = (uint16_t)((hash ^ bytes[i]) * 0x6255u + 0x3619u);
	return (uint32_t)hash << 16 | (uint32_t)n;
}

/* A header page that counts the data, which may lie elsewhere than behind it. */
static void make_stream(uint8_t *page, uint8_t *data, enum trace_stream_kind kind, unsigned rank,
			uint32_t process, const char *thread, const struct part *part)
{
	struct trace_stream s = {.header = (struct trace_header *)page,
				 .window = data,
				 .window_end = IMAGE,
				 .fd = -1};
	uint32_t run = part->run;

	trace_stream_fill_header(s.header, kind, 1000 + rank, rank, process, thread);
	trace_stream_append(&s, part->data, part->n);
	if (kind == TRACE_STREAM_SYNC && part->page_n) {
		memcpy(page + TRACE_SYNC_PENDING_AT, part->page, part->page_n);
		run = pending_run(part->page, part->page_n);
	}
	if (kind == TRACE_STREAM_OUTPUT) {
		uint64_t word[sizeof(struct trace_output_page) / sizeof(uint64_t)] = {0};

		memcpy(word, part->page, part->page_n < sizeof(word) ? part->page_n : sizeof(word));
		for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
			word[i] = trace_word_pack(word[i]);
		memcpy(page + TRACE_OUTPUT_AT, word, sizeof(word));
	}
	trace_stream_set_events(&s, part->events >> 1, part->events & 1);
	trace_stream_set_run(&s, run);
	trace_stream_set_polls(&s, part->polls, run);
	if (part->turn)
		trace_stream_set_turn(&s, part->turn - 1);
}

static const uint8_t *take_shelved(const uint8_t *p, const uint8_t *end, struct part *part,
				   size_t *which)
{
	p = take_part(p, end, part);
	if (p)
		*which = part->which % (sizeof(shelved) / sizeof(shelved[0]));
	return p;
}

/* Ended ones: records behind each other. */
static size_t make_ended(uint8_t *out, unsigned rank, uint32_t process, const struct part *whole)
{
	const uint8_t *p = whole->data, *end = p + whole->n;
	static uint8_t page[TRACE_HEADER_BYTES], data[TRACE_HEADER_BYTES];
	struct part part;
	size_t which, size = 0;

	while ((p = take_shelved(p, end, &part, &which))) {
		struct trace_shelved s = {0};

		if (part.n > TRACE_HEADER_BYTES || size > IMAGE / 2)
			break;
		if (shelved[which].kind != TRACE_STREAM_SYNC)
			part.page_n = 0;
		memset(page, 0, sizeof(page));
		make_stream(page, data, shelved[which].kind, rank, process, shelved[which].thread,
			    &part);
		memcpy(&s.header, page, sizeof(s.header));
		s.pending = (uint32_t)part.page_n;
		s.data = (uint32_t)part.n;
		memcpy(out + size, &s, sizeof(s));
		memcpy(out + size + sizeof(s), part.page, part.page_n);
		memcpy(out + size + sizeof(s) + part.page_n, part.data, part.n);
		size += (sizeof(s) + part.page_n + part.n + 7) & ~7ull;
	}
	return size;
}

/* Open ones: a page each. */
static size_t make_live(uint8_t *out, unsigned rank, uint32_t process, const struct part *whole)
{
	const uint8_t *p = whole->data, *end = p + whole->n;
	static uint8_t data[TRACE_HEADER_BYTES];
	struct part part;
	size_t which, size = 0;

	while ((p = take_shelved(p, end, &part, &which)) && size < IMAGE / 2) {
		uint32_t at = trace_live_data_at(shelved[which].kind);

		if (part.n > TRACE_HEADER_BYTES - at)
			part.n = TRACE_HEADER_BYTES - at;
		make_stream(out + size, data, shelved[which].kind, rank, process,
			    shelved[which].thread, &part);
		memcpy(out + size + at, part.data, part.n);
		size += TRACE_HEADER_BYTES;
	}
	return size;
}

static size_t make_stream_file(size_t file, unsigned rank, struct part *part)
{
	uint8_t *page = forge.image, *data = page + TRACE_HEADER_BYTES;
	struct part whole = *part;

	if (files[file].kind == TRACE_STREAM_THREADS) {
		static uint8_t records[IMAGE];

		memset(records, 0, IMAGE / 2 + 2 * TRACE_HEADER_BYTES);
		whole.n = make_ended(records, rank, files[file].process, part);
		whole.data = records;
	} else if (files[file].kind == TRACE_STREAM_LIVE) {
		size_t bytes = make_live(data, rank, files[file].process, part);

		whole.n = 0;
		whole.events = (part->how & 8 ? part->events : 0) + bytes / TRACE_HEADER_BYTES * 2;
		make_stream(page, data, files[file].kind, rank, files[file].process,
			    files[file].thread, &whole);
		return TRACE_HEADER_BYTES + bytes;
	}
	make_stream(page, data, files[file].kind, rank, files[file].process, files[file].thread,
		    &whole);
	return TRACE_HEADER_BYTES + whole.n;
}

/* Slots, of which the checks are right. */
static size_t make_unseen(const struct part *part)
{
	struct trace_unseen *slots = (void *)(forge.image + WINDOW_PAGE);
	const struct {
		char magic[8];
		uint32_t version, slots;
	} head = {"REPRISEU", TRACE_VERSION, TRACE_UNSEEN_SLOTS};

	memcpy(forge.image, &head, sizeof(head));
	for (size_t at = 0; at < part->n; at += sizeof(*slots)) {
		size_t n = part->n - at < sizeof(*slots) ? part->n - at : sizeof(*slots);
		struct trace_unseen fill = {0}, *slot;

		memcpy(&fill, part->data + at, n);
		slot = trace_unseen_take(slots, &fill);
		if (slot)
			slot->count += fill.count;
	}
	return WINDOW_PAGE + TRACE_UNSEEN_SLOTS * sizeof(*slots);
}

static size_t make_window(const struct part *part)
{
	uint32_t slots = (uint32_t)(part->n / 16);
	struct trace_window w = {.word = (void *)(forge.image + WINDOW_PAGE), .slots = slots};
	const struct {
		char magic[8];
		uint32_t version, slots;
	} head = {"REPRISEW", TRACE_VERSION, slots};

	memcpy(forge.image, &head, sizeof(head));
	for (uint32_t i = 0; i < slots; i++) {
		const uint8_t *p = part->data + 16 * i;

		trace_window_set(&w, i, number(p, 5), (uint32_t)number(p + 5, 3),
				 (uint32_t)number(p + 8, 4));
	}
	return WINDOW_PAGE + (size_t)slots * 16;
}

/* The object with its check set right, or the bytes as they are if they are no object. */
static size_t make_json(const struct part *part)
{
	json_t *object =
		json_loadb((const char *)part->data, part->n, JSON_REJECT_DUPLICATES, NULL);
	char check[17], *dump = NULL;
	size_t n = part->n;

	if (json_is_object(object)) {
		json_object_del(object, "check");
		dump = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	}
	if (dump) {
		snprintf(check, sizeof(check), "%016" PRIx64,
			 (uint64_t)XXH64(dump, strlen(dump), 0));
		free(dump);
		json_object_set_new(object, "check", json_string(check));
		dump = json_dumps(object, JSON_COMPACT);
	}
	json_decref(object);
	if (dump && strlen(dump) < IMAGE)
		memcpy(forge.image, dump, n = strlen(dump));
	else
		memcpy(forge.image, part->data, n);
	free(dump);
	return n;
}

static size_t make_image(size_t file, unsigned rank, struct part *part)
{
	const char *name = files[file].name;

	if (part->how % 8 && files[file].kind)
		return make_stream_file(file, rank, part);
	if (part->how % 8 && !strcmp(name, "unseen"))
		return make_unseen(part);
	if (part->how % 8 && strstr(name, ".window"))
		return make_window(part);
	if (part->how % 8 && strstr(name, ".json"))
		return make_json(part);
	memcpy(forge.image, part->data, part->n);
	return part->n;
}

static void write_file(struct part *part)
{
	size_t file = (part->which & 127) % (sizeof(files) / sizeof(files[0])), size;
	unsigned rank = part->which >> 7;
	int dirfd, fd;

	if (rank && !forge.second) {
		begin_rank(1);
		forge.second = true;
	}
	dirfd = forge.dir[files[file].place][rank];
	size = make_image(file, rank, part);
	fd = openat(dirfd, files[file].name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	forge_require(fd >= 0 && write(fd, forge.image, size) == (ssize_t)size);
	close(fd);
	memset(forge.image, 0, size);
	forge.written[forge.files].dirfd = dirfd;
	forge.written[forge.files++].name = files[file].name;
}

void forge_write(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	struct part part;

	__fpurge(stdout);
	clearerr(stdout);
	while (forge.files < FILES_MOST && (data = take_part(data, end, &part)))
		write_file(&part);
}

static void end_second(void)
{
	char name[TRACE_RANK_NAME_BYTES];

	unlinkat(forge.dir[RANK][1], "start.json", 0);
	close(forge.dir[RANK][1]);
	close(forge.dir[GRAPH][1]);
	trace_dir_rank_name(1, name);
	forge_require(unlinkat(forge.graph_root, name, AT_REMOVEDIR) == 0);
	forge_require(unlinkat(forge.root, name, AT_REMOVEDIR) == 0);
	forge.second = false;
}

void forge_clean(void)
{
	bool meta = false, start = false;

	for (size_t i = 0; i < forge.files; i++) {
		unlinkat(forge.written[i].dirfd, forge.written[i].name, 0);
		meta = meta || !strcmp(forge.written[i].name, "meta.json");
		start = start || (!strcmp(forge.written[i].name, "start.json") &&
				  forge.written[i].dirfd == forge.dir[RANK][0]);
	}
	forge.files = 0;
	if (forge.second)
		end_second();
	if (meta)
		write_meta();
	if (start)
		write_start(0);
	if (access(forge.output, F_OK) == 0)
		remove_tree(forge.output);
}
