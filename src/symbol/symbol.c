/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Dwfl per file, opened at the first question and kept: reports ask about few files, many
 * times. A file that cannot be opened is kept as such, so that it is tried only once.
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include "base/fd.h"
#include "base/mem.h"

struct module {
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module; /* NULL if the file cannot be read */
	GElf_Addr bias;
	struct name *names; /* those that are not the compiler's */
	struct module *next;
};

struct name {
	struct name *next;
	char text[];
};

static struct module *modules;

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* The path comes from a trace: whatever lies there now, nobody waits for it. */
static void open_module(struct module *m)
{
	int fd = rp_fd_open_file(AT_FDCWD, m->path);

	if (fd < 0)
		return;
	m->dwfl = dwfl_begin(&callbacks);
	if (!m->dwfl) {
		close(fd);
		return;
	}
	dwfl_report_begin(m->dwfl);
	m->dwfl_module = dwfl_report_offline(m->dwfl, m->path, m->path, fd);
	if (!m->dwfl_module)
		close(fd);
	dwfl_report_end(m->dwfl, NULL, NULL);
	if (m->dwfl_module && !dwfl_module_getelf(m->dwfl_module, &m->bias))
		m->dwfl_module = NULL;
}

/*
 * How much of it is the program's name: compilers mark copies, parts and statics by suffixes, and
 * symbols may have versions.
 */
static size_t name_length(const char *name)
{
	static const char *const marks[] = {"constprop.", "isra.", "part.", "lto_priv.",
					    "cold",       "clone", "llvm."};
	const char *dot = name, *version = strchr(name, '@');

	if (version && version > name)
		return (size_t)(version - name);
	while ((dot = strchr(dot + 1, '.'))) {
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
			if (strncmp(dot + 1, marks[i], strlen(marks[i])) == 0)
				return (size_t)(dot - name);
		}
		if (dot[1] >= '0' && dot[1] <= '9')
			return (size_t)(dot - name);
	}
	return strlen(name);
}

static const char *plain_name(struct module *m, const char *name)
{
	size_t length = *name ? name_length(name) : 0;
	struct name *n;

	if (!name[length])
		return name;
	for (n = m->names; n; n = n->next) {
		if (strlen(n->text) == length && memcmp(n->text, name, length) == 0)
			return n->text;
	}
	n = rp_alloc(1, sizeof(*n) + length + 1);
	memcpy(n->text, name, length);
	n->next = m->names;
	m->names = n;
	return n->text;
}

static struct module *find_module(const char *path)
{
	struct module *m;

	for (m = modules; m; m = m->next) {
		if (!strcmp(m->path, path))
			return m;
	}
	m = rp_alloc(1, sizeof(*m));
	m->path = rp_strdup(path);
	m->next = modules;
	modules = m;
	open_module(m);
	return m;
}

/* Where the function of a scope was inlined, if that is a place. */
static bool find_call(Dwarf_Die *cu, Dwarf_Die *scope, struct symbol_place *place)
{
	Dwarf_Word file, line;
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	const char *name;

	if (dwarf_tag(scope) != DW_TAG_inlined_subroutine ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attr), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attr), &line) != 0 ||
	    dwarf_getsrcfiles(cu, &files, NULL) != 0)
		return false;
	name = dwarf_filesrc(files, file, NULL, NULL);
	if (!name)
		return false;
	place->file = name;
	place->line = (int)line;
	return true;
}

/* A lock of C++ is inlined from the system's headers; what counts is who used it. */
static void leave_headers(const struct module *m, GElf_Addr address, struct symbol_place *place)
{
	Dwarf_Die *innermost = NULL, *scopes = NULL, *cu;
	Dwarf_Addr bias;
	int n = 0;

	cu = dwfl_module_addrdie(m->dwfl_module, address, &bias);
	/* The first list leaves the function where it is defined, the second where it is inlined.
	 */
	if (cu && dwarf_getscopes(cu, address - bias, &innermost) > 0)
		n = dwarf_getscopes_die(&innermost[0], &scopes);
	for (int i = 0; i < n && !strncmp(place->file, "/usr/", 5); i++)
		find_call(cu, &scopes[i], place);
	free(innermost);
	free(scopes);
}

