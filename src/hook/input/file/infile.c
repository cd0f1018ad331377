/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every open costs an fstat and a look into a table; nothing more is asked about files seen before.
 * Invariant: an entry of the table is there before the file is examined, so if two threads open it
 * at once, only one examines it.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/file/infile.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/kit/lock.h"
#include "hook/kit/proc.h"
#include "hook/kit/random.h"
#include "hook/kit/table.h"
#include "hook/program/residue.h"
#include "hook/session/unseen.h"

#define MEM_MAJOR 1 /* /dev/null, /dev/zero, /dev/urandom */
#define MOST_FILES (1u << 20)
#define MOST_FRESH 4096u  /* a run may make files all the time */
#define MOST_HASHED 4096u /* of so many files the times must do */

struct seen {
	struct hook_entry entry;
	uint64_t device, inode, size, time;
	uint32_t number;
};

static struct hook_table table = {.bytes = sizeof(struct seen), .clear = sizeof(struct seen)};
static uint32_t fresh_files, hashed_files;
static struct hook_lock lock;
static struct trace_stream stream;
static bool closed;

void hook_infile_lock(void)
{
	hook_lock_take_as(&lock, hook_process.pid);
}

void hook_infile_unlock(void)
{
	hook_lock_give(&lock);
}

static int64_t ns_of(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

/* A file that the run itself makes is one, whatever its state. */
static struct seen what_is(const struct stat *st, bool fresh)
{
	struct seen s = {.device = st->st_dev, .inode = st->st_ino};

	if (!fresh) {
		s.size = (uint64_t)st->st_size;
		s.time = (uint64_t)(ns_of(&st->st_mtim) ^ ns_of(&st->st_ctim) << 1);
	}
	s.entry.key = hook_random_spread(s.inode) ^ s.time ^ s.device;
	return s;
}

static struct seen *find(const struct seen *s)
{
	struct seen *e = hook_table_find(&table, s->entry.key);

	while (e && (e->inode != s->inode || e->device != s->device || e->size != s->size ||
		     e->time != s->time))
		e = hook_table_at(&table, e->entry.next);
	return e;
}

bool hook_infile_seen(const struct stat *st, bool fresh, bool *first, uint32_t *number)
{
	struct seen s = what_is(st, fresh), *there = find(&s);

	*first = !there;
	if (!there) {
		there = table.used < MOST_FILES ? hook_table_new(&table) : NULL;
		if (!there)
			return false;
		s.entry.index = there->entry.index;
		*there = s;
		hook_table_insert(&table, there, s.entry.key);
	}
	*number = there->number;
	return true;
}

void hook_infile_set(const struct stat *st, bool fresh, uint32_t number)
{
	struct seen s = what_is(st, fresh), *there = find(&s);

	if (there)
		there->number = number;
}

static void record(struct hook_thread *t, int fd, int flags, const struct stat *st);

static void compare(struct hook_thread *t, int fd, int flags, const struct stat *st)
{
	(void)t;
	hook_infile_compare(fd, flags, st);
}

static const struct mode {
	const char *dir, *began; /* a file there that nobody touches once it has begun */
	int (*missing)(int dir, const char *path, int flags, int error); /* NULL: is not there */
	void (*opened)(struct hook_thread *t, int fd, int flags, const struct stat *st);
} recording = {hook_process.dir, "/meta.json", NULL, record},
  replaying = {hook_process.session, "/moved", hook_infile_missing, compare};

static const struct mode *mode(void)
{
	return hook_process.mode == HOOK_REPLAY ? &replaying : &recording;
}

static struct timespec beginning(void)
{
	static struct timespec began;
	char path[1100];
	struct hook_text text = hook_text_in(path, sizeof(path));
	struct stat st = {0};

	if (began.tv_sec)
		return began;
	hook_text_add(&text, mode()->dir);
	hook_text_add(&text, mode()->began);
	if (stat(path, &st) != 0)
		REAL(clock_gettime)(CLOCK_REALTIME_COARSE, &st.st_mtim);
	began = st.st_mtim;
	return began;
}

bool hook_infile_is_fresh(const struct stat *st)
{
	struct timespec began = beginning();

	/* Some file systems count seconds. */
	if (!st->st_ctim.tv_nsec && !st->st_mtim.tv_nsec)
		return st->st_ctim.tv_sec >= began.tv_sec;
	return ns_of(&st->st_ctim) > ns_of(&began);
}

static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 && path[n] == '/';
}

size_t hook_infile_path(int fd, char path[TRACE_FILE_PATH])
{
	size_t n = hook_proc_fd_target(fd, path, TRACE_FILE_PATH);

	if (!n || n >= TRACE_FILE_PATH - 1 || path[0] != '/')
		return 0;
	if (is_below(path, "/proc") || is_below(path, "/sys") || is_below(path, "/dev") ||
	    is_below(path, hook_process.dir))
		return 0;
	return n;
}

void hook_infile_describe(struct trace_file *file, const struct stat *st)
{
	*file = (struct trace_file){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.modified = ns_of(&st->st_mtim),
	};
}

