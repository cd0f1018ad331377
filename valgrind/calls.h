/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the program has libc do to its data: the code of libc is not looked at, but where a function
 * of string.h begins, its arguments say which bytes it will read and write.
 */
#ifndef VALGRIND_CALLS_H
#define VALGRIND_CALLS_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

/* Adds a call to what is translated if a function that is known begins there. */
void calls_add(IRSB *out, Addr at);

/* Other code may be where some was. */
void calls_forget(void);

/* reprise_main.c: nothing is looked at there. */
Bool is_left_out(Addr a);
extern Bool at_work;

#endif
