/* SPDX-License-Identifier: Apache-2.0 */
/* Recording in modes other than `order`: what is written of receives besides, or instead. */
#ifndef HOOK_MPI_RACING_H
#define HOOK_MPI_RACING_H

#include "hook/mpi/requests.h"

/* MPI_Init has returned: the enum trace_mode to record in, the same in all ranks. */
uint32_t racing_open(struct hook_thread *t, int world, int level);

/* True if all ranks want it and can. Every rank of the run that is recorded must ask. */
bool racing_agree(bool can, int world);

#endif
