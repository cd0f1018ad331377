/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings. If the program leaves the place to the kernel, we choose it and ask for it. If
 * something unknown lies there, the kernel chooses another place, and we try the next one. If the
 * program asks for a place, it is tried if only the program has things there. If the program
 * demands a place, it gets it. Whatever it does is noted in the area, in the order among threads.
 */
#include "hook/memory/map.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "hook/input/process/told.h"
#include "hook/memory/area.h"
#include "hook/program/sanitizer.h"
#include "hook/thread/call/real.h"
#include "hook/thread/race/race.h"
#include "hook/thread/serial/baton.h"

#define FIRST_SPANS 1024
#define LARGE (2ul << 20) /* from here on the kernel may use large pages */
#define TRIES 64
#define BY_KERNEL (MAP_32BIT | MAP_GROWSDOWN)

static struct {
	__typeof__(mmap) *mmap;
	__typeof__(munmap) *munmap;
	__typeof__(mremap) *mremap;
	__typeof__(shmat) *shmat;
} real;

/* The linker's names for where this library begins and ends. */
extern const char __ehdr_start[], _end[] __attribute__((visibility("hidden")));

static bool aside, on;
static uintptr_t aside_next = MEMORY_ASIDE;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static struct memory_area area;
static struct memory_span first[FIRST_SPANS];

void *memory_real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	if (real.mmap)
		return real.mmap(at, n, prot, flags, fd, offset);
	return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}

int memory_real_munmap(void *at, size_t n)
{
	return real.munmap ? real.munmap(at, n) : (int)syscall(SYS_munmap, at, n);
}

/*
 * What an allocator has is the program's, whoever it does it for. What a sanitizer maps is not: for
 * its report it reads the lines of all functions on the stack, ours among them, and these are not
 * the same in recording and replay.
 */
bool memory_is_on(const void *site)
{
	if (!on || hook_sanitizer_calls(site))
		return false;
	if (!hook_runtime_is_allocator(site))
		return hook_depth == 0;
	return !hook_sync_mode || hook_baton_on;
}

/* In serial mode an allocator has its turn as a whole; only a thread that was robbed is beside it.
 */
struct memory_call memory_begin(const void *site)
{
	struct memory_call call = {.alone = hook_runtime_is_allocator(site)};

	if (call.alone)
		hook_sync_real.pthread_mutex_lock(&order);
	else
		hook_stdio_begin(&call.order, &order, SYNC_MEMORY, NULL);
	call.depth = hook_depth;
	hook_depth = HOOK_CLOSED;
	return call;
}

/* No point of serial mode: the program may have a lock that we do not see. */
void memory_end(struct memory_call *call)
{
	struct hook_thread *t = call->order.t;

	hook_depth = call->depth;
	if (call->alone)
		hook_sync_real.pthread_mutex_unlock(&order);
	if (t) {
		t->serial.whole = true;
		hook_stdio_end(&call->order);
		t->serial.whole = false;
	}
}

