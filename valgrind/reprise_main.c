/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Valgrind tool that tells the engine of src/race/ of each access of a program that was not
 * compiled for it. Synchronisation comes by client requests of the hook library, which replays the
 * program (src/hook/thread/race/valgrind.c). Beside that it is the runtime of checked programs
 * (src/hook/race/): the same functions, of which Valgrind lets one thread at a time in.
 *
 * What libc, the loader, MPI and Reprise itself do is not looked at: they have locks of their own.
 * But what the program has functions of string.h do is (calls.h).
 * An instruction with a lock prefix orders threads, on its address, and is no access.
 */
#include "pub_tool_basics.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "valgrind.h"

#include <linux/futex.h>
#include <link.h>

#include "calls.h"
#include "libvex_guest_amd64.h"
#include "hook/race/runtime.h"
#include "race/inner.h"
#include "race/sys.h"

#define THREADS 2048 /* of Valgrind's numbers */
#define FRAMES 32

extern const struct hook_race_table reprise_race;

static struct race_thread *self[THREADS], *nobody;
static ThreadId running = 1;
Bool at_work;

/* Whoever runs now has this thread's state in runtime_self. */
static void switch_to(ThreadId tid)
{
	if (tid == running || tid >= THREADS)
		return;
	self[running] = runtime_self;
	running = tid;
	runtime_self = self[tid] ? self[tid] : nobody;
}

static void start_client(ThreadId tid, ULong blocks)
{
	(void)blocks;
	switch_to(tid);
}

/* The places of accesses are addresses of instructions; the log wants what they return to. */
static unsigned walk(const void *site, uint64_t *frame, unsigned most)
{
	Addr ips[FRAMES];
	UInt n = VG_(get_StackTrace)(running, ips, FRAMES, NULL, NULL, 0);
	unsigned k = 0;

	(void)site;
	for (; k < n && k < most; k++)
		frame[k] = ips[k] + 1;
	return k;
}

static const struct hook_race_frames frames = {.walk = walk};

static void start(const UWord *arg, UWord *result)
{
	*result = (UWord)(Word)reprise_race.start((int)arg[1], (const char *)arg[2],
						  (const char *)arg[3], &frames);
	at_work = *result == 0;
}

/* Where the thread's own variables end, which lie on top of its stack. */
static Addr own_end(void)
{
	Addr end = 0;

	VG_(get_shadow_regs_area)
	(running, (UChar *)&end, 0, __builtin_offsetof(VexGuestAMD64State, guest_FS_CONST),
	 sizeof(end));
	return end;
}

#define MOST_OWN (1ul << 24)

/*
 * What the last thread on this stack did there is over; its handle, on top of it, is joined yet.
 * Valgrind takes the page in which the thread begins for the last one of its stack.
 */
static void begin(void *child)
{
	Addr end = VG_(thread_get_stack_max)(running), own = own_end();
	SizeT n = VG_(thread_get_stack_size)(running);

	reprise_race.begin(child);
	if (!end || !n || n >= end)
		return;
	reprise_race.reset_data((const void *)(end - n), n);
	if (own > end && own - end < MOST_OWN)
		reprise_race.reset_data((const void *)end, own - end);
}

static void module(const UWord *arg)
{
	runtime_log_module((const char *)arg[1], arg[2], arg[3]);
}

Bool is_left_out(Addr a)
{
	static const HChar *const names[] = {
		"libreprise", "ld-linux", "libc.so",  "libc-2",   "libm.so",   "libpthread",
		"vgpreload",  "libgomp",  "libgcc_s", "libmpi",   "libopen-",  "mca_",
		"libuc",      "libpmi",   "libhwloc", "libevent", "libfabric", NULL};
	const HChar *file = NULL, *slash;

	if (!VG_(get_objname)(VG_(current_DiEpoch)(), a, &file) || !file)
		return False;
	slash = VG_(strrchr)(file, '/');
	for (UInt i = 0; names[i]; i++) {
		if (VG_(strstr)(slash ? slash : file, names[i]))
			return True;
	}
	return False;
}

/* Where the program asked for the block of memory that a request is about. */
static const void *caller(void)
{
	Addr ips[FRAMES];
	UInt n, k = 0;

	if (!runtime_watches && !runtime_early)
		return NULL;
	n = VG_(get_StackTrace)(running, ips, FRAMES, NULL, NULL, 0);
	while (k < n && is_left_out(ips[k]))
		k++;
	return k < n ? (const void *)(ips[k] + 1) : NULL;
}

