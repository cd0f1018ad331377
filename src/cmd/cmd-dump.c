/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise dump: the records of a trace, a line each, in the words of trace/words.h or as JSON. A
 * damaged stream is refused as a whole, since any part of it may be wrong; with --damaged whatever
 * can be decoded is shown.
 */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/dump-events.h"
#include "cmd/show.h"
#include "trace/dir.h"
#include "trace/input.h"
#include "trace/order.h"
#include "trace/sync.h"
#include "trace/words.h"

#define BYTES_SHOWN 32
#define TURNS_SHOWN 1000000 /* what comes more often is shown once, with how often */

struct dump {
	struct trace_dir dir;
	const char *thread; /* NULL for all */
	long rank;          /* -1 for all */
	bool input, sync;   /* instead of the order of events */
	bool events;
	bool damaged; /* what is left of such streams */
	unsigned format;
	bool json;
	bool mpi; /* what positions count are its calls */
};

/* The stream at work. */
struct source {
	const struct trace_stream_name *name;
	unsigned rank;
};

/*
 * "3@17", "3.0.2@17" for another thread, "3/1@17" for another process of the rank. What is no event
 * has another mark, since @ is for what other verbs take as a position.
 */
static void print_number(const struct source *from, char mark, uint64_t number)
{
	printf("%u", from->rank);
	if (from->name->process)
		printf("/%" PRIu32, from->name->process);
	if (from->name->thread[0] && strcmp(from->name->thread, "0") != 0)
		printf(".%s", from->name->thread);
	printf("%c%" PRIu64, mark, number);
}

static json_t *json_record(const struct source *from, const char *key, uint64_t number,
			   const char *kind)
{
	return json_pack("{s:I, s:I, s:s, s:I, s:s}", "rank", (json_int_t)from->rank, "process",
			 (json_int_t)from->name->process, "thread", from->name->thread, key,
			 (json_int_t)number, "kind", kind);
}

static void print_order(const struct dump *d, const struct source *from,
			const struct trace_rec *rec, uint64_t times, uint64_t event, uint64_t *post)
{
	uint64_t before = *post;
	char *words = trace_rec_words(rec, post);
	json_t *object;

	*post += (*post - before) * (times - 1);

	if (d->json) {
		object = json_record(from, "event", event, trace_kind_word(rec->kind));
		json_object_set_new(object, "a", json_integer((json_int_t)rec->a));
		json_object_set_new(object, "b", json_integer((json_int_t)rec->b));
		json_object_set_new(object, "text", cmd_show_json(words));
		if (times > 1)
			json_object_set_new(object, "times", json_integer((json_int_t)times));
		cmd_show_json_line(object, JSON_COMPACT);
	} else {
		print_number(from, '@', event);
		printf("\t%s", words);
		if (times > 1)
			printf(" (%" PRIu64 " times, in turn with its neighbours)", times);
		putchar('\n');
	}
	free(words);
}

static int dump_order(const struct dump *d, const struct source *from,
		      const struct trace_view *view)
{
	struct trace_order_reader *r = rp_alloc(1, sizeof(*r));
	struct trace_order_turns turns = {.least = TURNS_SHOWN};
	uint64_t post = TRACE_WORDS_FIRST_POST, times, shown = 0;
	struct trace_rec rec;
	int rc;

	trace_order_reader_init(r, view);
	while ((rc = trace_order_next_times(r, &turns, &rec, &times)) == 1 && !ferror(stdout)) {
		print_order(d, from, &rec, times, trace_order_event(r), &post);
		/* A few bytes can claim many long runs: now short ones are counted, too. */
		if (++shown == TURNS_SHOWN)
			turns.least = 1;
	}
	free(r);
	return rc < 0 ? rc : 0;
}

/* Text as it is; anything else in hexadecimal, at most BYTES_SHOWN bytes unless all are wanted. */
static char *bytes_words(const struct trace_input_rec *rec, bool all)
{
	uint32_t n = all || rec->length <= BYTES_SHOWN ? rec->length : BYTES_SHOWN;
	char *text, *shown;

	if (rec->kind == TRACE_IN_NOTE || rec->kind == TRACE_IN_MODULE) {
		text = rp_format("%.*s", (int)rec->length, (const char *)rec->bytes);
		shown = cmd_show_text(text);
		free(text);
		return shown;
	}
	shown = rp_alloc((size_t)n * 2 + 4, 1);
	for (uint32_t i = 0; i < n; i++)
		sprintf(shown + (size_t)i * 2, "%02x", rec->bytes[i]);
	if (n < rec->length)
		strcat(shown, "…");
	return shown;
}

