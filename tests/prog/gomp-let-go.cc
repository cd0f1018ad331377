/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fopenmp */
/*
 * Threads of inner regions end with them, and then destroy what is theirs: that is the program's
 * code, and it prints and locks.
 */
#include <omp.h>

#include <cstdio>
#include <mutex>

static std::mutex lock;
static unsigned long hash;

struct Own {
	int id = 0;

	~Own()
	{
		std::lock_guard<std::mutex> guard(lock);
		hash = hash * 31 + static_cast<unsigned long>(id);
		std::printf("%d ends: %lx\n", id, hash);
	}
};

static thread_local Own own;

int main()
{
	omp_set_max_active_levels(2);
	for (int round = 0; round < 10; round++) {
#pragma omp parallel num_threads(2)
		{
			int outer = omp_get_thread_num();

#pragma omp parallel num_threads(3)
			{
				own.id = 100 * round + 10 * outer + omp_get_thread_num();
#pragma omp task
				own.id += 1000;
			}
		}
	}
	return 0;
}
