/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what its functions for attributes are called for, also when MPI ends. */
#include <mpi.h>
#include <stdio.h>

static int me, types;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	int size;

	(void)key;
	MPI_Comm_size(comm, &size);
	printf("rank %d: %s is copied, of %d%s\n", me, (const char *)extra, size,
	       comm == MPI_COMM_WORLD ? ", the world" : "");
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)key;
	(void)value;
	printf("rank %d: %s is deleted%s%s\n", me, (const char *)extra,
	       comm == MPI_COMM_WORLD ? " of the world" : "",
	       comm == MPI_COMM_SELF ? " of itself" : "");
	return MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
	(void)type;
	(void)key;
	(void)extra;
	types++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int forget_type(MPI_Datatype type, int key, void *value, void *extra)
{
	(void)type;
	(void)key;
	(void)value;
	(void)extra;
	types++;
	return MPI_SUCCESS;
}

static void exchange(int ranks)
{
	int key, in[4] = {0}, out[4] = {1, 2, 3, 4};
	MPI_Request request;
	MPI_Datatype type;

	MPI_Type_vector(2, 1, 2, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_Type_create_keyval(copy_type, forget_type, &key, NULL);
	MPI_Type_set_attr(type, key, NULL);
	MPI_Irecv(in, 1, type, (me + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &request);
	MPI_Send(out, 1, type, (me + 1) % ranks, 1, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Ibcast(in, 1, type, 0, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	printf("rank %d: %d %d, calls for its type: %d\n", me, in[0], in[2], types);
}

int main(int argc, char **argv)
{
	static const char *const name[] = {"one", "two", "three"};
	int key[3], ranks;
	MPI_Comm copied;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < 3; i++) {
		MPI_Comm_create_keyval(copy, forget, &key[i], (void *)name[i]);
		MPI_Comm_set_attr(MPI_COMM_WORLD, key[i], NULL);
		MPI_Comm_set_attr(MPI_COMM_SELF, key[i], NULL);
	}
	MPI_Comm_set_attr(MPI_COMM_SELF, key[0], NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &copied);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, key[1]);
	MPI_Comm_free(&copied);
	exchange(ranks);
	MPI_Finalize();
	return 0;
}
