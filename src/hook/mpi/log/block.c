/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of memory by type. What lies without gaps is taken as it is, whatever the order of its
 * parts; the rest is packed, piece by piece. Invariant: as contents a block has its count times the
 * size of its type; both MPIs pack so.
 */
#include <string.h>

#include "hook/mpi/log/log.h"

#define PIECE (1 << 20) /* bytes packed at once, if an element is not larger */
#define SCRATCH 6

bool hook_type_is_named(MPI_Datatype type)
{
	int integers, addresses, types, combiner = MPI_COMBINER_NAMED;

	hook_mpi_real.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
	return combiner == MPI_COMBINER_NAMED;
}

/* Not by MPI_Type_dup: that calls functions of the program, for attributes. */
void hook_type_keep(MPI_Datatype *type)
{
	MPI_Datatype kept = MPI_DATATYPE_NULL;

	hook_mpi_real.Type_contiguous(1, *type, &kept);
	hook_mpi_real.Type_commit(&kept);
	*type = kept;
}

struct layout {
	MPI_Count size, lb, extent;
	bool dense;
};

static struct layout layout_of(MPI_Datatype type)
{
	MPI_Count true_lb = 0, true_extent = 0;
	struct layout l = {0};

	if (type == MPI_DATATYPE_NULL)
		return l;
	hook_mpi_real.Type_size_x(type, &l.size);
	hook_mpi_real.Type_get_extent_x(type, &l.lb, &l.extent);
	hook_mpi_real.Type_get_true_extent_x(type, &true_lb, &true_extent);
	l.dense = l.lb == 0 && l.extent == l.size && true_lb == 0 && true_extent == l.size;
	return l;
}

uint64_t hook_block_bytes(const struct hook_block *b)
{
	MPI_Count size = 0;

	if (b->count <= 0 || b->type == MPI_DATATYPE_NULL)
		return 0;
	hook_mpi_real.Type_size_x(b->type, &size);
	return size > 0 ? (uint64_t)(b->count * size) : 0;
}

struct hook_block hook_block_part(const struct hook_block *b, uint64_t bytes)
{
	struct hook_block part = *b;
	MPI_Count size = 0, count;

	if (b->count > 0 && b->type != MPI_DATATYPE_NULL)
		hook_mpi_real.Type_size_x(b->type, &size);
	count = size > 0 ? (MPI_Count)((bytes + (uint64_t)size - 1) / (uint64_t)size) : 0;
	if (count < part.count)
		part.count = count;
	if (part.count < 0)
		part.count = 0;
	return part;
}

/* MPICH packs nothing at MPI_BOTTOM: there the type begins as far below an address of ours. */
static MPI_Datatype from_here(const struct hook_block *b, MPI_Count n, void *here)
{
	MPI_Aint below = (MPI_Aint)((intptr_t)b->buf - (intptr_t)here);
	MPI_Datatype type = MPI_DATATYPE_NULL, element = b->type;
	int count = (int)n;

	hook_mpi_real.Type_create_struct(1, &count, &below, &element, &type);
	hook_mpi_real.Type_commit(&type);
	return type;
}

/* Packs or unpacks n elements; how many bytes they are. */
static int move(const struct hook_block *b, MPI_Count n, void *packed, int room, bool pack)
{
	int position = 0;
	char anchor = 0;

	if (b->buf == MPI_BOTTOM) {
		MPI_Datatype type = from_here(b, n, &anchor);

		if (pack)
			hook_mpi_real.Pack(&anchor, 1, type, packed, room, &position,
					   MPI_COMM_SELF);
		else
			hook_mpi_real.Unpack(packed, room, &position, &anchor, 1, type,
					     MPI_COMM_SELF);
		hook_mpi_real.Type_free(&type);
	} else if (pack) {
		hook_mpi_real.Pack(b->buf, (int)n, b->type, packed, room, &position, MPI_COMM_SELF);
	} else {
		hook_mpi_real.Unpack(packed, room, &position, b->buf, (int)n, b->type,
				     MPI_COMM_SELF);
	}
	return position;
}

static MPI_Count piece_of(const struct layout *l, MPI_Count left)
{
	MPI_Count n = PIECE / l->size;

	n = n > 0 ? n : 1;
	return n < left ? n : left;
}

static struct hook_block skip(const struct hook_block *b, const struct layout *l, MPI_Count n)
{
	struct hook_block rest = *b;

	rest.buf = (char *)b->buf + n * l->extent;
	rest.count -= n;
	return rest;
}

/* True: what is in memory is what a message holds. Named types are the same for all. */
static bool is_as_it_is(const struct hook_block *b, const struct layout *l, bool packed)
{
	return l->dense && (!packed || hook_type_is_named(b->type));
}

void hook_block_each(const struct hook_block *b, bool packed, hook_block_piece *piece,
		     void *context)
{
	struct layout l = layout_of(b->type);
	struct hook_block rest = *b;

	if (b->count <= 0 || l.size <= 0)
		return;
	if (is_as_it_is(b, &l, packed)) {
		piece(context, b->buf, (size_t)(b->count * l.size));
		return;
	}
	while (rest.count > 0) {
		MPI_Count n = piece_of(&l, rest.count);
		int room = (int)(n * l.size);
		void *scratch = hook_mpi_scratch(hook_self, SCRATCH, (size_t)room);

		if (!scratch)
			hook_failed(hook_self, "out of memory for the log");
		if (move(&rest, n, scratch, room, true) != room)
			hook_failed(hook_self, "MPI packs a message otherwise than by its size");
		piece(context, scratch, (size_t)room);
		rest = skip(&rest, &l, n);
	}
}

static void write_piece(void *log, const void *bytes, size_t n)
{
	hook_log_contents(log, bytes, n);
}

void hook_block_write(struct hook_log *log, const struct hook_block *b)
{
	hook_block_each(b, false, write_piece, log);
}

static uint64_t put(const struct hook_block *b, const uint8_t *from, uint64_t there, bool packed)
{
	struct layout l = layout_of(b->type);
	struct hook_block rest = *b;
	uint64_t bytes = b->count > 0 && l.size > 0 ? (uint64_t)(b->count * l.size) : 0;

	if (bytes > there)
		hook_failed(hook_self, "the log has less than the program wants to receive here");
	if (bytes && is_as_it_is(b, &l, packed)) {
		memcpy(b->buf, from, bytes);
		return bytes;
	}
	while (bytes && rest.count > 0) {
		MPI_Count n = piece_of(&l, rest.count);
		int room = (int)(n * l.size);

		move(&rest, n, (void *)(uintptr_t)from, room, false);
		from += room;
		rest = skip(&rest, &l, n);
	}
	return bytes;
}

uint64_t hook_block_read(const struct hook_block *b, const uint8_t *from, uint64_t there)
{
	return put(b, from, there, false);
}

void hook_block_unpack(const struct hook_block *b, const uint8_t *from, uint64_t there)
{
	put(b, from, there, true);
}
