/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between the last place that anybody jumps to and the call is run in mind. Registers
 * that calls keep have at the beginning what they have at the call, unless they are written
 * between; memory has what it has now, unless it is written after it was read, or may be
 * (memory.h). What an instruction does that is not known here, anything may be: only what follows
 * it counts. If it is not sure where jumps of the function lead to, nothing is known.
 */
#include "symbol/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/x86.h"
#include "symbol/process.h"

#define MOST 65536 /* bytes of a function */
#define REGISTERS 16

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct state {
	struct symbol_memory *memory; /* NULL: all of it is unknown */
	uint64_t value[REGISTERS];
	bool known[REGISTERS];
	unsigned written; /* a bit for each register */
	bool stores;      /* the instruction writes memory, and not by a push */
	bool stale;       /* what is read from memory is not what was read then */
};

struct code {
	const uint8_t *bytes;
	uint64_t start;
	size_t n;
};

/* An instruction, taken apart as far as it is needed here. */
struct one {
	struct rp_x86 x;
	const uint8_t *rest; /* behind opcode and ModRM */
	unsigned opcode;     /* 0x0f.. of two bytes */
	unsigned reg, rm, extension;
	bool wide, memory;
	uint64_t next;
};

static bool has_modrm(unsigned opcode)
{
	return (opcode < 0x40 && (opcode & 7) < 4) || opcode == 0x63 ||
	       (opcode >= 0x80 && opcode <= 0x8f) || opcode == 0xc7 || opcode == 0xf7 ||
	       opcode == 0xff || (opcode >= 0xf00 && opcode >> 4 != 0xf8);
}

/* False: it has a prefix that changes what it does. */
static bool take_apart(const struct code *c, size_t at, struct one *i)
{
	const uint8_t *p = c->bytes + at;
	uint8_t rex = 0;

	*i = (struct one){0};
	rp_x86_decode(p, c->bytes + c->n, &i->x);
	i->next = c->start + at + i->x.length;
	if ((*p & 0xf0) == 0x40)
		rex = *p++;
	i->opcode = *p++;
	if (i->opcode == 0x0f)
		i->opcode = 0xf00 | *p++;
	i->wide = rex & 8;
	i->rm = (i->opcode & 7) | (rex & 1u) << 3;
	if (has_modrm(i->opcode)) {
		i->memory = *p < 0xc0;
		i->extension = *p >> 3 & 7;
		i->reg = i->extension | (rex & 4u) << 1;
		i->rm = (*p & 7u) | (rex & 1u) << 3;
		p++;
	}
	i->rest = p;
	return !i->x.local && i->opcode != 0x66 && i->opcode != 0xf2 && i->opcode != 0xf3 &&
	       i->opcode != 0xf0;
}

static void set(struct state *s, unsigned reg, bool wide, bool known, uint64_t value)
{
	s->value[reg] = wide ? value : (uint32_t)value;
	s->known[reg] = known;
	s->written |= 1u << reg;
}

static bool address_of(const struct state *s, const struct one *i, uint64_t *address)
{
	*address = (uint64_t)(int64_t)i->x.offset;
	if (i->x.base == RP_X86_RIP)
		*address += i->next;
	else if (i->x.base < REGISTERS && s->known[i->x.base])
		*address += s->value[i->x.base];
	else if (i->x.base != RP_X86_NO_REGISTER)
		return false;
	if (i->x.index >= REGISTERS)
		return true;
	*address += s->value[i->x.index] << i->x.shift;
	return s->known[i->x.index];
}

static bool load(const struct state *s, uint64_t address, void *to, size_t n)
{
	return s->memory && !s->stale && symbol_memory_read(s->memory, address, to, n);
}

/* The operand that is not the register `reg`. */
static bool operand(const struct state *s, const struct one *i, uint64_t *value)
{
	uint64_t address;

	*value = i->memory ? 0 : s->value[i->rm];
	if (!i->memory)
		return s->known[i->rm];
	return address_of(s, i, &address) && load(s, address, value, i->wide ? 8 : 4);
}

