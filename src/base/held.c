/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads are attached to and stopped one by one, so each is asked. A stopped thread ("T") that has
 * no tracer was stopped by a signal, and is none of these.
 */
#include "base/held.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATE "State:\t"
#define TRACER "TracerPid:\t"

enum { UNTRACED, TRACED, HELD };

struct entry {
	uint64_t number;
	int64_t offset;
	unsigned short length;
	unsigned char type;
	char name[];
};

/* At most ten digits. */
static char *add_number(char *out, unsigned int n)
{
	char digits[16], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10));
	memcpy(out, p, (size_t)(digits + sizeof(digits) - p));
	return out + (digits + sizeof(digits) - p);
}

static int ask_thread(int tasks, const char *tid)
{
	char path[64] = "", text[1024];
	const char *state, *tracer;
	ssize_t n;
	int fd;

	strncat(path, tid, 32);
	strcat(path, "/status");
	fd = (int)syscall(SYS_openat, tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return UNTRACED;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	state = strstr(text, "\n" STATE);
	tracer = strstr(text, "\n" TRACER);
	if (!state || !tracer || tracer[1 + strlen(TRACER)] == '0')
		return UNTRACED;
	state += 1 + strlen(STATE);
	return *state == 't' || *state == 'T' ? HELD : TRACED;
}

/* The most that is true of one of its threads. */
static int ask(int pid)
{
	char path[48] = "/proc/", bytes[2048] __attribute__((aligned(8)));
	int tasks, what = UNTRACED;
	long n;

	if (pid <= 0)
		return UNTRACED;
	strcpy(add_number(path + strlen(path), (unsigned int)pid), "/task");
	tasks = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks < 0)
		return UNTRACED;
	while (what < HELD && (n = syscall(SYS_getdents64, tasks, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n && what < HELD;) {
			const struct entry *e = (const struct entry *)(bytes + at);
			int found = e->name[0] == '.' ? UNTRACED : ask_thread(tasks, e->name);

			what = found > what ? found : what;
			at += e->length;
		}
	}
	syscall(SYS_close, tasks);
	return what;
}

bool rp_held(int pid)
{
	return ask(pid) == HELD;
}

bool rp_traced(int pid)
{
	return ask(pid) >= TRACED;
}
