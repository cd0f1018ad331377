/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer between the replay and MPI. The guide stream of a thread is read along with its events:
 * marks[] are those of the event at work. Both ends of a message know from their own guide whether
 * it is held back, so the messages of a shadow are received in the order MPI gives them, as those
 * of its communicator are. Invariant: every process of a communicator makes its shadow in the same
 * event of it.
 */
#include "hook/mpi/replay/held.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook/kit/text.h"
#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/kit/table.h"
#include "hook/kit/time.h"
#include "hook/session/session.h"

#define FIRST_MARKS 16
#define LONGEST_WAIT_NS 2000000000
#define PATIENT_TRIES 100
#define NAP_NS 20000
#define PERMIT_TAGS 32768 /* MPI promises as many */

bool hook_held_on;

struct held {
	struct trace_view view;
	struct trace_order_reader reader;
	struct trace_rec next;
	bool more;
	struct trace_rec *mark;
	size_t marks, room;
	uint64_t received; /* messages of the event at work */
};

/* By communicator; it stays where it is: Comm_idup writes there later. */
struct shadow {
	struct hook_entry entry;
	MPI_Comm comm;
	MPI_Request request; /* of Comm_idup: the shadow is not there before it completes */
};

static struct hook_table shadows = {.bytes = sizeof(struct shadow), .clear = sizeof(struct shadow)};
static struct hook_lock locked;
static MPI_Comm permits;
static struct hook_mpi_calls below; /* the layer below: MPI itself */

static void advance(struct hook_thread *t, struct held *g)
{
	int rc = trace_order_next(&g->reader, &g->next);

	if (rc < 0 || (rc == 1 && g->next.kind >= TRACE_GUIDE_KINDS))
		hook_failed(t, "the guide of the recording makes no sense here");
	g->more = rc == 1;
}

/* A thread that was not recorded has none. */
static struct held *open_held(struct hook_thread *t)
{
	struct held *g = hook_pages(sizeof(*g));
	char name[TRACE_NAME_BYTES + 16];
	const char *why;

	if (!g)
		hook_failed(t, "out of memory for held messages");
	t->replay.guide = g;
	if (!t->replay.order_view.header)
		return g;
	hook_stream_name(t, "guide", name, sizeof(name));
	if (trace_view_open(&g->view, hook_process.rank_fd, name, &why))
		hook_failed_by(t, name, " ", why);
	trace_order_reader_init(&g->reader, &g->view);
	advance(t, g);
	return g;
}

static void add_mark(struct hook_thread *t, struct held *g)
{
	if (g->marks == g->room) {
		size_t room = g->room ? 2 * g->room : FIRST_MARKS;

		g->mark = hook_pages_widen(g->mark, g->room * sizeof(*g->mark),
					   room * sizeof(*g->mark));
		if (!g->mark)
			hook_failed(t, "out of memory for held messages");
		g->room = room;
	}
	g->mark[g->marks++] = g->next;
}

static void read_marks(struct hook_thread *t)
{
	struct held *g = t->replay.guide ? t->replay.guide : open_held(t);

	g->marks = g->received = 0;
	while (g->more && trace_order_event(&g->reader) <= t->replay.events) {
		if (trace_order_event(&g->reader) == t->replay.events)
			add_mark(t, g);
		advance(t, g);
	}
}

static bool is_marked(const struct hook_thread *t, uint32_t kind, uint64_t a)
{
	/* A thread of MPI's own has no state of ours. */
	const struct held *g = t ? t->replay.guide : NULL;

	for (size_t i = 0; g && i < g->marks; i++) {
		if (g->mark[i].kind == kind && g->mark[i].a == a)
			return true;
	}
	return false;
}

bool hook_held_has_marks(const struct hook_thread *t)
{
	const struct held *g = t->replay.guide;

	return g && g->marks;
}

static uint64_t events_of_all(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < hook_process.world; i++)
		sum += __atomic_load_n(&hook_session_slot((uint32_t)i)->events, __ATOMIC_RELAXED);
	return sum;
}

