/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise info: what a trace holds and whether it can be replayed. Damaged files are named on
 * stderr; everything else is still shown, and the exit code is 2 then.
 */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/info-json.h"
#include "cmd/show.h"
#include "replay/checkpoint.h"
#include "replay/evaluate.h"
#include "replay/images.h"
#include "replay/log.h"
#include "replay/ranks.h"
#include "trace/run.h"
#include "trace/words.h"

#define RANKS_IN_FULL 16
#define NOTE_SHOWN 80

static const char *mpi_name(const char *mpi)
{
	if (!strcmp(mpi, "openmpi"))
		return "Open MPI";
	if (!strcmp(mpi, "mpich"))
		return "MPICH";
	return !strcmp(mpi, "none") ? "no MPI" : "unknown MPI";
}

/* Takes the value, which may be in the words of a trace. */
static void print_field(const char *name, char *value)
{
	rp_text_clean(value);
	printf("  %-8s  %s\n", name, value);
	free(value);
}

static char *ended(const struct trace_meta *meta)
{
	char *took, *how;

	if (!meta->ended)
		return rp_strdup("still running, or its end was not seen");
	how = trace_end_words(meta->ended == TRACE_ENDED_EXIT ? TRACE_END_EXIT : TRACE_END_SIGNAL,
			      (uint64_t)meta->status);
	took = rp_format("%s after %.2f s", how, meta->seconds);
	free(how);
	return took;
}

static const char *threads_words(uint32_t threads)
{
	return threads == TRACE_THREADS_SERIAL
		       ? "one at a time (--threads=serial)"
		       : "one at a time if the code needs it (--threads=auto)";
}

static void print_program(const struct trace_run_rank *rank)
{
	char *program = cmd_show_text(rank->start.program);

	print_field("program", rp_format("%s, %s", program, mpi_name(rank->start.mpi)));
	free(program);
}

/* Even for a part of the run, nothing may be claimed that is not true. */
static void print_replay(const struct trace_run *run)
{
	char *obstacle = trace_run_obstacle(run), *gap = trace_run_gap(run), *words;
	struct trace_run_unseen *unseen;
	size_t n;

	unseen = trace_run_unseen(run, &n);
	if (obstacle)
		print_field("replay",
			    rp_format("%s%s", run->damaged || gap ? "no: " : "", obstacle));
	else if (!n)
		print_field("replay", rp_strdup("yes, all of it"));
	for (size_t i = 0; i < n; i++) {
		words = trace_run_unseen_words(&unseen[i]);
		print_field(
			i || obstacle ? "" : "replay",
			rp_format("%snot recorded: %s", i || obstacle ? "" : "yes, but ", words));
		free(words);
	}
	free(unseen);
	free(obstacle);
	free(gap);
}

static void print_checkpoints(const struct trace_run *run)
{
	struct replay_images_sum sum = {0};
	struct replay_checkpoints made;
	char *images, *logs, *ranks;

	if (!replay_checkpoints_read(run, &made))
		return;
	replay_images_measure_all(&run->dir, &sum);
	images = cmd_show_size(sum.image_bytes);
	logs = cmd_show_size(sum.log_bytes);
	ranks = replay_ranks_logged_text(run);
	print_field("images", rp_format("%zu, %s; logs %s%s", sum.images, images, logs, ranks));
	free(ranks);
	free(images);
	free(logs);
	for (size_t i = 0; i < run->ranks; i++) {
		char *end = replay_log_end(run->dir.fd, run->rank[i].rank);

		if (end)
			print_field("", rp_format("the log of rank %u ends before %s",
						  run->rank[i].rank, end));
		free(end);
	}
}

static void print_run(const struct trace_run *run)
{
	char *trace = cmd_show_text(run->dir.show);
	struct replay_evaluation evaluation;
	char *host, *start;

	printf("%s\n", trace);
	free(trace);
	if (run->has_meta) {
		start = cmd_show_text(run->meta.start);
		host = cmd_show_text(run->meta.host);
		print_field("command", rp_text_command(run->meta.argv));
		if (run->ranks && run->rank[0].has_start)
			print_program(&run->rank[0]);
		print_field("started", rp_format("%s on %s", start, host));
		print_field("ended", ended(&run->meta));
		if (run->meta.tracing)
			print_field("trace", rp_strdup(trace_mode_words(run->meta.tracing)));
		if (run->meta.noisy)
			print_field("noise", rp_format("seed %" PRIu64, run->meta.noise));
		if (run->meta.threads)
			print_field("threads", rp_strdup(threads_words(run->meta.threads)));
		if (run->meta.system_heap)
			print_field("heap", rp_strdup("system"));
		if (run->meta.origin)
			print_field("origin", cmd_show_text(run->meta.origin));
		free(start);
		free(host);
	}
	print_replay(run);
	print_checkpoints(run);
	if (replay_evaluation_read(run, &evaluation))
		print_field("graph", rp_format("%" PRIu64 " events, evaluated in %.2f s",
					       evaluation.events, evaluation.seconds));
}

