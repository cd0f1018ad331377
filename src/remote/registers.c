/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table says how registers are called, how large they are and where the kernel has them: in the
 * integer registers, or in the extended state as the processor saves it (without compaction).
 */
#include "remote/registers.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/mem.h"

#define STATE_BYTES 8192
#define AVX_AT 576 /* where the upper halves begin, with every processor that has them */

enum where { INTEGER, EXTENDED };

struct row {
	const char *name, *type;
	uint8_t bytes;  /* as gdb has it */
	uint8_t stored; /* as the kernel has it, the rest is zero */
	enum where where;
	uint16_t at;
	const char *feature; /* begins here */
};

#define AT(member) offsetof(struct user_regs_struct, member)
#define GENERAL(name)                                                                              \
	{                                                                                          \
#name, "int64", 8, 8, INTEGER, AT(name), NULL                                      \
	}
#define SEGMENT(name)                                                                              \
	{                                                                                          \
#name, "int32", 4, 4, INTEGER, AT(name), NULL                                      \
	}
#define STACKED(n)                                                                                 \
	{                                                                                          \
		"st" #n, "i387_ext", 10, 10, EXTENDED, 32 + 16 * (n), NULL                         \
	}
#define CONTROL(name, stored, at)                                                                  \
	{                                                                                          \
		name, "int32", 4, stored, EXTENDED, at, NULL                                       \
	}
#define VECTOR(n)                                                                                  \
	{                                                                                          \
		"xmm" #n, "vec128", 16, 16, EXTENDED, 160 + 16 * (n), NULL                         \
	}
#define UPPER(n)                                                                                   \
	{                                                                                          \
		"ymm" #n "h", "uint128", 16, 16, EXTENDED, AVX_AT + 16 * (n), NULL                 \
	}

static const struct row rows[] = {
	{"rax", "int64", 8, 8, INTEGER, AT(rax), "core"},
	GENERAL(rbx),
	GENERAL(rcx),
	GENERAL(rdx),
	GENERAL(rsi),
	GENERAL(rdi),
	{"rbp", "data_ptr", 8, 8, INTEGER, AT(rbp), NULL},
	{"rsp", "data_ptr", 8, 8, INTEGER, AT(rsp), NULL},
	GENERAL(r8),
	GENERAL(r9),
	GENERAL(r10),
	GENERAL(r11),
	GENERAL(r12),
	GENERAL(r13),
	GENERAL(r14),
	GENERAL(r15),
	{"rip", "code_ptr", 8, 8, INTEGER, AT(rip), NULL},
	{"eflags", "i386_eflags", 4, 4, INTEGER, AT(eflags), NULL},
	SEGMENT(cs),
	SEGMENT(ss),
	SEGMENT(ds),
	SEGMENT(es),
	SEGMENT(fs),
	SEGMENT(gs),
	STACKED(0),
	STACKED(1),
	STACKED(2),
	STACKED(3),
	STACKED(4),
	STACKED(5),
	STACKED(6),
	STACKED(7),
	CONTROL("fctrl", 2, 0),
	CONTROL("fstat", 2, 2),
	CONTROL("ftag", 1, 4),
	CONTROL("fiseg", 2, 12),
	CONTROL("fioff", 4, 8),
	CONTROL("foseg", 2, 20),
	CONTROL("fooff", 4, 16),
	CONTROL("fop", 2, 6),
	{"xmm0", "vec128", 16, 16, EXTENDED, 160, "sse"},
	VECTOR(1),
	VECTOR(2),
	VECTOR(3),
	VECTOR(4),
	VECTOR(5),
	VECTOR(6),
	VECTOR(7),
	VECTOR(8),
	VECTOR(9),
	VECTOR(10),
	VECTOR(11),
	VECTOR(12),
	VECTOR(13),
	VECTOR(14),
	VECTOR(15),
	{"mxcsr", "i386_mxcsr", 4, 4, EXTENDED, 24, NULL},
	{"orig_rax", "int64", 8, 8, INTEGER, AT(orig_rax), "linux"},
	{"fs_base", "int64", 8, 8, INTEGER, AT(fs_base), "segments"},
	{"gs_base", "int64", 8, 8, INTEGER, AT(gs_base), NULL},
	{"ymm0h", "uint128", 16, 16, EXTENDED, AVX_AT, "avx"},
	UPPER(1),
	UPPER(2),
	UPPER(3),
	UPPER(4),
	UPPER(5),
	UPPER(6),
	UPPER(7),
	UPPER(8),
	UPPER(9),
	UPPER(10),
	UPPER(11),
	UPPER(12),
	UPPER(13),
	UPPER(14),
	UPPER(15),
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define WITHOUT_AVX (ROWS - 16)

static size_t count(void)
{
	return __builtin_cpu_supports("avx") ? ROWS : WITHOUT_AVX;
}

/* The types that gdb does not know by itself. */
static const char flags_type[] =
	"<flags id=\"i386_eflags\" size=\"4\">"
	"<field name=\"CF\" start=\"0\" end=\"0\"/><field name=\"\" start=\"1\" end=\"1\"/>"
	"<field name=\"PF\" start=\"2\" end=\"2\"/><field name=\"AF\" start=\"4\" end=\"4\"/>"
	"<field name=\"ZF\" start=\"6\" end=\"6\"/><field name=\"SF\" start=\"7\" end=\"7\"/>"
	"<field name=\"TF\" start=\"8\" end=\"8\"/><field name=\"IF\" start=\"9\" end=\"9\"/>"
	"<field name=\"DF\" start=\"10\" end=\"10\"/><field name=\"OF\" start=\"11\" end=\"11\"/>"
	"<field name=\"RF\" start=\"16\" end=\"16\"/></flags>";

static const char vector_types[] =
	"<vector id=\"v4f\" type=\"ieee_single\" count=\"4\"/>"
	"<vector id=\"v2d\" type=\"ieee_double\" count=\"2\"/>"
	"<vector id=\"v16i8\" type=\"int8\" count=\"16\"/>"
	"<vector id=\"v8i16\" type=\"int16\" count=\"8\"/>"
	"<vector id=\"v4i32\" type=\"int32\" count=\"4\"/>"
	"<vector id=\"v2i64\" type=\"int64\" count=\"2\"/>"
	"<union id=\"vec128\"><field name=\"v4_float\" type=\"v4f\"/>"
	"<field name=\"v2_double\" type=\"v2d\"/><field name=\"v16_int8\" type=\"v16i8\"/>"
	"<field name=\"v8_int16\" type=\"v8i16\"/><field name=\"v4_int32\" type=\"v4i32\"/>"
	"<field name=\"v2_int64\" type=\"v2i64\"/><field name=\"uint128\" "
	"type=\"uint128\"/></union>"
	"<flags id=\"i386_mxcsr\" size=\"4\"><field name=\"IE\" start=\"0\" end=\"0\"/></flags>";

char *remote_registers_description(void)
{
	char *text = NULL;
	size_t bytes, n = count();
	FILE *out = open_memstream(&text, &bytes);

	fputs("<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
	      "<architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi>",
	      out);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].feature)
			fprintf(out, "%s<feature name=\"org.gnu.gdb.i386.%s\">%s",
				i ? "</feature>" : "", rows[i].feature,
				i == 0                                ? flags_type
				: strcmp(rows[i].feature, "sse") == 0 ? vector_types
								      : "");
		fprintf(out, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%zu\"/>",
			rows[i].name, 8u * rows[i].bytes, rows[i].type, i);
	}
	fputs("</feature></target>", out);
	fclose(out);
	return text;
}

