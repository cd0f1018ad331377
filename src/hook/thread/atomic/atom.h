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

/* version, value, size and lent belong to who holds it; in replay to who has the turn. */
struct __attribute__((aligned(64))) hook_atom {
	uint64_t id;
	uint32_t version[2]; /* see struct hook_sync_spot; replay does not use the second */
	/*
	 * Recording: how often it was written to is the sum of two words, times HOOK_ATOM_WRITE.
	 * Each has a bit that says that an operation is at work.
	 */
	uint64_t state; /* who sets the bit here has taken it */
	uint32_t size;  /* of the last operation; 0: there was none */
	uint32_t lent;  /* recording: how often it was taken back from a seat */
	/* what it left or found; recording sets only the part that has the size */
	union {
		uint64_t low;
		hook_uint128 whole;
	} value;
	uint64_t own;  /* the other word: written to by the seat alone */
	uint64_t seat; /* recording: the thread that need not take it; 0: none */
};

_Static_assert(sizeof(struct hook_atom) == 64, "an atom is a line of the cache");

#define HOOK_ATOM_TAKEN 1 /* in state */
#define HOOK_ATOM_OWN 2   /* in own */
#define HOOK_ATOM_WRITE 4

/*
 * Recording: which atom a thread is at work with that is its own. A seat is used by one thread
 * after the other, and never given back to the system: who takes an atom back may look at it at any
 * time.
 */
struct __attribute__((aligned(64))) hook_atom_seat {
	const struct hook_atom *at_work;
};

#define HOOK_ATOM_SEATS 1024

extern struct hook_atom_seat hook_atom_seat[HOOK_ATOM_SEATS];

/* What a thread knows of atoms: of those that its stream remembers, by the place there. */
struct hook_atom_known {
	/*
	 * Recording: the state, and the size in the lowest HOOK_ATOM_SIZE_BITS. Replay: has the
	 * detector of races been told that what others did before is known?
	 */
	uint64_t stamp;
	uint64_t alone;     /* recording: how often in a row it was the last one there */
	hook_uint128 value; /* replay */
};

#define HOOK_ATOM_SIZE_BITS 5
#define HOOK_ATOMS_NEAR 256

struct hook_atoms {
	uint64_t seat; /* 0: none is left, or atoms are nobody's */
	/* where atoms are, by address; a hint */
	struct {
		const volatile void *address;
		struct hook_atom *atom;
	} near[HOOK_ATOMS_NEAR];
	struct hook_atom_known known[TRACE_SYNC_SLOTS];
};

/* Is the program one whose atomic operations are recorded? */
extern bool hook_atoms_on;

/* May the kernel be asked to order threads (hold.h)? */
extern bool hook_atoms_ordered;

/* No, also not for the first time: a filter of system calls of the program may kill who does. */
extern bool hook_atoms_forbidden;

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
