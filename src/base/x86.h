/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells where instructions of the x86-64 end, which of them are atomic, and which memory they use.
 * Nothing else is decoded, so a scan reads hundreds of megabytes in a second. It is used inside the
 * recorded program: no malloc, and no table is written.
 */
#ifndef RP_X86_H
#define RP_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rp_x86_kind {
	RP_X86_PLAIN,
	RP_X86_COUNT,    /* lock inc, dec, add, sub of a constant or register: nothing comes back */
	RP_X86_ADD,      /* lock xadd: comes back with the value before */
	RP_X86_EXCHANGE, /* lock cmpxchg, xchg with memory, lock bts and the like */
	RP_X86_MASK,     /* lock or, and, xor */
	RP_X86_FENCE,    /* lock or or add of 0 to the stack */
	RP_X86_PAUSE,
	RP_X86_KINDS,
};

/* What it does with the memory that its address names; the stack, by push and call, aside. */
enum rp_x86_access {
	RP_X86_OTHER, /* not known here, or on other registers than the general ones */
	RP_X86_NONE,
	RP_X86_READS,
	RP_X86_WRITES, /* and may read it, too */
};

enum {
	RP_X86_NO_REGISTER = 16,
	RP_X86_RIP = 17, /* as base: the address of the next instruction */
};

struct rp_x86 {
	size_t length;
	enum rp_x86_kind kind;
	unsigned reg; /* of an xadd: the register that is added */
	enum rp_x86_access access;
	unsigned size; /* of what is written, in bytes */
	/* the address: base + index << shift + offset, of thread-local memory if `local` */
	unsigned base, index, shift;
	int32_t offset;
	bool local;
};

/* Decodes the instruction at `code`. A byte that begins no instruction has length 1. */
void rp_x86_decode(const uint8_t *code, const uint8_t *end, struct rp_x86 *out);

#endif