static bool divide(struct state *s, const struct one *i)
{
	uint64_t by;
	bool known = operand(s, i, &by) && s->known[RAX] && s->known[RDX] && !i->wide;
	int64_t number = (int64_t)(s->value[RDX] << 32 | (uint32_t)s->value[RAX]);
	int32_t divisor = (int32_t)by;

	known = known && divisor && !(divisor == -1 && number == INT64_MIN);
	set(s, RAX, false, known, known ? (uint64_t)(number / divisor) : 0);
	set(s, RDX, false, known, known ? (uint64_t)(number % divisor) : 0);
	return true;
}

/* Adds to, or subtracts from, a register. */
static void add(struct state *s, unsigned reg, const struct one *i, bool minus, bool known,
		uint64_t value)
{
	set(s, reg, i->wide, known && s->known[reg],
	    minus ? s->value[reg] - value : s->value[reg] + value);
}

static bool add_constant(struct state *s, const struct one *i)
{
	int32_t wide;

	if (i->extension == 7)
		return true;
	if (i->extension != 0 && i->extension != 5) {
		if (!i->memory)
			set(s, i->rm, true, false, 0);
		return true;
	}
	memcpy(&wide, i->rest, i->memory ? 0 : sizeof(wide));
	if (!i->memory)
		add(s, i->rm, i, i->extension == 5, true,
		    (uint64_t)(i->opcode == 0x83 ? (int8_t)*i->rest : (int64_t)wide));
	return true;
}

static void push(struct state *s)
{
	set(s, RSP, true, s->known[RSP], s->value[RSP] - 8);
}

/* mov and its kin. */
static bool move(struct state *s, const struct one *i)
{
	uint64_t value = 0;
	int32_t half;
	bool known;

	switch (i->opcode) {
	case 0x89:
		if (!i->memory)
			set(s, i->rm, i->wide, s->known[i->reg], s->value[i->reg]);
		return true;
	case 0x8b:
		known = operand(s, i, &value);
		set(s, i->reg, i->wide, known, value);
		return true;
	case 0x8d:
		known = address_of(s, i, &value);
		set(s, i->reg, i->wide, known, value);
		return true;
	case 0x63:
		known = i->memory ? address_of(s, i, &value) && load(s, value, &half, sizeof(half))
				  : s->known[i->rm];
		value = i->memory ? (uint64_t)(known ? half : 0)
				  : (uint64_t)(int32_t)s->value[i->rm];
		set(s, i->reg, i->wide, known, value);
		return true;
	case 0xc7:
		if (i->memory)
			return true;
		memcpy(&half, i->rest, sizeof(half));
		set(s, i->rm, i->wide, true, (uint64_t)half);
		return true;
	default:
		return false;
	}
}

static bool compute(struct state *s, const struct one *i)
{
	uint64_t value = 0;
	bool known;

	switch (i->opcode) {
	case 0x01:
	case 0x29:
		if (!i->memory)
			add(s, i->rm, i, i->opcode == 0x29, s->known[i->reg], s->value[i->reg]);
		return true;
	case 0x03:
	case 0x2b:
		known = operand(s, i, &value);
		add(s, i->reg, i, i->opcode == 0x2b, known, value);
		return true;
	case 0x31:
		if (!i->memory)
			set(s, i->rm, true, i->reg == i->rm, 0);
		return true;
	case 0x81:
	case 0x83:
		return add_constant(s, i);
	case 0x98:
		set(s, RAX, true, i->wide && s->known[RAX],
		    (uint64_t)(int64_t)(int32_t)s->value[RAX]);
		return true;
	case 0x99:
		set(s, RDX, false, !i->wide && s->known[RAX],
		    (int32_t)s->value[RAX] < 0 ? UINT32_MAX : 0);
		return true;
	case 0xf7:
		return i->extension == 7 && divide(s, i);
	default:
		return false;
	}
}

