/* SPDX-License-Identifier: Apache-2.0 */
/* Whether there are more ranks, or threads that wait in MPI, than cores. */
#include "hook/mpi/replay/yield.h"

#include <sched.h>

#include "hook/session/session.h"

bool hook_yields, hook_yields_in_waits;

void hook_yield_open(int world)
{
#ifdef HOOK_FLAVOUR_MPICH
	cpu_set_t cores;

	hook_yields = hook_session_is_local() && !hook_mpi_turns &&
		      sched_getaffinity(0, sizeof(cores), &cores) == 0 && world > CPU_COUNT(&cores);
	hook_yields_in_waits = hook_yields || hook_mpi_turns;
#else
	(void)world;
#endif
}
