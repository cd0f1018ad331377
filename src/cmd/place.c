/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of a process that is gone, looked up in the files that it had loaded. */
#include "cmd/place.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "symbol/symbol.h"

static char *found_text(const char *path, uint64_t at)
{
	const char *slash = strrchr(path, '/');
	struct symbol_place place;

	if (!symbol_find(path, at, true, &place))
		return rp_format("%s+0x%lx", slash ? slash + 1 : path, (unsigned long)at);
	if (!place.line)
		return rp_format("%s", place.function);
	slash = strrchr(place.file, '/');
	return rp_format("%s:%d (%s)", slash ? slash + 1 : place.file, place.line, place.function);
}

/* Names in files of somebody else may hold anything. */
char *cmd_place_in(const char *path, uint64_t at)
{
	char *text = found_text(path, at);

	rp_text_clean(text);
	return text;
}

static char *text_of(const struct trace_module *module, uint64_t address)
{
	return cmd_place_in(module->path, address - module->bias);
}

char *cmd_place_text(const struct trace_modules *modules, const uint64_t address[], uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++) {
		const struct trace_module *module = trace_modules_find(modules, address[i]);

		if (module && !symbol_is_foreign(module->path))
			return text_of(module, address[i]);
	}
	return rp_strdup("?");
}

char **cmd_place_stack(const struct trace_modules *modules, const uint64_t address[],
		       uint32_t depth)
{
	char **places = rp_alloc(depth + 1, sizeof(*places));
	size_t n = 0;

	for (uint32_t i = 0; i < depth; i++) {
		const struct trace_module *module = trace_modules_find(modules, address[i]);

		if (module && !symbol_is_foreign(module->path))
			places[n++] = text_of(module, address[i]);
	}
	return places;
}

/* Data lies behind the code of its file; a list of files knows only where code is. */
char *cmd_place_variable(const struct trace_modules *modules, uint64_t address)
{
	const struct trace_module *below = NULL;
	const char *name;
	uint64_t offset;
	char *text;

	for (size_t i = 0; i < modules->n; i++) {
		const struct trace_module *m = &modules->module[i];

		if (m->start <= address && (!below || m->start > below->start))
			below = m;
	}
	/* An object of ours stands for one that has no name in the program. */
	if (below && strstr(below->path, "/libreprise-"))
		return NULL;
	name = below ? symbol_variable(below->path, address - below->bias, &offset) : NULL;
	if (!name)
		return NULL;
	text = offset ? rp_format("%s+0x%lx", name, (unsigned long)offset) : rp_strdup(name);
	rp_text_clean(text);
	return text;
}
