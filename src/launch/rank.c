/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ways lead to one exec, so no process of ours stays between the launcher and the program.
 * A rank that cannot write its part of the trace runs all the same, unrecorded: at this point the
 * user's job is under way. A rank that cannot be replayed faithfully does not run.
 */
#include "launch/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/limit.h"
#include "base/log.h"
#include "base/mem.h"
#include "launch/environ.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "launch/program.h"
#include "launch/restore.h"
#include "launch/stdin.h"
#include "launch/valgrind.h"
#include "trace/dir.h"
#include "trace/meta.h"

#define REFUSAL_BYTES 65536

static void fix_addresses(unsigned rank)
{
	int now = personality(0xffffffff);

	if (now >= 0 && personality((unsigned long)now | ADDR_NO_RANDOMIZE) >= 0)
		return;
	if (rank == 0)
		rp_say("the system does not allow fixed addresses (%s): pointers will differ from "
		       "run to run; see 'reprise doctor'",
		       strerror(errno));
}

static int become(const char *path, char *const *argv)
{
	rp_limit_restore_signal();
	execvpe(path, argv, environ);
	rp_say("cannot start %s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? RP_EXIT_NOT_FOUND : RP_EXIT_CANNOT_EXEC;
}

/* The tool finds the program as execvp would; its own libraries are those of Valgrind. */
static int become_watched(char *const *argv)
{
	char *tool;
	const char *library;
	size_t n = 0, most = rp_strings_count((char **)argv) + 5;
	char **words = rp_alloc(most, sizeof(*words));
	int rc = launch_valgrind_require(&tool, &library);

	if (rc)
		return rc;
	words[n++] = tool;
	words[n++] = "--tool=reprise";
	words[n++] = "--quiet";
	words[n++] = "--vgdb=no";
	while (*argv)
		words[n++] = *argv++;
	setenv("VALGRIND_LIB", library, 1);
	setenv("VALGRIND_LAUNCHER", tool, 1);
	return become(tool, words);
}

static void clear_variables(void)
{
	static const char *const ours[] = {"REPRISE_MODE",    "REPRISE_DIR",      "REPRISE_RANK",
					   "REPRISE_SESSION", "REPRISE_NOISE",    "REPRISE_FORCE",
					   "REPRISE_DISCARD", "REPRISE_LAUNCHED", "REPRISE_IMAGE",
					   "REPRISE_TRACE",   "REPRISE_HEAP",     "REPRISE_THREADS",
					   "REPRISE_SNAPSHOT"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		unsetenv(ours[i]);
}

static void set_format(const char *name, const char *format, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), format, value);
	setenv(name, text, 1);
}

/*
 * The same variables with values of the same length in both modes: a program that copies its
 * environment to the heap then finds the same addresses there.
 */
static int set_variables(const struct launch_rank *how, const char *dir, const char *hook,
			 bool system_heap, unsigned threads)
{
	char *session = how->session ? rp_strdup(how->session) : rp_format("%s/replay-000000", dir);
	unsigned rank;

	clear_variables();
	setenv("REPRISE_MODE", how->explore ? "explore" : how->session ? "replay" : "record", 1);
	setenv("REPRISE_DIR", dir, 1);
	setenv("REPRISE_SESSION", session, 1);
	set_format("REPRISE_RANK", "%" PRIu64, how->rank);
	set_format("REPRISE_NOISE", "%020" PRIu64, how->noisy ? how->noise + !how->noise : 0);
	set_format("REPRISE_FORCE", "%" PRIu64, how->force);
	set_format("REPRISE_DISCARD", "%" PRIu64, how->discard);
	set_format("REPRISE_TRACE", "%" PRIu64, how->tracing);
	set_format("REPRISE_LAUNCHED", "%" PRIu64, launch_job_rank(&rank));
	set_format("REPRISE_THREADS", "%" PRIu64, threads);
	set_format("REPRISE_SNAPSHOT", "%020" PRIu64, how->snapshot);
	setenv("REPRISE_HEAP", system_heap ? "system" : "own", 1);
	free(session);
	return how->restore ? launch_environ_audit(hook) : launch_environ_preload(hook);
}

