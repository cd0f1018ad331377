/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of what a process prints. One lock, held for as long as bytes are hashed and copied;
 * a handler that comes in between, of a fault, and prints goes without. Forked children have the
 * page of their parent mapped and nothing else; programs they execute map it anew.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/varint.h"
#include "hook/kit/lock.h"
#include "hook/kit/text.h"
#include "hook/output/note.h"
#include "hook/output/output.h"
#include "hook/output/page.h"
#include "hook/output/tags.h"
#include "hook/output/theirs.h"
#include "hook/program/residue.h"
#include "hook/program/runtime.h"
#include "replay/session.h"
#include "trace/output.h"

#define CHUNK 32768

enum role { ROLE_NONE, ROLE_OWN, ROLE_CHILD };

/* One for standard output, one for standard error. */
struct chain {
	uint64_t length;
	uint64_t in_block;
	uint64_t hash; /* a child's: as it is in the sum */
	XXH3_state_t state;
};

bool hook_output_exits, hook_output_typed;
static enum role role;
static long child;  /* that this process is, or 0 */
static bool forked; /* by who is recorded */
static struct hook_lock lock;
static __thread bool busy;
static struct chain chains[2];
static struct trace_stream stream;
static struct trace_output_page *page;
static bool lost;

static void raise_flag(uint64_t flag)
{
	if (page)
		hook_page_change(&page->flags, hook_page_with, flag);
}

static void cannot_keep(void)
{
	char rank[16];
	struct hook_text text = hook_text_in(rank, sizeof(rank));

	lost = true;
	raise_flag(TRACE_OUTPUT_LOST);
	hook_text_number(&text, hook_process.rank);
	hook_say("rank ", rank, ": there is no room to keep what it prints from now on;",
		 " replays will not compare it", NULL);
}

bool hook_output_put(uint64_t head, const void *bytes, size_t n)
{
	uint8_t start[RP_VARINT_MAX];
	size_t length = rp_varint_put(start, head);

	if (trace_stream_reserve(&stream, length + n)) {
		cannot_keep();
		return false;
	}
	trace_stream_append(&stream, start, length);
	trace_stream_append(&stream, bytes, n);
	return true;
}

/* As far as it is kept; returns how much that is. */
static size_t put_text(struct chain *c, unsigned i, const uint8_t *p, size_t n)
{
	size_t room = c->length < TRACE_OUTPUT_TEXT ? TRACE_OUTPUT_TEXT - c->length : 0;
	size_t done = 0;

	n = n < room ? n : room;
	while (done < n) {
		size_t chunk = n - done < CHUNK ? n - done : CHUNK;

		if (!hook_output_put((uint64_t)chunk << 2 | i, p + done, chunk))
			break;
		done += chunk;
	}
	return done;
}

static void put_hashes(struct chain *c, unsigned i, const uint8_t *p, size_t n)
{
	while (n && !lost) {
		size_t left = TRACE_OUTPUT_BLOCK - c->in_block, part = n < left ? n : left;
		uint64_t hash;

		XXH3_64bits_update(&c->state, p, part);
		p += part;
		n -= part;
		c->in_block += part;
		if (c->in_block < TRACE_OUTPUT_BLOCK)
			break;
		hash = XXH3_64bits_digest(&c->state);
		hook_output_put((uint64_t)i << 2 | TRACE_OUTPUT_HASH, &hash, sizeof(hash));
		XXH3_64bits_reset(&c->state);
		c->in_block = 0;
	}
	hook_page_store(&page->hash[i], c->in_block ? XXH3_64bits_digest(&c->state) >> 16 : 0);
}

static void note_own(unsigned i, const uint8_t *p, size_t n)
{
	struct chain *c = &chains[i];
	size_t done;

	if (lost)
		return;
	done = put_text(c, i, p, n);
	if (done < n && !lost)
		put_hashes(c, i, p + done, n - done);
	c->length += lost ? done : n;
	hook_page_store(&page->length[i], c->length << 1 | (p[n - 1] != '\n'));
}

/* Children end in any order: what they print is a sum. */
static void note_child(unsigned i, const uint8_t *p, size_t n)
{
	struct chain *c = &chains[i];
	uint64_t hash;

	XXH3_64bits_update(&c->state, p, n);
	hash = XXH3_64bits_digest(&c->state) >> 16;
	hook_page_change(&page->children, hook_page_plus, hash - c->hash);
	c->hash = hash;
}

