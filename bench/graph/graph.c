/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the event graph costs: writes event streams of a made-up run, then finds its races in
 * another process, and prints events, seconds, events per second and the peak of memory. And the
 * same for what restarts from checkpoints need: 20 of them for each rank, what is to be logged, the
 * line of a breakpoint in the middle.
 *
 *   graph DIR PATTERN RANKS EVENTS        PATTERN: stencil, workers, flood, silent
 *
 * Times in the streams are those of a run in which all ranks are equally fast; in `silent` the
 * senders have all done their work before the first message is received.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "graph/line.h"
#include "graph/quiet.h"
#include "graph/report.h"
#include "trace/calls.h"
#include "trace/dir.h"

static struct trace_events_writer *writer;
static unsigned ranks;
static uint64_t made;

struct rank {
	uint64_t number, seq, id, time;
};

static struct rank *rank_at;

static void die(const char *what)
{
	fprintf(stderr, "graph: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint16_t call_number(const char *name)
{
	for (uint16_t i = 0; i < 2000; i++) {
		if (!strcmp(trace_call_name(i), name))
			return i;
	}
	die(name);
	return 0;
}

static struct trace_event event(unsigned rank, int kind, uint32_t site)
{
	struct rank *r = &rank_at[rank];

	r->number++;
	r->seq++;
	r->time += 1000;
	return (struct trace_event){.number = r->number,
				    .seq = r->seq,
				    .time = r->time,
				    .peer = TRACE_NO_PEER,
				    .want_peer = TRACE_NO_PEER,
				    .comm = 1,
				    .site = site,
				    .kind = (uint8_t)kind};
}

static void put(unsigned rank, const struct trace_event *e)
{
	made++;
	if (trace_events_put(&writer[rank], e))
		die("cannot write events");
}

static void put_send(unsigned rank, unsigned to, uint64_t id, uint32_t site)
{
	struct trace_event e = event(rank, TRACE_EVENT_SEND, site);

	e.peer = (int32_t)to;
	e.tag = 1;
	e.bytes = 1024;
	e.id = id;
	put(rank, &e);
}

static void put_recv(unsigned rank, unsigned from, int32_t want, uint32_t site)
{
	struct trace_event e = event(rank, TRACE_EVENT_RECV, site);

	e.want_peer = want;
	e.want_tag = 1;
	e.peer = (int32_t)from;
	e.tag = 1;
	e.bytes = 1024;
	put(rank, &e);
}

static void put_post(unsigned rank, int32_t want, uint64_t id, uint32_t site)
{
	struct trace_event e = event(rank, TRACE_EVENT_POST, site);

	e.want_peer = want;
	e.want_tag = 1;
	e.id = id;
	put(rank, &e);
}

static void put_done(unsigned rank, int32_t from, uint64_t id, uint32_t site)
{
	struct trace_event e = event(rank, TRACE_EVENT_DONE, site);

	e.peer = from;
	e.tag = 1;
	e.bytes = 1024;
	e.id = id;
	put(rank, &e);
}

static void put_coll(unsigned rank, uint16_t call, uint32_t site)
{
	struct trace_event e = event(rank, TRACE_EVENT_COLL, site);

	e.call = call;
	e.bytes = 8;
	put(rank, &e);
}

static void begin(const char *dir)
{
	char path[4096];

	writer = calloc(ranks, sizeof(*writer));
	rank_at = calloc(ranks, sizeof(*rank_at));
	snprintf(path, sizeof(path), "%s/graph", dir);
	if (mkdir(dir, 0700) || mkdir(path, 0700))
		die(dir);
	for (unsigned i = 0; i < ranks; i++) {
		struct trace_event e;
		int fd;

		snprintf(path, sizeof(path), "%s/rank-%04u", dir, i);
		mkdir(path, 0700);
		snprintf(path, sizeof(path), "%s/graph/rank-%04u", dir, i);
		if (mkdir(path, 0700) || (fd = open(path, O_RDONLY | O_DIRECTORY)) < 0)
			die(path);
		errno = -trace_events_create(&writer[i], fd, "0.events", i, 0, "0");
		if (errno)
			die(path);
		close(fd);
		e = event(i, TRACE_EVENT_COMM, 0);
		e.id = 1;
		e.bytes = ranks;
		e.peer = (int32_t)i;
		e.want_peer = 0;
		put(i, &e);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < ranks; i++) {
		if (trace_events_flush(&writer[i]))
			die("cannot write events");
		trace_events_close(&writer[i]);
	}
}

/* Four neighbours, posted from any source, and a reduction now and then. */
static void stencil(uint64_t events)
{
	uint16_t allreduce = call_number("MPI_Allreduce");

	for (uint64_t step = 1; made < events; step++) {
		for (unsigned r = 0; r < ranks; r++) {
			uint64_t id = rank_at[r].id;
			unsigned near[4] = {(r + 1) % ranks, (r + ranks - 1) % ranks,
					    (r + 4) % ranks, (r + ranks - 4) % ranks};

			rank_at[r].id += 8;
			for (int i = 0; i < 4; i++)
				put_post(r, TRACE_ANY, id + 1 + (uint64_t)i, 1);
			for (int i = 0; i < 4; i++)
				put_send(r, near[i], id + 5 + (uint64_t)i, 2);
			for (int i = 0; i < 4; i++)
				put_done(r, (int32_t)near[i], id + 1 + (uint64_t)i, 3);
			for (int i = 0; i < 4; i++)
				put_done(r, TRACE_NO_PEER, id + 5 + (uint64_t)i, 3);
			if (step % 10 == 0)
				put_coll(r, allreduce, 4);
		}
	}
}

/* Rank 0 hands out work to whoever asks. */
static void workers(uint64_t events)
{
	while (made < events) {
		for (unsigned r = 1; r < ranks; r++) {
			put_send(r, 0, 0, 1);
			put_recv(0, r, TRACE_ANY, 2);
			put_send(0, r, 0, 3);
			put_recv(r, 0, 0, 4);
		}
	}
}

/* Rank 0 takes what all others send, and nobody ever hears of it. */
static void flood(uint64_t events)
{
	while (made < events) {
		for (unsigned r = 1; r < ranks; r++) {
			/* A replay keeps senders from running far ahead. */
			rank_at[r].time = rank_at[0].time;
			put_send(r, 0, 0, 1);
			put_recv(0, r, TRACE_ANY, 2);
		}
	}
}

/* The same, but the last rank sends only once, at the end: any receive could have been its own. */
static void silent(uint64_t events)
{
	while (made < events) {
		for (unsigned r = 1; r + 1 < ranks; r++) {
			put_send(r, 0, 0, 1);
			put_recv(0, r, TRACE_ANY, 2);
		}
	}
	rank_at[ranks - 1].time = rank_at[0].time;
	put_send(ranks - 1, 0, 0, 5);
	put_recv(0, ranks - 1, TRACE_ANY, 2);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_source(const char *dir, struct graph_source *source)
{
	struct trace_dir d = {.path = (char *)dir, .show = (char *)dir};

	d.fd = open(dir, O_RDONLY | O_DIRECTORY);
	return graph_source_open(source, &d);
}

static int find_races(const char *dir)
{
	struct graph_source source;
	struct graph_report report;
	int code = open_source(dir, &source);

	if (code)
		return code;
	code = graph_report_make(&report, &source);
	if (code)
		return code;
	printf("  %llu messages, %llu of %llu wildcards race in %llu ways\n",
	       (unsigned long long)report.messages, (unsigned long long)report.racing,
	       (unsigned long long)report.wildcards, (unsigned long long)report.pairs);
	graph_report_free(&report);
	graph_source_close(&source);
	return fflush(stdout);
}

static int find_lines(const char *dir)
{
	struct graph_ckpts *placed, *ckpts;
	struct graph_intervals *intervals;
	struct graph_logging *logging;
	struct graph_source source;
	struct graph_quiet quiet;
	struct graph_line line;
	struct graph_cut cut;
	uint64_t period = rank_at[0].time / 20;

	graph_cut_init(&cut, ranks);
	for (unsigned i = 0; i < ranks; i++)
		cut.count[i] = (uint32_t)(rank_at[i].seq / 2);
	if (open_source(dir, &source) || graph_ckpts_place(&source, period, &placed) ||
	    graph_ckpts_move(&source, placed, period / 2, 2 * period, &ckpts, &quiet) ||
	    graph_intervals_make(&source, ckpts, &intervals) || graph_cut_shrink(&source, &cut))
		return 1;
	logging = graph_logging_make(intervals, GRAPH_LOGGING_MRT_SHARED);
	if (graph_line_find(logging, &cut, &line))
		return 1;
	printf("  %u checkpoints of rank 0, %llu of %llu messages are to be logged\n",
	       graph_ckpts_last(ckpts, 0),
	       (unsigned long long)graph_logging_logged(logging).messages,
	       (unsigned long long)graph_intervals_all(intervals).messages);
	return fflush(stdout);
}

static void measure(const char *dir, const char *what, int (*work)(const char *dir))
{
	double start = now(), took, cpu;
	struct rusage use;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(work(dir));
	if (pid < 0 || wait4(pid, &status, 0, &use) != pid || status)
		die("the analysis failed");
	took = now() - start;
	cpu = (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec +
	      (double)use.ru_stime.tv_sec + 1e-6 * (double)use.ru_stime.tv_usec;
	printf("%-15s %3u ranks %9llu events %7.2f s (%.2f s of a core) %7.2f M/s %6ld MiB\n", what,
	       ranks, (unsigned long long)made, took, cpu, (double)made / cpu / 1e6,
	       use.ru_maxrss >> 10);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	void (*pattern)(uint64_t);
	char what[32];

	if (argc != 5)
		return 2;
	pattern = !strcmp(argv[2], "stencil")   ? stencil
		  : !strcmp(argv[2], "workers") ? workers
		  : !strcmp(argv[2], "flood")   ? flood
						: silent;
	ranks = (unsigned)atoi(argv[3]);
	begin(argv[1]);
	pattern((uint64_t)atoll(argv[4]));
	end();
	measure(argv[1], argv[2], find_races);
	snprintf(what, sizeof(what), "%s, lines", argv[2]);
	measure(argv[1], what, find_lines);
	return 0;
}
