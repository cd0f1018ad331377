/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order records: the model that predicts the next record from the two before it, the writer that
 * counts what was predicted and writes the rest, and the reader that undoes it. Both sides feed
 * every record to the same model, so the stream need not say what was predicted.
 */
#ifndef TRACE_ORDER_H
#define TRACE_ORDER_H

#include "trace/stream.h"

struct trace_rec {
	uint32_t kind;
	uint32_t delta;
	uint64_t a, b;
};

/* Records that are found by their number, if at all, and not by their event. */
static inline bool trace_kind_is_keyed(uint32_t kind)
{
	return kind == TRACE_POST || kind == TRACE_CANCEL || kind == TRACE_GOT;
}

#define TRACE_MODEL_SLOTS 1024

/* Runs up to this length are better written out: bytes that recur compress well, counts do not. */
#define TRACE_LITERALS 3

struct trace_model {
	uint32_t context; /* of the last two records */
	uint32_t last;    /* hash of the last one */
	uint32_t last_delta[TRACE_KINDS];
	struct trace_rec slot[TRACE_MODEL_SLOTS];
};

static inline uint32_t trace_rec_mix(const struct trace_rec *r)
{
	uint64_t x = r->a ^ (r->b << 20 | r->b >> 44) ^ (uint64_t)r->delta << 36 ^
		     (uint64_t)r->kind << 56;

	return (uint32_t)((x * 0x9e3779b97f4a7c15ull) >> 40);
}

static inline struct trace_rec *trace_model_predicted(struct trace_model *m)
{
	return &m->slot[m->context % TRACE_MODEL_SLOTS];
}

/* The record has come; the table knew it already. */
static inline void trace_model_step(struct trace_model *m, const struct trace_rec *rec)
{
	uint32_t now = trace_rec_mix(rec);

	m->last_delta[rec->kind] = rec->delta;
	m->context = now ^ (m->last * 0x2f0b4c47u >> 20);
	m->last = now;
}

struct trace_order_writer {
	struct trace_stream stream;
	uint64_t events;     /* events begun */
	uint64_t last_event; /* event of the last record */
	uint32_t run;
	uint8_t literal[TRACE_LITERALS]; /* the first records of the run, as bytes */
	uint8_t literals;                /* how many of them are one byte each */
	uint32_t polls;
	bool busy; /* a record is being put: a signal handler must keep out */
	/*
	 * A record with a short value that led the model back to where it was. At event `again`, as
	 * many events after the last one, it will do so again. 0: there is none.
	 */
	uint64_t again, again_what;
	uint32_t again_delta;
	struct trace_model model;
};

/* The record's event is the current one. 0 or -errno; on failure nothing was written. */
int trace_order_put(struct trace_order_writer *w, uint32_t kind, uint64_t a, uint64_t b)
	__attribute__((warn_unused_result));

static inline void trace_order_busy(struct trace_order_writer *w, bool busy)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->busy = busy;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline uint64_t trace_order_what(uint32_t kind, uint32_t a)
{
	return a | (uint64_t)kind << 32;
}

/*
 * trace_order_put of (kind, a, 0), inline for the most frequent case: the same record as before.
 * false: it is another case, and nothing was done.
 */
static inline bool trace_order_again(struct trace_order_writer *w, uint32_t kind, uint32_t a)
{
	if (w->events != w->again || w->again_what != trace_order_what(kind, a) ||
	    w->run == UINT32_MAX)
		return false;
	trace_order_busy(w, true);
	trace_stream_set_run(&w->stream, ++w->run);
	w->last_event = w->again;
	w->again += w->again_delta;
	trace_order_busy(w, false);
	return true;
}

/* The same for one more record of a long run, whatever it is. */
static inline bool trace_order_run(struct trace_order_writer *w, uint32_t kind, uint64_t a)
{
	const struct trace_rec *p = trace_model_predicted(&w->model);
	uint32_t context = w->model.context, last = w->model.last;

	if (p->a != a || p->kind != kind || p->delta != w->events - w->last_event || p->b ||
	    w->polls || w->run < TRACE_LITERALS || w->run == UINT32_MAX)
		return false;
	trace_order_busy(w, true);
	trace_stream_set_run(&w->stream, ++w->run);
	trace_model_step(&w->model, p);
	w->last_event = w->events;
	w->again = 0;
	if (w->model.context == context && w->model.last == last && a <= UINT32_MAX) {
		w->again = w->events + p->delta;
		w->again_delta = p->delta;
		w->again_what = trace_order_what(kind, (uint32_t)a);
	}
	trace_order_busy(w, false);
	return true;
}

