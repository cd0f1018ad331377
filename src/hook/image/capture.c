/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel knows of the process and an image must hold: descriptors with their positions,
 * handlers, the layout that /proc tells. All other threads stand still, perhaps with locks of libc
 * or ours in their hands: so there are system calls here and nothing else. What cannot be put back
 * is refused by its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "ckpt/raw.h"
#include "hook/session/session.h"
#include "hook/kit/text.h"
#include "hook/image/image.h"
#include "hook/input/channel/channel.h"
#include "hook/output/output.h"

#define PATH 4096
#define FOUND 64
#define COPY "copy-" /* how such files of a session begin */

/* Descriptors that the process was given, by whoever started it. */
static struct {
	int fd;
	uint64_t device, inode;
} found[FOUND];
static int founds;

struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool refuse(const char *a, const char *b)
{
	struct hook_text out = hook_text_in(hook_image.why, sizeof(hook_image.why));

	hook_text_add(&out, a);
	hook_text_add(&out, b);
	return false;
}

uint32_t hook_image_text(const char *s)
{
	uint32_t at = hook_image.text_bytes;
	size_t n = strlen(s) + 1;

	if (n > sizeof(hook_image.text) - at)
		return 0;
	memcpy(hook_image.text + at, s, n);
	hook_image.text_bytes += (uint32_t)n;
	return at;
}

/* The rest of a path that is below one of our directories, or NULL. */
static const char *rest_of(const char *path, uint32_t *base)
{
	const char *rest = raw_behind(path, hook_process.session);

	*base = CKPT_BASE_SESSION;
	if (rest && *rest == '/')
		return rest + 1;
	rest = raw_behind(path, hook_process.dir);
	*base = CKPT_BASE_TRACE;
	return rest && *rest == '/' ? rest + 1 : NULL;
}

bool hook_image_is_ours(const char *path)
{
	uint32_t base;

	return rest_of(path, &base) != NULL;
}

/* A stream is made as ".<pid>-name", and the kernel knows it by that ever after. */
void hook_image_true_path(char *path)
{
	char *name = strrchr(path, '/'), *p;

	if (!name || name[1] != '.' || !raw_is_deleted(path) || !hook_image_is_ours(path))
		return;
	p = name + 2;
	raw_decimal(&p);
	if (p == name + 2 || *p != '-')
		return;
	path[strlen(path) - strlen(RAW_DELETED)] = 0;
	memmove(name + 1, p + 1, strlen(p));
}

uint32_t hook_image_keep_path(const char *path, uint32_t *base)
{
	const char *rest = rest_of(path, base);

	if (rest)
		return hook_image_text(rest);
	*base = CKPT_BASE_NONE;
	return hook_image_text(path);
}

static bool is_same_open_file(int a, int b)
{
	return raw(SYS_kcmp, hook_process.pid, hook_process.pid, KCMP_FILE, a, b) == 0;
}

/* One that was found before and is the same open file. */
static bool find_same(struct ckpt_fd *f)
{
	for (uint32_t i = 0; i < hook_image.fds; i++) {
		const struct ckpt_fd *other = &hook_image.fd[i];

		if (other->kind != CKPT_FD_SAME && is_same_open_file(other->fd, f->fd)) {
			f->kind = CKPT_FD_SAME;
			f->same = other->fd;
			return true;
		}
	}
	return false;
}

/* Of a file that is written: its contents now, since it may be written anywhere later. */
static bool copy_contents(struct ckpt_fd *f, const char *link, const struct stat *st)
{
	uint64_t left = (uint64_t)st->st_size, from = 0;
	char name[32];
	struct hook_text text = hook_text_in(name, sizeof(name));
	long fd = raw(SYS_open, link, O_RDONLY | O_CLOEXEC, 0), done = 0;

	if (hook_image.copies_fd < 0) {
		char path[1100];

		hook_image_path(path, sizeof(path), "");
		hook_image.copies_fd =
			(int)raw(SYS_open, path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	}
	f->copy = hook_image.copies_bytes;
	f->copy_bytes = left;
	while (fd >= 0 && hook_image.copies_fd >= 0 && left) {
		done = raw(SYS_copy_file_range, fd, &from, hook_image.copies_fd,
			   &hook_image.copies_bytes, left, 0);
		if (done <= 0)
			break;
		left -= (uint64_t)done;
	}
	if (fd >= 0)
		raw(SYS_close, fd);
	if (fd < 0 || hook_image.copies_fd < 0 || left)
		return false;
	hook_text_add(&text, COPY);
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "-");
	hook_text_number(&text, f->fd);
	f->original = f->path;
	f->path = hook_image_text(name);
	f->base = CKPT_BASE_SESSION;
	f->kind = CKPT_FD_COPY;
	return f->path != 0;
}

