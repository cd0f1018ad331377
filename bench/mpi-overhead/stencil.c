/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2-D Jacobi iteration on a square per rank: exchange of the four edges by Irecv, Isend and
 * Waitall in each step, an Allreduce of the residual in every tenth.
 *
 *   stencil STEPS EDGE
 */
#include <mpi.h>
#include <math.h>
#include <stdlib.h>

#include "../bench.h"

enum { NORTH, SOUTH, WEST, EAST, SIDES };

struct field {
	int edge;
	int peer[SIDES];
	double *now, *next;
	double *out[SIDES], *in[SIDES];
};

static double *cell(double *plane, const struct field *f, int row, int column)
{
	return &plane[(size_t)row * (size_t)(f->edge + 2) + (size_t)column];
}

/* The cell of an edge (halo = 0) or of the halo beside it (halo = 1). */
static double *side_cell(struct field *f, int side, int i, int halo)
{
	switch (side) {
	case NORTH:
		return cell(f->now, f, 1 - halo, i + 1);
	case SOUTH:
		return cell(f->now, f, f->edge + halo, i + 1);
	case WEST:
		return cell(f->now, f, i + 1, 1 - halo);
	default:
		return cell(f->now, f, i + 1, f->edge + halo);
	}
}

static void exchange(struct field *f)
{
	MPI_Request request[2 * SIDES];

	for (int side = 0; side < SIDES; side++)
		MPI_Irecv(f->in[side], f->edge, MPI_DOUBLE, f->peer[side], side ^ 1, MPI_COMM_WORLD,
			  &request[side]);
	for (int side = 0; side < SIDES; side++) {
		for (int i = 0; i < f->edge; i++)
			f->out[side][i] = *side_cell(f, side, i, 0);
		MPI_Isend(f->out[side], f->edge, MPI_DOUBLE, f->peer[side], side, MPI_COMM_WORLD,
			  &request[SIDES + side]);
	}
	MPI_Waitall(2 * SIDES, request, MPI_STATUSES_IGNORE);
	for (int side = 0; side < SIDES; side++)
		for (int i = 0; i < f->edge; i++)
			*side_cell(f, side, i, 1) = f->in[side][i];
}

static double relax(struct field *f)
{
	double residual = 0, *swap;

	for (int row = 1; row <= f->edge; row++) {
		const double *here = cell(f->now, f, row, 0);
		const double *above = cell(f->now, f, row - 1, 0);
		const double *below = cell(f->now, f, row + 1, 0);
		double *result = cell(f->next, f, row, 0);

		for (int i = 1; i <= f->edge; i++) {
			result[i] = 0.25 * (above[i] + below[i] + here[i - 1] + here[i + 1]);
			residual += fabs(result[i] - here[i]);
		}
	}
	swap = f->now;
	f->now = f->next;
	f->next = swap;
	return residual;
}

static void set_up(struct field *f, int edge, MPI_Comm grid, int rank)
{
	size_t cells = (size_t)(edge + 2) * (size_t)(edge + 2);

	f->edge = edge;
	MPI_Cart_shift(grid, 0, 1, &f->peer[NORTH], &f->peer[SOUTH]);
	MPI_Cart_shift(grid, 1, 1, &f->peer[WEST], &f->peer[EAST]);
	f->now = calloc(cells, sizeof(double));
	f->next = calloc(cells, sizeof(double));
	for (int side = 0; side < SIDES; side++) {
		f->out[side] = calloc((size_t)edge, sizeof(double));
		f->in[side] = calloc((size_t)edge, sizeof(double));
	}
	*cell(f->now, f, edge / 2, edge / 2) = 1000.0 * (rank + 1);
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 1000;
	int edge = argc > 2 ? atoi(argv[2]) : 256;
	int rank, ranks, dims[2] = {0, 0}, periods[2] = {1, 1};
	double residual = 0, total = 0;
	struct field f;
	MPI_Comm grid;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Dims_create(ranks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
	MPI_Comm_rank(grid, &rank);
	set_up(&f, edge, grid, rank);
	MPI_Barrier(MPI_COMM_WORLD);
	bench_gate();
	MPI_Barrier(MPI_COMM_WORLD);
	bench_start();
	for (int step = 1; step <= steps; step++) {
		exchange(&f);
		residual = relax(&f);
		if (step % 10 == 0)
			MPI_Allreduce(&residual, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		printf("residual %.17g\n", total);
		bench_result("outcomes", 0);
	}
	MPI_Finalize();
	return 0;
}
