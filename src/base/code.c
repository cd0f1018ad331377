/* SPDX-License-Identifier: Apache-2.0 */
#include "base/code.h"

#include <stddef.h>
#include <string.h>

/* .eh_frame_hdr: offsets are counted from its start. */
struct head {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
};

struct frame {
	uint32_t length, cie;
	int32_t code; /* from here on */
	uint32_t size;
};

static const struct rp_code_range none;

static struct rp_code_range range_of(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
	const uint8_t *start = (const uint8_t *)(info->dlpi_addr + part->p_vaddr);

	return (struct rp_code_range){start, start + part->p_filesz};
}

static bool is_inside(const struct rp_code_range *r, const uint8_t *at, size_t size)
{
	return at >= r->start && at < r->end && size <= (size_t)(r->end - at);
}

/* The part of the file that has this address. */
static struct rp_code_range part_around(const struct dl_phdr_info *info, const uint8_t *at)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		struct rp_code_range part = range_of(info, &info->dlpi_phdr[i]);

		if (info->dlpi_phdr[i].p_type == PT_LOAD && is_inside(&part, at, 1))
			return part;
	}
	return none;
}

static bool is_readable(const struct head *head, size_t size)
{
	return head->version == 1 && head->count_encoding == 0x03 && head->table_encoding == 0x3b &&
	       head->count <= (size - sizeof(*head)) / sizeof(struct rp_code_entry);
}

bool rp_code_table(const struct dl_phdr_info *info, struct rp_code_table *table)
{
	struct rp_code_range at = none;
	struct head head;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			at = range_of(info, &info->dlpi_phdr[i]);
	}
	if (!at.start || (size_t)(at.end - at.start) < sizeof(head))
		return false;
	table->around = part_around(info, at.start);
	if (!is_inside(&table->around, at.start, (size_t)(at.end - at.start)))
		return false;
	memcpy(&head, at.start, sizeof(head));
	table->start = at.start;
	table->entry = (const struct rp_code_entry *)(at.start + sizeof(head));
	table->count = head.count;
	return is_readable(&head, (size_t)(at.end - at.start));
}

struct rp_code_range rp_code_function(const struct rp_code_table *table, uint32_t index)
{
	const uint8_t *code = table->start + table->entry[index].code;
	const uint8_t *from = table->start + table->entry[index].frame;
	struct frame frame;

	if (!is_inside(&table->around, from, sizeof(frame)))
		return none;
	memcpy(&frame, from, sizeof(frame));
	if (from + offsetof(struct frame, code) + frame.code != code)
		return none;
	return (struct rp_code_range){code, code + frame.size};
}

struct rp_code_range rp_code_around(const struct rp_code_table *table, const uint8_t *at)
{
	uint32_t low = 0, high = table->count;
	struct rp_code_range function;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->start + table->entry[middle].code <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return none;
	function = rp_code_function(table, low - 1);
	return is_inside(&function, at, 1) ? function : none;
}

bool rp_code_part(const struct dl_phdr_info *info, int *part, struct rp_code_range *code)
{
	const unsigned runs = PF_X | PF_R;

	while (*part < info->dlpi_phnum) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[(*part)++];

		if (p->p_type == PT_LOAD && (p->p_flags & runs) == runs) {
			*code = range_of(info, p);
			return true;
		}
	}
	return false;
}
