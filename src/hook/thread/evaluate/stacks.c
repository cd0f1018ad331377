/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a call comes from. To unwind a stack costs microseconds, and a loop comes from the same
 * place again and again; so it is remembered, by call site and stack pointer, which return
 * addresses were found in which words of the stack. If all of these words are still the same, so
 * is the stack. Stacks are numbered per thread: each is written once.
 */
#include "hook/thread/evaluate/stacks.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "hook/common/process.h"
#include "hook/kit/pages.h"
#include "hook/kit/random.h"
#include "hook/kit/table.h"
#include "trace/events.h"

#define CACHED 512 /* pairs */
#define WAYS 2

struct frames {
	bool alone; /* the site is not on the stack: it is all that is known */
	uint32_t depth;
	uint32_t words; /* of how many frames it is known where the address was found */
	uint64_t address[TRACE_SITE_DEPTH];
	const uint64_t *word[TRACE_SITE_DEPTH];
};

struct entry {
	const void *site;
	const void *sp;
	uint32_t number;
	struct frames frames;
};

/* Its index is its number. */
struct number {
	struct hook_entry entry; /* by hash */
};

struct hook_stacks {
	struct trace_stream stream;
	struct entry cache[CACHED][WAYS];
	struct hook_table numbers;
};

typedef _Unwind_Reason_Code trace_fn(struct _Unwind_Context *context, void *data);

/* Of libgcc_s, which glibc's own backtrace() loads in the same way. */
static struct {
	bool looked;
	_Unwind_Reason_Code (*backtrace)(trace_fn *fn, void *data);
	_Unwind_Word (*ip)(struct _Unwind_Context *context);
	_Unwind_Word (*cfa)(struct _Unwind_Context *context);
} unwinder;

static void find_unwinder(void)
{
	void *library = dlopen("libgcc_s.so.1", RTLD_NOW);

	unwinder.looked = true;
	if (!library)
		return;
	*(void **)&unwinder.ip = dlsym(library, "_Unwind_GetIP");
	*(void **)&unwinder.cfa = dlsym(library, "_Unwind_GetCFA");
	if (unwinder.ip && unwinder.cfa)
		*(void **)&unwinder.backtrace = dlsym(library, "_Unwind_Backtrace");
}

struct walk {
	struct frames *frames;
	const void *site;
	const uint64_t *below; /* the stack of the frame before ends here */
};

