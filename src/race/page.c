/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads have done to memory since it was looked at last. A thread notes its accesses in
 * pages of its own by plain stores, whether or not others are asked to stay out. They become part
 * of the histories before its clock changes: when its segment ends, and when it comes to know
 * something new. Invariant: what is noted in a thread's pages was done in its segment, with what it
 * knows. So while nobody is inside, any thread may look at the pages of any other; but it has to
 * take out what it looks at by an exchange, since their thread may note meanwhile.
 */
#include <string.h>

#include "race/inner.h"

#define LOCKS 4096u

static int lock[LOCKS]; /* of the cells of 4 KiB of memory */

static void (*tell)(struct race_thread *t, uintptr_t address, size_t n, bool write,
		    const void *site);

void race_tell_all(void (*touched)(struct race_thread *t, uintptr_t address, size_t n, bool write,
				   const void *site))
{
	tell = touched;
}

bool race_pages_reserve(struct race_thread *t)
{
	t->page = race_arena_alloc(RACE_MOST_PAGES * sizeof(*t->page));
	t->page_at = race_arena_alloc(RACE_PAGE_TABLE * sizeof(*t->page_at));
	t->open = race_arena_alloc(RACE_MOST_PAGES * sizeof(*t->open));
	t->quick = (struct race_quick)RACE_QUICK_CLOSED;
	return t->page && t->page_at && t->open;
}

static void out_of_memory(void)
{
	if (!race_why)
		race_why = RACE_STOP_MEMORY;
}

/* --- pages --- */

/* The place in the table of a page that is there, or where it belongs. */
static uint16_t *place_of(const struct race_thread *t, uintptr_t number)
{
	uint32_t i = (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 40);

	for (;; i++) {
		uint16_t *at = &t->page_at[i % RACE_PAGE_TABLE];

		if (!*at || t->page[*at - 1].number == number)
			return at;
	}
}

static struct race_page *find(const struct race_thread *t, uintptr_t number)
{
	uint16_t at = *place_of(t, number);

	return at ? &t->page[at - 1] : NULL;
}

static uintptr_t base_of(const struct race_page *p)
{
	return (uintptr_t)p->read - (p->number << RACE_PAGE_BITS) / 8;
}

/* Inside. The page of the thread, at hand from now on; NULL: it has too many. */
static struct race_page *page_for(struct race_thread *t, uintptr_t number)
{
	uint16_t *at = place_of(t, number);
	struct race_page *p;

	if (!*at) {
		if (t->pages == RACE_MOST_PAGES)
			return NULL;
		p = &t->page[t->pages];
		p->number = number;
		*at = (uint16_t)++t->pages;
	}
	p = &t->page[*at - 1];
	if (!p->open) {
		p->open = true;
		t->open[t->opened] = (uint16_t)(*at - 1);
		__atomic_store_n(&t->opened, t->opened + 1, __ATOMIC_RELEASE);
		t->used = true;
	}
	t->quick.window[number % RACE_WINDOWS] =
		(struct race_window){number << RACE_PAGE_BITS, base_of(p)};
	return p;
}

/* --- looking at them --- */

static int *lock_of(uintptr_t number)
{
	return &lock[(uint32_t)(number * 0x9e3779b97f4a7c15ull >> 52) % LOCKS];
}

/* Lines [*line, end) of the page; false: the thread's chunk has no room, or there are no cells. */
static bool add_lines(struct race_thread *t, struct race_page *p, unsigned *line, unsigned end)
{
	struct race_lines l = {
		.address = p->number << RACE_PAGE_BITS,
		.cell = race_arena_cell(p->number << RACE_PAGE_BITS),
		.read = p->read,
		.wrote = p->wrote,
		.line = *line,
		.end = end,
	};
	bool done;

	if (!l.cell) {
		out_of_memory();
		return false;
	}
	race_lock(lock_of(p->number));
	done = race_history_add(t, &l);
	race_unlock(lock_of(p->number));
	*line = l.line;
	return done;
}

/* Inside: the thread's own. */
static void look_at(struct race_thread *t, struct race_page *p, unsigned line, unsigned end)
{
	while (!race_why && !add_lines(t, p, &line, end) && !race_why) {
		race_guard_leave(t);
		(void)race_chunk_renew(t);
		/* What a handler did meanwhile is among what is open. */
		if (!race_guard_enter(t))
			return;
	}
}

static uint64_t taken(uint64_t *noted)
{
	return __atomic_load_n(noted, __ATOMIC_RELAXED)
		       ? __atomic_exchange_n(noted, 0, __ATOMIC_ACQ_REL)
		       : 0;
}

