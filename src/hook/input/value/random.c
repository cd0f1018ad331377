/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers from libc and from libstdc++ (whose random_device may ask the processor and no
 * library at all). Where the real function cannot be found, the kernel's random bytes stand in:
 * they are as good.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/input/value/input.h"

static ssize_t fetch_random(void *ctx, void *buffer, size_t size)
{
	ssize_t n = REAL(getrandom)(buffer, size, *(unsigned int *)ctx);

	return n < 0 ? -errno : n;
}

HOOK_EXPORT ssize_t getrandom(void *buffer, size_t size, unsigned int flags)
{
	if (hook_depth)
		return REAL(getrandom)(buffer, size, flags);
	return hook_input_bytes(TRACE_IN_RANDOM, "getrandom", fetch_random, &flags, buffer, size);
}

static ssize_t fetch_entropy(void *ctx, void *buffer, size_t size)
{
	(void)ctx;
	return REAL(getentropy)(buffer, size) == 0 ? (ssize_t)size : -errno;
}

HOOK_EXPORT int getentropy(void *buffer, size_t size)
{
	if (hook_depth)
		return REAL(getentropy)(buffer, size);
	return hook_input_bytes(TRACE_IN_RANDOM, "getentropy", fetch_entropy, NULL, buffer, size) <
			       0
		       ? -1
		       : 0;
}

static void fill(void *buffer, size_t size)
{
	while (size) {
		ssize_t n = REAL(getrandom)(buffer, size, 0);

		if (n < 0)
			continue;
		buffer = (char *)buffer + n;
		size -= (size_t)n;
	}
}

static void real_arc4random_buf(void *buffer, size_t size)
{
	if (hook_reals.arc4random_buf)
		hook_reals.arc4random_buf(buffer, size);
	else
		fill(buffer, size);
}

static ssize_t fetch_arc4random_buf(void *ctx, void *buffer, size_t size)
{
	(void)ctx;
	real_arc4random_buf(buffer, size);
	return (ssize_t)size;
}

HOOK_EXPORT void arc4random_buf(void *buffer, size_t size)
{
	if (hook_depth)
		real_arc4random_buf(buffer, size);
	else
		hook_input_bytes(TRACE_IN_RANDOM, "arc4random_buf", fetch_arc4random_buf, NULL,
				 buffer, size);
}

HOOK_EXPORT uint32_t arc4random(void)
{
	uint32_t value = 0;

	arc4random_buf(&value, sizeof(value));
	return value;
}

/* As OpenBSD does it: numbers below 2^32 mod bound are drawn again. */
HOOK_EXPORT uint32_t arc4random_uniform(uint32_t bound)
{
	uint32_t value;

	if (bound < 2)
		return 0;
	do
		value = arc4random();
	while (value < -bound % bound);
	return value % bound;
}

#define GETVAL _ZNSt13random_device9_M_getvalEv

HOOK_EXPORT unsigned int GETVAL(void *device);

/* libstdc++ may have come by dlopen, into a scope where RTLD_NEXT does not look. */
static __typeof__(GETVAL) *real_getval(void)
{
	static __typeof__(GETVAL) *found;
	void *library;

	if (found)
		return found;
	found = (__typeof__(GETVAL) *)dlsym(RTLD_NEXT, "_ZNSt13random_device9_M_getvalEv");
	if (found)
		return found;
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (library) {
		found = (__typeof__(GETVAL) *)dlsym(library, "_ZNSt13random_device9_M_getvalEv");
		dlclose(library);
	}
	return found;
}

static ssize_t fetch_getval(void *ctx, void *buffer, size_t size)
{
	__typeof__(GETVAL) *real = real_getval();
	unsigned int value;

	if (!real) {
		fill(buffer, size);
		return (ssize_t)size;
	}
	value = real(ctx);
	memcpy(buffer, &value, size);
	return (ssize_t)size;
}

/* std::random_device::_M_getval() */
unsigned int GETVAL(void *device)
{
	unsigned int value = 0;

	if (hook_depth)
		fetch_getval(device, &value, sizeof(value));
	else
		hook_input_bytes(TRACE_IN_RANDOM, "std::random_device", fetch_getval, device,
				 &value, sizeof(value));
	return value;
}
