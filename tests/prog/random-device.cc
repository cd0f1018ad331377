/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C++ program that seeds itself from std::random_device and the chrono clocks, shuffles, and
 * receives from anyone.
 */
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <numeric>
#include <random>
#include <vector>

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);

	std::random_device device;
	std::random_device urandom("/dev/urandom");
	std::mt19937 generator(device() ^ urandom());
	std::vector<int> values(8);
	std::iota(values.begin(), values.end(), 0);
	std::shuffle(values.begin(), values.end(), generator);

	if (rank != 0) {
		MPI_Send(values.data(), 8, MPI_INT, 0, 1, MPI_COMM_WORLD);
	} else {
		std::cout << std::chrono::steady_clock::now().time_since_epoch().count() << '\n'
			  << std::chrono::system_clock::now().time_since_epoch().count() << '\n';
		for (int i = 1; i < size; i++) {
			MPI_Status status;

			MPI_Recv(values.data(), 8, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				 &status);
			std::cout << status.MPI_SOURCE << ':';
			for (int value : values)
				std::cout << ' ' << value;
			std::cout << '\n';
		}
	}
	MPI_Finalize();
	return 0;
}
