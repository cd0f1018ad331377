/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that allocate by operator new in all its forms and by the rarer functions of the malloc
 * family, up to sizes that are mapped, and delete what the others made. What they ask for is
 * the same in every run; they print a hash of the addresses that they were given.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <thread>
#include <vector>

static const int threads = 4, turns = 20, handed = 60;
static pthread_barrier_t turn;

struct alignas(128) Wide {
	char bytes[256];
};

struct Worker {
	uint64_t random, hash = 1;
	void *block[handed];
	int kind[handed];
};

static Worker workers[threads];

static uint64_t draw(Worker &w)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return w.random >> 5;
}

static void *make(Worker &w, int kind)
{
	size_t n = draw(w) % 30 == 0 ? draw(w) % 3000000 : draw(w) % 500;
	void *p;

	switch (kind) {
	case 0:
		return ::operator new(n);
	case 1:
		return new char[n + 1];
	case 2:
		return new Wide;
	case 3:
		return ::operator new(n, std::nothrow);
	case 4:
		return ::operator new(n, std::align_val_t(256));
	case 5:
		return memalign(512, n);
	case 6:
		return valloc(n);
	case 7:
		return reallocarray(malloc(10), n / 8 + 1, 8);
	default:
		p = malloc(n + 1);
		return realloc(p, 2 * n + 1);
	}
}

static void unmake(void *p, int kind)
{
	switch (kind) {
	case 0:
	case 3:
		::operator delete(p);
		break;
	case 1:
		delete[] static_cast<char *>(p);
		break;
	case 2:
		delete static_cast<Wide *>(p);
		break;
	case 4:
		::operator delete(p, std::align_val_t(256));
		break;
	default:
		free(p);
	}
}

static void work(int me)
{
	Worker &w = workers[me];
	std::vector<uint64_t> grows;

	w.random = 1000003ull * static_cast<uint64_t>(me + 1);
	for (int k = 0; k < turns; k++) {
		for (int i = 0; i < handed; i++) {
			w.kind[i] = static_cast<int>(draw(w) % 9);
			w.block[i] = make(w, w.kind[i]);
			w.hash = (w.hash ^ reinterpret_cast<uintptr_t>(w.block[i])) * 0x100000001b3ull;
			grows.push_back(w.hash);
		}
		w.hash ^= reinterpret_cast<uintptr_t>(grows.data());
		pthread_barrier_wait(&turn);
		Worker &other = workers[(me + 1 + k % 3) % threads];
		for (int i = 0; i < handed; i++)
			unmake(other.block[i], other.kind[i]);
		pthread_barrier_wait(&turn);
	}
}

int main()
{
	std::vector<std::thread> all;

	pthread_barrier_init(&turn, nullptr, threads);
	for (int i = 0; i < threads; i++)
		all.emplace_back(work, i);
	for (auto &thread : all)
		thread.join();
	for (auto &w : workers)
		printf("%016llx %p\n", static_cast<unsigned long long>(w.hash), w.block[0]);
	return 0;
}
