/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of OpenMP that are not recorded. The recording says so when the program first uses one.
 * Invariant: such a call goes to libgomp as it came.
 */
#include "hook/thread/gomp/gomp.h"

#include "hook/session/unseen.h"

#define FLAG_NOWAIT 1u

void hook_gomp_not_kept(enum hook_gomp_rest what)
{
	static struct hook_unseen rest[] = {
		[GOMP_REST_REDUCTION] =
			{.key = "openmp-reduction",
			 .what = "the order of threads in reductions over tasks (OpenMP's "
				 "task_reduction, in_reduction and reduction(task, ...))"},
		[GOMP_REST_DETACH] = {.key = "openmp-detach",
				      .what = "the order of threads in detached tasks (OpenMP)"},
		[GOMP_REST_TARGET] =
			{.key = "openmp-target",
			 .what = "the order of threads in target regions that nobody waits "
				 "for (OpenMP's nowait)"},
		[GOMP_REST_OLD] = {.key = "openmp-old",
				   .what = "the order of threads in OpenMP as compilers "
					   "before gcc 4.9 translate it"},
	};

	if (!hook_depth && hook_self && !hook_self->passive)
		hook_unseen(&rest[what]);
}

HOOK_EXPORT unsigned int GOMP_parallel_reductions(hook_gomp_body *body, void *data,
						  unsigned int threads, unsigned int flags);

/* libgomp finds its reductions where the first word of the data leads to. */
unsigned int GOMP_parallel_reductions(hook_gomp_body *body, void *data, unsigned int threads,
				      unsigned int flags)
{
	struct hook_gomp_team team = {.body = body, .data = data};

	if (hook_depth)
		return GOMP_REAL(GOMP_parallel_reductions)(body, data, threads, flags);
	team.reductions = *(void **)data;
	hook_gomp_region_begins(&team);
	threads = GOMP_REAL(GOMP_parallel_reductions)(hook_gomp_region, &team, threads, flags);
	hook_gomp_region_over(&team);
	hook_gomp_not_kept(GOMP_REST_REDUCTION);
	return threads;
}

/* A function that is only told of. */
#define TOLD(name, what, parameters, arguments)                                                    \
	HOOK_EXPORT void name parameters;                                                          \
	void name parameters                                                                       \
	{                                                                                          \
		hook_gomp_not_kept(what);                                                          \
		GOMP_REAL(name) arguments;                                                         \
	}

TOLD(GOMP_taskgroup_reduction_register, GOMP_REST_REDUCTION, (void *reductions), (reductions))
TOLD(GOMP_scope_start, GOMP_REST_REDUCTION, (void *reductions), (reductions))

#define REGION hook_gomp_body *body, void *data, unsigned int threads
#define RANGE long start, long end, long step

TOLD(GOMP_parallel_start, GOMP_REST_OLD, (REGION), (body, data, threads))
TOLD(GOMP_parallel_sections_start, GOMP_REST_OLD, (REGION, unsigned int count),
     (body, data, threads, count))
TOLD(GOMP_parallel_loop_static_start, GOMP_REST_OLD, (REGION, RANGE, long chunk),
     (body, data, threads, start, end, step, chunk))
TOLD(GOMP_parallel_loop_dynamic_start, GOMP_REST_OLD, (REGION, RANGE, long chunk),
     (body, data, threads, start, end, step, chunk))
TOLD(GOMP_parallel_loop_guided_start, GOMP_REST_OLD, (REGION, RANGE, long chunk),
     (body, data, threads, start, end, step, chunk))
TOLD(GOMP_parallel_loop_runtime_start, GOMP_REST_OLD, (REGION, RANGE),
     (body, data, threads, start, end, step))

HOOK_EXPORT void GOMP_target_ext(int device, hook_gomp_body *body, size_t count, void **hosts,
				 size_t *sizes, unsigned short *kinds, unsigned int flags,
				 void **depend, void **more);

/* Without a device its body runs here, in no team: constructs in it are not those of the region. */
void GOMP_target_ext(int device, hook_gomp_body *body, size_t count, void **hosts, size_t *sizes,
		     unsigned short *kinds, unsigned int flags, void **depend, void **more)
{
	struct hook_gomp_frame f = {.outer = hook_gomp_frame};

	if (flags & FLAG_NOWAIT)
		hook_gomp_not_kept(GOMP_REST_TARGET);
	hook_gomp_frame = &f;
	GOMP_REAL(GOMP_target_ext)
	(device, body, count, hosts, sizes, kinds, flags, depend, more);
	hook_gomp_frame = f.outer;
}