void hook_output_lock(void)
{
	busy = true;
	hook_lock_take(&lock);
}

void hook_output_unlock(void)
{
	hook_lock_give(&lock);
	busy = false;
}

bool hook_output_of_child(void)
{
	return role == ROLE_CHILD;
}

bool hook_output_of_forked(void)
{
	return forked && syscall(SYS_getpid) == child;
}

void hook_output_child_ran(uint64_t hash)
{
	struct trace_output_ran *ran =
		(void *)((char *)page - TRACE_OUTPUT_AT + TRACE_OUTPUT_RAN_AT);

	hook_page_change(&ran->commands, hook_page_plus, hash >> 16);
}

bool hook_output_keeps(void)
{
	return role == ROLE_OWN && !lost && !busy;
}

static void count_writing(uint64_t n)
{
	if (role == ROLE_OWN && page)
		__atomic_add_fetch(&page->writing, n, __ATOMIC_RELAXED);
}

void hook_output_begins(void)
{
	count_writing(1);
}

void hook_output_is_done(void)
{
	count_writing(UINT64_MAX);
}

void hook_output_wrote(int fd, const void *bytes, ssize_t n)
{
	enum hook_output_tag tag = hook_output_tag(fd);
	int error = errno, depth = hook_depth;

	if (n <= 0 || role == ROLE_NONE || (tag != HOOK_OUTPUT_OUT && tag != HOOK_OUTPUT_ERR))
		return;
	/* What MPI prints is not the program's; what a function prints that MPI calls is. */
	if (busy ||
	    (depth && role == ROLE_OWN && !hook_output_exits && !hook_runtime_calls_program()))
		return;
	/* What is done here is not the program's, and its handlers wait until the lock is free. */
	hook_depth = HOOK_CLOSED;
	hook_output_lock();
	if (role == ROLE_OWN)
		note_own(tag - HOOK_OUTPUT_OUT, bytes, (size_t)n);
	else
		note_child(tag - HOOK_OUTPUT_OUT, bytes, (size_t)n);
	hook_output_unlock();
	hook_depth = depth;
	errno = error;
	hook_residue_end();
}

void hook_output_wrote_parts(int fd, const struct iovec *parts, int count, ssize_t n)
{
	for (int i = 0; i < count && n > 0; i++) {
		ssize_t part = (size_t)n < parts[i].iov_len ? n : (ssize_t)parts[i].iov_len;

		hook_output_wrote(fd, parts[i].iov_base, part);
		n -= part;
	}
}

void hook_output_ends_with_others(void)
{
	if (role == ROLE_OWN)
		raise_flag(TRACE_OUTPUT_ALIVE);
}

static void reset_chains(void)
{
	for (int i = 0; i < 2; i++) {
		memset(&chains[i], 0, sizeof(chains[i]));
		XXH3_64bits_reset(&chains[i].state);
	}
}

/* "output-0003-0" in the session; in the trace it is a stream like the others. */
static void name_in_session(uint32_t process, char *out, size_t size)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, REPLAY_PRINTED);
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "-");
	hook_text_number(&text, process);
}