/* False: what it does is not known. */
static bool run(struct state *s, const struct code *c, size_t at, struct one *i)
{
	static const char end_branch[] = {'\xf3', '\x0f', '\x1e', '\xfa'};
	uint64_t value = 0;

	if (c->n - at >= 4 && memcmp(c->bytes + at, end_branch, 4) == 0) {
		rp_x86_decode(c->bytes + at, c->bytes + c->n, &i->x);
		return true;
	}
	if (!take_apart(c, at, i))
		return false;
	s->stores = i->x.access == RP_X86_WRITES;
	if (i->opcode >= 0x50 && i->opcode <= 0x57) {
		push(s);
		return true;
	}
	if (i->opcode >= 0xb8 && i->opcode <= 0xbf) {
		memcpy(&value, i->rest, i->wide ? 8 : 4);
		set(s, i->rm, i->wide, true, value);
		return true;
	}
	/* A jump that was not taken: else it would not have come here. */
	if ((i->opcode >= 0x70 && i->opcode <= 0x7f) || i->opcode >> 4 == 0xf8)
		return true;
	switch (i->opcode) {
	case 0x68:
	case 0x6a:
		push(s);
		return true;
	case 0x39: /* cmp */
	case 0x3b:
	case 0x3d:
	case 0x85: /* test */
	case 0x90:
	case 0xf1f:
		return true;
	}
	return move(s, i) || compute(s, i);
}

/* --- where jumps lead to */

enum flow { GOES_ON, CALLS, JUMPS, MAY_JUMP, JUMPS_ANYWHERE };

static enum flow flow_of(const struct code *c, size_t at, const struct rp_x86 *x, uint64_t *to)
{
	const uint8_t *p = c->bytes + at, *end = p + x->length;
	int32_t far;

	/* Prefixes of branches change nothing here. */
	while (p + 1 < end && (*p == 0xf2 || *p == 0x3e || *p == 0x2e || (*p & 0xf0) == 0x40))
		p++;
	*to = c->start + at + x->length;
	if ((*p >= 0x70 && *p <= 0x7f) || *p == 0xeb || (*p >= 0xe0 && *p <= 0xe3)) {
		*to += (uint64_t)(int64_t)(int8_t)end[-1];
		return *p == 0xeb ? JUMPS : MAY_JUMP;
	}
	memcpy(&far, x->length >= 5 ? end - 4 : (const uint8_t *)"\0\0\0", sizeof(far));
	if (*p == 0xe9 || (*p == 0x0f && p + 1 < end && p[1] >> 4 == 8)) {
		*to += (uint64_t)(int64_t)far;
		return *p == 0xe9 ? JUMPS : MAY_JUMP;
	}
	if (*p == 0xc3 || *p == 0xc2 || *p == 0xe8)
		return CALLS;
	if (*p == 0xff && (p[1] >> 3 & 7) == 2)
		return CALLS;
	if (*p == 0xff && ((p[1] >> 3 & 7) == 4 || (p[1] >> 3 & 7) == 5))
		return JUMPS_ANYWHERE;
	return GOES_ON;
}

/* A call that names what it calls: at once, or as an entry of a table. */
static bool is_of_name(const uint8_t *code, size_t length)
{
	return (length == 5 && code[0] == 0xe8) ||
	       (length == 6 && code[0] == 0xff && code[1] == 0x15);
}

/* The last place before the call that one comes to otherwise than from above; false: not known. */
static bool find_begin(const struct code *c, size_t call_end, size_t *begin, size_t *call)
{
	size_t landing = 0, at, next;
	bool found = false;
	struct rp_x86 x;
	uint64_t to;

	*begin = 0;
	for (at = 0; at < c->n; at = next) {
		enum flow flow;
		bool jumps;

		rp_x86_decode(c->bytes + at, c->bytes + c->n, &x);
		next = at + x.length;
		flow = flow_of(c, at, &x, &to);
		jumps = flow == JUMPS || flow == MAY_JUMP;
		if (flow == JUMPS_ANYWHERE || (jumps && (to < c->start || to >= c->start + c->n)))
			return false;
		if (jumps && to - c->start < call_end && to - c->start > landing)
			landing = to - c->start;
		if (next == call_end) {
			found = is_of_name(c->bytes + at, x.length);
			*call = at;
		} else if ((flow == CALLS || flow == JUMPS) && next < call_end) {
			*begin = next;
		}
	}
	*begin = landing > *begin ? landing : *begin;
	return found && *begin <= *call;
}

/* A part of the function that lies elsewhere may come back to any place. */
static bool has_cold_part(Dwfl_Module *module, const char *name)
{
	char *cold = rp_format("%s.cold", name);
	int n = dwfl_module_getsymtab(module);
	bool has = false;

	for (int i = 1; i < n && !has; i++) {
		GElf_Sym symbol;
		const char *other = dwfl_module_getsym(module, i, &symbol, NULL);

		has = other && strncmp(other, cold, strlen(cold)) == 0;
	}
	free(cold);
	return has;
}

