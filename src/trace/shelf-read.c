/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side. The files of one process stay mapped, with an index by name, until another
 * process is asked for. A stream that is read from them is copied, and looks as if it had been a
 * file. Invariant: the index holds only what lies within the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "trace/shelf.h"
#include "trace/stream-inner.h"

#define PACKED_DATA_AT (TRACE_SYNC_PENDING_AT + TRACE_SYNC_PENDING_BYTES)

struct place {
	const struct trace_header *header; /* NULL: none */
	bool is_live;
};

static struct {
	int busy;
	bool loaded;
	dev_t device;
	ino_t inode;
	uint32_t process;
	const char *damage; /* of the file of ended ones; NULL: none */
	struct trace_view ended, live;
	uint64_t pages;
	struct place *index;
	size_t slots; /* a power of two */
} shelf;

static void lock(void)
{
	rp_lock_take(&shelf.busy);
}

static void unlock(void)
{
	rp_lock_give(&shelf.busy);
}

static size_t hash_of(uint32_t kind, const char *thread)
{
	uint64_t x = kind + 1;

	for (const char *p = thread; *p; p++)
		x = (x ^ (uint8_t)*p) * 0x100000001b3ull;
	return (size_t)((x * 0x9e3779b97f4a7c15ull) >> 20);
}

/* If a stream is in both files, the ended one is the later. */
static void add(struct place place, bool counted_only, uint64_t *count)
{
	const struct trace_header *h = place.header;
	size_t at = hash_of(h->kind, h->thread);

	++*count;
	if (counted_only)
		return;
	for (;; at++) {
		struct place *there = &shelf.index[at & (shelf.slots - 1)];

		if (!there->header)
			*there = place;
		else if (there->header->kind != h->kind || strcmp(there->header->thread, h->thread))
			continue;
		return;
	}
}

static bool is_named(const struct trace_header *h)
{
	return !h->thread[TRACE_NAME_BYTES - 1] && h->process == shelf.process &&
	       trace_shelf_has(h->kind, h->thread);
}

/* NULL: what is there makes no sense. */
static const struct trace_shelved *record_at(uint64_t at, uint64_t *next)
{
	const struct trace_shelved *s = (const void *)(shelf.ended.bytes + at);
	uint64_t room = shelf.ended.length - at, bytes;

	if (room < sizeof(*s) || s->pending > TRACE_SYNC_PENDING_BYTES ||
	    s->data > TRACE_HEADER_BYTES || (s->pending && s->header.kind != TRACE_STREAM_SYNC))
		return NULL;
	bytes = (sizeof(*s) + s->pending + s->data + 7) & ~7ull;
	if (bytes > room || !is_named(&s->header))
		return NULL;
	*next = at + bytes;
	return s;
}

static uint64_t walk(bool counted_only)
{
	uint64_t count = 0, next;

	for (uint64_t at = 0; at < shelf.ended.length; at = next) {
		const struct trace_shelved *s = record_at(at, &next);

		if (!s) {
			shelf.damage = "is damaged: its records make no sense";
			break;
		}
		add((struct place){&s->header, false}, counted_only, &count);
	}
	for (uint64_t i = 0; i < shelf.pages; i++) {
		const struct trace_header *h = (const void *)((const char *)shelf.live.header +
							      (i + 1) * TRACE_HEADER_BYTES);

		if (!__atomic_load_n(&h->check, __ATOMIC_ACQUIRE))
			continue;
		if (is_named(h))
			add((struct place){h, true}, counted_only, &count);
		else
			shelf.damage = "is damaged: a page of it makes no sense";
	}
	return count;
}

static void unload(void)
{
	trace_view_close(&shelf.ended);
	trace_view_close(&shelf.live);
	if (shelf.index)
		munmap(shelf.index, shelf.slots * sizeof(*shelf.index));
	shelf.index = NULL;
	shelf.loaded = false;
	shelf.damage = NULL;
	shelf.pages = 0;
}

static void open_files(int dirfd)
{
	char name[TRACE_SHELF_NAME_BYTES];
	const char *why;
	int rc;

	trace_shelf_name(shelf.process, TRACE_SHELF_ENDED, name);
	rc = trace_view_open(&shelf.ended, dirfd, name, &why);
	if (!rc && shelf.ended.header->kind != TRACE_STREAM_THREADS)
		rc = -EBADMSG;
	if (rc)
		shelf.ended = (struct trace_view){0};
	if (rc && rc != -ENOENT)
		shelf.damage = why;
	trace_shelf_name(shelf.process, TRACE_SHELF_LIVE, name);
	rc = trace_view_open(&shelf.live, dirfd, name, &why);
	if (!rc && shelf.live.header->kind == TRACE_STREAM_LIVE)
		shelf.pages = shelf.live.events;
	else if (rc != -ENOENT)
		shelf.damage = "is damaged";
}

