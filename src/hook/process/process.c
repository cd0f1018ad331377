/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and end of a process that has the hook library in it. The constructor finds out whether
 * this process is to be recorded or replayed; __libc_start_main wakes the hooks just before the
 * program's own code runs, so that what libraries do at load time is not taken for the program's.
 * Invariant: a process that claims no streams behaves as if we were not there.
 */
#include "hook/common/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "hook/common/end.h"
#include "hook/common/environ.h"
#include "hook/common/thread.h"
#include "hook/heap/system.h"
#include "hook/input/file/infile.h"
#include "hook/input/value/input.h"
#include "hook/kit/text.h"
#include "hook/memory/memory.h"
#include "hook/output/output.h"
#include "hook/program/sanitizer.h"
#include "hook/session/moved.h"
#include "hook/session/halt.h"
#include "hook/session/session.h"
#include "hook/session/unseen.h"
#include "hook/thread/call/real.h"

#define MAX_PROCESSES 10000

struct hook_process hook_process = {.rank_fd = -1};
__thread struct hook_here hook_here = {.depth = 1};
__thread bool hook_real_resolving;

static void (*libraries_fini)(void);

void *hook_real(const char *name)
{
	bool before = hook_real_resolving;
	void *found;

	/* An allocator that the program brings is not asked for the text of an error. */
	hook_real_resolving = true;
	found = dlsym(RTLD_NEXT, name);
	hook_real_resolving = before;
	return found;
}

void hook_stream_name(const struct hook_thread *t, const char *what, char *out, size_t size)
{
	struct hook_text text = hook_text_in(out, size);

	if (hook_process.process) {
		hook_text_add(&text, "p");
		hook_text_number(&text, hook_process.process);
		hook_text_add(&text, "-");
	}
	hook_text_add(&text, t->name);
	hook_text_add(&text, ".");
	hook_text_add(&text, what);
}

static bool copy_env(const char *name, char *out, size_t size)
{
	const char *value = hook_environ_get(name);

	if (!value || strlen(value) >= size)
		return false;
	strcpy(out, value);
	return true;
}

struct hook_text hook_rank_path(char *out, size_t size, const char *name)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, hook_process.dir);
	hook_text_add(&text, "/rank-");
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "/");
	hook_text_add(&text, name);
	return text;
}

int hook_high_fd(int fd)
{
	return rp_fd_lift(fd, NULL);
}

/* The prelude lies beside the rank's directory of the trace that is being recorded. */
static bool open_prelude(void)
{
	char path[1100];
	struct hook_text text = hook_text_in(path, sizeof(path));
	int fd;

	hook_text_add(&text, hook_process.dir);
	hook_text_add(&text, "/prelude/rank-");
	hook_text_padded(&text, hook_process.rank, 4);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		hook_say("cannot open ", path, ": ", strerror(errno), NULL);
		return false;
	}
	hook_process.explore.prelude_fd = hook_high_fd(fd);
	hook_process.explore.on = true;
	return true;
}

/* The front has left a word in the session. */
static bool is_told(const char *name)
{
	char path[1100];
	struct hook_text text = hook_text_in(path, sizeof(path));

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, name);
	return access(path, F_OK) == 0;
}

/* In a checkpoint run there is a place for the log of each rank that has one. */
static bool is_logged(void)
{
	char name[32];
	struct hook_text text = hook_text_in(name, sizeof(name));

	hook_text_add(&text, "/log/rank-");
	hook_text_padded(&text, hook_process.rank, 4);
	return is_told(name);
}

