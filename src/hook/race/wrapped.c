/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the checked program calls instead of functions of libc and of C++ (race/wrapped.h). Other
 * libraries call these as ever.
 */
#include "race/wrapped.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "hook/race/runtime.h"

#define SITE __builtin_return_address(0)
#define READ(p, n) runtime_range(p, n, false, SITE)
#define WRITE(p, n) runtime_range(p, n, true, SITE)
/* Before a function that has to look at memory to know how much of it: so many accesses follow. */
#define TURN(n) runtime_turn(n)

extern const struct hook_race_table reprise_race;

/* WRAPPED(result, name, parameters): a declaration, and the head of the definition. */
#define WRAPPED(result, name, ...)                                                                 \
	RUNTIME_EXPORT result __wrap_##name(__VA_ARGS__);                                          \
	result __wrap_##name(__VA_ARGS__)

WRAPPED(void *, memcpy, void *to, const void *from, size_t n)
{
	READ(from, n);
	WRITE(to, n);
	return memcpy(to, from, n);
}

WRAPPED(void *, memmove, void *to, const void *from, size_t n)
{
	READ(from, n);
	WRITE(to, n);
	return memmove(to, from, n);
}

WRAPPED(void *, memset, void *to, int c, size_t n)
{
	WRITE(to, n);
	return memset(to, c, n);
}

/* How far it looks is its own business: up to the first that differ, at least. */
WRAPPED(int, memcmp, const void *a, const void *b, size_t n)
{
	const char *x = a, *y = b;
	size_t same = 0;

	TURN(n ? 2 : 0);
	while (same < n && x[same] == y[same])
		same++;
	READ(a, same < n ? same + 1 : n);
	READ(b, same < n ? same + 1 : n);
	return memcmp(a, b, n);
}

WRAPPED(void *, memchr, const void *p, int c, size_t n)
{
	char *found;

	TURN(n ? 1 : 0);
	found = memchr(p, c, n);
	READ(p, found ? (size_t)(found - (const char *)p) + 1 : n);
	return found;
}

WRAPPED(size_t, strlen, const char *s)
{
	size_t n;

	TURN(1);
	n = strlen(s);
	READ(s, n + 1);
	return n;
}

WRAPPED(char *, strcpy, char *to, const char *from)
{
	size_t n;

	TURN(2);
	n = strlen(from) + 1;
	READ(from, n);
	WRITE(to, n);
	return memcpy(to, from, n);
}

WRAPPED(char *, strncpy, char *to, const char *from, size_t n)
{
	size_t length;

	TURN(n ? 2 : 0);
	length = strnlen(from, n);
	READ(from, length < n ? length + 1 : n);
	WRITE(to, n);
	memcpy(to, from, length);
	memset(to + length, 0, n - length);
	return to;
}

WRAPPED(char *, strcat, char *to, const char *from)
{
	size_t has, n;

	TURN(3);
	has = strlen(to);
	n = strlen(from) + 1;
	READ(from, n);
	READ(to, has + 1);
	WRITE(to + has, n);
	memcpy(to + has, from, n);
	return to;
}

static size_t compared(const char *a, const char *b, size_t most)
{
	size_t n = 0;

	while (n < most && a[n] && a[n] == b[n])
		n++;
	return n < most ? n + 1 : n;
}

WRAPPED(int, strcmp, const char *a, const char *b)
{
	size_t n;

	TURN(2);
	n = compared(a, b, SIZE_MAX);
	READ(a, n);
	READ(b, n);
	return strcmp(a, b);
}

WRAPPED(int, strncmp, const char *a, const char *b, size_t most)
{
	size_t n;

	TURN(most ? 2 : 0);
	n = compared(a, b, most);
	READ(a, n);
	READ(b, n);
	return strncmp(a, b, most);
}

