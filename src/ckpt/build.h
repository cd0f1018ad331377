/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The build-id of a program or library, as one number, from the first bytes of the file or from
 * where they are mapped. Inside of the hooks nothing else is there: no libc, no allocation.
 */
#ifndef CKPT_BUILD_H
#define CKPT_BUILD_H

#include <elf.h>
#include <stdint.h>

/* Of the notes from there on; 0: it is not among them. */
static inline uint64_t ckpt_build_of_notes(const uint8_t *p, uint64_t n)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		const Elf64_Nhdr *note = (const void *)p;
		uint64_t name = (note->n_namesz + 3ull) & ~3ull;
		uint64_t all = sizeof(*note) + name + ((note->n_descsz + 3ull) & ~3ull);
		uint64_t hash = 14695981039346656037ull;

		if (all > n)
			return 0;
		if (note->n_type == NT_GNU_BUILD_ID && name == 4 && p[sizeof(*note)] == 'G') {
			for (uint32_t i = 0; i < note->n_descsz; i++)
				hash = (hash ^ p[sizeof(*note) + name + i]) * 1099511628211ull;
			return hash | 1;
		}
		p += all;
		n -= all;
	}
	return 0;
}

/* 0: it is no such file, has none, or has it elsewhere. `bytes` is aligned. */
static inline uint64_t ckpt_build_of(const void *bytes, uint64_t n)
{
	const Elf64_Ehdr *e = bytes;
	const uint8_t *first = bytes;
	uint64_t found = 0;

	if (n < sizeof(*e) || e->e_ident[0] != 0x7f || e->e_ident[1] != 'E' ||
	    e->e_ident[2] != 'L' || e->e_ident[3] != 'F' || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phoff > n || e->e_phoff % 8 ||
	    e->e_phnum * sizeof(Elf64_Phdr) > n - e->e_phoff)
		return 0;
	for (int i = 0; i < e->e_phnum && !found; i++) {
		const Elf64_Phdr *p = (const Elf64_Phdr *)(first + e->e_phoff) + i;

		if (p->p_type == PT_NOTE && p->p_offset % 4 == 0 && p->p_offset < n &&
		    p->p_filesz <= n - p->p_offset)
			found = ckpt_build_of_notes(first + p->p_offset, p->p_filesz);
	}
	return found;
}

#endif
