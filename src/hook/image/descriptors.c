/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of the process, with their positions, as an image must hold them. All other threads
 * stand still: there are system calls here and nothing else. Invariant: a file that is written has
 * one copy, whichever descriptors lead to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "ckpt/raw.h"
#include "hook/session/session.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/image/image.h"
#include "hook/image/written/written.h"
#include "hook/input/channel/channel.h"
#include "hook/output/output.h"

#define PATH 4096
#define FOUND 64

/* Descriptors that the process was given, by whoever started it. */
static struct {
	int fd;
	uint64_t device, inode;
} found[FOUND];
static int founds;

/* Files behind the descriptors of the image, as far as they are ordinary ones; and pipes. */
static struct {
	uint64_t device, inode;
} node[CKPT_MOST_FDS];

/* What is behind any of them; an inode of 0: that was not asked. */
static struct {
	uint64_t device, inode;
} behind[CKPT_MOST_FDS];

struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/* 1: yes, 0: no, or -errno: the kernel has no kcmp, or it is not allowed. */
static int is_same_open_file(int a, int b)
{
	long rc = hook_image.no_kcmp
			  ? -ENOSYS
			  : raw(SYS_kcmp, hook_process.pid, hook_process.pid, KCMP_FILE, a, b);

	return rc < 0 ? (int)rc : rc == 0;
}

/* Nothing tells that they are not one, with one position. */
static bool may_be_same(const struct ckpt_fd *a, const struct ckpt_fd *b, const struct stat *st)
{
	struct stat other;

	return (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) && a->position == b->position &&
	       !((a->flags ^ b->flags) & ~O_CLOEXEC) && raw(SYS_fstat, a->fd, &other) == 0 &&
	       other.st_ino == st->st_ino && other.st_dev == st->st_dev;
}

/* Most of them lead elsewhere: the kernel is asked about the others alone. */
static bool leads_there(uint32_t i, const struct stat *st)
{
	return !behind[i].inode ||
	       (behind[i].inode == st->st_ino && behind[i].device == st->st_dev);
}

/* One that was found before and is the same open file: 1, 0, or -errno if that is not known. */
static int find_same(struct ckpt_fd *f, const struct stat *st)
{
	for (uint32_t i = 0; i < hook_image.fds; i++) {
		const struct ckpt_fd *other = &hook_image.fd[i];
		bool kept = other->kind == CKPT_FD_KEPT;
		int rc;

		if (other->kind == CKPT_FD_SAME || !leads_there(i, st))
			continue;
		rc = is_same_open_file(other->fd, f->fd);
		if (rc < 0 && may_be_same(other, f, st))
			return rc;
		if (rc <= 0)
			continue;
		f->kind = kept ? CKPT_FD_KEPT : CKPT_FD_SAME;
		f->same = kept ? other->same : other->fd;
		return 1;
	}
	return 0;
}

/* Where contents go, and the name that they will have in a session. */
static bool begin_copy(struct ckpt_fd *f)
{
	char name[40], path[1100];
	struct hook_text text = hook_text_in(name, sizeof(name));

	if (hook_image.copies_fd < 0) {
		hook_image_path(path, sizeof(path), "");
		hook_image.copies_fd =
			(int)raw(SYS_open, path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	}
	hook_text_add(&text, HOOK_IMAGE_COPY);
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "-");
	hook_text_number(&text, f->fd);
	f->copy = hook_image.copies_bytes;
	f->original = f->path;
	f->path = hook_image_text(name);
	f->base = CKPT_BASE_SESSION;
	return hook_image.copies_fd >= 0 && f->path;
}

