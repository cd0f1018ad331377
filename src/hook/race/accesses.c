/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gcc and clang have a program call when it is compiled with -fsanitize=thread: each access
 * before it is made. Both sets of names are here.
 */
#include "hook/race/runtime.h"

#define SITE __builtin_return_address(0)

/*
 * Made by clang for link-time optimisation, what is quick gets in line. The rest is a call that
 * changes no general register, so that the program need not save what it has in them. Vectors it
 * has to save: who is called would keep the lower half of those of AVX only (preserve_all).
 */
#ifdef RUNTIME_IN_LINE
#define QUICK RUNTIME_EXPORT __attribute__((always_inline))
#define REST __attribute__((preserve_most, noinline))
#else
#define QUICK RUNTIME_EXPORT
#define REST __attribute__((noinline))
#endif

/* What looks for its caller must not be in line there. */
#define CALLED RUNTIME_EXPORT __attribute__((noinline))

/* Its caller's caller is where the access is, or it is in line there. */
#define UNKNOWN(n)                                                                                 \
	static REST void unknown_read##n(void *p)                                                  \
	{                                                                                          \
		race_touch(runtime_self, (uintptr_t)p, n, false, SITE);                            \
	}                                                                                          \
	static REST void unknown_write##n(void *p)                                                 \
	{                                                                                          \
		race_touch(runtime_self, (uintptr_t)p, n, true, SITE);                             \
	}

UNKNOWN(1)
UNKNOWN(2)
UNKNOWN(4)
UNKNOWN(8)
UNKNOWN(16)

#define SIZED(name, n, kind, writes)                                                               \
	QUICK void __tsan_##name##n(void *p);                                                      \
	void __tsan_##name##n(void *p)                                                             \
	{                                                                                          \
		if (!race_note(runtime_self, (uintptr_t)p, n, writes))                             \
			unknown_##kind##n(p);                                                      \
	}

#define SIZES(n)                                                                                   \
	SIZED(read, n, read, false)                                                                \
	SIZED(write, n, write, true)                                                               \
	SIZED(volatile_read, n, read, false)                                                       \
	SIZED(volatile_write, n, write, true)

SIZES(1)
SIZES(2)
SIZES(4)
SIZES(8)

#define SIXTEEN(name, kind, writes)                                                                \
	QUICK void __tsan_##name##16(void *p);                                                     \
	void __tsan_##name##16(void *p)                                                            \
	{                                                                                          \
		if (!race_note16(runtime_self, (uintptr_t)p, writes))                              \
			unknown_##kind##16(p);                                                     \
	}

SIXTEEN(read, read, false)
SIXTEEN(write, write, true)
SIXTEEN(volatile_read, read, false)
SIXTEEN(volatile_write, write, true)

/* Of any alignment. */
#define UNALIGNED(name, n, writes)                                                                 \
	CALLED void __tsan_##name##n(void *p);                                                     \
	void __tsan_##name##n(void *p)                                                             \
	{                                                                                          \
		race_touch(runtime_self, (uintptr_t)p, n, writes, SITE);                           \
	}

UNALIGNED(unaligned_read, 2, false)
UNALIGNED(unaligned_read, 4, false)
UNALIGNED(unaligned_read, 8, false)
UNALIGNED(unaligned_read, 16, false)
UNALIGNED(unaligned_write, 2, true)
UNALIGNED(unaligned_write, 4, true)
UNALIGNED(unaligned_write, 8, true)
UNALIGNED(unaligned_write, 16, true)
UNALIGNED(unaligned_volatile_read, 2, false)
UNALIGNED(unaligned_volatile_read, 4, false)
UNALIGNED(unaligned_volatile_read, 8, false)
UNALIGNED(unaligned_volatile_read, 16, false)
UNALIGNED(unaligned_volatile_write, 2, true)
UNALIGNED(unaligned_volatile_write, 4, true)
UNALIGNED(unaligned_volatile_write, 8, true)
UNALIGNED(unaligned_volatile_write, 16, true)

CALLED void __tsan_read_range(void *p, unsigned long n);
CALLED void __tsan_write_range(void *p, unsigned long n);

void __tsan_read_range(void *p, unsigned long n)
{
	runtime_range(p, n, false, SITE);
}

void __tsan_write_range(void *p, unsigned long n)
{
	runtime_range(p, n, true, SITE);
}

CALLED void __tsan_vptr_update(void **p, void *value);
CALLED void __tsan_vptr_read(void **p);

/* A destructor sets its own table, mostly the one that is there: that is no write for others. */
void __tsan_vptr_update(void **p, void *value)
{
	race_access(runtime_self, (uintptr_t)p, 8, *p != value, SITE);
}

void __tsan_vptr_read(void **p)
{
	race_access(runtime_self, (uintptr_t)p, 8, false, SITE);
}

RUNTIME_EXPORT void __tsan_init(void);
RUNTIME_EXPORT void __tsan_func_entry(void *p);
RUNTIME_EXPORT void __tsan_func_exit(void);
RUNTIME_EXPORT void __tsan_ignore_thread_begin(void);
RUNTIME_EXPORT void __tsan_ignore_thread_end(void);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *p)
{
	(void)p;
}

void __tsan_func_exit(void)
{
}

void __tsan_ignore_thread_begin(void)
{
}

void __tsan_ignore_thread_end(void)
{
}