/*
 * Variables that functions make once (C++): compilers look at the first byte of a guard by a plain
 * load, which acquires it. Invariant: whoever finds it made loads it after its guard is in here.
 */
#define GUARDS 65536u

static Addr guard_at[GUARDS];
static UInt guards;
static UChar guard_near[GUARDS]; /* not 0: there may be one of this place */

static UInt guard_place(Addr a)
{
	return (UInt)(a >> 3) % GUARDS;
}

static Bool is_guard(Addr a)
{
	for (UInt i = guard_place(a); guard_at[i]; i = (i + 1) % GUARDS) {
		if (guard_at[i] == a)
			return True;
	}
	return False;
}

/* What was noted of it before was that a thread found it not made. */
static void add_guard(Addr a)
{
	UInt i = guard_place(a);

	if (is_guard(a) || guards == GUARDS / 2)
		return;
	while (guard_at[i])
		i = (i + 1) % GUARDS;
	guard_at[i] = a;
	guard_near[guard_place(a)] = 1;
	guards++;
	reprise_race.reset_data((const void *)a, 8);
}

/* Something else is there now. */
static void forget_guards(Addr from, SizeT n)
{
	static Addr kept[GUARDS / 2];
	UInt left = 0, all = guards;

	for (UInt i = 0; i < GUARDS && all; i++) {
		if (guard_at[i] && guard_at[i] - from >= n)
			kept[left++] = guard_at[i];
	}
	if (left == all)
		return;
	VG_(memset)(guard_at, 0, sizeof(guard_at));
	VG_(memset)(guard_near, 0, sizeof(guard_near));
	guards = left;
	while (left) {
		Addr a = kept[--left];
		UInt i = guard_place(a);

		while (guard_at[i])
			i = (i + 1) % GUARDS;
		guard_at[i] = a;
		guard_near[guard_place(a)] = 1;
	}
}

/* Is a library of C++ there, without which nobody asks for guards? */
static Bool has_guards(void)
{
	static UInt epoch;
	static Bool found;
	const DebugInfo *di = NULL;

	if (found || epoch == VG_(current_DiEpoch)().n)
		return found;
	epoch = VG_(current_DiEpoch)().n;
	while (!found && (di = VG_(next_DebugInfo)(di)))
		found = VG_(strstr)(VG_(DebugInfo_get_filename)(di), "/libstdc++") ||
			VG_(strstr)(VG_(DebugInfo_get_filename)(di), "/libc++abi");
	return found;
}

/*
 * Who is woken cannot run before the calling thread does not, and would be put to sleep once more
 * if it came too early. It is woken where the thread that runs ends to run, whatever the reason.
 */
static const int *to_wake;

