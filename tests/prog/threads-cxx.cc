/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ threads with every kind of lock of the standard library, a named semaphore, a robust mutex whose
 * owner dies, std::async and a fork in the middle. What is printed depends on their order.
 */
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <future>
#include <iostream>
#include <mutex>
#include <semaphore.h>
#include <shared_mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::mutex lock;
static std::recursive_mutex recursive;
static std::timed_mutex timed;
static std::shared_mutex shared;
static std::condition_variable filled;
static std::once_flag first;
static pthread_mutex_t robust;
static sem_t *named;
static std::deque<int> queue;
static unsigned long hash;

static void mix(int value)
{
	std::lock_guard<std::mutex> guard(lock);

	hash = hash * 31 + static_cast<unsigned long>(value);
}

static void use_robust(int me)
{
	if (pthread_mutex_lock(&robust) == EOWNERDEAD) {
		pthread_mutex_consistent(&robust);
		std::cout << me << " finds that the owner is dead\n";
	}
	mix(me + 50);
}

static void use_queue(int me)
{
	std::unique_lock<std::mutex> guard(lock);

	queue.push_back(me);
	filled.notify_one();
	if (filled.wait_for(guard, std::chrono::microseconds(50), [] { return queue.size() > 2; })) {
		hash = hash * 31 + static_cast<unsigned long>(queue.front());
		queue.pop_front();
	}
}

static void fork_here()
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	waitpid(child, nullptr, 0);
}

static void work(int me)
{
	for (int i = 0; i < 200; i++) {
		use_queue(me);
		{
			std::lock_guard<std::recursive_mutex> outer(recursive), inner(recursive);
			mix(me + 10);
		}
		{
			std::shared_lock<std::shared_mutex> guard(shared);
		}
		{
			std::unique_lock<std::shared_mutex> guard(shared);
			mix(me + 20);
		}
		if (timed.try_lock_for(std::chrono::microseconds(20))) {
			mix(me + 30);
			timed.unlock();
		}
		std::call_once(first, [me] { std::cout << "once by " << me << "\n"; });
		sem_wait(named);
		mix(me + 40);
		sem_post(named);
		use_robust(me);
		if (me == 2 && i == 100)
			return; /* with the robust mutex */
		pthread_mutex_unlock(&robust);
		if (i % 50 == 0)
			std::cout << me << " at " << i << std::endl;
		if (me == 1 && i == 150)
			fork_here();
	}
}

int main()
{
	std::string name = "/reprise-test-" + std::to_string(getpid());
	std::vector<std::thread> threads;
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	named = sem_open(name.c_str(), O_CREAT, 0600, 1);
	if (named == SEM_FAILED)
		return 2;
	sem_unlink(name.c_str());
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work, i);
	auto future = std::async(std::launch::async, [] {
		mix(7);
		return 1;
	});
	std::cout << "future " << future.get() << "\n";
	for (auto &thread : threads)
		thread.join();
	std::cout << hash << "\n";
	return 0;
}
