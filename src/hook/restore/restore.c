/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Becomes a process from its image (ckpt/format.h). This library is loaded into the program that
 * was recorded, started anew, and its constructor is the first to run; it never returns. What it
 * needs is put where neither the image nor the new process has anything; the code that goes on
 * there, all of section "restorer", is moved with it and refers to nothing but its own struct. The
 * tool has checked the image; what goes wrong here ends the process, and the exit status says at
 * which step.
 *
 * Identical read-only mappings of files are kept, so that breakpoints that a debugger has set in
 * them stay. Pages are read, not mapped: whatever of the image were mapped could come to light
 * again later.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/socket.h>

#include <asm/prctl.h>

#include "ckpt/format.h"
#include "ckpt/raw.h"

#define SCRATCH_FIRST 0x100000000000ul
#define SCRATCH_STEP 0x010000000000ul
#define SCRATCH_TRIES 16
#define LIST_BYTES (8ul << 20)
#define STACK_BYTES (64ul << 10)
#define CODE_BYTES (64ul << 10)
#define CHAIN_MOST 1024
#define KEPT 0x80000000u /* in the kind of a map: it is there already */

struct work {
	struct ckpt_head head;
	struct ckpt_note note;
	struct ckpt_thread *thread;
	struct ckpt_map *map;
	struct ckpt_run *run;
	struct ckpt_fd *fd;
	char *text;
	uint32_t threads, maps, fds;
	const char **map_path, **fd_path;
	char *list;
	uint64_t scratch, scratch_bytes;
	uint64_t rseq;  /* of the process as it is */
	uint64_t begin; /* where the code for threads lies now */
	int highest;    /* descriptor of the image */
	uint32_t chain;
	struct {
		uint32_t number;
		int fd;
	} image[CHAIN_MOST];
	char maps_file[16], words[48];
};

#define MOVED __attribute__((section("restorer"), noinline, used))
#define CODE RAW

extern const char __start_restorer[] __attribute__((visibility("hidden")));
extern const char __stop_restorer[] __attribute__((visibility("hidden")));

CODE void __attribute__((noreturn)) fail(struct work *w, int step)
{
	w->words[0] = (char)('0' + step / 10);
	w->words[1] = (char)('0' + step % 10);
	raw(SYS_write, 2, w->words + 4, 40);
	raw(SYS_write, 2, w->words, 3);
	for (;;)
		raw(SYS_exit_group, 125);
}

CODE void must(struct work *w, int step, int good)
{
	if (!good)
		fail(w, step);
}

/* The new process has the same file there, read-only, and it is not to change. */
CODE int is_kept(struct work *w, const struct raw_map *line)
{
	if (!line->inode || line->shared || (line->prot & PROT_WRITE))
		return 0;
	for (uint32_t i = 0; i < w->maps; i++) {
		struct ckpt_map *m = &w->map[i];

		if (m->kind == CKPT_MAP_FILE && m->start == line->start && m->end == line->end &&
		    m->offset == line->offset && (int)m->prot == line->prot &&
		    raw_same(w->map_path[i], line->path)) {
			m->kind |= KEPT;
			return 1;
		}
	}
	return 0;
}

/* Takes everything away that the image does not have; the stack of the process is the kernel's. */
CODE void clear(struct work *w)
{
	uint64_t vdso = 0, low = 0, high = 0;
	struct raw_map line;
	char *next = w->list;

	must(w, 1, raw_slurp(w->maps_file, w->list, LIST_BYTES) > 0);
	while ((next = raw_map_line(next, &line))) {
		if (line.start >= w->scratch && line.end <= w->scratch + w->scratch_bytes)
			continue;
		if (line.path[0] == '[' && line.path[1] == 'v') {
			if (line.path[2] == 'd')
				vdso = line.start;
			continue;
		}
		if (line.path[0] == '[' && line.path[1] == 's') {
			low = line.start;
			high = line.end;
			continue;
		}
		if (!is_kept(w, &line))
			raw(SYS_munmap, line.start, line.end - line.start);
	}
	must(w, 2, vdso == w->head.vdso);
	must(w, 3, high == w->head.stack_high);
	raw(SYS_madvise, low, high - low, MADV_DONTNEED);
	must(w, 4, (uint64_t)raw(SYS_brk, w->head.mm.brk) == w->head.mm.brk);
}

