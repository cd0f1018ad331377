/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No file is removed that a copy may have open: one that was not there yet is put aside, under its
 * inode, and comes back by that.
 */
#include "remote/files.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

#define SAVED_MOST (1u << 20)
#define CHUNK 65536

static bool is_own(const struct remote_process *p, const char *name)
{
	return strncmp(name, p->home->own, strlen(p->home->own)) == 0;
}

static int open_one(const struct remote_process *p, const struct remote_file *one, int flags)
{
	char path[64];

	if (one->name)
		return openat(p->home->fd, one->name, flags | O_CLOEXEC | O_NOFOLLOW);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", p->pid, one->fd);
	return open(path, flags | O_CLOEXEC);
}

static uint64_t hash_of(int fd, uint64_t size)
{
	static uint8_t bytes[CHUNK];
	XXH64_state_t state;
	uint64_t at = 0;
	ssize_t n = 1;

	XXH64_reset(&state, 0);
	for (; at < size && n > 0; at += (uint64_t)n) {
		n = pread(fd, bytes, size - at < CHUNK ? size - at : CHUNK, (off_t)at);
		if (n <= 0)
			break;
		XXH64_update(&state, bytes, (size_t)n);
	}
	return XXH64_digest(&state);
}

static bool is_same(const struct remote_process *p, const struct remote_file *one)
{
	int fd = open_one(p, one, O_RDONLY);
	struct stat st;
	bool same = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == one->size &&
		    st.st_ino == one->inode && hash_of(fd, one->size) == one->hash;

	if (fd >= 0)
		close(fd);
	return same;
}

static void note(const struct remote_process *p, struct remote_files *f, struct remote_file *one)
{
	int fd = open_one(p, one, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		free(one->name);
	} else {
		one->inode = st.st_ino;
		one->size = (uint64_t)st.st_size;
		one->saved =
			one->name && one->size <= SAVED_MOST ? rp_alloc(one->size + 1, 1) : NULL;
		if (one->saved && pread(fd, one->saved, one->size, 0) != (ssize_t)one->size) {
			free(one->saved);
			one->saved = NULL;
		}
		one->hash = hash_of(fd, one->size);
		f->file = rp_widen(f->file, f->files, f->files + 1, sizeof(*f->file));
		f->file[f->files++] = *one;
	}
	if (fd >= 0)
		close(fd);
}

/* May the process write there, and is that neither in the session nor a device? */
static bool is_written(const struct remote_process *p, int fd)
{
	char path[64], line[4400];
	unsigned flags = O_RDONLY;
	ssize_t n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", p->pid, fd);
	n = readlink(path, line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = '\0';
	if (line[0] != '/' || strncmp(line, "/dev/", 5) == 0 || strncmp(line, "/memfd:", 7) == 0 ||
	    strncmp(line, p->home->path, strlen(p->home->path)) == 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", p->pid, fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "flags: %o", &flags);
	if (file)
		fclose(file);
	return (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH);
}

static DIR *list_session(const struct remote_process *p)
{
	int fd = openat(p->home->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopendir(fd);
}

void remote_files_note(const struct remote_process *p, struct remote_files *f)
{
	DIR *dir = p->home ? list_session(p) : NULL;
	struct dirent *entry;
	char path[32];

	*f = (struct remote_files){0};
	while (dir && (entry = readdir(dir))) {
		if (is_own(p, entry->d_name))
			note(p, f, &(struct remote_file){.name = rp_strdup(entry->d_name)});
	}
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "/proc/%d/fd", p->pid);
	dir = p->home ? opendir(path) : NULL;
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && is_written(p, fd))
			note(p, f, &(struct remote_file){.fd = fd});
	}
	if (dir)
		closedir(dir);
}

/* --- back */

static void aside_name(uint64_t inode, char name[32])
{
	snprintf(name, 32, "aside-%" PRIu64, inode);
}

static void put_aside(const struct remote_process *p, const char *name, uint64_t inode)
{
	char aside[32];

	aside_name(inode, aside);
	renameat(p->home->fd, name, p->home->fd, aside);
}

static bool was_there(const struct remote_files *f, const char *name, uint64_t inode)
{
	for (size_t i = 0; i < f->files; i++) {
		if (f->file[i].name && strcmp(f->file[i].name, name) == 0)
			return f->file[i].inode == inode;
	}
	return false;
}

/* The same names lead to the same files. */
static void set_names(const struct remote_process *p, const struct remote_files *f)
{
	DIR *dir = list_session(p);
	struct dirent *entry;
	struct stat st;
	char aside[32];

	while (dir && (entry = readdir(dir))) {
		if (is_own(p, entry->d_name) &&
		    fstatat(p->home->fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !was_there(f, entry->d_name, st.st_ino))
			put_aside(p, entry->d_name, st.st_ino);
	}
	if (dir)
		closedir(dir);
	for (size_t i = 0; i < f->files; i++) {
		const char *name = f->file[i].name;

		if (!name || faccessat(p->home->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		aside_name(f->file[i].inode, aside);
		renameat(p->home->fd, aside, p->home->fd, name);
	}
}

/*
 * What is too large is cut: mostly a program has only added to it. A file that is not in the
 * session is the user's, and others may write there: nobody but the program touches it.
 */
static bool fill(const struct remote_process *p, const struct remote_file *one)
{
	int fd = one->name ? open_one(p, one, O_RDWR) : -1;
	struct stat st;
	bool good = fd >= 0 && fstat(fd, &st) == 0;

	if (good && (uint64_t)st.st_size > one->size)
		good = ftruncate(fd, (off_t)one->size) == 0;
	for (uint64_t at = 0; good && one->saved && at < one->size;) {
		ssize_t n = pwrite(fd, one->saved + at, one->size - at, (off_t)at);

		good = n > 0;
		at += n > 0 ? (uint64_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return good && is_same(p, one);
}

void remote_files_put_back(const struct remote_process *p, const struct remote_files *f)
{
	static bool said;

	if (!p->home)
		return;
	set_names(p, f);
	for (size_t i = 0; i < f->files; i++) {
		if (is_same(p, &f->file[i]) || fill(p, &f->file[i]) || said)
			continue;
		said = true;
		rp_say("a file that the program has written cannot be put back as it was (%" PRIu64
		       " bytes): what the program reads there may differ from here on",
		       f->file[i].size);
	}
}

bool remote_files_are(const struct remote_process *p, const struct remote_files *f)
{
	struct remote_files now;
	bool same;

	if (!p->home)
		return true;
	remote_files_note(p, &now);
	same = now.files == f->files;
	remote_files_free(&now);
	for (size_t i = 0; i < f->files && same; i++) {
		const struct remote_file *one = &f->file[i];
		int fd = open_one(p, one, O_RDONLY);
		struct stat st;

		/* Of one that was made again the inode is another. */
		same = fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == one->size &&
		       hash_of(fd, one->size) == one->hash;
		if (fd >= 0)
			close(fd);
	}
	return same;
}

void remote_files_free(struct remote_files *f)
{
	for (size_t i = 0; i < f->files; i++) {
		free(f->file[i].name);
		free(f->file[i].saved);
	}
	free(f->file);
	*f = (struct remote_files){0};
}
