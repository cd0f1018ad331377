/* SPDX-License-Identifier: Apache-2.0 */
/* Asks topologies for ranks and dimensions that they do not have, and receives less than is sent.
 */
#include <mpi.h>
#include <stdio.h>

static int me;

static void tell(const char *what, int rc)
{
	int class = MPI_SUCCESS;

	if (rc != MPI_SUCCESS)
		MPI_Error_class(rc, &class);
	printf("rank %d: %s: class %d\n", me, what, class);
}

static void ask_grid(int ranks)
{
	int sizes[2] = {ranks, 1}, rings[2] = {0, 0}, at[2] = {-7, -7}, source, dest;
	MPI_Comm grid;

	MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, rings, 0, &grid);
	MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
	tell("place of none", MPI_Cart_coords(grid, ranks + 3, 2, at));
	tell("place of -1", MPI_Cart_coords(grid, -1, 2, at));
	tell("place, no room", MPI_Cart_coords(grid, 0, -1, at));
	tell("direction -1", MPI_Cart_shift(grid, -1, 1, &source, &dest));
	printf("rank %d: at %d %d\n", me, at[0], at[1]);
	MPI_Comm_free(&grid);
}

static void ask_graph(int ranks)
{
	int ends[64], edges[64], count = -5, near[64] = {-5};
	MPI_Comm graph;

	for (int i = 0; i < ranks; i++) {
		ends[i] = i + 1;
		edges[i] = (i + 1) % ranks;
	}
	MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 0, &graph);
	MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
	tell("neighbours of none", MPI_Graph_neighbors_count(graph, ranks + 2, &count));
	tell("neighbours of -1", MPI_Graph_neighbors(graph, -1, 64, near));
	tell("neighbours, no room", MPI_Graph_neighbors(graph, 0, -1, near));
	printf("rank %d: %d %d\n", me, count, near[0]);
	MPI_Comm_free(&graph);
}

/* Two ranks at a time: how far it goes on among more is chance. */
static void receive_less(void)
{
	int numbers[8] = {0}, rank;
	MPI_Comm pair;

	MPI_Comm_split(MPI_COMM_WORLD, me / 2, me, &pair);
	MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
	MPI_Comm_rank(pair, &rank);
	for (int i = 0; i < 8 && rank == 0; i++)
		numbers[i] = i + 1;
	tell("less than is sent", MPI_Bcast(numbers, rank ? 4 : 8, MPI_INT, 0, pair));
	printf("rank %d: %d %d %d\n", me, numbers[0], numbers[3], numbers[4]);
	MPI_Comm_free(&pair);
}

int main(int argc, char **argv)
{
	int ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	ask_grid(ranks);
	ask_graph(ranks);
	receive_less();
	MPI_Finalize();
	return 0;
}
