/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it the same moment of the run? A replay is determined: if the thread has the same registers,
 * the program the same memory and the same files, and as much of the recording has been
 * taken, what follows is the same, too; so nothing else can be meant. All of that is compared, the
 * quickest first. What is left out is not the program's: our own library, and memory that it and
 * MPI have mapped. Two moments that differ only there cannot be told apart, nor need they be.
 *
 * Of several threads, which take turns (turns.c), all are compared, and whose turn it is.
 */
#include <elf.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "remote/registers.h"
#include "remote/travel.h"

#define CHUNK 65536
#define COME_MOST 4096
#define RED_ZONE 128
#define ODD 0x9e3779b97f4a7c15 /* for a digest */
#define LIST_MOST 100000       /* a list that is longer is none */

struct range {
	uint64_t start, end;
	bool stack;
};

/* The stack of a thread that is not the first: up to what libc keeps of the thread. */
struct stack {
	uint64_t sp, pointer;
};

struct maps {
	FILE *file;
	uint64_t sp;
	const struct stack *stack;
	size_t stacks;
	uint64_t behind; /* the end of the data of a library: its other data begin there */
	bool no_heap;    /* what libc has is not the program's, see far.c */
};

static bool is_ours(const char *path)
{
	return strstr(path, "/libreprise-") != NULL;
}

/*
 * Nothing but stacks that we have made lies there, one in a mapping. What is below the stack
 * pointer and its red zone is not kept, and libc's part is not the program's. A stack that the
 * program has made lies among its data: all of that is compared. False: nobody has this one.
 */
static bool cut(const struct maps *m, struct range *r)
{
	for (size_t i = 0; i < m->stacks; i++) {
		const struct stack *s = &m->stack[i];

		if (s->pointer < r->start || s->pointer >= r->end)
			continue;
		r->end = s->pointer;
		if (s->sp < r->end && s->sp > r->start + RED_ZONE)
			r->start = s->sp - RED_ZONE;
		return true;
	}
	return !m->stack;
}

/* What is the program's: its data and those of libraries, its heaps, mappings and stacks. */
static bool next_range(struct maps *m, struct range *r)
{
	char line[4400], kind[8];
	int at = 0;

	while (fgets(line, sizeof(line), m->file)) {
		bool library;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &r->start, &r->end,
			   kind, &at) != 3)
			continue;
		library = line[at] == '/' ? !is_ours(line + at)
					  : line[at] == '\n' && r->start == m->behind;
		m->behind = library ? r->end : 0;
		if (kind[1] != 'w' || kind[3] != 'p' ||
		    (m->no_heap && strcmp(line + at, "[heap]\n") == 0))
			continue;
		r->stack = strcmp(line + at, "[stack]\n") == 0;
		/* The first thread may be elsewhere: then nobody knows what is kept there. */
		if (r->stack && m->sp < r->end && r->start + RED_ZONE < m->sp)
			r->start = m->sp - RED_ZONE;
		if (r->start >= REPLAY_STACKS && r->end <= REPLAY_STACKS_END) {
			r->stack = true;
			if (!cut(m, r))
				continue;
		}
		if (r->stack || r->end <= REPLAY_PROGRAM_END || library)
			return true;
	}
	return false;
}

/* The process of the stay and the one that runs, and where they have different numbers. */
struct pair {
	const struct remote_process *there, *here;
	uint64_t places; /* a digest of these; 0: nowhere */
};

/* Do the two words name the same thread, each in a process of its own? */
static bool same_number(const struct pair *p, const uint8_t *x, const uint8_t *y)
{
	for (size_t i = 0; i < p->there->hads; i++) {
		const struct remote_number *there = &p->there->had[i];

		if (memcmp(&there->tid, x, sizeof(int)) != 0)
			continue;
		for (size_t j = 0; j < p->here->hads; j++) {
			const struct remote_number *here = &p->here->had[j];

			if (here->number == there->number &&
			    memcmp(&here->tid, y, sizeof(int)) == 0)
				return true;
		}
	}
	return false;
}

/*
 * Each process has a number of its own, and so have its threads. The kernel leaves it where a
 * process has signalled itself or made a thread, libc in mutexes, and either in registers and on
 * stacks. What is there instead may as well be something else that the program counts: the places
 * are noted, see find.c.
 */
static bool same_but_for_number(struct pair *p, const uint8_t *x, const uint8_t *y, size_t n,
				uint64_t from)
{
	if (memcmp(x, y, n) == 0)
		return true;
	for (size_t at = 0; at < n; at += sizeof(int)) {
		size_t part = n - at < sizeof(int) ? n - at : sizeof(int);

		if (memcmp(x + at, y + at, part) == 0)
			continue;
		if (part < sizeof(int) || !same_number(p, x + at, y + at))
			return false;
		p->places = (p->places ^ (from + at)) * ODD | 1;
	}
	return true;
}