/*
 * The same for n records of the current event. Returns how many were done. If a record leaves the
 * model as it was, so will all that follow it.
 */
static inline uint32_t trace_order_run_on(struct trace_order_writer *w, uint32_t kind, uint64_t a,
					  uint32_t n)
{
	uint32_t done = 0;

	while (done < n) {
		uint32_t context = w->model.context, last = w->model.last, rest;

		if (!trace_order_run(w, kind, a))
			break;
		done++;
		if (w->model.context != context || w->model.last != last ||
		    trace_model_predicted(&w->model)->delta)
			continue;
		rest = n - done < UINT32_MAX - w->run ? n - done : UINT32_MAX - w->run;
		trace_order_busy(w, true);
		w->run += rest;
		trace_stream_set_run(&w->stream, w->run);
		trace_order_busy(w, false);
		return done + rest;
	}
	return done;
}

/* The count of failed polls is full: makes a record of it. */
void trace_order_flush_polls(struct trace_order_writer *w);

/* Failed polls that were counted elsewhere, maybe more than fit into the count: one record. */
int trace_order_put_polls(struct trace_order_writer *w, uint64_t polls)
	__attribute__((warn_unused_result));

/* One more failed poll: a store. */
static inline void trace_order_fail(struct trace_order_writer *w)
{
	if (w->polls == UINT32_MAX)
		trace_order_flush_polls(w);
	w->again = 0;
	trace_stream_set_polls(&w->stream, ++w->polls, w->run);
}

/*
 * Writes a record that only such records will follow. If there is no other space, it uses the
 * reserved one. May be called in a signal handler. If the handler interrupted the stores of another
 * record, it does nothing, and the stream ends without this record.
 */
void trace_order_put_last(struct trace_order_writer *w, uint32_t kind, uint64_t a, uint64_t b);

struct trace_order_reader {
	const struct trace_view *view;
	struct trace_model model;
	uint64_t pos;
	uint64_t run;  /* predicted records still to come */
	bool tail_run; /* the count kept in the header was taken */
	bool tail_polls;
	bool again; /* the last record led the model back to where it was: it is predicted again */
	uint64_t last_event;
};

void trace_order_reader_init(struct trace_order_reader *r, const struct trace_view *view);

/* 1 and *rec, 0 at the end, -EBADMSG if the bytes make no sense. */
int trace_order_next(struct trace_order_reader *r, struct trace_rec *rec)
	__attribute__((warn_unused_result));

/* The same in line, as far as a run goes on; false: nothing was done. */
static inline bool trace_order_next_of_run(struct trace_order_reader *r, struct trace_rec *rec)
{
	uint32_t context = r->model.context, last = r->model.last;

	if (!r->run)
		return false;
	r->run--;
	*rec = *trace_model_predicted(&r->model);
	trace_model_step(&r->model, rec);
	r->again = r->model.context == context && r->model.last == last;
	r->last_event += rec->delta;
	return true;
}

/* The same if the next record is the last one, `rec`, once more. */
static inline bool trace_order_next_again(struct trace_order_reader *r, const struct trace_rec *rec)
{
	if (!r->run || !r->again)
		return false;
	r->run--;
	r->last_event += rec->delta;
	return true;
}

/*
 * For callers that only count: trace_order_next that also gives, in *times, how often the record
 * comes, here and further on. Within a run the model goes in circles. They are found by the model's
 * earlier states, and a circle of a long run is walked only once. Also returns -EBADMSG if that
 * takes more steps than a stream of its size can need.
 */
struct trace_order_turns {
	uint32_t context, last; /* where it was, `steps` ago, if `most` is not 0 */
	uint64_t steps, most;
	uint64_t least;       /* circles that come less often are gone through each time */
	uint64_t left, times; /* of the circle that is counted */
	uint64_t taken;       /* steps of all */
};

int trace_order_next_times(struct trace_order_reader *r, struct trace_order_turns *t,
			   struct trace_rec *rec, uint64_t *times)
	__attribute__((warn_unused_result));

/*
 * For callers that need each record: trace_order_next that counts in *taken. Returns -EFBIG if
 * there are more than anybody would wait for: a few bytes can claim any number of predicted
 * records.
 */
int trace_order_next_counted(struct trace_order_reader *r, uint64_t *taken, struct trace_rec *rec)
	__attribute__((warn_unused_result));

/* How many that is; tests lower it. */
extern uint64_t trace_order_most;

/* The event number of the record that trace_order_next gave last. */
static inline uint64_t trace_order_event(const struct trace_order_reader *r)
{
	return r->last_event;
}

#endif