static int load(int dirfd, const struct stat *st, uint32_t process)
{
	size_t slots = 16;
	uint64_t count;
	void *p;

	unload();
	shelf.process = process;
	open_files(dirfd);
	count = walk(true);
	while (slots < 2 * count)
		slots *= 2;
	p = mmap(NULL, slots * sizeof(*shelf.index), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		unload();
		return -ENOMEM;
	}
	shelf.index = p;
	shelf.slots = slots;
	walk(false);
	shelf.device = st->st_dev;
	shelf.inode = st->st_ino;
	shelf.loaded = true;
	return 0;
}

static struct place find(uint32_t kind, const char *thread)
{
	size_t at = hash_of(kind, thread);

	for (;; at++) {
		const struct place *there = &shelf.index[at & (shelf.slots - 1)];

		if (!there->header ||
		    (there->header->kind == kind && !strcmp(there->header->thread, thread)))
			return *there;
	}
}

/* As it would be in a file; its data are behind what is pending, or a page further if they are
 * long. */
static int copy(struct trace_view *v, struct place place, const uint8_t **bytes, uint64_t *room)
{
	const struct trace_shelved *s = (const void *)place.header;
	size_t data = place.is_live ? 0 : s->data, size = TRACE_HEADER_BYTES, at = PACKED_DATA_AT;
	uint8_t *p;

	if (data > TRACE_HEADER_BYTES - at) {
		at = TRACE_HEADER_BYTES;
		size += TRACE_HEADER_BYTES;
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	if (place.is_live) {
		memcpy(p, place.header, TRACE_HEADER_BYTES);
		at = trace_live_data_at(((struct trace_header *)p)->kind);
		data = TRACE_HEADER_BYTES - at;
	} else {
		memcpy(p, &s->header, sizeof(s->header));
		memcpy(p + TRACE_SYNC_PENDING_AT, s + 1, s->pending);
		memcpy(p + at, (const uint8_t *)(s + 1) + s->pending, data);
	}
	*v = (struct trace_view){.header = (void *)p, .mapped = size, .is_shelved = true};
	*bytes = p + at;
	*room = data;
	return 0;
}

/* "p1-0.2.sync": its parts; false if streams of that name are files. */
static bool parse(const char *name, uint32_t *process, uint32_t *kind,
		  char thread[TRACE_NAME_BYTES])
{
	static const struct {
		const char *word;
		uint32_t kind;
	} kinds[] = {{".sync", TRACE_STREAM_SYNC},
		     {".input", TRACE_STREAM_INPUT},
		     {".heap", TRACE_STREAM_HEAP}};
	const char *end = strrchr(name, '.');

	*process = 0;
	if (*name == 'p') {
		for (name++; *name >= '0' && *name <= '9'; name++)
			*process = *process * 10 + (uint32_t)(*name - '0');
		if (*name++ != '-')
			return false;
	}
	if (!end || end <= name || end - name >= TRACE_NAME_BYTES)
		return false;
	memcpy(thread, name, (size_t)(end - name));
	thread[end - name] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		*kind = kinds[i].kind;
		if (!strcmp(end, kinds[i].word))
			return trace_shelf_has(*kind, thread);
	}
	return false;
}

static int view(struct trace_view *v, uint32_t kind, const char *thread, const char **why)
{
	struct place place = find(kind, thread);
	const uint8_t *bytes;
	uint64_t room;
	int rc;

	if (!place.header) {
		*why = "is lost: the file of ended threads is damaged";
		return shelf.damage ? -EBADMSG : -ENOENT;
	}
	*why = "cannot be read";
	rc = copy(v, place, &bytes, &room);
	if (rc)
		return rc;
	*why = trace_view_verify(v, bytes, room);
	if (!*why)
		return 0;
	trace_view_close(v);
	return -EBADMSG;
}

int trace_shelf_view(struct trace_view *v, int dirfd, const char *name, const char **why)
{
	char thread[TRACE_NAME_BYTES];
	uint32_t process, kind;
	struct stat st;
	int rc = 0;

	if (!parse(name, &process, &kind, thread))
		return -ENOENT;
	*why = "cannot be read";
	if (fstat(dirfd, &st) != 0)
		return -errno;
	lock();
	if (!shelf.loaded || shelf.device != st.st_dev || shelf.inode != st.st_ino ||
	    shelf.process != process)
		rc = load(dirfd, &st, process);
	if (!rc)
		rc = view(v, kind, thread, why);
	unlock();
	return rc;
}

int trace_shelf_list(int dirfd, uint32_t process,
		     void (*each)(void *arg, uint32_t kind, const char *thread), void *arg)
{
	struct stat st;
	int rc;

	if (fstat(dirfd, &st) != 0)
		return -errno;
	lock();
	rc = load(dirfd, &st, process);
	for (size_t i = 0; !rc && i < shelf.slots; i++) {
		if (shelf.index[i].header)
			each(arg, shelf.index[i].header->kind, shelf.index[i].header->thread);
	}
	if (!rc && shelf.damage)
		rc = -EBADMSG;
	unlock();
	return rc;
}
