// SPDX-License-Identifier: Apache-2.0
// Threads that come at once to static variables of functions, which ask for the environment and have destructors:
// who initialises them is chance, and what is locked afterwards is in the recorded order.
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t line;
static unsigned long order;

struct setting {
	const char *value;

	setting() : value(getenv("HOME"))
	{
		for (volatile int i = 0; i < 2000; i = i + 1)
			;
	}
	~setting()
	{
		value = nullptr;
	}
};

template <int N> static void use(unsigned long id)
{
	static setting first;

	pthread_mutex_lock(&lock);
	order = order * 31 + id + (first.value == nullptr);
	pthread_mutex_unlock(&lock);
	if constexpr (N % 4 == 0)
		pthread_barrier_wait(&line);
	if constexpr (N > 0)
		use<N - 1>(id);
}

static void *work(void *arg)
{
	pthread_barrier_wait(&line);
	use<100>(reinterpret_cast<unsigned long>(arg));
	return nullptr;
}

int main()
{
	pthread_t thread[4];

	pthread_barrier_init(&line, nullptr, 4);
	for (unsigned long i = 0; i < 4; i++)
		pthread_create(&thread[i], nullptr, work, reinterpret_cast<void *>(i));
	for (auto t : thread)
		pthread_join(t, nullptr);
	printf("%lx\n", order);
	return 0;
}