/* Of a line that its thread may go on noting in: nothing of that is lost. */
static void add_taken(struct race_thread *t, struct race_page *p, unsigned line, uint32_t *cell,
		      bool stopped)
{
	uint64_t read = taken(&p->read[line]), wrote = taken(&p->wrote[line]);
	struct race_lines l = {
		.address = (p->number << RACE_PAGE_BITS) + 64ul * line,
		.cell = cell + line * RACE_LINE,
		.read = &read,
		.wrote = &wrote,
		.end = 1,
	};

	while (!race_why && !race_history_add(t, &l)) {
		if (stopped)
			(void)race_chunk_renew_held(t);
		else
			(void)race_chunk_more_held(t);
	}
}

/*
 * Under race_world: of any thread, `stopped`: with nobody inside. Else of the calling one, and
 * false if somebody has the cells for too long.
 */
static bool take(struct race_thread *t, struct race_page *p, unsigned line, unsigned end,
		 bool stopped)
{
	uint32_t *cell = race_arena_cell(p->number << RACE_PAGE_BITS);

	if (!cell) {
		out_of_memory();
		return false;
	}
	if (!race_try_lock(lock_of(p->number)))
		return false;
	for (; line < end && !race_why; line++)
		add_taken(t, p, line, cell, stopped);
	race_unlock(lock_of(p->number));
	return true;
}

static bool take_all(struct race_thread *t, bool stopped)
{
	bool done = true;

	for (uint32_t i = 0; i < t->opened; i++)
		done &= take(t, &t->page[t->open[i]], 0, RACE_PAGE_LINES, stopped);
	return done;
}

static void close_windows(struct race_thread *t)
{
	for (uint32_t i = 0; i < t->opened; i++) {
		uintptr_t window = t->page[t->open[i]].number % RACE_WINDOWS;

		t->quick.window[window].page = race_window_closed(window);
	}
}

void race_pages_look(struct race_thread *t)
{
	if (!t->opened || !race_guard_enter(t))
		return;
	close_windows(t);
	for (uint32_t i = 0; i < t->opened; i++)
		look_at(t, &t->page[t->open[i]], 0, RACE_PAGE_LINES);
	close_windows(t);
	for (uint32_t i = 0; i < t->opened; i++)
		t->page[t->open[i]].open = false;
	t->opened = 0;
	race_guard_leave(t);
}

/* All of them may become others. */
static void pages_drop(struct race_thread *t)
{
	bool done;

	do {
		race_pages_look(t);
		if (!race_guard_enter(t))
			return;
		done = !t->opened; /* else a handler came between */
		if (done) {
			memset(t->page_at, 0, RACE_PAGE_TABLE * sizeof(*t->page_at));
			t->pages = 0;
		}
		race_guard_leave(t);
	} while (!done);
}

bool race_look(struct race_thread *self)
{
	bool done = true;

	if (self->busy || !race_try_lock(&race_world))
		return false;
	if (!race_guard_try_stop_all()) {
		/* Nobody collects meanwhile: what is its own can be looked at. */
		(void)take_all(self, false);
		race_unlock(&race_world);
		return false;
	}
	for (uint32_t i = 0; i < race_thread_count; i++) {
		if (race_threads[i].live)
			done &= take_all(&race_threads[i], true);
	}
	race_guard_let_go();
	race_unlock(&race_world);
	return done;
}

/* --- a part of memory --- */

/* Calls `act` for the lines of each page of the thread that has something of [from, to). */
static void in_range(struct race_thread *t, uintptr_t from, uintptr_t to,
		     void (*act)(struct race_thread *t, struct race_page *p, unsigned line,
				 unsigned end, void *arg),
		     void *arg)
{
	uintptr_t first = from >> RACE_PAGE_BITS, last = (to - 1) >> RACE_PAGE_BITS;
	uint32_t opened = __atomic_load_n(&t->opened, __ATOMIC_ACQUIRE);
	uintptr_t steps = last - first < opened ? last - first + 1 : opened;

	for (uintptr_t i = 0; i < steps; i++) {
		struct race_page *p = steps == opened ? &t->page[t->open[i]] : find(t, first + i);
		unsigned line = 0, end = RACE_PAGE_LINES;

		if (!p || p->number < first || p->number > last)
			continue;
		if (p->number == first)
			line = (unsigned)(from % (1u << RACE_PAGE_BITS) / 64);
		if (p->number == last)
			end = (unsigned)((to - 1) % (1u << RACE_PAGE_BITS) / 64) + 1;
		act(t, p, line, end, arg);
	}
}

