/* SPDX-License-Identifier: Apache-2.0 */
/* A short list: it is searched from front to back. */
#include "trace/modules.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define MODULES_MAX 8192

static void add(struct trace_modules *modules, const char *line)
{
	struct trace_module m = {0};
	char path[4096];

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %4095[^\n]", &m.start, &m.end,
		   &m.bias, path) != 4)
		return;
	m.path = rp_strdup(path);
	modules->module = rp_realloc(modules->module, modules->n + 1, sizeof(*modules->module));
	modules->module[modules->n++] = m;
}

void trace_modules_open(struct trace_modules *modules, int dirfd, uint32_t process)
{
	char *name = rp_format("p%" PRIu32 "-modules", process), line[4200];
	int fd = rp_fd_open_file(dirfd, name);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	*modules = (struct trace_modules){0};
	for (int i = 0; file && i < MODULES_MAX && fgets(line, sizeof(line), file); i++)
		add(modules, line);
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	free(name);
}

void trace_modules_close(struct trace_modules *modules)
{
	for (size_t i = 0; i < modules->n; i++)
		free(modules->module[i].path);
	free(modules->module);
	*modules = (struct trace_modules){0};
}

const struct trace_module *trace_modules_find(const struct trace_modules *modules, uint64_t address)
{
	for (size_t i = 0; i < modules->n; i++) {
		if (address >= modules->module[i].start && address < modules->module[i].end)
			return &modules->module[i];
	}
	return NULL;
}
