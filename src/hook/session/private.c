/* SPDX-License-Identifier: Apache-2.0 */
/* Names are from the root, as the kernel has them: a file has one entry, whatever it is called. */
#include "hook/session/private.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ckpt/raw.h"
#include "hook/common/hook.h"
#include "hook/kit/lock.h"
#include "hook/kit/proc.h"
#include "hook/kit/table.h"
#include "hook/kit/text.h"

#define CHUNK 4096

struct file {
	struct hook_entry entry; /* by the hash of its name */
	char name[HOOK_MOVED_PATH], place[HOOK_MOVED_PATH];
};

bool hook_private;
static struct hook_table files = {.bytes = sizeof(struct file), .clear = sizeof(struct hook_entry)};
static struct hook_lock locked;
static uint32_t made; /* so many; images count on */

void hook_private_resume(void)
{
	hook_table_forget(&files);
	locked = (struct hook_lock){0};
	hook_private = true;
}

static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 && (!path[n] || path[n] == '/');
}

static bool is_of_interest(const char *name)
{
	return name[0] == '/' && !is_below(name, "/proc") && !is_below(name, "/sys") &&
	       !is_below(name, "/dev") && !is_below(name, hook_process.dir) &&
	       !is_below(name, hook_process.session);
}

/* How a descriptor's file is called; 0 if it has no name. */
static size_t name_behind(long fd, char name[HOOK_MOVED_PATH])
{
	size_t n = hook_proc_fd_target((int)fd, name, HOOK_MOVED_PATH);

	raw(SYS_close, fd);
	return n < HOOK_MOVED_PATH - 1 ? n : 0;
}

/* Of a file that need not be there. */
static bool find_name(int dir, const char *path, char name[HOOK_MOVED_PATH])
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char parent[HOOK_MOVED_PATH] = ".";
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;
	long fd = raw(SYS_openat, dir, path, O_PATH | O_CLOEXEC, 0);

	if (fd >= 0)
		return name_behind(fd, name) && is_of_interest(name);
	if (n >= sizeof(parent) || !*base)
		return false;
	if (n) {
		memcpy(parent, path, n);
		parent[n] = '\0';
	}
	fd = raw(SYS_openat, dir, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	n = fd < 0 ? 0 : name_behind(fd, name);
	if (!n || n + strlen(base) + 2 > HOOK_MOVED_PATH)
		return false;
	if (name[n - 1] != '/')
		name[n++] = '/';
	strcpy(name + n, base);
	return is_of_interest(name);
}

static uint64_t key_of(const char *name)
{
	uint64_t h = 14695981039346656037ull;

	while (*name)
		h = (h ^ (uint8_t)*name++) * 1099511628211ull;
	return h;
}

static struct file *find(const char *name)
{
	struct file *f = hook_table_find(&files, key_of(name));

	while (f && strcmp(f->name, name) != 0)
		f = hook_table_at(&files, f->entry.next);
	return f;
}

static void set(const char *name, const char *place)
{
	struct file *f = find(name);

	if (!f) {
		f = hook_table_new(&files);
		if (!f)
			hook_failed(hook_self, "out of memory for files");
		strcpy(f->name, name);
		hook_table_insert(&files, f, key_of(name));
	}
	strcpy(f->place, place);
}

/* Where nothing is yet. */
static void make_place(char place[HOOK_MOVED_PATH])
{
	struct hook_text text = hook_text_in(place, HOOK_MOVED_PATH);

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/copy-");
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "-w");
	hook_text_number(&text, made++);
}

/* Nobody takes what is done here for the program's; returns what is to be given back. */
static int enter(void)
{
	int depth = hook_depth;

	hook_depth = HOOK_CLOSED;
	hook_lock_take(&locked);
	return depth;
}

static void leave(int depth)
{
	hook_lock_give(&locked);
	hook_depth = depth;
}

