/* SPDX-License-Identifier: Apache-2.0 */
/* A race on communicators with an attribute; counts how often MPI copies and deletes that. */
#include "outcome.h"

static int copies, deletes;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	(void)comm;
	(void)key;
	(void)extra;
	copies++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)value;
	(void)extra;
	deletes++;
	return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	int me, key, is_idup = argc > 1;
	MPI_Request request;
	MPI_Comm comm;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_create_keyval(copy, forget, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, key, &me);
	if (is_idup) {
		MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	}
	jitter();
	if (me == 1 || me == 2)
		MPI_Send(&me, 1, MPI_INT, 0, 1, comm);
	for (int i = 0; i < 2 && me == 0; i++) {
		int number;

		MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
		printf("from %d\n", number);
	}
	MPI_Comm_free(&comm);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
	MPI_Comm_free_keyval(&key);
	if (me == 0)
		printf("%d copies, %d deletes\n", copies, deletes);
	MPI_Finalize();
	return 0;
}
