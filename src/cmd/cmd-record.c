/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise record: makes the trace directory and runs the command so that each of its ranks records
 * itself into it. Before a launcher, or before a program of one process, it is the front and waits;
 * behind a launcher there is one of it per rank, and each becomes its rank. Once the program runs,
 * its exit status is what we return, whatever happens to the trace.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/record.h"
#include "launch/command.h"
#include "launch/environ.h"
#include "launch/flavour.h"
#include "launch/front.h"
#include "launch/job.h"
#include "launch/program.h"
#include "launch/rank.h"
#include "launch/watcher.h"
#include "trace/dir.h"
#include "trace/format.h"
#include "trace/meta.h"

#define SNAPSHOT_BUDGET (1ull << 30)

struct options {
	const char *output;
	bool discard;
	struct cmd_noise noise;
	unsigned heap; /* own, system */
	unsigned threads;
	bool serial;
	uint64_t snapshot;
	enum launch_mpi mpi;
	unsigned trace, clocks;
	enum trace_mode tracing;
	char **argv;
};

/* In the order of the words of the options. */
enum { TRACE_ORDER, TRACE_RACING, TRACE_ALL };
enum { HEAP_OWN, HEAP_SYSTEM };

/* --trace and --clocks make one mode. */
static int choose_tracing(struct options *o)
{
	if (o->trace != TRACE_RACING && o->clocks != CMD_NO_CHOICE) {
		rp_say("--clocks goes with --trace=racing: otherwise no clocks are used");
		return RP_EXIT_BAD_INPUT;
	}
	if (o->trace == TRACE_RACING)
		o->tracing = TRACE_MODE_RACING_FIXED + (o->clocks == CMD_NO_CHOICE ? 0 : o->clocks);
	else
		o->tracing = o->trace == TRACE_ALL ? TRACE_MODE_ALL : TRACE_MODE_ORDER;
	return 0;
}

static int read_snapshot(void *target, const char *text)
{
	*(uint64_t *)target = SNAPSHOT_BUDGET;
	return text ? cmd_read_bytes(target, text, "snapshot-inputs") : 0;
}

static const struct cmd_option options[] = {
	{.name = "output",
	 .letter = 'o',
	 .value = "DIR",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct options, output),
	 .help = "the new trace directory; it must not exist"},
	{.name = "discard-on-success",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct options, discard),
	 .help = "remove the trace if the command and all ranks end with status 0"},
	CMD_OPTION_NOISE(struct options, noise),
	{.name = "trace",
	 .value = "order|racing|all",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct options, trace),
	 .help = "which outcomes of messages are written: every choice that MPI had (order, the "
		 "default); only choices that could have ended otherwise (racing); every receive "
		 "(all)"},
	{.name = "clocks",
	 .value = "fixed|incremental|full",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct options, clocks),
	 .help = "the clocks that go with messages under --trace=racing (fixed)"},
	{.name = "threads",
	 .value = "parallel|serial|auto",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct options, threads),
	 .help = "parallel (the default): threads run as they do alone. serial: one thread of a "
		 "process runs at a time, so that data shared by atomic operations or without "
		 "locks replays, too. auto: serial if the code orders threads by atomic "
		 "operations"},
	{.name = "serial",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct options, serial),
	 .help = "the same as --threads=serial"},
	{.name = "snapshot-inputs",
	 .value = "SIZE",
	 .optional = true,
	 .kind = CMD_OWN,
	 .read = read_snapshot,
	 .target = offsetof(struct options, snapshot),
	 .help = "copy the files that the program reads, SIZE at most (1G); a replay reads the "
		 "copy if a file has changed or vanished"},
	{.name = "heap",
	 .value = "own|system",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct options, heap),
	 .help = "own (the default): pointers are the same in every replay; system: malloc is "
		 "libc's"},
	CMD_OPTION_MPI(struct options, mpi),
	CMD_OPTION_END,
};

static int parse(int argc, char **argv, struct options *o)
{
	struct cmd_operands operands;
	int code;

	o->clocks = CMD_NO_CHOICE;
	code = cmd_options_read(&cmd_record, argc, argv, o, &operands);
	if (code)
		return code;
	if (!operands.command) {
		rp_say("record what? For example: reprise record mpirun -n 4 ./app");
		return RP_EXIT_BAD_INPUT;
	}
	o->argv = operands.command;
	if (o->serial)
		o->threads = TRACE_THREADS_SERIAL;
	return choose_tracing(o);
}

