/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Becomes a process from its image (ckpt/format.h). This library is loaded into the program that
 * was recorded, started anew, as an auditor: before the loader has looked at any library of the
 * program. Its constructor never returns. What it needs is put where neither the image nor the new
 * process has anything; the code that goes on there (become.c) is moved with it. The tool has
 * checked the image; what goes wrong here ends the process, and the exit status says at which step.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/rseq.h>

#include "hook/restore/restore.h"

#define SCRATCH_FIRST 0x100000000000ul
#define SCRATCH_STEP 0x010000000000ul
#define SCRATCH_TRIES 16
#define STACK_BYTES (64ul << 10)
#define CODE_BYTES (64ul << 10)

static const char *find_variable(char **env, const char *name)
{
	for (; *env; env++) {
		const char *rest = raw_behind(*env, name);

		if (rest && *rest == '=')
			return rest + 1;
	}
	return NULL;
}

static void __attribute__((noreturn)) refuse(const char *words)
{
	raw(SYS_write, 2, words, raw_length(words));
	for (;;)
		raw(SYS_exit_group, 125);
}

static void copy_text(char *to, const char *from, uint64_t size)
{
	uint64_t n = raw_length(from);

	if (n >= size)
		refuse("reprise: a path is too long to restore an image\n");
	raw_copy(to, from, n + 1);
}

static uint64_t rounded(uint64_t n)
{
	return (n + CKPT_PAGE - 1) & -CKPT_PAGE;
}

/* All that is needed, in one piece of memory that nobody else wants. */
static struct restore *make_scratch(const struct ckpt_head *h, int fd, uint64_t paths)
{
	uint64_t bytes = rounded(sizeof(struct restore)) + RESTORE_LIST_BYTES + STACK_BYTES +
			 CODE_BYTES + paths;
	uint64_t maps = h->section[CKPT_MAPS].bytes / sizeof(struct ckpt_map);
	long p = -ENOMEM;

