/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look through the code of the program and its libraries for atomic instructions whose outcome
 * depends on other threads: exchanges, and additions that tell the value before. Plain counters,
 * fences, and counts of references (minus one, then compared with one) are left out. So are
 * libraries whose synchronisation is recorded or that the hooks wrap. A library of the system has
 * some such instructions for its own housekeeping, so it takes more of them to conclude that it
 * orders threads. The functions are found by the table for unwinding, so that constants among the
 * code are not taken for it.
 */
#include "hook/program/atomics.h"

#include <errno.h>
#include <string.h>

#include "base/code.h"
#include "base/x86.h"
#include "hook/common/hook.h"
#include "hook/kit/text.h"
#include "hook/program/lookup.h"
#include "hook/session/unseen.h"
#include "race/own.h"

#define ENOUGH 1
#define ENOUGH_OF_SYSTEM 32
#define MOST_BYTES (64u << 20) /* of one file */
#define LOOK_BACK 24
#define NAMES_SHOWN 3

/* Code of one file; counts what is found there. */
struct look {
	size_t found, enough, bytes;
};

static struct {
	size_t files;
	char names[NAMES_SHOWN][32];
} found;

static bool is_known(const char *name)
{
	static const char *const known[] = {
		"libreprise-", "linux-vdso", "ld-linux", "libc.",     "libm.",      "libpthread",
		"libdl.",      "librt.",     "libres",   "libnss_",   "libstdc++.", "libgcc_s.",
		"libgomp.",    "libatomic.", "libgfort", "libquadm",  "libasan.",   "libtsan.",
		"libubsan.",   "liblsan.",   "libjemal", "libtcmall", "libmpi",     "libopen-",
		"mca_",        "libuc",      "libpmi",   "libfabric", "libhwloc",   "libevent",
		"libcrypto.",  NULL};

	return hook_text_begins_with(name, known);
}

static bool is_of_system(const char *path)
{
	static const char *const places[] = {"/usr/lib", "/lib", "/usr/local/lib", NULL};

	return hook_text_begins_with(path, places);
}

/* The constant -1 was put in its register just before, or what comes back is compared with 1. */
static bool counts_references(const uint8_t *start, const uint8_t *at, const uint8_t *next,
			      const uint8_t *end, unsigned reg)
{
	const uint8_t low = reg & 7;
	const uint8_t *p = at - start > LOOK_BACK ? at - LOOK_BACK : start;

	if (reg > 7)
		next++;
	if (end - next >= 3 && next[0] == 0x83 && next[1] == (0xf8 | low) && next[2] == 1)
		return true;
	for (; at - p >= 3; p++) {
		if (p[0] == 0x83 && p[1] == (0xc8 | low) && p[2] == 0xff)
			return true;
		if (at - p >= 5 && p[0] == (0xb8 | low) &&
		    memcmp(p + 1, "\xff\xff\xff\xff", 4) == 0)
			return true;
	}
	return false;
}

static void look_at_function(struct look *l, const uint8_t *start, const uint8_t *end)
{
	struct rp_x86 insn;

	for (const uint8_t *p = start; p < end && l->found < l->enough; p += insn.length) {
		rp_x86_decode(p, end, &insn);
		if (insn.kind == RP_X86_EXCHANGE || insn.kind == RP_X86_MASK)
			l->found++;
		else if (insn.kind == RP_X86_ADD &&
			 !counts_references(start, p, p + insn.length, end, insn.reg))
			l->found++;
	}
	l->bytes += (size_t)(end - start);
}

static const struct race_own *own; /* of a checked program */

static void look_by_table(struct look *l, const struct rp_code_table *table,
			  const struct rp_code_range *code)
{
	for (uint32_t i = 0; i < table->count && l->found < l->enough && l->bytes < MOST_BYTES;
	     i++) {
		struct rp_code_range f = rp_code_function(table, i);

		if (own && f.start >= (const uint8_t *)own->start &&
		    f.end <= (const uint8_t *)own->end)
			continue;
		if (f.start >= code->start && f.end <= code->end)
			look_at_function(l, f.start, f.end);
	}
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void keep_name(const char *name)
{
	struct hook_text out;

	if (found.files < NAMES_SHOWN) {
		out = hook_text_in(found.names[found.files], sizeof(found.names[0]));
		hook_text_add(&out, name);
	}
	found.files++;
}

static void look_through(struct look *l, const struct dl_phdr_info *info)
{
	struct rp_code_table table;
	struct rp_code_range code;
	bool has_table = rp_code_table(info, &table);

	for (int part = 0; rp_code_part(info, &part, &code);) {
		if (has_table)
			look_by_table(l, &table, &code);
		else
			look_at_function(l, code.start,
					 code.end - code.start > MOST_BYTES
						 ? code.start + MOST_BYTES
						 : code.end);
	}
}

static int look_at_file(struct dl_phdr_info *info, size_t size, void *unused)
{
	bool is_program = !info->dlpi_name[0];
	const char *path = is_program ? program_invocation_short_name : info->dlpi_name;
	struct look l = {.enough = !is_program && is_of_system(path) ? ENOUGH_OF_SYSTEM : ENOUGH};

	(void)size;
	(void)unused;
	if (!is_program && is_known(name_of(path)))
		return 0;
	look_through(&l, info);
	if (l.found >= l.enough)
		keep_name(name_of(path));
	return 0;
}

bool hook_atomics_look(void)
{
	found.files = 0;
	own = hook_lookup_any(RACE_OWN_NAME);
	dl_iterate_phdr(look_at_file, NULL);
	return found.files;
}

/* "app, libfoo.so and 3 more" */
static void list_names(struct hook_text *out)
{
	for (size_t i = 0; i < found.files && i < NAMES_SHOWN; i++) {
		if (i)
			hook_text_add(out, i + 1 == found.files ? " and " : ", ");
		hook_text_add(out, found.names[i]);
	}
	if (found.files <= NAMES_SHOWN)
		return;
	hook_text_add(out, " and ");
	hook_text_number(out, (int64_t)(found.files - NAMES_SHOWN));
	hook_text_add(out, " more");
}

void hook_atomics_tell(bool serial)
{
	static char what[sizeof(((struct trace_unseen *)NULL)->what)];
	static struct hook_unseen unseen = {
		.key = "atomics",
		.what = what,
		.remedy = "if the replay diverges, record with --threads=serial"};
	char names[128];
	struct hook_text out = hook_text_in(names, sizeof(names));

	list_names(&out);
	if (serial) {
		hook_say_once("atomics", names, found.files == 1 ? " orders" : " order",
			      " threads by atomic operations: they run one at a time "
			      "(--threads=auto)",
			      NULL);
		return;
	}
	out = hook_text_in(what, sizeof(what));
	hook_text_add(&out, "atomic operations, by which ");
	hook_text_add(&out, names);
	hook_text_add(&out, found.files == 1 ? " orders threads" : " order threads");
	hook_unseen(&unseen);
}
