/* SPDX-License-Identifier: Apache-2.0 */
/* Notes that are records of the input stream and no inputs (done by hook/input/value/values.c). */
#ifndef HOOK_NOTE_H
#define HOOK_NOTE_H

#include <stdint.h>

struct trace_view;

/* Recording: a record of that kind, TRACE_IN_MODULE or TRACE_IN_NOTE. */
void hook_input_note(uint32_t kind, const char *text);

/* Replay: the calling thread's recorded inputs; empty if it had none. */
const struct trace_view *hook_input_view(void);

#endif
