/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parcels: how a clock gets before the data of a message and off again. Short messages of a
 * predefined type are copied; for all others MPI gathers clock and data by a datatype. Invariant: a
 * message that MPI has taken from us has a clock; a receive that MPI has from us expects one.
 */
#include "hook/mpi/stamp/stamp.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook/mpi/object/requests.h"

struct hook_mpi_real stamp_mpi;
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

static bool use_copy(struct stamp_parcel *p, struct stamp_request *r, uint8_t *room, size_t bytes)
{
	p->clock = r ? stamp_request_room(r, stamp_head + bytes) : room;
	p->buf = p->clock;
	p->count = (int)(stamp_head + bytes);
	p->type = MPI_BYTE;
	p->made = NULL;
	return p->clock != NULL;
}

static bool use_type(struct stamp_parcel *p, const void *buf, MPI_Count count, MPI_Datatype type,
		     bool sends)
{
	p->made = stamp_type_get(buf, count, type, sends);
	if (!p->made)
		return false;
	p->clock = p->made->slot;
	p->buf = MPI_BOTTOM;
	p->count = 1;
	p->type = p->made->made;
	return true;
}

/* What an Isendrecv sends and receives has other places. */
static long bytes_to_copy(const struct stamp_request *r, const void *buf, MPI_Count count,
			  MPI_Datatype type)
{
	if (r && r->flags & STAMP_BOTH)
		return -1;
	return stamp_type_copyable(buf, count, type, r ? stamp_request_limit() : stamp_room);
}

/* What MPI would complain about goes to it as it is. */
int stamp_wrap_send(struct stamp_parcel *p, struct stamp_request *r, const void *buf,
		    MPI_Count count, MPI_Datatype type, int dest, MPI_Comm comm)
{
	long bytes;

	if (dest < 0 || count < 0 || type == MPI_DATATYPE_NULL)
		return 0;
	p->world = stamp_comm_world(comm, dest);
	if (p->world < 0)
		return 0;
	bytes = bytes_to_copy(r, buf, count, type);
	p->home = (void *)buf;
	p->bytes = bytes < 0 ? 0 : (size_t)bytes;
	if (bytes < 0 ? !use_type(p, buf, count, type, true)
		      : !use_copy(p, r, stamp_send_room, (size_t)bytes))
		return -1;
	if (r && r->flags & STAMP_PERSISTENT)
		return 1; /* what it sends is what there will be when it is started */
	hook_clock_stamp(&stamp_clock, (uint32_t)p->world, p->clock);
	if (bytes > 0)
		stamp_copy((char *)p->clock + stamp_head, buf, (size_t)bytes);
	return 1;
}

int stamp_wrap_matched(struct stamp_parcel *p, struct stamp_request *r, void *buf, MPI_Count count,
		       MPI_Datatype type)
{
	long bytes;

	if (count < 0 || type == MPI_DATATYPE_NULL)
		return 0;
	bytes = bytes_to_copy(r, buf, count, type);
	p->home = buf;
	p->bytes = bytes < 0 ? 0 : (size_t)bytes;
	if (bytes < 0 ? !use_type(p, buf, count, type, false)
		      : !use_copy(p, r, stamp_recv_room, (size_t)bytes))
		return -1;
	return 1;
}

int stamp_wrap_recv(struct stamp_parcel *p, struct stamp_request *r, void *buf, MPI_Count count,
		    MPI_Datatype type, int source, MPI_Comm comm)
{
	if (source == MPI_PROC_NULL || !stamp_comm_rides(comm))
		return 0;
	return stamp_wrap_matched(p, r, buf, count, type);
}

void stamp_came_without_clock(MPI_Comm comm, uint64_t key, int tag, int source, int rc)
{
	int class = rc, sender;

	if (rc == MPI_SUCCESS)
		return;
	stamp_mpi.Error_class(rc, &class);
	sender = class == MPI_ERR_TRUNCATE ? stamp_comm_sender(comm, source) : -1;
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
	if (!p->made)
		stamp_copy(p->home, (char *)p->clock + stamp_head,
			   bytes < p->bytes ? bytes : p->bytes);
	stamp_status_set_bytes(status, bytes);
	covers = hook_clock_receive(&stamp_clock, p->clock);
	stamp_came(comm, status->MPI_TAG, status->MPI_SOURCE, key, covers);
}

static void *fresh(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *stamp_pack(struct hook_mpi_exchange *x, size_t before, size_t *mapped)
{
	char *copy;
	MPI_Count packed = 0;
#ifdef HOOK_FLAVOUR_MPICH
	MPI_Count size = 0;

	stamp_mpi.Pack_size_c(x->sendcount, x->sendtype, x->comm, &size);
#else
	int size = 0;

	stamp_mpi.Pack_size((int)x->sendcount, x->sendtype, x->comm, &size);
#endif
	*mapped = before + (size_t)size + 1;
	copy = fresh(*mapped);
	if (!copy)
		return NULL;
	hook_mpi_pack(&stamp_mpi, x, copy + before, size, &packed);
	x->sendbuf = copy + before;
	x->sendcount = packed;
	x->sendtype = MPI_PACKED;
	return copy;
}

int stamp_open(enum hook_clock_kind kind, int rank, int ranks)
{
	struct hook_clock_peer *peer = fresh((size_t)ranks * sizeof(*peer));
	void *image = fresh(CLOCK_IMAGE((size_t)ranks));

	stamp_head = hook_clock_bytes(kind, (uint32_t)ranks);
	stamp_room = ranks > sysconf(_SC_NPROCESSORS_ONLN) ? STAMP_COPY_CROWDED : STAMP_COPY;
	stamp_send_room = fresh(stamp_head + (size_t)stamp_room);
	stamp_recv_room = fresh(stamp_head + (size_t)stamp_room);
	stamp_counts = fresh(2 * (size_t)ranks * sizeof(uint32_t));
	if (!peer || !image || !stamp_send_room || !stamp_recv_room || !stamp_counts)
		return -ENOMEM;
	hook_clock_init(&stamp_clock, kind, (uint32_t)rank, (uint32_t)ranks, peer, image);
	return 0;
}

void stamp_start(bool apart)
{
	stamp_apart = apart;
	stamp_mpi = hook_mpi_real;
	stamp_install_blocking(&hook_mpi_real);
	stamp_install_buffers(&hook_mpi_real);
	stamp_install_posts(&hook_mpi_real);
	stamp_install_completion(&hook_mpi_real);
	stamp_install_collectives(&hook_mpi_real);
}
