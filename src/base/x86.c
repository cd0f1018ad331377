/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths by opcode map, as the processors' manuals have them: what follows an opcode is a ModRM
 * byte with its address, an immediate, or both. The tables are strings of one letter per opcode.
 */
#include "base/x86.h"

#include <string.h>

/*
 * . nothing   m ModRM   b byte   w two bytes   z four bytes (two with 66)   q as wide as the
 * operand a address   e three bytes   M ModRM and byte   Z ModRM and z   G group 3   - no
 * instruction
 */
static const char one_byte[] = "mmmmbz--mmmmbz--"
			       "mmmmbz--mmmmbz--"
			       "mmmmbz--mmmmbz--"
			       "mmmmbz--mmmmbz--"
			       "----------------"
			       "................"
			       "---m----zZbM...."
			       "bbbbbbbbbbbbbbbb"
			       "MZ-Mmmmmmmmmmmmm"
			       "..........-....."
			       "aaaa....bz......"
			       "bbbbbbbbqqqqqqqq"
			       "MMw.--MZe.w..b-."
			       "mmmm---.mmmmmmmm"
			       "bbbbbbbbzz-b...."
			       "-.--..GG......mm";

static const char two_bytes[] = "mmmm-....--.-m.M"
				"mmmmmmmmmmmmmmmm"
				"mmmm----mmmmmmmm"
				"......-.--------"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"MMMMmmm.mm--mmmm"
				"zzzzzzzzzzzzzzzz"
				"mmmmmmmmmmmmmmmm"
				"...mMm--...mMmmm"
				"mmmmmmmmmmMmmmmm"
				"mmMmMMMm........"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm";

enum map { ONE_BYTE, TWO_BYTES, MAP_38, MAP_3A };

struct reader {
	const uint8_t *at, *end;
	bool lock, wide, narrow, repeat, short_address, local;
	uint8_t modrm;
	bool on_stack; /* the memory it is about is at (%rsp) or near it */
	const uint8_t *immediate;
	uint8_t rex;
	unsigned base, index, shift;
	int32_t offset;
};

static bool take(struct reader *r, size_t n)
{
	if ((size_t)(r->end - r->at) < n)
		return false;
	r->at += n;
	return true;
}

static bool is_memory(const struct reader *r)
{
	return r->modrm < 0xc0;
}

static bool take_offset(struct reader *r, size_t n)
{
	if (!take(r, n))
		return false;
	if (n == 1)
		r->offset = (int8_t)r->at[-1];
	else
		memcpy(&r->offset, r->at - 4, 4);
	return true;
}

static bool take_sib(struct reader *r)
{
	uint8_t sib;

	if (!take(r, 1))
		return false;
	sib = r->at[-1];
	r->on_stack = sib == 0x24;
	r->base = (sib & 7u) | (r->rex & 1u) << 3;
	r->index = (sib >> 3 & 7u) | (r->rex & 2u) << 2;
	r->shift = sib >> 6;
	if (r->index == 4)
		r->index = RP_X86_NO_REGISTER;
	return true;
}

/* The ModRM byte, and the SIB byte and displacement that it asks for. */
static bool take_address(struct reader *r)
{
	unsigned mod, rm;

	if (!take(r, 1))
		return false;
	r->modrm = r->at[-1];
	mod = r->modrm >> 6;
	rm = r->modrm & 7;
	r->index = RP_X86_NO_REGISTER;
	r->base = rm | (r->rex & 1u) << 3;
	if (mod == 3)
		return true;
	if (rm == 4 && !take_sib(r))
		return false;
	if (mod == 1)
		return take_offset(r, 1);
	if (mod == 0 && (r->base & 7) == 5) {
		r->base = rm == 5 ? RP_X86_RIP : RP_X86_NO_REGISTER;
		return take_offset(r, 4);
	}
	return mod == 0 || take_offset(r, 4);
}

static bool take_immediate(struct reader *r, char form, uint8_t opcode)
{
	size_t z = r->narrow ? 2 : 4;

	r->immediate = r->at;
	switch (form) {
	case 'b':
	case 'M':
		return take(r, 1);
	case 'w':
		return take(r, 2);
	case 'e':
		return take(r, 3);
	case 'z':
		/* Branches have four bytes, whatever the prefix. */
		return take(r, opcode == 0xe8 || opcode == 0xe9 ? 4 : z);
	case 'Z':
		return take(r, z);
	case 'q':
		return take(r, r->wide ? 8 : z);
	case 'a':
		return take(r, r->short_address ? 4 : 8);
	case 'G':
		if ((r->modrm >> 3 & 7) > 1)
			return true;
		return take(r, opcode == 0xf6 ? 1 : z);
	default:
		return true;
	}
}