static char *absolute(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : rp_strdup(path);
}

static char *working_directory(void)
{
	char *cwd = getcwd(NULL, 0);

	return cwd ? cwd : rp_strdup(".");
}

/* The identity of what runs: the binary's, or the script's. */
static void identify(const char *path, char id[LAUNCH_BUILD_ID_BYTES])
{
	if (launch_build_id(path, id) != 0)
		snprintf(id, LAUNCH_BUILD_ID_BYTES, "unknown");
}

/* The rank's directory: a descriptor or -errno. */
static int enter_rank(const struct launch_rank *how, struct trace_dir *dir)
{
	char name[TRACE_RANK_NAME_BYTES];
	int rc = trace_dir_enter(dir, how->trace);

	if (rc)
		return rc;
	if (!how->claimed && !how->session)
		return trace_dir_claim_rank(dir, how->rank);
	trace_dir_rank_name(how->rank, name);
	rc = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return rc < 0 ? -errno : rc;
}

static int run_unrecorded(const struct launch_rank *how, const char *path, int why)
{
	rp_say("rank %u cannot write to the trace %s (%s) and runs unrecorded", how->rank,
	       how->trace, strerror(-why));
	clear_variables();
	return become(path, how->argv);
}

/* Fills and writes start.json; environ is final but for the padding, `env` is as it was found. */
static int write_start(const struct launch_rank *how, int rankfd, const char *path, char **env,
		       enum launch_mpi mpi, const char *input, uint64_t stack)
{
	char id[LAUNCH_BUILD_ID_BYTES];
	struct trace_start start = {
		.rank = how->rank,
		.argv = how->argv,
		.env = env,
		.cwd = working_directory(),
		.host = launch_host(),
		.program = absolute(path),
		.build_id = id,
		.mpi = (char *)launch_mpi_name(mpi),
		.input = (char *)input,
		.stack = stack,
	};
	int rc;

	identify(path, id);
	rc = trace_start_write(rankfd, &start);
	free(start.cwd);
	free(start.host);
	free(start.program);
	return rc;
}

