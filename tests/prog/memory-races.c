/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four threads race for a counter, a text, a list and a flag, by plain and by atomic accesses, and
 * lose updates. What each finds decides what it does next. Prints what all of it came to. With
 * "copy", three threads of which the second copies what the third writes to where the first wrote.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4

struct node {
	struct node *next;
	unsigned long value;
};

unsigned long counter, seen[THREADS];
char text[THREADS + 1][16];
struct node *head;
atomic_uint ticket;
volatile unsigned turn;
static int rounds;

static void push(unsigned long value)
{
	struct node *n = malloc(sizeof(*n));

	n->value = value;
	n->next = head;
	if (value % 3 == 0)
		sched_yield();
	head = n;
}

/* The text grows and shrinks; its last byte is always 0. */
static unsigned long scribble(unsigned me, unsigned long x)
{
	size_t n = strlen(text[x % THREADS]);

	if (n + 1 < sizeof(text[0]) && x % 5)
		text[x % THREADS][n] = (char)('a' + me);
	else
		memset(text[x % THREADS], 0, sizeof(text[0]));
	if (x % 7 == 0)
		memcpy(text[me], text[(me + 1) % THREADS], sizeof(text[0]) - 1);
	return n;
}

static void *work(void *arg)
{
	unsigned me = (unsigned)(long)arg;
	unsigned long x = me;

	for (int i = 0; i < rounds; i++) {
		unsigned long now = counter;

		if ((now ^ x) % 4 == 0)
			sched_yield();
		counter = now + 1;
		x = x * 31 + now;
		x += scribble(me, x >> 8);
		if (x % 16 == 1)
			push(x);
		x += atomic_fetch_add(&ticket, (unsigned)x & 3);
	}
	/* One after the other, by looking: every second one does nothing else. */
	while (turn != me)
		if (me & 1)
			sched_yield();
	turn = me + 1;
	seen[me] = x;
	return NULL;
}

struct {
	long word[4];
} from = {{1, 2, 3, 4}}, to;

volatile long delay[64];

static void *write_late(void *arg)
{
	for (long i = 0; i < 300000; i++)
		delay[i % 64] += i;
	to.word[1] = 7;
	return arg;
}

static void *copy(void *arg)
{
	memcpy(&to, &from, sizeof(to));
	return arg;
}

static void *write_other(void *arg)
{
	from.word[2] = 9;
	return arg;
}

static int race_copy(void)
{
	void *(*const works[])(void *) = {write_late, copy, write_other};
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, works[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld %ld %ld\n", to.word[0], to.word[1], to.word[2], to.word[3]);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	unsigned long sum = 0, length = 0;

	if (argc > 1 && !strcmp(argv[1], "copy"))
		return race_copy();
	rounds = argc > 1 ? atoi(argv[1]) : 300;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (struct node *n = head; n; n = n->next, length++)
		sum = sum * 7 + n->value;
	printf("counter %lu, list %lu of %lu, tickets %u\n", counter, sum, length, ticket);
	for (int i = 0; i < THREADS; i++)
		printf("%lu %s\n", seen[i], text[i]);
	return 0;
}
