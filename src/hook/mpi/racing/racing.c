/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `racing`: a wildcard's outcome is written when a message comes that it could have taken instead;
 * see doc/internals/racing.md. `all`: every receive is written. Invariant of `racing`: an outcome
 * that the program has seen is written, or in the window's file, or no message can race with it any
 * more.
 */
#include "hook/mpi/racing/racing.h"

#include <unistd.h>

#include "hook/causal/window.h"
#include "hook/mpi/record/record.h"
#include "hook/mpi/stamp/stamp.h"
#include "trace/window.h"

static const struct record_tracing racing;
static struct hook_window window;
static struct trace_window file;

static void write_outcome(struct hook_thread *t, uint64_t number, uint32_t source)
{
	record_fate(t, number, TRACE_POST_SOURCE + (uint64_t)source);
}

/* A slot is cleared only afterwards: at any moment the stream or the window has them. */
static void raced(void *unused, const struct hook_outcome *outcome)
{
	struct hook_thread *t = hook_self;
	uint64_t a = TRACE_POST_SOURCE + (uint64_t)outcome->source;
	uint32_t n = outcome->count, done = 0;

	(void)unused;
	while (done < n) {
		uint64_t number = outcome->number + done;
		uint32_t more =
			number == t->record.last_wild && !t->passive
				? trace_order_run_on(&t->record.order, TRACE_POST, a, n - done)
				: 0;

		t->record.last_wild += more;
		done += more;
		if (!more) {
			write_outcome(t, number, outcome->source);
			done++;
		}
	}
}

static void store(void *unused, uint32_t slot, const struct hook_outcome *outcome)
{
	(void)unused;
	if (outcome)
		trace_window_set(&file, slot, outcome->number, outcome->source, outcome->count);
	else
		trace_window_clear(&file, slot);
}

/*
 * Messages that have come and are not compared with the window yet. One call may complete several
 * receives; what the program sees of one of them may race with the message of another, so all
 * outcomes must be in the window first. They are compared before the next message comes in another
 * call, and before anything else is done with the window.
 */
#define ARRIVALS 1024

static struct arrival {
	uint64_t comm, key, covers;
	int tag, source;
} arrival[ARRIVALS];
static uint32_t arrivals;
static uint64_t arrived_at; /* event of them */
static uint64_t crowded;    /* the last event in which they were too many */

static void compare(uint64_t comm, int tag, int source, uint64_t key, uint64_t covers)
{
	if (tag == MPI_ANY_TAG || source < 0)
		hook_window_evict(&window, UINT32_MAX);
	else
		hook_window_message(&window, comm, tag, (uint32_t)source, key, covers);
}

static void settle_all(void)
{
	for (uint32_t i = 0; i < arrivals; i++) {
		const struct arrival *a = &arrival[i];

		compare(a->comm, a->tag, a->source, a->key, a->covers);
	}
	arrivals = 0;
}

static inline void settle(void)
{
	if (__builtin_expect(arrivals, 0))
		settle_all();
}

/*
 * What comes to a call that blocks comes alone. Where too many come in one call, the outcomes of
 * this call so far are taken for racing.
 */
static void message_came(MPI_Comm comm, int tag, int source, uint64_t key, uint64_t covers)
{
	uint64_t event = hook_self->record.order.events;

	if (!(key & 1)) {
		settle();
		compare((uint64_t)(uintptr_t)comm, tag, source, key, covers);
		return;
	}
	if (event != arrived_at)
		settle();
	if (arrivals == ARRIVALS) {
		settle_all();
		crowded = event + 1; /* a poll is counted after it has succeeded */
	}
	arrived_at = event;
	arrival[arrivals++] = (struct arrival){(uint64_t)(uintptr_t)comm, key, covers, tag, source};
}

/* A window that is swept often stays in the cache; one that cannot be swept is tried less often. */
#define SWEEP_FIRST 256

static uint32_t sweep_at = SWEEP_FIRST;

/*
 * Forgets what no message to come can race with, nor one that has come in this call: they are
 * compared when all of its outcomes are in the window.
 */
