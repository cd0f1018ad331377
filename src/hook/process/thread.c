/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a thread of the program, and its order stream. A thread is named by its place in the
 * tree of threads ("0.2" is the second child of the main thread), which is the same in every run,
 * and not by a number the kernel gives. How threads begin and end: hook/thread/life/create.c.
 */
#include "hook/common/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/common/done.h"
#include "hook/common/end.h"
#include "hook/heap/heap.h"
#include "hook/image/image.h"
#include "hook/input/file/infile.h"
#include "hook/input/value/input.h"
#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/kit/random.h"
#include "hook/memory/memory.h"
#include "hook/output/output.h"
#include "hook/program/modules.h"
#include "hook/program/residue.h"
#include "hook/session/halt.h"
#include "hook/session/session.h"
#include "hook/thread/evaluate/stacks.h"
#include "trace/shelf.h"

#define SPARES 64u
#define LIGHT_PARTS 4

static struct hook_thread *ended_main;
void (*hook_thread_closing)(struct hook_thread *t);

/*
 * States of ended threads that did little are used again: short threads would else spend more time
 * on getting zeroed pages than on anything of theirs. Whoever finds the list taken does without.
 */
static struct hook_thread *spare;
static unsigned int spares;
static struct hook_lock spares_lock;

static struct hook_thread *take_spare(void)
{
	struct hook_thread *t = NULL;

	if (!spare || !hook_lock_try(&spares_lock))
		return NULL;
	t = spare;
	if (t) {
		spare = t->life.next;
		t->life.next = NULL;
		spares--;
	}
	hook_lock_give(&spares_lock);
	return t;
}

static bool keep_spare(struct hook_thread *t)
{
	bool kept;

	if (!hook_lock_try(&spares_lock))
		return false;
	kept = spares < SPARES;
	if (kept) {
		t->life.next = spare;
		spare = t;
		spares++;
	}
	hook_lock_give(&spares_lock);
	return kept;
}

static bool is_light(const struct hook_thread *t)
{
	return !t->opened && __builtin_popcount(t->record.sync.touched) <= LIGHT_PARTS &&
	       __builtin_popcount(t->replay.sync_reader.touched) <= LIGHT_PARTS;
}

static void clear(void *from, void *to)
{
	memset(from, 0, (size_t)((char *)to - (char *)from));
}

/* Of a light one; the signals that wait are counted. */
static void wipe(struct hook_thread *t)
{
	clear(t, &t->record.order);
	clear(&t->record.order + 1, &t->record.sync);
	trace_sync_writer_wipe(&t->record.sync);
	clear(&t->record.sync + 1, &t->replay.order_reader);
	clear(&t->replay.order_reader + 1, &t->replay.sync_reader);
	trace_sync_reader_wipe(&t->replay.sync_reader);
	clear(&t->replay.sync_reader + 1, &t->signal.waits);
	clear(&t->signal.waits + 1, t + 1);
}

struct hook_thread *hook_thread_new(void)
{
	struct hook_thread *t = take_spare();

	if (!t)
		t = hook_pages(sizeof(*t));
	if (!t)
		return NULL;
	t->noise = hook_random_spread(hook_process.noise) + hook_process.rank + 1;
	return t;
}

struct hook_thread *hook_thread_self(void)
{
	static struct hook_thread last_resort = {.name = "0", .passive = 1};

	if (__builtin_expect(!hook_self, 0)) {
		hook_self = ended_main ? ended_main : hook_thread_new();
		if (!hook_self)
			hook_self = &last_resort;
		strcpy(hook_self->name, "0");
	}
	return hook_self;
}

void hook_thread_main_ends(struct hook_thread *t)
{
	ended_main = t;
}

static void record_open(struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];
	int rc;

	if (t->record.order.stream.header)
		return;
	hook_stream_name(t, "order", name, sizeof(name));
	rc = trace_stream_create(&t->record.order.stream, hook_process.rank_fd, name,
				 TRACE_STREAM_ORDER, hook_process.rank, hook_process.process,
				 t->name);
	if (rc)
		hook_stop_growing(t, rc);
}