static char *time_text(void)
{
	char text[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return rp_strdup(text);
}

static char **copy_strings(char *const *list)
{
	size_t n = rp_strings_count(list);
	char **copy = rp_alloc(n + 1, sizeof(*copy));

	for (size_t i = 0; i < n; i++)
		copy[i] = rp_strdup(list[i]);
	return copy;
}

/* A launcher is replayed in our environment; a program alone has its own in start.json. */
static void fill_meta(struct trace_meta *meta, const struct options *o,
		      const struct launch_command *command, const struct trace_dir *dir, bool front)
{
	char *cwd = getcwd(NULL, 0);

	*meta = (struct trace_meta){
		.version = rp_strdup(REPRISE_VERSION),
		.argv = copy_strings(o->argv),
		.mpi = rp_strdup(launch_mpi_name(o->mpi ? o->mpi : command->mpi)),
		.front = front,
		.env = front && command->has_launcher ? copy_strings(environ) : NULL,
		.cwd = cwd ? cwd : rp_strdup("."),
		.host = launch_host(),
		.place = rp_strdup(dir->path),
		.start = time_text(),
		.noisy = o->noise.given,
		.noise = o->noise.seed,
		.system_heap = o->heap == HEAP_SYSTEM,
		.threads = o->threads,
		.tracing = o->tracing,
	};
}

/* The launcher may look elsewhere than we can from here; its ranks will find the program. */
static bool left_to_launcher(const struct launch_command *command, size_t i, const char *name)
{
	if (!command->has_launcher || command->segment[i].moved)
		return command->has_launcher;
	return command->mpi != LAUNCH_MPI_MPICH && !strchr(name, '/') && access(name, X_OK) == 0;
}

/* Started by another MPI's launcher, each rank would take itself for the only one. */
static int check_launcher(const struct options *o, const struct launch_command *command,
			  const char *program, enum launch_mpi mpi)
{
	if (o->mpi || mpi <= LAUNCH_MPI_NONE || command->mpi <= LAUNCH_MPI_NONE ||
	    mpi == command->mpi)
		return 0;
	rp_say("%s is linked with %s, and %s belongs to %s: start it with mpirun.%s, or give "
	       "--mpi=%s if this is meant",
	       program, launch_mpi_title(mpi), o->argv[command->launcher],
	       launch_mpi_title(command->mpi), launch_mpi_name(mpi), launch_mpi_name(mpi));
	return RP_EXIT_BAD_INPUT;
}

static int check_program(const struct options *o, const struct launch_command *command, size_t word)
{
	enum launch_mpi mpi;
	char *path, *hook;
	int code = launch_program_require(o->argv[word], &path);

	if (code)
		return code;
	if (command->has_launcher)
		code = launch_flavour_linked(path, o->argv + word, o->mpi, &mpi);
	else
		code = launch_flavour_of(path, o->argv + word, o->mpi, &mpi);
	if (!code)
		code = launch_watcher_check(o->argv[word], mpi, command->has_launcher);
	if (!code)
		code = check_launcher(o, command, o->argv[word], mpi);
	if (!code && mpi == LAUNCH_MPI_UNKNOWN)
		mpi = command->mpi ? command->mpi : LAUNCH_MPI_NONE;
	if (!code)
		code = launch_hook_require(mpi, &hook);
	if (!code)
		free(hook);
	free(path);
	return code;
}

/* What can be refused before anything is made or started is refused here, once. */
static int check_programs(const struct options *o, const struct launch_command *command)
{
	char *path;
	int code = 0;

	if (command->has_launcher) {
		code = launch_program_require(o->argv[0], &path);
		if (!code)
			free(path);
	}
	for (size_t i = 0; i < command->segments && !code; i++) {
		size_t word = command->segment[i].program;

		if (!left_to_launcher(command, i, o->argv[word]))
			code = check_program(o, command, word);
	}
	return code;
}

/* launcher … reprise rank --trace DIR … -- program … */
static char **rank_command(const struct options *o, const struct launch_command *command,
			   const struct trace_dir *dir)
{
	char *prefix[12] = {launch_self(), "rank", "--dir", dir->path};
	size_t n = 4;

	if (o->noise.given)
		prefix[n++] = rp_format("--noise=%" PRIu64, o->noise.seed);
	if (o->mpi)
		prefix[n++] = rp_format("--mpi=%s", launch_mpi_name(o->mpi));
	if (o->tracing)
		prefix[n++] = rp_format("--trace-mode=%d", (int)o->tracing);
	if (o->heap == HEAP_SYSTEM)
		prefix[n++] = "--system-heap";
	if (o->threads)
		prefix[n++] = rp_format("--thread-mode=%u", o->threads);
	if (o->snapshot)
		prefix[n++] = rp_format("--snapshot=%" PRIu64, o->snapshot);
	prefix[n++] = "--";
	return launch_command_rewrite(command, o->argv, prefix);
}

static int become_rank(void *data)
{
	return launch_rank_run(data);
}

static int run_command(const struct options *o, const struct launch_command *command,
		       const struct trace_dir *dir, struct launch_ended *ended)
{
	struct launch_rank how = {
		.trace = dir->path,
		.noisy = o->noise.given,
		.noise = o->noise.seed,
		.system_heap = o->heap == HEAP_SYSTEM,
		.threads = o->threads,
		.snapshot = o->snapshot,
		.tracing = o->tracing,
		.mpi = o->mpi,
		.argv = o->argv,
	};

	if (command->has_launcher)
		return launch_front_run(launch_front_exec, rank_command(o, command, dir), ended);
	return launch_front_run(become_rank, &how, ended);
}

static int run_front(struct options *o, const struct launch_command *command)
{
	struct launch_ended ended;
	struct trace_meta meta;
	struct trace_dir dir;
	int rc = check_programs(o, command);

	if (rc)
		return rc;
	if (o->noise.given && !o->noise.seeded && getrandom(&o->noise.seed, 4, 0) != 4)
		o->noise.seed = (uint64_t)getpid();
	rc = trace_dir_create(&dir, o->output, o->argv[command->segment[0].program]);
	if (rc)
		return rc;
	fill_meta(&meta, o, command, &dir, true);
	rc = trace_meta_write(&dir, &meta);
	if (rc) {
		rp_say("cannot write to the trace directory %s: %s", dir.show, strerror(-rc));
		cmd_record_remove(&dir);
		return RP_EXIT_FAILURE;
	}
	rc = run_command(o, command, &dir, &ended);
	if (rc) {
		rp_say("cannot start a process: %s", strerror(-rc));
		cmd_record_remove(&dir);
		return RP_EXIT_FAILURE;
	}
	cmd_record_finish(&(struct cmd_recorded){command, o->argv[0], o->discard}, &dir, &meta,
			  &ended);
	trace_meta_free(&meta);
	trace_dir_close(&dir);
	return launch_ended_code(&ended);
}

/* Behind a launcher: agree with the other ranks on a directory, then become the rank. */
static int run_behind(struct options *o, const struct launch_command *command, unsigned rank)
{
	char *key = launch_job_key();
	struct launch_rank how = {
		.rank = rank,
		.claimed = true,
		.discard = o->discard,
		.noisy = o->noise.given,
		.system_heap = o->heap == HEAP_SYSTEM,
		.threads = o->threads,
		.snapshot = o->snapshot,
		.tracing = o->tracing,
		.mpi = o->mpi,
		.argv = o->argv,
	};
	struct trace_meta meta;
	struct trace_dir dir;
	bool first;
	int rc;

	rc = check_programs(o, command);
	if (rc)
		return rc;
	if (o->noise.given && !o->noise.seeded)
		o->noise.seed = XXH64(key, strlen(key), 0);
	how.noise = o->noise.seed;
	rc = trace_dir_join(&dir, o->output, o->argv[0], key, rank, &first);
	if (rc)
		return rc;
	how.trace = dir.path;
	if (first) {
		fill_meta(&meta, o, command, &dir, false);
		rc = trace_meta_write(&dir, &meta);
		if (rc)
			rp_say("cannot write meta.json to the trace %s: %s", dir.show,
			       strerror(-rc));
		trace_meta_free(&meta);
		rp_say("recording in %s", dir.show);
	}
	return launch_rank_run(&how);
}

static int run(int argc, char **argv)
{
	struct options o = {0};
	struct launch_command command;
	unsigned rank;
	int code = parse(argc, argv, &o);

	if (!code)
		code = launch_command_parse(&command, o.argv);
	if (code)
		return code;
	if (launch_environ_is_inside()) {
		rp_say("this command runs inside a program that is itself being recorded or "
		       "replayed: record only one of the two");
		launch_command_free(&command);
		return RP_EXIT_BAD_INPUT;
	}
	if (!command.has_launcher && launch_job_rank(&rank))
		code = run_behind(&o, &command, rank);
	else
		code = run_front(&o, &command);
	launch_command_free(&command);
	return code;
}

const struct cmd_verb cmd_record = {
	.name = "record",
	.takes = CMD_TAKES_COMMAND,
	.summary = "Runs a command and records it",
	.about = "COMMAND is a launcher with its program, or a program:\n\n  reprise record mpirun "
		 "-n 4 ./app args\n  reprise record ./app args\n  mpirun -n 4 reprise record ./app "
		 "args\n\nThe trace is a new directory ./reprise-PROGRAM-N, or "
		 "$REPRISE_TRACE_DIR/reprise-PROGRAM-N if that is set. reprise-latest, beside it, "
		 "points to the newest trace. The exit status is the command's.\n",
	.options = options,
	.run = run,
};
