/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a whole trace: a list of files, each with a name out of a table, and either as it
 * lies on disk or with a header, counters and checksums that are right. It is summed up as `info`
 * does, and its events are read as `races`, `stats`, `reduce` and `explore` do. Nothing may crash,
 * take long or much memory.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "graph/alternative.h"
#include "graph/reduce.h"
#include "graph/report.h"
#include "trace/modules.h"
#include "trace/objects.h"
#include "trace/dir.h"
#include "trace/stream.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 8, RANKS = 2 };

/* Kind 0: no stream. */
static const struct {
	const char *name;
	const char *thread;
	enum trace_stream_kind kind;
} files[] = {
	{"0.order", "0", TRACE_STREAM_ORDER},
	{"0.input", "0", TRACE_STREAM_INPUT},
	{"0.sync", "0", TRACE_STREAM_SYNC},
	{"0.1.sync", "0.1", TRACE_STREAM_SYNC},
	{"0.heap", "0", TRACE_STREAM_HEAP},
	{"0.files", "0", TRACE_STREAM_FILES},
	{"0.output", "0", TRACE_STREAM_OUTPUT},
	{"0.guide", "0", TRACE_STREAM_GUIDE},
	{"threads", "0", TRACE_STREAM_THREADS},
	{"threads.live", "0", TRACE_STREAM_LIVE},
	{"stdin", "", TRACE_STREAM_STDIN},
	{"p1-0.order", "0", TRACE_STREAM_ORDER},
	{"graph/0.events", "0", TRACE_STREAM_EVENTS},
	{"graph/0.1.events", "0.1", TRACE_STREAM_EVENTS},
	{"graph/0.sites", "0", TRACE_STREAM_SITES},
	{"graph/0.objects", "0", TRACE_STREAM_OBJECTS},
	{"unseen", NULL, 0},
	{"start.json", NULL, 0},
	{"graph/p0-modules", NULL, 0},
};

static char path[64];
static int rank_fd[RANKS], graph_fd[RANKS];

static void require(int condition)
{
	if (!condition)
		abort();
}

static int made(int dirfd, const char *name)
{
	int fd;

	require(mkdirat(dirfd, name, 0700) == 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(fd >= 0);
	return fd;
}

static void leave(void)
{
	struct trace_dir dir;

	if (trace_dir_enter(&dir, path) == 0)
		require(trace_dir_remove(&dir) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char name[TRACE_RANK_NAME_BYTES];
	int dirfd, graph;

	(void)argc;
	(void)argv;
	snprintf(path, sizeof(path), "%s/fuzz-run-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(path) != NULL);
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(dirfd >= 0);
	graph = made(dirfd, "graph");
	for (unsigned i = 0; i < RANKS; i++) {
		trace_dir_rank_name(i, name);
		rank_fd[i] = made(dirfd, name);
		graph_fd[i] = made(graph, name);
	}
	atexit(leave);
	require(freopen("/dev/null", "w", stdout) != NULL);
	return 0;
}

static bool is_of_graph(const char *name)
{
	return strncmp(name, "graph/", 6) == 0;
}

static int dir_of(unsigned rank, const char **name)
{
	if (!is_of_graph(*name))
		return rank_fd[rank];
	*name += 6;
	return graph_fd[rank];
}

static void write_plain(int dirfd, const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	require(fd >= 0);
	require(write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* Large counters, too: the first byte says how far each is shifted. */
static uint32_t counter(const uint8_t *head)
{
	return (uint32_t)head[1] << (head[0] & 31) | head[2];
}

static void write_stream(int dirfd, const char *name, size_t file, unsigned rank,
			 const uint8_t *head, const uint8_t *data, size_t size)
{
	struct trace_stream s;

	unlinkat(dirfd, name, 0);
	require(trace_stream_create(&s, dirfd, name, files[file].kind, rank, 0,
				    files[file].thread) == 0);
	trace_stream_set_events(&s, (uint64_t)counter(head) << (head[3] & 24), head[3] & 1);
	require(trace_stream_reserve(&s, size) == 0);
	trace_stream_append(&s, data, size);
	trace_stream_set_run(&s, counter(head + 1));
	trace_stream_set_polls(&s, counter(head + 2), counter(head + 1));
	trace_stream_close(&s);
}

/* One file: which, how, its counters, its length, and that many bytes. */
static size_t write_one(const uint8_t *data, size_t size)
{
	size_t file = (data[0] & 127) % (sizeof(files) / sizeof(files[0]));
	size_t length = (size_t)data[6] << 8 | data[7];
	const char *name = files[file].name;
	unsigned rank = data[0] >> 7;
	int dirfd = dir_of(rank, &name);

	if (length > size - HEAD)
		length = size - HEAD;
	if (files[file].kind && data[1] % 4)
		write_stream(dirfd, name, file, rank, data + 2, data + HEAD, length);
	else
		write_plain(dirfd, name, data + HEAD, length);
	return HEAD + length;
}

static void remove_all(void)
{
	for (unsigned rank = 0; rank < RANKS; rank++) {
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			const char *name = files[i].name;
			int dirfd = dir_of(rank, &name);

			unlinkat(dirfd, name, 0);
		}
	}
}

static void run_verb(const struct cmd_verb *verb, const char *option)
{
	char *argv[4] = {(char *)verb->name, NULL};
	int argc = 1;

	if (option)
		argv[argc++] = (char *)option;
	argv[argc++] = path;
	optind = 0;
	verb->run(argc, argv);
}

static void sum_up(void)
{
	run_verb(&cmd_info, NULL);
	run_verb(&cmd_info, "--format=json");
	run_verb(&cmd_dump, NULL);
	run_verb(&cmd_dump, "--input");
	run_verb(&cmd_dump, "--sync");
	run_verb(&cmd_dump, "--events");
	run_verb(&cmd_dump, "--damaged");
	run_verb(&cmd_ls, NULL);
}

static void read_objects(void)
{
	struct trace_objects_reader r;
	struct trace_objects_rec rec;
	const char *why;

	for (unsigned rank = 0; rank < RANKS; rank++) {
		struct trace_modules modules;

		trace_modules_open(&modules, graph_fd[rank], 0);
		trace_modules_close(&modules);
		if (trace_objects_open(&r, graph_fd[rank], "0.objects", &why))
			continue;
		while (trace_objects_next(&r, &rec) == 1)
			;
		trace_objects_close(&r);
	}
}

static void read_events(void)
{
	const struct graph_alternatives_wanted wanted = {.all = true, .limit = 16};
	struct graph_alternatives alternatives = {0};
	struct graph_reduction reduction = {0};
	struct graph_source source;
	struct graph_report report;
	struct trace_dir dir;

	if (trace_dir_open(&dir, path))
		return;
	if (graph_source_open(&source, &dir) == 0) {
		if (graph_report_make(&report, &source) == 0)
			graph_report_free(&report);
		source.rewind(source.context);
		if (graph_reduce_count(&source, &reduction) != 0)
			memset(&reduction, 0, sizeof(reduction));
		source.rewind(source.context);
		if (graph_alternatives_find(&source, &wanted, &alternatives) == 0)
			graph_alternatives_free(&alternatives);
		graph_source_close(&source);
	}
	trace_dir_close(&dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size >= HEAD) {
		size_t n = write_one(data, size);

		data += n;
		size -= n;
	}
	sum_up();
	read_objects();
	read_events();
	remove_all();
	return 0;
}