static char *value_words(const struct trace_input_rec *rec)
{
	double wtime;

	if (rec->kind == TRACE_IN_ERRNO)
		return rp_format("%s", strerror((int)rec->value));
	if (rec->kind == TRACE_IN_WTIME) {
		memcpy(&wtime, &rec->value, sizeof(wtime));
		return rp_format("%.9f", wtime);
	}
	if (rec->kind == TRACE_IN_RESULT)
		return rp_format("%" PRId64, (int64_t)rec->value);
	if (rec->kind <= TRACE_IN_OTHERCLOCK)
		return rp_format("%" PRIu64 ".%09" PRIu64, rec->value / 1000000000u,
				 rec->value % 1000000000u);
	return rp_format("%" PRIu64, rec->value);
}

static void print_input(const struct dump *d, const struct source *from,
			const struct trace_input_rec *rec, uint64_t number)
{
	char *words = rec->bytes ? bytes_words(rec, d->json) : value_words(rec);
	json_t *object;

	if (d->json) {
		object = json_record(from, "number", number, trace_input_word(rec->kind));
		if (rec->bytes)
			json_object_set_new(object, "length", json_integer(rec->length));
		else
			json_object_set_new(object, "value", json_integer((json_int_t)rec->value));
		json_object_set_new(object, "text", cmd_show_json(words));
		cmd_show_json_line(object, JSON_COMPACT);
	} else {
		print_number(from, '#', number);
		printf("\t%s %s\n", trace_input_word(rec->kind), words);
	}
	free(words);
}

static int dump_input(const struct dump *d, const struct source *from,
		      const struct trace_view *view)
{
	struct trace_input_reader r;
	struct trace_input_rec rec;
	uint64_t number = 0;
	int rc;

	trace_input_reader_init(&r, view);
	while ((rc = trace_input_next(&r, &rec)) == 1 && !ferror(stdout))
		print_input(d, from, &rec, ++number);
	return rc < 0 ? rc : 0;
}

/*
 * Operations that take nothing leave no trace where they came as predicted: how many there were is
 * known of the whole stream, and between two records that follow each other if the second is one of
 * these as well. So the number of a record may be known only by bounds.
 */
struct unseen {
	uint64_t before; /* that are known to be before the record */
	uint64_t others; /* that may be anywhere */
};

static uint64_t skipped(const struct trace_sync_rec *rec)
{
	return rec->kind == TRACE_SYNC_RESULT ? rec->skip : 0;
}

/* Goes through all of a stream. */
static int count_unseen(const struct trace_view *view, struct unseen *u)
{
	struct trace_sync_reader *r = rp_alloc(1, sizeof(*r));
	struct trace_sync_rec rec;
	uint64_t known = 0;
	int rc = trace_sync_reader_init(r, view);

	while (!rc && trace_sync_next_record(r, &rec) == 2)
		known += skipped(&rec);
	*u = (struct unseen){0};
	if (!rc && r->total > r->ops + known)
		u->others = r->total - r->ops - known;
	free(r);
	return rc;
}

static void print_sync(const struct dump *d, const struct source *from,
		       const struct trace_sync_rec *rec, uint64_t number, uint64_t most)
{
	char *words = trace_sync_words(rec);
	json_t *object;

	if (d->json) {
		object = json_record(from, "operation", number, trace_sync_word(rec->kind));
		if (most > number)
			json_object_set_new(object, "most", json_integer((json_int_t)most));
		json_object_set_new(object, "run", json_integer((json_int_t)rec->run));
		json_object_set_new(object, "code", json_integer(rec->code));
		json_object_set_new(object, "step", json_integer(rec->step));
		json_object_set_new(object, "text", cmd_show_json(words));
		cmd_show_json_line(object, JSON_COMPACT);
	} else {
		if (rec->run && rec->kind != TRACE_SYNC_CHECK)
			printf("\t%" PRIu64 " operations as predicted\n", rec->run);
		print_number(from, d->mpi ? '#' : '@', number);
		if (most > number)
			printf("-%" PRIu64, most);
		printf("\t%s\n", words);
	}
	free(words);
}