WRAPPED(char *, strchr, const char *s, int c)
{
	char *found;

	TURN(1);
	found = strchr(s, c);
	READ(s, found ? (size_t)(found - s) + 1 : strlen(s) + 1);
	return found;
}

WRAPPED(char *, strrchr, const char *s, int c)
{
	TURN(1);
	READ(s, strlen(s) + 1);
	return strrchr(s, c);
}

WRAPPED(void *, malloc, size_t n)
{
	void *p = malloc(n);

	runtime_block(p, n, SITE);
	return p;
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
	void *p = calloc(n, size);

	runtime_block(p, n * size, SITE);
	return p;
}

/* Whoever frees it writes to it: nobody else may use it without an order. */
static void freed(void *p, const void *site)
{
	size_t n = p ? malloc_usable_size(p) : 0;

	if (runtime_early)
		runtime_early_gone(p);
	runtime_range(p, n, true, site);
	race_settle(runtime_self, (uintptr_t)p, n);
}

WRAPPED(void *, realloc, void *p, size_t n)
{
	void *new;

	freed(p, SITE);
	new = realloc(p, n);
	runtime_block(new, n, SITE);
	return new;
}

WRAPPED(void, free, void *p)
{
	freed(p, SITE);
	free(p);
}

WRAPPED(int, posix_memalign, void **out, size_t align, size_t n)
{
	int rc = posix_memalign(out, align, n);

	if (!rc)
		runtime_block(*out, n, SITE);
	return rc;
}

WRAPPED(void *, aligned_alloc, size_t align, size_t n)
{
	void *p = aligned_alloc(align, n);

	runtime_block(p, n, SITE);
	return p;
}

WRAPPED(char *, strdup, const char *s)
{
	char *p;

	TURN(1);
	p = strdup(s);
	READ(s, strlen(s) + 1);
	if (p)
		runtime_block(p, strlen(s) + 1, SITE);
	return p;
}

/* Of C++, whose library is there if the program is one. */
extern void *_Znwm(size_t n) __attribute__((weak));
extern void *_Znam(size_t n) __attribute__((weak));
extern void _ZdlPv(void *p) __attribute__((weak));
extern void _ZdaPv(void *p) __attribute__((weak));
extern void _ZdlPvm(void *p, size_t n) __attribute__((weak));
extern void _ZdaPvm(void *p, size_t n) __attribute__((weak));
extern int __cxa_guard_acquire(uint64_t *guard) __attribute__((weak));
extern void __cxa_guard_release(uint64_t *guard) __attribute__((weak));

WRAPPED(void *, _Znwm, size_t n)
{
	void *p = _Znwm(n);

	runtime_block(p, n, SITE);
	return p;
}

WRAPPED(void *, _Znam, size_t n)
{
	void *p = _Znam(n);

	runtime_block(p, n, SITE);
	return p;
}

WRAPPED(void, _ZdlPv, void *p)
{
	freed(p, SITE);
	_ZdlPv(p);
}

WRAPPED(void, _ZdaPv, void *p)
{
	freed(p, SITE);
	_ZdaPv(p);
}

WRAPPED(void, _ZdlPvm, void *p, size_t n)
{
	freed(p, SITE);
	_ZdlPvm(p, n);
}

WRAPPED(void, _ZdaPvm, void *p, size_t n)
{
	freed(p, SITE);
	_ZdaPvm(p, n);
}

/* Who makes a variable that lives in a function, and who finds it made. */
WRAPPED(int, __cxa_guard_acquire, uint64_t *guard)
{
	int mine = __cxa_guard_acquire(guard);

	if (!mine)
		reprise_race.acquire(guard);
	return mine;
}

WRAPPED(void, __cxa_guard_release, uint64_t *guard)
{
	reprise_race.release(guard);
	__cxa_guard_release(guard);
}

/* Each one in the list is here. */
#define NAMED(name) extern __typeof__(__wrap_##name) __wrap_##name;
RACE_WRAPPED(NAMED)
