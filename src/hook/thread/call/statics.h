/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static variables of C++ functions, initialised at first use. Which thread does so is not
 * recorded: the compiler checks inline whether it was done, so how often a thread asks is chance.
 * In replay another thread may run such a constructor.
 */
#ifndef HOOK_THREAD_STATICS_H
#define HOOK_THREAD_STATICS_H

/* How many of them this thread is about to initialise. */
extern __thread unsigned int hook_statics;

#endif
