/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the code of MPI, of the unwinder, of sanitizers and of an allocator, filled anew when
 * a thread is made after more files were loaded. Invariant: entries are complete before the number
 * that counts them grows.
 */
#include "hook/program/runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/kit/lock.h"
#include "hook/program/sanitizer.h"

#define MOST_PARTS 512
#define FRAMES 64

uintptr_t hook_runtime_low, hook_runtime_size;
uintptr_t hook_allocator_low, hook_allocator_size;

static struct {
	uintptr_t start, end;
} parts[MOST_PARTS];
static size_t count;
static uintptr_t loader_start, loader_end;
static const pthread_mutex_t *loader_lock; /* the first of its locks, or NULL */
static bool looked;
static unsigned long long loads_seen;
static uintptr_t allocator;

static bool is_one_of(const char *path, const char *const *names, size_t n)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < n; i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

static bool is_runtime(const char *path)
{
	/* Without MPI, libevent and the like are the program's. */
	static const char *const names[] = {
		"libgcc_s.", "libunwind.",   "libasan.", "libtsan.", "libubsan.",
		"liblsan.",  "libclang_rt.",
#ifndef HOOK_FLAVOUR_PLAIN
		"libmpi",    "libopen-",     "mca_",     "libuc",    "libpmi",
		"libpmix",   "libfabric",    "libhwloc", "libevent",
#endif
	};

	return is_one_of(path, names, sizeof(names) / sizeof(names[0]));
}

static void add(uintptr_t start, uintptr_t end)
{
	uintptr_t high = hook_runtime_low + hook_runtime_size;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].start == start)
			return;
	}
	if (count == MOST_PARTS)
		return;
	parts[count].start = start;
	parts[count].end = end;
	__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
	if (!hook_runtime_size || start < hook_runtime_low)
		hook_runtime_low = start;
	hook_runtime_size = (end > high ? end : high) - hook_runtime_low;
}

static void look_for_loader(const struct dl_phdr_info *info)
{
	if (info->dlpi_addr != getauxval(AT_BASE))
		return;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
			loader_start = info->dlpi_addr + part->p_vaddr;
			loader_end = loader_start + part->p_memsz;
		}
	}
}

static bool is_lock(const pthread_mutex_t *m)
{
	return m->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP;
}

/*
 * Where files are looked through, as here, the loader holds the second of its locks, which lie one
 * behind the other in a structure that has a name and a size, but is nobody else's: they are known
 * by their contents. If there is no such thing in this libc, there is none.
 */
static void look_for_lock(void)
{
	int tid = (int)syscall(SYS_gettid);
	const ElfW(Sym) *symbol = NULL;
	const pthread_mutex_t *m;
	const char *start;
	Dl_info info;

	start = dlsym(RTLD_DEFAULT, "_rtld_global");
	if (!start || !dladdr1(start, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return;
	for (size_t at = sizeof(*m); at + sizeof(*m) <= symbol->st_size; at += sizeof(void *)) {
		m = (const pthread_mutex_t *)(start + at);
		if (m->__data.__owner == tid && m->__data.__count == 1 && is_lock(m) &&
		    is_lock(m - 1))
			loader_lock = m - 1;
	}
}

static int loads_now(void)
{
	return loader_lock ? __atomic_load_n(&loader_lock->__data.__owner, __ATOMIC_RELAXED) : 0;
}

bool hook_runtime_loads(int tid)
{
	return loads_now() == tid;
}

bool hook_runtime_loads_beside(int tid)
{
	int now = loads_now();

	return now && now != tid;
}

bool hook_runtime_is_loader(const void *site)
{
	return (uintptr_t)site - loader_start < loader_end - loader_start;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (info->dlpi_adds == loads_seen)
		return 1;
	if (!loader_start)
		look_for_loader(info);
	if (!looked) {
		looked = true;
		look_for_lock();
	}
	if (!is_runtime(info->dlpi_name) && !(allocator && info->dlpi_addr == allocator))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		add(start, start + part->p_memsz);
		if (info->dlpi_addr == allocator) {
			hook_allocator_low = start;
			hook_allocator_size = part->p_memsz;
		}
	}
	return 0;
}

static int note_loads(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	loads_seen = info->dlpi_adds;
	return 1;
}

void hook_runtime_find(void)
{
	static struct hook_lock busy;

	if (!hook_lock_try(&busy))
		return;
	dl_iterate_phdr(look_at, NULL);
	dl_iterate_phdr(note_loads, NULL);
	hook_lock_give(&busy);
}

void hook_runtime_allocator(const void *base)
{
	allocator = (uintptr_t)base;
	if (base)
		hook_runtime_find();
}

bool hook_runtime_search(uintptr_t address)
{
	size_t n = __atomic_load_n(&count, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < n; i++) {
		if (address - parts[i].start < parts[i].end - parts[i].start)
			return true;
	}
	return false;
}

#ifdef HOOK_FLAVOUR_PLAIN
bool hook_runtime_calls_program(void)
{
	return false;
}
#else
/* What prints on behalf of its caller. */
static bool prints_for_others(const char *path)
{
	static const char *const names[] = {"libc.",       "libc-",        "libreprise-",
					    "libstdc++.",  "libgfortran.", "libquadmath.",
					    "libmpi_mpifh"};

	return is_one_of(path, names, sizeof(names) / sizeof(names[0]));
}

__thread bool hook_runtime_is_ours;

bool hook_runtime_calls_program(void)
{
	void *frames[FRAMES];
	int n = hook_sanitizer_backtrace(frames, FRAMES);
	bool programs = false;
	Dl_info info;

	if (hook_runtime_is_ours)
		return true;
	for (int i = 0; i < n; i++) {
		if (!dladdr(frames[i], &info) || !info.dli_fname ||
		    prints_for_others(info.dli_fname))
			continue;
		if (is_runtime(info.dli_fname))
			return programs;
		programs = true;
	}
	return false;
}
#endif