static bool same_bytes(struct pair *p, const struct range *r)
{
	static uint8_t x[CHUNK], y[CHUNK];

	for (uint64_t at = r->start; at < r->end; at += CHUNK) {
		size_t n = r->end - at < CHUNK ? r->end - at : CHUNK;
		size_t m = remote_process_read(p->there, at, x, n);

		if (remote_process_read(p->here, at, y, n) != m ||
		    !same_but_for_number(p, x, y, m, at))
			return false;
	}
	return true;
}

/* What the program shares with others, or with itself: the copy has only noted what was there. */
static bool same_shared(struct pair *p, const struct remote_copy *copy)
{
	static uint8_t x[CHUNK];

	for (size_t i = 0; i < copy->shareds; i++) {
		const struct remote_shared *s = &copy->shared[i];

		if (s->address >= REPLAY_PROGRAM_END)
			continue;
		for (size_t at = 0; at < s->bytes; at += CHUNK) {
			size_t n = s->bytes - at < CHUNK ? s->bytes - at : CHUNK;

			if (remote_process_read(p->here, s->address + at, x, n) != n ||
			    !same_but_for_number(p, s->saved + at, x, n, s->address + at))
				return false;
		}
	}
	return true;
}

static bool same_memory(const struct remote_travel *t, struct pair *p, uint64_t sp,
			const struct stack *stack, size_t stacks)
{
	struct maps m = {.sp = sp,
			 .stack = stack,
			 .stacks = stacks,
			 .no_heap = t->across && !t->front->run->meta.system_heap};
	char path[32];
	struct range r;
	bool same = true;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->there->pid);
	m.file = fopen(path, "re");
	while (m.file && same && next_range(&m, &r))
		same = same_bytes(p, &r);
	if (m.file)
		fclose(m.file);
	return m.file && same;
}

/* Thread-local variables of the program itself lie right below the thread's pointer. */
static uint64_t bytes_of_locals(const struct remote_process *p)
{
	uint64_t pair[2], at = 0, n = 0, bytes = 0;
	char path[32];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/auxv", p->pid);
	file = fopen(path, "re");
	while (file && fread(pair, sizeof(pair), 1, file) == 1) {
		at = pair[0] == AT_PHDR ? pair[1] : at;
		n = pair[0] == AT_PHNUM ? pair[1] : n;
	}
	if (file)
		fclose(file);
	for (uint64_t i = 0; at && i < n; i++) {
		Elf64_Phdr h;

		if (remote_process_read(p, at + i * sizeof(h), &h, sizeof(h)) == sizeof(h) &&
		    h.p_type == PT_TLS && h.p_align)
			bytes = (h.p_memsz + h.p_align - 1) / h.p_align * h.p_align;
	}
	return bytes;
}

static bool same_locals(struct pair *p, uint64_t pointer)
{
	uint64_t n = bytes_of_locals(p->there);

	return same_bytes(p, &(struct range){pointer - n, pointer, false});
}

/* A part of the slot, as it was there; 0 if that is not known. */
static uint64_t saved(const struct remote_travel *t, const struct remote_stay *stay, size_t offset,
		      size_t bytes)
{
	uint64_t at = t->state - offsetof(struct replay_slot, state) + offset, value = 0;

	for (size_t i = 0; t->state && i < stay->copy.shareds; i++) {
		const struct remote_shared *s = &stay->copy.shared[i];

		if (at >= s->address && at + bytes <= s->address + s->bytes)
			memcpy(&value, s->saved + (at - s->address), bytes);
	}
	return value;
}

uint64_t remote_same_events(const struct remote_travel *t, const struct remote_stay *stay)
{
	return saved(t, stay, offsetof(struct replay_slot, events), sizeof(uint64_t));
}

/* There is one moment at which a rank says its last word. From then on it is in our own code. */
static bool is_end(const struct remote_travel *t, const struct remote_stay *stay)
{
	return saved(t, stay, offsetof(struct replay_slot, state), sizeof(uint32_t)) ==
	       REPLAY_AT_END;
}

/* Has as much of the recording been taken? */
static bool same_distance(const struct remote_travel *t, const struct remote_stay *stay)
{
	const struct replay_copy *how = &t->slot->copy;
	uint8_t x[COME_MOST], y[COME_MOST];

	for (unsigned i = 0; i < REPLAY_COMES; i++) {
		size_t n = how->come_bytes[i] < COME_MOST ? how->come_bytes[i] : COME_MOST;

		if (n && (remote_process_read(&t->live, how->come[i], x, n) != n ||
			  remote_process_read(&stay->copy.process, how->come[i], y, n) != n ||
			  memcmp(x, y, n) != 0))
			return false;
	}
	return !t->state || t->slot->events == remote_same_events(t, stay);
}

