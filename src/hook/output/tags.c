/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags of descriptors. They follow the calls of the program, and not what files the descriptors
 * lead to: in replay standard output and error may be one file where they were two.
 */
#include "hook/output/tags.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "hook/output/output.h"
#include "trace/output.h"

#define INHERITED 16 /* descriptors looked at in a program that another one began */
#define PTS_MAJOR 136

uint8_t hook_output_tags[HOOK_OUTPUT_MOST];
static int owner;
static bool recalled;
static uint64_t was[3];

void hook_output_tag_owner(void)
{
	owner = (int)syscall(SYS_getpid);
}

static bool is_owner(void)
{
	return owner && syscall(SYS_getpid) == owner;
}

static enum hook_output_tag standard(int fd)
{
	static const uint8_t tags[] = {HOOK_OUTPUT_IN, HOOK_OUTPUT_OUT, HOOK_OUTPUT_ERR};

	return (enum hook_output_tag)tags[fd];
}

void hook_output_tag_first(const bool open[3])
{
	hook_output_tag_owner();
	for (int fd = 0; fd < 3; fd++)
		hook_output_tags[fd] = open[fd] ? standard(fd) : HOOK_OUTPUT_NONE;
}

static enum hook_output_tag alike(const struct trace_output_page *page, int fd)
{
	struct stat st;
	bool is[2];

	if (fstat(fd, &st) != 0)
		return HOOK_OUTPUT_NONE;
	for (int i = 0; i < 2; i++)
		is[i] = page->device[i] == st.st_dev && page->inode[i] == st.st_ino;
	if (is[1] && (fd == STDERR_FILENO || !is[0]))
		return HOOK_OUTPUT_ERR;
	return is[0] ? HOOK_OUTPUT_OUT : HOOK_OUTPUT_NONE;
}

void hook_output_tag_alike(const struct trace_output_page *page)
{
	hook_output_tag_owner();
	hook_output_tags[0] = HOOK_OUTPUT_IN;
	for (int fd = 1; fd < INHERITED && page; fd++)
		hook_output_tags[fd] = alike(page, fd);
}

static void set(int fd, enum hook_output_tag tag)
{
	if ((unsigned int)fd < HOOK_OUTPUT_MOST && hook_output_tags[fd] != tag && is_owner())
		hook_output_tags[fd] = tag;
}

void hook_output_duplicated(int from, int to)
{
	if (to >= 0 && from != to)
		set(to, hook_output_tag(from));
}

void hook_output_closed(int fd)
{
	set(fd, HOOK_OUTPUT_NONE);
}

static bool begins(const char **path, const char *with)
{
	size_t n = strlen(with);

	if (strncmp(*path, with, n) != 0)
		return false;
	*path += n;
	return true;
}

/* The descriptor that a path names, or -1. */
static int named_by(const char *path)
{
	int fd = 0;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	if (!begins(&path, "/dev/fd/") && !begins(&path, "/proc/self/fd/"))
		return -1;
	for (; *path >= '0' && *path <= '9' && fd < HOOK_OUTPUT_MOST; path++)
		fd = 10 * fd + *path - '0';
	return *path ? -1 : fd;
}

void hook_output_opened(int fd, const char *path)
{
	int of = fd >= 0 ? named_by(path) : -1;

	if (fd >= 0)
		set(fd, of >= 0 ? hook_output_tag(of) : HOOK_OUTPUT_NONE);
}

void hook_output_reopened(int before, int fd, const char *path)
{
	int of = named_by(path);
	enum hook_output_tag tag = of >= 0 ? hook_output_tag(of) : HOOK_OUTPUT_NONE;

	if (before >= 0 && before != fd)
		set(before, HOOK_OUTPUT_NONE);
	if (fd >= 0)
		set(fd, tag);
}

static enum trace_output_was kind_of(int fd, const struct stat *st)
{
	struct termios unused;

	if (S_ISREG(st->st_mode))
		return TRACE_OUTPUT_REGULAR;
	if (S_ISFIFO(st->st_mode))
		return TRACE_OUTPUT_PIPE;
	if (S_ISSOCK(st->st_mode))
		return TRACE_OUTPUT_SOCKET;
	return S_ISCHR(st->st_mode) && syscall(SYS_ioctl, fd, TCGETS, &unused) == 0
		       ? TRACE_OUTPUT_TERMINAL
		       : TRACE_OUTPUT_OTHER;
}

uint64_t hook_output_kind(int fd, const struct stat *st, bool open)
{
	uint64_t block =
		st->st_blksize > 0 && st->st_blksize < INT32_MAX ? (uint64_t)st->st_blksize : 0;

	return open ? TRACE_OUTPUT_WAS(kind_of(fd, st), block) : TRACE_OUTPUT_CLOSED;
}

void hook_output_recall(void)
{
	char name[TRACE_NAME_BYTES + 16];
	struct trace_view view;
	const char *why;

	hook_stream_name(hook_thread_self(), "output", name, sizeof(name));
	if (trace_view_open(&view, hook_process.rank_fd, name, &why))
		return;
	recalled = view.header->kind == TRACE_STREAM_OUTPUT;
	for (int i = 0; i < 3 && recalled; i++) {
		const struct trace_output_page *page =
			trace_output_page((struct trace_header *)view.header);

		recalled = trace_word_unpack(page->was[i], &was[i]);
	}
	trace_view_close(&view);
}

/* The word that was recorded of the standard descriptor behind this one; 0: there is none. */
static uint64_t recorded(int fd)
{
	static const uint8_t number[] = {
		[HOOK_OUTPUT_OUT] = 1, [HOOK_OUTPUT_ERR] = 2, [HOOK_OUTPUT_IN] = 0};
	enum hook_output_tag tag = hook_output_tag(fd);

	return recalled && tag ? was[number[tag]] : 0;
}

int hook_output_was_terminal(int fd)
{
	uint64_t word = recorded(fd);

	return word ? (word & 15) == TRACE_OUTPUT_TERMINAL : -1;
}

bool hook_output_was_socket(int fd)
{
	return (recorded(fd) & 15) == TRACE_OUTPUT_SOCKET;
}

void hook_output_stat(int fd, struct stat *st)
{
	static const mode_t modes[16] = {[TRACE_OUTPUT_TERMINAL] = S_IFCHR,
					 [TRACE_OUTPUT_REGULAR] = S_IFREG,
					 [TRACE_OUTPUT_PIPE] = S_IFIFO,
					 [TRACE_OUTPUT_SOCKET] = S_IFSOCK,
					 [TRACE_OUTPUT_OTHER] = S_IFIFO};
	uint64_t word = recorded(fd);

	if (!word)
		return;
	st->st_mode = (st->st_mode & ~(mode_t)S_IFMT) | modes[word & 15];
	st->st_rdev = (word & 15) == TRACE_OUTPUT_TERMINAL ? makedev(PTS_MAJOR, 0) : 0;
	st->st_blksize = (blksize_t)(word >> 4);
}
