/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child that writes an image. It has the memory of the process as it was, and one thread; it
 * allocates nothing there, and what it needs it maps where the program has nothing. The file gets
 * its name when it is complete. Which pages of memory it has: pages.c.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "ckpt/build.h"
#include "ckpt/processor.h"
#include "ckpt/raw.h"
#include "hook/kit/text.h"
#include "hook/image/written/apart.h"
#include "hook/image/out.h"
#include "hook/session/session.h"

#define SCRATCH_FIRST 0x100000000000ul
#define SCRATCH_STEP 0x010000000000ul
#define SCRATCH_TRIES 16
#define LIST_BYTES (16ul << 20) /* /proc/self/maps */
#define MAPS_MOST 65536ul
#define BACK 5       /* of nice */
#define NAP_NS 50000 /* and how often at most, until the process has gone on */
#define NAPS 200
#define LARGE (64ul << 20) /* bytes of a file */

struct hook_image_out hook_image_out;

static void __attribute__((noreturn)) leave(long code)
{
	for (;;)
		raw(SYS_exit_group, code);
}

void hook_image_check(long rc)
{
	char path[1100];

	if (rc >= 0)
		return;
	hook_image_name(path, sizeof(path), hook_image.head.number, ".part");
	raw(SYS_unlink, path);
	leave(-rc & 127);
}

