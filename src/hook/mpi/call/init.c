/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Init, MPI_Finalize, MPI_Abort and MPI_Wtime: the calls that are not like others. The real
 * functions are found in MPI_Init, in the MPI library itself, because a library that was loaded by
 * a library (Python's mpi4py) is not among the "next" ones. If the program opens MPI, it may also
 * close it, so we do not hold it open.
 */
#include "hook/kit/random.h"
#include "hook/mpi/call/mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "hook/common/end.h"
#include "hook/common/process.h"
#include "hook/image/image.h"
#include "hook/input/value/input.h"
#include "hook/kit/pages.h"
#include "hook/kit/time.h"
#include "hook/mpi/log/log.h"
#include "hook/mpi/replay/replay.h"
#include "hook/mpi/replay/yield.h"
#include "hook/program/lookup.h"
#include "hook/program/modules.h"
#include "hook/session/halt.h"

#ifdef HOOK_FLAVOUR_OPENMPI
#define MPI_SONAME "libmpi.so.40"
#define MPI_NAME "Open MPI"
#else
#define MPI_SONAME "libmpich.so.12"
#define MPI_NAME "MPICH"
#endif

const struct hook_mpi_mode *hook_mpi_mode = &hook_mpi_record;
bool hook_mpi_turns;

static void *mpi_library;
static void *kept; /* an MPI library that we opened just before the program did */

static void *find(const char *name)
{
	return mpi_library ? hook_lookup_in(mpi_library, name) : NULL;
}

/* A program not made position-independent has a copy of the variable, and that one counts. */
static void *find_variable(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	return p ? p : dlsym(mpi_library, name);
}

/*
 * false: the program uses another MPI than this library was made for. Wrappers then do nothing
 * but go on to the real functions.
 */
static bool resolve(void)
{
	static const char *const names[] = {MPI_SONAME, "libmpi.so.40", "libmpich.so.12",
					    "libmpi.so.12"};
	static bool ours;
	void *library = NULL;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return false;
	dlclose(library);
	mpi_library = library;
	if (hook_mpi_real.Init && find("PMPI_Init") == (void *)hook_mpi_real.Init)
		return ours;
	ours = i == 1;
	if (ours)
		hook_mpi_resolve_handles(find_variable);
	hook_mpi_resolve_all(find);
	return ours;
}

/* Where the program has the real function, it gets ours: the other names are not MPI's. */
static void *ours_of(void *handle, const char *name)
{
	void *found;

	hook_depth++;
	resolve();
	if (kept)
		dlclose(__atomic_exchange_n(&kept, NULL, __ATOMIC_RELAXED));
	hook_depth--;
	found = hook_lookup_in(handle, name);
	return found && found == find(name) ? hook_lookup_own(name) : NULL;
}

/*
 * What MPI and the libraries below it do when they are loaded is theirs, and not the program's: as
 * if the program had been linked with it. So they are loaded before, and let go when the program
 * has opened them, too.
 */
static void opening(const char *file, int mode, const void *site)
{
	const char *base = strrchr(file, '/');
	int error = errno;

	base = base ? base + 1 : file;
	if (hook_process.mode == HOOK_INERT || kept || (mode & RTLD_NOLOAD) ||
	    strncmp(base, "libmpi", 6) != 0 || !hook_lookup_is_the_same(file, site))
		return;
	hook_depth++;
	kept = dlopen(file, mode);
	if (!kept)
		dlerror();
	hook_depth--;
	errno = error;
}

/* A call that comes before MPI_Init is a mistake of the program's, which MPI tells. */
__attribute__((constructor)) static void resolve_early(void)
{
	hook_lookup_mpi = ours_of;
	hook_lookup_opening = opening;
	resolve();
}

void hook_mpi_noise(struct hook_thread *t)
{
	uint64_t x = hook_random_next(&t->noise);

	if (x % 8 > 1)
		return;
	if (x % 8 == 1) {
		sched_yield();
		return;
	}
	hook_time_nap((long)((x >> 8) % 200000));
}

void *hook_mpi_scratch(struct hook_thread *t, int which, size_t n)
{
	size_t size = (n + 65535) & ~(size_t)65535;
	void *p;

	if (n <= t->mpi.scratch_size[which])
		return t->mpi.scratch[which];
	p = hook_pages(size);
	if (!p)
		return NULL;
	hook_pages_free(t->mpi.scratch[which], t->mpi.scratch_size[which]);
	t->mpi.scratch[which] = p;
	t->mpi.scratch_size[which] = size;
	return p;
}

void *hook_mpi_entry(struct hook_table *table, uint64_t key, const char *what)
{
	void *entry = hook_table_new(table);

	if (!entry)
		hook_failed_by(hook_thread_self(), "out of memory for", " ", what);
	hook_table_insert(table, entry, key);
	return entry;
}

static void note_version(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING + 8] = "mpi=";
	char *tab;
	int n;

	if (hook_mpi_real.Get_library_version(text + 4, &n) != MPI_SUCCESS)
		return;
	text[strcspn(text, ",\n")] = 0;
	tab = strchr(text, '\t');
	if (tab)
		*tab = ' ';
	hook_modules_note(text);
}

/* In a process that was restored here: no other rank is there. */
static void go_on_alone(struct hook_thread *t)
{
	hook_process.replay.recover = HOOK_RECOVER_ALONE;
	hook_thread_closing = NULL;
	hook_mpi_mode = &hook_mpi_replay;
	hook_mpi_top = hook_mpi_real;
	replay_alone(t);
	hook_recover_open(t);
	hook_halt_start(t->mpi.site);
}