const char *hook_private_path(int dir, const char *path, char buffer[HOOK_MOVED_PATH])
{
	char name[HOOK_MOVED_PATH];
	const struct file *f;
	int depth;

	if (!files.used || !find_name(dir, path, name))
		return path;
	depth = enter();
	f = find(name);
	if (f)
		strcpy(buffer, f->place);
	leave(depth);
	/* It was removed; whoever made another one there since is none of ours. */
	return f && raw(SYS_access, buffer, F_OK) == 0 ? buffer : path;
}

static long copy(int from, long to)
{
	char bytes[CHUNK];
	uint64_t at = 0;
	long n;

	while ((n = raw(SYS_pread64, from, bytes, sizeof(bytes), at)) > 0) {
		long rc = raw_write_at((int)to, bytes, (uint64_t)n, at);

		if (rc)
			return rc;
		at += (uint64_t)n;
	}
	return n;
}

/* Only what the run writes as plain files; a name for what is not there yet is one. */
static bool is_file(int dir, const char *path, bool *there)
{
	struct stat st;

	*there = raw(SYS_newfstatat, dir, path, &st, 0) == 0;
	return !*there || S_ISREG(st.st_mode);
}

/* With what is read from there, if that is a file; 0 or -errno. */
static long fill(const char *place, int from)
{
	long fd = raw(SYS_open, place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = 0;

	if (fd < 0)
		return fd;
	if (from >= 0)
		rc = copy(from, fd);
	raw(SYS_close, fd);
	return rc;
}

/* Where the program makes the file itself there is none yet. */
static void begin(const char *place, int flags, int from, bool there)
{
	bool keeps = there && from >= 0 && !(flags & O_TRUNC);

	if ((keeps || !(flags & O_CREAT)) && fill(place, keeps ? from : -1) != 0)
		hook_failed(hook_self, "a file that is written cannot be copied");
}

const char *hook_private_open(int dir, const char *path, int flags, int from,
			      char buffer[HOOK_MOVED_PATH])
{
	char name[HOOK_MOVED_PATH];
	const struct file *f;
	bool there, own = true;
	int depth;

	if (!is_file(dir, path, &there) || !find_name(dir, path, name))
		return path;
	depth = enter();
	f = find(name);
	if (f) {
		strcpy(buffer, f->place);
	} else if (there || flags & O_CREAT) {
		make_place(buffer);
		begin(buffer, flags, from, there);
		set(name, buffer);
	} else {
		own = false;
	}
	leave(depth);
	return own ? buffer : path;
}

void hook_private_unlink(int dir, const char *path)
{
	char name[HOOK_MOVED_PATH], nowhere[HOOK_MOVED_PATH];
	int depth;

	if (!find_name(dir, path, name))
		return;
	depth = enter();
	make_place(nowhere);
	set(name, nowhere);
	leave(depth);
}

/*
 * What is not its own yet becomes that: the other one stays as it is. False: it is not there, as
 * one that was written before the image, under another name.
 */
static bool place_of(const char *name, char place[HOOK_MOVED_PATH])
{
	const struct file *f = find(name);
	bool good;
	long fd;

	if (f) {
		strcpy(place, f->place);
		return true;
	}
	make_place(place);
	fd = raw(SYS_open, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	good = fill(place, (int)fd) == 0;
	raw(SYS_close, fd);
	return good;
}

void hook_private_rename(int from_dir, const char *from, int to_dir, const char *to, bool keep)
{
	char name[HOOK_MOVED_PATH], other[HOOK_MOVED_PATH], place[HOOK_MOVED_PATH];
	bool there;
	int depth;

	if (!is_file(from_dir, from, &there) || !find_name(from_dir, from, name) ||
	    !find_name(to_dir, to, other) || strcmp(name, other) == 0)
		return;
	depth = enter();
	if (place_of(name, place)) {
		set(other, place);
		make_place(place);
		if (!keep)
			set(name, place);
	}
	leave(depth);
}