bool symbol_find(const char *module, uint64_t address, bool returns, struct symbol_place *place)
{
	struct module *m = find_module(module);
	Dwfl_Line *line;
	const char *name;
	GElf_Sym symbol;
	GElf_Off offset;

	*place = (struct symbol_place){.function = "?", .file = "?"};
	if (!m->dwfl_module)
		return false;
	address += m->bias - returns;
	name = dwfl_module_addrinfo(m->dwfl_module, address, &offset, &symbol, NULL, NULL, NULL);
	if (name) {
		place->function = plain_name(m, name);
		place->offset = offset + returns;
		place->exported = GELF_ST_BIND(symbol.st_info) != STB_LOCAL;
	}
	line = dwfl_module_getsrc(m->dwfl_module, address);
	name = line ? dwfl_lineinfo(line, NULL, &place->line, NULL, NULL, NULL) : NULL;
	if (name)
		place->file = name;
	leave_headers(m, address, place);
	return place->function[0] != '?';
}

const char *symbol_variable(const char *module, uint64_t address, uint64_t *offset)
{
	struct module *m = find_module(module);
	Dwarf_Addr start, end;
	const char *name;
	GElf_Sym symbol;
	GElf_Off into;

	if (!m->dwfl_module)
		return NULL;
	/* All symbols are looked at below; most addresses are of the heap. */
	dwfl_module_info(m->dwfl_module, NULL, &start, &end, NULL, NULL, NULL, NULL);
	if (address + m->bias < start || address + m->bias >= end)
		return NULL;
	name = dwfl_module_addrinfo(m->dwfl_module, address + m->bias, &into, &symbol, NULL, NULL,
				    NULL);
	if (!name || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || into >= symbol.st_size)
		return NULL;
	*offset = into;
	return plain_name(m, name);
}

bool symbol_has(const char *module, const char *function)
{
	const struct module *m = find_module(module);
	int n = m->dwfl_module ? dwfl_module_getsymtab(m->dwfl_module) : 0;

	for (int i = 1; i < n; i++) {
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym(m->dwfl_module, i, &symbol, NULL);

		if (name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    symbol.st_shndx != SHN_UNDEF && strcmp(name, function) == 0)
			return true;
	}
	return false;
}

bool symbol_find_text(const char *text, bool returns, struct symbol_place *place)
{
	const char *plus = strrchr(text, '+');
	uint64_t address;
	char *path, *end;
	bool found;

	*place = (struct symbol_place){.function = "?", .file = "?"};
	if (!plus || plus == text || strncmp(plus, "+0x", 3) != 0)
		return false;
	errno = 0;
	address = strtoull(plus + 1, &end, 16);
	if (*end || errno)
		return false;
	path = rp_format("%.*s", (int)(plus - text), text);
	found = symbol_find(path, address, returns, place);
	free(path);
	return found;
}

char *symbol_text(const char *where)
{
	struct symbol_place place;

	if (!symbol_find_text(where, true, &place))
		return rp_format(" at %s", where);
	if (place.line)
		return rp_format(" at %s:%d (%s)", place.file, place.line, place.function);
	return rp_format(" in %s", place.function);
}

static bool has_any(const char *module, const char *const names[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strstr(module, names[i]))
			return true;
	}
	return false;
}

bool symbol_is_runtime(const char *module)
{
	static const char *const names[] = {"/libc.so",    "/libm.so",      "/ld-linux",
					    "/libpthread", "/libstdc++.so", "/libgcc_s.so"};

	return has_any(module, names, sizeof(names) / sizeof(names[0]));
}

bool symbol_is_foreign(const char *module)
{
	static const char *const names[] = {
		"/libreprise-", "/libmpi",     "/libmpich",       "/libopen-", "/libuc",
		"/libpmi",      "/libgomp.so", "/libgfortran.so", "/mca_",     "/libevent",
		"/libhwloc",    "/libfabric",  "/libibverbs",     "/librdmacm"};

	return symbol_is_runtime(module) ||
	       has_any(module, names, sizeof(names) / sizeof(names[0]));
}

void symbol_forget(void)
{
	while (modules) {
		struct module *m = modules;

		modules = m->next;
		if (m->dwfl)
			dwfl_end(m->dwfl);
		while (m->names) {
			struct name *n = m->names;

			m->names = n->next;
			free(n);
		}
		free(m->path);
		free(m);
	}
}
