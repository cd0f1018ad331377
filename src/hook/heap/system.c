/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next definition of each function is looked up at the first call of any. An older libc
 * allocates while it looks up; that memory comes from a small buffer here.
 */
#include "hook/heap/system.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hook/common/hook.h"

#define EARLY_BYTES 16384

struct heap_system heap_system;

static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;

void *heap_early_alloc(size_t n)
{
	size_t need = (n + 31) & ~(size_t)15;
	size_t *head, used = __atomic_load_n(&early_used, __ATOMIC_RELAXED);

	do {
		if (n > EARLY_BYTES || need > EARLY_BYTES - used)
			return NULL;
	} while (!__atomic_compare_exchange_n(&early_used, &used, used + need, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	head = (size_t *)(early + used);
	head[0] = n;
	return head + 2;
}

bool heap_early_owns(const void *p)
{
	return (const char *)p - early >= 0 && (const char *)p - early < EARLY_BYTES;
}

size_t heap_early_room(const void *p)
{
	return ((const size_t *)p)[-2];
}

/* malloc last: once it is there, all are. */
#define FUNCTIONS(X)                                                                               \
	X(free)                                                                                    \
	X(calloc)                                                                                  \
	X(realloc)                                                                                 \
	X(reallocarray)                                                                            \
	X(memalign)                                                                                \
	X(aligned_alloc)                                                                           \
	X(posix_memalign)                                                                          \
	X(valloc)                                                                                  \
	X(pvalloc)                                                                                 \
	X(malloc_usable_size)                                                                      \
	X(malloc_trim)                                                                             \
	X(malloc)

void heap_system_resolve(void)
{
	struct heap_system s;

	hook_real_resolving = true;
#define X(name) s.name = (__typeof__(s.name))hook_real(#name);
	FUNCTIONS(X)
#undef X
	heap_system = s;
	hook_real_resolving = false;
}

static const void *file_of(const void *p)
{
	Dl_info info;

	return dladdr(p, &info) ? info.dli_fbase : NULL;
}

/*
 * The program's allocator comes before ours, so only our own code calls us. What that gives to the
 * program (the result of realpath, say) is freed by the program: it has to come from there.
 */
static void use_first(void)
{
	const void *here = file_of(&heap_system), *p;

#define X(name)                                                                                    \
	p = dlsym(RTLD_DEFAULT, #name);                                                            \
	if (p && file_of(p) != here)                                                               \
		heap_system.name = (__typeof__(heap_system.name))p;
	FUNCTIONS(X)
#undef X
}

/*
 * The address that a program linked to a fixed one has for malloc is that of its own jump to it,
 * which goes to the first malloc there is: ours.
 */
static bool is_jump(const void *p)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
}

/* Allocators may have libc's other names for its functions, too. */
static bool is_of_libc(const void *p)
{
	const void *file = file_of(p);

	return file && file == file_of((void *)gnu_get_libc_version);
}

bool heap_system_is_in_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "/vgpreload_");
}

const char *heap_system_stranger(const void *ours, const void **base)
{
	const void *first = dlsym(RTLD_DEFAULT, "malloc");
	const void *next = dlsym(RTLD_NEXT, "malloc");
	struct link_map *map;
	Dl_info info;

	*base = NULL;
	if (is_jump(first))
		first = ours;
	if (first == ours && is_of_libc(next))
		return NULL;
	if (first != ours)
		use_first();
	if (!dladdr1(first != ours ? first : next, &info, (void **)&map, RTLD_DL_LINKMAP) ||
	    !info.dli_fname)
		return "the program";
	if (map->l_name[0] && !strstr(map->l_name, "san.so"))
		*base = (const void *)map->l_addr;
	return info.dli_fname;
}
