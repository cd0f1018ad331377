/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is as long as it will ever be from the start, so that no store meets a full disk. A
 * reader checks every slot when it opens the file.
 */
#include "trace/window.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/limit.h"
#include "trace/format.h"

#define MAGIC "REPRISEW"
#define PAGE 4096
#define MAX_SLOTS (1u << 24)

struct head {
	char magic[8];
	uint32_t version, slots;
};

static uint64_t second_word(uint64_t word, uint32_t count)
{
	word = (word ^ word >> 31 ^ (uint64_t)count << 40) * 0x9e3779b97f4a7c15ull;
	return (word & ~(uint64_t)UINT32_MAX) | count;
}

static size_t size_of(uint32_t slots)
{
	return PAGE + (size_t)slots * 2 * sizeof(uint64_t);
}

int trace_window_create(struct trace_window *w, int dirfd, const char *name, uint32_t slots)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct head *head;
	int rc;

	if (fd < 0)
		return -errno;
	w->mapped = size_of(slots);
	rc = rp_limit_check(w->mapped);
	if (!rc)
		rc = -posix_fallocate(fd, 0, (off_t)w->mapped);
	if (rc)
		goto remove;
	head = mmap(NULL, w->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED) {
		rc = -errno;
		goto remove;
	}
	close(fd);
	head->version = TRACE_VERSION;
	head->slots = slots;
	memcpy(head->magic, MAGIC, sizeof(head->magic));
	w->word = (uint64_t *)((char *)head + PAGE);
	w->slots = slots;
	return 0;
remove:
	unlinkat(dirfd, name, 0);
	close(fd);
	return rc;
}

void trace_window_set(struct trace_window *w, uint32_t slot, uint64_t number, uint32_t source,
		      uint32_t count)
{
	uint64_t word = number << 24 | (source + 1);
	bool same = w->word[2 * slot] == word;

	if (!same)
		__atomic_store_n(&w->word[2 * slot], 0, __ATOMIC_RELEASE);
	__atomic_store_n(&w->word[2 * slot + 1], second_word(word, count), __ATOMIC_RELEASE);
	if (!same)
		__atomic_store_n(&w->word[2 * slot], word, __ATOMIC_RELEASE);
}

void trace_window_clear(struct trace_window *w, uint32_t slot)
{
	__atomic_store_n(&w->word[2 * slot], 0, __ATOMIC_RELEASE);
}

void trace_window_close(struct trace_window *w)
{
	if (w->word)
		munmap((char *)w->word - PAGE, w->mapped);
	w->word = NULL;
}

static const char *check(const struct trace_window *w)
{
	const struct head *head = (const void *)((const char *)w->word - PAGE);

	if (memcmp(head->magic, MAGIC, sizeof(head->magic)) != 0)
		return "is not what it should be";
	if (head->version < TRACE_VERSION_OLDEST || head->version > TRACE_VERSION)
		return "has a format that this Reprise does not know";
	if (head->slots > MAX_SLOTS || size_of(head->slots) != w->mapped)
		return "is cut";
	for (uint32_t i = 0; i < head->slots; i++) {
		uint64_t word = w->word[2 * i], second = w->word[2 * i + 1];

		if (word && second != second_word(word, (uint32_t)second))
			return "is damaged";
	}
	return NULL;
}

int trace_window_open(struct trace_window *w, int dirfd, const char *name, const char **why)
{
	int fd = rp_fd_open_file(dirfd, name);
	struct stat st;
	void *p;

	memset(w, 0, sizeof(*w));
	if (fd < 0 || fstat(fd, &st) != 0) {
		int rc = -errno;

		*why = strerror(-rc);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	*why = "is cut";
	w->mapped = (size_t)st.st_size;
	p = w->mapped < PAGE ? MAP_FAILED : mmap(NULL, w->mapped, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return -EBADMSG;
	w->word = (uint64_t *)((char *)p + PAGE);
	*why = check(w);
	w->slots = ((const struct head *)p)->slots;
	if (!*why)
		return 0;
	trace_window_close(w);
	return -EBADMSG;
}

bool trace_window_get(const struct trace_window *w, uint32_t slot, uint64_t *number,
		      uint32_t *source, uint32_t *count)
{
	uint64_t word = w->word[2 * slot];

	*number = word >> 24;
	*source = (uint32_t)(word & 0xffffff) - 1;
	*count = (uint32_t)w->word[2 * slot + 1];
	return word != 0;
}
