/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI's predefined handles. In Open MPI they are addresses of variables in its library: a library
 * that is loaded into programs without MPI cannot refer to them, and one that is loaded before MPI
 * would never get to know them. So they are looked up when MPI starts.
 */
#ifndef HOOK_MPI_HANDLES_H
#define HOOK_MPI_HANDLES_H

#ifdef HOOK_FLAVOUR_OPENMPI

struct hook_mpi_handles {
	void *comm_world, *comm_self, *comm_null, *request_null, *packed, *byte, *type_null;
	void *uint32, *uint64, *sum;
};

extern struct hook_mpi_handles hook_mpi_handles;

#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#undef MPI_COMM_NULL
#undef MPI_REQUEST_NULL
#undef MPI_PACKED
#undef MPI_BYTE
#undef MPI_DATATYPE_NULL
#undef MPI_UINT32_T
#undef MPI_UINT64_T
#undef MPI_SUM
#define MPI_COMM_WORLD ((MPI_Comm)hook_mpi_handles.comm_world)
#define MPI_COMM_SELF ((MPI_Comm)hook_mpi_handles.comm_self)
#define MPI_COMM_NULL ((MPI_Comm)hook_mpi_handles.comm_null)
#define MPI_REQUEST_NULL ((MPI_Request)hook_mpi_handles.request_null)
#define MPI_PACKED ((MPI_Datatype)hook_mpi_handles.packed)
#define MPI_BYTE ((MPI_Datatype)hook_mpi_handles.byte)
#define MPI_DATATYPE_NULL ((MPI_Datatype)hook_mpi_handles.type_null)
#define MPI_UINT32_T ((MPI_Datatype)hook_mpi_handles.uint32)
#define MPI_UINT64_T ((MPI_Datatype)hook_mpi_handles.uint64)
#define MPI_SUM ((MPI_Op)hook_mpi_handles.sum)

#endif
#endif
