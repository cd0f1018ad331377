/* SPDX-License-Identifier: Apache-2.0 */
/* A list that grows and is summed up: calls, loops, the heap and a line now and then. */
#include <stdio.h>
#include <stdlib.h>

struct node {
	int value;
	struct node *next;
};

static struct node *head;
static long total;

static void add(int value)
{
	struct node *n = malloc(sizeof(*n));

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

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;

	for (int i = 0; i < rounds; i++) {
		add(i * i % 17);
		total += sum();
		if (i % 5 == 0)
			printf("%d: %ld\n", i, total);
	}
	printf("total %ld\n", total);
	return 0;
}
