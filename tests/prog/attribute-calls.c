/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that MPI calls for attributes, when communicators and types are
 * copied and freed, and at MPI_Finalize: they ask for the process number and the clock, open files,
 * allocate memory and free their keyval once more. With "clock" they also print what the clock
 * told. Between all that, messages race.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "outcome.h"

static int me, calls, keyval[2], prints_clock;

static void use(const char *what)
{
	struct timespec now;
	char *memory = malloc(100);
	int fd = open("/dev/null", O_RDONLY);

	CHECK(memory && fd >= 0 && getpid() > 0 && getppid() > 0);
	CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0);
	CHECK(close(fd) == 0);
	free(memory);
	calls++;
	if (me == 0 && prints_clock)
		printf("%s at %ld\n", what, now.tv_nsec);
	else if (me == 0)
		printf("%s\n", what);
}

static int copy_of_comm(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	(void)comm, (void)key, (void)extra;
	use("copied");
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int end_of_comm(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)extra;
	use(value == &me ? "deleted at the end" : "deleted");
	if (value == &keyval[1] && keyval[1] != MPI_KEYVAL_INVALID)
		MPI_Comm_free_keyval(&keyval[1]);
	return MPI_SUCCESS;
}

static int end_of_type(MPI_Datatype type, int key, void *value, void *extra)
{
	(void)type, (void)key, (void)value, (void)extra;
	use("type deleted");
	return MPI_SUCCESS;
}

static void race(MPI_Comm comm)
{
	int number;

	jitter();
	if (me)
		MPI_Send(&me, 1, MPI_INT, 0, 1, comm);
	for (int i = 0; i < 3 && me == 0; i++) {
		MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, MPI_STATUS_IGNORE);
		printf("from %d\n", number);
	}
}

int main(int argc, char **argv)
{
	MPI_Datatype type;
	MPI_Comm comm;
	int of_type;

	prints_clock = argc > 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_create_keyval(copy_of_comm, end_of_comm, &keyval[0], NULL);
	MPI_Comm_create_keyval(copy_of_comm, end_of_comm, &keyval[1], NULL);
	MPI_Comm_set_attr(MPI_COMM_WORLD, keyval[0], &keyval[0]);
	MPI_Comm_set_attr(MPI_COMM_WORLD, keyval[1], &keyval[1]);
	MPI_Comm_set_attr(MPI_COMM_SELF, keyval[0], &me);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	race(comm);
	MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval[1]);
	MPI_Comm_free(&comm);
	MPI_Type_contiguous(3, MPI_INT, &type);
	MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, end_of_type, &of_type, NULL);
	MPI_Type_set_attr(type, of_type, NULL);
	MPI_Type_free(&type);
	MPI_Type_free_keyval(&of_type);
	race(MPI_COMM_WORLD);
	MPI_Comm_free_keyval(&keyval[0]);
	MPI_Finalize();
	return calls >= 7 ? 0 : 3;
}
