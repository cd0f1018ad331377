/* SPDX-License-Identifier: Apache-2.0 */
/* Objects, strings and threads of C++, ordered by a mutex; with an argument, one variable is not.
 */
#include <atomic>
#include <iostream>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>
int racy;
static std::mutex mutex;
static std::queue<std::string> queue;
static std::atomic<int> calls;
struct base {
	virtual ~base()
	{
	}
	virtual int call() = 0;
};
struct derived : base {
	int call() override
	{
		return 2;
	}
};
static std::string &made_once()
{
	static std::string s(64, 'x');
	return s;
}
int main(int argc, char **)
{
	// Copied before there are threads: who counts a copy after a thread has ended comes after that thread.
	std::vector<std::shared_ptr<base>> object(3, std::make_shared<derived>());
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&object, argc, i] {
			if (argc > 1)
				racy++;
			for (int k = 0; k < 50; k++) {
				std::string s = made_once() + std::to_string(k);
				std::lock_guard<std::mutex> lock(mutex);
				queue.push(s);
				if (k % 2)
					queue.pop();
				calls += object[i]->call();
			}
			object[i].reset();
		});
	for (auto &t : threads)
		t.join();
	std::cout << queue.size() << " " << calls << "\n";
}