/* A check belongs to the last of the operations before it. */
static bool is_exact(const struct trace_sync_rec *rec)
{
	return rec->kind == TRACE_SYNC_CHECK || rec->kind == TRACE_SYNC_END;
}

static uint64_t number_of(const struct trace_sync_reader *r, const struct trace_sync_rec *rec,
			  const struct unseen *u)
{
	if (rec->kind == TRACE_SYNC_CHECK)
		return rec->run;
	return rec->kind == TRACE_SYNC_END ? r->total : r->ops + u->before;
}

static int dump_sync(const struct dump *d, const struct source *from, const struct trace_view *view)
{
	struct trace_sync_reader *r = rp_alloc(1, sizeof(*r));
	struct trace_sync_rec rec;
	struct unseen u;
	int rc = count_unseen(view, &u);

	if (!rc)
		rc = trace_sync_reader_init(r, view);
	while (!rc && !ferror(stdout) && trace_sync_next_record(r, &rec) == 2) {
		uint64_t number;

		u.before += skipped(&rec);
		number = number_of(r, &rec, &u);
		print_sync(d, from, &rec, number, is_exact(&rec) ? number : number + u.others);
	}
	free(r);
	return rc;
}

static void dump_stdin(const struct dump *d, const struct source *from,
		       const struct trace_view *view)
{
	json_t *object;

	if (d->json) {
		object = json_record(from, "number", 1, "stdin");
		json_object_set_new(object, "length", json_integer((json_int_t)view->length));
		cmd_show_json_line(object, JSON_COMPACT);
	} else {
		printf("%u\t%" PRIu64 " bytes of standard input\n", from->rank, view->length);
	}
}

static int say_damaged(const struct dump *d, const struct source *from, const char *why)
{
	char name[TRACE_RANK_NAME_BYTES];

	trace_dir_rank_name(from->rank, name);
	fflush(stdout);
	rp_say("%s/%s of the trace %s %s%s", name, from->name->name, d->dir.show, why,
	       d->damaged ? "" : "; --damaged shows what is left");
	return RP_EXIT_BAD_INPUT;
}

static int dump_stream(const struct dump *d, const struct source *from, int rankfd)
{
	const char *why;
	struct trace_view view;
	int rc = d->damaged ? trace_view_open_damaged(&view, rankfd, from->name->name, &why)
			    : trace_view_open(&view, rankfd, from->name->name, &why);
	int code = 0;

	if (rc)
		return say_damaged(d, from, why);
	if (why)
		code = say_damaged(d, from, why);
	if (from->name->kind == TRACE_STREAM_ORDER)
		rc = dump_order(d, from, &view);
	else if (from->name->kind == TRACE_STREAM_INPUT)
		rc = dump_input(d, from, &view);
	else if (from->name->kind == TRACE_STREAM_SYNC)
		rc = dump_sync(d, from, &view);
	else if (from->name->kind == TRACE_STREAM_STDIN)
		dump_stdin(d, from, &view);
	trace_view_close(&view);
	return rc ? say_damaged(d, from, "makes no sense from here on") : code;
}

/* A file that holds streams of threads. The file itself has nothing to show but damage. */
static bool is_shelf(const struct trace_stream_name *s)
{
	return s->kind == TRACE_STREAM_THREADS || s->kind == TRACE_STREAM_LIVE;
}

static bool is_wanted(const struct dump *d, const struct trace_stream_name *s)
{
	bool order = s->kind == TRACE_STREAM_ORDER, sync = s->kind == TRACE_STREAM_SYNC;
	bool input = s->kind == TRACE_STREAM_INPUT || s->kind == TRACE_STREAM_STDIN;

	if (is_shelf(s))
		return d->sync || d->input;
	if (d->sync ? !sync : d->input ? !input : !order)
		return false;
	return !d->thread || !strcmp(d->thread, s->thread);
}

static int dump_rank(const struct dump *d, unsigned rank, size_t *found)
{
	struct trace_streams streams;
	int rankfd, worst = 0;
	int code = trace_dir_streams(&d->dir, rank, &streams, &rankfd);

	if (code)
		return code;
	for (size_t i = 0; i < streams.n && !ferror(stdout); i++) {
		struct source from = {&streams.stream[i], rank};

		if (!is_wanted(d, from.name))
			continue;
		*found += !is_shelf(from.name);
		code = dump_stream(d, &from, rankfd);
		worst = code ? code : worst;
	}
	close(rankfd);
	trace_streams_free(&streams);
	return worst;
}

