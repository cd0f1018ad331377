/* SPDX-License-Identifier: Apache-2.0 */
/* What a collective operation gives: its blocks, one after the other, are one record. */
#include <string.h>
#include <sys/mman.h>

#include "hook/mpi/log/log.h"
#include "hook/kit/pages.h"

static MPI_Count number_at(const void *numbers, int i, bool wide)
{
	return wide ? ((const MPI_Count *)numbers)[i] : ((const int *)numbers)[i];
}

static struct hook_block block_at(const struct hook_result *r, int i)
{
	struct hook_block b = r->one;
	MPI_Count lb, extent = 1, at;

	if (!r->counts)
		return b;
	b.count = number_at(r->counts, i, r->wide);
	if (r->types)
		b.type = r->types[i];
	if (b.count <= 0 || b.type == MPI_DATATYPE_NULL)
		return b;
	if (!r->bytes)
		hook_mpi_real.Type_get_extent_x(b.type, &lb, &extent);
	at = number_at(r->displacements, i, r->wide || r->aints);
	b.buf = (char *)b.buf + at * extent;
	return b;
}

void hook_result_write(struct hook_log *log, const struct hook_result *r)
{
	struct trace_log_rec rec = {.kind = TRACE_LOG_RESULT};

	for (int i = 0; i < r->blocks; i++) {
		struct hook_block b = block_at(r, i);

		rec.bytes += hook_block_bytes(&b);
	}
	if (!r->blocks)
		return;
	hook_log_put(log, &rec);
	for (int i = 0; i < r->blocks; i++) {
		struct hook_block b = block_at(r, i);

		hook_block_write(log, &b);
	}
}

void hook_result_read(struct hook_log *log, const struct hook_result *r)
{
	struct trace_log_rec rec;
	uint64_t at = 0;

	if (!r->blocks)
		return;
	rec = hook_log_take(log, TRACE_LOG_RESULT);
	for (int i = 0; i < r->blocks; i++) {
		struct hook_block b = block_at(r, i);

		at += hook_block_read(&b, rec.data + at, rec.bytes - at);
	}
	if (at != rec.bytes)
		hook_failed(hook_self, "the log has more than the program wants to receive here");
}

static const void *copy(struct hook_result *r, size_t *at, const void *from, size_t n)
{
	void *to = (char *)r->room + *at;

	if (!from)
		return NULL;
	memcpy(to, from, n);
	*at += (n + 15) & ~(size_t)15;
	return to;
}

void hook_result_keep(struct hook_result *r)
{
	size_t n = (size_t)(r->blocks > 0 ? r->blocks : 1), at = 0;
	MPI_Datatype *types;

	if (r->one.type != MPI_DATATYPE_NULL && !r->types)
		hook_type_keep(&r->one.type);
	if (!r->counts)
		return;
	r->room_bytes = n * (2 * sizeof(MPI_Count) + sizeof(MPI_Datatype)) + 64;
	r->room = hook_pages(r->room_bytes);
	if (!r->room)
		hook_failed(hook_self, "out of memory for open collective operations");
	r->counts = copy(r, &at, r->counts, n * (r->wide ? sizeof(MPI_Count) : sizeof(int)));
	r->displacements = copy(r, &at, r->displacements,
				n * (r->wide || r->aints ? sizeof(MPI_Aint) : sizeof(int)));
	types = (MPI_Datatype *)(uintptr_t)copy(r, &at, r->types, n * sizeof(*types));
	r->types = types;
	for (size_t i = 0; types && i < n; i++) {
		if (types[i] != MPI_DATATYPE_NULL)
			hook_type_keep(&types[i]);
	}
}

void hook_result_drop(struct hook_result *r)
{
	MPI_Datatype *types = (MPI_Datatype *)(uintptr_t)r->types;

	if (!types && r->one.type != MPI_DATATYPE_NULL)
		hook_mpi_real.Type_free(&r->one.type);
	for (int i = 0; types && i < r->blocks; i++) {
		if (types[i] != MPI_DATATYPE_NULL)
			hook_mpi_real.Type_free(&types[i]);
	}
	if (r->room)
		munmap(r->room, r->room_bytes);
	*r = (struct hook_result){.one.type = MPI_DATATYPE_NULL};
}
