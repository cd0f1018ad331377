/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a file that is loaded: its executable parts, and its functions by the table for
 * unwinding. Constants lie among the code, so whoever decodes it begins where a function does. It
 * is used inside the recorded program: no malloc.
 */
#ifndef RP_CODE_H
#define RP_CODE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct rp_code_range {
	const uint8_t *start, *end;
};

struct rp_code_entry {
	int32_t code, frame; /* from the start of the table */
};

struct rp_code_table {
	const uint8_t *start;
	const struct rp_code_entry *entry; /* sorted by code */
	uint32_t count;
	struct rp_code_range around; /* what is mapped with it: the frames are there, too */
};

/* False: there is no table, or not in the only encoding that linkers write. */
bool rp_code_table(const struct dl_phdr_info *info, struct rp_code_table *table);

/* The function of an entry; {NULL, NULL}: the entry says nothing of use. */
struct rp_code_range rp_code_function(const struct rp_code_table *table, uint32_t index);

/* The function that this place is in; {NULL, NULL}: none. */
struct rp_code_range rp_code_around(const struct rp_code_table *table, const uint8_t *at);

/* The next executable part; `part` begins with 0. False: there is none. */
bool rp_code_part(const struct dl_phdr_info *info, int *part, struct rp_code_range *code);

#endif
