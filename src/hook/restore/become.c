/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that goes on where neither the image nor the new process has anything: all of section
 * "restorer". It is moved there, and refers to nothing but its own struct. It takes away what the
 * process has, puts there what the image has, and starts its threads.
 *
 * Identical read-only mappings of files are kept, so that breakpoints that a debugger has set in
 * them stay. Pages are read, not mapped: whatever of the image were mapped could come to light
 * again later.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/socket.h>

#include <asm/prctl.h>

#include "hook/restore/restore.h"

#define KEPT 0x80000000u /* in the kind of a map: it is there already */

#define MOVED __attribute__((section("restorer"), noinline, used))
#define CODE RAW

CODE void __attribute__((noreturn)) fail(struct restore *w, int step)
{
	w->words[0] = (char)('0' + step / 10);
	w->words[1] = (char)('0' + step % 10);
	raw(SYS_write, 2, w->words + 4, 40);
	raw(SYS_write, 2, w->words, 3);
	for (;;)
		raw(SYS_exit_group, 125);
}

CODE void must(struct restore *w, int step, int good)
{
	if (!good)
		fail(w, step);
}

/* The new process has the same file there, read-only, and it is not to change. */
CODE int is_kept(struct restore *w, const struct raw_map *line)
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
CODE void clear(struct restore *w)
{
	uint64_t vdso = 0, low = 0, high = 0;
	struct raw_map line;
	char *next = w->list;

	must(w, 1, raw_slurp(w->maps_file, w->list, RESTORE_LIST_BYTES) > 0);
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

CODE void put_map(struct restore *w, uint32_t i)
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
		     raw_read_at(restore_image_of(w, r->image), (void *)r->address,
				 (uint64_t)r->pages * CKPT_PAGE, r->at) == 0);
	}
	if (m->runs && (m->prot & PROT_WRITE) == 0)
		raw(SYS_mprotect, m->start, bytes, m->prot);
}

CODE int is_found(const struct restore *w, int fd)
{
	for (uint32_t i = 0; i < w->fds; i++) {
		if (w->fd[i].fd == fd)
			return w->fd[i].kind == CKPT_FD_FOUND;
	}
	return 0;
}

CODE long make_idle(struct restore *w, const struct ckpt_fd *f)
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

/* What was in it; nobody reads yet, and it was in there before: so there is room. */
CODE int fill_pipe(struct restore *w, uint32_t i, int end)
{
	uint64_t left = w->fd[i].copy_bytes;
	char bytes[CKPT_PAGE];
	long from, n;

	if (!left)
		return 1;
	from = raw(SYS_open, w->fd_path[i], O_RDONLY, 0);
	while (left && from >= 0) {
		n = raw(SYS_read, from, bytes, left < CKPT_PAGE ? left : CKPT_PAGE);
		if (n <= 0 || raw(SYS_write, end, bytes, n) != n)
			break;
		left -= (uint64_t)n;
	}
	if (from >= 0)
		raw(SYS_close, from);
	return !left;
}

/* Both ends, out of the way: the one that reads, and after it the one that writes. */
CODE long make_pipe(struct restore *w, uint32_t i)
{
	struct ckpt_fd *f = &w->fd[i];
	int pair[2];
	long reads, writes;

	if (raw(SYS_pipe2, pair, 0) != 0)
		return -1;
	reads = raw(SYS_fcntl, pair[0], F_DUPFD_CLOEXEC, w->highest + 4);
	writes = raw(SYS_fcntl, pair[1], F_DUPFD_CLOEXEC, w->highest + 4);
	raw(SYS_close, pair[0]);
	raw(SYS_close, pair[1]);
	if (reads < 0 || writes < 0)
		return -1;
	raw(SYS_fcntl, writes, F_SETPIPE_SZ, f->room);
	f->file_bytes = (uint64_t)reads;
	f->file_time = (uint64_t)writes;
	return fill_pipe(w, i, (int)writes) ? 0 : -1;
}

CODE long open_pipe(struct restore *w, uint32_t i)
{
	const struct ckpt_fd *f = &w->fd[i];
	uint32_t first = 0;
	long fd;

	while (first < i && w->fd[first].fd != f->same)
		first++;
	if (first == i && make_pipe(w, i) != 0)
		return -1;
	fd = (long)((f->flags & O_ACCMODE) == O_RDONLY ? w->fd[first].file_bytes
						       : w->fd[first].file_time);
	raw(SYS_fcntl, fd, F_SETFL, f->flags & O_NONBLOCK);
	return raw(SYS_fcntl, fd, F_DUPFD, 0);
}

CODE void close_pipes(struct restore *w)
{
	for (uint32_t i = 0; i < w->fds; i++) {
		if (w->fd[i].kind != CKPT_FD_PIPE || w->fd[i].same != w->fd[i].fd)
			continue;
		raw(SYS_close, w->fd[i].file_bytes);
		raw(SYS_close, w->fd[i].file_time);
	}
}

CODE long open_fd(struct restore *w, uint32_t i, const int standard[3])
{
	const struct ckpt_fd *f = &w->fd[i];

	switch (f->kind) {
	case CKPT_FD_KEPT:
		return raw(SYS_fcntl, standard[f->same], F_DUPFD, 0);
	case CKPT_FD_SAME:
		return raw(SYS_fcntl, f->same, F_DUPFD, 0);
	case CKPT_FD_FILE:
	case CKPT_FD_COPY:
		return raw(SYS_open, w->fd_path[i], f->flags & ~(O_CREAT | O_EXCL | O_TRUNC), 0);
	case CKPT_FD_EPOLL:
		return raw(SYS_epoll_create1, 0);
	case CKPT_FD_EVENT:
		return raw(SYS_eventfd2, 0, O_NONBLOCK);
	case CKPT_FD_PIPE:
		return open_pipe(w, i);
	default:
		return make_idle(w, f);
	}
}

/*
 * By their numbers, the lowest first: a number that is free is never one that is in its place
 * already. Ours lie beyond the limit of the process, so that is raised meanwhile.
 */
CODE void put_fds(struct restore *w)
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
		if (f->position >= 0 && f->kind != CKPT_FD_SAME &&
		    (f->kind != CKPT_FD_KEPT || f->fd == 0))
			raw(SYS_lseek, f->fd, f->position, SEEK_SET);
	}
	close_pipes(w);
	for (int i = 0; i < 3; i++)
		raw(SYS_close, standard[i]);
	raw(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

MOVED void restore_begin(struct restore *w, uint64_t index)
{
	const struct ckpt_thread *t = &w->thread[index];
	void (*resume)(uint64_t) = (void (*)(uint64_t))w->head.resume;

	if (t->gs)
		raw(SYS_arch_prctl, ARCH_SET_GS, t->gs);
	/* Where they are not there any more it stays what it is. */
	raw(SYS_sched_setaffinity, 0, sizeof(t->cpus), t->cpus);
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

CODE void clone_thread(struct restore *w, uint64_t index)
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

MOVED void restore_become(struct restore *w)
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
	must(w, 12, raw(SYS_chdir, w->text + h->cwd) == 0);
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