CODE int image_of(const struct work *w, uint32_t number)
{
	for (uint32_t i = 0; i < w->chain; i++) {
		if (w->image[i].number == number)
			return w->image[i].fd;
	}
	return -1;
}

CODE void put_map(struct work *w, uint32_t i)
{
	const struct ckpt_map *m = &w->map[i];
	uint64_t bytes = m->end - m->start;
	int write = m->runs ? PROT_READ | PROT_WRITE : 0;
	int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
	long fd = -1;

	if (m->kind == CKPT_MAP_STACK) {
		*(volatile char *)m->start = 0;
	} else if (m->kind & KEPT) {
		if (write)
			raw(SYS_mprotect, m->start, bytes, (int)m->prot | write);
	} else {
		if (m->kind == CKPT_MAP_ANON)
			flags |= MAP_ANONYMOUS;
		else
			fd = raw(SYS_open, w->map_path[i],
				 m->kind == CKPT_MAP_SHARED && (m->prot & PROT_WRITE) ? O_RDWR
										      : O_RDONLY,
				 0);
		must(w, 5, m->kind == CKPT_MAP_ANON || fd >= 0);
		if (m->kind == CKPT_MAP_SHARED)
			flags = MAP_SHARED | MAP_FIXED;
		must(w, 6,
		     (uint64_t)raw(SYS_mmap, m->start, bytes, (int)m->prot | write, flags, fd,
				   m->offset) == m->start);
		if (fd >= 0)
			raw(SYS_close, fd);
	}
	for (uint32_t k = m->first_run; k < m->first_run + m->runs; k++) {
		const struct ckpt_run *r = &w->run[k];

		must(w, 7,
		     raw_read_at(image_of(w, r->image), (void *)r->address,
				 (uint64_t)r->pages * CKPT_PAGE, r->at) == 0);
	}
	if (m->runs && (m->prot & PROT_WRITE) == 0)
		raw(SYS_mprotect, m->start, bytes, m->prot);
}

CODE int is_found(const struct work *w, int fd)
{
	for (uint32_t i = 0; i < w->fds; i++) {
		if (w->fd[i].fd == fd)
			return w->fd[i].kind == CKPT_FD_FOUND;
	}
	return 0;
}

CODE long make_idle(struct work *w, const struct ckpt_fd *f)
{
	int pair[2];
	int type = SOCK_STREAM | (f->flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);
	long rc = raw(SYS_socketpair, AF_UNIX, type, 0, pair);

	if (rc < 0)
		return rc;
	rc = raw(SYS_fcntl, pair[1], F_DUPFD_CLOEXEC, w->highest + 4);
	raw(SYS_close, pair[1]);
	return rc < 0 ? rc : pair[0];
}

CODE long open_fd(struct work *w, uint32_t i, const int standard[3])
{
	const struct ckpt_fd *f = &w->fd[i];

	switch (f->kind) {
	case CKPT_FD_KEPT:
		return raw(SYS_fcntl, standard[f->fd], F_DUPFD, 0);
	case CKPT_FD_SAME:
		return raw(SYS_fcntl, f->same <= 2 ? standard[f->same] : f->same, F_DUPFD, 0);
	case CKPT_FD_FILE:
	case CKPT_FD_COPY:
		return raw(SYS_open, w->fd_path[i], f->flags & ~(O_CREAT | O_EXCL | O_TRUNC), 0);
	case CKPT_FD_EPOLL:
		return raw(SYS_epoll_create1, 0);
	case CKPT_FD_EVENT:
		return raw(SYS_eventfd2, 0, O_NONBLOCK);
	default:
		return make_idle(w, f);
	}
}