static void forget(void)
{
	uint64_t lowest, second;
	uint32_t who;

	hook_clock_floor(&stamp_clock, &lowest, &who, &second);
	for (uint32_t i = 0; i < arrivals; i++) {
		if (arrival[i].covers < lowest)
			lowest = arrival[i].covers;
		if (arrival[i].covers < second)
			second = arrival[i].covers;
	}
	hook_window_retire(&window, lowest, who, second);
}

static void make_room(void)
{
	forget();
	if (hook_window_is_full(&window))
		hook_window_evict(&window, WINDOW_ENTRIES / 8);
	sweep_at = 2 * window.used;
	if (sweep_at < SWEEP_FIRST)
		sweep_at = SWEEP_FIRST;
	if (sweep_at > WINDOW_ENTRIES)
		sweep_at = WINDOW_ENTRIES;
}

/* Writes the last entry, most often one outcome that was predicted, and leaves its slot as it is.
 */
static inline void raced_latest(struct hook_thread *t)
{
	const struct hook_outcome *latest = &window.latest;

	if (latest->count == 1 && latest->number == t->record.last_wild && !t->passive &&
	    trace_order_run(&t->record.order, TRACE_POST,
			    TRACE_POST_SOURCE + (uint64_t)latest->source))
		t->record.last_wild++;
	else
		raced(NULL, latest);
	window.latest.count = 0;
}

/* Can what the program sees now go to the window? */
static inline bool has_place(const struct hook_thread *t, uint64_t number, int source)
{
	return t->record.order.events > crowded && number <= TRACE_WINDOW_MAX_NUMBER &&
	       source <= (int)TRACE_WINDOW_MAX_SOURCE;
}

static inline __attribute__((always_inline)) void keep(uint64_t number, uint64_t key, MPI_Comm comm,
						       int tag, int source, int world)
{
	struct hook_outcome outcome = {.number = number,
				       .key = key,
				       .source = (uint32_t)source,
				       .sender = (uint32_t)world};

	if (window.used >= sweep_at)
		make_room();
	if (tag == MPI_ANY_TAG)
		tag = WINDOW_ANY_TAG;
	outcome.done = hook_clock_observe(&stamp_clock);
	hook_window_add(&window, (uint64_t)(uintptr_t)comm, tag, &outcome);
	store(NULL, 0, &window.latest);
}

/* The program has seen whom a wildcard received from. */
static void saw(struct hook_thread *t, uint64_t number, uint64_t key, MPI_Comm comm, int tag,
		int source)
{
	int world = stamp_comm_sender(comm, source);

	if (source < 0)
		return;
	if (world >= 0 && has_place(t, number, source))
		keep(number, key, comm, tag, source, world);
	else
		write_outcome(t, number, (uint32_t)source);
}

/*
 * The same of a wildcard on MPI_COMM_WORLD whose message is not compared yet. An outcome that races
 * with it is written and leaves its slot to this one.
 */
static inline void came_and_saw(struct hook_thread *t, uint64_t number, uint64_t key, int tag,
				const MPI_Status *status, uint64_t covers)
{
	uint64_t comm = (uint64_t)(uintptr_t)MPI_COMM_WORLD;
	int source = status->MPI_SOURCE;

	if (!has_place(t, number, source)) {
		compare(comm, status->MPI_TAG, source, key, covers);
		write_outcome(t, number, (uint32_t)source);
		return;
	}
	if (hook_window_races_latest(&window, comm, status->MPI_TAG, (uint32_t)source, key,
				     covers)) {
		raced_latest(t);
	} else {
		hook_window_message(&window, comm, status->MPI_TAG, (uint32_t)source, key, covers);
	}
	keep(number, key, MPI_COMM_WORLD, tag, source, source);
}

/*
 * Wildcards that were posted before a receive that has completed have been matched, see
 * record_older; and the program, who has not seen their outcome, cannot have told anybody. So they
 * raced with its message, unless that came from the same rank.
 */
