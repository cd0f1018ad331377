/* SPDX-License-Identifier: Apache-2.0 */
/* A list, whose functions a compiler puts into main. Until it prints nobody else is called. */
#include <stdio.h>

struct node {
	int value;
	struct node *next;
};

static struct node *head, nodes[100];
static long total;
static int used;

static void add(int value)
{
	struct node *n = &nodes[used++];

	n->value = value;
	n->next = head;
	head = n;
}

static long sum(void)
{
	long s = 0;

	for (struct node *n = head; n; n = n->next)
		s += n->value;
	return s;
}

static __attribute__((noinline)) long twice(long x)
{
	if (x & 1)
		return 2 * x;
	return x + x + 1;
}

int main(int argc, char **argv)
{
	int rounds = 7 + argc;

	(void)argv;
	for (int i = 0; i < rounds; i++) {
		add(i * i % 17);
		total += sum();
		if (i % 5 == 0)
			total = twice(total);
	}
	printf("total %ld\n", total);
	return 0;
}
