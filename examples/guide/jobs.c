/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 hands out jobs. For each of them rank 2 sends a report, and rank 1 works for longer than
 * that mostly takes and then says that the job is done.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define JOBS 3

enum { GO, REPORT, DONE };

struct job {
	long number;
	int *reports;
};

struct entry {
	long number;
	long seconds;
};

static int reports[JOBS];
static struct entry *journal[JOBS];

static void report(struct job *job)
{
	++*job->reports;
}

static void done(struct job *job)
{
	long number = job->number;
	struct entry *entry;

	free(job);
	entry = malloc(sizeof(*entry));
	entry->number = number;
	entry->seconds = 60;
	journal[number] = entry;
}

/* A disk is mostly quick. */
static void write_report(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	usleep((unsigned)(now.tv_nsec / 1000 % 6) * 1000);
}

static void serve(long number)
{
	struct job *job = malloc(sizeof(*job));
	MPI_Status status;
	int word = 0;

	job->number = number;
	job->reports = &reports[number];
	for (int worker = 2; worker > 0; worker--)
		MPI_Send(&word, 1, MPI_INT, worker, GO, MPI_COMM_WORLD);
	for (int i = 0; i < 2; i++) {
		MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == REPORT)
			report(job);
		else
			done(job);
	}
	printf("job %ld: %d report\n", number, reports[number]);
}

int main(int argc, char **argv)
{
	int rank, word;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < JOBS; i++) {
		if (rank == 0) {
			serve(i);
			continue;
		}
		MPI_Recv(&word, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 2)
			write_report();
		else
			usleep(4500); /* the work */
		MPI_Send(&word, 1, MPI_INT, 0, rank == 1 ? DONE : REPORT, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
