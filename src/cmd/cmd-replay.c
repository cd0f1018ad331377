/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise replay: runs a recorded run again. Checks first that the trace is whole, so that
 * nothing is started that cannot come to its end.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/show.h"
#include "launch/environ.h"
#include "launch/front.h"
#include "launch/job.h"
#include "launch/program.h"
#include "launch/rank.h"
#include "replay/front.h"

#define PATIENCE 30.0

static int parse_patience(struct replay_front *f, const char *text)
{
	char *end;

	f->patience = strtod(text, &end);
	if (*text && !*end && f->patience > 0 && f->patience < 1e9)
		return 0;
	rp_say("--patience takes a number of seconds, not '%s'", text);
	return RP_EXIT_BAD_INPUT;
}

static int parse_noise(struct replay_front *f, const char *text)
{
	f->noisy = true;
	if (text)
		return cmd_show_seed(text, &f->noise);
	if (getrandom(&f->noise, 4, 0) != 4)
		f->noise = 1;
	return 0;
}

static int parse_trace(const char **trace, const char *text)
{
	if (*trace) {
		rp_say("'%s' is too much: give one trace, or a command after --", text);
		return RP_EXIT_BAD_INPUT;
	}
	*trace = text;
	return 0;
}

static int parse(int argc, char **argv, struct replay_front *f, const char **trace)
{
	static const struct option options[] = {
		{"force", no_argument, NULL, 'f'},
		{"noise", optional_argument, NULL, 'n'},
		{"patience", required_argument, NULL, 'p'},
		{NULL, 0, NULL, 0},
	};
	int c, rc = 0;

	opterr = 0;
	/* "-": words that are no options come as option 1, in their place; "--" ends it. */
	while (!rc && (c = getopt_long(argc, argv, "-:", options, NULL)) != -1) {
		if (c == 'f')
			f->force = true;
		else if (c == 'n')
			rc = parse_noise(f, optarg);
		else if (c == 'p')
			rc = parse_patience(f, optarg);
		else if (c == 1)
			rc = parse_trace(trace, optarg);
		else
			rc = cmd_bad_option(&cmd_replay, c, argv);
	}
	if (argv[optind])
		f->command = argv + optind;
	return rc;
}

/* Names the first damaged or missing stream; true if there is one. */
static bool say_damage(const struct trace_run *run, const struct trace_run_rank *rank)
{
	char name[TRACE_RANK_NAME_BYTES];

	trace_dir_rank_name(rank->rank, name);
	for (size_t k = 0; k < rank->streams; k++) {
		if (!rank->stream[k].damage)
			continue;
		rp_say("cannot replay: %s/%s/%s %s", run->dir.show, name, rank->stream[k].name,
		       rank->stream[k].damage);
		return true;
	}
	if (rank->missing)
		rp_say("cannot replay: %s/%s/%s is missing", run->dir.show, name, rank->missing);
	return rank->missing != NULL;
}

/* Says what keeps the trace from being replayed; 0 if nothing does. */
static int check_trace(const struct trace_run *run)
{
	char *gap;

	if (!run->has_meta)
		return RP_EXIT_BAD_INPUT;
	for (size_t i = 0; i < run->ranks; i++) {
		if (!run->rank[i].has_start || say_damage(run, &run->rank[i]))
			return RP_EXIT_BAD_INPUT;
	}
	if (run->damaged)
		return RP_EXIT_BAD_INPUT;
	gap = trace_run_gap(run);
	if (!gap)
		return 0;
	rp_say("cannot replay %s: %s", run->dir.show, gap);
	free(gap);
	return RP_EXIT_BAD_INPUT;
}

/* The rank's program, if it lies on this host, is what it was. */
static int check_program(const struct trace_start *start)
{
	char id[LAUNCH_BUILD_ID_BYTES], *host = launch_host();
	bool here = strcmp(host, start->host) == 0;
	int rc = launch_build_id(start->program, id);

	free(host);
	if (rc == -ENOENT && here) {
		rp_say("%s is no longer there: %s cannot be replayed", start->program,
		       start->argv[0]);
		return RP_EXIT_BAD_INPUT;
	}
	if (rc || strcmp(id, start->build_id) == 0)
		return 0;
	rp_say("%s has changed since it was recorded (build-id %s, now %s); record it again, or "
	       "use "
	       "--force",
	       start->argv[0], start->build_id, id);
	return RP_EXIT_BAD_INPUT;
}