static bool read_environment(void)
{
	const char *mode = hook_environ_get("REPRISE_MODE");
	const char *rank = hook_environ_get("REPRISE_RANK");
	const char *noise = hook_environ_get("REPRISE_NOISE");
	const char *fault = hook_environ_get("REPRISE_FAULT");
	const char *discard = hook_environ_get("REPRISE_DISCARD");
	const char *trace = hook_environ_get("REPRISE_TRACE");
	const char *threads = hook_environ_get("REPRISE_THREADS");
	const char *snapshot = hook_environ_get("REPRISE_SNAPSHOT");
	char path[1100];
	int fd;

	if (!mode || !rank || !copy_env("REPRISE_DIR", hook_process.dir, sizeof(hook_process.dir)))
		return false;
	hook_memory_aside();
	hook_process.rank = (uint32_t)strtoul(rank, NULL, 10);
	hook_process.threads = threads ? (uint32_t)strtoul(threads, NULL, 10) : 0;
	hook_process.record.snapshot = snapshot ? strtoull(snapshot, NULL, 10) : 0;
	hook_process.noise = noise ? strtoull(noise, NULL, 10) : 0;
	hook_process.trace = trace ? (uint32_t)strtoul(trace, NULL, 10) % TRACE_MODES : 0;
	hook_process.record.discard = discard && strcmp(discard, "1") == 0;
	hook_process.pid = (int)syscall(SYS_getpid);
	trace_stream_lets_go = true;
	if (fault && strcmp(fault, "nospace") == 0)
		trace_stream_limit = 0;
	hook_session_is_slow = fault && strcmp(fault, "slow-word") == 0;
	hook_session_is_mute = fault && strcmp(fault, "no-word") == 0;
	hook_rank_path(path, sizeof(path), "");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		hook_say("rank ", rank, ": cannot open ", path, ": ", strerror(errno),
			 "; the program runs on without Reprise", NULL);
		return false;
	}
	hook_process.rank_fd = hook_high_fd(fd);
	if (strcmp(mode, "record") == 0) {
		hook_process.mode = HOOK_RECORD;
	} else if (copy_env("REPRISE_SESSION", hook_process.session,
			    sizeof(hook_process.session))) {
		if (strcmp(mode, "replay") == 0) {
			hook_process.mode = HOOK_REPLAY;
			hook_process.replay.evaluate = is_told("/evaluate");
			hook_process.replay.meets = is_told("/checkpoint");
			hook_process.replay.checkpoint = hook_process.replay.meets && is_logged();
			hook_process.replay.races = is_told("/races");
			if (is_told("/recover"))
				hook_process.replay.recover = HOOK_RECOVER_AMONG;
			hook_moved_load();
		} else if (strcmp(mode, "explore") == 0 && open_prelude()) {
			hook_process.mode = HOOK_RECORD;
			hook_moved_load();
		}
	}
	return hook_process.mode != HOOK_INERT;
}

static bool mpi_is_linked(void)
{
	return dlsym(RTLD_DEFAULT, "PMPI_Get_version") != NULL;
}

/*
 * A launcher inside a script that was itself recorded without one: its ranks are not ranks of this
 * recording, and would all take themselves for descendants of rank 0.
 */
static bool is_of_another_launch(void)
{
	const char *launched = hook_environ_get("REPRISE_LAUNCHED");

	if (!launched || strcmp(launched, "0") != 0)
		return false;
	return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMI_RANK") || getenv("PMIX_RANK");
}

/* What was recorded, or is the same process after exec, is replayed or it is said why not. */
static void check_replayable(int holder, bool same)
{
	if (same && holder == -ENOENT)
		hook_failed(hook_thread_self(),
			    "the program that it became (exec) is not recorded");
	if ((same || holder == 0) && hook_process.rank_fd < 0)
		hook_failed(hook_thread_self(), "there is no free descriptor to replay it with");
}

/*
 * Takes the next free number among the processes of this rank. The first process takes 0; later
 * ones only if they are the same process after exec, or programs of MPI, or `late` (in MPI_Init).
 */
