/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is known by the build-id the linker gave it. Our own library and the vdso do not count.
 * Replay refuses to run with another version of a recorded file, unless REPRISE_FORCE is set.
 */
#include "hook/program/modules.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "hook/common/environ.h"
#include "hook/common/hook.h"
#include "hook/common/note.h"
#include "hook/kit/text.h"
#include "hook/program/instructions.h"
#include "hook/session/moved.h"
#include "replay/session.h"

#define MAX_LINE 1200

static void hex(struct hook_text *out, const uint8_t *bytes, size_t n)
{
	char two[3] = "";

	for (size_t i = 0; i < n; i++) {
		two[0] = "0123456789abcdef"[bytes[i] >> 4];
		two[1] = "0123456789abcdef"[bytes[i] & 15];
		hook_text_add(out, two);
	}
}

static void build_id(const struct dl_phdr_info *info, struct hook_text *out)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *p = (const uint8_t *)(info->dlpi_addr + ph->p_vaddr);
		const uint8_t *end = p + ph->p_memsz;

		if (ph->p_type != PT_NOTE)
			continue;
		while (p + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *note = (const void *)p;
			const uint8_t *name = p + sizeof(*note);
			const uint8_t *desc = name + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    memcmp(name, "GNU", 4) == 0) {
				hex(out, desc, note->n_descsz);
				return;
			}
			p = desc + ((note->n_descsz + 3) & ~3u);
		}
	}
	hook_text_add(out, "none");
}

static bool line_of(const struct dl_phdr_info *info, char line[MAX_LINE])
{
	struct hook_text out = hook_text_in(line, MAX_LINE);
	const char *name = info->dlpi_name[0] ? info->dlpi_name : "program";

	if (strstr(name, "/libreprise-") || strstr(name, "linux-vdso"))
		return false;
	build_id(info, &out);
	hook_text_add(&out, " ");
	hook_text_add(&out, name);
	return true;
}

static int write_line(struct dl_phdr_info *info, size_t size, void *data)
{
	char line[MAX_LINE];

	(void)size;
	(void)data;
	if (line_of(info, line))
		hook_input_note(TRACE_IN_MODULE, line);
	return 0;
}

struct wanted {
	const char *name;
	size_t name_length;
	char found[MAX_LINE];
};

static int find_line(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wanted *w = data;
	char then[HOOK_MOVED_PATH];
	struct hook_text text;
	const char *name;

	(void)size;
	if (!line_of(info, w->found))
		return 0;
	name = strchr(w->found, ' ') + 1;
	if (hook_moved && hook_moved_back(name, then)) {
		text = hook_text_in(w->found + (name - w->found),
				    MAX_LINE - (size_t)(name - w->found));
		hook_text_add(&text, then);
	}
	if (strlen(name) == w->name_length && memcmp(name, w->name, w->name_length) == 0)
		return 1;
	w->found[0] = 0;
	return 0;
}

static void compare(const uint8_t *bytes, size_t n)
{
	const char *line = (const char *)bytes;
	const char *space = memchr(line, ' ', n);
	struct wanted w = {0};
	char text[MAX_LINE + 200];
	struct hook_text out = hook_text_in(text, sizeof(text));

	if (!space)
		return;
	w.name = space + 1;
	w.name_length = n - (size_t)(w.name - line);
	/* Its checked twin stands in for it. */
	if (hook_process.replay.races && w.name_length == 7 && memcmp(w.name, "program", 7) == 0)
		return;
	if (dl_iterate_phdr(find_line, &w) && strlen(w.found) == n && memcmp(w.found, line, n) == 0)
		return;
	memcpy(w.found, w.name, w.name_length < MAX_LINE ? w.name_length : MAX_LINE - 1);
	w.found[w.name_length < MAX_LINE ? w.name_length : MAX_LINE - 1] = 0;
	hook_text_add(&out, w.found);
	hook_text_add(&out, " has changed since the run was recorded: " REPLAY_RECORD_AGAIN);
	hook_failed(hook_thread_self(), text);
}

static void check_all(void)
{
	const struct trace_view *view = hook_input_view();
	struct trace_input_reader reader;
	struct trace_input_rec rec;

	const char *force = hook_environ_get("REPRISE_FORCE");

	if (force && strcmp(force, "1") == 0)
		return;
	trace_input_reader_init(&reader, view);
	while (trace_input_next(&reader, &rec) == 1 && rec.kind == TRACE_IN_MODULE)
		compare(rec.bytes, rec.length);
}

void hook_modules_start(void)
{
	if (hook_process.mode == HOOK_RECORD) {
		dl_iterate_phdr(write_line, NULL);
		hook_instructions_look();
	} else {
		check_all();
	}
}

void hook_modules_note(const char *text)
{
	if (hook_process.mode == HOOK_RECORD)
		hook_input_note(TRACE_IN_NOTE, text);
}

bool hook_modules_noted(const char *text)
{
	struct trace_input_reader reader;
	struct trace_input_rec rec;

	trace_input_reader_init(&reader, hook_input_view());
	while (trace_input_next(&reader, &rec) == 1) {
		if (rec.kind == TRACE_IN_NOTE && rec.length == strlen(text) &&
		    memcmp(rec.bytes, text, rec.length) == 0)
			return true;
	}
	return false;
}