/* Of a file that is written: its contents now, since it may be written anywhere later. */
static bool copy_contents(struct ckpt_fd *f)
{
	uint64_t left, from = 0;
	char name[HOOK_PROC_PATH];
	struct stat st;
	long fd, done = 0;

	hook_proc_fd_path(f->fd, name);
	fd = raw(SYS_open, name, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 || raw(SYS_fstat, fd, &st) != 0)
		return false;
	left = f->copy_bytes = (uint64_t)st.st_size;
	f->kind = CKPT_FD_COPY;
	if (!begin_copy(f)) {
		raw(SYS_close, fd);
		return false;
	}
	while (left) {
		done = raw(SYS_copy_file_range, fd, &from, hook_image.copies_fd,
			   &hook_image.copies_bytes, left, 0);
		if (done <= 0)
			break;
		left -= (uint64_t)done;
	}
	raw(SYS_close, fd);
	return !left;
}

/*
 * The process may itself have been restored: its copies, also one that it only reads now, are
 * nowhere but in this session.
 */
static bool is_changed(const struct ckpt_fd *f)
{
	if (f->base == CKPT_BASE_SESSION)
		return raw_behind(hook_image.text + f->path, HOOK_IMAGE_COPY);
	return f->base == CKPT_BASE_NONE && (f->flags & O_ACCMODE) != O_RDONLY;
}

/* What the kernel makes up as it is read has no contents that could be compared. */
static bool is_kernels(const char *path)
{
	return raw_behind(path, "/proc/") || raw_behind(path, "/sys/");
}

/* libc may be reading what the kernel tells of the process, which will be another one. */
static void name_self(char path[PATH + 8])
{
	char *rest = path + strlen("/proc/");

	if (!raw_behind(path, "/proc/") || raw_decimal(&rest) != (uint64_t)hook_process.pid ||
	    *rest != '/')
		return;
	memmove(path + strlen("/proc/self"), rest, strlen(rest) + 1);
	memcpy(path, "/proc/self", strlen("/proc/self"));
}

/* A file that can be found by its name, and will be. */
static bool take_file(struct ckpt_fd *f, const char *path, const struct stat *st)
{
	uint32_t i = (uint32_t)(f - hook_image.fd);
	struct stat now;

	if (raw(SYS_stat, path, &now) != 0 || now.st_ino != st->st_ino || now.st_dev != st->st_dev)
		return hook_image_refuse("a file is open that has no name any more: ", path);
	f->path = hook_image_keep_path(path, &f->base);
	f->kind = CKPT_FD_FILE;
	if (S_ISREG(st->st_mode)) {
		node[i].device = st->st_dev;
		node[i].inode = st->st_ino;
		if (f->base == CKPT_BASE_NONE && !is_kernels(path)) {
			f->file_bytes = (uint64_t)st->st_size;
			f->file_time = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
				       (uint64_t)st->st_mtim.tv_nsec;
		}
	}
	return f->path || hook_image_refuse("there are too many paths", "");
}

static bool is_same_file(uint32_t i, uint32_t k)
{
	return node[i].inode && node[i].inode == node[k].inode && node[i].device == node[k].device;
}

/* The first descriptor of that file; is it written by any? */
static uint32_t first_of(uint32_t i, bool *written)
{
	uint32_t first = i;

	*written = false;
	for (uint32_t k = hook_image.fds; k-- > 0;) {
		if (!is_same_file(i, k))
			continue;
		first = k < first ? k : first;
		*written = *written || is_changed(&hook_image.fd[k]);
	}
	return first;
}

/* One copy of a file, also for those who only read it: they see what is written. */
static bool take_copies(void)
{
	for (uint32_t i = 0; i < hook_image.fds; i++) {
		struct ckpt_fd *f = &hook_image.fd[i];
		bool written;

		if (f->kind == CKPT_FD_PIPE || !node[i].inode || first_of(i, &written) != i ||
		    !written)
			continue;
		if (!copy_contents(f))
			return hook_image_refuse("a file that is written cannot be copied: ",
						 hook_image.text +
							 (f->original ? f->original : f->path));
		for (uint32_t k = i + 1; k < hook_image.fds; k++) {
			struct ckpt_fd *other = &hook_image.fd[k];

			if (!is_same_file(i, k))
				continue;
			other->kind = CKPT_FD_COPY;
			other->original = f->original;
			other->path = f->path;
			other->base = f->base;
			other->copy = f->copy;
			other->copy_bytes = f->copy_bytes;
		}
	}
	return true;
}