size_t remote_registers_find(unsigned number, size_t *at)
{
	*at = 0;
	if (number >= count())
		return 0;
	for (unsigned i = 0; i < number; i++)
		*at += rows[i].bytes;
	return rows[number].bytes;
}

struct state {
	struct user_regs_struct regs;
	uint8_t extended[STATE_BYTES];
	size_t bytes;
};

static int load(const struct remote_thread *t, struct state *s)
{
	struct iovec v = {s->extended, sizeof(s->extended)};

	memset(s->extended, 0, sizeof(s->extended));
	if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) != 0)
		return -errno;
	s->bytes = v.iov_len;
	return remote_process_registers(t, &s->regs);
}

static uint8_t *place(struct state *s, const struct row *r)
{
	return (r->where == INTEGER ? (uint8_t *)&s->regs : s->extended) + r->at;
}

int remote_registers_get(const struct remote_thread *t, uint8_t bytes[REMOTE_REGISTERS_BYTES])
{
	struct state s;
	size_t at = 0, n = count();
	int rc = load(t, &s);

	for (size_t i = 0; i < n && !rc; i++) {
		memset(bytes + at, 0, rows[i].bytes);
		memcpy(bytes + at, place(&s, &rows[i]), rows[i].stored);
		at += rows[i].bytes;
	}
	return rc ? rc : (int)at;
}

int remote_registers_set(const struct remote_thread *t, const uint8_t *bytes, size_t size)
{
	struct state s;
	struct iovec v = {s.extended, 0};
	size_t at = 0, n = count();
	int rc = load(t, &s);

	for (size_t i = 0; i < n && !rc && at + rows[i].bytes <= size; i++) {
		memcpy(place(&s, &rows[i]), bytes + at, rows[i].stored);
		at += rows[i].bytes;
	}
	v.iov_len = s.bytes;
	/* Parts that were in their first state have to be said to be there. */
	s.extended[512] |= 7;
	if (!rc && ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &v) != 0)
		rc = -errno;
	return rc ? rc : remote_process_set_registers(t, &s.regs);
}

#define NOT_THE_PROGRAM 0x10100ull /* flags of stepping and of going on */

void remote_registers_clean(struct user_regs_struct *regs)
{
	regs->eflags &= ~NOT_THE_PROGRAM;
	regs->orig_rax = 0;
}

/* Where the processor last was with floating point is not kept by all of them. */
bool remote_registers_same_extended(const struct remote_thread *a, const struct remote_thread *b,
				    bool in_call)
{
	struct state x, y;

	if (load(a, &x) != 0 || load(b, &y) != 0)
		return false;
	for (size_t i = 0, n = count(); i < n; i++) {
		const struct row *r = &rows[i];

		if (r->where == EXTENDED && (r->at == 24 || (r->at >= 32 && !in_call)) &&
		    memcmp(place(&x, r), place(&y, r), r->stored) != 0)
			return false;
	}
	return true;
}
