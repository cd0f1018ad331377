/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of the process, as its loader lists them. A debugger that has to read that list
 * itself does so eight bytes at a time, in hundreds of packets.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "remote/serve.h"

#define NAME_MOST 4096
#define LIBRARIES_MOST 10000 /* a list that is longer is none */
#define WORDS 512

static bool get(const struct remote_process *p, uint64_t at, void *to, size_t n)
{
	return remote_process_read(p, at, to, n) == n;
}

static uint64_t auxiliary(const struct remote_process *p, uint64_t type)
{
	char *path = rp_format("/proc/%d/auxv", p->pid);
	Elf64_auxv_t word;
	uint64_t found = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	while (fd >= 0 && read(fd, &word, sizeof(word)) == sizeof(word)) {
		if (word.a_type == type)
			found = word.a_un.a_val;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

/* The dynamic section of the program, or 0. */
static uint64_t dynamic_of(const struct remote_process *p)
{
	uint64_t headers = auxiliary(p, AT_PHDR), n = auxiliary(p, AT_PHNUM), base = 0, at = 0;
	Elf64_Phdr h;

	for (uint64_t i = 0; headers && i < n && get(p, headers + i * sizeof(h), &h, sizeof(h));
	     i++) {
		if (h.p_type == PT_PHDR)
			base = headers - h.p_vaddr;
		if (h.p_type == PT_DYNAMIC)
			at = h.p_vaddr;
	}
	return at ? base + at : 0;
}

/* Where the loader tells debuggers of its list; 0: not yet. */
static uint64_t debug_of(const struct remote_process *p)
{
	uint64_t at = dynamic_of(p);
	Elf64_Dyn word;

	for (size_t i = 0; at && i < WORDS && get(p, at, &word, sizeof(word)); i++) {
		if (word.d_tag == DT_NULL)
			break;
		if (word.d_tag == DT_DEBUG)
			return word.d_un.d_ptr;
		at += sizeof(word);
	}
	return 0;
}

static void escape(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&'\"", *text))
			fprintf(out, "&#%d;", *text);
		else
			fputc(*text, out);
	}
}

char *remote_libraries(const struct remote_process *p)
{
	uint64_t list = debug_of(p), first = 0, at;
	char *text = NULL, name[NAME_MOST + 1];
	struct r_debug debug;
	struct link_map map;
	size_t size, n;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	/* Its first entry is the program itself. */
	if (list && get(p, list, &debug, sizeof(debug)))
		first = (uintptr_t)debug.r_map;
	at = first;
	fprintf(out, "<library-list-svr4 version=\"1.0\"");
	if (first)
		fprintf(out, " main-lm=\"0x%" PRIx64 "\"", first);
	fprintf(out, ">");
	for (size_t i = 0; at && i < LIBRARIES_MOST && get(p, at, &map, sizeof(map)); i++) {
		n = remote_process_read(p, (uintptr_t)map.l_name, name, NAME_MOST);
		name[n] = 0;
		if (at != first && *name) {
			fprintf(out, "<library name=\"");
			escape(out, name);
			fprintf(out,
				"\" lm=\"0x%" PRIx64 "\" l_addr=\"0x%" PRIx64 "\" l_ld=\"0x%" PRIx64
				"\" lmid=\"0x%" PRIx64 "\"/>",
				at, (uint64_t)map.l_addr, (uint64_t)(uintptr_t)map.l_ld, list);
		}
		at = (uintptr_t)map.l_next;
	}
	fprintf(out, "</library-list-svr4>");
	fclose(out);
	return text;
}