/* The function that the address is in; its bytes are to be freed. */
static bool read_function(int pid, Dwfl_Module *module, Dwarf_Addr pc, struct code *c)
{
	GElf_Sym symbol;
	GElf_Off offset;
	const char *name = dwfl_module_addrinfo(module, pc - 1, &offset, &symbol, NULL, NULL, NULL);
	uint8_t *bytes;

	if (!name || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size > MOST ||
	    offset >= symbol.st_size || has_cold_part(module, name))
		return false;
	bytes = rp_alloc(symbol.st_size + 16, 1);
	*c = (struct code){bytes, pc - 1 - offset, symbol.st_size};
	if (symbol_process_read(pid, c->start, bytes, c->n))
		return true;
	free(bytes);
	return false;
}

/* --- all together */

/* What is written on the way, and where for the last time. */
struct ahead {
	size_t begin; /* behind what nothing is known of */
	size_t stored, written[REGISTERS];
	bool stack_known;
	uint64_t stack; /* by how much the stack pointer changes */
};

static void begin_at(struct ahead *a, struct state *s, size_t at)
{
	a->begin = a->stored = at;
	for (unsigned k = 0; k < REGISTERS; k++)
		a->written[k] = at;
	*s = (struct state){.known[RSP] = true};
}

static void look_ahead(const struct code *c, size_t begin, size_t call, struct ahead *a)
{
	struct state s = {0};
	struct one i;

	begin_at(a, &s, begin);
	for (size_t at = begin; at < call; at += i.x.length) {
		s.stores = false;
		s.written = 0;
		if (!run(&s, c, at, &i)) {
			rp_x86_decode(c->bytes + at, c->bytes + c->n, &i.x);
			begin_at(a, &s, at + i.x.length);
			continue;
		}
		if (s.stores)
			a->stored = at + i.x.length;
		for (unsigned k = 0; k < REGISTERS; k++) {
			if (s.written & 1u << k)
				a->written[k] = at + i.x.length;
		}
	}
	a->stack_known = s.known[RSP];
	a->stack = s.value[RSP];
}

/* What calls keep and is not written from here on. */
static void take_kept(struct state *s, const struct symbol_frame *frame, const struct ahead *a,
		      size_t at)
{
	/* As instructions and as DWARF number them. */
	static const unsigned kept[][2] = {{RBX, 3}, {RBP, 6}, {RSP, 7}, {12, 12},
					   {13, 13}, {14, 14}, {15, 15}};

	for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
		unsigned reg = kept[k][0];
		bool stack = reg == RSP && at == a->begin && a->stack_known;

		if ((a->written[reg] != at && !stack) || !frame->known[kept[k][1]])
			continue;
		s->value[reg] = frame->reg[kept[k][1]] - (stack ? a->stack : 0);
		s->known[reg] = true;
	}
}

void symbol_prepare(Dwfl_Module *module, const struct symbol_frame *frame,
		    struct symbol_memory *memory, uint64_t value[SYMBOL_ARGUMENTS],
		    bool known[SYMBOL_ARGUMENTS])
{
	static const unsigned registers[SYMBOL_ARGUMENTS] = {RDI, RSI, RDX, RCX, 8, 9};
	struct state s = {.memory = memory};
	size_t begin, call = 0;
	struct ahead ahead;
	uint64_t pc = frame->pc;
	struct code c;
	struct one i;

	memset(known, 0, SYMBOL_ARGUMENTS * sizeof(*known));
	if (frame->active || !read_function(memory->pid, module, pc, &c))
		return;
	if (find_begin(&c, pc - c.start, &begin, &call)) {
		look_ahead(&c, begin, call, &ahead);
		for (size_t at = ahead.begin; at < call; at += i.x.length) {
			s.stale = at < ahead.stored;
			take_kept(&s, frame, &ahead, at);
			run(&s, &c, at, &i);
		}
		for (unsigned k = 0; k < SYMBOL_ARGUMENTS; k++) {
			value[k] = s.value[registers[k]];
			known[k] = s.known[registers[k]];
		}
	}
	free((void *)c.bytes);
}