	for (int i = 0; i < CKPT_SECTIONS; i++)
		bytes += i == CKPT_PAGES || i == CKPT_HASHES || i == CKPT_COPIES || i == CKPT_OUTPUT
				 ? 0
				 : rounded(h->section[i].bytes);
	for (int i = 0; i < SCRATCH_TRIES && p < 0; i++) {
		uint64_t at = SCRATCH_FIRST + (uint64_t)i * SCRATCH_STEP;
		int taken = 0;

		for (uint64_t k = 0; k < maps && !taken; k++) {
			struct ckpt_map m;

			raw_read_at(fd, &m, sizeof(m), h->section[CKPT_MAPS].at + k * sizeof(m));
			taken = m.start < at + bytes && at < m.end;
		}
		if (!taken)
			p = raw(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
	if (p < 0)
		refuse("reprise: there is no place to restore an image from\n");
	((struct restore *)p)->scratch = (uint64_t)p;
	((struct restore *)p)->scratch_bytes = bytes;
	return (struct restore *)p;
}

static void *load(struct restore *w, int fd, enum ckpt_section_kind kind, char **at)
{
	const struct ckpt_section *s = &w->head.section[kind];
	void *to = *at;

	if (raw_read_at(fd, to, s->bytes, s->at) != 0)
		refuse("reprise: the image is cut\n");
	*at += rounded(s->bytes);
	return to;
}

static const char *whole_path(struct restore *w, uint32_t text, uint32_t base, char **at)
{
	const char *dir = base == CKPT_BASE_TRACE     ? w->note.dir
			  : base == CKPT_BASE_SESSION ? w->note.session
						      : NULL;
	const char *rest = w->text + text;
	char *start = *at;
	uint64_t n;

	if (!dir)
		return rest;
	n = raw_length(dir);
	raw_copy(*at, dir, n);
	(*at)[n] = '/';
	*at += n + 1;
	n = raw_length(rest) + 1;
	raw_copy(*at, rest, n);
	*at += n;
	return start;
}

/* The images that hold pages lie beside the one that is restored: "<number>.image". */
static int open_number(const char *image, uint32_t number)
{
	char path[1200], digits[12];
	uint64_t n = raw_length(image), k = sizeof(digits);

	if (n + 32 > sizeof(path))
		return -ENAMETOOLONG;
	raw_copy(path, image, n + 1);
	while (n && path[n - 1] != '/')
		n--;
	do
		digits[--k] = (char)('0' + number % 10);
	while (number /= 10);
	raw_copy(path + n, digits + k, sizeof(digits) - k);
	raw_copy(path + n + sizeof(digits) - k, CKPT_SUFFIX, sizeof(CKPT_SUFFIX));
	return (int)raw(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
}

static void open_chain(struct restore *w, const char *image)
{
	uint64_t runs = w->head.section[CKPT_RUNS].bytes / sizeof(*w->run);

	for (uint64_t i = 0; i < runs; i++) {
		uint32_t number = w->run[i].image;
		long fd;

		if (restore_image_of(w, number) >= 0)
			continue;
		fd = open_number(image, number);
		if (fd < 0 || w->chain == RESTORE_CHAIN_MOST)
			refuse("reprise: an image that this one is based on is missing\n");
		w->image[w->chain].number = number;
		w->image[w->chain++].fd = (int)fd;
	}
}

static void load_tables(struct restore *w, int fd, const char *image)
{
	char *at = (char *)w + rounded(sizeof(*w));

	w->list = at;
	at += RESTORE_LIST_BYTES;
	w->thread = load(w, fd, CKPT_THREADS, &at);
	w->map = load(w, fd, CKPT_MAPS, &at);
	w->run = load(w, fd, CKPT_RUNS, &at);
	w->fd = load(w, fd, CKPT_FDS, &at);
	w->text = load(w, fd, CKPT_TEXT, &at);
	w->threads = (uint32_t)(w->head.section[CKPT_THREADS].bytes / sizeof(*w->thread));
	w->maps = (uint32_t)(w->head.section[CKPT_MAPS].bytes / sizeof(*w->map));
	w->fds = (uint32_t)(w->head.section[CKPT_FDS].bytes / sizeof(*w->fd));
	w->map_path = (const char **)at;
	at += w->maps * sizeof(*w->map_path);
	w->fd_path = (const char **)at;
	at += w->fds * sizeof(*w->fd_path);
	for (uint32_t i = 0; i < w->maps; i++)
		w->map_path[i] = whole_path(w, w->map[i].path, w->map[i].base, &at);
	w->highest = 2;
	for (uint32_t i = 0; i < w->fds; i++) {
		w->fd_path[i] = whole_path(w, w->fd[i].path, w->fd[i].base, &at);
		if (w->fd[i].fd > w->highest)
			w->highest = w->fd[i].fd;
	}
	open_chain(w, image);
}

__attribute__((constructor)) static void restore(int argc, char **argv, char **env)
{
	const char *image = find_variable(env, "REPRISE_IMAGE");
	const char *dir = find_variable(env, "REPRISE_DIR");
	const char *session = find_variable(env, "REPRISE_SESSION");
	static struct ckpt_head head;
	struct restore *w;
	uint64_t paths, code = (uint64_t)(__stop_restorer - __start_restorer);
	char *stack, *moved;
	long fd;

	(void)argc;
	(void)argv;
	if (!image || !dir || !session)
		return;
	fd = raw(SYS_open, image, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 || raw_read_at((int)fd, &head, sizeof(head), 0) != 0)
		refuse("reprise: the image cannot be read\n");
	paths = (head.section[CKPT_MAPS].bytes / sizeof(struct ckpt_map) +
		 head.section[CKPT_FDS].bytes / sizeof(struct ckpt_fd)) *
			(raw_length(dir) + raw_length(session) + 2 * sizeof(char *)) +
		head.section[CKPT_TEXT].bytes * 2 + CKPT_PAGE;
	w = make_scratch(&head, (int)fd, rounded(paths));
	w->head = head;
	w->note.restored = 1;
	w->note.scratch = w->scratch;
	w->note.scratch_bytes = w->scratch_bytes;
	copy_text(w->note.dir, dir, sizeof(w->note.dir));
	copy_text(w->note.session, session, sizeof(w->note.session));
	copy_text(w->maps_file, "/proc/self/maps", sizeof(w->maps_file));
	copy_text(w->words, "00\n.reprise: cannot restore the image, step ", sizeof(w->words));
	load_tables(w, (int)fd, image);
	raw(SYS_close, fd);
	w->rseq = __rseq_size ? (uint64_t)__builtin_thread_pointer() + (uint64_t)__rseq_offset : 0;
	stack = (char *)w->scratch + w->scratch_bytes - 64;
	moved = (char *)w->scratch + w->scratch_bytes - STACK_BYTES - CODE_BYTES;
	if (code > CODE_BYTES)
		refuse("reprise: the restorer is larger than it should be\n");
	raw_copy(moved, __start_restorer, code);
	w->begin = (uint64_t)moved + ((uint64_t)restore_begin - (uint64_t)__start_restorer);
	__asm__ volatile(
		"mov %0, %%rsp\n\t"
		"call *%1"
		:
		: "r"(stack),
		  "r"((uint64_t)moved + ((uint64_t)restore_become - (uint64_t)__start_restorer)),
		  "D"(w)
		: "memory");
	__builtin_unreachable();
}
