/* SPDX-License-Identifier: Apache-2.0 */
/* What clang has a checked twin call, doing nothing: it is linked in place of the detector. */
#define EMPTY(name)                                                                                \
	void __tsan_##name(void *p);                                                               \
	void __tsan_##name(void *p)                                                                \
	{                                                                                          \
		(void)p;                                                                           \
	}
#define SIZES(name) EMPTY(name##1) EMPTY(name##2) EMPTY(name##4) EMPTY(name##8) EMPTY(name##16)

SIZES(read)
SIZES(write)
SIZES(unaligned_read)
SIZES(unaligned_write)
EMPTY(func_entry)

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_init(void);
void __tsan_init(void)
{
}

/* The programs count their operations by this one. */
long __tsan_atomic64_fetch_add(volatile long *p, long v, int order);
long __tsan_atomic64_fetch_add(volatile long *p, long v, int order)
{
	(void)order;
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}

long __tsan_atomic64_load(const volatile long *p, int order);
long __tsan_atomic64_load(const volatile long *p, int order)
{
	(void)order;
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
