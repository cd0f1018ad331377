/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rank has a region of the file: for each receiver the number of its first block, then blocks
 * of entries. Blocks for one receiver are a chain; one that the receiver has read to its end is
 * used again. An entry is there when it has the number that is due: those of an earlier use have
 * lower ones. Pages are made sure of before they are written, because a full file system would
 * kill the program. Clocks that are read before their messages come, because other tags are
 * received first, move to memory of our own, so that the file does not grow and none is read twice.
 */
#include "hook/mpi/ledger.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#define PAGE 4096
#define REGION_MOST ((size_t)64 << 20)
#define ALL_REGIONS_MOST ((size_t)4 << 30) /* of address space */
#define REGION_LEAST ((size_t)1 << 20)
#define GROW ((size_t)64 << 10)
#define ENTRIES_LEAST 16 /* in a block */
#define BUCKETS 4096
#define EARLY_BYTES ((size_t)256 << 10) /* memory for early ones, got at a time */

struct block {
	uint32_t next; /* its number, when it is there */
	uint32_t read; /* the receiver has no use for it any more */
	uint64_t unused[7];
	struct hook_ledger_entry entry[];
};

struct early {
	struct early *after; /* in its bucket, or among free ones */
	uint32_t source;
	int32_t tag;
	uint64_t clock[];
};

struct hook_ledger_out *hook_ledger_outs;
struct hook_ledger_in *hook_ledger_ins;
size_t hook_ledger_stride;

static char *map;
static size_t map_bytes, region_bytes, head_bytes, block_bytes, clock_bytes, have_bytes;
static uint32_t me, ranks, per_block, blocks;
static struct {
	struct early *first, **end;
} bucket[BUCKETS];
static struct early *free_early, *taken_early;

static void *fresh(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static size_t up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static void lay_out(void)
{
	size_t share = ALL_REGIONS_MOST / ranks / PAGE * PAGE;

	hook_ledger_stride = sizeof(struct hook_ledger_entry) + up(clock_bytes, 8);
	block_bytes = up(sizeof(struct block) + ENTRIES_LEAST * hook_ledger_stride + 16, PAGE);
	per_block = (uint32_t)((block_bytes - sizeof(struct block) - 16) / hook_ledger_stride);
	head_bytes = up(ranks * sizeof(uint32_t), PAGE);
	region_bytes = share < REGION_MOST ? share : REGION_MOST;
	map_bytes = region_bytes * ranks;
}

/* The region of a rank: first blocks by receiver. */
static uint32_t *region_of(uint32_t rank)
{
	return (uint32_t *)(map + rank * region_bytes);
}

static struct block *block_of(uint32_t rank, uint32_t number)
{
	return (struct block *)((char *)region_of(rank) + head_bytes + (number - 1) * block_bytes);
}

/* Makes sure of the first n bytes of our region. */
static bool is_there(size_t n)
{
	size_t wanted = up(n, GROW);

	if (n <= have_bytes)
		return true;
	if (wanted > region_bytes ||
	    madvise((char *)region_of(me) + have_bytes, wanted - have_bytes, MADV_POPULATE_WRITE))
		return false;
	have_bytes = wanted;
	return true;
}

static bool may_be_so_long(size_t n)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || n <= limit.rlim_cur);
}

bool hook_ledger_open(const char *path, uint32_t rank, uint32_t of, size_t bytes)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (rank == 0 ? O_CREAT | O_EXCL : 0), fd;
	void *p = MAP_FAILED;

	me = rank;
	ranks = of;
	clock_bytes = bytes;
	lay_out();
	if (region_bytes < REGION_LEAST || !may_be_so_long(map_bytes))
		return false;
	fd = open(path, flags, 0600);
	if (fd < 0)
		return false;
	if (rank != 0 || ftruncate(fd, (off_t)map_bytes) == 0)
		p = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return false;
	map = p;
	madvise(map, map_bytes, MADV_DONTDUMP);
	hook_ledger_outs = fresh(ranks * sizeof(*hook_ledger_outs));
	hook_ledger_ins = fresh(ranks * sizeof(*hook_ledger_ins));
	if (hook_ledger_outs && hook_ledger_ins && is_there(head_bytes + block_bytes))
		return true;
	hook_ledger_close();
	return false;
}

void hook_ledger_close(void)
{
	if (map)
		munmap(map, map_bytes);
	if (hook_ledger_outs)
		munmap(hook_ledger_outs, ranks * sizeof(*hook_ledger_outs));
	if (hook_ledger_ins)
		munmap(hook_ledger_ins, ranks * sizeof(*hook_ledger_ins));
	map = NULL;
	hook_ledger_outs = NULL;
	hook_ledger_ins = NULL;
	have_bytes = 0;
	blocks = 0;
}

