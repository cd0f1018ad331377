/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel knows of the process and an image must hold: handlers, the layout that /proc
 * tells, and the descriptors (descriptors.c). All other threads stand still, perhaps with locks of
 * libc or ours in their hands: so there are system calls here and nothing else. What cannot be put
 * back is refused by its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "ckpt/raw.h"
#include "hook/session/session.h"
#include "hook/kit/text.h"
#include "hook/image/image.h"
#include "hook/image/park.h"
#include "hook/output/output.h"
#include "hook/thread/sync/sync.h"

#define PATH 4096
#define NOTED 64
#define CHUNK 16384 /* more than a line of /proc/self/maps */

bool hook_image_refuse(const char *a, const char *b)
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

bool hook_image_is_copy(const char *path)
{
	uint32_t base;
	const char *rest = rest_of(path, &base);

	return rest && base == CKPT_BASE_SESSION && raw_behind(rest, HOOK_IMAGE_COPY);
}

bool hook_image_is_left(const char *path)
{
	uint32_t base;
	const char *rest = rest_of(path, &base);

	return rest && base == CKPT_BASE_SESSION && raw_behind(rest, "graph/");
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

/* Fields of /proc/self/stat, counted from 1 as its manual does. */
static bool take_layout(void)
{
	struct ckpt_head *h = &hook_image.head;
	char text[2048], *p;
	uint64_t field[53] = {0};

	if (raw_slurp("/proc/self/stat", text, sizeof(text)) <= 0)
		return hook_image_refuse("/proc/self/stat cannot be read", "");
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
		return hook_image_refuse("the system does not tell where its stack is", "");
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
	hook_image.memory_pages = hook_image_memory_pages();
	raw(SYS_umask, h->umask);
	n = raw(SYS_getcwd, path, sizeof(path));
	h->cwd = hook_image_text(n > 0 ? path : "/");
	n = raw(SYS_readlink, "/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	h->program = hook_image_text(path);
}

uint64_t hook_image_memory_pages(void)
{
	char text[128], *p = text;

	return raw_slurp("/proc/self/statm", text, sizeof(text)) > 0 ? raw_decimal(&p) : 0;
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
		return hook_image_refuse("a timer of the program runs", "");
	if (has_children())
		return hook_image_refuse("a process that the program has started is there", "");
	if (holds_robust())
		return hook_image_refuse("a robust mutex is held", "");
	if (!take_layout() || !hook_image_take_descriptors())
		return false;
	i->slot = *hook_slot;
	i->output_tail_bytes = sizeof(i->output_tail);
	i->output_bytes = hook_output_snapshot(i->output, sizeof(i->output), i->output_head,
					       i->output_tail, &i->output_tail_bytes);
	return true;
}

/*
 * Which files are the program's own among those that are mapped to be written and shared. MPI maps
 * such files, too, when it is opened, and a copy of theirs is enough: so what is mapped before that
 * is noted. In a rank alone, what MPI had is no longer shared.
 */
static struct {
	uint64_t start, inode;
} noted[NOTED];
static uint32_t notes;

static bool is_written_file(const struct raw_map *m)
{
	return m->shared && m->inode && m->prot & PROT_WRITE && !raw_is_deleted(m->path);
}

static void note(const struct raw_map *m)
{
	if (!is_written_file(m) || hook_image_is_ours(m->path))
		return;
	if (notes < NOTED) {
		noted[notes].start = m->start;
		noted[notes].inode = m->inode;
	}
	notes++;
}

void hook_image_note_shared(void)
{
	static char text[CHUNK + 1];
	long fd = raw(SYS_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), done;
	uint64_t n = 0;

	while (fd >= 0 && (done = raw(SYS_read, fd, text + n, CHUNK - n)) > 0) {
		char *line = text, *end;

		n += (uint64_t)done;
		while ((end = memchr(line, '\n', n - (uint64_t)(line - text)))) {
			struct raw_map m;

			raw_map_line(line, &m);
			note(&m);
			line = end + 1;
		}
		n -= (uint64_t)(line - text);
		memmove(text, line, n);
	}
	if (fd >= 0)
		raw(SYS_close, fd);
}

bool hook_image_is_shared(const struct raw_map *m)
{
	if (!hook_image_has_mpi())
		return true;
	if (!is_written_file(m))
		return false;
	if (hook_process.replay.recover == HOOK_RECOVER_ALONE || notes > NOTED)
		return true;
	for (uint32_t i = 0; i < notes; i++) {
		if (noted[i].start == m->start && noted[i].inode == m->inode)
			return true;
	}
	return false;
}

/* It may be inside of the operation behind those that it has been through. */
static uint64_t operation_of(const struct hook_thread *t)
{
	return hook_sync_mode ? t->replay.sync_reader.ops + 2 : 1;
}

/* Those that are not its own have no name. */
void hook_image_fill_positions(void)
{
	for (uint32_t i = 0; i < hook_image.threads; i++) {
		const struct hook_thread *t = hook_park.who[i];

		hook_image.thread[i].event = t ? t->replay.events + 1 : 0;
		hook_image.thread[i].operation = t ? operation_of(t) : 0;
		hook_image.thread[i].children = t ? t->children : 0;
		hook_image.thread[i].name = t ? hook_image_text(t->name) : 0;
	}
}
