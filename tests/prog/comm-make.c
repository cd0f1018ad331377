/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators by every constructor, a wildcard exchange on each of them, with all of them alive
 * at once and the same tag everywhere: only the communicator tells the messages apart.
 */
#include "note.h"

#define MOST 12

static MPI_Comm comms[MOST];
static int count;
static int me, size;

static void add(MPI_Comm comm)
{
	CHECK(count < MOST);
	if (comm != MPI_COMM_NULL)
		comms[count++] = comm;
}

static void make_groups(void)
{
	MPI_Comm comm;
	MPI_Group world, all, reversed;
	MPI_Request request;
	int range[1][3] = {{size - 1, 0, -1}};

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	add(comm);
	MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	add(comm);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
	add(comm);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
	add(comm);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
	add(comm);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_range_incl(world, 1, range, &reversed);
	MPI_Comm_create(MPI_COMM_WORLD, reversed, &comm);
	add(comm);
	MPI_Group_union(world, reversed, &all);
	MPI_Comm_create_group(MPI_COMM_WORLD, all, 3, &comm);
	add(comm);
	MPI_Group_free(&all);
	MPI_Group_free(&reversed);
	MPI_Group_free(&world);
}

static void make_topologies(void)
{
	int dims[1] = {size}, periods[1] = {1}, degrees[NOTE_RANKS], edges[NOTE_RANKS];
	int left = (me + size - 1) % size, right = (me + 1) % size;
	MPI_Comm comm;

	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &comm);
	add(comm);
	periods[0] = 1;
	MPI_Cart_sub(comm, periods, &comm);
	add(comm);
	for (int i = 0; i < size; i++) {
		degrees[i] = i + 1;
		edges[i] = (i + 1) % size;
	}
	MPI_Graph_create(MPI_COMM_WORLD, size, degrees, edges, 0, &comm);
	add(comm);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
				       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
	add(comm);
	degrees[0] = 1;
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, degrees, &right, MPI_UNWEIGHTED,
			      MPI_INFO_NULL, 0, &comm);
	add(comm);
}

static void talk(int rounds)
{
	static struct note_book books[MOST];
	struct note note;
	MPI_Status status;
	int mine, others;

	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < count; k++) {
			MPI_Comm_rank(comms[k], &mine);
			MPI_Comm_size(comms[k], &others);
			jitter();
			for (int to = 0; to < others; to++)
				note_send_on(&books[k], comms[k], mine, to, 1);
		}
	}
	for (int k = count - 1; k >= 0; k--) {
		MPI_Comm_size(comms[k], &others);
		for (int i = 0; i < rounds * others; i++) {
			MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, comms[k], &status);
			note_check_on(&books[k], &note, &status);
			outcome(" %d", note.source);
		}
		outcome(" |");
	}
}

int main(int argc, char **argv)
{
	int rounds = argument(argc, argv, 1, 3);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	make_groups();
	make_topologies();
	CHECK(count == MOST);
	talk(rounds);
	for (int k = 0; k < count; k++)
		MPI_Comm_free(&comms[k]);
	outcome_print();
	MPI_Finalize();
	return 0;
}
