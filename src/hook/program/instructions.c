/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look for `syscall` instructions in the program and its libraries: no wrapper sees such a call.
 * We search for the two bytes. Constants lie among the code, so we decode from the beginning of the
 * function, which the table for unwinding gives, to know whether they are an instruction. Files
 * whose purpose is system calls, and runtimes whose calls are no inputs of the program, are left
 * out.
 */
#include "hook/program/rawcalls.h"

#if defined(__x86_64__)

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/x86.h"
#include "hook/kit/text.h"
#include "hook/session/unseen.h"

#define MOST_BYTES (16u << 20) /* of one file: the look is to take no time that is noticed */
#define NAMES_SHOWN 3
#define CALL "\x0f\x05"

/* .eh_frame_hdr in the only encoding that linkers write: offsets from its start, sorted by code. */
struct table {
	const uint8_t *start;
	const struct entry {
		int32_t code, frame;
	} * entry;
	uint32_t count;
	const uint8_t *low, *high; /* what is mapped with it: the frames are there, too */
};

struct frame {
	uint32_t length, cie;
	int32_t code; /* from here on */
	uint32_t size;
};

struct head {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

static struct {
	size_t files;
	bool of_program; /* or of a library that is not the system's */
	struct hook_text names;
} found;

static bool is_known(const char *name)
{
	static const char *const known[] = {
		"libreprise-", "linux-vdso", "ld-linux", "libc.",    "libpthread", "librt.",
		"libgomp.",    "libasan.",   "libtsan.", "libubsan", "liblsan.",   "libmpi",
		"libopen-",    "mca_",       "libuc",    "libpmi",   "libfabric",  "libhwloc",
		"libevent",    "libibverbs", "librdma",  NULL};

	return hook_text_begins_with(name, known);
}

static bool is_of_system(const char *path)
{
	static const char *const places[] = {"/usr/lib", "/lib", NULL};

	return hook_text_begins_with(path, places);
}

static struct table table_of(const struct dl_phdr_info *info)
{
	struct table none = {0}, table;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint8_t *start = (const uint8_t *)(info->dlpi_addr + part->p_vaddr);
		struct head head;

		if (part->p_type != PT_GNU_EH_FRAME || part->p_filesz < sizeof(head))
			continue;
		memcpy(&head, start, sizeof(head));
		table = (struct table){.start = start,
				       .entry = (const struct entry *)(start + sizeof(head)),
				       .count = head.count};
		if (head.version == 1 && head.count_encoding == 0x03 &&
		    head.table_encoding == 0x3b &&
		    head.count <= (part->p_filesz - sizeof(head)) / sizeof(struct entry))
			return table;
	}
	return none;
}

/* The beginning of the function that has this place in it; NULL: there is none. */
static const uint8_t *function_of(const struct table *table, const uint8_t *at)
{
	uint32_t low = 0, high = table->count;
	const uint8_t *start, *from;
	struct frame frame;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->start + table->entry[middle].code <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	start = table->start + table->entry[low - 1].code;
	from = table->start + table->entry[low - 1].frame;
	if (from < table->low || from + sizeof(frame) > table->high)
		return NULL;
	memcpy(&frame, from, sizeof(frame));
	from += offsetof(struct frame, code);
	return from + frame.code == start && (size_t)(at - start) < frame.size ? start : NULL;
}

static void find_around(const struct dl_phdr_info *info, struct table *table)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint8_t *start = (const uint8_t *)(info->dlpi_addr + part->p_vaddr);

		if (part->p_type != PT_LOAD || table->start < start ||
		    table->start >= start + part->p_filesz)
			continue;
		table->low = start;
		table->high = start + part->p_filesz;
	}
}

static bool is_instruction(const struct table *table, const uint8_t *start, const uint8_t *at,
			   const uint8_t *end)
{
	const uint8_t *p = function_of(table, at);
	struct rp_x86 insn;

	if (!p || p < start)
		return false;
	for (; p < at; p += insn.length)
		rp_x86_decode(p, end, &insn);
	return p == at;
}

static bool makes_calls(const struct dl_phdr_info *info)
{
	struct table table = table_of(info);

	find_around(info, &table);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uint8_t *start = (const uint8_t *)(info->dlpi_addr + part->p_vaddr);
		const uint8_t *end = start + part->p_filesz, *at = start;

		if (part->p_type != PT_LOAD || (part->p_flags & (PF_X | PF_R)) != (PF_X | PF_R) ||
		    part->p_filesz > MOST_BYTES)
			continue;
		for (; (at = memmem(at, (size_t)(end - at), CALL, 2)); at++) {
			if (is_instruction(&table, start, at, end))
				return true;
		}
	}
	return false;
}

static int look_at_file(struct dl_phdr_info *info, size_t size, void *unused)
{
	bool is_program = !info->dlpi_name[0];
	const char *path = is_program ? program_invocation_short_name : info->dlpi_name;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	(void)size;
	(void)unused;
	if ((!is_program && is_known(name)) || !makes_calls(info))
		return 0;
	found.of_program |= is_program || !is_of_system(path);
	if (found.files++ < NAMES_SHOWN) {
		hook_text_add(&found.names, found.files > 1 ? ", " : "");
		hook_text_add(&found.names, name);
	}
	return 0;
}

void hook_rawcalls_look(void)
{
	static char what[sizeof(((struct trace_unseen *)0)->what)];
	static struct hook_unseen unseen = {.key = "raw-calls", .what = what};

	found.names = hook_text_in(what, sizeof(what) - 16);
	hook_text_add(&found.names, "system calls made without libc by ");
	dl_iterate_phdr(look_at_file, NULL);
	if (found.files > NAMES_SHOWN)
		hook_text_add(&found.names, " and others");
	unseen.quiet = !found.of_program;
	if (found.files)
		hook_unseen(&unseen);
}

#else

void hook_rawcalls_look(void)
{
}

#endif
