/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/argument.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#define DEEP 64 /* blocks in blocks */

static bool attribute(Dwarf_Die *die, unsigned name, unsigned older, Dwarf_Attribute *out)
{
	return dwarf_attr(die, name, out) || dwarf_attr(die, older, out);
}

static bool is_site(Dwarf_Die *die, Dwarf_Addr back)
{
	int tag = dwarf_tag(die);
	Dwarf_Attribute a;
	Dwarf_Addr at;

	return (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) &&
	       attribute(die, DW_AT_call_return_pc, DW_AT_low_pc, &a) &&
	       dwarf_formaddr(&a, &at) == 0 && at == back;
}

/* The call behind which the program goes on at that address. */
static bool find_site(Dwarf_Die *parent, Dwarf_Addr back, unsigned depth, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (depth > DEEP || dwarf_child(parent, &die) != 0)
		return false;
	do {
		if (is_site(&die, back)) {
			*out = die;
			return true;
		}
		if (find_site(&die, back, depth + 1, out))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool is_of(Dwarf_Die *site, const char *function)
{
	Dwarf_Attribute a;
	Dwarf_Die origin;
	const char *name;

	if (!attribute(site, DW_AT_call_origin, DW_AT_abstract_origin, &a) ||
	    !dwarf_formref_die(&a, &origin))
		return false;
	name = dwarf_diename(&origin);
	return name && strcmp(name, function) == 0;
}

/* A number, an address, or what a register has kept. */
static bool compute(const Dwarf_Op *op, size_t n, const struct symbol_frame *frame, Dwarf_Addr bias,
		    uint64_t *value)
{
	if (n != 1)
		return false;
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*value = op->atom - DW_OP_lit0;
		return true;
	}
	if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts) {
		*value = op->number;
		return true;
	}
	if (op->atom == DW_OP_addr) {
		*value = op->number + bias;
		return true;
	}
	if (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg15 ||
	    !frame->known[op->atom - DW_OP_breg0])
		return false;
	*value = frame->reg[op->atom - DW_OP_breg0] + op->number;
	return true;
}

bool symbol_argument(Dwfl_Module *module, const struct symbol_frame *frame, const char *function,
		     unsigned n, uint64_t *value)
{
	/* As DWARF numbers rdi, rsi, rdx, rcx, r8, r9. */
	static const unsigned registers[SYMBOL_ARGUMENTS] = {5, 4, 1, 2, 8, 9};
	Dwarf_Die *unit, site, one;
	Dwarf_Attribute a;
	Dwarf_Addr bias;
	Dwarf_Op *op;
	size_t ops;

	if (n >= SYMBOL_ARGUMENTS || frame->active)
		return false;
	unit = dwfl_module_addrdie(module, frame->pc - 1, &bias);
	if (!unit || !find_site(unit, frame->pc - bias, 0, &site) || !is_of(&site, function) ||
	    dwarf_child(&site, &one) != 0)
		return false;
	do {
		if (dwarf_attr(&one, DW_AT_location, &a) && dwarf_getlocation(&a, &op, &ops) == 0 &&
		    ops == 1 && op->atom == DW_OP_reg0 + registers[n])
			return attribute(&one, DW_AT_call_value, DW_AT_GNU_call_site_value, &a) &&
			       dwarf_getlocation(&a, &op, &ops) == 0 &&
			       compute(op, ops, frame, bias, value);
	} while (dwarf_siblingof(&one, &one) == 0);
	return false;
}
