/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace directory holds: ranks and their streams, by name alone. Other names are skipped.
 * Only the one spelling that the writer uses counts, so no rank or stream can be listed twice.
 */
#include "trace/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/shelf.h"
#include "trace/words.h"

void trace_dir_rank_name(unsigned rank, char name[TRACE_RANK_NAME_BYTES])
{
	snprintf(name, TRACE_RANK_NAME_BYTES, "rank-%04u", rank);
}

/* A decimal number without needless zeros; *end is behind it. */
static bool parse_number(const char *s, uint32_t *value, const char **end)
{
	uint64_t v = 0;
	const char *p = s;

	while (*p >= '0' && *p <= '9' && v <= UINT32_MAX)
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (p == s || v > UINT32_MAX || (*s == '0' && p - s > 1))
		return false;
	*value = (uint32_t)v;
	*end = p;
	return true;
}

static bool parse_rank(const char *name, unsigned *rank)
{
	char canonical[TRACE_RANK_NAME_BYTES];
	unsigned long v;

	if (strncmp(name, "rank-", 5) || strlen(name) >= TRACE_RANK_NAME_BYTES)
		return false;
	v = strtoul(name + 5, NULL, 10);
	if (v > INT32_MAX)
		return false;
	trace_dir_rank_name((unsigned)v, canonical);
	*rank = (unsigned)v;
	return !strcmp(name, canonical);
}

static int compare_ranks(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

static int cannot_list(const struct trace_dir *dir, const char *what)
{
	rp_say("cannot read %s in the trace %s: %s", what, dir->show, strerror(errno));
	return RP_EXIT_BAD_INPUT;
}

static DIR *open_entries(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries && fd >= 0)
		close(fd);
	return entries;
}

int trace_dir_ranks(const struct trace_dir *dir, struct trace_ranks *ranks)
{
	DIR *entries = open_entries(dir->fd, ".");
	struct dirent *entry;
	unsigned rank;

	*ranks = (struct trace_ranks){.contiguous = true};
	if (!entries)
		return cannot_list(dir, "the list of ranks");
	while ((entry = readdir(entries))) {
		if (!parse_rank(entry->d_name, &rank))
			continue;
		ranks->rank = rp_realloc(ranks->rank, ranks->n + 1, sizeof(*ranks->rank));
		ranks->rank[ranks->n++] = rank;
	}
	closedir(entries);
	if (ranks->n)
		qsort(ranks->rank, ranks->n, sizeof(*ranks->rank), compare_ranks);
	for (size_t i = 0; i < ranks->n; i++)
		ranks->contiguous = ranks->contiguous && ranks->rank[i] == i;
	return 0;
}

void trace_ranks_free(struct trace_ranks *ranks)
{
	free(ranks->rank);
	*ranks = (struct trace_ranks){.contiguous = true};
}

#define DEEP_BYTES 17

/* "~" and 16 digits. */
static bool is_deep(const char *s)
{
	return *s == '~' && strspn(s + 1, "0123456789abcdef") >= DEEP_BYTES - 1;
}

/*
 * "0", "0.2", "0.2.11", up to a dot that is not followed by a digit; "0~0123456789abcdef.1" if the
 * name of a thread deep in the tree would be too long, see hook/thread/life/create.c.
 */
static bool parse_thread(const char *s, const char **end)
{
	const char *start = s;
	uint32_t number;

	for (;;) {
		if (!parse_number(s, &number, end))
			return false;
		if (s == start && is_deep(*end))
			*end += DEEP_BYTES;
		if ((*end)[0] != '.' || (*end)[1] < '0' || (*end)[1] > '9')
			return true;
		s = *end + 1;
	}
}

static bool is_shelf(const char *name, uint32_t *kind)
{
	*kind = !strcmp(name, TRACE_SHELF_ENDED) ? TRACE_STREAM_THREADS : TRACE_STREAM_LIVE;
	return *kind == TRACE_STREAM_THREADS || !strcmp(name, TRACE_SHELF_LIVE);
}

static bool parse_stream(const char *name, struct trace_stream_name *stream)
{
	const char *thread = name, *end = name;

	*stream = (struct trace_stream_name){.kind = TRACE_STREAM_STDIN, .is_file = true};
	if (strcmp(name, "stdin")) {
		if (*name == 'p') {
			if (!parse_number(name + 1, &stream->process, &end) || *end != '-' ||
			    stream->process == 0)
				return false;
			thread = end + 1;
		}
		if (is_shelf(thread, &stream->kind))
			end = thread;
		else if (!parse_thread(thread, &end) || end - thread >= TRACE_NAME_BYTES)
			return false;
		else if (!strcmp(end, ".order"))
			stream->kind = TRACE_STREAM_ORDER;
		else if (!strcmp(end, ".input"))
			stream->kind = TRACE_STREAM_INPUT;
		else if (!strcmp(end, ".heap"))
			stream->kind = TRACE_STREAM_HEAP;
		else if (!strcmp(end, ".sync"))
			stream->kind = TRACE_STREAM_SYNC;
		else if (!strcmp(end, ".output"))
			stream->kind = TRACE_STREAM_OUTPUT;
		else if (!strcmp(end, ".guide"))
			stream->kind = TRACE_STREAM_GUIDE;
		else if (!strcmp(end, ".events"))
			stream->kind = TRACE_STREAM_EVENTS;
		else if (!strcmp(end, ".sites"))
			stream->kind = TRACE_STREAM_SITES;
		else if (!strcmp(end, ".objects"))
			stream->kind = TRACE_STREAM_OBJECTS;
		else if (!strcmp(end, ".polls"))
			stream->kind = TRACE_STREAM_POLLS;
		else if (!strcmp(end, ".files"))
			stream->kind = TRACE_STREAM_FILES;
		else
			return false;
	}
	stream->name = rp_strdup(name);
	stream->thread = rp_format("%.*s", (int)(end - thread), thread);
	return true;
}

