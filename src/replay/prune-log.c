/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a rank without what is sent again. Every byte stays where it is, since images know how
 * far their process had read: contents become zeros, of which nothing is left when the log is
 * packed. Invariant: a record becomes TRACE_LOG_LIVE only if the messages of its event are, one by
 * one, those that the graph has there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/mem.h"
#include "replay/packed.h"
#include "replay/prune-inner.h"
#include "trace/log.h"

#define LOG "0.log"
#define PIECE 65536u

struct record {
	uint64_t head, at, bytes, hash; /* where it begins, and its contents */
	int32_t tag;
	bool counts; /* it has a message */
	bool stays;  /* an image may have read it ahead */
};

/* A log at work. */
struct work {
	struct replay_prune *p;
	size_t rank;
	uint8_t *bytes; /* of the new stream */
	uint64_t length;
	size_t next;           /* message of the graph */
	size_t place;          /* image that is not passed yet */
	struct record *record; /* messages of the event at hand */
	size_t records, room;
	struct trace_live_entry *entry;
	size_t entries, entry_room;
};

static void add_need(struct replay_live *live, const struct prune_message *m, uint32_t receiver)
{
	struct replay_live_need need = {receiver, m->receiving, m->sender, m->sending};

	/* Those of one rank come in order: only the last few can be the same. */
	for (size_t i = live->needs; i > 0 && live->need[i - 1].receiver == receiver &&
				     live->need[i - 1].receiving == m->receiving;
	     i--) {
		if (live->need[i - 1].sender == m->sender &&
		    live->need[i - 1].sending == m->sending)
			return;
	}
	live->need = rp_realloc(live->need, live->needs + 1, sizeof(need));
	live->need[live->needs++] = need;
}

static void make_live(struct work *w, const struct record *r, const struct prune_message *m)
{
	if (w->entries == w->entry_room) {
		w->entry_room = w->entry_room ? 2 * w->entry_room : 1024;
		w->entry = rp_realloc(w->entry, w->entry_room, sizeof(*w->entry));
	}
	w->entry[w->entries++] = (struct trace_live_entry){
		.at = r->at, .event = m->send, .hash = r->hash, .sender = m->sender};
	w->bytes[r->head] = (uint8_t)((w->bytes[r->head] & ~15u) | TRACE_LOG_LIVE);
	memset(w->bytes + r->at, 0, r->bytes);
	add_need(&w->p->live, m, (uint32_t)w->rank);
}

/* The messages of an event, as the log and as the graph have them. */
static void decide(struct work *w, uint64_t event)
{
	const struct prune_rank *rank = &w->p->rank[w->rank];
	struct replay_live *live = &w->p->live;
	const struct prune_message *m;
	size_t n = 0, k = 0;
	bool same = true;

	while (w->next < rank->messages && rank->message[w->next].event < event)
		w->next++;
	m = rank->message + w->next;
	while (w->next + n < rank->messages && m[n].event == event)
		n++;
	for (size_t i = 0; i < w->records; i++) {
		if (!w->record[i].counts)
			continue;
		same = same && k < n && m[k].tag == w->record[i].tag &&
		       m[k].bytes == w->record[i].bytes;
		k++;
	}
	same = same && k == n;
	k = 0;
	for (size_t i = 0; i < w->records; i++) {
		struct record *r = &w->record[i];
		bool sent_again = same && r->counts && m[k].live && !r->stays;

		live->all.messages++;
		live->all.bytes += r->bytes;
		if (sent_again)
			make_live(w, r, &m[k]);
		live->logged.messages += !sent_again;
		live->logged.bytes += sent_again ? 0 : r->bytes;
		k += r->counts;
	}
	w->records = 0;
}

/* True if a process that goes on from an image may have read this record ahead. */
static bool is_read_ahead(struct work *w, uint64_t event)
{
	const struct prune_rank *rank = &w->p->rank[w->rank];
	bool first = false;

	while (w->place < rank->places && rank->place[w->place].event < event) {
		w->place++;
		first = true;
	}
	return first || (w->place < rank->places && rank->place[w->place].event == event);
}

static void see(struct work *w, const struct trace_log_rec *rec, uint64_t head, const uint8_t *base)
{
	bool ahead = is_read_ahead(w, rec->event);

	if (rec->kind != TRACE_LOG_MESSAGE)
		return;
	if (w->records == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		w->record = rp_realloc(w->record, w->room, sizeof(*w->record));
	}
	w->record[w->records++] = (struct record){
		.head = head,
		.at = (uint64_t)(rec->data - base),
		.bytes = rec->bytes,
		.hash = XXH3_64bits(rec->data, rec->bytes),
		.tag = rec->tag,
		.counts = !rec->error && !rec->cancelled && rec->bytes == rec->count,
		.stays = ahead,
	};
}

static int walk(struct work *w, struct trace_log_reader *reader)
{
	struct trace_log_rec rec;
	uint64_t event = 0, head = reader->pos;
	int rc;

	while ((rc = trace_log_next(reader, &rec)) == 1) {
		if (rec.event != event)
			decide(w, event);
		event = rec.event;
		see(w, &rec, head, reader->view.bytes);
		head = reader->pos;
	}
	decide(w, event);
	return rc;
}

static int write_stream(const struct work *w, const struct trace_header *origin, int to)
{
	struct trace_stream s;
	int rc = trace_stream_create(&s, to, LOG, (enum trace_stream_kind)TRACE_LOG_STREAM,
				     origin->rank, origin->process, origin->thread);

	if (rc)
		return rc;
	trace_stream_set_origin(&s, origin);
	for (uint64_t at = 0; at < w->length && !rc; at += PIECE) {
		size_t n = w->length - at < PIECE ? (size_t)(w->length - at) : PIECE;

		rc = trace_stream_reserve(&s, n);
		if (!rc)
			trace_stream_append(&s, w->bytes + at, n);
	}
	trace_stream_close(&s);
	return rc;
}

static int write_log(struct work *w, struct trace_log_reader *reader, int to)
{
	int rc;

	w->length = reader->view.length;
	w->bytes = rp_alloc(w->length + 1, 1);
	memcpy(w->bytes, reader->view.bytes, w->length);
	rc = walk(w, reader);
	if (!rc)
		rc = write_stream(w, reader->view.header, to);
	if (!rc)
		rc = replay_packed_make(to, LOG, to, LOG ".zst");
	if (!rc && unlinkat(to, LOG, 0) != 0)
		rc = -errno;
	return rc ? rc : replay_live_pack(to, "0.live.zst", w->entry, w->entries);
}

static int open_below(int dirfd, const char *name, unsigned rank)
{
	char *path = rp_format("%s/rank-%04u", name, rank);
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	free(path);
	return fd < 0 ? -errno : fd;
}

int prune_write_rank(struct replay_prune *p, const struct replay_front *f, size_t rank)
{
	struct work w = {.p = p, .rank = rank};
	unsigned number = f->run->rank[rank].rank;
	int from = open_below(f->session_fd, "log", number);
	int to = open_below(f->session_fd, "pruned", number);
	struct trace_log_reader reader;
	const char *why;
	int rc = from < 0 ? from : to < 0 ? to : trace_log_open(&reader, from, LOG, &why);

	if (!rc) {
		rc = write_log(&w, &reader, to);
		trace_log_close(&reader);
	} else if (rc == -ENOENT && to >= 0) {
		rc = 0; /* it has received nothing */
	}
	free(w.bytes);
	free(w.record);
	free(w.entry);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return rc;
}