static bool take_operands(struct reader *r, char form, uint8_t opcode)
{
	bool addresses = form == 'm' || form == 'M' || form == 'Z' || form == 'G';

	if (form == '-' || (addresses && !take_address(r)))
		return false;
	return form == 'm' || form == '.' || take_immediate(r, form, opcode);
}

static char form_of(enum map map, uint8_t opcode)
{
	switch (map) {
	case ONE_BYTE:
		return one_byte[opcode];
	case TWO_BYTES:
		return opcode >> 4 == 8 ? 'z' : two_bytes[opcode];
	case MAP_38:
		return 'm';
	default:
		return 'M';
	}
}

/* VEX and EVEX: the opcode's map is in the prefix; most have ModRM, those of map 3 a byte more. */
static bool take_vector(struct reader *r, uint8_t first)
{
	unsigned map = 1;
	uint8_t opcode;
	char form;

	if (!take(r, first == 0x62 ? 3 : first == 0xc4 ? 2 : 1))
		return false;
	if (first == 0xc4)
		map = r->at[-2] & 0x1f;
	else if (first == 0x62)
		map = r->at[-3] & 7;
	if (!take(r, 1))
		return false;
	opcode = r->at[-1];
	if (map == 3)
		form = 'M';
	else if (map != 1)
		form = 'm';
	else if (opcode == 0x77)
		form = '.';
	else
		form = (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
				       (opcode & 0xfc) == 0xc4
			       ? 'M'
			       : 'm';
	if (form == 'M' && opcode == 0xc7 && map == 1)
		form = 'm';
	return take_operands(r, form, opcode);
}

static bool take_prefixes(struct reader *r)
{
	for (; r->at < r->end; r->at++) {
		switch (*r->at) {
		case 0x66:
			r->narrow = true;
			break;
		case 0x67:
			r->short_address = true;
			break;
		case 0xf0:
			r->lock = true;
			break;
		case 0xf3:
			r->repeat = true;
			break;
		case 0xf2:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x26:
			break;
		case 0x64:
		case 0x65:
			r->local = true;
			break;
		default:
			if ((*r->at & 0xf0) != 0x40)
				return true;
			r->rex = *r->at++;
			r->wide = r->rex & 8;
			return r->at < r->end;
		}
	}
	return false;
}

static enum rp_x86_kind of_constant(const struct reader *r, unsigned op)
{
	if (r->on_stack && *r->immediate == 0 && (op == 0 || op == 1))
		return RP_X86_FENCE;
	return op == 0 || op == 5 ? RP_X86_COUNT : RP_X86_MASK;
}

static enum rp_x86_kind kind_of(const struct reader *r, enum map map, uint8_t opcode)
{
	unsigned op = r->modrm >> 3 & 7;

	if (map == ONE_BYTE && opcode == 0x90 && r->repeat)
		return RP_X86_PAUSE;
	if (map == ONE_BYTE && (opcode == 0x86 || opcode == 0x87))
		return is_memory(r) ? RP_X86_EXCHANGE : RP_X86_PLAIN;
	if (!r->lock || !is_memory(r))
		return RP_X86_PLAIN;
	if (map == TWO_BYTES) {
		if (opcode == 0xc0 || opcode == 0xc1)
			return RP_X86_ADD;
		return RP_X86_EXCHANGE;
	}
	if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83)
		return of_constant(r, op);
	if (opcode >= 0xfe)
		return RP_X86_COUNT;
	return opcode < 0x08 || (opcode & 0xf8) == 0x28 ? RP_X86_COUNT : RP_X86_MASK;
}

/*
 * What the operand in memory is for: x reads, W writes, . there is none, ? not known here.
 * Instructions on vectors are not known: their registers are not examined.
 */
