/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reprise info` for scripts. Keys only ever get more: benchmarks and other people's scripts read
 * them. Counts are exact; a value that is not known is left out.
 */
#include "cmd/info-json.h"

#include <stdlib.h>

#include "cmd/show.h"
#include "replay/checkpoint.h"
#include "replay/evaluate.h"
#include "replay/images.h"
#include "trace/words.h"

static void set(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, cmd_show_json(text));
}

/* Takes the text. */
static void take_text(json_t *object, const char *key, char *text)
{
	set_text(object, key, text);
	free(text);
}

static json_t *records_json(const struct trace_run_stream *s)
{
	json_t *records = json_object();

	for (uint32_t kind = 0; kind < TRACE_KINDS; kind++) {
		if (s->records[kind])
			set(records, trace_kind_word(kind), s->records[kind]);
	}
	return records;
}

static json_t *stream_json(const struct trace_run_stream *s)
{
	json_t *stream = json_object();

	set_text(stream, "name", s->name);
	set_text(stream, "kind", trace_stream_word(s->kind));
	set(stream, "process", s->process);
	set_text(stream, "thread", s->thread);
	if (s->damage) {
		set_text(stream, "damage", s->damage);
		return stream;
	}
	set(stream, "pid", s->pid);
	set(stream, "bytes", s->bytes);
	if (s->kind == TRACE_STREAM_INPUT)
		set(stream, "inputs", s->inputs);
	if (s->kind == TRACE_STREAM_SYNC) {
		set(stream, "operations", s->syncs);
		set(stream, "unpredicted", s->unpredicted);
	}
	if (s->kind != TRACE_STREAM_ORDER)
		return stream;
	set(stream, "events", s->events);
	json_object_set_new(stream, "inside", json_boolean(s->inside));
	json_object_set_new(stream, "records", records_json(s));
	if (s->end)
		take_text(stream, "end", trace_end_words(s->end, s->end_value));
	if (s->stop) {
		take_text(stream, "stop", trace_stop_words(s->stop, s->stop_value));
		set(stream, "stop_event", s->stop_event);
	}
	return stream;
}

static void set_sums(json_t *object, const struct trace_run_rank *sum)
{
	set(object, "events", sum->events);
	set(object, "outcomes", sum->outcomes);
	set(object, "wildcards", sum->wildcards);
	set(object, "failed_polls", sum->polls);
	set(object, "inputs", sum->inputs);
	set(object, "files_read", sum->files);
	set(object, "files_kept", sum->kept);
	set(object, "printed_bytes", sum->printed);
	set(object, "order_bytes", sum->bytes[TRACE_STREAM_ORDER]);
	set(object, "input_bytes", sum->bytes[TRACE_STREAM_INPUT]);
	set(object, "stdin_bytes", sum->bytes[TRACE_STREAM_STDIN]);
	set(object, "sync_operations", sum->syncs);
	set(object, "sync_unpredicted", sum->unpredicted);
	set(object, "sync_bytes", sum->bytes[TRACE_STREAM_SYNC]);
	set(object, "processes", sum->processes);
	set(object, "threads", sum->threads);
}

static json_t *unseen_json(const struct trace_unseen *u)
{
	json_t *object = json_object();

	set_text(object, "key", u->key);
	set_text(object, "what", u->what);
	if (u->remedy[0])
		set_text(object, "remedy", u->remedy);
	set(object, "process", u->process);
	if (u->thread[0])
		set_text(object, "thread", u->thread);
	set(object, "event", u->event + 1);
	json_object_set_new(object, "seconds", json_real((double)u->ns / 1e9));
	set(object, "count", u->count);
	return object;
}

static json_t *rank_json(const struct trace_run *run, const struct trace_run_rank *rank)
{
	json_t *object = json_object(), *streams = json_array(), *unseen = json_array();

	set(object, "rank", rank->rank);
	json_object_set_new(object, "damaged", json_boolean(rank->damaged));
	if (rank->missing)
		set_text(object, "missing", rank->missing);
	if (rank->has_start) {
		set_text(object, "program", rank->start.program);
		set_text(object, "mpi", rank->start.mpi);
		set_text(object, "host", rank->start.host);
		json_object_set_new(object, "argv", cmd_show_json_list(rank->start.argv));
	}
	take_text(object, "ended", trace_run_rank_end(run, rank, true));
	if (rank->world)
		set(object, "world", rank->world);
	set_sums(object, rank);
	json_object_set_new(object, "notes", cmd_show_json_list(rank->notes));
	for (size_t i = 0; i < rank->unseens; i++)
		json_array_append_new(unseen, unseen_json(&rank->unseen[i]));
	json_object_set_new(object, "not_recorded", unseen);
	for (size_t i = 0; i < rank->streams; i++)
		json_array_append_new(streams, stream_json(&rank->stream[i]));
	json_object_set_new(object, "streams", streams);
	return object;
}

static void set_meta(json_t *object, const struct trace_meta *meta)
{
	set_text(object, "reprise", meta->version);
	json_object_set_new(object, "command", cmd_show_json_list(meta->argv));
	set_text(object, "mpi", meta->mpi);
	json_object_set_new(object, "front", json_boolean(meta->front));
	set_text(object, "cwd", meta->cwd);
	set_text(object, "host", meta->host);
	set_text(object, "start", meta->start);
	set_text(object, "tracing", trace_mode_words(meta->tracing));
	if (meta->noisy)
		set(object, "noise", meta->noise);
	set_text(object, "threads", trace_threads_name(meta->threads));
	json_object_set_new(object, "heap", json_string(meta->system_heap ? "system" : "own"));
	if (meta->origin)
		set_text(object, "origin", meta->origin);
	if (meta->ended == TRACE_ENDED_EXIT)
		set(object, "exit", (uint64_t)meta->status);
	if (meta->ended == TRACE_ENDED_SIGNAL)
		set(object, "signal", (uint64_t)meta->status);
	if (meta->ended)
		json_object_set_new(object, "seconds", json_real(meta->seconds));
}

static void set_checkpoints(json_t *object, const struct trace_run *run)
{
	struct replay_images_sum sum = {0};
	struct replay_checkpoints made;

	if (!replay_checkpoints_read(run, &made))
		return;
	replay_images_measure_all(&run->dir, &sum);
	json_object_set_new(object, "checkpoints",
			    json_pack("{s:I, s:I, s:I, s:f}", "images", (json_int_t)sum.images,
				      "image_bytes", (json_int_t)sum.image_bytes, "log_bytes",
				      (json_int_t)sum.log_bytes, "seconds", made.seconds));
}

json_t *cmd_info_json(const struct trace_run *run)
{
	json_t *object = json_object(), *total = json_object(), *ranks = json_array();
	char *obstacle = trace_run_obstacle(run);
	struct replay_evaluation evaluation;
	struct trace_run_rank sum;
	size_t unseen;

	free(trace_run_unseen(run, &unseen));
	set_text(object, "trace", run->dir.path);
	set(object, "format", run->has_meta ? run->meta.format : TRACE_VERSION);
	set(object, "damaged", run->damaged);
	json_object_set_new(object, "replayable", json_boolean(!obstacle));
	json_object_set_new(object, "complete", json_boolean(!obstacle && !unseen));
	if (obstacle)
		take_text(object, "obstacle", obstacle);
	if (run->has_meta)
		set_meta(object, &run->meta);
	if (replay_evaluation_read(run, &evaluation))
		json_object_set_new(object, "evaluation",
				    json_pack("{s:I, s:f}", "events", (json_int_t)evaluation.events,
					      "seconds", evaluation.seconds));
	set_checkpoints(object, run);
	trace_run_total(run, &sum);
	set_sums(total, &sum);
	if (sum.outcomes)
		json_object_set_new(
			total, "bytes_per_outcome",
			json_real((double)sum.bytes[TRACE_STREAM_ORDER] / (double)sum.outcomes));
	json_object_set_new(object, "total", total);
	for (size_t i = 0; i < run->ranks; i++)
		json_array_append_new(ranks, rank_json(run, &run->rank[i]));
	json_object_set_new(object, "ranks", ranks);
	return object;
}
