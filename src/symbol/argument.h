/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a function was called with, in a frame that is not the innermost. The registers of arguments
 * are long used for something else; but optimising compilers note how the caller had made them, if
 * they can still be made. Nothing is known where they did not.
 */
#ifndef SYMBOL_ARGUMENT_H
#define SYMBOL_ARGUMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "symbol/frame.h"

#define SYMBOL_ARGUMENTS 6 /* in registers */

/* The frame has called the function of that name and waits for it: the n-th argument from 0 on. Of
   an int the lower half counts. False: it is not known. */
bool symbol_argument(Dwfl_Module *module, const struct symbol_frame *frame, const char *function,
		     unsigned n, uint64_t *value);

#endif