/* Each rank looks again where it starts; but what can be known here needs no start. */
static int check_programs(const struct replay_front *f)
{
	int code = 0;

	for (size_t i = 0; i < f->ranks && !code && !f->force; i++) {
		const struct trace_start *start = &f->run->rank[i].start;

		if (i == 0 || strcmp(start->program, f->run->rank[i - 1].start.program) != 0)
			code = check_program(start);
	}
	return code;
}

/* The ranks get the recorded standard input from us: the launcher has none to pass on. */
static int start_words(void *data)
{
	int null = open("/dev/null", O_RDONLY);

	if (null > 0) {
		dup2(null, STDIN_FILENO);
		close(null);
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a launcher that is killed leaves its ranks behind */
	return launch_front_exec(data);
}

static int start_alone(void *data)
{
	const struct replay_front *f = data;
	struct launch_rank how = {
		.trace = f->run->dir.path,
		.session = f->session,
		.force = f->force,
		.noisy = f->noisy,
		.noise = f->noise,
		.argv = f->command ? f->command : f->run->rank[0].start.argv,
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return launch_rank_run(&how);
}

/* In that place and environment the words of the command mean what they meant. */
static int go_to_start(const struct replay_front *f)
{
	const struct trace_meta *meta = &f->run->meta;

	if (!f->command)
		launch_environ_of_front(meta->env);
	if (!meta->cwd || chdir(meta->cwd) == 0)
		return 0;
	rp_say("cannot go to %s, where the run was started: %s", meta->cwd, strerror(errno));
	return RP_EXIT_BAD_INPUT;
}

static int replay(struct replay_front *f)
{
	char **words = NULL;
	bool alone;
	pid_t pid;
	int code = replay_session_open(f, f->run->dir.path);

	if (code)
		return code;
	code = go_to_start(f);
	if (!code)
		code = replay_plan(f, &words, &alone);
	if (code)
		goto close_session;
	pid = alone ? launch_front_start(start_alone, f) : launch_front_start(start_words, words);
	if (pid < 0) {
		rp_say("cannot start a process: %s", strerror((int)-pid));
		code = RP_EXIT_FAILURE;
	} else {
		code = replay_watch(f, pid);
	}
close_session:
	replay_session_close(f);
	return code;
}

static int run(int argc, char **argv)
{
	struct replay_front f = {.patience = PATIENCE};
	struct trace_run trace;
	const char *path = NULL;
	unsigned rank;
	int code = parse(argc, argv, &f, &path);

	if (code)
		return code;
	if (launch_job_rank(&rank)) {
		rp_say("replay starts the launcher itself: run 'reprise replay' without mpirun");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_run_open(&trace, path);
	if (code)
		return code;
	f.run = &trace;
	f.ranks = trace.ranks;
	code = check_trace(&trace);
	if (!code)
		code = check_programs(&f);
	if (!code)
		code = replay(&f);
	trace_run_close(&trace);
	return code;
}

const struct cmd_verb cmd_replay = {
	.name = "replay",
	.args = "[OPTION …] [TRACE] [-- COMMAND [ARG …]]",
	.summary = "Runs a recorded run again, exactly",
	.details =
		"TRACE is a trace directory; without it the newest (reprise-latest) is taken. "
		"The\n"
		"recorded command is started again in its directory and environment; COMMAND, if\n"
		"given, must run the same program with the same arguments, but may start it in\n"
		"another way. The exit status is the recorded one; 120 if the program did not do\n"
		"what it did when it was recorded.\n\n"
		"  --force             replay although the program or a library has changed\n"
		"  --noise[=SEED]      delay events at random; the outcome must not change\n"
		"  --patience=SECONDS  how long nothing may happen before it is called a hang "
		"(30)\n",
	.run = run,
};