/* The highest word of the frame that has the address is the one it returns by. */
static const uint64_t *find_word(const uint64_t *from, const uint64_t *to, uint64_t address)
{
	if (from == NULL || to - from > 65536)
		from = to - 2;
	while (to > from) {
		if (*--to == address)
			return to;
	}
	return NULL;
}

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *data)
{
	struct walk *w = data;
	struct frames *f = w->frames;
	uint64_t ip = unwinder.ip(context);
	const uint64_t *cfa = (const uint64_t *)unwinder.cfa(context);
	const uint64_t *word;

	if (f->depth == 0 && ip != (uintptr_t)w->site) {
		w->below = cfa;
		return _URC_NO_REASON;
	}
	if (ip == 0)
		return _URC_END_OF_STACK;
	word = find_word(w->below, cfa, ip);
	if (word && f->words == f->depth)
		f->word[f->words++] = word;
	f->address[f->depth++] = ip;
	w->below = cfa;
	return f->depth == TRACE_SITE_DEPTH ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void unwind(struct frames *f, const void *site)
{
	struct walk w = {f, site, NULL};

	f->depth = f->words = 0;
	if (!unwinder.looked)
		find_unwinder();
	if (unwinder.backtrace)
		unwinder.backtrace(step, &w);
	f->alone = f->depth == 0;
	if (f->alone)
		f->address[f->depth++] = (uintptr_t)site;
}

uint32_t hook_stacks_walk(const void *site, uint64_t *frame, uint32_t most)
{
	struct frames f;

	unwind(&f, site);
	if (f.depth > most)
		f.depth = most;
	memcpy(frame, f.address, f.depth * sizeof(*frame));
	return f.depth;
}

static bool is_same(const struct entry *c, const void *site, const void *sp)
{
	const struct frames *f = &c->frames;

	if (c->site != site || c->sp != sp || (f->words != f->depth && !f->alone))
		return false;
	if (f->alone)
		return true;
	for (uint32_t i = 0; i < f->depth; i++) {
		if (*f->word[i] != f->address[i])
			return false;
	}
	return true;
}

static uint64_t hash_frames(const struct frames *f)
{
	uint64_t h = f->depth;

	for (uint32_t i = 0; i < f->depth; i++) {
		h = hook_random_spread(h ^ f->address[i]);
		h ^= h >> 29;
	}
	return h;
}

/* The number of a stack; a new one is written. */
static uint32_t number_of(struct hook_stacks *s, const struct frames *f)
{
	uint64_t hash = hash_frames(f);
	struct number *n = hook_table_find(&s->numbers, hash);

	if (n)
		return n->entry.index;
	if (hook_process.replay.unevaluated)
		return 0;
	n = hook_table_new(&s->numbers);
	if (!n)
		return 0;
	if (trace_sites_put(&s->stream, f->address, f->depth)) {
		hook_table_free(&s->numbers, n);
		return 0;
	}
	hook_mapped_write(hook_evaluate_directory());
	hook_table_insert(&s->numbers, n, hash);
	return n->entry.index;
}

static struct entry *cache_line(struct hook_stacks *s, const void *site, const void *sp)
{
	uint64_t x = hook_random_spread((uintptr_t)site ^ (uint64_t)(uintptr_t)sp << 20);

	return s->cache[(x >> 32) % CACHED];
}

/* Not inlined: its own frame is at a fixed distance from that of the wrapper. */
__attribute__((noinline)) uint32_t hook_stacks_site(struct hook_stacks *s, const void *site)
{
	const void *sp = __builtin_frame_address(0);
	struct entry *line = cache_line(s, site, sp);

	for (int i = 0; i < WAYS; i++) {
		if (is_same(&line[i], site, sp))
			return line[i].number;
	}
	memmove(&line[1], &line[0], (WAYS - 1) * sizeof(line[0]));
	line[0].site = site;
	line[0].sp = sp;
	unwind(&line[0].frames, site);
	line[0].number = number_of(s, &line[0].frames);
	return line[0].number;
}

int hook_evaluate_directory(void)
{
	static int rank_fd = -1;
	int fd = __atomic_load_n(&rank_fd, __ATOMIC_ACQUIRE), none = -1;
	char path[1100];

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/graph/rank-%04u", hook_process.session, hook_process.rank);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		hook_failed(hook_thread_self(), "the directory for events is not there");
	fd = hook_high_fd(fd);
	if (__atomic_compare_exchange_n(&rank_fd, &none, fd, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return fd;
	close(fd);
	return none;
}

struct hook_stacks *hook_stacks_open(const char *name)
{
	struct hook_stacks *s = hook_pages(sizeof(*s));
	char file[TRACE_NAME_BYTES + 32];
	int rc;

	if (!s)
		hook_failed(hook_thread_self(), "out of memory for events");
	s->numbers.bytes = s->numbers.clear = sizeof(struct number);
	if (hook_process.process)
		snprintf(file, sizeof(file), "p%u-%s.sites", hook_process.process, name);
	else
		snprintf(file, sizeof(file), "%s.sites", name);
	rc = trace_stream_create(&s->stream, hook_evaluate_directory(), file, TRACE_STREAM_SITES,
				 hook_process.rank, hook_process.process, name);
	if (rc)
		hook_evaluate_lost(hook_thread_self(), rc);
	return s;
}

struct hook_stacks *hook_stacks_of(struct hook_thread *t)
{
	if (__builtin_expect(!t->evaluate.stacks, 0))
		t->evaluate.stacks = hook_stacks_open(t->name);
	return t->evaluate.stacks;
}

void hook_stacks_close(struct hook_stacks *s)
{
	if (!s)
		return;
	trace_stream_close(&s->stream);
	hook_table_drop(&s->numbers);
	hook_pages_free(s, sizeof(*s));
}