/* Component by component: 0 < 0.1 < 0.1.1 < 0.2 < 0.10. */
static int compare_threads(const char *a, const char *b)
{
	while (*a && *b) {
		char *next_a, *next_b;
		unsigned long x = strtoul(a, &next_a, 10), y = strtoul(b, &next_b, 10);

		if (*a == '~' || *b == '~')
			return strcmp(a, b);
		if (x != y)
			return x < y ? -1 : 1;
		a = next_a + (*next_a == '.');
		b = next_b + (*next_b == '.');
	}
	return (*a != '\0') - (*b != '\0');
}

static int compare_streams(const void *a, const void *b)
{
	const struct trace_stream_name *x = a, *y = b;
	int order;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	order = compare_threads(x->thread, y->thread);
	if (!order)
		order = (x->kind > y->kind) - (x->kind < y->kind);
	return order ? order : y->is_file - x->is_file;
}

static void add(struct trace_streams *streams, struct trace_stream_name stream)
{
	streams->stream = rp_realloc(streams->stream, streams->n + 1, sizeof(*streams->stream));
	streams->stream[streams->n++] = stream;
}

struct shelf {
	struct trace_streams *streams;
	uint32_t process;
};

static void add_shelved(void *arg, uint32_t kind, const char *thread)
{
	const struct shelf *shelf = arg;
	struct trace_stream_name stream = {.process = shelf->process, .kind = kind};
	const char *end, *word = trace_stream_word(kind);

	if (!parse_thread(thread, &end) || *end)
		return;
	stream.thread = rp_strdup(thread);
	stream.name = shelf->process ? rp_format("p%u-%s.%s", shelf->process, thread, word)
				     : rp_format("%s.%s", thread, word);
	add(shelf->streams, stream);
}

/* The code that opens these files says what is wrong with them. */
static void add_all_shelved(int rankfd, struct trace_streams *streams)
{
	size_t files = streams->n;

	for (size_t i = 0; i < files; i++) {
		struct shelf shelf = {streams, streams->stream[i].process};
		uint32_t kind = streams->stream[i].kind;
		bool done = false;

		if (kind != TRACE_STREAM_THREADS && kind != TRACE_STREAM_LIVE)
			continue;
		for (size_t k = 0; k < i; k++)
			done |= streams->stream[k].process == shelf.process &&
				(streams->stream[k].kind == TRACE_STREAM_THREADS ||
				 streams->stream[k].kind == TRACE_STREAM_LIVE);
		if (!done)
			(void)!trace_shelf_list(rankfd, shelf.process, add_shelved, &shelf);
	}
}

/* One that has become a file may still be where it was. */
static void drop_doubles(struct trace_streams *streams)
{
	size_t n = 0;

	for (size_t i = 0; i < streams->n; i++) {
		struct trace_stream_name *s = &streams->stream[i];
		const struct trace_stream_name *last = n ? &streams->stream[n - 1] : NULL;

		if (last && !s->is_file && last->process == s->process && last->kind == s->kind &&
		    !strcmp(last->thread, s->thread)) {
			free(s->name);
			free(s->thread);
		} else {
			streams->stream[n++] = *s;
		}
	}
	streams->n = n;
}

int trace_dir_streams(const struct trace_dir *dir, unsigned rank, struct trace_streams *streams,
		      int *rankfd)
{
	char name[TRACE_RANK_NAME_BYTES];
	struct trace_stream_name stream;
	struct dirent *entry;
	DIR *entries;

	*streams = (struct trace_streams){0};
	trace_dir_rank_name(rank, name);
	entries = open_entries(dir->fd, name);
	if (!entries)
		return cannot_list(dir, name);
	*rankfd = fcntl(dirfd(entries), F_DUPFD_CLOEXEC, 0);
	if (*rankfd < 0) {
		closedir(entries);
		return cannot_list(dir, name);
	}
	while ((entry = readdir(entries))) {
		if (parse_stream(entry->d_name, &stream))
			add(streams, stream);
	}
	closedir(entries);
	add_all_shelved(*rankfd, streams);
	if (streams->n)
		qsort(streams->stream, streams->n, sizeof(*streams->stream), compare_streams);
	drop_doubles(streams);
	return 0;
}

void trace_streams_free(struct trace_streams *streams)
{
	for (size_t i = 0; i < streams->n; i++) {
		free(streams->stream[i].name);
		free(streams->stream[i].thread);
	}
	free(streams->stream);
	*streams = (struct trace_streams){0};
}
