/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of C++ that are initialised where a function first comes to them. Which thread does so
 * is not recorded: the compiler looks in line whether it was done, so how often a thread asks is
 * chance. What is in a constructor there may be done by another thread in replay.
 */
#ifndef HOOK_THREAD_STATICS_H
#define HOOK_THREAD_STATICS_H

/* How many of them this thread is about to initialise. */
extern __thread unsigned int hook_statics;

#endif
