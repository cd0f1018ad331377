/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parcels: putting a clock before the data of a message, and taking it off again. Short messages of
 * a predefined type are copied; for all others MPI gathers clock and data by a datatype. Invariant:
 * a message that MPI has taken from us has a clock; a receive that MPI has from us expects one.
 */
#include "hook/mpi/stamp/stamp.h"

#include <errno.h>
#include <unistd.h>

#include "hook/kit/pages.h"
#include "hook/mpi/object/requests.h"

struct hook_mpi_calls stamp_below;
struct hook_clock stamp_clock;
size_t stamp_head;
uint32_t *stamp_counts;
bool stamp_apart;
uint8_t *stamp_send_room, *stamp_recv_room;
long stamp_room;
void (*stamp_came)(MPI_Comm comm, int tag, int source, uint64_t key, uint64_t covers);

uint64_t stamp_next_key(bool posted)
{
	return 2 * hook_requests_next_post() + posted;
}

/* What MPI is to send or receive in the place of the program's data. */
struct data {
	const void *buf;
	MPI_Count count;
	MPI_Datatype type;
};

static bool use_copy(struct stamp_parcel *p, struct stamp_request *r, uint8_t *room, size_t bytes,
		     struct data *d)
{
	p->clock = r ? stamp_request_room(r, stamp_head + bytes) : room;
	p->typed = NULL;
	*d = (struct data){p->clock, (MPI_Count)(stamp_head + bytes), MPI_BYTE};
	return p->clock != NULL;
}

static bool use_type(struct stamp_parcel *p, struct data *d, bool sends)
{
	p->typed = stamp_type_get(d->buf, d->count, d->type, sends);
	if (!p->typed)
		return false;
	p->clock = p->typed->slot;
	*d = (struct data){MPI_BOTTOM, 1, p->typed->stamped};
	return true;
}

/* What an Isendrecv sends and receives has other places. */
static long bytes_to_copy(const struct stamp_request *r, const struct data *d)
{
	if (r && r->flags & STAMP_BOTH)
		return -1;
	return stamp_type_copyable(d->buf, d->count, d->type,
				   r ? stamp_request_limit() : stamp_room);
}

/* False: memory is out. */
static bool wrap(struct stamp_parcel *p, struct stamp_request *r, struct data *d, bool sends)
{
	long bytes = bytes_to_copy(r, d);

	p->home = (void *)d->buf;
	p->bytes = bytes < 0 ? 0 : (size_t)bytes;
	return bytes < 0 ? use_type(p, d, sends)
			 : use_copy(p, r, sends ? stamp_send_room : stamp_recv_room, p->bytes, d);
}

/* What MPI would complain about goes to it as it is. */
int stamp_wrap_send(struct stamp_parcel *p, struct stamp_request *r, struct hook_mpi_send *o)
{
	struct data d = {o->buf, o->count, o->type};

	if (o->dest < 0 || o->count < 0 || o->type == MPI_DATATYPE_NULL)
		return 0;
	p->world = stamp_comm_world(o->comm, o->dest);
	if (p->world < 0)
		return 0;
	if (!wrap(p, r, &d, true))
		return -1;
	o->buf = d.buf;
	o->count = d.count;
	o->type = d.type;
	if (r && r->flags & STAMP_PERSISTENT)
		return 1; /* what it sends is what there will be when it is started */
	hook_clock_stamp(&stamp_clock, (uint32_t)p->world, p->clock);
	if (!p->typed)
		stamp_copy((char *)p->clock + stamp_head, p->home, p->bytes);
	return 1;
}

int stamp_wrap_matched(struct stamp_parcel *p, struct stamp_request *r, struct hook_mpi_receive *o)
{
	struct data d = {o->buf, o->count, o->type};

	if (o->count < 0 || o->type == MPI_DATATYPE_NULL)
		return 0;
	if (!wrap(p, r, &d, false))
		return -1;
	o->buf = (void *)d.buf;
	o->count = d.count;
	o->type = d.type;
	return 1;
}

int stamp_wrap_recv(struct stamp_parcel *p, struct stamp_request *r, struct hook_mpi_receive *o)
{
	if (o->source == MPI_PROC_NULL || !stamp_comm_rides(o->comm))
		return 0;
	return stamp_wrap_matched(p, r, o);
}

void stamp_came_without_clock(MPI_Comm comm, uint64_t key, int tag, int source, int rc)
{
	bool came = hook_mpi_class(rc) == MPI_ERR_TRUNCATE;
	int sender = came ? stamp_comm_sender(comm, source) : -1;

	if (sender < 0)
		return;
	hook_clock_missed(&stamp_clock, (uint32_t)sender);
	stamp_came(comm, tag, source, key, 0);
}

void stamp_unwrap(const struct stamp_parcel *p, MPI_Comm comm, uint64_t key, MPI_Status *status,
		  int rc)
{
	size_t bytes = stamp_status_bytes(status);
	uint64_t covers;

	if (bytes < stamp_head) {
		stamp_came_without_clock(comm, key, status->MPI_TAG, status->MPI_SOURCE, rc);
		return;
	}
	bytes -= stamp_head;
	if (!p->typed)
		stamp_copy(p->home, (char *)p->clock + stamp_head,
			   bytes < p->bytes ? bytes : p->bytes);
	stamp_status_set_bytes(status, bytes);
	covers = hook_clock_receive(&stamp_clock, p->clock);
	stamp_came(comm, status->MPI_TAG, status->MPI_SOURCE, key, covers);
}

int stamp_open(enum hook_clock_kind kind, int rank, int ranks)
{
	struct hook_clock_peer *peer = hook_pages((size_t)ranks * sizeof(*peer));
	void *image = hook_pages(CLOCK_IMAGE((size_t)ranks));

	stamp_head = hook_clock_bytes(kind, (uint32_t)ranks);
	stamp_room = ranks > sysconf(_SC_NPROCESSORS_ONLN) ? STAMP_COPY_CROWDED : STAMP_COPY;
	stamp_send_room = hook_pages(stamp_head + (size_t)stamp_room);
	stamp_recv_room = hook_pages(stamp_head + (size_t)stamp_room);
	stamp_counts = hook_pages(2 * (size_t)ranks * sizeof(uint32_t));
	if (!peer || !image || !stamp_send_room || !stamp_recv_room || !stamp_counts)
		return -ENOMEM;
	hook_clock_init(&stamp_clock, kind, (uint32_t)rank, (uint32_t)ranks, peer, image);
	return 0;
}

void stamp_ride(bool apart)
{
	stamp_apart = apart;
	stamp_below = hook_mpi_top;
	stamp_install_messages(&hook_mpi_top);
	stamp_install_buffers(&hook_mpi_top);
	stamp_install_requests(&hook_mpi_top);
	stamp_install_collectives(&hook_mpi_top);
}