/* True if the permit has come; false if nothing moved for long. */
static bool look_for(int peer, int tag)
{
	uint64_t seen = events_of_all(), since = hook_time_now();
	int there = 0;

	for (int tries = 0; hook_time_now() - since < LONGEST_WAIT_NS; tries++) {
		uint64_t events = events_of_all();

		below.Iprobe(peer, tag, permits, &there, MPI_STATUS_IGNORE);
		if (there)
			return true;
		if (events != seen ||
		    (hook_time_now() - since > LONGEST_WAIT_NS / 2 && hook_session_is_held()))
			since = hook_time_now();
		seen = events;
		if (tries < PATIENT_TRIES)
			sched_yield();
		else
			hook_time_nap(NAP_NS);
	}
	return false;
}

static void say_early(void)
{
	static int said;
	char number[24];
	struct hook_text text = hook_text_in(number, sizeof(number));

	if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
		return;
	hook_text_number(&text, hook_process.rank);
	hook_say("rank ", number,
		 " sends a message earlier than recorded, because all ranks wait for each other; "
		 "more messages may have to be buffered",
		 NULL);
}

/*
 * A large message may wait for its receive where in the recording it was buffered; so all may wait
 * for each other. Then the message is sent without its permit, which is received when it comes.
 */
static void await(int peer, int tag)
{
	bool there = look_for(peer, tag);
	MPI_Request request;

	below.Irecv(NULL, 0, MPI_PACKED, peer, tag, permits, &request);
	if (there) {
		below.Wait(&request, MPI_STATUS_IGNORE);
		return;
	}
	below.Request_free(&request);
	say_early();
}

void hook_held_begin(struct hook_thread *t)
{
	struct held *g;

	read_marks(t);
	g = t->replay.guide;
	for (size_t i = 0; i < g->marks; i++) {
		if (g->mark[i].kind == TRACE_GUIDE_AWAIT)
			await((int)g->mark[i].a, (int)(g->mark[i].b % PERMIT_TAGS));
	}
}

/* A permit is a message without content: it does not wait for anybody. */
void hook_held_end(struct hook_thread *t)
{
	struct held *g = t->replay.guide;
	MPI_Request request;

	for (size_t i = 0; i < g->marks; i++) {
		if (g->mark[i].kind != TRACE_GUIDE_PERMIT)
			continue;
		below.Isend(NULL, 0, MPI_PACKED, (int)g->mark[i].a,
			    (int)(g->mark[i].b % PERMIT_TAGS), permits, &request);
		below.Request_free(&request);
	}
	g->marks = 0;
}

static struct shadow *new_shadow(MPI_Comm comm)
{
	struct shadow *s;

	hook_lock_take(&locked);
	s = hook_mpi_entry(&shadows, (uint64_t)(uintptr_t)comm, "held messages");
	s->request = MPI_REQUEST_NULL;
	hook_lock_give(&locked);
	return s;
}

/* Not MPI_Comm_dup: it would call what the program has attached to copy its attributes. */
static void make_shadow(MPI_Comm comm, MPI_Comm *shadow)
{
	MPI_Group group;

	below.Comm_group(comm, &group);
	below.Comm_create(comm, group, shadow);
	below.Group_free(&group);
}

static struct shadow *find(MPI_Comm comm)
{
	struct shadow *s;

	hook_lock_take(&locked);
	s = hook_table_find(&shadows, (uint64_t)(uintptr_t)comm);
	hook_lock_give(&locked);
	return s;
}

static MPI_Comm ready(struct shadow *s)
{
	if (s->request != MPI_REQUEST_NULL)
		below.Wait(&s->request, MPI_STATUS_IGNORE);
	return s->comm;
}

