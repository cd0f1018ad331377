/* SPDX-License-Identifier: Apache-2.0 */
/* What the recording and the log of the rank say about the place where it is. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "remote/serve.h"
#include "replay/log.h"
#include "trace/words.h"

#define BEFORE 3
#define AFTER 6

static void add(char **text, char *more)
{
	char *both = rp_format("%s%s", *text, more);

	free(*text);
	free(more);
	*text = both;
}

static const struct trace_run_rank *rank_of(const struct remote_server *s)
{
	return &s->travel.front->run->rank[s->travel.one];
}

static char *list(const struct remote_server *s, const struct trace_view *view)
{
	unsigned rank = rank_of(s)->rank;
	uint64_t now = s->travel.slot->events >> 1, post = TRACE_WORDS_FIRST_POST;
	struct trace_order_reader reader;
	struct trace_rec rec;
	char *text = rp_strdup("");

	trace_order_reader_init(&reader, view);
	while (trace_order_next(&reader, &rec) == 1 && reader.last_event <= now + AFTER) {
		char *words = trace_rec_words(&rec, &post);

		if (reader.last_event + BEFORE >= now)
			add(&text, rp_format("%s %u@%" PRIu64 "\t%s\n",
					     reader.last_event == now ? "*" : " ", rank,
					     reader.last_event, words));
		free(words);
	}
	if (*text)
		return text;
	free(text);
	return rp_strdup("nothing is recorded near here\n");
}

char *remote_recorded_events(const struct remote_server *s)
{
	char name[TRACE_RANK_NAME_BYTES], *path, *text;
	struct trace_view view;
	const char *why;

	trace_dir_rank_name(rank_of(s)->rank, name);
	path = rp_format("%s/0.order", name);
	if (trace_view_open(&view, s->travel.front->run->dir.fd, path, &why) != 0) {
		text = rp_strdup("the recording cannot be read\n");
	} else {
		text = list(s, &view);
		trace_view_close(&view);
	}
	free(path);
	return text;
}

/* The last one that the rank has got. */
char *remote_recorded_message(const struct remote_server *s)
{
	const struct replay_slot *slot = s->travel.slot;
	uint64_t done = (slot->events >> 1) - (slot->events & 1);
	struct trace_log_reader reader;
	struct trace_log_rec rec, last = {0};
	char *contents, *text;

	if (!s->travel.front->alone ||
	    replay_log_open(s->travel.front->run, rank_of(s)->rank, "0", &reader) != 0)
		return rp_strdup("there is no log of messages\n");
	while (trace_log_next(&reader, &rec) == 1 && rec.event <= done) {
		if (rec.kind == TRACE_LOG_MESSAGE)
			last = rec;
	}
	if (!last.kind) {
		text = rp_strdup("no message so far\n");
	} else {
		contents = replay_log_text(&last);
		text = rp_format("%u@%" PRIu64 "\tfrom %" PRId32 ", tag %" PRId32 ", %s\n",
				 rank_of(s)->rank, last.event, last.source, last.tag, contents);
		free(contents);
	}
	trace_log_close(&reader);
	return text;
}
