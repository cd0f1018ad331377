/* SPDX-License-Identifier: Apache-2.0 */
/* What we need to know of an ELF file. Every offset in it is checked: it may hold any bytes. */
#ifndef LAUNCH_ELF_H
#define LAUNCH_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct launch_elf {
	const uint8_t *bytes;
	size_t size;
	bool elf;     /* it is an ELF file at all */
	bool native;  /* 64 bits, this machine's byte order and processor */
	char *interp; /* PT_INTERP, NULL if there is none: a static program */
	bool dynamic; /* PT_DYNAMIC is there */
	const uint8_t *build_id;
	size_t build_id_size;
};

/* 0 or -errno. Files that are not ELF open well; `elf` tells. */
int launch_elf_open(struct launch_elf *elf, const char *path) __attribute__((warn_unused_result));
void launch_elf_close(struct launch_elf *elf);

/* Is one of the names (ended by NULL) in .symtab? */
bool launch_elf_has_symbol(const struct launch_elf *elf, const char *const *names);

#endif