/* The parent's shadow has no attributes; where it has none, its own are copied. */
void hook_held_created(struct hook_thread *t, MPI_Comm parent, MPI_Comm created)
{
	struct shadow *s, *of;

	if (!hook_held_on || created == MPI_COMM_NULL || !is_marked(t, TRACE_GUIDE_SHADOW, 0))
		return;
	s = new_shadow(created);
	if (parent == MPI_COMM_NULL) {
		make_shadow(created, &s->comm);
		return;
	}
	of = find(parent);
	below.Comm_idup(of ? ready(of) : parent, &s->comm, &s->request);
}

void hook_held_freeing(struct hook_thread *t, MPI_Comm comm)
{
	struct shadow *s = hook_held_on ? find(comm) : NULL;

	(void)t;
	if (!s)
		return;
	ready(s);
	below.Comm_free(&s->comm);
	hook_lock_take(&locked);
	hook_table_remove(&shadows, s);
	hook_table_free(&shadows, s);
	hook_lock_give(&locked);
}

/* Errors are handled as on the communicator itself, whose handler may have been set since. */
static void copy_handler(MPI_Comm comm, MPI_Comm shadow)
{
	MPI_Errhandler handler;

	if (below.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS)
		return;
	below.Comm_set_errhandler(shadow, handler);
	below.Errhandler_free(&handler);
}

static MPI_Comm shadow_of(struct hook_thread *t, MPI_Comm comm)
{
	struct shadow *s = find(comm);

	if (!s)
		hook_failed(t, "a message is held back on a communicator that has no shadow");
	copy_handler(comm, ready(s));
	return s->comm;
}

static int held_send(struct hook_mpi_send *o)
{
	if (is_marked(hook_self, TRACE_GUIDE_SEND, 0))
		o->comm = shadow_of(hook_self, o->comm);
	return hook_mpi_send(&below, o);
}

/* Where the next message of the event comes from. */
static MPI_Comm receive_on(MPI_Comm comm)
{
	struct held *g = hook_self ? hook_self->replay.guide : NULL;

	return g && is_marked(hook_self, TRACE_GUIDE_RECV, g->received++)
		       ? shadow_of(hook_self, comm)
		       : comm;
}

static int held_receive(struct hook_mpi_receive *o)
{
	if (!o->message)
		o->comm = receive_on(o->comm);
	return hook_mpi_receive(&below, o);
}

static int held_probe(struct hook_mpi_probe *o)
{
	if (is_marked(hook_self, TRACE_GUIDE_RECV, 0))
		o->comm = shadow_of(hook_self, o->comm);
	return hook_mpi_probe(&below, o);
}

/* One that gives a request cannot be on two communicators: it is done as it is. */
static int held_exchange(struct hook_mpi_exchange *o)
{
	bool sends = is_marked(hook_self, TRACE_GUIDE_SEND, 0);
	int rc;

	if (o->receive.post != HOOK_BLOCKING)
		return hook_mpi_exchange(&below, o);
	o->receive.comm = receive_on(o->send.comm);
	o->send.comm = sends ? shadow_of(hook_self, o->send.comm) : o->send.comm;
	if (o->send.comm == o->receive.comm)
		return hook_mpi_exchange(&below, o);
	rc = o->replace ? hook_mpi_pack_first(hook_self, &o->send) : MPI_SUCCESS;
	return rc == MPI_SUCCESS ? hook_mpi_exchange_by_parts(&below, hook_self, o) : rc;
}

HOOK_MPI_LAYER_MESSAGES(held)

bool hook_held_is_there(const struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];

	hook_stream_name(t, "guide", name, sizeof(name));
	return faccessat(hook_process.rank_fd, name, F_OK, 0) == 0;
}

void hook_held_open(struct hook_thread *t)
{
	hook_held_on = true;
	below = hook_mpi_top;
	held_install_messages(&hook_mpi_top);
	read_marks(t);
	hook_held_created(t, MPI_COMM_NULL, MPI_COMM_WORLD);
	if (is_marked(t, TRACE_GUIDE_SHADOW, 1))
		below.Comm_dup(MPI_COMM_WORLD, &permits);
}