static bool claim(bool late)
{
	static struct hook_unseen became = {
		.key = TRACE_UNSEEN_EXEC,
		.what = "the program that a process became (exec)",
		.remedy = "it needs a few free descriptors, and room for the trace",
	};
	bool may = late || mpi_is_linked(), same = false;

	for (uint32_t k = 0; k < MAX_PROCESSES; k++) {
		int holder = hook_session_claim(k);

		if (hook_process.mode == HOOK_REPLAY)
			check_replayable(holder, same);
		if (holder == 0) {
			hook_process.process = k;
			hook_process.claimed = true;
			pthread_atfork(NULL, NULL, hook_process_is_child);
			return true;
		}
		if (holder < 0) {
			if (same)
				hook_unseen(&became);
			return false;
		}
		same = same || holder == hook_process.pid;
		may = may || same;
		if (!may)
			return false;
	}
	hook_say_once(
		"processes",
		"a rank has more processes than Reprise can record: the others are not recorded",
		NULL);
	return false;
}

bool hook_process_claim_late(void)
{
	if (hook_process.mode == HOOK_INERT || hook_process.claimed || !claim(true))
		return false;
	hook_thread_adopt_main();
	return true;
}

void hook_process_is_child(void)
{
	hook_output_is_child();
	if (!hook_process.claimed)
		return;
	hook_thread_forget();
	hook_infile_forget();
	hook_process.mode = HOOK_INERT;
	hook_process.explore.on = false;
	hook_process.claimed = false;
	hook_memory_stop();
	hook_sync_stop();
	hook_depth = 1;
}

/* May leave errno as it likes. */
static void begin(void)
{
	hook_reals_resolve();
	hook_sync_resolve();
	if (!read_environment())
		return;
	if (is_of_another_launch()) {
		hook_process.mode = HOOK_INERT;
		hook_say_once("inner",
			      "mpirun was started inside the recorded program: its ranks are not",
			      " recorded; write 'reprise record mpirun …' there instead", NULL);
		return;
	}
#ifdef HOOK_FLAVOUR_PLAIN
	if (mpi_is_linked()) {
		hook_process.mode = HOOK_INERT;
		hook_say_once(
			"flavour", "a program without MPI has started one that uses MPI: it is",
			" not recorded; name its MPI with --mpi=openmpi or --mpi=mpich", NULL);
		return;
	}
#endif
	if (!claim(false))
		hook_output_attach();
}

__attribute__((constructor)) static void start(void)
{
	int error = errno;

	begin();
	if (hook_environ_get("REPRISE_MODE"))
		hook_environ_hide();
	errno = error;
}

/* Runs when the program's own destructors are done; what libraries do now is not the program's. */
static void before_libraries(void)
{
	hook_output_exits = true;
	hook_depth = 1;
	if (libraries_fini)
		libraries_fini();
}

/* Registered first, so that it runs last. */
static void at_exit(int status, void *unused)
{
	(void)unused;
	hook_output_exits = true;
	if (hook_process.claimed)
		hook_end_by_exit(status);
}

HOOK_EXPORT int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
				  void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
				  void *stack_end);

HOOK_EXPORT int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
				  void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
				  void *stack_end)
{
	__typeof__(__libc_start_main) *real = hook_real("__libc_start_main");
	int error = errno;

	if (hook_process.claimed) {
		on_exit(at_exit, NULL);
		libraries_fini = rtld_fini;
		rtld_fini = before_libraries;
		hook_thread_adopt_main();
		hook_sanitizer_watch();
		hook_halt_start(main);
	}
	errno = error;
	return real(main, argc, argv, init, fini, rtld_fini, stack_end);
}

bool hook_process_is_this(void)
{
	return hook_process.claimed && syscall(SYS_getpid) == hook_process.pid;
}

HOOK_EXPORT void exit(int status)
{
	void (*real)(int) __attribute__((noreturn)) = hook_real("exit");

	if (hook_depth == 0 && hook_process_is_this())
		hook_end_exits(status);
	real(status);
}

HOOK_EXPORT void _exit(int status)
{
	if (hook_depth == 0 && hook_process_is_this())
		hook_end_by_exit(status);
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

HOOK_EXPORT void quick_exit(int status)
{
	void (*real)(int) __attribute__((noreturn)) = hook_real("quick_exit");

	if (hook_depth == 0 && hook_process_is_this())
		hook_end_by_exit(status);
	real(status);
}

HOOK_EXPORT void _Exit(int status) __attribute__((alias("_exit")));
