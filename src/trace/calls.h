/* SPDX-License-Identifier: Apache-2.0 */
/* Names of MPI calls by the numbers that streams use; made from hook/mpi/call/calls.tbl. */
#ifndef TRACE_CALLS_H
#define TRACE_CALLS_H

#include <stdint.h>

/* "MPI_Recv"; never NULL. */
const char *trace_call_name(uint32_t call);

#endif
