/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that is killed between taking a slot and publishing it, or before it has written the
 * header, leaves what readers pass over. Two processes may make the file at once: they write the
 * same header.
 */
#include "trace/unseen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limit.h"

#define MAGIC "REPRISEU"
#define PAGE 4096
#define SIZE (PAGE + TRACE_UNSEEN_SLOTS * sizeof(struct trace_unseen))
#define FREE 0
#define TAKEN 1

struct head {
	char magic[8];
	uint32_t version, slots;
};

_Static_assert(sizeof(struct trace_unseen) == 512, "slots lie in the file as they are");

static uint64_t check_of(const struct trace_unseen *u)
{
	const uint8_t *p = (const uint8_t *)&u->event, *end = (const uint8_t *)(u + 1);
	uint64_t h = 0x9e3779b97f4a7c15ull;

	for (; p < end; p++)
		h = (h ^ *p) * 0x100000001b3ull;
	return h > TAKEN ? h : TAKEN + 1;
}

struct trace_unseen *trace_unseen_map(int dirfd, const char *name)
{
	int fd = rp_fd_openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct head *head = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (rp_limit_check(SIZE) == 0 && posix_fallocate(fd, 0, SIZE) == 0)
		head = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (head == MAP_FAILED) {
		unlinkat(dirfd, name, 0);
		return NULL;
	}
	head->version = TRACE_VERSION;
	head->slots = TRACE_UNSEEN_SLOTS;
	memcpy(head->magic, MAGIC, sizeof(head->magic));
	return (struct trace_unseen *)((char *)head + PAGE);
}

static struct trace_unseen *find(struct trace_unseen *slots, int n, const char *key)
{
	for (int i = 0; i < n; i++) {
		if (__atomic_load_n(&slots[i].state, __ATOMIC_ACQUIRE) > TAKEN &&
		    strncmp(slots[i].key, key, sizeof(slots[i].key)) == 0)
			return &slots[i];
	}
	return NULL;
}

struct trace_unseen *trace_unseen_take(struct trace_unseen *slots, const struct trace_unseen *fill)
{
	struct trace_unseen *known = find(slots, TRACE_UNSEEN_SLOTS, fill->key);

	if (known)
		return known;
	for (int i = 0; i < TRACE_UNSEEN_SLOTS; i++) {
		struct trace_unseen *u = &slots[i];
		uint64_t none = FREE;

		if (!__atomic_compare_exchange_n(&u->state, &none, TAKEN, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		memcpy(&u->event, &fill->event, sizeof(*u) - offsetof(struct trace_unseen, event));
		__atomic_store_n(&u->state, check_of(u), __ATOMIC_RELEASE);
		return u;
	}
	return NULL;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

static bool is_sound(const struct trace_unseen *u)
{
	return u->state == check_of(u) && is_text(u->thread, sizeof(u->thread)) &&
	       is_text(u->key, sizeof(u->key)) && is_text(u->what, sizeof(u->what)) &&
	       is_text(u->remedy, sizeof(u->remedy));
}

static int read_slots(const struct trace_unseen *slots, struct trace_unseen *out)
{
	int n = 0;

	for (int i = 0; i < TRACE_UNSEEN_SLOTS; i++) {
		struct trace_unseen *same;

		if (slots[i].state <= TAKEN)
			continue;
		out[n] = slots[i];
		if (!is_sound(&out[n]))
			return -EBADMSG;
		same = find(out, n, out[n].key);
		if (same)
			same->count += out[n].count;
		else
			n++;
	}
	return n;
}

int trace_unseen_read(int rankfd, struct trace_unseen *out, const char **why)
{
	int fd = rp_fd_open_file(rankfd, TRACE_UNSEEN_NAME), n = -EBADMSG;
	const struct head nothing = {0}, *head;
	struct stat st = {0};

	if (fd < 0)
		return 0;
	*why = "is cut";
	head = fstat(fd, &st) == 0 && st.st_size == (off_t)SIZE
		       ? mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0)
		       : MAP_FAILED;
	close(fd);
	if (head == MAP_FAILED)
		return st.st_size ? n : 0;
	*why = "is damaged";
	if (memcmp(head, &nothing, sizeof(nothing)) == 0)
		n = 0;
	else if (memcmp(head->magic, MAGIC, sizeof(head->magic)) == 0 &&
		 head->version >= TRACE_VERSION_OLDEST && head->version <= TRACE_VERSION &&
		 head->slots == TRACE_UNSEEN_SLOTS)
		n = read_slots((const struct trace_unseen *)((const char *)head + PAGE), out);
	munmap((void *)head, SIZE);
	return n;
}
