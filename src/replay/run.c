/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a replay: is the trace whole, is the program what it was, and then the recorded command
 * in its place and environment. Nothing is started that cannot come to its end.
 */
#include "replay/front.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/environ.h"
#include "launch/front.h"
#include "launch/job.h"
#include "launch/moved.h"
#include "launch/program.h"
#include "launch/rank.h"
#include "replay/alone.h"
#include "replay/halt.h"
#include "replay/log.h"
#include "replay/memory-order.h"
#include "replay/output.h"
#include "replay/pass.h"
#include "replay/trust.h"

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

/* What is wrong with files of JSON was said when they were read. */
int replay_check_trace(const struct trace_run *run)
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
static int check_program(const struct replay_front *f, const struct trace_start *start)
{
	char id[LAUNCH_BUILD_ID_BYTES], *host = launch_host();
	char *program = launch_moved_path(start->program), *remedy;
	bool here = strcmp(host, start->host) == 0;
	int rc = launch_build_id(program, id);

	free(host);
	if (rc == -ENOENT && here) {
		remedy = launch_moved_remedy_of(program);
		rp_say("%s is no longer there: %s cannot be replayed%s", program, start->argv[0],
		       remedy);
		free(remedy);
		free(program);
		return RP_EXIT_BAD_INPUT;
	}
	free(program);
	if (rc || strcmp(id, start->build_id) == 0)
		return 0;
	rp_say("%s has changed since it was recorded (build-id %s, now %s); " REPLAY_RECORD_AGAIN
	       "%s",
	       start->argv[0], start->build_id, id, f->or_force ? f->or_force : "");
	return RP_EXIT_BAD_INPUT;
}

/*
 * Each rank checks again when it starts. But what can be refused here is refused before anything
 * starts.
 */
static int check_programs(const struct replay_front *f)
{
	int code = 0;

	for (size_t i = 0; i < f->ranks && !code && !f->force && !f->twin; i++) {
		const struct trace_start *start = &f->run->rank[i].start;

		if (i == 0 || strcmp(start->program, f->run->rank[i - 1].start.program) != 0)
			code = check_program(f, start);
	}
	return code;
}

int replay_check(const struct replay_front *f)
{
	int code = replay_check_trace(f->run);

	if (!code) {
		launch_moved_guess(f->run->meta.place, f->run->dir.path);
		code = replay_trust(f->run);
	}
	return code ? code : check_programs(f);
}

/* In a pass the output of the run is known already and is not shown; our own messages are. */
static void discard_output(const struct replay_front *f)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int ours = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	if (!f->pass || null < 0)
		return;
	if (ours >= 0)
		rp_say_to(ours);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
}

/* Ctrl-C is gdb's, which is in the terminal's foreground with us: ranks and launcher are not. */
static void leave_terminal(const struct replay_front *f)
{
	if (!f->halt || !f->halt->debug)
		return;
	setpgid(0, 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
}

struct start {
	const struct replay_front *front;
	char **words;
};

/* What launchers say themselves. */
static void divert_output(const struct replay_front *f)
{
	char *path;
	int fd;

	if (!f->output)
		return;
	path = rp_format("%s/launcher", f->output);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	free(path);
	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

/* The ranks get the recorded standard input from us: the launcher has none to pass on. */
static int start_words(void *data)
{
	const struct start *start = data;
	int null = open("/dev/null", O_RDONLY);

	if (null > 0) {
		dup2(null, STDIN_FILENO);
		close(null);
	}
	leave_terminal(start->front);
	divert_output(start->front);
	discard_output(start->front);
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* a launcher that is killed leaves its ranks behind */
	return launch_front_exec(start->words);
}

static void await_tracer(const struct replay_front *f)
{
	char byte;

	if (!f->traced)
		return;
	if (read(f->traced->gate, &byte, 1) != 1)
		_exit(RP_EXIT_FAILURE);
	dup2(f->traced->output, STDOUT_FILENO);
	dup2(f->traced->output, STDERR_FILENO);
}

int replay_become(const struct replay_front *f, size_t rank)
{
	struct launch_rank how = {
		.trace = f->run->dir.path,
		.session = f->session,
		.rank = f->run->rank[rank].rank,
		.explore = f->explore,
		.output = f->output,
		.twin = f->twin,
		.valgrind = f->valgrind,
		.restore = f->image ? f->image[rank] : NULL,
		.force = f->force,
		.noisy = f->noisy,
		.noise = f->noise,
		.argv = f->command ? f->command : f->run->rank[rank].start.argv,
	};

	return launch_rank_run(&how);
}

static int start_alone(void *data)
{
	struct replay_front *f = data;

	leave_terminal(f);
	discard_output(f);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	await_tracer(f);
	return f->alone ? replay_alone_run(f) : replay_become(f, 0);
}

/* In that place and environment the words of the command mean what they meant. */
static int go_to_start(const struct replay_front *f)
{
	const struct trace_meta *meta = &f->run->meta;
	char *cwd, *remedy;
	int code;

	if (!f->command)
		launch_environ_of_front(meta->env);
	cwd = launch_moved_path(meta->cwd ? meta->cwd : ".");
	code = chdir(cwd) == 0 ? 0 : RP_EXIT_BAD_INPUT;
	if (code) {
		remedy = launch_moved_remedy(cwd);
		rp_say("cannot go to %s, where the run was started: %s%s", cwd, strerror(errno),
		       remedy);
		free(remedy);
	}
	free(cwd);
	return code;
}

int replay_start(struct replay_front *f, pid_t *pid)
{
	struct start start = {.front = f};
	bool alone;
	int code = go_to_start(f);

	if (!code && !f->alone)
		code = replay_plan(f, &start.words, &alone);
	if (code)
		return code;
	*pid = f->alone || alone ? launch_front_start(start_alone, f)
				 : launch_front_start(start_words, &start);
	if (*pid >= 0)
		return 0;
	rp_say("cannot start a process: %s", strerror((int)-*pid));
	return RP_EXIT_FAILURE;
}

/* For tests: ranks that are all there are served from the log as if each were alone. */
static int ask_to_recover(const struct replay_front *f)
{
	const char *fault = getenv("REPRISE_FAULT");
	int code = 0;

	if (!fault || strcmp(fault, "recover") != 0)
		return 0;
	for (size_t i = 0; i < f->ranks && !code; i++)
		code = replay_log_serve(f, i);
	if (!code && replay_pass_write(f->session_fd, "recover", ""))
		code = RP_EXIT_FAILURE;
	return code;
}

int replay_run(struct replay_front *f)
{
	pid_t pid;
	int code = replay_session_open(f, f->run->dir.path);

	if (code)
		return code;
	if (f->halt) {
		f->env = environ;
		f->here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		code = replay_halt_tell(f);
	}
	if (f->halt && f->halt->debug) {
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
	}
	if (!code && f->memory)
		code = replay_memory_order_tell(f);
	if (!code)
		code = f->alone ? replay_alone_prepare(f) : ask_to_recover(f);
	if (!code)
		code = replay_start(f, &pid);
	if (!code)
		code = replay_halt_code(f, replay_output_judge(f, replay_watch(f, pid)));
	replay_session_close(f);
	return code;
}