static uint64_t all_bytes(const struct trace_run_rank *rank)
{
	uint64_t sum = 0;

	for (size_t kind = 0; kind < TRACE_STREAM_KINDS; kind++)
		sum += rank->bytes[kind];
	return sum;
}

static void print_each(const struct trace_run *run)
{
	printf("\n%6s %12s %12s %12s %12s %7s  %s\n", "rank", "events", "outcomes", "polls failed",
	       "bytes", "threads", "ended");
	for (size_t i = 0; i < run->ranks; i++) {
		const struct trace_run_rank *rank = &run->rank[i];
		char *end = trace_run_rank_end(run, rank, true);

		printf("%6u %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %7zu  %s%s\n",
		       rank->rank, rank->events, rank->outcomes, rank->polls, all_bytes(rank),
		       rank->threads, end,
		       rank->damaged && rank->last ? ", part of it damaged" : "");
		free(end);
	}
}

/* A text that several ranks share: sorted by text, equal ones are neighbours. */
struct shared {
	char *text;
	const struct trace_run_rank *rank;
};

static int by_text(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->rank->rank > y->rank->rank) - (x->rank->rank < y->rank->rank);
}

/* "rank 3", "ranks 0-2,5": those of one text, each once. */
static char *ranks_of(const struct shared *first, size_t n)
{
	unsigned *rank = rp_alloc(n, sizeof(*rank));
	size_t count = 0;
	char *list, *shown;

	for (size_t i = 0; i < n; i++) {
		if (!count || rank[count - 1] != first[i].rank->rank)
			rank[count++] = first[i].rank->rank;
	}
	list = cmd_show_ranks(rank, count);
	shown = rp_format("rank%s %s", count == 1 ? "" : "s", list);
	free(list);
	free(rank);
	return shown;
}

static void print_state(const struct shared *first, size_t n)
{
	uint64_t least = UINT64_MAX, most = 0, bytes = 0;
	char *ranks = ranks_of(first, n), *events;

	for (size_t i = 0; i < n; i++) {
		const struct trace_run_rank *rank = first[i].rank;

		least = rank->events < least ? rank->events : least;
		most = rank->events > most ? rank->events : most;
		bytes += all_bytes(rank);
	}
	events = least == most ? rp_format("%" PRIu64, least)
			       : rp_format("%" PRIu64 "-%" PRIu64, least, most);
	printf("%7zu %25s %14" PRIu64 "  %s (%s)\n", n, events, bytes, first->text, ranks);
	free(events);
	free(ranks);
}

/* Calls print for each group of equal texts; frees the texts. */
static void print_groups(struct shared *list, size_t n,
			 void (*print)(const struct shared *, size_t))
{
	if (n)
		qsort(list, n, sizeof(*list), by_text);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(list[i].text, list[end].text);)
			end++;
		print(&list[i], end - i);
	}
	for (size_t i = 0; i < n; i++)
		free(list[i].text);
	free(list);
}

static void print_states(const struct trace_run *run)
{
	struct shared *list = rp_alloc(run->ranks, sizeof(*list));

	printf("\n%7s %25s %14s  %s\n", "ranks", "events of each", "bytes", "ended");
	for (size_t i = 0; i < run->ranks; i++) {
		list[i].text = trace_run_rank_end(run, &run->rank[i], false);
		list[i].rank = &run->rank[i];
	}
	print_groups(list, run->ranks, print_state);
}

static void print_note(const struct shared *first, size_t n)
{
	int line = (int)strcspn(first->text, "\r\n");
	char *start = rp_format("%.*s", line < NOTE_SHOWN ? line : NOTE_SHOWN, first->text);
	char *ranks = ranks_of(first, n), *text = cmd_show_text(start);

	printf("  note      %s%s (%s)\n", text, strlen(start) < strlen(first->text) ? " …" : "",
	       ranks);
	free(ranks);
	free(start);
	free(text);
}

static void print_notes(const struct trace_run *run)
{
	struct shared *list = NULL;
	size_t n = 0;

	for (size_t i = 0; i < run->ranks; i++) {
		char **notes = run->rank[i].notes;
		size_t more = rp_strings_count(notes);

		list = rp_realloc(list, n + more, sizeof(*list));
		for (size_t k = 0; k < more; k++)
			list[n++] = (struct shared){rp_strdup(notes[k]), &run->rank[i]};
	}
	print_groups(list, n, print_note);
}

