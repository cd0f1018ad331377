/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 0 reads standard input to its end, by stdio ("fgets", "getchar", "fread") or directly
 * ("read"), sends it on, and the last rank sends it back: what is printed went through MPI.
 */
#include <unistd.h>

#include "outcome.h"

#define MOST (1 << 20)

static char text[MOST];

static int slurp(const char *how)
{
	size_t n = 0;
	ssize_t got;
	int c;

	if (!strcmp(how, "fgets")) {
		while (n + 2 < MOST && fgets(text + n, (int)(MOST - n), stdin))
			n += strlen(text + n);
	} else if (!strcmp(how, "getchar")) {
		while (n < MOST && (c = getchar()) != EOF)
			text[n++] = (char)c;
	} else if (!strcmp(how, "fread")) {
		n = fread(text, 1, MOST, stdin);
	} else {
		while (n < MOST && (got = read(0, text + n, n % 7 + 1)) > 0)
			n += (size_t)got;
	}
	return (int)n;
}

int main(int argc, char **argv)
{
	int me, size, n = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	CHECK(argc > 1);
	if (me == 0)
		n = slurp(argv[1]);
	MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Bcast(text, n, MPI_CHAR, 0, MPI_COMM_WORLD);
	if (me == size - 1 && me != 0)
		MPI_Send(text, n, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
	if (me == 0) {
		MPI_Status status;

		if (size > 1)
			MPI_Recv(text, MOST, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		fwrite(text, 1, (size_t)n, stdout);
		printf("%d bytes\n", n);
	}
	MPI_Finalize();
	return 0;
}
