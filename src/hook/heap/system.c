/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next definition of each function is looked up at the first call of any. An older libc
 * allocates while it looks up; that memory comes from a small buffer here.
 */
#include "hook/heap/system.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hook/common/hook.h"

#define EARLY_BYTES 16384

struct heap_system heap_system;
__thread bool heap_system_resolving;

static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;

void *heap_early_alloc(size_t n)
{
	size_t need = (n + 31) & ~(size_t)15;
	size_t *head = (size_t *)(early + early_used);

	if (n > EARLY_BYTES || need > EARLY_BYTES - early_used)
		return NULL;
	early_used += need;
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

void heap_system_resolve(void)
{
	struct heap_system s;

	heap_system_resolving = true;
#define X(name) s.name = (__typeof__(s.name))hook_real(#name);
	X(free)
	X(calloc)
	X(realloc)
	X(reallocarray)
	X(memalign)
	X(aligned_alloc)
	X(posix_memalign)
	X(valloc)
	X(pvalloc)
	X(malloc_usable_size)
	X(malloc_trim)
	X(malloc)
#undef X
	heap_system = s;
	heap_system_resolving = false;
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

const char *heap_system_stranger(const void *ours)
{
	const void *first = dlsym(RTLD_DEFAULT, "malloc");
	const void *next = dlsym(RTLD_NEXT, "malloc");
	const char *preload = getenv("LD_PRELOAD");
	Dl_info info;

	if (preload && strstr(preload, "/vgpreload_"))
		return "valgrind";
	if (is_jump(first))
		first = ours;
	if (first == ours && next == dlsym(RTLD_NEXT, "__libc_malloc"))
		return NULL;
	if (dladdr(first != ours ? first : next, &info) && info.dli_fname)
		return info.dli_fname;
	return "the program";
}
