/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serial mode: does a thread that comes to no point compute, or does it wait in a loop for
 * something that only another thread can do? The thread examines itself, step by step.
 */
#ifndef HOOK_PROBE_H
#define HOOK_PROBE_H

#include "hook/common/hook.h"

enum hook_probe {
	HOOK_PROBE_COMPUTES, /* or cannot be told: it is left alone */
	HOOK_PROBE_LOOKS,    /* the same, but what it looks at may be there to stop it */
	HOOK_PROBE_COUNTS,   /* it looks at the same few places again and again, and counts */
	HOOK_PROBE_WAITS,    /* it has come back to where it was, with nothing changed */
};

/*
 * Probes a thread that runs the program's code; hook_baton_answer is called in it. False: it cannot
 * be probed.
 */
bool hook_probe_ask(struct hook_thread *t);

#endif
