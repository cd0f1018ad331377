/* SPDX-License-Identifier: Apache-2.0 */
/* Where a loaded file ends in memory. */
#ifndef HOOK_RACE_MODULE_H
#define HOOK_RACE_MODULE_H

#include <link.h>
#include <stdint.h>

static inline uintptr_t hook_race_module_end(const struct dl_phdr_info *info)
{
	uintptr_t end = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > end)
			end = p->p_vaddr + p->p_memsz;
	}
	return info->dlpi_addr + end;
}

#endif
