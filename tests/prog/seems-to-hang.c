/* flags: -pthread */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three ranks, some of which wait for each other; the argument says how. Only some of these ways
 * are a deadlock. What does not end by itself is ended from outside.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORED MPI_STATUS_IGNORE

static int rank, value;
static volatile int on = 1, passed; /* so that no call is the last thing of a function */

static void *compute(void *unused)
{
	while (on)
		;
	return unused;
}

/* A deadlock: nobody receives. */
static void sends(void)
{
	if (rank == 0)
		MPI_Ssend(&value, 1, MPI_INT, 1, 4, WORLD); /* line: sends */
	if (rank == 1)
		MPI_Ssend(&value, 1, MPI_INT, 0, 5, WORLD); /* line: too */
	passed++;
}

static void take(int from)
{
	MPI_Recv(&value, 1, MPI_INT, from, 4, WORLD, IGNORED); /* line: take */
	passed++;
}

/* A deadlock: everybody receives first. */
static void ring(void)
{
	int size;

	MPI_Comm_size(WORLD, &size);
	take((rank + size - 1) % size);
	passed++;
}

/* A deadlock: rank 0 does not come to the barrier before rank 1 has left it. */
static void behind(void)
{
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 4, WORLD, IGNORED); /* line: behind */
	MPI_Barrier(WORLD);                                         /* line: barrier */
	if (rank == 1)
		MPI_Send(&value, 1, MPI_INT, 0, 4, WORLD);
	passed++;
}

/* Goes on for ever. */
static void ping_pong(void)
{
	while (rank == 0) {
		MPI_Recv(&value, 1, MPI_INT, 1, 4, WORLD, IGNORED);
		MPI_Send(&value, 1, MPI_INT, 1, 5, WORLD);
	}
	while (rank == 1) {
		MPI_Send(&value, 1, MPI_INT, 0, 4, WORLD);
		MPI_Recv(&value, 1, MPI_INT, 0, 5, WORLD, IGNORED);
	}
}

/* Rank 0 may be helped by rank 2. */
static void any(void)
{
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, WORLD, IGNORED);
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 4, WORLD, IGNORED);
	compute(NULL);
}

/* Rank 2 has not come to the barrier, and nobody knows what it has left undone. */
static void computes(void)
{
	if (rank == 2)
		compute(NULL);
	behind();
}

/* Another thread of rank 0 may send. */
static void helped(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, compute, NULL);
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 4, WORLD, IGNORED);
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 5, WORLD, IGNORED);
	passed++;
}

/* The same; but its thread is in code that no file describes. */
static void hidden(void)
{
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub $8,%rsp; mov %rdi,%rbx; 1: call *%rbx; jmp 1b */
	static const char code[] =
		"\x55\x48\x89\xe5\x53\x48\x83\xec\x08\x48\x89\xfb\xff\xd3\xeb\xfc";
	union {
		void *page;
		void *(*run)(void *);
	} made;
	pthread_t thread;

	made.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(made.page, code, sizeof(code));
	pthread_create(&thread, NULL, made.run, (void *)pause);
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 4, WORLD, IGNORED);
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 5, WORLD, IGNORED);
	passed++;
}

/* Ranks of another communicator. */
static void another(void)
{
	MPI_Comm comm;

	MPI_Comm_split(WORLD, 0, -rank, &comm);
	if (rank == 0)
		MPI_Recv(&value, 1, MPI_INT, 1, 4, comm, IGNORED); /* line: zero */
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 5, comm, IGNORED); /* line: one */
	passed++;
}

/* More than one would wait for: it may be on its way. */
static void large(void)
{
	static double numbers[1 << 20];
	MPI_Datatype type;

	MPI_Type_contiguous(1 << 20, MPI_DOUBLE, &type);
	MPI_Type_commit(&type);
	if (rank == 0)
		MPI_Recv(numbers, 1, type, 1, 4, WORLD, IGNORED);
	if (rank == 1)
		MPI_Recv(numbers, 1, type, 0, 5, WORLD, IGNORED);
	passed++;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"ring", ring},           {"sends", sends},     {"behind", behind},
		    {"ping-pong", ping_pong}, {"any", any},         {"computes", computes},
		    {"helped", helped},       {"another", another}, {"large", large},
		    {"hidden", hidden}};
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(WORLD, &rank);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc > 1 && strcmp(argv[1], ways[i].name) == 0) {
			puts("begins");
			fflush(stdout);
			ways[i].run();
			passed++;
		}
	}
	MPI_Barrier(WORLD); /* line: meet */
	MPI_Finalize();
	return 0;
}