static char **copy_environ(void)
{
	size_t n = rp_strings_count(environ);
	char **copy = rp_alloc(n + 1, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = rp_strdup(environ[i]);
	return copy;
}

static int record(const struct launch_rank *how, const char *path, enum launch_mpi mpi,
		  const char *hook)
{
	struct trace_dir dir = {.fd = -1};
	int rankfd = enter_rank(how, &dir);
	char **env = copy_environ();
	const char *input;
	uint64_t stack;
	int rc;

	if (rankfd < 0)
		return run_unrecorded(how, path, rankfd);
	rc = set_variables(how, dir.path, hook, how->system_heap, how->threads);
	if (rc)
		return rc;
	input = launch_stdin_keep(rankfd, how->rank);
	stack = launch_environ_pad(path, how->argv, 0);
	rc = write_start(how, rankfd, path, env, mpi, input, stack);
	if (rc) {
		environ = env;
		return run_unrecorded(how, path, rc);
	}
	fix_addresses(how->rank);
	return become(path, how->argv);
}

static int check_unchanged(const struct launch_rank *how, const struct trace_start *start,
			   const char *path)
{
	char id[LAUNCH_BUILD_ID_BYTES];

	identify(path, id);
	if (how->force || how->twin || !strcmp(id, start->build_id))
		return 0;
	/* The front knows what else there is to do. */
	rp_say("%s has changed since it was recorded (build-id %s, now %s); record it again",
	       how->argv[0], start->build_id, id);
	return RP_EXIT_BAD_INPUT;
}

/* The recorded place and environment come first: the program is looked for from there. */
static int restore_place(const struct trace_start *start)
{
	char *cwd = launch_moved_path(start->cwd), *remedy;
	int rc = chdir(cwd) == 0 ? 0 : RP_EXIT_BAD_INPUT;

	launch_environ_restore(start->env);
	if (rc) {
		remedy = launch_moved_remedy(cwd);
		rp_say("cannot go to %s, where the program was recorded: %s%s", cwd,
		       strerror(errno), remedy);
		free(remedy);
	}
	free(cwd);
	return rc;
}

/* Its arguments stay what they were, and so does the name it was started by (argv[0]). */
static int find_program(const char *name, char **path)
{
	char *there = launch_moved_path(name);
	int rc = launch_program_require(there, path);

	free(there);
	return rc;
}

static int open_output(const struct launch_rank *how, const char *what)
{
	char *path = rp_format("%s/rank-%04u.%s", how->output, how->rank, what);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		rp_say("cannot open %s: %s", path, strerror(errno));
	free(path);
	return fd;
}

/* The output of ranks does not go through the launcher, which would mix it. */
static int divert_output(const struct launch_rank *how)
{
	int out = open_output(how, "out"), err = open_output(how, "err");
	bool good = out >= 0 && err >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
		    dup2(err, STDERR_FILENO) >= 0;

	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	return good ? 0 : RP_EXIT_FAILURE;
}

static int replay(const struct launch_rank *how)
{
	struct trace_dir dir = {.fd = -1};
	struct trace_start start;
	struct trace_meta meta;
	enum launch_mpi mpi;
	char *path, *hook;
	int rankfd = enter_rank(how, &dir);
	int rc;

	if (rankfd < 0) {
		rp_say("the trace %s has no rank %u: replay with the recorded number of ranks",
		       how->trace, how->rank);
		return RP_EXIT_BAD_INPUT;
	}
	rc = trace_start_read(&dir, how->rank, &start);
	if (!rc)
		rc = trace_meta_read(&dir, &meta);
	if (!rc) {
		launch_moved_guess(meta.place, dir.path);
		rc = restore_place(&start);
	}
	if (!rc)
		rc = find_program(how->twin ? how->twin : how->argv[0], &path);
	if (!rc)
		rc = check_unchanged(how, &start, path);
	if (rc)
		return rc;
	if (!launch_mpi_parse(start.mpi, &mpi)) {
		rp_say("the trace %s names an MPI that this Reprise does not know: %s", how->trace,
		       start.mpi);
		return RP_EXIT_BAD_INPUT;
	}
	rc = how->restore ? launch_restore_library(&hook) : launch_hook_require(mpi, &hook);
	if (!rc)
		rc = set_variables(how, dir.path, hook, meta.system_heap, meta.threads);
	if (!rc && how->restore)
		rc = launch_restore_prepare(how->restore, how->session);
	if (!rc)
		rc = launch_stdin_restore(rankfd, start.input);
	if (!rc && how->output)
		rc = divert_output(how);
	if (rc)
		return rc;
	launch_environ_pad(path, how->argv, start.stack);
	rp_say_to(STDERR_FILENO);
	fix_addresses(how->rank);
	return how->valgrind ? become_watched(how->argv) : become(path, how->argv);
}

/* S/refused is linked when it is complete; the first one counts. */
static void tell_refusal(const struct launch_rank *how, int said)
{
	char *draft = rp_format("%s/refusal-%u", how->session, how->rank);
	char *path = rp_format("%s/refused", how->session);
	int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	off_t from = 0;

	if (fd >= 0 && (sendfile(fd, said, &from, REFUSAL_BYTES) < 0 || link(draft, path) != 0))
		errno = 0;
	free(draft);
	free(path);
}

/*
 * A launcher may let the other ranks wait for one that does not start, and may not pass on what it
 * said. So the sentence goes to the front.
 */
static int replay_or_refuse(const struct launch_rank *how)
{
	int said = memfd_create("refusal", MFD_CLOEXEC);
	int code;

	if (said >= 0)
		rp_say_to(said);
	code = replay(how);
	if (said >= 0)
		tell_refusal(how, said);
	return code;
}

int launch_rank_run(const struct launch_rank *how)
{
	enum launch_mpi mpi;
	char *path, *hook;
	int rc;

	if (how->session)
		return replay_or_refuse(how);
	rc = launch_program_require(how->argv[0], &path);
	if (!rc)
		rc = launch_flavour_of(path, how->argv, how->mpi, &mpi);
	if (!rc)
		rc = launch_hook_require(mpi, &hook);
	return rc ? rc : record(how, path, mpi, hook);
}
