/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to start for a replay: the recorded launcher line with `reprise rank` put before each
 * program and without a `timeout` before the launcher, or, where reprise was recorded behind the
 * launcher and does not know its line, a plain one of the same MPI with as many ranks.
 */
#include "replay/front.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/command.h"
#include "launch/flavour.h"
#include "launch/moved.h"
#include "launch/program.h"
#include "launch/watcher.h"

static char **rank_prefix(const struct replay_front *f)
{
	size_t n = 0, moves;
	const struct launch_moved *moved = launch_moved_all(&moves);
	char **words = rp_alloc(19 + 2 * moves, sizeof(*words));

	words[n++] = launch_self();
	words[n++] = "rank";
	words[n++] = "--dir";
	words[n++] = f->run->dir.path;
	words[n++] = "--session";
	words[n++] = f->session;
	if (f->explore)
		words[n++] = "--explore";
	if (f->output) {
		words[n++] = "--printed";
		words[n++] = f->output;
	}
	/* What is guessed the ranks find out by themselves. */
	for (size_t i = 0; i < moves; i++) {
		if (moved[i].guessed)
			continue;
		words[n++] = "--map";
		words[n++] = rp_format("%s=%s", moved[i].from, moved[i].to);
	}
	if (f->force)
		words[n++] = "--force";
	if (f->twin) {
		words[n++] = "--using";
		words[n++] = (char *)f->twin;
	}
	if (f->valgrind)
		words[n++] = "--valgrind";
	if (f->noisy)
		words[n++] = rp_format("--noise=%" PRIu64, f->noise);
	words[n++] = "--";
	return words;
}

static bool same_words(char *const *a, char *const *b)
{
	while (*a && *b && strcmp(*a, *b) == 0)
		a++, b++;
	return !*a && !*b;
}

/* A command given by the user must run the recorded programs with the recorded arguments. */
static int check_command(const struct replay_front *f, const struct launch_command *command)
{
	for (size_t i = 0; i < command->segments; i++) {
		size_t first = command->segment[i].program;
		size_t last = first;
		char **words;
		bool known = false;

		/* To a program without a launcher a colon is an argument. */
		while (f->command[last] &&
		       (!command->has_launcher || strcmp(f->command[last], ":") != 0))
			last++;
		words = rp_alloc(last - first + 1, sizeof(*words));
		memcpy(words, f->command + first, (last - first) * sizeof(*words));
		for (size_t r = 0; r < f->ranks && !known; r++)
			known = same_words(words, f->run->rank[r].start.argv);
		free(words);
		if (!known && launch_watcher_is_debugger(f->command[first])) {
			rp_say("a debugger is not started by the launcher: 'reprise gdb RANK' "
			       "starts gdb on a rank of the replay, and 'reprise replay --to "
			       "POINT' waits for any debugger (-p)");
			return RP_EXIT_BAD_INPUT;
		}
		if (!known && !f->force) {
			rp_say("'%s …' is not what was recorded: no rank ran it with these "
			       "arguments;"
			       " leave the command out to replay what was recorded",
			       f->command[first]);
			return RP_EXIT_BAD_INPUT;
		}
	}
	return 0;
}

/* How many words `timeout`, its options and its duration are. */
static size_t timeout_length(char *const *words, size_t most)
{
	size_t n = 1;

	for (; n < most && words[n][0] == '-'; n++) {
		const char *word = words[n];

		if (!strcmp(word, "-k") || !strcmp(word, "-s") || !strcmp(word, "--signal") ||
		    !strcmp(word, "--kill-after"))
			n++;
	}
	return n < most && strspn(words[n], ".0123456789") ? n + 1 : 0;
}

/* A timeout that cut the run short must not cut the replay short, which may take longer. */
static void drop_timeout(char **words, size_t launcher)
{
	for (size_t i = 0; i < launcher; i++) {
		const char *slash = strrchr(words[i], '/');
		size_t n = 0;

		if (strcmp(slash ? slash + 1 : words[i], "timeout") == 0)
			n = timeout_length(words + i, launcher - i);
		if (!n)
			continue;
		memmove(words + i, words + i + n,
			(rp_strings_count(words + i + n) + 1) * sizeof(*words));
		return;
	}
}

