/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receive benchmark of Annai: each node in turn receives one number from every other, n times
 * over. With the mode "iprobe" a receive is a loop of probes that do not block, and then a receive
 * of what was found.
 *
 * Races: the senders of a turn do not wait for each other nor for the receiver, and nothing but
 * their own turns as receivers orders them: nearly all messages race, until all of a turn but one
 * are in.
 */
#include "nx.h"

#define NUMBER 1

static void receive(int *number)
{
	MPI_Status found;
	int flag = 0;

	if (strcmp(nx_mode, "iprobe")) {
		nx_recv(NUMBER, number, sizeof(*number));
		return;
	}
	while (!flag)
		MPI_Iprobe(MPI_ANY_SOURCE, NUMBER, MPI_COMM_WORLD, &flag, &found);
	MPI_Recv(number, sizeof(*number), MPI_BYTE, found.MPI_SOURCE, NUMBER, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	nx_note(found.MPI_SOURCE);
}

static void solve(int n)
{
	long long sum = 0, all = 0;

	for (int i = 0; i < n; i++)
		for (int node = 0; node < nx_nodes; node++) {
			int number = nx_me * n + i;

			if (node != nx_me) {
				nx_send(NUMBER, &number, sizeof(number), node);
				continue;
			}
			for (int k = 1; k < nx_nodes; k++) {
				receive(&number);
				sum += number;
			}
		}
	MPI_Reduce(&sum, &all, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	/* What every node sent, divided by how often: the same for any number of nodes. */
	if (nx_nodes > 1) {
		long long numbers = (long long)nx_nodes * n;
		long long expected = numbers * (numbers - 1) / 2 * (nx_nodes - 1);

		if (nx_me == 0 && all != expected)
			nx_fail("a message was lost or came twice");
	}
	if (nx_me == 0)
		nx_result("receive %d: all numbers came", n);
}

static const struct nx_program nx_program = {500, solve};
