/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page with the word, and two tables of numbers; then each rank has a region: for each receiver
 * the number of its first block, then blocks of entries. Blocks for one receiver are a chain; one
 * that the receiver has read to its end is used again. An entry is there when it has the number
 * that is due: those of an earlier use have lower ones. The memory has no name, so it ends with the
 * last process, and takes nothing from what /dev/shm has for MPI. Clocks that are read before their
 * messages come, because other tags are received first, move to memory of our own, so that regions
 * do not grow and none is read twice.
 */
#include "hook/causal/ledger.h"
#include "hook/kit/pages.h"
#include "hook/kit/table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8 /* Linux 6.3, where a system may insist on it */
#endif

#define PAGE 4096
#define REGION_MOST ((size_t)64 << 20)
#define ALL_REGIONS_MOST ((size_t)4 << 30) /* of address space */
#define BLOCKS_LEAST 3   /* for each receiver: two in turn, and one that is left behind */
#define ENTRIES_LEAST 16 /* in a block */

struct block {
	uint32_t next; /* its number, when it is there */
	uint32_t read; /* the receiver has no use for it any more */
	uint64_t unused[7];
	struct hook_ledger_entry entry[];
};

/* By source and tag, the oldest first. */
struct early {
	struct hook_entry entry;
	uint64_t clock[];
};

struct hook_ledger_out *hook_ledger_outs;
struct hook_ledger_in *hook_ledger_ins;
size_t hook_ledger_stride;

static char *map;
static size_t map_bytes, rows_bytes, region_bytes, head_bytes, block_bytes, clock_bytes;
static uint32_t me, ranks, per_block, blocks;
static struct hook_table earlies = {.clear = sizeof(struct early)};
static struct early *taken_early;

static size_t up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* False: so many ranks have no room for what they all may send to each other. */
static bool lay_out(void)
{
	size_t share = ALL_REGIONS_MOST / ranks / PAGE * PAGE;

	hook_ledger_stride = sizeof(struct hook_ledger_entry) + up(clock_bytes, 8);
	block_bytes = up(sizeof(struct block) + ENTRIES_LEAST * hook_ledger_stride + 16, PAGE);
	per_block = (uint32_t)((block_bytes - sizeof(struct block) - 16) / hook_ledger_stride);
	head_bytes = up(ranks * sizeof(uint32_t), PAGE);
	region_bytes = share < REGION_MOST ? share : REGION_MOST;
	rows_bytes = up(2 * sizeof(uint32_t) * ranks * ranks, PAGE);
	map_bytes = PAGE + rows_bytes + region_bytes * ranks;
	return region_bytes >= head_bytes + BLOCKS_LEAST * ranks * block_bytes;
}

/* The region of a rank: first blocks by receiver. */
static uint32_t *region_of(uint32_t rank)
{
	return (uint32_t *)(map + PAGE + rows_bytes + rank * region_bytes);
}

uint32_t *hook_ledger_row(unsigned int turn, uint32_t from)
{
	return (uint32_t *)(map + PAGE) + ((size_t)(turn & 1) * ranks + from) * ranks;
}

static struct block *block_of(uint32_t rank, uint32_t number)
{
	return (struct block *)((char *)region_of(rank) + head_bytes + (number - 1) * block_bytes);
}

static bool may_be_so_long(size_t n)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || n <= limit.rlim_cur);
}

static bool map_it(int fd)
{
	void *p = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (p == MAP_FAILED)
		return false;
	map = p;
	madvise(map, map_bytes, MADV_DONTDUMP);
	hook_ledger_outs = hook_pages(ranks * sizeof(*hook_ledger_outs));
	hook_ledger_ins = hook_pages(ranks * sizeof(*hook_ledger_ins));
	if (hook_ledger_outs && hook_ledger_ins)
		return true;
	hook_ledger_close();
	return false;
}

static bool is_for(uint32_t rank, uint32_t of, size_t bytes)
{
	me = rank;
	ranks = of;
	clock_bytes = bytes;
	earlies.bytes = sizeof(struct early) + up(bytes, 8);
	return lay_out();
}

int hook_ledger_make(uint64_t word, uint32_t of, size_t bytes)
{
	int fd;

	if (!is_for(0, of, bytes) || !may_be_so_long(map_bytes))
		return -1;
	fd = memfd_create("reprise-ledger", MFD_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		fd = memfd_create("reprise-ledger", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)map_bytes) == 0 &&
	    pwrite(fd, &word, sizeof(word), 0) == (ssize_t)sizeof(word) && map_it(fd))
		return fd;
	close(fd);
	return -1;
}

/* Where ranks do not see the same processes, anything may be at the path. */
static bool is_it(int fd, uint64_t word)
{
	uint64_t found;
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == map_bytes &&
	       pread(fd, &found, sizeof(found), 0) == (ssize_t)sizeof(found) && found == word;
}

bool hook_ledger_join(const char *path, uint64_t word, uint32_t rank, uint32_t of, size_t bytes)
{
	bool joined;
	int fd;

	if (!is_for(rank, of, bytes))
		return false;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	joined = is_it(fd, word) && map_it(fd);
	close(fd);
	return joined;
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
	if (head_bytes + (blocks + 1) * block_bytes > region_bytes)
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

static uint64_t key_of(uint32_t source, int32_t tag)
{
	return (uint64_t)source << 32 | (uint32_t)tag;
}

/* Without it all that follow would be taken for clocks of earlier messages. */
static void keep(uint32_t source, struct hook_ledger_in *in, const struct hook_ledger_entry *entry)
{
	struct early *e = hook_table_new(&earlies);

	if (!e) {
		in->lost = true;
		in->left = 0;
		return;
	}
	memcpy(e->clock, entry->clock, clock_bytes);
	hook_table_insert(&earlies, e, key_of(source, entry->tag));
	in->early++;
}

static const void *take_early(uint32_t source, struct hook_ledger_in *in, int32_t tag)
{
	taken_early = hook_table_at(&earlies, hook_table_take(&earlies, key_of(source, tag)));
	if (!taken_early)
		return NULL;
	in->early--;
	return taken_early->clock;
}

const void *hook_ledger_search(uint32_t source, int32_t tag)
{
	struct hook_ledger_in *in = &hook_ledger_ins[source];
	const struct hook_ledger_entry *entry;
	const void *found;

	if (taken_early)
		hook_table_free(&earlies, taken_early);
	taken_early = NULL;
	found = in->early ? take_early(source, in, tag) : NULL;
	while (!found && (entry = next_entry(source, in))) {
		if (entry->tag == tag)
			found = entry->clock;
		else
			keep(source, in, entry);
	}
	return found;
}
