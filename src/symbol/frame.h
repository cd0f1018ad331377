/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of another process as it stood when it was stopped: its frames from the innermost one
 * on, and the end of its stack that the last of them had. What is asked about it later is answered
 * from here, because the thread has long gone on.
 */
#ifndef SYMBOL_FRAME_H
#define SYMBOL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As DWARF numbers them: */
#define SYMBOL_REGISTERS 16
#define SYMBOL_STACK_POINTER 7
#define SYMBOL_KEPT                                                                                \
	{                                                                                          \
		3, 6, 7, 12, 13, 14, 15                                                            \
	} /* by calls */

struct symbol_frame {
	uint64_t pc;
	bool active; /* pc is of the next instruction, and not behind a call */
	uint64_t reg[SYMBOL_REGISTERS];
	bool known[SYMBOL_REGISTERS];
};

#endif
