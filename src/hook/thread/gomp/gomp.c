/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wrappers of libgomp share. The library may have been loaded out of sight of RTLD_NEXT,
 * by a plug-in of the program; then it is found by name.
 */
#include "hook/thread/gomp/gomp.h"
#include "hook/thread/serial/baton.h"

#include <dlfcn.h>
#include <stddef.h>

__thread struct hook_gomp_frame *hook_gomp_frame;

struct hook_gomp_frame *hook_gomp_here(void)
{
	static __thread struct hook_gomp_frame bottom;

	if (!hook_gomp_frame)
		hook_gomp_frame = &bottom;
	return hook_gomp_frame;
}

/* Of locks there are two generations; the older is that of gcc before 4.4. */
void *hook_gomp_find(const char *name)
{
	int depth = hook_depth;
	void *found, *library;

	hook_depth = 1;
	found = dlvsym(RTLD_NEXT, name, "OMP_3.0");
	if (!found)
		found = hook_real(name);
	if (!found) {
		library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
		found = library ? dlvsym(library, name, "OMP_3.0") : NULL;
		if (library && !found)
			found = dlsym(library, name);
	}
	hook_depth = depth;
	return found;
}

void hook_gomp_point(struct hook_thread *t)
{
	hook_depth = 1;
	hook_baton_point(t);
	hook_sync_leave(t);
}

void hook_gomp_warn(void)
{
	if (hook_real("__kmpc_fork_call"))
		hook_say_once("openmp",
			      "the program uses OpenMP by another library than gcc's libgomp: the "
			      "order of its threads is not kept; build it with gcc -fopenmp",
			      NULL);
}

static int act_known(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	(void)t;
	return code < 0 ? *(const int *)c->cond : code;
}

static int value(struct hook_thread *t, enum hook_sync_op op, int code, const void *site)
{
	struct hook_sync_call c = {.op = op, .cond = &code, .site = site};

	if (t->passive)
		return code;
	return hook_sync_plain->value(t, &c, trace_sync_op_id(op), act_known);
}

uint64_t hook_gomp_number(struct hook_thread *t, enum hook_sync_op op, uint64_t n, const void *site)
{
	int code = value(t, op, n < TRACE_SYNC_LARGE ? (int)n : TRACE_SYNC_LARGE, site);

	if (code < TRACE_SYNC_LARGE)
		return (uint64_t)code;
	for (int at = 0; at < 64; at += TRACE_SYNC_PIECE) {
		uint64_t mask = (uint64_t)((1u << TRACE_SYNC_PIECE) - 1) << at;
		int piece = value(t, op, (int)((n & mask) >> at << 1), site);

		n = (n & ~mask) | (uint64_t)piece >> 1 << at;
	}
	return n;
}
