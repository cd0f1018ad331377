/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls without libc, for code that runs where libc has no state to rely on: in the child
 * that writes an image, and while an address space is replaced. Results are as the kernel gives
 * them, -errno for errors. Everything is inlined: the restorer's code is moved elsewhere.
 */
#ifndef CKPT_RAW_H
#define CKPT_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/raw.h"

#define RAW static inline __attribute__((always_inline))

#define RAW_CALL(n, a, b, c, d, e, f, ...)                                                         \
	rp_raw_call((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* raw(SYS_x, arguments…): those that are not given are 0. */
#define raw(...) RAW_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

/* All of it, at that place of the file; 0 or -errno. */
RAW long raw_write_at(int fd, const void *bytes, uint64_t n, uint64_t at)
{
	const char *p = bytes;

	while (n) {
		long done = raw(SYS_pwrite64, fd, p, n, at);

		if (done == -4 /* EINTR */)
			continue;
		if (done <= 0)
			return done ? done : -28 /* ENOSPC */;
		p += done;
		n -= (uint64_t)done;
		at += (uint64_t)done;
	}
	return 0;
}

RAW long raw_read_at(int fd, void *bytes, uint64_t n, uint64_t at)
{
	char *p = bytes;

	while (n) {
		long done = raw(SYS_pread64, fd, p, n, at);

		if (done == -4 /* EINTR */)
			continue;
		if (done <= 0)
			return done ? done : -61 /* ENODATA */;
		p += done;
		n -= (uint64_t)done;
		at += (uint64_t)done;
	}
	return 0;
}

/* A whole file of /proc; its length, at most size - 1 and followed by a 0, or -errno. */
RAW long raw_slurp(const char *path, char *out, uint64_t size)
{
	long fd = raw(SYS_open, path, 02000000 /* O_CLOEXEC */, 0), done = 0;
	uint64_t n = 0;

	if (fd < 0)
		return fd;
	while (n + 1 < size && (done = raw(SYS_read, fd, out + n, size - 1 - n)) > 0)
		n += (uint64_t)done;
	raw(SYS_close, fd);
	out[n] = 0;
	return done < 0 ? done : n + 1 == size ? -7 /* E2BIG */ : (long)n;
}

/* A line of /proc/self/maps. */
struct raw_map {
	uint64_t start, end, offset, inode;
	int prot;
	int shared;
	char *path; /* in place; "" if there is none */
};

RAW uint64_t raw_hex(char **p)
{
	uint64_t value = 0;

	for (;; ++*p) {
		char c = **p;

		if (c >= '0' && c <= '9')
			value = value * 16 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (uint64_t)(c - 'a') + 10;
		else
			return value;
	}
}

RAW uint64_t raw_decimal(char **p)
{
	uint64_t value = 0;

	for (; **p >= '0' && **p <= '9'; ++*p)
		value = value * 10 + (uint64_t)(**p - '0');
	return value;
}

/* Reads the line at p, which it ends with a 0; where the next begins, or NULL if there is none. */
RAW char *raw_map_line(char *p, struct raw_map *m)
{
	if (!*p)
		return NULL;
	m->start = raw_hex(&p);
	p++;
	m->end = raw_hex(&p);
	p++;
	m->prot = (p[0] == 'r') | (p[1] == 'w') << 1 | (p[2] == 'x') << 2;
	m->shared = p[3] == 's';
	p += 5;
	m->offset = raw_hex(&p);
	p++;
	while (*p != ' ')
		p++;
	p++;
	m->inode = raw_decimal(&p);
	while (*p == ' ')
		p++;
	m->path = p;
	while (*p && *p != '\n')
		p++;
	if (*p)
		*p++ = 0;
	return p;
}

RAW int raw_same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

/* The rest of a behind the prefix b, or NULL. */
RAW const char *raw_behind(const char *a, const char *b)
{
	for (; *b; a++, b++) {
		if (*a != *b)
			return NULL;
	}
	return a;
}

/* How the kernel marks the path of a file without a name. */
#define RAW_DELETED " (deleted)"

RAW uint64_t raw_length(const char *s)
{
	uint64_t n = 0;

	for (; s[n]; n++)
		__asm__ volatile("");
	return n;
}

RAW int raw_is_deleted(const char *path)
{
	uint64_t n = raw_length(path), k = sizeof(RAW_DELETED) - 1;

	return n >= k && raw_same(path + n - k, RAW_DELETED);
}

RAW void raw_copy(void *to, const void *from, uint64_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

#endif
