/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the heap: the slots that a thread's children got, and which lists it took back at
 * which refill. They are in a stream of the thread, "0.2.heap", that is made when there is
 * something to write.
 */
#ifndef HOOK_HEAP_NOTE_H
#define HOOK_HEAP_NOTE_H

#include "hook/heap/core.h"
#include "hook/heap/slots.h"

/* Chooses the order by mode; in a process that is recorded or replayed. */
void heap_note_start(void);

/* The calling thread has got its heap. */
void heap_note_open(const struct heap *h);

/*
 * The slot of the next child of the calling thread; *has: with what else belongs to it, prepared as
 * wished.
 */
struct heap_use heap_note_child(const void *wish, bool *has);

/* The calling thread ends. */
void heap_note_close(void);

#endif
