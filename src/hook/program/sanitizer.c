/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime is a library, loaded after ours: what it calls itself returns into it, and what the
 * program calls does not. Or it is a part of the program, with its functions side by side, and lets
 * the program's calls through to us: these return into functions that have the names of libc's. So
 * a call that returns to anywhere else in it is its own.
 *
 * A sanitizer that has found something prints its report and leaves by a system call of its own,
 * which nobody sees. We ask it to call us before that, and the program ends there. Otherwise a
 * replay would take the remaining threads for the end of a run that was killed, and would end it in
 * the middle of the report.
 */
#include "hook/program/sanitizer.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "hook/common/end.h"
#include "hook/common/process.h"

#define FRAMES 8

uintptr_t hook_sanitizer_low, hook_sanitizer_size;

static const struct {
	const char *init, *options;
	int status;
} runtimes[] = {
	{"__asan_init", "ASAN_OPTIONS", 1},
	{"__tsan_init", "TSAN_OPTIONS", 66},
	{"__msan_init", "MSAN_OPTIONS", 77},
	{"__lsan_enable", "LSAN_OPTIONS", 23},
	{"", "UBSAN_OPTIONS", 1},
};

static void (*func_entry)(void *);
static void (*func_exit)(void);

static bool is_of_runtime(const char *name)
{
	static const char *const starts[] = {"__sanitizer_", "__asan_", "__tsan_",
					     "__msan_",      "__lsan_", "__ubsan_"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	}
	return false;
}

bool hook_sanitizer_is_own(const void *site)
{
	Dl_info info;

	return !dladdr(site, &info) || !info.dli_sname || is_of_runtime(info.dli_sname);
}

int hook_sanitizer_backtrace(void **frames, int n)
{
	int (*backtrace)(void **, int) =
		(int (*)(void **, int))dlvsym(RTLD_NEXT, "backtrace", "GLIBC_2.2.5");

	return backtrace ? backtrace(frames, n) : 0;
}

bool hook_sanitizer_is_behind(const void *site)
{
	void *frames[FRAMES];
	int depth = hook_depth, n, i = 0;

	if ((uintptr_t)site - hook_sanitizer_low >= hook_sanitizer_size)
		return false;
	if (hook_sanitizer_is_own(site))
		return true;
	hook_depth = 1;
	n = hook_sanitizer_backtrace(frames, FRAMES);
	hook_depth = depth;
	while (i < n && frames[i] != site)
		i++;
	return i + 1 < n && hook_sanitizer_calls(frames[i + 1]);
}

void hook_sanitizer_enter(const void *site)
{
	if (func_entry && func_exit)
		func_entry((void *)site);
}

void hook_sanitizer_leave(void)
{
	if (func_entry && func_exit)
		func_exit();
}

/* From the first to the last function of the runtime that the program exports. */
static void find_inside(const struct link_map *map)
{
	const ElfW(Sym) *first = NULL;
	const char *names = NULL;
	uintptr_t low = UINTPTR_MAX, high = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			first = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			names = (const char *)d->d_un.d_ptr;
	}
	/* The names follow the symbols. */
	for (const ElfW(Sym) *s = first; s && (const char *)(s + 1) <= names; s++) {
		uintptr_t at = map->l_addr + s->st_value;

		if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF ||
		    !is_of_runtime(names + s->st_name))
			continue;
		low = at < low ? at : low;
		high = at + s->st_size > high ? at + s->st_size : high;
	}
	if (high > low) {
		hook_sanitizer_low = low;
		hook_sanitizer_size = high - low;
	}
}

static int find_library(struct dl_phdr_info *info, size_t size, void *function)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || (uintptr_t)function - start >= part->p_memsz)
			continue;
		hook_sanitizer_low = start;
		hook_sanitizer_size = part->p_memsz;
		return 1;
	}
	return 0;
}

/* What it will leave with, unless the program has options of its own built in. */
static int exit_status(void)
{
	const char *options, *found;
	size_t i = 0;

	while (runtimes[i].init[0] && !dlsym(RTLD_DEFAULT, runtimes[i].init))
		i++;
	options = getenv(runtimes[i].options);
	found = options ? strstr(options, "exitcode=") : NULL;
	return found ? (int)strtol(found + strlen("exitcode="), NULL, 10) : runtimes[i].status;
}

static void dies(void)
{
	if (hook_process_is_this())
		hook_end_by_exit(exit_status());
}

static void find_runtime(void)
{
	void *set = dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback");
	struct link_map *map = NULL;
	Dl_info info;

	if (!set)
		return;
	((void (*)(void (*)(void)))set)(dies);
	*(void **)&func_entry = dlsym(RTLD_DEFAULT, "__tsan_func_entry");
	*(void **)&func_exit = dlsym(RTLD_DEFAULT, "__tsan_func_exit");
	if (!dladdr1(set, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return;
	if (map->l_name[0])
		dl_iterate_phdr(find_library, set);
	else
		find_inside(map);
}

/* Looking for it allocates, and the runtime may ask for the time meanwhile. */
void hook_sanitizer_watch(void)
{
	int depth = hook_depth;

	hook_depth = 1;
	find_runtime();
	hook_depth = depth;
}
