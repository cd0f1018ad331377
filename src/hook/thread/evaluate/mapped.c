/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files are where in memory, so that the addresses of sites can be looked up later
 * (trace/modules.h). Written when the first site is, and again whenever a new site comes and files
 * were loaded meanwhile; a new list replaces the old one at once.
 */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hook/thread/evaluate/stacks.h"

static uint64_t written; /* how many files had been loaded when the list was written */

struct list {
	int fd;
	bool failed;
	char program[4096];
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_adds;
	return 1;
}

static int write_one(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *name = info->dlpi_name;
	struct list *list = data;
	char line[4200];
	int n;

	(void)size;
	if (!name[0])
		name = list->program;
	for (int i = 0; i < info->dlpi_phnum && name[0] == '/'; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		n = snprintf(line, sizeof(line), "%lx %lx %lx %s\n", (unsigned long)start,
			     (unsigned long)(start + part->p_memsz), (unsigned long)info->dlpi_addr,
			     name);
		if (n < (int)sizeof(line) && hook_write(list->fd, line, (size_t)n) != n)
			list->failed = true;
	}
	return 0;
}

void hook_mapped_write(int dirfd)
{
	struct list list = {.fd = -1};
	char name[32], draft[64];
	uint64_t loaded = 0;
	ssize_t n;

	dl_iterate_phdr(look, &loaded);
	if (__atomic_exchange_n(&written, loaded, __ATOMIC_RELAXED) == loaded)
		return;
	snprintf(name, sizeof(name), "p%u-modules", hook_process.process);
	snprintf(draft, sizeof(draft), "%s.%lx", name, (unsigned long)loaded);
	list.fd = openat(dirfd, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (list.fd < 0)
		return;
	n = readlink("/proc/self/exe", list.program, sizeof(list.program) - 1);
	list.program[n > 0 ? n : 0] = 0;
	dl_iterate_phdr(write_one, &list);
	close(list.fd);
	if (list.failed || renameat(dirfd, draft, dirfd, name) != 0)
		unlinkat(dirfd, draft, 0);
}
