/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads share a block whose owners are counted by atomic operations; whoever is the last frees
 * it. libstdc++ does that in another way where it is compiled for a sanitizer. The result is 0.
 */
#include <memory>
#include <thread>
#include <vector>

int main()
{
	int bad[4] = {};

	for (int round = 0; round < 5; round++) {
		auto shared = std::make_shared<std::vector<int>>(10, 1);
		std::vector<std::thread> threads;

		for (int i = 0; i < 4; i++) {
			threads.emplace_back([shared, i, &bad] {
				for (int x : *shared)
					bad[i] += x - 1;
			});
		}
		shared.reset();
		for (auto &thread : threads)
			thread.join();
	}
	return bad[0] + bad[1] + bad[2] + bad[3];
}