static void older(struct hook_thread *t, MPI_Comm comm, const MPI_Status *of, uint64_t post)
{
	struct hook_request *r, *next;

	for (r = hook_requests_first_open(); r && r->post < post; r = next) {
		MPI_Status status;
		int flag = 0;

		next = hook_requests_next_open(r);
		if (r->want.comm != comm ||
		    (r->want.tag != MPI_ANY_TAG && r->want.tag != of->MPI_TAG))
			continue;
		if (r->flags & REQUEST_DONE)
			continue; /* it will be in the window when the messages are compared */
		stamp_ask(r->handle, &flag, &status);
		if (flag && status.MPI_SOURCE == of->MPI_SOURCE)
			continue;
		if (!record_ask(t, r))
			hook_requests_pend(r);
	}
}

static bool racing_received(struct hook_thread *t, uint32_t kind, int source, MPI_Comm comm,
			    const MPI_Status *status)
{
	(void)kind;
	settle();
	if (hook_requests_count() && status->MPI_SOURCE >= 0)
		older(t, comm, status, UINT64_MAX);
	if (source == MPI_ANY_SOURCE)
		saw(t, hook_requests_number_wild(), stamp_next_key(false), comm, t->mpi.tag,
		    status->MPI_SOURCE);
	return true;
}

static inline void came_to_recv(struct hook_thread *t, int source, int tag,
				const MPI_Status *status, uint64_t covers)
{
	if (source == MPI_ANY_SOURCE)
		came_and_saw(t, hook_requests_number_wild(), stamp_next_key(false), tag, status,
			     covers);
	else
		compare((uint64_t)(uintptr_t)MPI_COMM_WORLD, status->MPI_TAG, status->MPI_SOURCE,
			stamp_next_key(false), covers);
}

/* racing_receive where clocks are in the ledger. */
static bool receive_apart(struct hook_thread *t, const struct hook_mpi_receive *o, int *rc)
{
	MPI_Status *status = o->status;

	*rc = stamp_below.Recv(o->buf, (int)o->count, o->type, o->source, o->tag, MPI_COMM_WORLD,
			       status);
	if (HOOK_LIKELY(*rc == MPI_SUCCESS)) {
		came_to_recv(t, o->source, o->tag, status,
			     stamp_apart_covers(status->MPI_SOURCE, status->MPI_TAG));
		return true;
	}
	stamp_apart_came(status, *rc);
	racing_received(t, TRACE_SRC, o->source, MPI_COMM_WORLD, record_told(*rc, status));
	return true;
}

/*
 * Most receives are of short messages, by one call, while nothing else is under way: the layer's
 * part and racing_received in one piece.
 */
bool racing_receive(struct hook_thread *t, const struct hook_mpi_receive *o, int *rc)
{
	MPI_Status *status = o->status;
	size_t bytes;
	long fits;

	if (record_tracing != &racing || o->comm != MPI_COMM_WORLD || o->source == MPI_PROC_NULL ||
	    o->count < 0 || arrivals || stamp_request_orphans || hook_requests_count())
		return false;
	if (stamp_apart)
		return o->count <= INT_MAX && receive_apart(t, o, rc);
	fits = stamp_type_copyable(o->buf, o->count, o->type, stamp_room);
	if (fits < 0)
		return false;
	stamp_status_set_bytes(status, 0);
	*rc = stamp_below.Recv(stamp_recv_room, (int)stamp_head + (int)fits, MPI_BYTE, o->source,
			       o->tag, o->comm, status);
	bytes = stamp_status_bytes(status);
	if (HOOK_LIKELY(*rc == MPI_SUCCESS && bytes >= stamp_head)) {
		bytes -= stamp_head;
		stamp_copy(o->buf, stamp_recv_room + stamp_head, bytes);
		stamp_status_set_bytes(status, bytes);
		came_to_recv(t, o->source, o->tag, status,
			     hook_clock_receive(&stamp_clock, stamp_recv_room));
		return true;
	}
	stamp_unwrap(&(struct stamp_parcel){.clock = stamp_recv_room,
					    .home = o->buf,
					    .bytes = (size_t)fits},
		     o->comm, stamp_next_key(false), status, *rc);
	racing_received(t, TRACE_SRC, o->source, o->comm, record_told(*rc, status));
	return true;
}

