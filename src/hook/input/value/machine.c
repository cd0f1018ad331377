/* SPDX-License-Identifier: Apache-2.0 */
/* What a program learns of the machine it runs on, and of what else goes on there. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "hook/common/real.h"
#include "hook/input/channel/io.h"
#include "hook/input/value/input.h"

#define SITE __builtin_return_address(0)

/* The same bytes in both modes, however many the program asks for. */
static ssize_t struct_bytes(const char *call, hook_input_bytes_fn *fetch, void *ctx, void *buffer,
			    size_t size)
{
	return hook_input_bytes(TRACE_IN_STRUCT, call, fetch, ctx, buffer, size);
}

static ssize_t fetch_uname(void *ctx, void *buffer, size_t size)
{
	(void)ctx;
	return REAL(uname)(buffer) == 0 ? (ssize_t)size : -errno;
}

HOOK_EXPORT int uname(struct utsname *name)
{
	if (!hook_io_is_programs(SITE))
		return REAL(uname)(name);
	return struct_bytes("uname", fetch_uname, NULL, name, sizeof(*name)) < 0 ? -1 : 0;
}

static ssize_t fetch_host(void *ctx, void *buffer, size_t size)
{
	(void)ctx;
	return REAL(gethostname)(buffer, size) == 0 ? (ssize_t)strnlen(buffer, size) : -errno;
}

HOOK_EXPORT int gethostname(char *name, size_t room)
{
	ssize_t n;

	if (!hook_io_is_programs(SITE))
		return REAL(gethostname)(name, room);
	n = struct_bytes("gethostname", fetch_host, NULL, name, room);
	if (n >= 0 && (size_t)n < room)
		name[n] = '\0';
	return n < 0 ? -1 : 0;
}

static ssize_t fetch_sysinfo(void *ctx, void *buffer, size_t size)
{
	(void)ctx;
	return REAL(sysinfo)(buffer) == 0 ? (ssize_t)size : -errno;
}

HOOK_EXPORT int sysinfo(struct sysinfo *info)
{
	if (!hook_io_is_programs(SITE))
		return REAL(sysinfo)(info);
	return struct_bytes("sysinfo", fetch_sysinfo, NULL, info, sizeof(*info)) < 0 ? -1 : 0;
}

static ssize_t fetch_load(void *ctx, void *buffer, size_t size)
{
	int n = REAL(getloadavg)(buffer, (int)(size / sizeof(double)));

	(void)ctx;
	return n < 0 ? -EIO : (ssize_t)((size_t)n * sizeof(double));
}

HOOK_EXPORT int getloadavg(double load[], int n)
{
	ssize_t got;

	if (!hook_io_is_programs(SITE) || n <= 0)
		return REAL(getloadavg)(load, n);
	got = struct_bytes("getloadavg", fetch_load, NULL, load, (size_t)n * sizeof(double));
	return got < 0 ? -1 : (int)((size_t)got / sizeof(double));
}

static ssize_t fetch_sysconf(void *ctx, void *buffer, size_t size)
{
	long value = REAL(sysconf)(*(int *)ctx);

	memcpy(buffer, &value, size);
	return (ssize_t)size;
}

/* One that an allocator asks for is its own. */
static bool is_told(const void *site)
{
	return hook_io_is_programs(site) && !hook_runtime_is_allocator(site);
}

/* What a file system has left changes all the time. */
#define DEFINE_FILE_SYSTEM(name, type, question)                                                   \
	static ssize_t fetch_##name(void *ctx, void *buffer, size_t size)                          \
	{                                                                                          \
		return REAL(name)(*(question *)ctx, buffer) == 0 ? (ssize_t)size : -errno;         \
	}                                                                                          \
                                                                                                   \
	HOOK_EXPORT int name(question of, struct type *s)                                          \
	{                                                                                          \
		if (!is_told(SITE))                                                                \
			return REAL(name)(of, s);                                                  \
		return struct_bytes(#name, fetch_##name, &of, s, sizeof(*s)) < 0 ? -1 : 0;         \
	}                                                                                          \
	HOOK_EXPORT int name##64(question of, struct type##64 * s) __attribute__((alias(#name)));  \
	_Static_assert(sizeof(struct type) == sizeof(struct type##64), "one is the other");

typedef const char *path_type;

DEFINE_FILE_SYSTEM(statfs, statfs, path_type)
DEFINE_FILE_SYSTEM(fstatfs, statfs, int)
DEFINE_FILE_SYSTEM(statvfs, statvfs, path_type)
DEFINE_FILE_SYSTEM(fstatvfs, statvfs, int)

struct processor {
	unsigned int cpu, node;
};

static ssize_t fetch_processor(void *ctx, void *buffer, size_t size)
{
	struct processor *p = buffer;

	(void)ctx;
	return REAL(getcpu)(&p->cpu, &p->node) == 0 ? (ssize_t)size : -errno;
}

HOOK_EXPORT int getcpu(unsigned int *cpu, unsigned int *node)
{
	struct processor p = {0};

	if (!is_told(SITE))
		return REAL(getcpu)(cpu, node);
	if (struct_bytes("getcpu", fetch_processor, NULL, &p, sizeof(p)) < 0)
		return -1;
	if (cpu)
		*cpu = p.cpu;
	if (node)
		*node = p.node;
	return 0;
}

static ssize_t fetch_count(void *ctx, void *buffer, size_t size)
{
	int value = (*(int (**)(void))ctx)();

	memcpy(buffer, &value, size);
	return value < 0 ? -errno : (ssize_t)size;
}

#define DEFINE_COUNT(name)                                                                         \
	HOOK_EXPORT int name(void)                                                                 \
	{                                                                                          \
		int (*real)(void) = REAL(name), value = -1;                                        \
                                                                                                   \
		if (!is_told(SITE))                                                                \
			return real();                                                             \
		struct_bytes(#name, fetch_count, &real, &value, sizeof(value));                    \
		return value;                                                                      \
	}

DEFINE_COUNT(sched_getcpu)
DEFINE_COUNT(get_nprocs)
DEFINE_COUNT(get_nprocs_conf)

HOOK_EXPORT long get_phys_pages(void)
{
	return sysconf(_SC_PHYS_PAGES);
}

HOOK_EXPORT long get_avphys_pages(void)
{
	return sysconf(_SC_AVPHYS_PAGES);
}

HOOK_EXPORT long sysconf(int name)
{
	long value = -1;

	if ((name != _SC_NPROCESSORS_ONLN && name != _SC_NPROCESSORS_CONF &&
	     name != _SC_PHYS_PAGES && name != _SC_AVPHYS_PAGES) ||
	    !hook_io_is_programs(SITE))
		return REAL(sysconf)(name);
	struct_bytes("sysconf", fetch_sysconf, &name, &value, sizeof(value));
	return value;
}