static void print_totals(const struct trace_run *run, const struct trace_run_rank *sum)
{
	printf("\n%zu rank%s, %" PRIu64 " events, %" PRIu64 " outcomes (%" PRIu64
	       " of wildcards) in %" PRIu64 " bytes",
	       run->ranks, run->ranks == 1 ? "" : "s", sum->events, sum->outcomes, sum->wildcards,
	       sum->bytes[TRACE_STREAM_ORDER]);
	if (sum->outcomes)
		printf(", %.2f each",
		       (double)sum->bytes[TRACE_STREAM_ORDER] / (double)sum->outcomes);
	printf("; %" PRIu64 " failed polls; %" PRIu64
	       " inputs and the names of libraries in %" PRIu64 " bytes\n",
	       sum->polls, sum->inputs,
	       sum->bytes[TRACE_STREAM_INPUT] + sum->bytes[TRACE_STREAM_STDIN]);
	if (sum->files)
		printf("%" PRIu64 " files read, copies of %" PRIu64 " of them kept\n", sum->files,
		       sum->kept);
	if (sum->printed)
		printf("%" PRIu64 " bytes printed, compared in replay\n", sum->printed);
	if (sum->syncs)
		printf("%" PRIu64 " synchronisation operations of threads, %" PRIu64
		       " not predicted, in %" PRIu64 " bytes, %.3f each\n",
		       sum->syncs, sum->unpredicted, sum->bytes[TRACE_STREAM_SYNC],
		       (double)sum->bytes[TRACE_STREAM_SYNC] / (double)sum->syncs);
}

/* Of the streams of one process, which are neighbours: returns the first of the next one. */
static size_t print_process(const struct trace_run_rank *rank, size_t first)
{
	uint64_t syncs = 0, unpredicted = 0, bytes = 0;
	uint32_t process = rank->stream[first].process;
	size_t i = first, threads = 0;
	char *name;

	for (; i < rank->streams && rank->stream[i].process == process; i++) {
		const struct trace_run_stream *s = &rank->stream[i];

		if (s->kind != TRACE_STREAM_SYNC)
			continue;
		threads++;
		syncs += s->syncs;
		unpredicted += s->unpredicted;
		bytes += s->bytes;
	}
	if (!syncs)
		return i;
	name = process ? rp_format("%u/%" PRIu32, rank->rank, process)
		       : rp_format("%u", rank->rank);
	printf("%6s %7zu %14" PRIu64 " %14" PRIu64 " %12" PRIu64 " %10.3f\n", name, threads, syncs,
	       syncs - unpredicted, bytes, (double)bytes / (double)syncs);
	free(name);
	return i;
}

static void print_threads(const struct trace_run *run)
{
	printf("\n%6s %7s %14s %14s %12s %10s\n", "rank", "threads", "operations", "predicted",
	       "bytes", "bytes each");
	for (size_t i = 0; i < run->ranks; i++) {
		for (size_t k = 0; k < run->rank[i].streams;)
			k = print_process(&run->rank[i], k);
	}
}

static void say_damage(const struct trace_run *run)
{
	char name[TRACE_RANK_NAME_BYTES];

	for (size_t i = 0; i < run->ranks; i++) {
		trace_dir_rank_name(run->rank[i].rank, name);
		for (size_t k = 0; k < run->rank[i].streams; k++) {
			const struct trace_run_stream *s = &run->rank[i].stream[k];

			if (s->damage)
				rp_say("%s/%s of the trace %s %s", name, s->name, run->dir.show,
				       s->damage);
		}
		if (run->rank[i].missing)
			rp_say("%s/%s of the trace %s is missing", name, run->rank[i].missing,
			       run->dir.show);
		if (run->rank[i].unseen_damage)
			rp_say("%s/" TRACE_UNSEEN_NAME " of the trace %s %s", name, run->dir.show,
			       run->rank[i].unseen_damage);
	}
}

static int show(const char *trace, bool json, bool by_rank)
{
	struct trace_run_rank sum;
	struct trace_run info;
	int code = trace_run_open(&info, trace);

	if (code)
		return code;
	if (json) {
		cmd_show_json_line(cmd_info_json(&info), JSON_INDENT(1));
	} else {
		print_run(&info);
		print_notes(&info);
		if (by_rank || info.ranks <= RANKS_IN_FULL)
			print_each(&info);
		else
			print_states(&info);
		trace_run_total(&info, &sum);
		if (sum.syncs && (by_rank || info.ranks <= RANKS_IN_FULL))
			print_threads(&info);
		print_totals(&info, &sum);
	}
	fflush(stdout);
	say_damage(&info);
	code = info.damaged ? RP_EXIT_BAD_INPUT : 0;
	trace_run_close(&info);
	return code;
}

struct wanted {
	bool by_rank;
	unsigned format;
};

static const struct cmd_option options[] = {
	{.name = "by-rank",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, by_rank),
	 .help = "one line per rank, even if there are many"},
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_info, argc, argv, &w, &operands);

	return code ? code : show(operands.first, w.format == CMD_FORMAT_JSON, w.by_rank);
}

const struct cmd_verb cmd_info = {
	.name = "info",
	.takes = CMD_TAKES_TRACE,
	.summary = "Says what a trace holds, how the run ended, and whether it can be replayed",
	.options = options,
	.notes = "Without TRACE, the newest trace is used. If files are damaged, they are named, "
		 "the rest is shown, and the exit status is 2.\n",
	.run = run,
};