static const char one_byte_access[] = "WWxx..??WWxx..??"
				      "WWxx..??WWxx..??"
				      "WWxx..??WWxx..??"
				      "WWxx..??xxxx..??"
				      "????????????????"
				      "................"
				      "???x??.x.x.x????"
				      "................"
				      "gg?gxxWWWWxx?.??"
				      "..........?.????"
				      "????????..??????"
				      "................"
				      "WW..??WW?.??????"
				      "WWWW????????????"
				      "....????..?.????"
				      "?????.hh......Ii";

static const char two_bytes_access[] = "?????????????.??"
				       "????????........"
				       "????????????????"
				       "?.??????????????"
				       "xxxxxxxxxxxxxxxx"
				       "????????????????"
				       "????????????????"
				       "????????????????"
				       "................"
				       "WWWWWWWWWWWWWWWW"
				       "???xWW?????WWWfx"
				       "WW?W??xx??bWxxxx"
				       "WW??????........"
				       "????????????????"
				       "????????????????"
				       "????????????????";

static enum rp_x86_access by_group(const struct reader *r, char letter)
{
	unsigned op = r->modrm >> 3 & 7;

	switch (letter) {
	case '.':
		return RP_X86_NONE;
	case 'x':
		return RP_X86_READS;
	case 'W':
	case 'I':
		return RP_X86_WRITES;
	case 'g': /* compare */
		return op == 7 ? RP_X86_READS : RP_X86_WRITES;
	case 'h': /* not and negate */
		return op == 2 || op == 3 ? RP_X86_WRITES : RP_X86_READS;
	case 'i': /* increment and decrement; call, jump, push */
		return op < 2 ? RP_X86_WRITES : RP_X86_READS;
	case 'b': /* test of a bit */
		return op == 4 ? RP_X86_READS : RP_X86_WRITES;
	case 'f': /* fences */
		return is_memory(r) ? RP_X86_OTHER : RP_X86_NONE;
	default:
		return RP_X86_OTHER;
	}
}

static enum rp_x86_access access_of(const struct reader *r, enum map map, uint8_t opcode)
{
	enum rp_x86_access access = RP_X86_OTHER;

	if (map == ONE_BYTE)
		access = by_group(r, one_byte_access[opcode]);
	else if (map == TWO_BYTES)
		access = by_group(r, two_bytes_access[opcode]);
	if (access >= RP_X86_READS && !is_memory(r))
		return RP_X86_NONE;
	return access;
}

static unsigned size_of(const struct reader *r, enum map map, uint8_t opcode)
{
	if (map == ONE_BYTE ? !(opcode & 1) : opcode == 0xb0 || opcode == 0xc0 || opcode >> 4 == 9)
		return 1;
	return r->wide ? 8 : r->narrow ? 2 : 4;
}

static void describe(const struct reader *r, enum map map, uint8_t opcode, struct rp_x86 *out)
{
	out->kind = kind_of(r, map, opcode);
	out->reg = (r->modrm >> 3 & 7u) | (r->rex & 4u) << 1;
	out->access = access_of(r, map, opcode);
	out->size = size_of(r, map, opcode);
	out->base = r->base;
	out->index = r->index;
	out->shift = r->shift;
	out->offset = r->offset;
	out->local = r->local;
}

static bool decode(struct reader *r, struct rp_x86 *out)
{
	enum map map = ONE_BYTE;
	uint8_t opcode;

	if (!take_prefixes(r) || !take(r, 1))
		return false;
	opcode = r->at[-1];
	if (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62)
		return take_vector(r, opcode);
	if (opcode == 0x0f) {
		if (!take(r, 1))
			return false;
		opcode = r->at[-1];
		map = TWO_BYTES;
		if (opcode == 0x38 || opcode == 0x3a) {
			if (!take(r, 1))
				return false;
			map = opcode == 0x38 ? MAP_38 : MAP_3A;
			opcode = r->at[-1];
		}
	}
	if (map == TWO_BYTES && opcode >> 4 == 8) {
		out->access = RP_X86_NONE;
		return take(r, 4);
	}
	if (!take_operands(r, form_of(map, opcode), opcode))
		return false;
	describe(r, map, opcode, out);
	return true;
}

void rp_x86_decode(const uint8_t *code, const uint8_t *end, struct rp_x86 *out)
{
	struct reader r = {.at = code, .end = end};

	*out = (struct rp_x86){.length = 1};
	if (decode(&r, out))
		out->length = (size_t)(r.at - code);
	else
		*out = (struct rp_x86){.length = 1};
}