/* One that the receiver has read, or a new one; 0: none. */
static uint32_t free_block(struct hook_ledger_out *out)
{
	uint32_t number = out->oldest;
	struct block *b;

	if (number && number != out->block) {
		b = block_of(me, number);
		if (__atomic_load_n(&b->read, __ATOMIC_ACQUIRE)) {
			out->oldest = b->next;
			b->next = b->read = 0;
			return number;
		}
	}
	if (!is_there(head_bytes + (blocks + 1) * block_bytes))
		return 0;
	return ++blocks;
}

bool hook_ledger_next_block(uint32_t dest)
{
	struct hook_ledger_out *out = &hook_ledger_outs[dest];
	uint32_t number = out->lost ? 0 : free_block(out);

	if (!number) {
		out->lost = true;
		return false;
	}
	if (out->block) {
		__atomic_store_n(&block_of(me, out->block)->next, number, __ATOMIC_RELEASE);
	} else {
		out->number = 1;
		out->oldest = number;
		__atomic_store_n(&region_of(me)[dest], number, __ATOMIC_RELEASE);
	}
	out->block = number;
	out->next = block_of(me, number)->entry;
	out->left = per_block;
	return true;
}

/* Goes on to the next block if this one is read; false: there is none. */
static bool has_block(uint32_t source, struct hook_ledger_in *in)
{
	struct block *b = in->block ? block_of(source, in->block) : NULL;
	uint32_t next;

	if (in->left)
		return true;
	next = __atomic_load_n(b ? &b->next : &region_of(source)[me], __ATOMIC_ACQUIRE);
	if (!next)
		return false;
	if (b)
		__atomic_store_n(&b->read, 1, __ATOMIC_RELEASE);
	else
		in->number = 1;
	in->block = next;
	in->next = block_of(source, next)->entry;
	in->left = per_block;
	return true;
}

static const struct hook_ledger_entry *next_entry(uint32_t source, struct hook_ledger_in *in)
{
	const struct hook_ledger_entry *entry;

	if (in->lost || !has_block(source, in) ||
	    __atomic_load_n(&in->next->number, __ATOMIC_ACQUIRE) != in->number)
		return NULL;
	entry = in->next;
	in->number++;
	in->left--;
	in->next = (const struct hook_ledger_entry *)((const char *)entry + hook_ledger_stride);
	return entry;
}

static uint32_t bucket_of(uint32_t source, int32_t tag)
{
	uint64_t x = ((uint64_t)source << 32 | (uint32_t)tag) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(x >> 52);
}

static void get_memory(void)
{
	size_t each = sizeof(struct early) + up(clock_bytes, 8);
	size_t n = EARLY_BYTES / each + 1;
	char *p = fresh(n * each);

	for (size_t i = 0; p && i < n; i++) {
		struct early *e = (struct early *)(p + i * each);

		e->after = free_early;
		free_early = e;
	}
}

/* Without it all that follow would be taken for clocks of earlier messages. */
static void keep(uint32_t source, struct hook_ledger_in *in, const struct hook_ledger_entry *entry)
{
	uint32_t b = bucket_of(source, entry->tag);
	struct early *e;

	if (!free_early)
		get_memory();
	e = free_early;
	if (!e) {
		in->lost = true;
		in->left = 0;
		return;
	}
	free_early = e->after;
	e->after = NULL;
	e->source = source;
	e->tag = entry->tag;
	memcpy(e->clock, entry->clock, clock_bytes);
	if (!bucket[b].first)
		bucket[b].end = &bucket[b].first;
	*bucket[b].end = e;
	bucket[b].end = &e->after;
	in->early++;
}

static const void *take_early(uint32_t source, struct hook_ledger_in *in, int32_t tag)
{
	uint32_t b = bucket_of(source, tag);
	struct early **link = &bucket[b].first, *e;

	while (*link && ((*link)->source != source || (*link)->tag != tag))
		link = &(*link)->after;
	e = *link;
	if (!e)
		return NULL;
	*link = e->after;
	if (bucket[b].end == &e->after)
		bucket[b].end = link;
	in->early--;
	taken_early = e;
	return e->clock;
}

const void *hook_ledger_search(uint32_t source, int32_t tag)
{
	struct hook_ledger_in *in = &hook_ledger_ins[source];
	const struct hook_ledger_entry *entry;
	const void *found;

	if (taken_early) {
		taken_early->after = free_early;
		free_early = taken_early;
		taken_early = NULL;
	}
	found = in->early ? take_early(source, in, tag) : NULL;
	while (!found && (entry = next_entry(source, in))) {
		if (entry->tag == tag)
			found = entry->clock;
		else
			keep(source, in, entry);
	}
	return found;
}