static void wake(void)
{
	if (to_wake)
		rp_raw_call(SYS_futex, (long)to_wake, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	to_wake = NULL;
}

static void stop_client(ThreadId tid, ULong blocks)
{
	(void)tid;
	(void)blocks;
	if (to_wake)
		wake();
}

static Bool request(ThreadId tid, UWord *arg, UWord *result)
{
	const void *object = (const void *)arg[1];

	if (!VG_IS_TOOL_USERREQ('R', 'P', arg[0]))
		return False;
	switch_to(tid);
	*result = 0;
	switch (arg[0] & 0xffff) {
	case HOOK_RACE_REQUEST_VERSION:
		*result = HOOK_RACE_VERSION;
		break;
	case HOOK_RACE_REQUEST_START:
		start(arg, result);
		break;
	case HOOK_RACE_REQUEST_MODULE:
		module(arg);
		break;
	case HOOK_RACE_REQUEST_STOP:
		reprise_race.stop();
		break;
	case HOOK_RACE_REQUEST_FINISH:
		reprise_race.finish();
		break;
	case HOOK_RACE_REQUEST_FORK:
		*result = (UWord)reprise_race.fork((const char *)arg[1]);
		break;
	case HOOK_RACE_REQUEST_BEGIN:
		begin((void *)arg[1]);
		break;
	case HOOK_RACE_REQUEST_END:
		reprise_race.end();
		break;
	case HOOK_RACE_REQUEST_ACQUIRE:
		reprise_race.acquire(object);
		break;
	case HOOK_RACE_REQUEST_RELEASE:
		reprise_race.release(object);
		break;
	case HOOK_RACE_REQUEST_FORGET:
		reprise_race.forget(object);
		break;
	case HOOK_RACE_REQUEST_ARRIVE:
		*result = (UWord)reprise_race.arrive(object, (uint32_t)arg[2]);
		break;
	case HOOK_RACE_REQUEST_LEAVE:
		reprise_race.leave(object, (void *)arg[2]);
		break;
	case HOOK_RACE_REQUEST_RESET:
		runtime_block(object, arg[2], caller());
		break;
	case HOOK_RACE_REQUEST_RESET_DATA:
		reprise_race.reset_data(object, arg[2]);
		break;
	case HOOK_RACE_REQUEST_ATOMIC:
		reprise_race.atomic(object, (int)arg[2], (int)arg[3]);
		break;
	case HOOK_RACE_REQUEST_ABANDON:
		reprise_race.abandon((void *)arg[1]);
		break;
	case HOOK_RACE_REQUEST_FENCE:
		reprise_race.fence((int)arg[1]);
		break;
	case HOOK_RACE_REQUEST_COUNTS:
		reprise_race.counts(object, (const uint64_t *)arg[2]);
		break;
	case HOOK_RACE_REQUEST_GUARD:
		add_guard((Addr)object);
		break;
	case HOOK_RACE_REQUEST_FORBIDDEN:
		reprise_race.forbidden();
		break;
	case HOOK_RACE_REQUEST_WAKE:
		wake();
		to_wake = object;
		*result = 1;
		break;
	default:
		break;
	}
	return True;
}

/* Memory that is mapped anew. */
static void mapped(Addr a, SizeT n, Bool r, Bool w, Bool x, ULong handle)
{
	(void)r;
	(void)w;
	(void)x;
	(void)handle;
	calls_forget();
	forget_guards(a, n);
	if (at_work)
		reprise_race.reset((const void *)a, n);
}

#define ACCESS(name, n, writes)                                                                    \
	static VG_REGPARM(2) void name##n(Addr a, Addr site)                                       \
	{                                                                                          \
		if (!at_work)                                                                      \
			return;                                                                    \
		race_access(runtime_self, a, n, writes, (const void *)site);                       \
	}

ACCESS(read, 2, false)
ACCESS(read, 4, false)
ACCESS(read, 8, false)
ACCESS(write, 1, true)
ACCESS(write, 2, true)
ACCESS(write, 4, true)
ACCESS(write, 8, true)

static VG_REGPARM(2) void read1(Addr a, Addr site)
{
	if (!at_work)
		return;
	if (guard_near[guard_place(a)] && is_guard(a))
		reprise_race.acquire((const void *)a);
	else
		race_access(runtime_self, a, 1, false, (const void *)site);
}

static VG_REGPARM(3) void read_some(Addr a, SizeT n, Addr site)
{
	if (at_work)
		race_touch(runtime_self, a, n, false, (const void *)site);
}

static VG_REGPARM(3) void write_some(Addr a, SizeT n, Addr site)
{
	if (at_work)
		race_touch(runtime_self, a, n, true, (const void *)site);
}

static VG_REGPARM(1) void atomic(Addr a)
{
	if (!at_work)
		return;
	reprise_race.acquire((const void *)a);
	reprise_race.release((const void *)a);
}

static const struct {
	const HChar *name;
	void *function;
} sized[2][4] = {
	{{"read1", read1}, {"read2", read2}, {"read4", read4}, {"read8", read8}},
	{{"write1", write1}, {"write2", write2}, {"write4", write4}, {"write8", write8}},
};

static IRExpr *word(ULong x)
{
	return IRExpr_Const(IRConst_U64(x));
}

static IRExpr *bound(IRSB *out, IRType type, IRExpr *e)
{
	IRTemp t = newIRTemp(out->tyenv, type);

	addStmtToIRSB(out, IRStmt_WrTmp(t, e));
	return IRExpr_RdTmp(t);
}

static IRExpr *op64(IRSB *out, IROp op, IRExpr *a, IRExpr *b)
{
	return bound(out, Ity_I64, IRExpr_Binop(op, a, b));
}

static IRExpr *byte(UChar x)
{
	return IRExpr_Const(IRConst_U8(x));
}

static IRExpr *loaded(IRSB *out, IRType type, IRExpr *address)
{
	return bound(out, type, IRExpr_Load(Iend_LE, type, address));
}

/* Where a page that is not at hand would be written to. */
static UChar nowhere[2];

/* The bits of n bytes, which for less than 8 depend on where they are. */
static IRExpr *with_bits(IRSB *out, IRExpr *address, IRExpr *at, Int n)
{
	IRExpr *shift, *bits;

	if (n == 8)
		return byte(0xff);
	shift = bound(out, Ity_I8, IRExpr_Unop(Iop_64to8, op64(out, Iop_And64, address, word(7))));
	bits = bound(out, Ity_I8,
		     IRExpr_Unop(Iop_64to8, op64(out, Iop_Shl64, word((1ul << n) - 1), shift)));
	return bound(out, Ity_I8, IRExpr_Binop(Iop_Or8, loaded(out, Ity_I8, at), bits));
}

/* What may be a load of a guard is for the function, too. */
static IRExpr *or_guard(IRSB *out, IRExpr *missing, IRExpr *address)
{
	IRExpr *place =
		op64(out, Iop_And64, op64(out, Iop_Shr64, address, byte(3)), word(GUARDS - 1));
	IRExpr *near =
		loaded(out, Ity_I8, op64(out, Iop_Add64, place, word((ULong)(Addr)guard_near)));
	IRExpr *any = op64(out, Iop_Or64, bound(out, Ity_I64, IRExpr_Unop(Iop_8Uto64, near)),
			   bound(out, Ity_I64, IRExpr_Unop(Iop_1Uto64, missing)));

	return bound(out, Ity_I1, IRExpr_Binop(Iop_CmpNE64, any, word(0)));
}

/*
 * race_access() of race/access.h, in line. 1 if the function has to be called instead: the page is
 * not at hand, or the address no multiple of n.
 */
static IRExpr *is_new(IRSB *out, IRExpr *address, Int n, Bool writes)
{
	IRExpr *key = op64(out, Iop_And64, address, word(race_window_key(~0ul, (unsigned)n)));
	IRExpr *page = op64(out, Iop_Shr64, address, byte(RACE_PAGE_BITS));
	IRExpr *offset =
		op64(out, Iop_Shl64, op64(out, Iop_And64, page, word(RACE_WINDOWS - 1)), byte(4));
	IRExpr *window = op64(out, Iop_Add64, offset,
			      loaded(out, Ity_I64, word((ULong)(Addr)&runtime_self)));
	IRExpr *bits = loaded(
		out, Ity_I64,
		op64(out, Iop_Add64, window, word(__builtin_offsetof(struct race_window, bits))));
	IRExpr *at = op64(out, Iop_Add64, bits, op64(out, Iop_Shr64, address, byte(3)));
	IRExpr *missing;

	missing = bound(out, Ity_I1, IRExpr_Binop(Iop_CmpNE64, loaded(out, Ity_I64, window), key));
	if (n == 1 && !writes && has_guards())
		missing = or_guard(out, missing, address);
	if (writes)
		at = op64(out, Iop_Add64, at, word(RACE_PAGE_CELLS));
	at = bound(out, Ity_I64, IRExpr_ITE(missing, word((ULong)(Addr)nowhere), at));
	addStmtToIRSB(out, IRStmt_Store(Iend_LE, at, with_bits(out, address, at, n)));
	return missing;
}

/* The same of more than 8 bytes: of all of its parts. */
static IRExpr *is_new_in_part(IRSB *out, IRExpr *address, Int n, Bool writes)
{
	IRExpr *any = word(0);

	for (Int i = 0; i < n; i += 8) {
		IRExpr *part = op64(out, Iop_Add64, address, word((ULong)i));
		IRExpr *new_here = is_new(out, part, 8, writes);

		any = op64(out, Iop_Or64, any,
			   bound(out, Ity_I64, IRExpr_Unop(Iop_1Uto64, new_here)));
	}
	return bound(out, Ity_I1, IRExpr_Binop(Iop_CmpNE64, any, word(0)));
}

static void add_access(IRSB *out, IRExpr *address, Int n, Bool writes, Addr at, IRExpr *guard)
{
	Int place = n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : n == 8 ? 3 : -1;
	IRDirty *d;

	if (place >= 0)
		d = unsafeIRDirty_0_N(2, sized[writes][place].name,
				      VG_(fnptr_to_fnentry)(sized[writes][place].function),
				      mkIRExprVec_2(address, word(at + 1)));
	else
		d = unsafeIRDirty_0_N(
			3, writes ? "write_some" : "read_some",
			VG_(fnptr_to_fnentry)(writes ? (void *)write_some : (void *)read_some),
			mkIRExprVec_3(address, word((ULong)n), word(at + 1)));
	if (guard)
		d->guard = guard;
	else if (place >= 0)
		d->guard = is_new(out, address, n, writes);
	else if (n % 8 == 0)
		d->guard = is_new_in_part(out, address, n, writes);
	addStmtToIRSB(out, IRStmt_Dirty(d));
}

static void add_atomic(IRSB *out, IRExpr *address)
{
	addStmtToIRSB(out,
		      IRStmt_Dirty(unsafeIRDirty_0_N(1, "atomic", VG_(fnptr_to_fnentry)(atomic),
						     mkIRExprVec_1(address))));
}

/* Tells of what the statement does, before it is done. */
static void add_before(IRSB *out, const IRStmt *st, Addr at)
{
	IRType type, wide;

	switch (st->tag) {
	case Ist_WrTmp:
		if (st->Ist.WrTmp.data->tag == Iex_Load)
			add_access(out, st->Ist.WrTmp.data->Iex.Load.addr,
				   sizeofIRType(st->Ist.WrTmp.data->Iex.Load.ty), False, at, NULL);
		break;
	case Ist_Store:
		add_access(out, st->Ist.Store.addr,
			   sizeofIRType(typeOfIRExpr(out->tyenv, st->Ist.Store.data)), True, at,
			   NULL);
		break;
	case Ist_StoreG:
		add_access(out, st->Ist.StoreG.details->addr,
			   sizeofIRType(typeOfIRExpr(out->tyenv, st->Ist.StoreG.details->data)),
			   True, at, st->Ist.StoreG.details->guard);
		break;
	case Ist_LoadG:
		typeOfIRLoadGOp(st->Ist.LoadG.details->cvt, &wide, &type);
		add_access(out, st->Ist.LoadG.details->addr, sizeofIRType(type), False, at,
			   st->Ist.LoadG.details->guard);
		break;
	case Ist_CAS:
		add_atomic(out, st->Ist.CAS.details->addr);
		break;
	default:
		break;
	}
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
			const VexGuestExtents *extents, const VexArchInfo *arch, IRType guest,
			IRType host)
{
	IRSB *out;
	Addr at = closure->nraddr;
	Bool left_out;

	(void)layout;
	(void)extents;
	(void)arch;
	(void)guest;
	(void)host;
	left_out = is_left_out(closure->nraddr);
	out = deepCopyIRSBExceptStmts(in);
	if (left_out)
		calls_add(out, closure->nraddr);
	for (Int i = 0; i < in->stmts_used; i++) {
		IRStmt *st = in->stmts[i];

		if (!st || st->tag == Ist_NoOp)
			continue;
		if (st->tag == Ist_IMark)
			at = st->Ist.IMark.addr;
		if (!left_out)
			add_before(out, st, at);
		addStmtToIRSB(out, st);
	}
	return out;
}

/*
 * There is no libc in here. Modules that are there when it begins come by requests, the program's
 * own by the name that the log has for it; those that are loaded later, as Valgrind knows them.
 */
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);

