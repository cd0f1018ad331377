/* SPDX-License-Identifier: Apache-2.0 */
/* A list of fruit, one of which is dropped while somebody still points to it: dies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	char name[48];
	volatile int uses;
	struct item *next;
};

static struct item *items;
static struct item *favourite;

static struct item *make(const char *name)
{
	struct item *i = malloc(sizeof(*i));

	strcpy(i->name, name);
	i->uses = 1;
	i->next = items;
	items = i;
	return i;
}

static void drop(const char *name)
{
	for (struct item **p = &items; *p; p = &(*p)->next) {
		if (strcmp((*p)->name, name) == 0) {
			struct item *gone = *p;

			*p = gone->next;
			gone->uses = -1;
			free(gone);
			return;
		}
	}
}

static void pick(const struct item *i)
{
	volatile int *nowhere = NULL;

	if (i->uses < 0)
		*nowhere = i->uses;
	printf("%s\n", i->name);
}

int main(void)
{
	make("pear");
	favourite = make("plum");
	make("fig");
	pick(favourite);
	drop("plum");
	pick(favourite);
	return 0;
}