/* Our own code maps things at any depth. */
static bool is_own(const void *site)
{
	return (uintptr_t)site - (uintptr_t)__ehdr_start <
	       (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* Of MPI or ours. The kernel takes it for a wish; places that are in use are none. */
static void *place_aside(size_t n, int flags)
{
	size_t align = n >= LARGE ? LARGE : HEAP_PAGE, bytes;
	uintptr_t at;

	if (!aside || n > MEMORY_ASIDE_BYTES / 16 ||
	    (flags & (BY_KERNEL | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_HUGETLB)))
		return NULL;
	bytes = memory_pages(n) + (align - HEAP_PAGE);
	at = __atomic_fetch_add(&aside_next, bytes, __ATOMIC_RELAXED);
	if (at + bytes > MEMORY_ASIDE + MEMORY_ASIDE_BYTES) {
		__atomic_store_n(&aside_next, MEMORY_ASIDE + bytes, __ATOMIC_RELAXED);
		at = MEMORY_ASIDE;
	}
	return (void *)((at + align - 1) & -align);
}

static void say_kernel(const char *what)
{
	if (hook_process.mode == HOOK_RECORD)
		hook_say_once("memory", "memory that the program maps ", what,
			      " lies where the kernel puts it: its address may differ in replays",
			      NULL);
}

static size_t alignment(size_t n, int flags)
{
	unsigned int huge = (unsigned int)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

	if (flags & MAP_HUGETLB)
		return huge ? 1ul << huge : LARGE;
	return n >= LARGE ? LARGE : HEAP_PAGE;
}

static void note(void *at, size_t n)
{
	if (!memory_area_take(&area, (uintptr_t)at, (uintptr_t)at + memory_pages(n)))
		say_kernel("in very many places");
}

static void *chosen(size_t n, int prot, int flags, int fd, off_t offset)
{
	size_t align = alignment(n, flags), bytes = (memory_pages(n) + align - 1) & -align;

	if (align < LARGE || !(flags & MAP_HUGETLB))
		bytes = memory_pages(n);
	for (int i = 0; i < TRIES; i++) {
		uintptr_t at = memory_area_find(&area, bytes, align);
		void *p;

		if (!at)
			break;
		p = memory_real_mmap((void *)at, n, prot, flags, fd, offset);
		if (p == MAP_FAILED)
			return p;
		note((void *)at, bytes);
		if (p == (void *)at)
			return p;
		memory_real_munmap(p, bytes);
	}
	say_kernel("(there is no room left for it)");
	return memory_real_mmap(NULL, n, prot, flags, fd, offset);
}

/* Only the program has things there. */
static bool is_wish(const void *at, size_t n)
{
	uintptr_t start = (uintptr_t)at & -HEAP_PAGE;

	if (!start || n > HEAP_LARGE_BYTES)
		return false;
	return start + n <= HEAP_SMALL_BASE ||
	       (memory_area_has(&area, start) && start + n <= area.end &&
		memory_area_is_free(&area, start, start + memory_pages(n)));
}

static void *wished(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	void *p, *start = (void *)((uintptr_t)at & -HEAP_PAGE);

	if (is_wish(at, n)) {
		p = memory_real_mmap(start, n, prot, flags, fd, offset);
		if (p == start)
			note(p, n);
		if (p == start || p == MAP_FAILED)
			return p;
		memory_real_munmap(p, n);
	}
	return chosen(n, prot, flags, fd, offset);
}

/* Demanded, or such as only the kernel can place. */
static void *as_said(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	void *p = memory_real_mmap(at, n, prot, flags, fd, offset);

	if (p != MAP_FAILED)
		note(p, n);
	if ((flags & MAP_GROWSDOWN) && !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		say_kernel("to grow down");
	return p;
}

HOOK_EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	if (flags & MAP_SHARED && !is_own(SITE))
		hook_told_mapped(prot, flags);
	if (!memory_is_on(SITE) || is_own(SITE))
		return memory_real_mmap(at ? at : place_aside(n, flags), n, prot, flags, fd,
					offset);
	MEMORY_CALL;
	if (!n || n > MEMORY_BYTES || flags & (BY_KERNEL | MAP_FIXED | MAP_FIXED_NOREPLACE))
		at = as_said(at, n, prot, flags, fd, offset);
	else
		at = wished(at, n, prot, flags, fd, offset);
	/* What threads did to the memory that was here before is over. */
	if (at != MAP_FAILED)
		hook_race_reset(at, memory_pages(n));
	return at;
}

HOOK_EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd, off64_t offset)
	__attribute__((alias("mmap")));

/* All else is decided by nobody's order: also what is ours. */
static bool is_of_program(uintptr_t start, uintptr_t end)
{
	return start < HEAP_SMALL_BASE || (start < area.end && end > area.start);
}

HOOK_EXPORT int munmap(void *at, size_t n)
{
	int rc;

	if (!memory_is_on(SITE) || !is_of_program((uintptr_t)at, (uintptr_t)at + n))
		return memory_real_munmap(at, n);
	MEMORY_CALL;
	rc = memory_real_munmap(at, n);
	if (!rc)
		memory_area_give(&area, (uintptr_t)at, (uintptr_t)at + memory_pages(n));
	return rc;
}

static void *real_mremap(void *old, size_t from, size_t n, int flags, void *to)
{
	if (real.mremap)
		return real.mremap(old, from, n, flags, to);
	return (void *)syscall(SYS_mremap, old, from, n, flags, to);
}

static bool may_grow(uintptr_t old, size_t from, size_t n)
{
	return !memory_area_has(&area, old) ||
	       (old + n <= area.end &&
		memory_area_is_free(&area, old + memory_pages(from), old + memory_pages(n)));
}

/* To where we say, if it cannot stay. */
static void *moved(void *old, size_t from, size_t n, int flags)
{
	void *p = MAP_FAILED;
	uintptr_t to;

	if (from && !(flags & MREMAP_DONTUNMAP) && may_grow((uintptr_t)old, from, n))
		p = real_mremap(old, from, n, flags & ~MREMAP_MAYMOVE, NULL);
	if (p != MAP_FAILED || (from && !(flags & MREMAP_MAYMOVE)))
		return p;
	to = memory_area_find(&area, memory_pages(n), alignment(n, 0));
	if (!to || n > MEMORY_BYTES)
		return real_mremap(old, from, n, flags, NULL);
	return real_mremap(old, from, n, flags | MREMAP_MAYMOVE | MREMAP_FIXED, (void *)to);
}

static void note_move(void *old, size_t from, void *p, size_t n, int flags)
{
	if (from && !(flags & MREMAP_DONTUNMAP))
		memory_area_give(&area, (uintptr_t)old, (uintptr_t)old + memory_pages(from));
	note(p, n);
	if (p != old)
		hook_race_reset(p, memory_pages(n));
	else if (n > from)
		hook_race_reset((char *)p + memory_pages(from), memory_pages(n - from));
}

HOOK_EXPORT void *mremap(void *old, size_t from, size_t n, int flags, ...)
{
	void *to = NULL, *p;
	va_list ap;

	va_start(ap, flags);
	if (flags & MREMAP_FIXED)
		to = va_arg(ap, void *);
	va_end(ap);
	if (!memory_is_on(SITE))
		return real_mremap(old, from, n, flags, to);
	MEMORY_CALL;
	if ((flags & MREMAP_FIXED) || !n || n <= from)
		p = real_mremap(old, from, n, flags, to);
	else
		p = moved(old, from, n, flags);
	if (p != MAP_FAILED)
		note_move(old, from, p, n, flags);
	return p;
}

/* How large it is only shmctl tells; where it was is not used again. */
HOOK_EXPORT void *shmat(int id, const void *at, int flags)
{
	struct shmid_ds about;
	uintptr_t place = 0;
	void *p;

	hook_told_attached();
	if (!memory_is_on(SITE))
		return real.shmat ? real.shmat(id, at, flags)
				  : (void *)syscall(SYS_shmat, id, at, flags);
	MEMORY_CALL;
	if (!at && shmctl(id, IPC_STAT, &about) == 0)
		place = memory_area_find(&area, memory_pages(about.shm_segsz),
					 alignment(about.shm_segsz, 0));
	p = real.shmat(id, place ? (void *)place : at, flags);
	if (place && p == (void *)place)
		note(p, about.shm_segsz);
	return p;
}

void hook_memory_aside(void)
{
	real.mmap = (__typeof__(mmap) *)hook_real("mmap");
	real.munmap = (__typeof__(munmap) *)hook_real("munmap");
	real.mremap = (__typeof__(mremap) *)hook_real("mremap");
	real.shmat = (__typeof__(shmat) *)hook_real("shmat");
	aside = true;
}

/* These have an opinion of where memory may be; our own runtimes, of the same names, have none. */
static bool is_watched(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return (preload && strstr(preload, "/vgpreload_")) ||
	       (dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback") &&
		(dlsym(RTLD_DEFAULT, "__tsan_init") || dlsym(RTLD_DEFAULT, "__msan_init")));
}

void hook_memory_start(void)
{
	if (is_watched()) {
		aside = false;
		say_kernel("under a sanitizer or valgrind");
		return;
	}
	memory_area_init(&area, MEMORY_BASE, MEMORY_BASE + MEMORY_BYTES, first, FIRST_SPANS);
	on = true;
}

void hook_memory_stop(void)
{
	on = aside = false;
}
