/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the code of the program and its libraries for instructions that no wrapper sees. We
 * search for their bytes. Constants lie among the code, so we decode from the beginning of the
 * function to know whether the bytes are an instruction. Files whose purpose is system calls, and
 * runtimes whose calls are no inputs of the program, are left out. Libraries of the system ask the
 * processor for the time and for random numbers for purposes of their own, so that is told of the
 * program and its own libraries only.
 */
#include "hook/program/instructions.h"

#if defined(__x86_64__)

#include <errno.h>
#include <string.h>

#include "base/code.h"
#include "base/x86.h"
#include "hook/kit/text.h"
#include "hook/program/lookup.h"
#include "hook/session/unseen.h"
#include "race/own.h"

#define MOST_BYTES (16u << 20) /* of one file: the look is to take no time that is noticed */
#define NAMES_SHOWN 3

enum what { CALL, CLOCK, RANDOM, WHATS };

static const struct {
	const char *bytes;
	size_t n;
	enum what what;
} instruction[] = {
	{"\x0f\x05", 2, CALL},      /* syscall */
	{"\x0f\x31", 2, CLOCK},     /* rdtsc */
	{"\x0f\x01\xf9", 3, CLOCK}, /* rdtscp */
	{"\x0f\xc7", 2, RANDOM},    /* rdrand, rdseed, and others */
};

#define INSTRUCTIONS (sizeof(instruction) / sizeof(instruction[0]))

struct finds {
	size_t files;
	bool of_program; /* or of a library that is not the system's */
	struct hook_text names;
};

static bool is_known(const char *name)
{
	static const char *const known[] = {
		"libreprise-", "linux-vdso", "ld-linux", "libc.",    "libpthread", "librt.",
		"libgomp.",    "libasan.",   "libtsan.", "libubsan", "liblsan.",   "libmpi",
		"libopen-",    "mca_",       "libuc",    "libpmi",   "libfabric",  "libhwloc",
		"libevent",    "libibverbs", "librdma",  NULL};

	return hook_text_begins_with(name, known);
}

static bool is_of_system(const char *path)
{
	static const char *const places[] = {"/usr/lib", "/lib", NULL};

	return hook_text_begins_with(path, places);
}

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || (byte & 0xf0) == 0x40;
}

/* The instruction at `at` may have prefixes before it. */
static bool is_instruction(const struct rp_code_table *table, const uint8_t *at)
{
	struct rp_code_range f = rp_code_around(table, at);
	const uint8_t *last = f.start;
	struct rp_x86 insn;

	if (!f.start)
		return false;
	for (const uint8_t *p = f.start; p < at; p += insn.length) {
		rp_x86_decode(p, f.end, &insn);
		last = p + insn.length <= at ? p + insn.length : p;
	}
	while (last < at && is_prefix(*last))
		last++;
	return last == at;
}

/* 0f c7 with a register: 6 is rdrand, 7 rdseed, unless f3 makes it rdpid. */
static bool is_random(const uint8_t *at, const struct rp_code_range *code)
{
	return code->end - at >= 3 && (at[2] & 0xf0) == 0xf0 &&
	       !(at > code->start && at[-1] == 0xf3);
}

static const struct race_own *own; /* of a checked program */

static bool has(const struct rp_code_table *table, const struct rp_code_range *code, size_t which)
{
	const uint8_t *at = code->start;

	for (; (at = memmem(at, (size_t)(code->end - at), instruction[which].bytes,
			    instruction[which].n));
	     at++) {
		if ((own && at >= (const uint8_t *)own->start && at < (const uint8_t *)own->end) ||
		    (instruction[which].what == RANDOM && !is_random(at, code)))
			continue;
		if (is_instruction(table, at))
			return true;
	}
	return false;
}

static void look_through(const struct dl_phdr_info *info, bool of_system, bool there[WHATS])
{
	struct rp_code_table table;
	struct rp_code_range code;

	if (!rp_code_table(info, &table))
		return;
	for (int part = 0; rp_code_part(info, &part, &code);) {
		if (code.end - code.start > MOST_BYTES)
			continue;
		for (size_t i = 0; i < INSTRUCTIONS; i++) {
			enum what what = instruction[i].what;

			if (!there[what] && (what == CALL || !of_system))
				there[what] = has(&table, &code, i);
		}
	}
}

static int look_at_file(struct dl_phdr_info *info, size_t size, void *finds)
{
	bool is_program = !info->dlpi_name[0], there[WHATS] = {false};
	const char *path = is_program ? program_invocation_short_name : info->dlpi_name;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool of_system = !is_program && is_of_system(path);

	(void)size;
	if (!is_program && is_known(name))
		return 0;
	look_through(info, of_system, there);
	for (int what = 0; what < WHATS; what++) {
		struct finds *f = (struct finds *)finds + what;

		if (!there[what])
			continue;
		f->of_program |= !of_system;
		if (f->files++ < NAMES_SHOWN) {
			hook_text_add(&f->names, f->files > 1 ? ", " : "");
			hook_text_add(&f->names, name);
		}
	}
	return 0;
}

void hook_instructions_look(void)
{
	static char texts[WHATS][sizeof(((struct trace_unseen *)0)->what)];
	static struct hook_unseen unseen[WHATS] = {{.key = "raw-calls", .what = texts[CALL]},
						   {.key = "rdtsc", .what = texts[CLOCK]},
						   {.key = "rdrand", .what = texts[RANDOM]}};
	static const char *const words[WHATS] = {
		"system calls made without libc by ", "the processor's own clock (rdtsc), read by ",
		"random numbers of the processor (rdrand), taken by "};
	struct finds finds[WHATS] = {0};

	for (int what = 0; what < WHATS; what++) {
		finds[what].names = hook_text_in(texts[what], sizeof(texts[what]) - 16);
		hook_text_add(&finds[what].names, words[what]);
	}
	own = hook_lookup_any(RACE_OWN_NAME);
	dl_iterate_phdr(look_at_file, finds);
	for (int what = 0; what < WHATS; what++) {
		if (finds[what].files > NAMES_SHOWN)
			hook_text_add(&finds[what].names, " and others");
		unseen[what].quiet = !finds[what].of_program;
		if (finds[what].files)
			hook_unseen(&unseen[what]);
	}
}

#else

void hook_instructions_look(void)
{
}

#endif