/* The same of all threads. */
static bool same_distances(const struct remote_travel *t, const struct remote_process *there)
{
	const struct replay_threads *list = &t->slot->threads;
	uint8_t x[COME_MOST], y[COME_MOST];
	uint64_t at = 0;

	if (list->first &&
	    remote_process_read(&t->live, list->first, &at, sizeof(at)) != sizeof(at))
		return false;
	for (size_t n = 0; at && n < LIST_MOST; n++) {
		for (unsigned i = 0; i < sizeof(list->come) / sizeof(list->come[0]); i++) {
			size_t bytes =
				list->come_bytes[i] < COME_MOST ? list->come_bytes[i] : COME_MOST;

			if (remote_process_read(&t->live, at + list->come[i], x, bytes) != bytes ||
			    remote_process_read(there, at + list->come[i], y, bytes) != bytes ||
			    memcmp(x, y, bytes) != 0)
				return false;
		}
		if (remote_process_read(&t->live, at + list->next, &at, sizeof(at)) != sizeof(at))
			return false;
	}
	return true;
}

/* Does the thread run code of ours, which the program has called? */
static bool is_in_ours(const struct remote_process *p, uint64_t pc)
{
	char path[32], line[4400];
	uint64_t start, end;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && pc >= start &&
			pc < end && is_ours(line);
	if (file)
		fclose(file);
	return found;
}

static bool is_at_call(const struct remote_process *p, uint64_t pc)
{
	uint8_t code[2];

	return remote_process_read(p, pc, code, 2) == 2 && code[0] == 0x0f && code[1] == 0x05;
}

/* Of a thread: its registers, its own variables, and what it waits for. */
static bool same_thread(struct pair *p, const struct remote_thread *a,
			const struct remote_thread *b, struct user_regs_struct *regs)
{
	struct user_regs_struct y;

	if (remote_process_registers(a, regs) != 0 || remote_process_registers(b, &y) != 0)
		return false;
	remote_registers_clean(regs);
	remote_registers_clean(&y);
	/* The instruction to come writes these; where it was taken back it has. */
	if (p->here->turns && is_at_call(p->there, y.rip)) {
		regs->rcx = y.rcx;
		regs->r11 = y.r11;
	}
	/* No memory has the address of a register. */
	return same_but_for_number(p, (const uint8_t *)&y, (const uint8_t *)regs, sizeof(y),
				   a->number * sizeof(y)) &&
	       a->wait == b->wait && a->woken == b->woken && a->late == b->late &&
	       (remote_registers_same_extended(a, b, false) ||
		(is_in_ours(p->there, regs->rip) && remote_registers_same_extended(a, b, true))) &&
	       same_locals(p, regs->fs_base);
}

/* All but the one that is looked at, whose registers are the same. */
static bool same_others(const struct remote_travel *t, struct pair *p, uint64_t sp)
{
	const struct remote_process *there = p->there;
	size_t n = t->live.threads, stacks = 0;
	struct stack *stack;
	bool same = n == there->threads && t->live.taken == there->taken &&
		    t->live.turn == there->turn && same_distances(t, there);

	if (!same)
		return false;
	stack = rp_alloc(n + 1, sizeof(*stack));
	for (size_t i = 0; i < n && same; i++) {
		const struct remote_thread *a = &t->live.thread[i];
		const struct remote_thread *b = remote_process_thread(there, a->number);
		struct user_regs_struct regs;

		if (b && remote_process_is_out(a) && a->wait == b->wait)
			continue;
		same = b && same_thread(p, a, b, &regs);
		if (same && a->number == 1)
			sp = regs.rsp;
		else if (same)
			stack[stacks++] = (struct stack){regs.rsp, regs.fs_base};
	}
	same = same && same_memory(t, p, sp, stack, stacks);
	free(stack);
	return same;
}

enum remote_same remote_stay_compare(struct remote_travel *t, const struct remote_stay *stay,
				     uint64_t *places)
{
	struct pair p = {&stay->copy.process, &t->live, 0};
	const struct remote_thread *a = remote_process_thread(p.here, t->focus);
	const struct remote_thread *b = remote_process_thread(p.there, t->focus);
	struct user_regs_struct x, y;

	if (!a || !b || remote_process_registers(a, &x) != 0 ||
	    remote_process_registers(b, &y) != 0)
		return REMOTE_OTHER;
	if (is_end(t, stay))
		return t->slot->state == REPLAY_AT_END && x.rip == y.rip && same_distance(t, stay)
			       ? REMOTE_SAME
			       : REMOTE_OTHER;
	if (x.rip != y.rip || !same_thread(&p, a, b, &x) || !same_distance(t, stay))
		return REMOTE_OTHER;
	if (p.here->turns ? !same_others(t, &p, x.rsp) : !same_memory(t, &p, x.rsp, NULL, 0))
		return REMOTE_OTHER;
	if (!same_shared(&p, &stay->copy) || !remote_copy_has_files(&stay->copy, p.here))
		return REMOTE_OTHER;
	*places = p.places;
	return !p.places || p.places == stay->places ? REMOTE_SAME : REMOTE_ALIKE;
}
