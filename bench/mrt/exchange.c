/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message exchange: in each of SIZE steps every node sends a message to every other one, takes
 * those of the others in whatever order they come, and computes a little. n (n - 1) messages a
 * step.
 */
#include "../netzer-miller/nx.h"

#define WORDS 32

static uint64_t word_of(int node, int step, int i)
{
	return ((uint64_t)node << 40 ^ (uint64_t)step << 8 ^ (uint64_t)i) * 0x9e3779b97f4a7c15ull;
}

static void check(const uint64_t *message, int node, int step)
{
	for (int i = 0; i < WORDS; i++)
		if (message[i] != word_of(node, step, i))
			nx_fail("a message is not what was sent");
}

/* Some work, so that a step is not all messages. */
static uint64_t work(uint64_t x)
{
	for (int i = 0; i < 2000 * nx_grain(); i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	return x;
}

static void solve(int steps)
{
	uint64_t message[WORDS], sum = 1;

	for (int step = 0; step < steps; step++) {
		int type = step % 2; /* nobody is more than one step ahead */

		for (int i = 0; i < WORDS; i++)
			message[i] = word_of(nx_me, step, i);
		for (int i = 1; i < nx_nodes; i++)
			nx_send(type, message, sizeof(message), (nx_me + i) % nx_nodes);
		for (int i = 1; i < nx_nodes; i++)
			check(message, nx_recv(type, message, sizeof(message)), step);
		sum = work(sum);
	}
	nx_result("steps %d, %016llx", steps, (unsigned long long)sum);
}

static const struct nx_program nx_program = {1000, solve};