/*
 * By their numbers, the lowest first: a number that is free is never one that is in its place
 * already. Ours lie beyond the limit of the process, so that is raised meanwhile.
 */
CODE void put_fds(struct work *w)
{
	struct rlimit limit, wide;
	int standard[3];

	raw(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
	wide = limit;
	wide.rlim_cur = wide.rlim_max;
	raw(SYS_prlimit64, 0, RLIMIT_NOFILE, &wide, NULL);
	for (int i = 0; i < 3; i++)
		standard[i] = (int)raw(SYS_fcntl, i, F_DUPFD_CLOEXEC, w->highest + 1);
	for (int i = 0; i <= w->highest; i++) {
		if (!is_found(w, i))
			raw(SYS_close, i);
	}
	for (uint32_t i = 0; i < w->fds; i++) {
		const struct ckpt_fd *f = &w->fd[i];
		long fd;

		if (f->kind == CKPT_FD_FOUND && raw(SYS_fcntl, f->fd, F_GETFD) >= 0)
			continue;
		fd = open_fd(w, i, standard);

		must(w, 8, fd >= 0 || f->kind == CKPT_FD_KEPT);
		if (fd >= 0 && fd != f->fd) {
			must(w, 9, raw(SYS_dup3, fd, f->fd, f->flags & O_CLOEXEC) == (long)f->fd);
			raw(SYS_close, fd);
		} else if (fd >= 0) {
			raw(SYS_fcntl, fd, F_SETFD, f->flags & O_CLOEXEC ? FD_CLOEXEC : 0);
		}
		if (f->position >= 0 && f->kind != CKPT_FD_SAME && f->fd != 1 && f->fd != 2)
			raw(SYS_lseek, f->fd, f->position, SEEK_SET);
	}
	for (int i = 0; i < 3; i++)
		raw(SYS_close, standard[i]);
	raw(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

/* A thread, with its own registers for thread-local storage: the last that is done here. */
MOVED static void __attribute__((noreturn)) begin(struct work *w, uint64_t index)
{
	const struct ckpt_thread *t = &w->thread[index];
	void (*resume)(uint64_t) = (void (*)(uint64_t))w->head.resume;

	if (t->gs)
		raw(SYS_arch_prctl, ARCH_SET_GS, t->gs);
	raw(SYS_set_robust_list, t->robust, t->robust_bytes);
	if (t->rseq) {
		volatile uint32_t *word = (volatile uint32_t *)t->rseq;

		word[0] = 0;
		word[1] = UINT32_MAX;
		*(volatile uint64_t *)(t->rseq + 8) = 0;
		must(w, 10,
		     raw(SYS_rseq, t->rseq, w->head.rseq_bytes, 0, w->head.rseq_signature) == 0);
	}
	resume(index);
	for (;;)
		raw(SYS_exit_group, 125);
}

/* Below the frame of its handler a thread has nothing. */
CODE uint64_t stack_of(const struct ckpt_thread *t)
{
	return (t->frame - 1024) & -16ul;
}

CODE void clone_thread(struct work *w, uint64_t index)
{
	const struct ckpt_thread *t = &w->thread[index];
	long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		     CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID;
	/* cppcheck-suppress constStatement */
	register long r10 __asm__("r10") = (long)t->tid_address;
	/* cppcheck-suppress constStatement */
	register long r8 __asm__("r8") = (long)t->fs;
	/* cppcheck-suppress constStatement */
	register long r12 __asm__("r12") = (long)w;
	/* cppcheck-suppress constStatement */
	register long r13 __asm__("r13") = (long)index;
	/* cppcheck-suppress constStatement */
	register long r14 __asm__("r14") = (long)w->begin;
	long result;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "mov %%r13, %%rsi\n\t"
			 "call *%%r14\n\t"
			 "hlt\n"
			 "1:"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"(flags), "S"(stack_of(t)), "d"(0), "r"(r10), "r"(r8),
			   "r"(r12), "r"(r13), "r"(r14)
			 : "rcx", "r11", "memory");
	must(w, 11, result > 0);
}

MOVED static void __attribute__((noreturn)) become(struct work *w)
{
	uint64_t all = UINT64_MAX, first = 0;
	struct ckpt_head *h = &w->head;

	raw(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, NULL, 8);
	if (w->rseq)
		raw(SYS_rseq, w->rseq, 32, 1 /* RSEQ_FLAG_UNREGISTER */, RSEQ_SIG);
	clear(w);
	for (uint32_t i = 0; i < w->maps; i++)
		put_map(w, i);
	for (uint32_t i = 0; i < w->chain; i++)
		raw(SYS_close, w->image[i].fd);
	put_fds(w);
	raw(SYS_chdir, w->text + h->cwd);
	raw(SYS_umask, h->umask);
	for (int i = 0; i < CKPT_SIGNALS; i++)
		raw(SYS_rt_sigaction, i + 1, &h->action[i], NULL, 8);
	h->mm.auxv = (uint64_t)h->auxv;
	raw(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &h->mm, sizeof(h->mm), 0);
	raw_copy((void *)h->note, &w->note, sizeof(w->note));
	for (uint32_t i = 0; i < w->threads; i++) {
		if (w->thread[i].flags & CKPT_THREAD_MAIN)
			first = i;
		else
			clone_thread(w, i);
	}
	raw(SYS_arch_prctl, ARCH_SET_FS, w->thread[first].fs);
	raw(SYS_set_tid_address, w->thread[first].tid_address);
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "call *%1"
			 :
			 : "r"(stack_of(&w->thread[first])), "r"(w->begin), "D"(w), "S"(first)
			 : "memory");
	__builtin_unreachable();
}

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
static struct work *make_scratch(const struct ckpt_head *h, int fd, uint64_t paths)
{
	uint64_t bytes =
		rounded(sizeof(struct work)) + LIST_BYTES + STACK_BYTES + CODE_BYTES + paths;
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
	((struct work *)p)->scratch = (uint64_t)p;
	((struct work *)p)->scratch_bytes = bytes;
	return (struct work *)p;
}

static void *load(struct work *w, int fd, enum ckpt_section_kind kind, char **at)
{
	const struct ckpt_section *s = &w->head.section[kind];
	void *to = *at;

	if (raw_read_at(fd, to, s->bytes, s->at) != 0)
		refuse("reprise: the image is cut\n");
	*at += rounded(s->bytes);
	return to;
}

static const char *whole_path(struct work *w, uint32_t text, uint32_t base, char **at)
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

static void open_chain(struct work *w, const char *image)
{
	uint64_t runs = w->head.section[CKPT_RUNS].bytes / sizeof(*w->run);

	for (uint64_t i = 0; i < runs; i++) {
		uint32_t number = w->run[i].image;
		long fd;

		if (image_of(w, number) >= 0)
			continue;
		fd = open_number(image, number);
		if (fd < 0 || w->chain == CHAIN_MOST)
			refuse("reprise: an image that this one is based on is missing\n");
		w->image[w->chain].number = number;
		w->image[w->chain++].fd = (int)fd;
	}
}

static void load_tables(struct work *w, int fd, const char *image)
{
	char *at = (char *)w + rounded(sizeof(*w));

	w->list = at;
	at += LIST_BYTES;
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
	struct work *w;
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
	w->begin = (uint64_t)moved + ((uint64_t)begin - (uint64_t)__start_restorer);
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "call *%1"
			 :
			 : "r"(stack),
			   "r"((uint64_t)moved + ((uint64_t)become - (uint64_t)__start_restorer)),
			   "D"(w)
			 : "memory");
	__builtin_unreachable();
}
