/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations that order nothing: a counter, counted references, a fence under a lock. */
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
static std::atomic<long> steps;
static std::mutex lock;
static std::shared_ptr<int> shared = std::make_shared<int>(7);
static void body(long n)
{
	for (long i = 0; i < n; i++) {
		std::shared_ptr<int> mine = shared;
		std::lock_guard<std::mutex> held(lock);
		steps += *mine;
		std::atomic_thread_fence(std::memory_order_seq_cst);
	}
}
int main(int argc, char **)
{
	std::vector<std::thread> threads;
	for (int i = 0; i < argc * 3; i++)
		threads.emplace_back(body, 100);
	for (auto &t : threads)
		t.join();
	return steps.load() == argc * 3 * 100 * 7 ? 0 : 1;
}