void hook_thread_advance(struct hook_thread *t)
{
	int rc = trace_order_next(&t->replay.order_reader, &t->replay.next);

	if (rc < 0)
		hook_failed(t, "the recording makes no sense here");
	t->replay.more = rc == 1;
	t->replay.next_event = trace_order_event(&t->replay.order_reader);
}

/* true: there is a stream of the thread to follow. */
static bool view_open(struct hook_thread *t, int dirfd)
{
	char name[TRACE_NAME_BYTES + 16];
	const char *why;
	int rc;

	hook_stream_name(t, "order", name, sizeof(name));
	rc = trace_view_open(&t->replay.order_view, dirfd, name, &why);
	if (rc && hook_thread_is_main(t) && !(rc == -ENOENT && hook_process.explore.on))
		hook_failed(t, why);
	if (rc)
		return false;
	trace_order_reader_init(&t->replay.order_reader, &t->replay.order_view);
	hook_thread_advance(t);
	return true;
}

void hook_thread_open(struct hook_thread *t)
{
	if (t->opened)
		return;
	t->opened = true;
	if (hook_process.mode == HOOK_REPLAY) {
		view_open(t, hook_process.rank_fd);
		hook_halt_open(t);
	} else {
		record_open(t);
	}
	if (hook_process.explore.on)
		t->explore.past = !view_open(t, hook_process.explore.prelude_fd);
}

void hook_thread_adopt_main(void)
{
	struct hook_thread *t = hook_thread_self();

	if (hook_process.mode == HOOK_REPLAY || hook_process.explore.on) {
		hook_session_map();
		hook_slot->pid = hook_process.pid;
		hook_slot->state = REPLAY_RUNNING;
	}
	hook_thread_open(t);
	if (hook_process.mode == HOOK_REPLAY) {
		hook_slot->limit = t->replay.order_view.events << 1 | t->replay.order_view.inside;
		hook_input_was_pid((pid_t)t->replay.order_view.header->pid);
		hook_slot->todo = hook_slot->todo_main = 0;
		hook_done_expect(t);
	}
	hook_modules_start();
	hook_output_start();
	hook_residue_start();
	if (hook_process.mode == HOOK_REPLAY)
		hook_infile_load();
	hook_heap_start();
	hook_memory_start();
	hook_end_watch_signals();
	hook_image_start();
	hook_depth = t->passive;
}

/* libc's own word for it stays what it was in a process that is restored. */
void hook_thread_number(struct hook_thread *t)
{
	const int *word = NULL;

	t->kernel_tid = (int)syscall(SYS_gettid);
	t->tid = prctl(PR_GET_TID_ADDRESS, &word) == 0 && word ? *word : t->kernel_tid;
}

void hook_thread_renumber(struct hook_thread *t)
{
	t->kernel_tid = (int)syscall(SYS_gettid);
	if (t->replay.tid_given)
		t->replay.tid_real = t->kernel_tid;
}

void hook_thread_forget(void)
{
	if (!hook_self)
		return;
	trace_stream_forget(&hook_self->record.order.stream);
	trace_stream_forget(&hook_self->record.input.stream);
	trace_stream_forget(&hook_self->record.sync.stream);
	hook_heap_forget();
	trace_shelf_forget();
}

void hook_thread_close(struct hook_thread *t)
{
	if (hook_thread_closing)
		hook_thread_closing(t);
	hook_done_forget(t);
	hook_stacks_close(t->evaluate.stacks);
	trace_stream_close(&t->record.order.stream);
	trace_stream_close(&t->record.input.stream);
	trace_view_close(&t->replay.order_view);
	trace_view_close(&t->replay.input_view);
	trace_view_close(&t->replay.sync_view);
	for (int i = 0; i < HOOK_SCRATCHES; i++) {
		if (t->mpi.scratch[i])
			munmap(t->mpi.scratch[i], t->mpi.scratch_size[i]);
	}
	if (hook_self == t)
		hook_self = NULL;
	if (is_light(t)) {
		wipe(t);
		if (keep_spare(t))
			return;
	}
	munmap(t, sizeof(*t));
}
