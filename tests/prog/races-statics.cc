// SPDX-License-Identifier: Apache-2.0
// Variables that functions make once, by whichever thread comes first, and that others find made:
// in a template, in one that throws at first, in a recursion. With an argument, threads count in
// one of them.
#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <string>

enum { THREADS = 4 };

static pthread_barrier_t line;

struct made {
	std::string text;
	long racy_count = 0;

	explicit made(int n) : text("what number " + std::to_string(n) + " has made")
	{
		for (volatile int i = 0; i < 3000; i = i + 1)
			;
	}
};

template <int N> static made &the()
{
	static made one(N);

	return one;
}

static made *attempt(bool fails)
{
	static made *one = fails ? throw std::runtime_error("not yet") : new made(100);

	return one;
}

template <int N> static size_t use()
{
	size_t sum = the<N>().text.size();

	if constexpr (N % 8 == 0)
		pthread_barrier_wait(&line);
	if constexpr (N > 0)
		sum += use<N - 1>();
	return sum;
}

static bool racy;

static void *work(void *arg)
{
	size_t sum = use<40>();

	(void)arg;
	sum += attempt(false)->text.size();
	// Again, when all are made.
	pthread_barrier_wait(&line);
	sum += use<40>();
	if (racy)
		the<3>().racy_count++;
	return reinterpret_cast<void *>(sum);
}

int main(int argc, char **)
{
	pthread_t thread[THREADS];
	size_t sum = 0;
	void *part;

	racy = argc > 1;
	pthread_barrier_init(&line, nullptr, THREADS);
	// Here alone: who of several threads makes it is not recorded, and so not who fails.
	try {
		attempt(true);
		return 2;
	} catch (const std::exception &) {
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], nullptr, work, reinterpret_cast<void *>(i));
	for (auto t : thread) {
		pthread_join(t, &part);
		sum += reinterpret_cast<size_t>(part);
	}
	delete attempt(false);
	printf("%zu\n", sum);
	return 0;
}