bool hook_infile_hash(int fd, uint64_t size, uint64_t *hash)
{
	XXH64_state_t state;
	char bytes[4096];
	uint64_t at = 0;
	ssize_t n;

	if (size > TRACE_FILE_SMALL)
		return false;
	XXH64_reset(&state, 0);
	while ((n = REAL(pread64)(fd, bytes, sizeof(bytes), (off64_t)at)) > 0 &&
	       at <= TRACE_FILE_SMALL) {
		XXH64_update(&state, bytes, (size_t)n);
		at += (uint64_t)n;
	}
	*hash = XXH64_digest(&state);
	return n == 0 && at == size;
}

static int write_down(const struct trace_file *file)
{
	char name[32];
	struct hook_text text = hook_text_in(name, sizeof(name));
	int rc = 0;

	hook_infile_lock();
	if (!stream.header && !closed) {
		if (hook_process.process) {
			hook_text_add(&text, "p");
			hook_text_number(&text, hook_process.process);
			hook_text_add(&text, "-");
		}
		hook_text_add(&text, "0.files");
		rc = trace_stream_create(&stream, hook_process.rank_fd, name, TRACE_STREAM_FILES,
					 hook_process.rank, hook_process.process, "0");
	}
	if (!rc && !closed)
		rc = trace_file_put(&stream, file);
	hook_infile_unlock();
	return rc;
}

void hook_infile_close(void)
{
	hook_infile_lock();
	closed = true;
	trace_stream_close(&stream);
	hook_infile_unlock();
}

/* What was seen was seen by the parent. */
void hook_infile_forget(void)
{
	trace_stream_forget(&stream);
	closed = false;
	hook_table_forget(&table);
	lock = (struct hook_lock){0};
	hook_infile_unload();
}

static void not_noted(const char *why)
{
	hook_say_once("files", "not all files that the program reads can be noted: ", why,
		      "; a replay will not notice changes of the others", NULL);
}

static void note(struct hook_thread *t, int fd, const struct stat *st, bool fresh)
{
	char path[TRACE_FILE_PATH];
	struct trace_file file;
	int rc;

	hook_infile_describe(&file, st);
	file.path = path;
	file.length = (uint32_t)hook_infile_path(fd, path);
	if (!file.length)
		return;
	if (__atomic_add_fetch(&hashed_files, 1, __ATOMIC_RELAXED) <= MOST_HASHED &&
	    hook_infile_hash(fd, file.size, &file.hash))
		file.flags |= TRACE_FILE_HASHED;
	if (fresh)
		file.flags |= TRACE_FILE_FRESH;
	else if (hook_process.record.snapshot && hook_infile_copy(fd, &file))
		file.flags |= TRACE_FILE_KEPT;
	rc = write_down(&file);
	if (rc == -EMFILE)
		not_noted("the program has too many files open");
	else if (rc)
		hook_stop_growing(t, rc);
}

static void record(struct hook_thread *t, int fd, int flags, const struct stat *st)
{
	bool fresh = hook_infile_is_fresh(st), first = false, room_left;
	uint32_t number;

	(void)flags;
	hook_infile_lock();
	room_left = hook_infile_seen(st, fresh, &first, &number);
	if (first && fresh && fresh_files++ >= MOST_FRESH)
		first = false;
	hook_infile_unlock();
	if (first)
		note(t, fd, st, fresh);
	else if (!room_left)
		not_noted("there are too many");
}

/* What is neither a file nor a channel: nobody knows what it brings. */
static void tell_of(const char *path, const struct stat *st)
{
	static struct hook_unseen pipes = {.key = "named-pipes",
					   .what = "what comes through named pipes"};
	static struct hook_unseen devices = {.key = "devices",
					     .what = "what comes from devices opened by name"};

	/* Descriptors by another name. */
	if (strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/dev/std", 8) == 0 ||
	    strncmp(path, "/proc/", 6) == 0)
		return;
	if (S_ISFIFO(st->st_mode))
		hook_unseen(&pipes);
	else if (S_ISCHR(st->st_mode) && major(st->st_rdev) != MEM_MAJOR)
		hook_unseen(&devices);
}

bool hook_infile_is_wanted(int flags, const void *site)
{
	return (flags & O_ACCMODE) != O_WRONLY &&
	       !(flags & (O_TRUNC | O_APPEND | O_PATH | O_DIRECTORY)) &&
	       hook_channel_may_make(site);
}

int hook_infile_flags(const char *mode)
{
	int flags = strchr(mode, '+') ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;

	if (strchr(mode, 'e'))
		flags |= O_CLOEXEC;
	return mode[0] == 'r' ? flags : flags | O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
}

int hook_infile_before(int dir, const char *path, int flags)
{
	int depth = hook_depth, error = errno, fd = -1;

	if (!mode()->missing)
		return -1;
	hook_depth = HOOK_CLOSED;
	if (faccessat(dir, path, F_OK, 0) != 0)
		fd = mode()->missing(dir, path, flags, errno);
	hook_depth = depth;
	errno = error;
	return fd;
}

int hook_infile_opened(int fd, int dir, const char *path, int flags)
{
	int depth = hook_depth, error = errno;
	struct hook_thread *t;
	struct stat st;

	hook_depth = HOOK_CLOSED;
	t = hook_thread_self();
	if (fd < 0 && mode()->missing)
		fd = mode()->missing(dir, path, flags, error);
	else if (fd >= 0 && !t->passive && fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			tell_of(path, &st);
		else if (st.st_nlink)
			mode()->opened(t, fd, flags, &st);
	}
	hook_return_to(t, depth);
	hook_residue_end();
	errno = error;
	return fd;
}