static Addr end_of(const DebugInfo *di)
{
	Addr text = VG_(DebugInfo_get_text_avma)(di) + VG_(DebugInfo_get_text_size)(di);
	Addr bss = VG_(DebugInfo_get_bss_avma)(di) + VG_(DebugInfo_get_bss_size)(di);

	return bss > text ? bss : text;
}

int dl_iterate_phdr(int (*act)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	const DebugInfo *di = NULL;
	int rc = 0;

	while (!rc && (di = VG_(next_DebugInfo)(di))) {
		Addr bias = (Addr)VG_(DebugInfo_get_text_bias)(di);
		ElfW(Phdr) part = {.p_type = PT_LOAD, .p_memsz = end_of(di) - bias};
		struct dl_phdr_info info = {.dlpi_addr = bias,
					    .dlpi_name = VG_(DebugInfo_get_filename)(di),
					    .dlpi_phdr = &part,
					    .dlpi_phnum = 1,
					    .dlpi_adds = VG_(current_DiEpoch)().n};

		rc = act(&info, sizeof(info), arg);
	}
	return rc;
}

int memcmp(const void *a, const void *b, size_t n)
{
	return VG_(memcmp)(a, b, n);
}

size_t strlen(const char *s)
{
	return VG_(strlen)(s);
}

static void after_options(void)
{
}

static void finish(Int code)
{
	(void)code;
}

static void before_options(void)
{
	VG_(details_name)("reprise");
	VG_(details_version)(NULL);
	VG_(details_description)("data races, during a replay of Reprise");
	VG_(details_copyright_author)("GPL-3.0-or-later; for 'reprise races --valgrind'");
	VG_(details_bug_reports_to)("the authors of Reprise");
	VG_(details_avg_translation_sizeB)(400);
	VG_(basic_tool_funcs)(after_options, instrument, finish);
	VG_(needs_client_requests)(request);
	VG_(track_start_client_code)(start_client);
	VG_(track_stop_client_code)(stop_client);
	VG_(track_new_mem_mmap)(mapped);
	nobody = runtime_self;
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
