/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions are known by their names, of which libc has one for each kind of processor. Who calls
 * them is where they return to; what libraries call them for is their own business.
 */
#include "calls.h"

#include "libvex_guest_amd64.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"

#include "hook/race/runtime.h"

#define CALLERS 4096u

enum kind {
	MEMCPY,
	MEMSET,
	MEMCMP,
	MEMCHR,
	STRLEN,
	STRCPY,
	STRNCPY,
	STRCAT,
	STRCMP,
	STRNCMP,
	STRCHR,
	STRRCHR,
};

static const struct {
	const HChar *name;
	enum kind kind;
} names[] = {{"memcpy", MEMCPY},   {"memmove", MEMCPY}, {"mempcpy", MEMCPY}, {"memset", MEMSET},
	     {"memcmp", MEMCMP},   {"memchr", MEMCHR},  {"strlen", STRLEN},  {"strcpy", STRCPY},
	     {"stpcpy", STRCPY},   {"strcat", STRCAT},  {"strcmp", STRCMP},  {"strncmp", STRNCMP},
	     {"strncpy", STRNCPY}, {"strchr", STRCHR},  {"strrchr", STRRCHR}};

/* Return addresses that have been looked up; bit 63: nothing is looked at there. */
static Addr callers[CALLERS];

#define LEFT_OUT (1ul << 63)

void calls_forget(void)
{
	VG_(memset)(callers, 0, sizeof(callers));
}

static Bool is_ours(Addr site)
{
	Addr *c = &callers[(site * 0x9e3779b97f4a7c15ul >> 40) % CALLERS];

	if ((*c & ~LEFT_OUT) != site)
		*c = site | (is_left_out(site) ? LEFT_OUT : 0);
	return !(*c & LEFT_OUT);
}

static SizeT compared(const UChar *a, const UChar *b, SizeT most, Bool text)
{
	SizeT n = 0;

	while (n < most && a[n] == b[n] && (!text || a[n]))
		n++;
	return n < most ? n + 1 : n;
}

/* How many bytes it looks at for c; all up to the end of the text, or n, if it is not there. */
static SizeT until(const UChar *s, UChar c, SizeT most, Bool text)
{
	SizeT n = 0;

	while (n < most && s[n] != c && (!text || s[n]))
		n++;
	return n < most ? n + 1 : n;
}

static SizeT length(const void *s)
{
	return until(s, 0, ~0ul, True);
}

static void called(ULong kind, const void *a, const void *b, SizeT n, const Addr *stack)
{
	const void *site;
	SizeT had;

	if (!at_work || !is_ours(*stack))
		return;
	site = (const void *)*stack;
#define READ(p, bytes) runtime_range(p, bytes, false, site)
#define WRITE(p, bytes) runtime_range(p, bytes, true, site)
	switch ((enum kind)kind) {
	case MEMCPY:
		READ(b, n);
		WRITE(a, n);
		break;
	case MEMSET:
		WRITE(a, n);
		break;
	case MEMCMP:
		READ(a, compared(a, b, n, False));
		READ(b, compared(a, b, n, False));
		break;
	case MEMCHR:
		READ(a, until(a, (UChar)(Addr)b, n, False));
		break;
	case STRLEN:
	case STRRCHR:
		READ(a, length(a));
		break;
	case STRCPY:
		READ(b, length(b));
		WRITE(a, length(b));
		break;
	case STRNCPY:
		READ(b, until(b, 0, n, True));
		WRITE(a, n);
		break;
	case STRCAT:
		had = length(a);
		READ(a, had);
		READ(b, length(b));
		WRITE((const UChar *)a + had - 1, length(b));
		break;
	case STRCMP:
		READ(a, compared(a, b, ~0ul, True));
		READ(b, compared(a, b, ~0ul, True));
		break;
	case STRNCMP:
		READ(a, compared(a, b, n, True));
		READ(b, compared(a, b, n, True));
		break;
	case STRCHR:
		READ(a, until(a, (UChar)(Addr)b, ~0ul, True));
		break;
	}
}

/* "memcpy", "__memcpy_avx_unaligned", "__memcpy_chk": all the same; -1: none of them. */
static Int kind_of(const HChar *name)
{
	while (*name == '_')
		name++;
	for (UInt i = 0; i < sizeof(names) / sizeof(*names); i++) {
		SizeT n = VG_(strlen)(names[i].name);

		if (!VG_(strncmp)(name, names[i].name, n) && (!name[n] || name[n] == '_'))
			return (Int)names[i].kind;
	}
	return -1;
}

static IRExpr *of_guest(IRSB *out, Int offset)
{
	IRTemp t = newIRTemp(out->tyenv, Ity_I64);

	addStmtToIRSB(out, IRStmt_WrTmp(t, IRExpr_Get(offset, Ity_I64)));
	return IRExpr_RdTmp(t);
}

#define GUEST(name) of_guest(out, __builtin_offsetof(VexGuestAMD64State, guest_##name))

void calls_add(IRSB *out, Addr at)
{
	const HChar *name;
	Int kind = -1;

	if (VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), at, &name))
		kind = kind_of(name);
	if (kind < 0)
		return;
	addStmtToIRSB(out, IRStmt_Dirty(unsafeIRDirty_0_N(
				   0, "called", VG_(fnptr_to_fnentry)(called),
				   mkIRExprVec_5(IRExpr_Const(IRConst_U64((ULong)kind)), GUEST(RDI),
						 GUEST(RSI), GUEST(RDX), GUEST(RSP)))));
}
