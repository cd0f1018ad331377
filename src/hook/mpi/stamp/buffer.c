/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer for MPI_Bsend: what the program attaches has no room for clocks, so a larger one of ours
 * takes its place. Each message takes MPI_BSEND_OVERHEAD of it besides its data, so there are at
 * most as many.
 */
#include <sys/mman.h>

#include "hook/kit/pages.h"
#include "hook/mpi/stamp/stamp.h"

static struct {
	void *theirs, *ours;
	MPI_Count their_size;
	size_t our_size;
} attached;

static int attach_to_mpi(void *buffer, MPI_Count size)
{
	return stamp_below.HOOK_MPI_LARGE(Buffer_attach)(buffer, (hook_mpi_count)size);
}

/* Where no count can tell a size with room for clocks, they take some of the program's. */
static MPI_Count with_clocks(MPI_Count size)
{
	MPI_Count messages = size / MPI_BSEND_OVERHEAD + 1;
	MPI_Count wanted = size + messages * (MPI_Count)(stamp_head + 64);
	bool fits = wanted == (hook_mpi_count)wanted;

	return fits ? wanted : INT_MAX;
}

static int attach(void *buffer, MPI_Count size)
{
	size_t wanted;
	void *ours;
	int rc;

	if (size < 0 || attached.ours)
		return attach_to_mpi(buffer, size);
	wanted = (size_t)with_clocks(size);
	ours = hook_pages_sparse(wanted);
	if (!ours)
		return MPI_ERR_NO_MEM;
	rc = attach_to_mpi(ours, (MPI_Count)wanted);
	if (rc != MPI_SUCCESS) {
		munmap(ours, wanted);
		return rc;
	}
	attached.theirs = buffer;
	attached.their_size = size;
	attached.ours = ours;
	attached.our_size = wanted;
	return rc;
}

static int detach(void *buffer, MPI_Count *size)
{
	void *p;
	hook_mpi_count n = 0;
	int rc = stamp_below.HOOK_MPI_LARGE(Buffer_detach)(&p, &n);

	if (rc != MPI_SUCCESS)
		return rc;
	if (attached.ours && p == attached.ours) {
		munmap(attached.ours, attached.our_size);
		attached.ours = NULL;
		*(void **)buffer = attached.theirs;
		*size = attached.their_size;
	} else {
		*(void **)buffer = p;
		*size = n;
	}
	return rc;
}

static int stamp_Buffer_attach(void *buffer, int size)
{
	return attach(buffer, size);
}

static int stamp_Buffer_detach(void *buffer, int *size)
{
	MPI_Count n = *size;
	int rc = detach(buffer, &n);

	*size = (int)n;
	return rc;
}

#ifdef HOOK_FLAVOUR_MPICH
static int stamp_Buffer_attach_c(void *buffer, MPI_Count size)
{
	return attach(buffer, size);
}

static int stamp_Buffer_detach_c(void *buffer, MPI_Count *size)
{
	return detach(buffer, size);
}
#endif

void stamp_install_buffers(struct hook_mpi_calls *mpi)
{
	mpi->Buffer_attach = stamp_Buffer_attach;
	mpi->Buffer_detach = stamp_Buffer_detach;
#ifdef HOOK_FLAVOUR_MPICH
	mpi->Buffer_attach_c = stamp_Buffer_attach_c;
	mpi->Buffer_detach_c = stamp_Buffer_detach_c;
#endif
}
