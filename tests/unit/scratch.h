/* SPDX-License-Identifier: Apache-2.0 */
/* What the unit tests share: an empty directory per test, and random numbers that repeat. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scratch {
	char path[64];
	int fd;
};

static inline int scratch_setup(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	snprintf(s->path, sizeof(s->path), "/tmp/reprise-unit-XXXXXX");
	if (!mkdtemp(s->path))
		return -1;
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = s;
	return s->fd < 0 ? -1 : 0;
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static inline int scratch_teardown(void **state)
{
	struct scratch *s = *state;
	int rc = nftw(s->path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);

	close(s->fd);
	free(s);
	return rc;
}

#define scratch_test(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Small values often, every size of value sometimes. */
static inline uint64_t random_value(uint64_t *state)
{
	uint64_t x = random_next(state);

	return random_next(state) >> (x % 64);
}

#endif
