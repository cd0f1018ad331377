/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers that libc draws from a state of the process, which a lock of its own protects:
 * which thread gets which number is the order of these calls. Costs nothing with one thread.
 */
#include <stdlib.h>

#include "hook/thread/stdio-wrap.h"

/* clang-format off */
#define REALS(X) \
	X(random) X(srandom) X(initstate) X(setstate) X(rand) X(srand) \
	X(drand48) X(lrand48) X(mrand48) X(srand48) X(seed48) X(lcong48)
/* clang-format on */

static struct {
	REALS(FIELD)
} real;

static void resolve(void)
{
	REALS(RESOLVE)
}

static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER;

#define DRAW(type, name, parameters, arguments)                                                    \
	HOOK_EXPORT type name parameters                                                           \
	{                                                                                          \
		USE(&drawing, SYNC_RANDOM);                                                        \
		return REAL(name) arguments;                                                       \
	}

DRAW(long, random, (void), ())
DRAW(void, srandom, (unsigned int seed), (seed))
DRAW(char *, initstate, (unsigned int seed, char *state, size_t n), (seed, state, n))
DRAW(char *, setstate, (char *state), (state))
DRAW(int, rand, (void), ())
DRAW(void, srand, (unsigned int seed), (seed))
DRAW(double, drand48, (void), ())
DRAW(long, lrand48, (void), ())
DRAW(long, mrand48, (void), ())
DRAW(void, srand48, (long seed), (seed))
DRAW(unsigned short *, seed48, (unsigned short seed[3]), (seed))
DRAW(void, lcong48, (unsigned short parameters[7]), (parameters))
