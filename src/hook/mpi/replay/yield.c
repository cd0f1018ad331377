/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether there are more ranks, or threads that wait in MPI, than cores; and who waits inside of
 * MPICH, in a collective or in MPI_Finalize, lets go of its core, too. MPICH asks UCX in a loop
 * whether something has come. Here it asks by a function of ours. Invariant: only in runs that are
 * ours, never while recording.
 */
#include "hook/mpi/replay/yield.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook/program/lookup.h"
#include "hook/session/session.h"

bool hook_yields, hook_yields_in_waits;

#ifdef HOOK_FLAVOUR_MPICH

#define PROGRESS "ucp_worker_progress"

static unsigned (*real_progress)(void *worker);
static bool in_place; /* MPICH asks by the function below */
static unsigned idle; /* questions in a row to which the answer was no, whichever thread asked */

static unsigned progress(void *worker)
{
	unsigned come = real_progress(worker);
	unsigned polls = come ? 0 : __atomic_load_n(&idle, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&idle, polls, __ATOMIC_RELAXED);
	if (polls > HOOK_POLLS_BEFORE_YIELD)
		sched_yield();
	return come;
}

/* Most loaders leave absolute addresses there, some those of the file. */
static const void *table_at(const struct link_map *map, uint64_t at)
{
	return (const void *)(at < map->l_addr ? map->l_addr + at : at);
}

/* Where the library keeps the address of a function that it calls, or NULL. */
static void **slot_of(const struct link_map *map, const char *function)
{
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Rela) *calls = NULL;
	const char *names = NULL;
	size_t bytes = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = table_at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			names = table_at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_JMPREL)
			calls = table_at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			bytes = d->d_un.d_val;
	}
	for (size_t i = 0; symbols && names && calls && i < bytes / sizeof(*calls); i++) {
		const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(calls[i].r_info)];

		if (ELF64_R_TYPE(calls[i].r_info) == R_X86_64_JUMP_SLOT &&
		    strcmp(names + symbol->st_name, function) == 0)
			return (void **)(map->l_addr + calls[i].r_offset);
	}
	return NULL;
}

/* The loader may have made the page read-only: then this is what it says afterwards, too. It does
 * so with whole pages. */
static bool is_behind_guard(const struct link_map *map, void *const *slot)
{
	const ElfW(Ehdr) *head = (const void *)map->l_addr;
	const ElfW(Phdr) *parts = (const void *)(map->l_addr + head->e_phoff);

	for (int i = 0; i < head->e_phnum; i++) {
		uintptr_t start = map->l_addr + parts[i].p_vaddr;
		uintptr_t end = (start + parts[i].p_memsz) & -(uintptr_t)sysconf(_SC_PAGESIZE);

		if (parts[i].p_type == PT_GNU_RELRO && (uintptr_t)slot >= start &&
		    (uintptr_t)slot < end)
			return true;
	}
	return false;
}

static bool put(const struct link_map *map, void **slot, void *function)
{
	uintptr_t page = (uintptr_t)slot & -(uintptr_t)sysconf(_SC_PAGESIZE);
	bool guarded = is_behind_guard(map, slot);

	if (guarded && mprotect((void *)page, sizeof(*slot), PROT_READ | PROT_WRITE) != 0)
		return false;
	__atomic_store_n(slot, function, __ATOMIC_RELAXED);
	if (guarded)
		mprotect((void *)page, sizeof(*slot), PROT_READ);
	return true;
}

void hook_yield_begin(void *library)
{
	struct link_map *map;
	void **slot;

	if (real_progress || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
		return;
	slot = slot_of(map, PROGRESS);
	real_progress = (unsigned (*)(void *))hook_lookup_in(library, PROGRESS);
	in_place = slot && real_progress && put(map, slot, (void *)progress);
}

void hook_yield_open(int world)
{
	cpu_set_t cores;

	hook_yields = !in_place && hook_session_is_local() && !hook_mpi_turns &&
		      sched_getaffinity(0, sizeof(cores), &cores) == 0 && world > CPU_COUNT(&cores);
	hook_yields_in_waits = hook_yields || hook_mpi_turns;
}

#else

void hook_yield_begin(void *library)
{
	(void)library;
}

void hook_yield_open(int world)
{
	(void)world;
}

#endif