/* "/old/hosts" or "--hostfile=/old/hosts". */
static char *moved_word(const char *word)
{
	const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
	char *there, *whole;

	if (!equals)
		return launch_moved_path(word);
	there = launch_moved_path(equals + 1);
	whole = rp_format("%.*s%s", (int)(equals + 1 - word), word, there);
	free(there);
	return whole;
}

/*
 * Maps the launcher's own words. A program keeps its arguments, and each rank looks for its program
 * itself.
 */
static char **moved_line(char *const *line, const struct launch_command *command)
{
	size_t n = rp_strings_count(line), next = 0;
	char **copy = rp_alloc(n + 1, sizeof(*copy));
	bool launchers = true;

	for (size_t i = 0; i < n; i++) {
		if (next < command->segments && i == command->segment[next].program) {
			launchers = false;
			next++;
		} else if (next < command->segments && strcmp(line[i], ":") == 0) {
			launchers = true;
		}
		copy[i] = launchers ? moved_word(line[i]) : rp_strdup(line[i]);
	}
	return copy;
}

static int plan_line(const struct replay_front *f, char **line, char ***words, bool *alone)
{
	struct launch_command command;
	int code = launch_command_parse(&command, line);

	if (code)
		return code;
	if (f->command)
		code = check_command(f, &command);
	*alone = !command.has_launcher;
	if (!code)
		*words = launch_command_rewrite(
			&command, f->command ? line : moved_line(line, &command), rank_prefix(f));
	if (!code && !f->command)
		drop_timeout(*words, command.launcher);
	launch_command_free(&command);
	return code;
}

static char *find_launcher(const char *mpi)
{
	static const char *const openmpi[] = {"mpirun.openmpi", "orterun", "mpirun", NULL};
	static const char *const mpich[] = {"mpirun.mpich", "mpiexec.hydra", "mpiexec", NULL};
	const char *const *names = strcmp(mpi, "mpich") == 0 ? mpich : openmpi;
	char *path = NULL;

	for (; *names && !path; names++)
		path = launch_program_find(*names);
	return path;
}

/* launcher -n 2 reprise rank … -- a args : -n 1 reprise rank … -- b args */
static int plan_ranks(const struct replay_front *f, char ***words)
{
	const struct trace_run_rank *ranks = f->run->rank;
	bool openmpi = strcmp(ranks[0].start.mpi, "mpich") != 0;
	char **prefix = rank_prefix(f);
	char *launcher = find_launcher(ranks[0].start.mpi);
	size_t room = 3, n = 0;
	char **line;

	if (!launcher) {
		rp_say("no launcher of %s is installed here", openmpi ? "Open MPI" : "MPICH");
		return RP_EXIT_FAILURE;
	}
	for (size_t i = 0; i < f->ranks; i++)
		room += 4 + rp_strings_count(prefix) + rp_strings_count(ranks[i].start.argv);
	line = rp_alloc(room, sizeof(*line));
	line[n++] = launcher;
	if (openmpi)
		line[n++] = "--oversubscribe";
	for (size_t i = 0, end; i < f->ranks; i = end) {
		end = i + 1;
		while (end < f->ranks && same_words(ranks[i].start.argv, ranks[end].start.argv))
			end++;
		if (i)
			line[n++] = ":";
		line[n++] = "-n";
		line[n++] = rp_format("%zu", end - i);
		for (char **p = prefix; *p; p++)
			line[n++] = *p;
		for (char **p = ranks[i].start.argv; *p; p++)
			line[n++] = *p;
	}
	*words = line;
	return 0;
}

int replay_plan(const struct replay_front *f, char ***words, bool *alone)
{
	const struct trace_meta *meta = &f->run->meta;

	*alone = false;
	if (f->command)
		return plan_line(f, f->command, words, alone);
	if (meta->front)
		return plan_line(f, meta->argv, words, alone);
	*alone = f->ranks == 1 && strcmp(f->run->rank[0].start.mpi, "none") == 0;
	return *alone ? 0 : plan_ranks(f, words);
}