static bool is_writable(const struct ckpt_fd *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

/* The process may itself have been restored: a copy that it writes to changes on. */
static bool is_changed(const struct ckpt_fd *f, const struct stat *st)
{
	return S_ISREG(st->st_mode) && is_writable(f) &&
	       (f->base == CKPT_BASE_NONE ||
		(f->base == CKPT_BASE_SESSION && raw_behind(hook_image.text + f->path, COPY)));
}

/* A file that can be found by its name, and will be. */
static bool take_file(struct ckpt_fd *f, const char *link, const char *path, const struct stat *st)
{
	struct stat now;

	if (raw(SYS_stat, path, &now) != 0 || now.st_ino != st->st_ino || now.st_dev != st->st_dev)
		return refuse("a file is open that has no name any more: ", path);
	f->path = hook_image_keep_path(path, &f->base);
	f->kind = CKPT_FD_FILE;
	if (is_changed(f, st) && !copy_contents(f, link, st))
		return refuse("a file that is written cannot be copied: ", path);
	return f->path || refuse("there are too many paths", "");
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

/*
 * What connects it with others. In replay nothing ever happens on most channels of the program; but
 * pipes are real ones, with something in them perhaps. Those of MPI are of no use any more.
 */
static bool take_channel(struct ckpt_fd *f, const char *path, const struct stat *st)
{
	enum hook_channel_kind kind = hook_channel_kind(f->fd);

	if (strcmp(path, "anon_inode:[eventpoll]") == 0)
		f->kind = CKPT_FD_EPOLL;
	else if (strcmp(path, "anon_inode:[eventfd]") == 0)
		f->kind = CKPT_FD_EVENT;
	else
		f->kind = was_found(f->fd, st) ? CKPT_FD_FOUND : CKPT_FD_IDLE;
	if (f->kind == CKPT_FD_FOUND || kind == HOOK_CHANNEL_SOCKET || kind == HOOK_CHANNEL_OTHER ||
	    (kind == HOOK_CHANNEL_NONE && hook_process.mpi_open))
		return true;
	return refuse("a pipe, socket or the like is open: ", path);
}

static bool take_fd(int fd)
{
	struct ckpt_fd *f = &hook_image.fd[hook_image.fds];
	enum hook_output_tag tag = hook_output_tag(fd);
	char link[40], path[PATH];
	struct hook_text text = hook_text_in(link, sizeof(link));
	struct stat st;
	long n;

	*f = (struct ckpt_fd){.fd = fd, .same = -1, .position = -1};
	f->flags = (uint32_t)raw(SYS_fcntl, fd, F_GETFL);
	if (raw(SYS_fcntl, fd, F_GETFD) & FD_CLOEXEC)
		f->flags |= O_CLOEXEC;
	f->position = raw(SYS_lseek, fd, 0, SEEK_CUR);
	if (f->position < 0)
		f->position = -1;
	if (tag != HOOK_OUTPUT_NONE) {
		int standard = tag == HOOK_OUTPUT_IN ? 0 : tag == HOOK_OUTPUT_OUT ? 1 : 2;

		f->kind = fd == standard ? CKPT_FD_KEPT : CKPT_FD_SAME;
		f->same = standard;
		hook_image.fds++;
		return true;
	}
	hook_text_add(&text, "/proc/self/fd/");
	hook_text_number(&text, fd);
	n = raw(SYS_readlink, link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	hook_image_true_path(path);
	if (raw(SYS_fstat, fd, &st) != 0)
		return true;
	if (find_same(f)) {
		hook_image.fds++;
		return true;
	}
	hook_image.fds++;
	if ((S_ISREG(st.st_mode) && strncmp(path, "/dev/shm/", 9) != 0) || S_ISDIR(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && raw_behind(path, "/dev/")))
		return take_file(f, link, path, &st);
	return take_channel(f, path, &st);
}

static bool take_fds(void)
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
			if (p == e->name || fd == dir || fd == hook_image.copies_fd)
				continue;
			if (hook_image.fds == CKPT_MOST_FDS)
				good = refuse("more files are open than an image can hold", "");
			else
				good = take_fd(fd);
		}
	}
	if (dir >= 0)
		raw(SYS_close, dir);
	return good;
}

