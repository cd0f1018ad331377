/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of more elements than most programs have bytes: of a type that takes none, 2^31 - 1 of
 * them, and 2^31 + 5 where MPI has calls for that (but for persistent ones and broadcasts, with
 * which MPICH 4.0 itself fails). Nothing is large but the counts.
 */
#include <limits.h>
#include <sys/mman.h>

#include "outcome.h"

static int me, size, left, right;
static MPI_Datatype nothing;

static void none_came(const MPI_Status *status)
{
	int count = -1;

	MPI_Get_count(status, MPI_BYTE, &count);
	CHECK(count == 0 && status->MPI_SOURCE == left);
	outcome(" %d", status->MPI_SOURCE);
}

#define EXCHANGE(suffix, number)                                                                   \
	static void exchange##suffix(number many)                                                  \
	{                                                                                          \
		MPI_Request request[2];                                                            \
		MPI_Status status;                                                                 \
		MPI_Message message;                                                               \
		char unused;                                                                       \
                                                                                                   \
		for (int i = 0; i < 3; i++) {                                                      \
			MPI_Isend##suffix(&unused, many, nothing, right, 1, MPI_COMM_WORLD,        \
					  &request[0]);                                            \
			if (i == 0) {                                                              \
				MPI_Recv##suffix(&unused, many, nothing, MPI_ANY_SOURCE, 1,        \
						 MPI_COMM_WORLD, &status);                         \
			} else if (i == 1) {                                                       \
				MPI_Irecv##suffix(&unused, many, nothing, MPI_ANY_SOURCE, 1,       \
						  MPI_COMM_WORLD, &request[1]);                    \
				MPI_Wait(&request[1], &status);                                    \
			} else {                                                                   \
				MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, &status);  \
				none_came(&status);                                                \
				MPI_Mrecv##suffix(&unused, many, nothing, &message, &status);      \
			}                                                                          \
			none_came(&status);                                                        \
			MPI_Wait(&request[0], MPI_STATUS_IGNORE);                                  \
		}                                                                                  \
		MPI_Sendrecv##suffix(&unused, many, nothing, right, 2, &unused, many, nothing,     \
				     MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);                  \
		none_came(&status);                                                                \
		MPI_Sendrecv_replace##suffix(&unused, many, nothing, right, 3, MPI_ANY_SOURCE, 3,  \
					     MPI_COMM_WORLD, &status);                             \
		none_came(&status);                                                                \
	}

EXCHANGE(, int)

static void persistent(int many)
{
	MPI_Request request[2];
	MPI_Status status[2];
	char unused;

	MPI_Send_init(&unused, many, nothing, right, 4, MPI_COMM_WORLD, &request[0]);
	MPI_Recv_init(&unused, many, nothing, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request[1]);
	for (int i = 0; i < 2; i++) {
		MPI_Startall(2, request);
		MPI_Waitall(2, request, status);
		none_came(&status[1]);
	}
	MPI_Request_free(&request[0]);
	MPI_Request_free(&request[1]);
	MPI_Bcast(&unused, many, nothing, 0, MPI_COMM_WORLD);
}

#if MPI_VERSION >= 4
EXCHANGE(_c, MPI_Count)

static void large(MPI_Count many)
{
	MPI_Request request[2];
	MPI_Message message;
	MPI_Status status;
	char unused;

	MPI_Isend_c(&unused, many, nothing, right, 1, MPI_COMM_WORLD, &request[0]);
	MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, &status);
	MPI_Imrecv_c(&unused, many, nothing, &message, &request[1]);
	MPI_Wait(&request[1], &status);
	none_came(&status);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
	MPI_Isendrecv_c(&unused, many, nothing, right, 5, &unused, many, nothing, left, 5,
			MPI_COMM_WORLD, &request[0]);
	MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

/* A buffer for MPI_Bsend of 3 GB, of which next to nothing is used. */
static void buffered(void)
{
	const MPI_Count bytes = (MPI_Count)3 << 30;
	void *space = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
	     *back = NULL;
	MPI_Count room = 0;
	MPI_Status status;
	int value = me, got = -1;

	CHECK(space != MAP_FAILED);
	MPI_Buffer_attach_c(space, bytes);
	MPI_Bsend(&value, 1, MPI_INT, right, 7, MPI_COMM_WORLD);
	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
	CHECK(got == left);
	MPI_Buffer_detach_c(&back, &room);
	CHECK(back == space && room == bytes);
	munmap(space, (size_t)bytes);
}
#endif

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	left = (me + size - 1) % size;
	right = (me + 1) % size;
	MPI_Type_contiguous(0, MPI_INT, &nothing);
	MPI_Type_commit(&nothing);
	exchange(INT_MAX);
	persistent(INT_MAX);
#if MPI_VERSION >= 4
	exchange_c((MPI_Count)INT_MAX + 6);
	large((MPI_Count)INT_MAX + 6);
	buffered();
#endif
	outcome(" ok");
	outcome_print();
	MPI_Finalize();
	return 0;
}