static int open_session(void)
{
	return open(hook_process.session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_in_session(void)
{
	return hook_process.mode == HOOK_REPLAY;
}

static int create(void)
{
	char name[TRACE_NAME_BYTES + 16];
	int dir = hook_process.rank_fd, rc;

	if (is_in_session()) {
		dir = open_session();
		name_in_session(hook_process.process, name, sizeof(name));
	} else {
		hook_stream_name(hook_thread_self(), "output", name, sizeof(name));
	}
	rc = trace_stream_create(&stream, dir, name, TRACE_STREAM_OUTPUT, hook_process.rank,
				 hook_process.process, "0");
	if (dir != hook_process.rank_fd && dir >= 0)
		close(dir);
	return rc;
}

/* The page of the rank's first process. */
static struct trace_output_page *map_first(void)
{
	bool session = is_in_session();
	int dir = session ? open_session() : hook_process.rank_fd;
	struct trace_header *header;
	char name[32] = "0.output";
	int fd;

	if (session)
		name_in_session(0, name, sizeof(name));
	fd = openat(dir, name, O_RDWR | O_CLOEXEC);
	if (session && dir >= 0)
		close(dir);
	if (fd < 0)
		return NULL;
	header = mmap(NULL, TRACE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (header == MAP_FAILED)
		return NULL;
	if (header->kind != TRACE_STREAM_OUTPUT) {
		munmap(header, TRACE_HEADER_BYTES);
		return NULL;
	}
	return trace_output_page(header);
}

static void describe(const struct stat st[3], const bool open[3])
{
	for (int i = 0; i < 3; i++)
		hook_page_store(&page->was[i], hook_output_kind(i, &st[i], open[i]));
	for (int i = 0; i < 2; i++) {
		const struct stat *s = &st[i + 1];

		page->device[i] = s->st_dev;
		page->inode[i] = s->st_ino;
		if (!open[i + 1] || (S_ISCHR(s->st_mode) && s->st_rdev == makedev(1, 3)))
			raise_flag(TRACE_OUTPUT_UNSEEN);
	}
}

void hook_output_start(void)
{
	struct stat st[3] = {0};
	bool open[3];
	int rc, error = errno;

	for (int i = 0; i < 3; i++)
		open[i] = fstat(i, &st[i]) == 0;
	if (hook_process.process == 0)
		hook_output_tag_first(open);
	else
		hook_output_tag_alike(map_first());
	rc = create();
	if (rc && rc != -EEXIST)
		cannot_keep();
	if (rc)
		return;
	page = trace_output_page(stream.header);
	describe(st, open);
	reset_chains();
	if (is_in_session()) {
		hook_output_recall();
		hook_output_typed = hook_output_was_terminal(0) == 1;
	} else {
		hook_output_typed =
			(hook_output_kind(0, &st[0], open[0]) & 15) == TRACE_OUTPUT_TERMINAL;
	}
	role = ROLE_OWN;
	hook_output_watch_stdio();
	errno = error;
}

/* Another thread may be about to append: its bytes are there, and do not count yet. */
uint64_t hook_output_snapshot(char *name, size_t size, uint8_t head[4096], uint8_t *tail,
			      size_t *tail_bytes)
{
	uint64_t left;

	if (role != ROLE_OWN || !stream.header)
		return 0;
	name_in_session(hook_process.process, name, size);
	memcpy(head, stream.header, TRACE_HEADER_BYTES);
	left = stream.window_end - stream.length;
	*tail_bytes = left < *tail_bytes ? left : *tail_bytes;
	memcpy(tail, stream.window + (stream.length - stream.window_start), *tail_bytes);
	return TRACE_HEADER_BYTES + stream.length;
}

/* By these the programs that it starts know what is standard output, and what is not. */
static void describe_anew(enum hook_output_tag tag, int i)
{
	struct stat st;

	for (int fd = 0; fd < HOOK_OUTPUT_MOST; fd++) {
		if (hook_output_tag(fd) != tag || fstat(fd, &st) != 0)
			continue;
		page->device[i] = st.st_dev;
		page->inode[i] = st.st_ino;
		return;
	}
}

void hook_output_resume(void)
{
	if (role != ROLE_OWN)
		return;
	hook_output_tag_owner();
	describe_anew(HOOK_OUTPUT_OUT, 0);
	describe_anew(HOOK_OUTPUT_ERR, 1);
}

void hook_output_attach(void)
{
	int error = errno;

	page = map_first();
	if (page) {
		hook_output_tag_alike(page);
		hook_output_theirs_inherited();
		reset_chains();
		role = ROLE_CHILD;
		hook_output_watch_stdio();
	}
	errno = error;
}

/* It may be told so several times. */
void hook_output_is_child(void)
{
	long pid = syscall(SYS_getpid);

	if (role == ROLE_NONE)
		return;
	lock = (struct hook_lock){0};
	busy = false;
	if (role == ROLE_OWN && hook_output_has_files())
		hook_output_theirs_inherited();
	reset_chains();
	hook_output_tag_owner();
	if (pid != child)
		forked = role == ROLE_OWN && page;
	child = pid;
	role = ROLE_CHILD;
}
