/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datatypes for [clock|data]. To make one costs more than to send a short message, so the last ones
 * are kept by buffer, count and type: programs use the same buffers again and again. MPI keeps a
 * datatype alive that another one was made of; so the handle in a kept entry cannot come to mean
 * another type.
 */
#include <limits.h>

#include "hook/kit/random.h"
#include "hook/mpi/stamp/stamp.h"

#define SETS 512 /* of datatypes that are kept: programs send the rows of a matrix one by one */
#define SETS_DERIVED 16 /* for those of types of the program, which may be large */
#define WAYS 4

struct stamp_plain stamp_plain_last;

static struct stamp_plain plain[16];

static struct stamp_type *cache[SETS][WAYS];
static struct hook_table made = {.clear = sizeof(struct stamp_type)}; /* no key leads to them */

struct stamp_block {
	MPI_Count count;
	const void *place;
	MPI_Datatype type;
};

static int ask_plain_size(MPI_Datatype type)
{
	int integers, addresses, types, combiner = 0, size = 0;
	MPI_Aint lb, extent;

	if (type == MPI_DATATYPE_NULL)
		return 0;
	stamp_below.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
	if (combiner != MPI_COMBINER_NAMED)
		return 0;
	stamp_below.Type_size(type, &size);
	stamp_below.Type_get_extent(type, &lb, &extent);
	return lb == 0 && extent == size ? size : 0;
}

int stamp_type_plain_size(MPI_Datatype type)
{
	struct stamp_plain *p = &plain[hook_random_spread((uintptr_t)type) >> 60];

	if (!p->size || p->type != type) {
		int size = ask_plain_size(type);

		if (!size)
			return 0;
		*p = (struct stamp_plain){type, size};
	}
	stamp_plain_last = *p;
	return p->size;
}

/*
 * Where the program's data are. Of nothing at MPI_BOTTOM MPICH thinks that it lies at address 0,
 * and refuses that; it may as well lie elsewhere. It stays in the type, which keeps the program's
 * alive.
 */
static const void *place_of(const struct stamp_type *t)
{
	int size = 1;

	if (!t->buf && t->of != MPI_DATATYPE_NULL)
		stamp_below.Type_size(t->of, &size);
	return size == 0 ? t->slot : t->buf;
}

/*
 * MPICH gathers a type with gaps element by element: of words it takes an eighth of the time. What
 * is received is not taken for words: MPICH refuses a message that ends within one.
 */
static int blocks_of(struct stamp_block block[3], const struct stamp_type *t)
{
	int size = t->sends ? stamp_type_plain_size(t->of) : 0;
	MPI_Count count = t->count, words = count * size / 8;

	block[0] = (struct stamp_block){(MPI_Count)stamp_head / 8, t->slot, MPI_UINT64_T};
	if (!size || words > INT_MAX) {
		block[1] = (struct stamp_block){count, place_of(t), t->of};
		return 2;
	}
	block[1] = (struct stamp_block){words, t->buf, MPI_UINT64_T};
	block[2] =
		(struct stamp_block){count * size % 8, (const char *)t->buf + 8 * words, MPI_BYTE};
	return block[2].count ? 3 : 2;
}

static void make(struct stamp_type *t)
{
	struct stamp_block block[3];
	int n = blocks_of(block, t);
	MPI_Datatype types[3];
	hook_mpi_count lengths[3];
	hook_mpi_place places[3];

	for (int i = 0; i < n; i++) {
		types[i] = block[i].type;
		lengths[i] = (hook_mpi_count)block[i].count;
		places[i] = (hook_mpi_place)(intptr_t)block[i].place;
	}
	stamp_below.HOOK_MPI_LARGE(Type_create_struct)(n, lengths, places, types, &t->stamped);
	stamp_below.Type_commit(&t->stamped);
}

/* With the clock's place behind it; NULL if memory is out. */
static struct stamp_type *new_type(void)
{
	size_t own = (sizeof(struct stamp_type) + 63) / 64 * 64;
	struct stamp_type *t;

	made.bytes = own + (stamp_head + 63) / 64 * 64;
	t = hook_table_new(&made);
	if (t)
		t->slot = (char *)t + own;
	return t;
}

static bool is_same(const struct stamp_type *t, const struct stamp_type *wanted)
{
	return t->cached && t->buf == wanted->buf && t->count == wanted->count &&
	       t->of == wanted->of && t->sends == wanted->sends;
}

static uint64_t last_use(const struct stamp_type *t)
{
	return t ? t->used : 0;
}

/* Where the one is that is kept, or is to be given up for it: never one in use. NULL: all are. */
static struct stamp_type **find(const struct stamp_type *wanted)
{
	uint64_t x =
		hook_random_spread((uintptr_t)wanted->buf ^ (uint64_t)(uintptr_t)wanted->of << 17 ^
				   (uint64_t)wanted->count << 40);
	size_t sets = stamp_type_plain_size(wanted->of) ? SETS : SETS_DERIVED;
	struct stamp_type **set = cache[(x >> 32) * sets >> 32], **oldest = NULL;

	for (int i = 0; i < WAYS; i++) {
		if (set[i] && set[i]->busy)
			continue;
		if (set[i] && is_same(set[i], wanted))
			return &set[i];
		if (!oldest || last_use(set[i]) < last_use(*oldest))
			oldest = &set[i];
	}
	return oldest;
}

static void become(struct stamp_type *t, const struct stamp_type *wanted)
{
	struct stamp_type before = *t;

	*t = *wanted;
	t->entry = before.entry;
	t->slot = before.slot;
	make(t);
}

struct stamp_type *stamp_type_get(const void *buf, MPI_Count count, MPI_Datatype type, bool sends)
{
	static uint64_t uses;
	struct stamp_type wanted = {.buf = buf, .count = count, .of = type, .sends = sends};
	struct stamp_type **kept = find(&wanted), *t = kept ? *kept : NULL;

	if (!t) {
		t = new_type();
		if (!t)
			return NULL;
	}
	if (!is_same(t, &wanted)) {
		if (t->cached)
			stamp_below.Type_free(&t->stamped);
		become(t, &wanted);
	}
	if (kept) {
		*kept = t;
		t->used = ++uses;
		t->cached = t->busy = true;
	}
	return t;
}

void stamp_type_put(struct stamp_type *t)
{
	if (t->cached) {
		t->busy = false;
		return;
	}
	stamp_below.Type_free(&t->stamped);
	hook_table_free(&made, t);
}

void stamp_type_free_all(void)
{
	for (int i = 0; i < SETS * WAYS; i++) {
		struct stamp_type *t = cache[i / WAYS][i % WAYS];

		if (!t)
			continue;
		if (t->cached && !t->busy)
			stamp_below.Type_free(&t->stamped);
		t->cached = t->busy;
	}
}