/* Does any rank call MPI? */
static bool has_mpi(const struct dump *d, unsigned rank)
{
	struct trace_streams streams;
	struct trace_view view;
	bool has = false;
	const char *why;
	int rankfd;

	if (trace_dir_streams(&d->dir, rank, &streams, &rankfd))
		return false;
	for (size_t i = 0; i < streams.n && !has; i++) {
		if (streams.stream[i].kind != TRACE_STREAM_ORDER ||
		    trace_view_open_damaged(&view, rankfd, streams.stream[i].name, &why))
			continue;
		has = view.events > 0;
		trace_view_close(&view);
	}
	close(rankfd);
	trace_streams_free(&streams);
	return has;
}

static int dump_all(struct dump *d)
{
	struct trace_ranks ranks;
	size_t found = 0;
	int worst = 0, code = trace_dir_ranks(&d->dir, &ranks);

	if (code)
		return code;
	for (size_t i = 0; i < ranks.n && d->sync && !d->mpi; i++)
		d->mpi = has_mpi(d, ranks.rank[i]);
	for (size_t i = 0; i < ranks.n; i++) {
		if (d->rank >= 0 && (unsigned long)d->rank != ranks.rank[i])
			continue;
		code = dump_rank(d, ranks.rank[i], &found);
		worst = code ? code : worst;
	}
	trace_ranks_free(&ranks);
	if (found || worst || (d->rank < 0 && !d->thread))
		return worst;
	rp_say("the trace %s has no such rank or thread; 'reprise info' lists them", d->dir.show);
	return RP_EXIT_BAD_INPUT;
}

static int read_rank(void *target, const char *text)
{
	long *rank = target;
	char *end;

	*rank = strtol(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && *rank <= INT_MAX)
		return 0;
	rp_say("'%s' is no rank: ranks are numbers from 0 on", text);
	return RP_EXIT_BAD_INPUT;
}

static const struct cmd_option options[] = {
	{.name = "rank",
	 .value = "R",
	 .kind = CMD_OWN,
	 .read = read_rank,
	 .target = offsetof(struct dump, rank),
	 .help = "only this rank"},
	{.name = "thread",
	 .value = "T",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct dump, thread),
	 .help = "only this thread: 0 is the main one, 0.1 its first child"},
	{.name = "input",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct dump, input),
	 .help = "inputs from outside (clocks, random numbers, pids) instead of the order of "
		 "events"},
	{.name = "events",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct dump, events),
	 .help = "what an evaluation saw: every message and collective operation, with the place "
		 "in the program (see 'reprise help evaluate')"},
	{.name = "sync",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct dump, sync),
	 .help = "the order of the threads' synchronisation instead"},
	{.name = "damaged",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct dump, damaged),
	 .help = "show what is left of a damaged stream"},
	CMD_OPTION_FORMAT(struct dump, format),
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct dump d = {.rank = -1};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_dump, argc, argv, &d, &operands);

	if (!code && d.events && (d.input || d.damaged)) {
		rp_say("--events cannot be combined with --input or --damaged");
		code = RP_EXIT_BAD_INPUT;
	}
	if (code)
		return code;
	d.json = d.format == CMD_FORMAT_JSON;
	/* A reader that stops early (head) gets no message about it. */
	signal(SIGPIPE, SIG_DFL);
	code = trace_dir_open(&d.dir, operands.first);
	if (code)
		return code;
	code = d.events ? cmd_dump_events(&d.dir, d.rank, d.thread, d.json) : dump_all(&d);
	trace_dir_close(&d.dir);
	return code;
}

const struct cmd_verb cmd_dump = {
	.name = "dump",
	.takes = CMD_TAKES_TRACE,
	.summary = "Prints every record of a trace, one per line",
	.options = options,
	.notes = "A line begins with its position. R@E is the place just before event E of rank R; "
		 "R.T@E is of thread T; R/P is another process of the rank. Other verbs take it as "
		 "it is. With --input, values are numbered instead, as R#N; with --sync operations "
		 "are, in runs with MPI as R#N. Operations that came as predicted have no lines: "
		 "they are counted. Without TRACE, the newest trace is used.\n",
	.run = run,
};
