/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages that the log does not have. Ranks that are restarted together send them again, into
 * files of the session (trace/live.h), one for each two ranks, and a receiver waits there. It asks
 * by sender and event, so it does not matter in which order messages are sent and taken; what is
 * passed over is remembered. Invariant: nothing is given to the program whose hash is not that of
 * what it had received.
 *
 * Only one thread of such a rank calls MPI. No image is ever taken in such a session: what is
 * static here is empty in all of them.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "hook/common/process.h"
#include "hook/kit/text.h"
#include "hook/mpi/recover/recover.h"
#include "hook/session/session.h"
#include "trace/live.h"

#define SCRATCH 7
#define EVENT_BITS 40
#define NAP_NS 50000000

/* What one rank sends to another; the key is the other one. */
struct channel {
	struct hook_entry entry;
	uint64_t *sent; /* mapped: how far it goes */
	uint64_t next;  /* to be written, or looked at */
	int fd;
};

/* A message that came before it was asked for; the key is who sent it, and when. */
struct early {
	struct hook_entry entry;
	uint64_t at, bytes;
};

static struct hook_table to_others = {.bytes = sizeof(struct channel),
				      .clear = sizeof(struct channel)};
static struct hook_table from_others = {.bytes = sizeof(struct channel),
					.clear = sizeof(struct channel)};
static struct hook_table early = {.bytes = sizeof(struct early), .clear = sizeof(struct early)};
static const struct trace_live_entry *entries;
static uint64_t entry_count, entry_next;

static struct hook_text session_path(char *out, size_t size, const char *name)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, name);
	return text;
}

/* Both ends may be the first: the file only ever grows. */
static void open_channel(struct channel *c, uint32_t from, uint32_t to)
{
	char path[1100];
	struct hook_text text = session_path(path, sizeof(path), "/live/");
	struct stat st;
	void *p;

	hook_text_padded(&text, from, 4);
	hook_text_add(&text, "-");
	hook_text_padded(&text, to, 4);
	c->fd = rp_fd_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (c->fd < 0)
		hook_log_fail("cannot open what ranks send each other: ", strerror(errno));
	c->fd = hook_high_fd(c->fd);
	if (fstat(c->fd, &st) != 0 ||
	    (st.st_size < TRACE_LIVE_FIRST && pwrite(c->fd, "", 1, TRACE_LIVE_FIRST - 1) != 1))
		hook_log_fail("cannot write what ranks send each other: ", strerror(errno));
	p = mmap(NULL, TRACE_LIVE_FIRST, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (p == MAP_FAILED)
		hook_log_fail("cannot map what ranks send each other: ", strerror(errno));
	c->sent = p;
	c->next = TRACE_LIVE_FIRST;
}

static struct channel *channel_of(struct hook_table *t, uint32_t other)
{
	struct channel *c = hook_table_find(t, other);

	if (c)
		return c;
	c = hook_mpi_entry(t, other, "what ranks send each other");
	if (t == &to_others)
		open_channel(c, hook_process.rank, other);
	else
		open_channel(c, other, hook_process.rank);
	return c;
}

static void append(void *channel, const void *bytes, size_t n)
{
	struct channel *c = channel;
	const char *from = bytes;

	while (n) {
		ssize_t done = pwrite(c->fd, from, n, (off_t)c->next);

		if (done < 0 && errno != EINTR)
			hook_log_fail("cannot write what ranks send each other: ", strerror(errno));
		from += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
		c->next += done > 0 ? (uint64_t)done : 0;
	}
}

void recover_live_send(struct hook_log *log, const struct hook_block *b, int dest, MPI_Comm comm)
{
	struct trace_live_sent head = {log->event, 0};
	struct channel *c;
	int to;

	if (!(hook_slot->flags & REPLAY_LIVE))
		return;
	to = recover_world_rank(comm, dest);
	if (to < 0 || !(hook_session_slot((uint32_t)to)->flags & REPLAY_LIVE))
		return;
	log->inside++;
	c = channel_of(&to_others, (uint32_t)to);
	head.bytes = hook_block_bytes(b);
	append(c, &head, sizeof(head));
	hook_block_each(b, true, append, c);
	__atomic_store_n(c->sent, c->next, __ATOMIC_RELEASE);
	syscall(SYS_futex, c->sent, FUTEX_WAKE, 1, NULL, NULL, 0);
	log->inside--;
}

bool recover_live_is_next(const struct hook_log *log)
{
	return log->more && log->next.kind == TRACE_LOG_LIVE;
}

/* The list of what is not in the log; the front has compared its checksum. */
static void open_entries(void)
{
	char path[1100], name[TRACE_NAME_BYTES + 16];
	struct hook_text text = session_path(path, sizeof(path), "/log/rank-");
	const struct trace_live_head *head;
	struct stat st;
	int fd;

	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "/");
	hook_stream_name(hook_self, "live", name, sizeof(name));
	hook_text_add(&text, name);
	fd = rp_fd_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) != 0 || (size_t)st.st_size < sizeof(*head))
		hook_log_fail("the list of messages that are sent again is not there", "");
	head = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (head == MAP_FAILED)
		hook_log_fail("cannot map the list of messages that are sent again: ",
			      strerror(errno));
	entries = (const struct trace_live_entry *)(head + 1);
	entry_count = ((size_t)st.st_size - sizeof(*head)) / sizeof(*entries);
}

