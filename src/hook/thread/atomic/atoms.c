/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where atoms are kept: a table by address has them (sync/objects.c), and each thread remembers the
 * ones that it used last. Invariant: an atom stays where it is, and stands for its address to the
 * end.
 */
#include "hook/thread/atomic/hold.h"

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/raw.h"

#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/kit/random.h"
#include "hook/thread/sync/objects.h"

#define CHUNK (256 * 1024) /* bytes of atoms at a time */

bool hook_atoms_on, hook_atoms_ordered, hook_atoms_forbidden;

static struct hook_atomic_table *table, of_program;

struct hook_atom_seat hook_atom_seat[HOOK_ATOM_SEATS];

static struct hook_lock seats_lock;
static uint16_t free_seat[HOOK_ATOM_SEATS];
static uint32_t free_seats, next_seat = 1;

static uint64_t sit_down(void)
{
	uint64_t seat = 0;

	if (!hook_atoms_ordered)
		return 0;
	hook_lock_take(&seats_lock);
	if (free_seats)
		seat = free_seat[--free_seats];
	else if (next_seat < HOOK_ATOM_SEATS)
		seat = next_seat++;
	hook_lock_give(&seats_lock);
	return seat;
}

/* The next one who sits there has the atoms that were its own. */
static void stand_up(uint64_t seat)
{
	if (!seat)
		return;
	hook_lock_take(&seats_lock);
	free_seat[free_seats++] = (uint16_t)seat;
	hook_lock_give(&seats_lock);
}

void hook_atoms_start(void)
{
	table = dlsym(RTLD_DEFAULT, HOOK_ATOMIC_NAME);
	if (!table || table->version != HOOK_ATOMIC_VERSION)
		return;
	of_program = *table;
	/* In a forked child some are those of threads that it does not have: nobody gets these. */
	memset(hook_atom_seat, 0, sizeof(hook_atom_seat));
	seats_lock = (struct hook_lock){0};
	free_seats = 0;
	hook_atoms_ordered = !hook_sync_replays && !hook_atoms_forbidden &&
			     !rp_raw_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
					  0, 0, 0, 0, 0);
	*table = hook_sync_replays ? hook_atomic_replay : hook_atomic_record;
	table->ordered = 1;
	hook_atoms_on = true;
}

void hook_atoms_stop(void)
{
	if (hook_atoms_on)
		*table = of_program;
	hook_atoms_on = false;
}

void hook_atoms_close(struct hook_thread *t)
{
	if (t->sync.atoms)
		stand_up(t->sync.atoms->seat);
	hook_pages_free(t->sync.atoms, sizeof(*t->sync.atoms));
	t->sync.atoms = NULL;
}

static struct hook_atom *new_atom(void)
{
	static struct hook_lock locked;
	static struct hook_atom *next, *end;
	struct hook_atom *made = NULL;

	hook_lock_take(&locked);
	if (next == end) {
		next = hook_pages(CHUNK);
		end = next ? next + CHUNK / sizeof(*next) : NULL;
	}
	if (next)
		made = next++;
	hook_lock_give(&locked);
	return made;
}

static struct hook_atom *atom_at(const volatile void *p)
{
	struct hook_sync_entry *e = hook_sync_entry((void *)(uintptr_t)p);
	struct hook_atom *there = __atomic_load_n(&e->atom, __ATOMIC_ACQUIRE), *made;

	if (there)
		return there;
	made = new_atom();
	if (!made || __atomic_compare_exchange_n(&e->atom, &there, made, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE))
		return made;
	return there;
}

struct hook_atom *hook_atom_find(struct hook_thread *t, const volatile void *p)
{
	struct hook_atom *a = atom_at(p);

	if (!t->sync.atoms) {
		t->sync.atoms = hook_pages(sizeof(*t->sync.atoms));
		if (t->sync.atoms)
			t->sync.atoms->seat = sit_down();
	}
	if (!a || !t->sync.atoms) {
		hook_table_is_full(t, "atomic variables");
		return NULL;
	}
	t->sync.atoms->near[hook_atom_place(p)].address = p;
	t->sync.atoms->near[hook_atom_place(p)].atom = a;
	return a;
}

uint32_t hook_atom_code(hook_uint128 found)
{
	uint64_t mixed =
		hook_random_spread((uint64_t)found ^ hook_random_spread((uint64_t)(found >> 64)));

	return TRACE_SYNC_ELSEWHERE | (uint32_t)(mixed >> 40);
}
