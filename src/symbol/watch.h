/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a thread come to an address of its code? The processor counts that: the thread is not
 * stopped, and nothing is left behind in it, even if we are killed. Not everybody may ask for it
 * (kernel.perf_event_paranoid).
 */
#ifndef SYMBOL_WATCH_H
#define SYMBOL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor, which ends the watch when it is closed, or -errno. */
int symbol_watch_open(int tid, uint64_t address) __attribute__((warn_unused_result));

/*
 * How often the thread came there, and how many seconds it has run meanwhile. False if part of that
 * was not watched.
 */
bool symbol_watch_read(int fd, uint64_t *times, double *seconds);

#endif
