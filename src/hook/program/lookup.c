/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps dlsym. libc must see the program's own return address, because "the next library" means the
 * one after the caller. Only names of MPI are looked at.
 */
#include "hook/program/lookup.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "hook/common/hook.h"
#include "hook/session/unseen.h"

static void *tell(void *handle, const char *name);

void *(*hook_lookup_mpi)(void *handle, const char *name) = tell;
void (*hook_lookup_opening)(const char *file, int mode, const void *site);

typedef void *(*lookup_function)(void *handle, const char *name);

#if defined(__x86_64__)

#define OLDEST "GLIBC_2.2.5"

static lookup_function libc_dlsym(void)
{
	static lookup_function real;
	bool before = hook_real_resolving;

	if (real)
		return real;
	hook_real_resolving = true;
	real = (lookup_function)dlvsym(RTLD_NEXT, "dlsym", OLDEST);
	hook_real_resolving = before;
	return real;
}

/* In registers, and the second one where nothing of the program's call is. */
struct lookup {
	void *instead;
	lookup_function real;
};

static bool is_of_mpi(const char *name)
{
	return name && (!strncmp(name, "MPI_", 4) || !strncmp(name, "PMPI_", 5));
}

struct lookup hook_lookup_enter(void *handle, const char *name) __attribute__((used));

struct lookup hook_lookup_enter(void *handle, const char *name)
{
	struct lookup l = {NULL, libc_dlsym()};

	if (handle != RTLD_DEFAULT && handle != RTLD_NEXT && hook_process.mode != HOOK_INERT &&
	    is_of_mpi(name))
		l.instead = hook_lookup_mpi(handle, name);
	return l;
}

HOOK_EXPORT __attribute__((naked)) void *dlsym(__attribute__((unused)) void *restrict handle,
					       __attribute__((unused)) const char *restrict name)
{
	__asm__("push %rdi\n\t"
		"push %rsi\n\t"
		"sub $8, %rsp\n\t"
		".cfi_adjust_cfa_offset 24\n\t"
		"call hook_lookup_enter\n\t"
		"add $8, %rsp\n\t"
		"pop %rsi\n\t"
		"pop %rdi\n\t"
		".cfi_adjust_cfa_offset -24\n\t"
		"test %rax, %rax\n\t"
		"jnz 1f\n\t"
		"jmp *%rdx\n"
		"1:\tret");
}

#else

static lookup_function libc_dlsym(void)
{
	return dlsym;
}

#endif

void *hook_lookup_in(void *handle, const char *name)
{
	void *found;

	/* The text of an error is not the program's. */
	hook_depth++;
	found = libc_dlsym()(handle, name);
	if (!found)
		dlerror();
	hook_depth--;
	return found;
}

void *hook_lookup_any(const char *name)
{
	bool before = hook_real_resolving;
	void *found;

	hook_real_resolving = true;
	found = hook_lookup_in(RTLD_DEFAULT, name);
	hook_real_resolving = before;
	return found;
}

void *hook_lookup_own(const char *name)
{
	static void *self;
	Dl_info where;

	hook_depth++;
	if (!self && dladdr((void *)hook_lookup_own, &where))
		self = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	hook_depth--;
	return self ? hook_lookup_in(self, name) : NULL;
}

static bool brings_paths(const struct link_map *map)
{
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RPATH || d->d_tag == DT_RUNPATH)
			return true;
	}
	return false;
}

bool hook_lookup_is_the_same(const char *file, const void *site)
{
	struct link_map *of_site = NULL;
	Dl_info where;

	if (strchr(file, '$'))
		return false;
	if (strchr(file, '/'))
		return true;
	return dladdr1(site, &where, (void **)&of_site, RTLD_DL_LINKMAP) && of_site &&
	       !brings_paths(of_site) && !brings_paths(_r_debug.r_map);
}

/* A library that only asks whether there is MPI does not use it. */
static void *tell(void *handle, const char *name)
{
	static struct hook_unseen calls = {
		.key = "mpi-by-handle",
		.what = "what MPI does, which the program opened while it ran (dlopen)",
		.remedy = "say which it is by --mpi=openmpi or --mpi=mpich"};

	if (strstr(name, "MPI_Init") && hook_lookup_in(handle, name))
		hook_unseen(&calls);
	return NULL;
}
