/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that have containers of C++. */
#include <mpi.h>

#include <string>
#include <vector>

static std::vector<int> numbers;
static std::string word;

__attribute__((noinline)) static void filled()
{
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 1; i <= 3; i++)
		numbers.push_back(i);
	word = "filled";
	filled();
	MPI_Finalize();
	return numbers.size() != 3;
}