static void map_scratch(void)
{
	const uint64_t most = hook_image_pages_most();
	const struct {
		uint64_t bytes;
		void **at;
	} parts[] = {
		{LIST_BYTES, (void **)&hook_image_out.list},
		{MAPS_MOST * sizeof(*hook_image_out.map), (void **)&hook_image_out.map},
		{most * sizeof(*hook_image_out.run), (void **)&hook_image_out.run},
		{most * sizeof(*hook_image_out.hash), (void **)&hook_image_out.hash},
		{IMAGE_SPANS * sizeof(*hook_image_out.span), (void **)&hook_image_out.span},
		{IMAGE_CHUNK, (void **)&hook_image_out.entry},
		{IMAGE_CHUNK, (void **)&hook_image_out.buffer},
		{hook_image_apart_bytes(), (void **)&hook_image_out.apart},
	};
	const size_t n = sizeof(parts) / sizeof(parts[0]);
	long p = -ENOMEM;
	char *at;

	for (size_t i = 0; i < n; i++)
		hook_image_out.scratch_bytes += (parts[i].bytes + CKPT_PAGE - 1) & -CKPT_PAGE;
	for (int i = 0; i < SCRATCH_TRIES && p < 0; i++)
		p = raw(SYS_mmap, SCRATCH_FIRST + (uint64_t)i * SCRATCH_STEP,
			hook_image_out.scratch_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	hook_image_check(p);
	hook_image_out.scratch = at = (char *)p;
	for (size_t i = 0; i < n; i++) {
		*parts[i].at = at;
		at += (parts[i].bytes + CKPT_PAGE - 1) & -CKPT_PAGE;
	}
}

/*
 * Of the program's memory all must be here. What is not given to a child at all makes it smaller;
 * what a child gets as zeros the kernel tells by flags, but for what it may take away at any time,
 * and what we have asked for.
 */
static uint32_t look_at_flags(const char *line)
{
	const char *rest = raw_behind(line, "VmFlags:");

	return rest && strstr(rest, " wf") && !strstr(rest, " dp");
}

static void check_memory(void)
{
	char *text = (char *)hook_image_out.entry;
	uint32_t wiped = 0;
	uint64_t n = 0;
	long fd = raw(SYS_open, "/proc/self/smaps", O_RDONLY, 0), done;

	hook_image_check(fd);
	while ((done = raw(SYS_read, fd, text + n, IMAGE_CHUNK - n)) > 0) {
		char *line = text, *end;

		n += (uint64_t)done;
		while ((end = memchr(line, '\n', n - (uint64_t)(line - text)))) {
			*end = 0;
			wiped += look_at_flags(line);
			line = end + 1;
		}
		n -= (uint64_t)(line - text);
		memmove(text, line, n);
	}
	hook_image_check(done);
	if (wiped != hook_image_apart_maps())
		hook_image_check(-ECHILD);
	raw(SYS_close, fd);
}

/* A file may be replaced by another of the same size and time. */
static uint64_t build_of(const struct raw_map *line)
{
	if (line->offset || !(line->prot & PROT_READ))
		return 0;
	return ckpt_build_of((const void *)line->start, line->end - line->start);
}

static void take_file(struct ckpt_map *m, const char *path)
{
	struct stat st;

	m->path = hook_image_keep_path(path, &m->base);
	if (!m->path)
		hook_image_check(-E2BIG);
	hook_image_check(raw(SYS_stat, path, &st));
	m->file_bytes = (uint64_t)st.st_size;
	m->file_time = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

/*
 * What is shared with others, of a file that is not ours, becomes the process's own: such files of
 * MPI are gone with the job. Only what is large and read is likely to stay. So does what an
 * evaluation writes: nobody wants it any more, but a thread may have been parked halfway in it.
 */
static bool is_mapped_again(const struct raw_map *line)
{
	return line->inode && !raw_is_deleted(line->path) && !hook_image_is_copy(line->path) &&
	       ((hook_image_is_ours(line->path) && !hook_image_is_left(line->path)) ||
		(!(line->prot & PROT_WRITE) && line->end - line->start > LARGE));
}

static void refuse_shared(const char *path)
{
	if (hook_image_is_copy(path))
		hook_image_leave_word(HOOK_IMAGE_SHARED, "a file that it writes");
	else if (!raw_is_deleted(path))
		hook_image_leave_word(HOOK_IMAGE_SHARED, path);
	hook_image_check(-EXDEV);
}

static void take_map(const struct raw_map *line)
{
	struct ckpt_map *m = &hook_image_out.map[hook_image_out.maps];
	const struct hook_image_apart *apart = hook_image_apart_of(line->start, line->end);

	hook_image_true_path(line->path);
	*m = (struct ckpt_map){.start = line->start,
			       .end = line->end,
			       .offset = line->offset,
			       .prot = (uint32_t)line->prot,
			       .kind = CKPT_MAP_ANON,
			       .first_run = (uint32_t)hook_image_out.runs};
	if (raw_same(line->path, "[stack]")) {
		m->kind = CKPT_MAP_STACK;
		hook_image.head.stack_low = line->start;
		hook_image.head.stack_high = line->end;
	} else if (line->shared && is_mapped_again(line)) {
		m->kind = CKPT_MAP_SHARED;
	} else if (line->inode && !line->shared) {
		m->kind = CKPT_MAP_FILE;
	}
	/* A copy would not be shared with whoever is started later, or with the file. */
	if (line->shared && m->kind != CKPT_MAP_SHARED && hook_image_is_shared(line))
		refuse_shared(line->path);
	if (m->kind == CKPT_MAP_FILE || m->kind == CKPT_MAP_SHARED)
		take_file(m, line->path);
	if (m->kind == CKPT_MAP_FILE)
		m->build = build_of(line);
	hook_image_out.maps++;
	if (m->kind == CKPT_MAP_SHARED)
		return;
	if (!(line->prot & PROT_READ))
		raw(SYS_mprotect, m->start, m->end - m->start, m->prot | PROT_READ);
	if (line->shared)
		hook_image_take_pages(m, m->start, m->end);
	else if (apart)
		hook_image_take_apart(m, apart);
	else
		hook_image_take_own(m);
	m->runs = (uint32_t)hook_image_out.runs - m->first_run;
}

static void take_vdso(const struct raw_map *line)
{
	struct ckpt_head *h = &hook_image.head;

	h->vdso = line->start;
	h->vdso_bytes = line->end - line->start;
}

static void take_maps(void)
{
	struct raw_map line;
	char *next = hook_image_out.list;

	hook_image_check(raw_slurp("/proc/self/maps", hook_image_out.list, LIST_BYTES));
	while ((next = raw_map_line(next, &line))) {
		if (line.start >= (uint64_t)hook_image_out.scratch &&
		    line.start < (uint64_t)hook_image_out.scratch + hook_image_out.scratch_bytes)
			continue;
		if (raw_same(line.path, "[vdso]"))
			take_vdso(&line);
		if (raw_behind(line.path, "[v"))
			continue;
		if (hook_image_out.maps == MAPS_MOST)
			hook_image_check(-E2BIG);
		take_map(&line);
	}
}

static void write_section(enum ckpt_section_kind kind, const void *bytes, uint64_t n)
{
	struct ckpt_section *s = &hook_image.head.section[kind];

	*s = (struct ckpt_section){hook_image_out.at, n, XXH3_64bits(bytes, n)};
	hook_image_check(raw_write_at(hook_image_out.fd, bytes, n, hook_image_out.at));
	hook_image_out.at = (hook_image_out.at + n + 63) & -64ul;
}

/* A file's bytes [from, bytes), behind what was written of the section. */
static void copy_into(XXH3_state_t *state, int fd, uint64_t from, uint64_t bytes)
{
	while (from < bytes) {
		uint64_t n = bytes - from < IMAGE_CHUNK ? bytes - from : IMAGE_CHUNK;

		hook_image_check(raw_read_at(fd, hook_image_out.entry, n, from));
		hook_image_check(raw_write_at(hook_image_out.fd, hook_image_out.entry, n,
					      hook_image_out.at));
		XXH3_64bits_update(state, hook_image_out.entry, n);
		hook_image_out.at += n;
		from += n;
	}
}

/* Its bytes are appended to, and never changed; the head is as it was. */
static void write_output(void)
{
	struct ckpt_section *s = &hook_image.head.section[CKPT_OUTPUT];
	char path[1100];
	struct hook_text text = hook_text_in(path, sizeof(path));
	XXH3_state_t state;
	long fd;

	*s = (struct ckpt_section){.at = hook_image_out.at, .bytes = hook_image.output_bytes};
	XXH3_64bits_reset(&state);
	if (hook_image.output_bytes) {
		hook_text_add(&text, hook_process.session);
		hook_text_add(&text, "/");
		hook_text_add(&text, hook_image.output);
		fd = raw(SYS_open, path, O_RDONLY, 0);
		hook_image_check(fd);
		hook_image_check(raw_write_at(hook_image_out.fd, hook_image.output_head,
					      sizeof(hook_image.output_head), hook_image_out.at));
		XXH3_64bits_update(&state, hook_image.output_head, sizeof(hook_image.output_head));
		hook_image_out.at += sizeof(hook_image.output_head);
		copy_into(&state, (int)fd, sizeof(hook_image.output_head), hook_image.output_bytes);
		raw(SYS_close, fd);
		hook_image_check(raw_write_at(hook_image_out.fd, hook_image.output_tail,
					      hook_image.output_tail_bytes, hook_image_out.at));
		XXH3_64bits_update(&state, hook_image.output_tail, hook_image.output_tail_bytes);
		hook_image_out.at += hook_image.output_tail_bytes;
		s->bytes += hook_image.output_tail_bytes;
	}
	s->check = XXH3_64bits_digest(&state);
	hook_image_out.at = (hook_image_out.at + 63) & -64ul;
}

static void write_copies(void)
{
	struct ckpt_section *s = &hook_image.head.section[CKPT_COPIES];
	XXH3_state_t state;

	*s = (struct ckpt_section){.at = hook_image_out.at, .bytes = hook_image.copies_bytes};
	XXH3_64bits_reset(&state);
	copy_into(&state, hook_image.copies_fd, 0, hook_image.copies_bytes);
	s->check = XXH3_64bits_digest(&state);
	hook_image_out.at = (hook_image_out.at + 63) & -64ul;
}

static void write_head(void)
{
	struct ckpt_head *h = &hook_image.head;

	/* The process went on when it was given the processor, not when this child was. */
	h->stopped = __atomic_load_n(&hook_slot->stopped, __ATOMIC_ACQUIRE);
	if (!h->stopped)
		h->stopped = hook_image_out.begun;
	h->pages = hook_image_out.hashes;
	ckpt_processor_name(h->processor);
	h->features = ckpt_processor_features();
	h->check = XXH3_64bits(h, offsetof(struct ckpt_head, check));
	hook_image_check(raw_write_at(hook_image_out.fd, h, sizeof(*h), 0));
	hook_image_check(raw(SYS_ftruncate, hook_image_out.fd, hook_image_out.at));
}

/* Nothing of the program's is held open but memory. */
static void close_all(void)
{
	int copies = hook_image.copies_fd;

	if (copies > 0)
		raw(SYS_close_range, 0, copies - 1, 0);
	raw(SYS_close_range, copies + 1, UINT32_MAX, 0);
	for (int i = 0; i < 3; i++)
		raw(SYS_open, "/dev/null", O_RDWR, 0);
}

void hook_image_name(char *out, size_t size, uint32_t number, const char *suffix)
{
	char name[32];
	struct hook_text text = hook_text_in(name, sizeof(name));

	hook_text_number(&text, number);
	hook_text_add(&text, suffix);
	hook_image_path(out, size, name);
}

/* For tests, which could not know that the kernel is asked at all: a number for each image. */
static void tell_unwritten(void)
{
	char path[1100], line[24];
	struct hook_text text = hook_text_in(line, sizeof(line));
	long fd;

	hook_image_path(path, sizeof(path), "unwritten");
	hook_text_number(&text, hook_image_out.unwritten);
	hook_text_add(&text, "\n");
	fd = raw(SYS_open, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0)
		raw(SYS_write, fd, line, strlen(line));
}

/*
 * Somewhat behind those who compute; but not so far that they would leave it nothing, since the
 * next image is not taken before this one is written.
 */
static void step_back(void)
{
	long nice = 20 - raw(SYS_getpriority, PRIO_PROCESS, 0) + BACK;

	if (hook_image.awaited)
		return;
	raw(SYS_setpriority, PRIO_PROCESS, 0, nice);
	raw(SYS_ioprio_set, 1 /* a process */, 0, 2 << 13 | 7 /* the least of those that try */);
}

/*
 * Who is born may be given the processor of who still stands still for the image, and would keep
 * it for a while. Where nobody says that the process has gone on, it is not waited for long.
 */
static void let_it_go_on(void)
{
	struct timespec nap = {0, NAP_NS};

	for (int i = 0; i < NAPS && !__atomic_load_n(&hook_slot->stopped, __ATOMIC_ACQUIRE); i++)
		raw(SYS_nanosleep, &nap, NULL);
}

void hook_image_write(void)
{
	char part[1100], path[1100];
	struct timespec ts;

	/* In a process that was restored it is what another child had in the middle of its work. */
	memset(&hook_image_out, 0, sizeof(hook_image_out));
	raw(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	hook_image_out.begun =
		(uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec - hook_image.head.stopped;
	hook_image_out.no_scan = hook_image.no_scan;
	step_back();
	let_it_go_on();
	close_all();
	while (hook_image.late && hook_process.rank && !hook_session_has_parted())
		raw(SYS_sched_yield);
	if (hook_image_memory_pages() != hook_image.memory_pages)
		hook_image_check(-ECHILD);
	map_scratch();
	hook_image_apart_move(hook_image_out.apart);
	check_memory();
	hook_image_name(part, sizeof(part), hook_image.head.number, ".part");
	hook_image_name(path, sizeof(path), hook_image.head.number, CKPT_SUFFIX);
	hook_image_out.fd = (int)raw(SYS_open, part, O_RDWR | O_CREAT | O_TRUNC, 0600);
	hook_image_check(hook_image_out.fd);
	hook_image_map_before();
	if (!hook_image_out.before.hash && hook_image_apart_maps())
		hook_image_check(-EIO);
	hook_image_out.pagemap = (int)raw(SYS_open, "/proc/self/pagemap", O_RDONLY, 0);
	hook_image_check(hook_image_out.pagemap);
	hook_image_out.at = (sizeof(struct ckpt_head) + CKPT_PAGE - 1) & -CKPT_PAGE;
	hook_image.head.section[CKPT_PAGES].at = hook_image_out.at;
	take_maps();
	hook_image_flush();
	hook_image.head.section[CKPT_PAGES].bytes =
		hook_image_out.at - hook_image.head.section[CKPT_PAGES].at;
	write_section(CKPT_THREADS, hook_image.thread,
		      hook_image.threads * sizeof(struct ckpt_thread));
	write_section(CKPT_MAPS, hook_image_out.map,
		      hook_image_out.maps * sizeof(*hook_image_out.map));
	write_section(CKPT_RUNS, hook_image_out.run,
		      hook_image_out.runs * sizeof(*hook_image_out.run));
	write_section(CKPT_HASHES, hook_image_out.hash,
		      hook_image_out.hashes * sizeof(*hook_image_out.hash));
	write_section(CKPT_FDS, hook_image.fd, hook_image.fds * sizeof(struct ckpt_fd));
	write_section(CKPT_TEXT, hook_image.text, hook_image.text_bytes);
	write_output();
	write_copies();
	write_head();
	hook_image_check(raw(SYS_rename, part, path));
	if (hook_image.verifies)
		tell_unwritten();
	leave(0);
}
