/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datatypes for [clock|data]. To make one costs more than to send a short message, so the last ones
 * are kept by buffer, count and type: programs use the same buffers again and again. MPI keeps a
 * datatype alive that another one was made of; so the handle in a kept entry cannot come to mean
 * another type.
 */
#include <sys/mman.h>

#include "hook/mpi/carry.h"

#define CACHE 64

struct carry_plain carry_plain_last;

static struct carry_plain plain[16];

static struct carry_type cache[CACHE];
static struct carry_type *spare; /* free ones, linked by their slot */

static void *fresh(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int ask_plain_size(MPI_Datatype type)
{
	int integers, addresses, types, combiner = 0, size = 0;
	MPI_Aint lb, extent;

	if (type == MPI_DATATYPE_NULL)
		return 0;
	carry_mpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
	if (combiner != MPI_COMBINER_NAMED)
		return 0;
	carry_mpi.Type_size(type, &size);
	carry_mpi.Type_get_extent(type, &lb, &extent);
	return lb == 0 && extent == size ? size : 0;
}

int carry_type_plain_size(MPI_Datatype type)
{
	struct carry_plain *p = &plain[((uint64_t)(uintptr_t)type * 0x9e3779b97f4a7c15ull) >> 60];

	if (!p->size || p->type != type) {
		int size = ask_plain_size(type);

		if (!size)
			return 0;
		*p = (struct carry_plain){type, size};
	}
	carry_plain_last = *p;
	return p->size;
}

static void make(struct carry_type *t, const void *buf, MPI_Count count, MPI_Datatype type)
{
	MPI_Datatype types[2] = {MPI_BYTE, type};
#ifdef HOOK_FLAVOUR_MPICH
	MPI_Count lengths[2] = {(MPI_Count)carry_head, count};
	MPI_Count places[2] = {(MPI_Count)(intptr_t)t->slot, (MPI_Count)(intptr_t)buf};

	carry_mpi.Type_create_struct_c(2, lengths, places, types, &t->made);
#else
	int lengths[2] = {(int)carry_head, (int)count};
	MPI_Aint places[2] = {(MPI_Aint)t->slot, (MPI_Aint)buf};

	carry_mpi.Type_create_struct(2, lengths, places, types, &t->made);
#endif
	carry_mpi.Type_commit(&t->made);
	t->buf = buf;
	t->count = count;
	t->of = type;
}

static struct carry_type *uncached(void)
{
	size_t slot = (carry_head + 63) / 64 * 64;
	size_t each = slot + (sizeof(struct carry_type) + 63) / 64 * 64;
	struct carry_type *t = spare;
	char *block;

	if (!t) {
		block = fresh(each * CACHE);
		for (size_t i = 0; block && i < CACHE; i++) {
			t = (struct carry_type *)(block + i * each + slot);
			t->slot = spare;
			spare = t;
		}
		if (!block)
			return NULL;
	}
	spare = t->slot;
	t->slot = (char *)t - slot;
	return t;
}

struct carry_type *carry_type_get(const void *buf, MPI_Count count, MPI_Datatype type)
{
	uint64_t x = ((uint64_t)(uintptr_t)buf ^ (uint64_t)(uintptr_t)type << 17 ^
		      (uint64_t)count << 40) *
		     0x9e3779b97f4a7c15ull;
	struct carry_type *t = &cache[x >> 58];

	if (t->busy) {
		t = uncached();
		if (t)
			make(t, buf, count, type);
		return t;
	}
	if (!t->slot)
		t->slot = fresh(carry_head);
	if (!t->slot)
		return NULL;
	if (!t->cached || t->buf != buf || t->count != count || t->of != type) {
		if (t->cached)
			carry_mpi.Type_free(&t->made);
		make(t, buf, count, type);
	}
	t->cached = t->busy = true;
	return t;
}

void carry_type_put(struct carry_type *t)
{
	if (t->cached) {
		t->busy = false;
		return;
	}
	carry_mpi.Type_free(&t->made);
	t->slot = spare;
	spare = t;
}

void carry_type_free_all(void)
{
	for (int i = 0; i < CACHE; i++) {
		if (cache[i].cached && !cache[i].busy)
			carry_mpi.Type_free(&cache[i].made);
		cache[i].cached = cache[i].busy;
	}
}