static void look_at_part(struct race_thread *t, struct race_page *p, unsigned line, unsigned end,
			 void *arg)
{
	(void)arg;
	look_at(t, p, line, end);
}

static void take_part(struct race_thread *t, struct race_page *p, unsigned line, unsigned end,
		      void *arg)
{
	(void)arg;
	(void)take(t, p, line, end, true);
}

static void has_some(struct race_thread *t, struct race_page *p, unsigned line, unsigned end,
		     void *arg)
{
	(void)t;
	for (; line < end; line++)
		*(bool *)arg |= (p->read[line] | p->wrote[line]) != 0;
}

void race_settle(struct race_thread *t, uintptr_t address, size_t n)
{
	if (!n || !t->opened || race_why || !race_guard_enter(t))
		return;
	in_range(t, address, address + n, look_at_part, NULL);
	race_guard_leave(t);
}

/*
 * What others have noted of memory that is used for something else now: if they gave it back, and
 * nobody told. All that came before is seen in their pages without stopping them; what they note
 * meanwhile is in no order with this.
 */
static void settle_others(const struct race_thread *t, uintptr_t from, uintptr_t to)
{
	bool some = false;

	for (uint32_t i = 0; i < race_thread_count; i++) {
		if (race_threads[i].live && &race_threads[i] != t)
			in_range(&race_threads[i], from, to, has_some, &some);
	}
	if (!some)
		return;
	race_lock(&race_world);
	race_guard_stop_all();
	for (uint32_t i = 0; i < race_thread_count; i++) {
		if (race_threads[i].live && &race_threads[i] != t)
			in_range(&race_threads[i], from, to, take_part, NULL);
	}
	race_guard_let_go();
	race_unlock(&race_world);
}

static void empty(uintptr_t from, uintptr_t to)
{
	uintptr_t block = 2 * RACE_BLOCK_BYTES, granule = 1ul << RACE_GRANULE_BITS, next, number;
	uint32_t *cell;

	for (from &= ~7ul; from < to; from = next) {
		number = from >> RACE_PAGE_BITS;
		next = (from | (granule - 1)) + 1;
		if (!race_granules[from >> RACE_GRANULE_BITS & (RACE_GRANULES - 1)])
			continue;
		next = (from | (block - 1)) + 1;
		cell = race_arena_used_cell(from);
		if (!cell)
			continue;
		next = (number + 1) << RACE_PAGE_BITS;
		race_lock(lock_of(number));
		memset(cell, 0, ((next < to ? next : to) - from + 7) / 8 * sizeof(*cell));
		race_unlock(lock_of(number));
	}
}

void race_reset(struct race_thread *t, uintptr_t address, size_t n)
{
	/* A handler of a signal that found its thread inside must not wait for it. */
	if (race_why || !n || t->busy)
		return;
	race_settle(t, address, n);
	settle_others(t, address, address + n);
	if (!race_guard_enter(t))
		return;
	empty(address, address + n);
	race_guard_leave(t);
}

/* --- accesses --- */

/* Bytes [from, to) of the page. */
static void note(struct race_page *p, unsigned from, unsigned to, bool write)
{
	uint8_t *bits = (uint8_t *)(write ? p->wrote : p->read);

	while (from < to) {
		unsigned skip = from % 8, length = 8 - skip < to - from ? 8 - skip : to - from;

		bits[from / 8] |= (uint8_t)(((1u << length) - 1) << skip);
		from += length;
	}
}

void race_touch(struct race_thread *t, uintptr_t address, size_t n, bool write, const void *site)
{
	uintptr_t end = address + n, next;

	if (race_why || !t->live)
		return;
	if (__builtin_expect(tell != NULL, 0)) {
		tell(t, address, n, write, site);
		return;
	}
	for (; address < end; address = next) {
		uintptr_t number = address >> RACE_PAGE_BITS, first = number << RACE_PAGE_BITS;
		struct race_page *p;

		if (!race_guard_enter(t)) {
			t->lost++;
			return;
		}
		next = first + (1u << RACE_PAGE_BITS) < end ? first + (1u << RACE_PAGE_BITS) : end;
		p = page_for(t, number);
		if (p)
			note(p, (unsigned)(address - first), (unsigned)(next - first), write);
		race_guard_leave(t);
		if (!p) {
			pages_drop(t);
			next = address;
		}
	}
}
