/* SPDX-License-Identifier: Apache-2.0 */
/* A request of MPI's that nothing but we complete: whatever asks for its handle finds a real one.
 */
#include "hook/mpi/log/log.h"

static int query(void *extra, MPI_Status *status)
{
	(void)extra;
	hook_mpi_real.Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_ANY_SOURCE;
	status->MPI_TAG = MPI_ANY_TAG;
	return MPI_SUCCESS;
}

static int release(void *extra)
{
	(void)extra;
	return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
	(void)extra, (void)complete;
	return MPI_SUCCESS;
}

void hook_stand_in(MPI_Request *request)
{
	if (hook_mpi_real.Grequest_start(query, release, cancel, NULL, request) != MPI_SUCCESS)
		hook_failed(hook_self, "MPI has no more requests");
}

void hook_stand_in_end(MPI_Request *request)
{
	hook_mpi_real.Grequest_complete(*request);
	hook_mpi_real.Wait(request, MPI_STATUS_IGNORE);
}
