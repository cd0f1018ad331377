/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "symbol/process.h"

#define PAGE 4096

struct symbol_memory_word {
	uint64_t address, value;
	size_t n;
};

/* Up to where the stack ends: page by page, because only whole parts are read for sure. */
static void copy_stack(struct symbol_memory *m, uint64_t from)
{
	struct iovec here = {m->copy, sizeof(m->copy)}, there[SYMBOL_STACK / PAGE + 1];
	size_t parts = 0;
	ssize_t n;

	for (uint64_t at = from, next; at < from + sizeof(m->copy); at = next) {
		next = at / PAGE * PAGE + PAGE;
		if (next > from + sizeof(m->copy))
			next = from + sizeof(m->copy);
		there[parts++] = (struct iovec){(void *)(uintptr_t)at, next - at};
	}
	n = process_vm_readv(m->pid, &here, 1, there, parts, 0);
	m->stack = from;
	m->stack_bytes = n > 0 ? (size_t)n : 0;
}

enum access { UNKNOWN, CONSTANT, PRIVATE };

static enum access access_of(int pid, uint64_t address, size_t n)
{
	char *path = rp_format("/proc/%d/maps", pid), *line = NULL, may[5];
	FILE *maps = fopen(path, "re");
	enum access access = UNKNOWN;
	unsigned long start, end;
	size_t room = 0;

	free(path);
	while (maps && getline(&line, &room, maps) > 0) {
		if (sscanf(line, "%lx-%lx %4s", &start, &end, may) != 3 || address < start ||
		    address + n > end || may[3] != 'p')
			continue;
		access = may[1] == 'w' ? PRIVATE : CONSTANT;
	}
	if (maps)
		fclose(maps);
	free(line);
	return access;
}

static void keep(struct symbol_memory *m, uint64_t address, const void *what, size_t n)
{
	struct symbol_memory_word word = {.address = address, .n = n};

	memcpy(&word.value, what, n);
	m->word = rp_widen(m->word, m->words, m->words + 1, sizeof(*m->word));
	m->word[m->words++] = word;
}

bool symbol_memory_read(struct symbol_memory *m, uint64_t address, void *to, size_t n)
{
	enum access access;

	if (n > sizeof(m->word->value))
		return false;
	if (address >= m->stack && address - m->stack <= m->stack_bytes &&
	    n <= m->stack_bytes - (address - m->stack)) {
		memcpy(to, m->copy + (address - m->stack), n);
		keep(m, address, to, n);
		return true;
	}
	access = access_of(m->pid, address, n);
	if (access == UNKNOWN || (access == PRIVATE && !m->alone) ||
	    !symbol_process_read(m->pid, address, to, n))
		return false;
	if (access == PRIVATE) {
		keep(m, address, to, n);
		m->changes = true;
	}
	return true;
}

static bool is_same(const struct symbol_memory *m)
{
	for (size_t i = 0; i < m->words; i++) {
		const struct symbol_memory_word *w = &m->word[i];
		uint64_t value = 0;

		if (!symbol_process_read(m->pid, w->address, &value, w->n) || value != w->value)
			return false;
	}
	return true;
}

void symbol_memory_note(struct symbol_memory *m, uint64_t stack)
{
	if (m->changes)
		m->same = is_same(m);
	else
		copy_stack(m, stack);
}

void symbol_memory_forget(struct symbol_memory *m)
{
	free(m->word);
	m->word = NULL;
	m->words = 0;
}
