/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gcc and clang have a program call when it is compiled with -fsanitize=thread: each access
 * before it is made. Both sets of names are here.
 */
#include "hook/race/runtime.h"

#define SITE __builtin_return_address(0)

#define SIZED(n)                                                                                   \
	RUNTIME_EXPORT void __tsan_read##n(void *p);                                               \
	RUNTIME_EXPORT void __tsan_write##n(void *p);                                              \
	RUNTIME_EXPORT void __tsan_volatile_read##n(void *p);                                      \
	RUNTIME_EXPORT void __tsan_volatile_write##n(void *p);                                     \
	void __tsan_read##n(void *p)                                                               \
	{                                                                                          \
		race_access(runtime_self, (uintptr_t)p, n, false, SITE);                           \
	}                                                                                          \
	void __tsan_write##n(void *p)                                                              \
	{                                                                                          \
		race_access(runtime_self, (uintptr_t)p, n, true, SITE);                            \
	}                                                                                          \
	void __tsan_volatile_read##n(void *p)                                                      \
	{                                                                                          \
		race_access(runtime_self, (uintptr_t)p, n, false, SITE);                           \
	}                                                                                          \
	void __tsan_volatile_write##n(void *p)                                                     \
	{                                                                                          \
		race_access(runtime_self, (uintptr_t)p, n, true, SITE);                            \
	}

SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)

/* Of any alignment, or of 16 bytes. */
#define UNALIGNED(name, n, writes)                                                                 \
	RUNTIME_EXPORT void __tsan_##name##n(void *p);                                             \
	void __tsan_##name##n(void *p)                                                             \
	{                                                                                          \
		race_touch(runtime_self, (uintptr_t)p, n, writes, SITE);                           \
	}

UNALIGNED(volatile_read, 16, false)
UNALIGNED(volatile_write, 16, true)
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

/* Two cells, each of which may be known: the quick way twice. */
static inline void access16(uintptr_t p, bool write, const void *site)
{
	if (p & 7) {
		race_touch(runtime_self, p, 16, write, site);
		return;
	}
	race_access(runtime_self, p, 8, write, site);
	race_access(runtime_self, p + 8, 8, write, site);
}

RUNTIME_EXPORT void __tsan_read16(void *p);
RUNTIME_EXPORT void __tsan_write16(void *p);

void __tsan_read16(void *p)
{
	access16((uintptr_t)p, false, SITE);
}

void __tsan_write16(void *p)
{
	access16((uintptr_t)p, true, SITE);
}

RUNTIME_EXPORT void __tsan_read_range(void *p, unsigned long n);
RUNTIME_EXPORT void __tsan_write_range(void *p, unsigned long n);

void __tsan_read_range(void *p, unsigned long n)
{
	runtime_range(p, n, false, SITE);
}

void __tsan_write_range(void *p, unsigned long n)
{
	runtime_range(p, n, true, SITE);
}

RUNTIME_EXPORT void __tsan_vptr_update(void **p, void *value);
RUNTIME_EXPORT void __tsan_vptr_read(void **p);

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