/* Fields of /proc/self/stat, counted from 1 as its manual does. */
static bool take_layout(void)
{
	struct ckpt_head *h = &hook_image.head;
	char text[2048], *p;
	uint64_t field[53] = {0};

	if (raw_slurp("/proc/self/stat", text, sizeof(text)) <= 0)
		return refuse("/proc/self/stat cannot be read", "");
	p = strrchr(text, ')');
	for (int i = 2; p && *p && i < 53; i++) {
		while (*p && *p != ' ')
			p++;
		while (*p == ' ')
			p++;
		if (i + 1 < 53) {
			char *digits = *p == '-' ? p + 1 : p;

			field[i + 1] = raw_decimal(&digits);
		}
	}
	h->mm = (struct ckpt_mm){
		.start_code = field[26],
		.end_code = field[27],
		.start_data = field[45],
		.end_data = field[46],
		.start_brk = field[47],
		.brk = (uint64_t)raw(SYS_brk, 0),
		.start_stack = field[28],
		.arg_start = field[48],
		.arg_end = field[49],
		.env_start = field[50],
		.env_end = field[51],
		.exe_fd = UINT32_MAX,
	};
	if (!h->mm.start_stack || !h->mm.start_brk)
		return refuse("the system does not tell where its stack is", "");
	h->mm.auxv_bytes = (uint32_t)raw_slurp("/proc/self/auxv", (char *)h->auxv, sizeof(h->auxv));
	return true;
}

static bool has_timers(void)
{
	char text[64];
	struct itimerval timer;

	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		if (raw(SYS_getitimer, which, &timer) == 0 &&
		    (timer.it_value.tv_sec || timer.it_value.tv_usec))
			return true;
	}
	return raw_slurp("/proc/self/timers", text, sizeof(text)) > 0;
}

static bool has_children(void)
{
	siginfo_t info;

	return raw(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, NULL) == 0;
}

/* The kernel looks at these when a thread dies, and would not know it by its number any more. */
static bool holds_robust(void)
{
	for (uint32_t k = 0; k < hook_image.threads; k++) {
		uint64_t list = hook_image.thread[k].robust;

		if (list && *(const uint64_t *)list != list)
			return true;
	}
	return false;
}

static void take_signals(void)
{
	struct ckpt_head *h = &hook_image.head;

	for (int sig = 1; sig <= CKPT_SIGNALS; sig++)
		raw(SYS_rt_sigaction, sig, NULL, &h->action[sig - 1], 8);
}

static void take_kernel(void)
{
	struct ckpt_head *h = &hook_image.head;
	struct hook_text text = hook_text_in(h->kernel, sizeof(h->kernel));
	struct utsname u;
	struct rlimit limit;
	char path[PATH];
	long n;

	if (raw(SYS_uname, &u) == 0) {
		hook_text_add(&text, u.release);
		hook_text_add(&text, " ");
		hook_text_add(&text, u.version);
	}
	raw(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
	h->stack_limit = limit.rlim_cur;
	h->umask = (uint32_t)raw(SYS_umask, 0);
	raw(SYS_umask, h->umask);
	n = raw(SYS_getcwd, path, sizeof(path));
	h->cwd = hook_image_text(n > 0 ? path : "/");
	n = raw(SYS_readlink, "/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	h->program = hook_image_text(path);
}

bool hook_image_capture(void)
{
	struct hook_image *i = &hook_image;

	i->fds = 0;
	i->text_bytes = 1;
	i->copies_fd = -1;
	i->copies_bytes = 0;
	i->why[0] = 0;
	take_signals();
	take_kernel();
	if (has_timers())
		return refuse("a timer of the program runs", "");
	if (has_children())
		return refuse("a process that the program has started is there", "");
	if (holds_robust())
		return refuse("a robust mutex is held", "");
	if (!take_layout() || !take_fds())
		return false;
	i->slot = *hook_slot;
	i->output_tail_bytes = sizeof(i->output_tail);
	i->output_bytes = hook_output_snapshot(i->output, sizeof(i->output), i->output_head,
					       i->output_tail, &i->output_tail_bytes);
	return true;
}
