/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic operations of a program that was compiled with `reprise cc --atomics` (hook/atomic/). An
 * atom stands for an address at which there were such operations. Like a lock it has an id and
 * counts who took it: each operation that writes, and each load by a thread that does not know what
 * is there. A thread that has taken an atom knows its value until it is written to, and its loads
 * are then only counted. doc/internals/threads.md says why the same values come in replay.
 */
#ifndef HOOK_ATOM_H
#define HOOK_ATOM_H

#include "hook/atomic/plain.h"
#include "hook/thread/sync/sync.h"

/* version, value and size belong to who holds it; in replay to who has the turn. */
struct __attribute__((aligned(64))) hook_atom {
	uint64_t id;
	uint32_t version[2]; /* see struct hook_sync_spot; replay does not use the second */
	uint64_t state;      /* recording: writes, times 2, and 1 while an operation is at work */
	uint32_t size;       /* of the last operation; 0: there was none */
	/* what it left or found; recording sets only the part that has the size */
	union {
		uint64_t low;
		hook_uint128 whole;
	} value;
};

/* What a thread knows of atoms: of those that its stream remembers, by the place there. */
struct hook_atom_known {
	/*
	 * Recording: the state, and the size in the lowest HOOK_ATOM_SIZE_BITS. Replay: has the
	 * detector of races been told that what others did before is known?
	 */
	uint64_t stamp;
	hook_uint128 value; /* replay */
};

#define HOOK_ATOM_SIZE_BITS 5
#define HOOK_ATOMS_NEAR 256

struct hook_atoms {
	/* where atoms are, by address; a hint */
	struct {
		const volatile void *address;
		struct hook_atom *atom;
	} near[HOOK_ATOMS_NEAR];
	struct hook_atom_known known[TRACE_SYNC_SLOTS];
};

/* Is the program one whose atomic operations are recorded? */
extern bool hook_atoms_on;

extern const struct hook_atomic_table hook_atomic_record, hook_atomic_replay;

/* The program makes its first thread, and several may run at a time; and its child has one. */
void hook_atoms_start(void);
void hook_atoms_stop(void);

/* The thread ends. */
void hook_atoms_close(struct hook_thread *t);

static inline unsigned int hook_atom_place(const volatile void *p)
{
	uintptr_t at = (uintptr_t)p;

	return (at >> 2 ^ at >> 10) % HOOK_ATOMS_NEAR;
}

/* The long way to an atom. */
struct hook_atom *hook_atom_find(struct hook_thread *t, const volatile void *p);

/* NULL: there is no memory, and recording has stopped. */
static inline struct hook_atom *hook_atom_of(struct hook_thread *t, const volatile void *p)
{
	unsigned int place = hook_atom_place(p);

	if (__builtin_expect(t->sync.atoms && t->sync.atoms->near[place].address == p, 1))
		return t->sync.atoms->near[place].atom;
	return hook_atom_find(t, p);
}

static inline struct hook_atom_known *hook_atom_known(struct hook_thread *t, uint64_t id)
{
	return &t->sync.atoms->known[id >> 52];
}

/* The code of an operation that found this where the atom had something else. */
uint32_t hook_atom_code(hook_uint128 found);

#endif
