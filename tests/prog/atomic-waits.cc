// SPDX-License-Identifier: Apache-2.0
// What C++20 makes of atomic operations and the futex system call: atomic::wait, semaphores, latches and barriers;
// counted references, and variables that are made once. The output is a digest of who came when.
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

constexpr int threads = 4;
constexpr int rounds = 20;

static std::atomic<int> turn{0};
static std::counting_semaphore<2> seats{2};
static std::binary_semaphore door{1};
static std::latch start{threads};
static std::atomic<std::uint64_t> order{1}, holders{1};
static std::uint64_t behind_door = 1;

static std::uint64_t mix(std::uint64_t digest, std::uint64_t v)
{
	return (digest ^ v) * 0x9e3779b97f4a7c15ull;
}

static void mix_in(std::atomic<std::uint64_t> &digest, std::uint64_t v)
{
	std::uint64_t was = digest.load(std::memory_order_relaxed);

	while (!digest.compare_exchange_weak(was, mix(was, v)))
		;
}

// It takes so long that other threads come and wait.
static int make()
{
	volatile int turns = 0;

	while (turns < 3000000)
		turns = turns + 1;
	return std::rand() * 0 + 3;
}

static int made_once()
{
	static const int made = make();

	return made;
}

int main()
{
	std::barrier meeting(threads);
	auto shared = std::make_shared<int>(7);
	std::vector<std::thread> all;

	for (int me = 0; me < threads; me++)
		all.emplace_back([&, me] {
			std::shared_ptr<int> own = shared;

			start.arrive_and_wait();
			mix_in(order, static_cast<std::uint64_t>(made_once()));
			for (int i = 0; i < rounds; i++) {
				mix_in(order, static_cast<std::uint64_t>(me));
				seats.acquire();
				mix_in(holders, static_cast<std::uint64_t>(me));
				seats.release();
				door.acquire();
				behind_door = mix(behind_door, static_cast<std::uint64_t>(me));
				door.release();
				std::shared_ptr<int> copy = own;
				mix_in(order, static_cast<std::uint64_t>(copy.use_count()));
				if (i % 10 == 0)
					meeting.arrive_and_wait();
			}
			for (int seen = turn; seen != me; seen = turn)
				turn.wait(seen);
			turn = me + 1;
			turn.notify_all();
		});
	for (auto &t : all)
		t.join();
	std::printf("%016llx %016llx %016llx\n", (unsigned long long)order.load(),
		    (unsigned long long)holders.load(), (unsigned long long)behind_door);
}