void hook_mpi_opened(struct hook_thread *t, int world, int level)
{
	hook_mpi_turns = level >= MPI_THREAD_SERIALIZED;
	hook_process.world = world;
	hook_process.mpi_open = true;
	note_version();
	hook_mpi_mode->opened(t, world, level);
	if (hook_process.replay.checkpoint && hook_mpi_sessions) {
		hook_log_refuse("sessions of MPI");
	} else if (hook_process.replay.checkpoint) {
		hook_log_open(t);
		if (hook_image_take_open())
			go_on_alone(t);
	} else if (hook_process.replay.meets && !hook_mpi_sessions) {
		hook_image_let_others();
	} else if (hook_process.replay.recover) {
		hook_recover_open(t);
	}
	hook_end_watch_signals();
}

static void opened(struct hook_thread *t, int level)
{
	int size = 1;

	if (hook_process.mpi_open)
		return;
	hook_mpi_real.Comm_size(MPI_COMM_WORLD, &size);
	hook_mpi_opened(t, size, level);
}

void hook_mpi_closing(struct hook_thread *t)
{
	hook_mpi_send_parts_close();
	hook_mpi_mode->closing(t);
	hook_end_progress = NULL;
}

bool hook_mpi_begins(uint32_t call)
{
	bool ours = resolve();

	if (hook_depth && !(ours && hook_process_claim_late()))
		return false;
	if (!ours && hook_process.mode == HOOK_REPLAY)
		hook_end_of_recording(hook_thread_self(), trace_call_name(call));
	if (!ours) {
		hook_stop_recording(hook_thread_self(), TRACE_STOP_CALL, call,
				    "the program does not use " MPI_NAME ", see --mpi");
		hook_depth = 1;
		return false;
	}
	if (hook_process.mode == HOOK_REPLAY)
		hook_mpi_mode =
			hook_process.replay.evaluate ? hook_mpi_evaluate() : &hook_mpi_replay;
	else if (hook_process.explore.on)
		hook_mpi_mode = hook_mpi_explore();
	if (hook_mpi_mode != &hook_mpi_record)
		hook_yield_begin(mpi_library);
	return true;
}

bool hook_mpi_began_early(struct hook_thread *t)
{
	if (hook_process.mode != HOOK_REPLAY)
		return false;
	hook_mpi_mode = &hook_mpi_replay;
	hook_mpi_mode->begin(t);
	return true;
}

/* Both ways to start; required < 0 stands for MPI_Init. */
static int init(int *argc, char ***argv, int required, int *provided, const void *site)
{
	uint32_t call = required < 0 ? CALL_Init : CALL_Init_thread;
	struct hook_thread *t;
	int level = MPI_THREAD_SINGLE;
	int rc;

	if (!hook_mpi_begins(call))
		return required < 0 ? hook_mpi_real.Init(argc, argv)
				    : hook_mpi_real.Init_thread(argc, argv, required, provided);
	t = hook_mpi_enter(call, site);
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	if (hook_process.replay.checkpoint)
		hook_image_note_shared();
	if (required < 0) {
		rc = hook_mpi_real.Init(argc, argv);
	} else {
		rc = hook_mpi_real.Init_thread(argc, argv, required, provided);
		level = *provided;
	}
	if (rc == MPI_SUCCESS)
		opened(t, level);
	hook_mpi_end(t);
	hook_mpi_leave(t);
	return rc;
}

HOOK_EXPORT int MPI_Init(int *argc, char ***argv)
{
	return init(argc, argv, -1, NULL, __builtin_return_address(0));
}

HOOK_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	return init(argc, argv, required, provided, __builtin_return_address(0));
}

HOOK_EXPORT int MPI_Finalize(void)
{
	struct hook_thread *t;
	int rc;

	if (hook_depth)
		return hook_mpi_top.Finalize();
	t = hook_mpi_enter(CALL_Finalize, __builtin_return_address(0));
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	if (!hook_mpi_sessions)
		hook_mpi_closing(t);
	rc = hook_mpi_top.Finalize();
	hook_process.mpi_open = hook_mpi_sessions;
	hook_mpi_end(t);
	hook_mpi_leave(t);
	return rc;
}

/* Also from inside MPI: an error handler of the program may call it there. */
HOOK_EXPORT int MPI_Abort(MPI_Comm comm, int code)
{
	if (hook_process.claimed && hook_process.mpi_open) {
		struct hook_thread *t = hook_thread_self();

		hook_depth++;
		t->mpi.call = CALL_Abort;
		hook_end_by_abort(t, code);
	}
	return hook_mpi_top.Abort(comm, code);
}

static int fetch_wtime(void *unused, uint64_t *bits)
{
	double seconds = hook_mpi_real.Wtime();

	(void)unused;
	memcpy(bits, &seconds, sizeof(*bits));
	return 0;
}

HOOK_EXPORT double MPI_Wtime(void)
{
	uint64_t bits = 0;
	double seconds;

	if (!hook_mpi_real.Wtime)
		resolve();
	if (hook_depth)
		return hook_mpi_real.Wtime();
	if (hook_input_number(TRACE_IN_WTIME, "MPI_Wtime", fetch_wtime, NULL, &bits))
		return 0;
	memcpy(&seconds, &bits, sizeof(seconds));
	return seconds;
}

HOOK_EXPORT int PMPI_Init(int *argc, char ***argv) __attribute__((alias("MPI_Init")));
HOOK_EXPORT int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
	__attribute__((alias("MPI_Init_thread")));
HOOK_EXPORT int PMPI_Finalize(void) __attribute__((alias("MPI_Finalize")));
HOOK_EXPORT int PMPI_Abort(MPI_Comm comm, int code) __attribute__((alias("MPI_Abort")));
HOOK_EXPORT double PMPI_Wtime(void) __attribute__((alias("MPI_Wtime")));