static bool racing_completed(struct hook_thread *t, struct hook_request *r, MPI_Status *status,
			     bool retire)
{
	MPI_Comm comm = r->want.comm;
	uint64_t post = r->post;

	if (hook_mpi_is_cancelled(r->flags & REQUEST_CANCEL, status))
		return false;
	if ((r->flags & (REQUEST_WILD | REQUEST_KNOWN | REQUEST_PENDING)) ==
	    (REQUEST_WILD | REQUEST_PENDING))
		return false;
	if ((r->flags & (REQUEST_WILD | REQUEST_KNOWN)) == REQUEST_WILD)
		saw(t, r->wild, 2 * post + 1, comm, r->want.tag, status->MPI_SOURCE);
	r->flags |= REQUEST_KNOWN;
	hook_requests_close(r);
	if (retire)
		hook_requests_retire(r);
	if (status->MPI_SOURCE >= 0)
		older(t, comm, status, post);
	return true;
}

static void remove_file(struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];

	hook_stream_name(t, "window", name, sizeof(name));
	unlinkat(hook_process.rank_fd, name, 0);
}

/* A correct program has received all messages by now: then nothing can race any more. */
static void racing_closing(struct hook_thread *t)
{
	bool all = stamp_close();

	settle();
	if (!all)
		return;
	remove_file(t);
	hook_window_retire(&window, UINT64_MAX, 0, UINT64_MAX);
	trace_window_close(&file);
}

static const struct record_tracing racing = {racing_received, racing_completed, racing_closing};

static bool all_received(struct hook_thread *t, uint32_t kind, int source, MPI_Comm comm,
			 const MPI_Status *status)
{
	(void)kind, (void)source, (void)comm;
	record_note(t, TRACE_GOT, (uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG);
	return false;
}

static bool all_completed(struct hook_thread *t, struct hook_request *r, MPI_Status *status,
			  bool retire)
{
	(void)r, (void)retire;
	record_note(t, TRACE_GOT, (uint32_t)status->MPI_SOURCE, (uint32_t)status->MPI_TAG);
	return false;
}

static const struct record_tracing all = {all_received, all_completed, NULL};

static bool prepare(struct hook_thread *t, uint32_t mode, int world)
{
	static const enum hook_clock_kind kinds[TRACE_MODES] = {
		[TRACE_MODE_RACING_FIXED] = CLOCK_FIXED,
		[TRACE_MODE_RACING_INCREMENTAL] = CLOCK_INCREMENTAL,
		[TRACE_MODE_RACING_FULL] = CLOCK_FULL,
	};
	char name[TRACE_NAME_BYTES + 16];
	int rank = 0;

	hook_mpi_top.Comm_rank(MPI_COMM_WORLD, &rank);
	window.write = raced;
	window.store = store;
	hook_stream_name(t, "window", name, sizeof(name));
	return stamp_open(kinds[mode], rank, world) == 0 &&
	       trace_window_create(&file, hook_process.rank_fd, name, WINDOW_ENTRIES + 1) == 0;
}

/* No clocks ride after all. */
static uint32_t fall_back(struct hook_thread *t, bool threads)
{
	remove_file(t);
	if (threads)
		hook_say_once("racing", "--trace=racing does not work for programs with several ",
			      "threads in MPI (thread level serialized or multiple): this run is ",
			      "recorded with --trace=order", NULL);
	else if (hook_process.rank == 0)
		hook_say_once("racing",
			      "not all ranks can carry clocks: this run is recorded with ",
			      "--trace=order", NULL);
	return TRACE_MODE_ORDER;
}

uint32_t racing_open(struct hook_thread *t, int world, int level)
{
	uint32_t mode = hook_process.trace;
	bool threads = level >= MPI_THREAD_SERIALIZED;
	enum racing_ride ride;

	if (mode == TRACE_MODE_ORDER)
		return mode;
	if (mode == TRACE_MODE_ALL) {
		record_tracing = &all;
		return mode;
	}
	if (hook_mpi_sessions) {
		hook_say_once("racing",
			      "--trace=racing does not work for programs that use MPI by ",
			      "sessions: this run is recorded with --trace=order", NULL);
		return TRACE_MODE_ORDER;
	}
	ride = racing_agree(!threads && prepare(t, mode, world), world);
	if (ride == RACING_NO)
		return fall_back(t, threads);
	stamp_came = message_came;
	record_tracing = &racing;
	stamp_ride(ride == RACING_APART);
	return mode;
}
