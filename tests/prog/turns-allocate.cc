// SPDX-License-Identifier: Apache-2.0
// Threads that allocate all the time, by every function that does, and count in a variable that
// nothing protects: in which order they come there is that of their turns.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <pthread.h>
#include <string>
#include <vector>

enum { THREADS = 3, ROUNDS = 250, KEPT = 8 };

static unsigned long racy_order, racy_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *given[THREADS];

static void note(unsigned long id)
{
	racy_count++;
	racy_order = racy_order * 31 + id;
}

// Of each kind: small and large, that stay where they are and that move.
static void resize(void *(&block)[KEPT], int round)
{
	static const size_t sizes[] = {24, 40, 300, 290, 5000, 2000, 100000, 300000, 90000, 10};
	void *&b = block[round % KEPT];

	b = realloc(b, sizes[round % 10]);
	memset(b, 1, 10);
}

static void *work(void *arg)
{
	unsigned long id = reinterpret_cast<unsigned long>(arg), sum = 0;
	void *block[KEPT] = {};

	for (int round = 0; round < ROUNDS; round++) {
		std::vector<std::string> names;
		void *aligned = nullptr, *zero = calloc(3, 50 + round), *more = memalign(256, 700);

		note(id);
		for (int i = 0; i < 10; i++)
			names.push_back("a name that is not short " + std::to_string(round * i));
		note(id);
		resize(block, round);
		note(id);
		if (posix_memalign(&aligned, 64, 100))
			abort();
		// What another thread made, to be freed or to become another one here.
		pthread_mutex_lock(&lock);
		std::swap(given[id], aligned);
		std::swap(given[(id + 1) % THREADS], more);
		pthread_mutex_unlock(&lock);
		if (more)
			more = realloc(more, 1000);
		free(aligned);
		char *copy = strdup(names.back().c_str());
		// All that may be used of it; and what frees it.
		void *filled = malloc(100 + round);
		memset(filled, 1, malloc_usable_size(filled));
		note(malloc_usable_size(filled));
		filled = realloc(filled, 0);
		for (const auto &n : names)
			sum += n.size();
		note(id);
		free(zero);
		free(more);
		free(copy);
		delete new int(round);
	}
	for (auto b : block)
		free(b);
	return reinterpret_cast<void *>(sum);
}

int main()
{
	pthread_t thread[THREADS];
	unsigned long sum = 0;
	void *part;

	for (unsigned long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], nullptr, work, reinterpret_cast<void *>(i));
	for (auto t : thread) {
		pthread_join(t, &part);
		sum += reinterpret_cast<unsigned long>(part);
	}
	printf("%lx %lu %lu\n", racy_order, racy_count, sum);
	return 0;
}
