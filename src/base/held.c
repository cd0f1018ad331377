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

enum { GONE = -1, UNTRACED, TRACED, HELD };

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

static int ask_thread(int tasks, const char *tid, bool *runs)
{
	char path[64] = "", text[1024];
	const char *state, *tracer;
	ssize_t n;
	int fd;

	strncat(path, tid, 32);
	strcat(path, "/status");
	fd = (int)syscall(SYS_openat, tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return GONE;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return GONE;
	text[n] = 0;
	state = strstr(text, "\n" STATE);
	tracer = strstr(text, "\n" TRACER);
	if (!state || !tracer)
		return UNTRACED;
	state += 1 + strlen(STATE);
	if (*state == 'Z' || *state == 'X')
		return GONE;
	*runs |= *state == 'R';
	if (tracer[1 + strlen(TRACER)] == '0')
		return UNTRACED;
	return *state == 't' || *state == 'T' ? HELD : TRACED;
}

/* The most that is true of one of its threads, what is true of all, and whether one runs. */
struct answer {
	int most, least;
	bool runs;
};

static struct answer ask(int pid)
{
	char path[48] = "/proc/", bytes[2048] __attribute__((aligned(8)));
	struct answer answer = {UNTRACED, HELD, false}, none = {UNTRACED, UNTRACED, false};
	bool any = false;
	int tasks;
	long n;

	if (pid <= 0)
		return none;
	strcpy(add_number(path + strlen(path), (unsigned int)pid), "/task");
	tasks = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks < 0)
		return none;
	while ((n = syscall(SYS_getdents64, tasks, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(bytes + at);
			int found =
				e->name[0] == '.' ? GONE : ask_thread(tasks, e->name, &answer.runs);

			at += e->length;
			if (found == GONE)
				continue;
			any = true;
			answer.most = found > answer.most ? found : answer.most;
			answer.least = found < answer.least ? found : answer.least;
		}
	}
	syscall(SYS_close, tasks);
	return any ? answer : none;
}

bool rp_held(int pid)
{
	return ask(pid).most == HELD;
}

bool rp_traced(int pid)
{
	return ask(pid).most >= TRACED;
}

bool rp_all_held(int pid)
{
	return ask(pid).least == HELD;
}

bool rp_all_traced(int pid)
{
	return ask(pid).least >= TRACED;
}

bool rp_runs(int pid)
{
	return ask(pid).runs;
}
