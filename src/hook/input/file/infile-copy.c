/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the files that the program reads, in the trace directory, made at the first open,
 * before the program reads. Each file is copied once for all ranks. The name of the copy is made of
 * the file's identity, and the copy is complete when it has that name. The program never fails for
 * want of a copy: that is reported once, and the program goes on.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/file/infile.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include "hook/common/real.h"

#define PART ".part" /* not complete */
#define NAME_BYTES (TRACE_FILE_COPY_BYTES + 16)
#define LEFT_FREE (64ull << 20) /* the disk is the program's, too */

static int copies_fd = -1;
static uint64_t *bytes_used;

static void not_kept(const char *path, const char *why)
{
	hook_say_once("copies", "no copy of ", path, " is kept: ", why,
		      "; later files that do not fit are not copied either. A replay needs these "
		      "files unchanged",
		      NULL);
}

static bool open_copies(void)
{
	void *p = MAP_FAILED;
	int fd, used;

	if (copies_fd >= 0)
		return true;
	if (mkdirat(hook_process.rank_fd, "../" TRACE_FILE_COPIES, 0700) != 0 && errno != EEXIST)
		return false;
	fd = REAL(openat)(hook_process.rank_fd, "../" TRACE_FILE_COPIES,
			  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	copies_fd = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, 700);
	REAL(close)(fd);
	used = REAL(openat)(copies_fd, "used", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (used >= 0 && ftruncate(used, sizeof(*bytes_used)) == 0)
		p = mmap(NULL, sizeof(*bytes_used), PROT_READ | PROT_WRITE, MAP_SHARED, used, 0);
	if (used >= 0)
		REAL(close)(used);
	if (p != MAP_FAILED) {
		bytes_used = p;
		return true;
	}
	REAL(close)(copies_fd);
	copies_fd = -1;
	return false;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = hook_write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		n -= (size_t)done;
	}
	return true;
}

/* By offset: the program's own place in the file stays. */
static bool copy_bytes(int from, int to, uint64_t size)
{
	off64_t at = 0;
	char bytes[4096];
	ssize_t n;

	while ((uint64_t)at < size && (n = copy_file_range(from, &at, to, NULL, size - at, 0)) > 0)
		;
	while ((uint64_t)at < size) {
		n = REAL(pread64)(from, bytes, sizeof(bytes), at);
		if (n <= 0 || !write_all(to, bytes, (size_t)n))
			return false;
		at += n;
	}
	return true;
}

static bool has_room(uint64_t size)
{
	struct statvfs fs;

	return fstatvfs(copies_fd, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize > size + LEFT_FREE;
}

/* NULL, or why not. */
static const char *fill(int fd, int part, const struct trace_file *file)
{
	struct stat st;

	if (ioctl(part, FICLONE, fd) != 0) {
		if (__atomic_add_fetch(bytes_used, file->size, __ATOMIC_RELAXED) >
		    hook_process.record.snapshot) {
			__atomic_sub_fetch(bytes_used, file->size, __ATOMIC_RELAXED);
			return "it is more than --snapshot-inputs allows";
		}
		if (!has_room(file->size) || !copy_bytes(fd, part, file->size)) {
			__atomic_sub_fetch(bytes_used, file->size, __ATOMIC_RELAXED);
			return has_room(file->size) ? "it cannot be copied" : "the disk is full";
		}
	}
	if (fstat(fd, &st) != 0 || (uint64_t)st.st_size != file->size ||
	    (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != file->modified)
		return "it changes";
	return NULL;
}

bool hook_infile_copy(int fd, const struct trace_file *file)
{
	char name[NAME_BYTES], part_name[NAME_BYTES];
	const char *why;
	bool opened;
	int part;

	hook_infile_lock();
	opened = open_copies();
	hook_infile_unlock();
	if (!opened) {
		not_kept(file->path, strerror(errno));
		return false;
	}
	trace_file_copy_name(file, name);
	if (faccessat(copies_fd, name, F_OK, 0) == 0)
		return true;
	strcpy(part_name, name);
	strcat(part_name, PART);
	part = REAL(openat)(copies_fd, part_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (part < 0 && errno == EEXIST)
		return true; /* another rank is at it */
	why = part < 0 ? strerror(errno) : fill(fd, part, file);
	if (part >= 0)
		REAL(close)(part);
	if (!why && renameat(copies_fd, part_name, copies_fd, name) != 0)
		why = strerror(errno);
	if (!why)
		return true;
	if (part >= 0)
		unlinkat(copies_fd, part_name, 0);
	not_kept(file->path, why);
	return false;
}

/* For what the program may write to: a copy of its own, for this replay. */
static int open_scratch(int kept, const char *name, uint64_t size)
{
	char path[1200];
	struct hook_text text = hook_text_in(path, sizeof(path));
	int fd;

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/input-");
	hook_text_number(&text, hook_process.rank);
	hook_text_add(&text, "-");
	hook_text_add(&text, name);
	fd = REAL(openat)(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? REAL(openat)(AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	if (copy_bytes(kept, fd, size)) {
		lseek(fd, 0, SEEK_SET);
		return fd;
	}
	REAL(close)(fd);
	unlink(path);
	return -1;
}

int hook_infile_open_copy(const struct trace_file *file, int flags)
{
	char name[NAME_BYTES], path[NAME_BYTES + sizeof(TRACE_FILE_COPIES) + 4];
	struct hook_text text = hook_text_in(path, sizeof(path));
	bool writes = (flags & O_ACCMODE) == O_RDWR;
	struct stat st;
	int fd, kept;

	if (!(file->flags & TRACE_FILE_KEPT))
		return -1;
	trace_file_copy_name(file, name);
	hook_text_add(&text, "../" TRACE_FILE_COPIES "/");
	hook_text_add(&text, name);
	kept = REAL(openat)(hook_process.rank_fd, path,
			    O_RDONLY | (writes ? O_CLOEXEC : flags & O_CLOEXEC));
	if (kept < 0)
		return -1;
	if (fstat(kept, &st) != 0 || (uint64_t)st.st_size != file->size) {
		REAL(close)(kept);
		return -1;
	}
	if (!writes)
		return kept;
	fd = open_scratch(kept, name, file->size);
	REAL(close)(kept);
	return fd;
}
