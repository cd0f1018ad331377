/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions are those of the C++ library, which may have been loaded later than our library,
 * and not for everybody. If it is in the program itself and cannot be found, the functions here do
 * it.
 */
#include "hook/thread/call/statics.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "hook/common/hook.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

int __cxa_guard_acquire(uint8_t *guard);
void __cxa_guard_release(uint8_t *guard);
void __cxa_guard_abort(uint8_t *guard);

__thread unsigned int hook_statics;

static pthread_mutex_t ours = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* None of the program's. */
static void with_lock(int (*act)(pthread_mutex_t *))
{
	int depth = hook_depth;

	hook_depth = HOOK_CLOSED;
	act(&ours);
	hook_depth = depth;
}

static int acquire(uint8_t *guard)
{
	with_lock(pthread_mutex_lock);
	if (!__atomic_load_n(guard, __ATOMIC_ACQUIRE))
		return 1;
	with_lock(pthread_mutex_unlock);
	return 0;
}

static void release(uint8_t *guard)
{
	__atomic_store_n(guard, 1, __ATOMIC_RELEASE);
	with_lock(pthread_mutex_unlock);
}

static void give_up(uint8_t *guard)
{
	(void)guard;
	with_lock(pthread_mutex_unlock);
}

static struct {
	__typeof__(acquire) *acquire;
	__typeof__(release) *release, *give_up;
} real;

static bool find_in(void *library)
{
	__typeof__(acquire) *a = (__typeof__(acquire) *)dlsym(library, "__cxa_guard_acquire");
	__typeof__(release) *r = (__typeof__(release) *)dlsym(library, "__cxa_guard_release");
	__typeof__(release) *g = (__typeof__(release) *)dlsym(library, "__cxa_guard_abort");

	if (!a || !r || !g)
		return false;
	real.release = r;
	real.give_up = g;
	__atomic_store_n(&real.acquire, a, __ATOMIC_RELEASE);
	return true;
}

static void find(void)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
	void *library;

	if (find_in(RTLD_NEXT))
		return;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		if (library && find_in(library))
			return;
	}
	real.release = release;
	real.give_up = give_up;
	__atomic_store_n(&real.acquire, acquire, __ATOMIC_RELEASE);
}

/*
 * How these wait for and wake other threads is their own affair, unless threads take turns: in
 * replay it may be another thread that does so.
 */
static void hide(int depth)
{
	if (!depth && !hook_baton_on)
		hook_depth = 1;
}

static void made(uint8_t *guard, __typeof__(release) *how)
{
	int depth = hook_depth;

	hook_statics -= hook_statics > 0;
	hook_race_guard_makes(guard);
	hide(depth);
	how(guard);
	hook_depth = depth;
}

HOOK_EXPORT int __cxa_guard_acquire(uint8_t *guard)
{
	int depth = hook_depth, makes;

	if (!__atomic_load_n(&real.acquire, __ATOMIC_ACQUIRE)) {
		hook_depth = HOOK_CLOSED;
		find();
		hook_depth = depth;
	}
	hook_race_guard(guard);
	hide(depth);
	makes = real.acquire(guard);
	hook_depth = depth;
	/* Who makes it may have waited for another who gave it up. */
	hook_race_guard_made(guard);
	hook_statics += makes != 0;
	return makes;
}

HOOK_EXPORT void __cxa_guard_release(uint8_t *guard)
{
	made(guard, real.release);
}

HOOK_EXPORT void __cxa_guard_abort(uint8_t *guard)
{
	made(guard, real.give_up);
}
