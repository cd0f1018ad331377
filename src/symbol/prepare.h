/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a call, by the instructions before it that make them. Compilers note some of
 * them (argument.h), but none without optimisation, and no addresses in programs that may lie
 * anywhere.
 */
#ifndef SYMBOL_PREPARE_H
#define SYMBOL_PREPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "symbol/argument.h"
#include "symbol/memory.h"

/* In the registers of arguments, as the call of that frame, which is not the innermost, found them;
   `known` says which could be told. */
void symbol_prepare(Dwfl_Module *module, const struct symbol_frame *frame,
		    struct symbol_memory *memory, uint64_t value[SYMBOL_ARGUMENTS],
		    bool known[SYMBOL_ARGUMENTS]);

#endif