static bool was_found(int fd, const struct stat *st)
{
	for (int i = 0; i < founds; i++) {
		if (found[i].fd == fd && found[i].device == st->st_dev &&
		    found[i].inode == st->st_ino)
			return true;
	}
	return false;
}

void hook_image_note_found(void)
{
	struct stat st;

	for (int fd = 3; fd < 1024 && founds < FOUND; fd++) {
		if (raw(SYS_fstat, fd, &st) != 0)
			continue;
		found[founds].fd = fd;
		found[founds].device = st.st_dev;
		found[founds++].inode = st.st_ino;
	}
}

/* What is in it, which stays there. */
static bool copy_pipe(struct ckpt_fd *f, int from)
{
	char bytes[4096];
	int held = 0, pair[2];
	long left, n;

	if (raw(SYS_ioctl, from, FIONREAD, &held) != 0 || held < 0)
		return false;
	f->copy_bytes = (uint64_t)held;
	if (!held)
		return true;
	if (!begin_copy(f) || raw(SYS_pipe2, pair, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	raw(SYS_fcntl, pair[1], F_SETPIPE_SZ, f->room);
	left = raw(SYS_tee, from, pair[1], held, SPLICE_F_NONBLOCK) == held ? held : -1;
	while (left > 0) {
		n = raw(SYS_read, pair[0], bytes, sizeof(bytes));
		if (n <= 0 || raw_write_at(hook_image.copies_fd, bytes, (uint64_t)n,
					   hook_image.copies_bytes) != 0)
			break;
		hook_image.copies_bytes += (uint64_t)n;
		left -= n;
	}
	raw(SYS_close, pair[0]);
	raw(SYS_close, pair[1]);
	return left == 0;
}

/* One end of a pipe whose other end is here, too; NULL: there is none, or more than one. */
static struct ckpt_fd *find_other_end(uint32_t i)
{
	struct ckpt_fd *other = NULL;
	uint32_t ends = 0;

	for (uint32_t k = 0; k < hook_image.fds; k++) {
		struct ckpt_fd *f = &hook_image.fd[k];

		if (k == i || f->kind != CKPT_FD_PIPE || !is_same_file(i, k))
			continue;
		other = f;
		ends++;
	}
	return ends == 1 && (other->flags ^ hook_image.fd[i].flags) & O_ACCMODE ? other : NULL;
}

/*
 * Pipes between threads of the process. One whose other end is elsewhere, or gone, is not put back.
 */
static bool take_pipes(void)
{
	for (uint32_t i = 0; i < hook_image.fds; i++) {
		struct ckpt_fd *f = &hook_image.fd[i], *other;

		if (f->kind != CKPT_FD_PIPE || f->same >= 0)
			continue;
		other = find_other_end(i);
		if (!other)
			return hook_image_refuse("a pipe is open whose other end is not", "");
		f->same = other->same = f->fd;
		f->room = other->room = (uint32_t)raw(SYS_fcntl, f->fd, F_GETPIPE_SZ);
		if (!copy_pipe(f, (f->flags & O_ACCMODE) == O_RDONLY ? f->fd : other->fd))
			return hook_image_refuse("what is in a pipe cannot be copied", "");
	}
	return true;
}

/*
 * What connects it with others. In replay nothing ever happens on most channels of the program; but
 * pipes are real ones, with something in them perhaps. Those of MPI are of no use any more.
 */
static bool take_channel(struct ckpt_fd *f, const char *path, const struct stat *st)
{
	enum hook_channel_kind kind = hook_channel_kind(f->fd);

	if (kind == HOOK_CHANNEL_PIPE && raw_behind(path, "pipe:") && !(f->flags & O_DIRECT)) {
		f->kind = CKPT_FD_PIPE;
		node[f - hook_image.fd].device = st->st_dev;
		node[f - hook_image.fd].inode = st->st_ino;
		return true;
	}
	if (strcmp(path, "anon_inode:[eventpoll]") == 0)
		f->kind = CKPT_FD_EPOLL;
	else if (strcmp(path, "anon_inode:[eventfd]") == 0)
		f->kind = CKPT_FD_EVENT;
	else
		f->kind = was_found(f->fd, st) ? CKPT_FD_FOUND : CKPT_FD_IDLE;
	if (f->kind == CKPT_FD_FOUND || kind == HOOK_CHANNEL_SOCKET || kind == HOOK_CHANNEL_OTHER ||
	    (kind == HOOK_CHANNEL_NONE && hook_image_has_mpi()))
		return true;
	return hook_image_refuse("a pipe, socket or the like is open: ", path);
}

static bool take_fd(int fd)
{
	struct ckpt_fd *f = &hook_image.fd[hook_image.fds];
	enum hook_output_tag tag = hook_output_tag(fd);
	char link[HOOK_PROC_PATH], path[PATH + 8];
	struct stat st;
	long n;
	int same;

	*f = (struct ckpt_fd){.fd = fd, .same = -1, .position = -1};
	node[hook_image.fds].inode = behind[hook_image.fds].inode = 0;
	f->flags = (uint32_t)raw(SYS_fcntl, fd, F_GETFL);
	if (raw(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC)
		f->flags |= O_CLOEXEC;
	f->position = raw(SYS_lseek, fd, 0, SEEK_CUR);
	if (f->position < 0)
		f->position = -1;
	if (tag != HOOK_OUTPUT_NONE) {
		f->kind = CKPT_FD_KEPT;
		f->same = tag == HOOK_OUTPUT_IN ? 0 : tag == HOOK_OUTPUT_OUT ? 1 : 2;
		hook_image.fds++;
		return true;
	}
	hook_proc_fd_path(fd, link);
	n = raw(SYS_readlink, link, path, PATH - 1);
	path[n > 0 ? n : 0] = 0;
	hook_image_true_path(path);
	name_self(path);
	if (raw(SYS_fstat, fd, &st) != 0 || hook_image_is_left(path))
		return true;
	same = find_same(f, &st);
	if (same < 0)
		return hook_image_refuse("the kernel does not tell (kcmp) whether a file is open "
					 "once or twice: ",
					 path);
	behind[hook_image.fds].device = st.st_dev;
	behind[hook_image.fds].inode = st.st_ino;
	hook_image.fds++;
	if (same)
		return true;
	if ((S_ISREG(st.st_mode) && strncmp(path, "/dev/shm/", 9) != 0) || S_ISDIR(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && raw_behind(path, "/dev/")))
		return take_file(f, path, &st);
	return take_channel(f, path, &st);
}

static bool take_all(void)
{
	char buffer[2048];
	long dir = raw(SYS_open, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0), n;
	bool good = dir >= 0;

	while (good && (n = raw(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < n && good;) {
			struct entry *e = (struct entry *)(buffer + at);
			char *p = e->name;
			int fd = (int)raw_decimal(&p);

			at += e->bytes;
			if (p == e->name || fd == dir || fd == hook_image.copies_fd ||
			    fd == hook_image_written_fd())
				continue;
			if (hook_image.fds == CKPT_MOST_FDS)
				good = hook_image_refuse(
					"more files are open than an image can hold", "");
			else
				good = take_fd(fd);
		}
	}
	if (dir >= 0)
		raw(SYS_close, dir);
	return good;
}

bool hook_image_take_descriptors(void)
{
	return take_all() && take_copies() && take_pipes();
}
