/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serial mode: the loader has a lock, which a thread holds while it runs the constructors or
 * destructors of a library. These may wait, and give the baton away. So a thread that loads or
 * unloads another library first waits, without the baton, until nobody does. How often it found
 * somebody is recorded. In replay it does the same, and finds nobody.
 */
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/program/lookup.h"
#include "hook/thread/serial/baton.h"
#include "hook/thread/sync/sync.h"

#if defined(__x86_64__)

#define SITE __builtin_return_address(0)
#define NAP_NS 200000

static int act_loader(struct hook_thread *t, const struct hook_sync_call *c, int code)
{
	(void)c;
	return code < 0 ? hook_runtime_loads_beside(t->tid) : code;
}

static void wait_for_it(const struct hook_thread *t)
{
	const struct timespec nap = {0, NAP_NS};

	while (hook_process.mode == HOOK_RECORD && hook_runtime_loads_beside(t->tid))
		syscall(SYS_nanosleep, &nap, NULL);
}

static void await_loader(const void *site)
{
	struct hook_sync_call c = {.op = SYNC_LOADER, .site = site};
	HOOK_SYNC_ENTER(t);

	while (hook_sync_mode->value(t, &c, trace_sync_op_id(c.op), act_loader)) {
		hook_baton_leave(t);
		wait_for_it(t);
		hook_baton_enter(t);
	}
}

struct entry {
	void *real;
	long mode; /* what may stay of the mode */
};

struct entry hook_loader_enter(int which, const void *site, const char *file, int mode)
	__attribute__((used));

/*
 * The real function, which is then to be called. Of dlmopen the file is not known. A library that
 * is bound to libc before all others (RTLD_DEEPBIND) would free with libc what the program has
 * from our malloc, and ask libc for what is recorded.
 */
struct entry hook_loader_enter(int which, const void *site, const char *file, int mode)
{
	static const char *const names[] = {"dlopen", "dlmopen"};
	static void *real[2];

	if (!real[which])
		real[which] = hook_real(names[which]);
	if (hook_baton_on && hook_sync_is_on(site))
		await_loader(site);
	if (which == 0 && file && hook_lookup_opening && hook_depth == 0)
		hook_lookup_opening(file, mode, site);
	return (struct entry){real[which],
			      hook_process.mode == HOOK_INERT ? -1 : ~(long)RTLD_DEEPBIND};
}

/* The loader looks where the file says from which it is called: so it must be as if it were. */
#define ENTER(which, change)                                                                       \
	__asm__("push %rdi\n\t"                                                                    \
		"push %rsi\n\t"                                                                    \
		"push %rdx\n\t"                                                                    \
		".cfi_adjust_cfa_offset 24\n\t"                                                    \
		"mov %esi, %ecx\n\t"                                                               \
		"mov %rdi, %rdx\n\t"                                                               \
		"mov $" #which ", %edi\n\t"                                                        \
		"mov 24(%rsp), %rsi\n\t"                                                           \
		"call hook_loader_enter\n\t"                                                       \
		"mov %rdx, %rcx\n\t"                                                               \
		"pop %rdx\n\t"                                                                     \
		"pop %rsi\n\t"                                                                     \
		"pop %rdi\n\t"                                                                     \
		".cfi_adjust_cfa_offset -24\n\t" change "jmp *%rax")

HOOK_EXPORT __attribute__((naked)) void *dlopen(__attribute__((unused)) const char *file,
						__attribute__((unused)) int mode)
{
	ENTER(0, "and %ecx, %esi\n\t");
}

HOOK_EXPORT __attribute__((naked)) void *dlmopen(__attribute__((unused)) Lmid_t space,
						 __attribute__((unused)) const char *file,
						 __attribute__((unused)) int mode)
{
	ENTER(1, "");
}

HOOK_EXPORT int dlclose(void *handle)
{
	static __typeof__(dlclose) *real;

	if (!real)
		real = (__typeof__(dlclose) *)hook_real("dlclose");
	if (hook_baton_on && hook_sync_is_on(SITE))
		await_loader(SITE);
	return real(handle);
}

#endif