/* Mostly the one behind the last; the first time it is in the middle. */
static const struct trace_live_entry *find_entry(uint64_t at)
{
	uint64_t low = 0, high;

	if (!entries)
		open_entries();
	if (entry_next < entry_count && entries[entry_next].at == at)
		return &entries[entry_next++];
	for (high = entry_count; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		if (entries[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == entry_count || entries[low].at != at)
		hook_log_fail("the log makes no sense here", "");
	entry_next = low + 1;
	return &entries[low];
}

static uint64_t key_of(uint32_t sender, uint64_t event)
{
	return (uint64_t)sender << EVENT_BITS | event;
}

static void read_at(const struct channel *c, void *to, size_t n, uint64_t at)
{
	char *p = to;

	while (n) {
		ssize_t done = pread(c->fd, p, n, (off_t)at);

		if (done == 0 || (done < 0 && errno != EINTR))
			hook_log_fail("cannot read what ranks send each other: ",
				      done ? strerror(errno) : "it is cut");
		p += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
		at += done > 0 ? (uint64_t)done : 0;
	}
}

/* Waits until there is more than that. The front judges whether anything can still come. */
static void await_more(const struct channel *c, uint64_t seen)
{
	struct timespec nap = {0, NAP_NS};
	uint64_t sent;

	while ((sent = __atomic_load_n(c->sent, __ATOMIC_ACQUIRE)) <= seen)
		syscall(SYS_futex, c->sent, FUTEX_WAIT, (uint32_t)sent, &nap, NULL, 0);
}

/* What comes before it is remembered: it may be asked for later, or has been received before. */
static struct early find_message(struct channel *c, uint32_t sender, uint64_t event)
{
	struct early *e = hook_table_find(&early, key_of(sender, event)), found = {.at = 0};
	struct trace_live_sent head;

	if (e) {
		found = *e;
		hook_table_remove(&early, e);
		hook_table_free(&early, e);
		return found;
	}
	for (;;) {
		await_more(c, c->next);
		read_at(c, &head, sizeof(head), c->next);
		found.at = c->next + sizeof(head);
		found.bytes = head.bytes;
		c->next = found.at + head.bytes;
		if (head.event == event)
			return found;
		e = hook_mpi_entry(&early, key_of(sender, head.event),
				   "what ranks send each other");
		e->at = found.at;
		e->bytes = found.bytes;
	}
}

static void hash_piece(void *state, const void *bytes, size_t n)
{
	XXH3_64bits_update(state, bytes, n);
}

static uint64_t hash_of(const struct hook_block *b)
{
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	hook_block_each(b, false, hash_piece, &state);
	return XXH3_64bits_digest(&state);
}

void recover_live_take(struct hook_log *log, const struct trace_log_rec *rec,
		       const struct hook_block *b)
{
	const struct trace_live_entry *e =
		find_entry((uint64_t)(rec->data - log->reader.view.bytes));
	struct channel *c = channel_of(&from_others, e->sender);
	struct early m;
	uint8_t *bytes;

	log->inside++;
	m = find_message(c, e->sender, e->event);
	bytes = m.bytes == rec->bytes ? hook_mpi_scratch(hook_self, SCRATCH, m.bytes + 1) : NULL;
	if (m.bytes == rec->bytes && !bytes)
		hook_log_fail("out of memory for a message", "");
	if (bytes) {
		read_at(c, bytes, m.bytes, m.at);
		hook_block_unpack(b, bytes, m.bytes);
	}
	if (!bytes || hash_of(b) != e->hash)
		hook_log_fail(
			"a message that is sent again is not what it was when the log was made",
			"");
	log->inside--;
}
