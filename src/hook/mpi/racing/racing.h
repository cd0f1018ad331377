/* SPDX-License-Identifier: Apache-2.0 */
/* Recording in modes other than `order`: what is written of receives besides, or instead. */
#ifndef HOOK_MPI_RACING_H
#define HOOK_MPI_RACING_H

#include "hook/mpi/object/requests.h"

/* MPI_Init has returned: the enum trace_mode to record in, the same in all ranks. */
uint32_t racing_open(struct hook_thread *t, int world, int level);

/*
 * MPI_Recv and all there is to do about it in `racing`; false: this is not the usual case, nothing
 * was done. The status is not MPI_STATUS_IGNORE.
 */
bool racing_receive(struct hook_thread *t, const struct hook_mpi_receive *o, int *rc);

/*
 * How clocks ride on messages of MPI_COMM_WORLD: in the ledger, which is open then, if all are on
 * one host.
 */
enum racing_ride { RACING_NO, RACING_WITHIN, RACING_APART };

/* The same in all ranks. Every rank of the run that is recorded must ask. */
enum racing_ride racing_agree(bool can, int world);

#endif
