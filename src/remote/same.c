/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is it the same moment of the run? A replay is determined: if the thread has the same registers,
 * the program the same memory and files the same positions, and as much of the recording has been
 * taken, what follows is the same, too; so nothing else can be meant. All of that is compared, the
 * quickest first. What is left out is not the program's: our own library, and memory that it and
 * MPI have mapped. Two moments that differ only there cannot be told apart, nor need they be.
 *
 * Among several threads of the program only the stack is compared, since the others go on.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "remote/registers.h"
#include "remote/travel.h"

#define CHUNK 65536
#define COME_MOST 4096

struct range {
	uint64_t start, end;
};

struct maps {
	FILE *file;
	bool threads;
	uint64_t sp;
	uint64_t behind; /* the end of the data of a library: its other data begin there */
	bool no_heap;    /* what libc has is not the program's, see far.c */
};

static bool is_ours(const char *path)
{
	return strstr(path, "/libreprise-") != NULL;
}

/* What is the program's: its data and those of libraries, its heaps, mappings and stacks. */
static bool next_range(struct maps *m, struct range *r)
{
	char line[4400], kind[8];
	int at = 0;

	while (fgets(line, sizeof(line), m->file)) {
		bool stack, library;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &r->start, &r->end,
			   kind, &at) != 3)
			continue;
		library = line[at] == '/' ? !is_ours(line + at)
					  : line[at] == '\n' && r->start == m->behind;
		m->behind = library ? r->end : 0;
		if (kind[1] != 'w' || kind[3] != 'p' ||
		    (m->no_heap && strcmp(line + at, "[heap]\n") == 0))
			continue;
		/* Handlers of ours have stacks of their own. */
		stack = m->sp >= r->start && m->sp < r->end &&
			(r->end <= REPLAY_PROGRAM_END || strcmp(line + at, "[stack]\n") == 0);
		/* Below the stack pointer and its red zone nothing is kept. */
		if (stack && r->start < m->sp - 128)
			r->start = m->sp - 128;
		if (stack || (!m->threads && (r->end <= REPLAY_PROGRAM_END || library)))
			return true;
	}
	return false;
}

static bool is_number(const struct remote_travel *t, const uint8_t *word)
{
	for (size_t i = 0; i < t->numbers; i++) {
		if (memcmp(&t->number[i], word, sizeof(t->number[i])) == 0)
			return true;
	}
	return false;
}

/*
 * Each process has a number of its own, which the kernel leaves where a process has signalled
 * itself; a copy of it has that of the process in which that was.
 */
static bool same_but_for_number(const struct remote_travel *t, const uint8_t *x, const uint8_t *y,
				size_t n)
{
	for (size_t at = 0; at < n; at += sizeof(int)) {
		size_t part = n - at < sizeof(int) ? n - at : sizeof(int);

		if (memcmp(x + at, y + at, part) != 0 &&
		    (part < sizeof(int) || !is_number(t, x + at) || !is_number(t, y + at)))
			return false;
	}
	return true;
}

static bool same_bytes(const struct remote_travel *t, const struct remote_process *a,
		       const struct remote_process *b, const struct range *r)
{
	static uint8_t x[CHUNK], y[CHUNK];

	for (uint64_t at = r->start; at < r->end; at += CHUNK) {
		size_t n = r->end - at < CHUNK ? r->end - at : CHUNK;
		size_t m = remote_process_read(a, at, x, n);

		if (remote_process_read(b, at, y, n) != m)
			return false;
		if (memcmp(x, y, m) != 0 && !same_but_for_number(t, x, y, m))
			return false;
	}
	return true;
}

static bool same_memory(const struct remote_travel *t, const struct remote_process *a,
			const struct remote_process *b, bool threads, uint64_t sp)
{
	struct maps m = {.threads = threads,
			 .sp = sp,
			 .no_heap = t->across && !t->front->run->meta.system_heap};
	char path[32];
	struct range r;
	bool same = true;

	snprintf(path, sizeof(path), "/proc/%d/maps", a->pid);
	m.file = fopen(path, "re");
	while (m.file && same && next_range(&m, &r))
		same = same_bytes(t, a, b, &r);
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

static bool same_locals(const struct remote_travel *t, const struct remote_process *a,
			const struct remote_process *b, uint64_t pointer)
{
	uint64_t n = bytes_of_locals(a);

	return same_bytes(t, a, b, &(struct range){pointer - n, pointer});
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

bool remote_stay_is_here(const struct remote_travel *t, const struct remote_stay *stay)
{
	const struct remote_process *there = &stay->copy.process;
	const struct remote_thread *a = remote_process_thread(&t->live, t->focus);
	const struct remote_thread *b = remote_process_thread(there, t->focus);
	bool threads = t->live.threads > 1 && !t->live.only;
	struct user_regs_struct x, y;

	if (!a || !b || remote_process_registers(a, &x) != 0 ||
	    remote_process_registers(b, &y) != 0)
		return false;
	if (is_end(t, stay))
		return t->slot->state == REPLAY_AT_END && x.rip == y.rip && same_distance(t, stay);
	remote_registers_clean(&x);
	remote_registers_clean(&y);
	if (memcmp(&x, &y, sizeof(x)) != 0 &&
	    !same_but_for_number(t, (uint8_t *)&x, (uint8_t *)&y, sizeof(x)))
		return false;
	return same_distance(t, stay) && remote_registers_same_extended(a, b) &&
	       same_locals(t, there, &t->live, x.fs_base) &&
	       same_memory(t, there, &t->live, threads, x.rsp) &&
	       remote_copy_has_positions(&stay->copy, &t->live);
}
