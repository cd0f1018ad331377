/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher is known by its name, possibly behind commands such as env or timeout. Its options
 * are skipped by table (launch/options.c). An option that is in no table takes no value if the next
 * word is an option or a program that could be started, and one value otherwise.
 */
#include "launch/command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/options.h"
#include "launch/prefix.h"
#include "launch/program.h"

static const struct {
	const char *name;
	int dialects; /* 0: ask where the symbolic link leads */
	enum launch_mpi mpi;
} launchers[] = {
	{"mpirun", 0, LAUNCH_MPI_UNKNOWN},
	{"mpiexec", 0, LAUNCH_MPI_UNKNOWN},
	{"mpirun.openmpi", LAUNCH_ORTERUN, LAUNCH_MPI_OPENMPI},
	{"mpiexec.openmpi", LAUNCH_ORTERUN, LAUNCH_MPI_OPENMPI},
	{"orterun", LAUNCH_ORTERUN, LAUNCH_MPI_OPENMPI},
	{"prun", LAUNCH_ORTERUN, LAUNCH_MPI_OPENMPI},
	{"prterun", LAUNCH_ORTERUN, LAUNCH_MPI_OPENMPI},
	{"oshrun", LAUNCH_ORTERUN, LAUNCH_MPI_OPENMPI},
	{"mpirun.mpich", LAUNCH_HYDRA, LAUNCH_MPI_MPICH},
	{"mpiexec.mpich", LAUNCH_HYDRA, LAUNCH_MPI_MPICH},
	{"mpirun.hydra", LAUNCH_HYDRA, LAUNCH_MPI_MPICH},
	{"mpiexec.hydra", LAUNCH_HYDRA, LAUNCH_MPI_MPICH},
	{"srun", LAUNCH_SRUN, LAUNCH_MPI_UNKNOWN},
	{"aprun", LAUNCH_OTHER, LAUNCH_MPI_UNKNOWN},
	{"jsrun", LAUNCH_OTHER, LAUNCH_MPI_UNKNOWN},
	{"ibrun", LAUNCH_OTHER, LAUNCH_MPI_UNKNOWN},
	{"palsrun", LAUNCH_HYDRA, LAUNCH_MPI_UNKNOWN},
};

static const char *base_of(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

/* Index in launchers, or -1. "MPIRUN=/usr/bin/mpirun" is an assignment, not a launcher. */
static int find_launcher(const char *word)
{
	const char *base = base_of(word);

	if (memchr(word, '=', (size_t)(base - word)))
		return -1;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		if (!strcmp(launchers[i].name, base))
			return (int)i;
	}
	return -1;
}

/* A plain mpirun belongs to the MPI that its symbolic link leads to. */
static int resolve_dialects(const char *word, enum launch_mpi *mpi)
{
	char *path = launch_program_find(word);
	char *real = path ? realpath(path, NULL) : NULL;
	int dialects = LAUNCH_ORTERUN | LAUNCH_HYDRA;

	if (real && (strstr(base_of(real), "orterun") || strstr(base_of(real), "openmpi") ||
		     strstr(base_of(real), "prterun"))) {
		dialects = LAUNCH_ORTERUN;
		*mpi = LAUNCH_MPI_OPENMPI;
	} else if (real && (strstr(base_of(real), "hydra") || strstr(base_of(real), "mpich"))) {
		dialects = LAUNCH_HYDRA;
		*mpi = LAUNCH_MPI_MPICH;
	}
	free(path);
	free(real);
	return dialects;
}

static int refuse_appfile(const char *option)
{
	rp_say("%s names the programs in a file, where Reprise cannot reach them; put reprise "
	       "behind the launcher instead: mpirun … reprise record ./app",
	       option);
	return RP_EXIT_BAD_INPUT;
}

/*
 * From *at, skips options up to the program of a segment. 0 with *at at the program or at the end,
 * or an exit code.
 */
static int skip_options(int dialects, char *const *argv, size_t *at, bool *moved)
{
	size_t i = *at;

	for (; argv[i] && argv[i][0] == '-' && argv[i][1]; i++) {
		const struct launch_option *option;
		bool whole;
		int words;

		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		option = launch_option_find(dialects, argv[i], &whole);
		if (option && option->kind == LAUNCH_OPTION_APPFILE)
			return refuse_appfile(argv[i]);
		if (option && option->kind == LAUNCH_OPTION_MOVES)
			*moved = true;
		if (option)
			words = whole ? option->words - 1 : option->words;
		else
			words = !whole && argv[i + 1] && argv[i + 1][0] != '-' &&
				!launch_program_exists(argv[i + 1]);
		while (words-- > 0 && argv[i + 1])
			i++;
	}
	*at = i;
	return 0;
}

static void add_segment(struct launch_command *command, size_t program, bool moved)
{
	command->segment =
		rp_realloc(command->segment, command->segments + 1, sizeof(*command->segment));
	command->segment[command->segments++] =
		(struct launch_segment){.program = program, .moved = moved};
}

static int parse_segments(struct launch_command *command, int dialects, char *const *argv)
{
	size_t at = command->launcher + 1;
	bool moved = false;

	for (;;) {
		int code = skip_options(dialects, argv, &at, &moved);

		if (code)
			return code;
		if (!argv[at] || !strcmp(argv[at], ":")) {
			rp_say("there is no program for %s to start in this command line",
			       argv[command->launcher]);
			return RP_EXIT_BAD_INPUT;
		}
		add_segment(command, at, moved);
		while (argv[at] && strcmp(argv[at], ":"))
			at++;
		if (!argv[at])
			return 0;
		at++;
	}
}

int launch_command_parse(struct launch_command *command, char *const *argv)
{
	size_t at = launch_prefix_skip(argv);
	int found = find_launcher(argv[at]);
	int dialects, code;

	*command = (struct launch_command){.mpi = LAUNCH_MPI_UNKNOWN};
	if (found < 0) {
		add_segment(command, 0, false);
		return 0;
	}
	command->launcher = at;
	command->has_launcher = true;
	command->mpi = launchers[found].mpi;
	dialects = launchers[found].dialects;
	if (!dialects)
		dialects = resolve_dialects(argv[command->launcher], &command->mpi);
	code = parse_segments(command, dialects, argv);
	if (code)
		launch_command_free(command);
	return code;
}

void launch_command_free(struct launch_command *command)
{
	free(command->segment);
	*command = (struct launch_command){.mpi = LAUNCH_MPI_UNKNOWN};
}

char **launch_command_rewrite(const struct launch_command *command, char *const *argv,
			      char *const *prefix)
{
	size_t words = rp_strings_count(argv), more = rp_strings_count(prefix);
	char **out = rp_alloc(words + command->segments * more + 1, sizeof(*out));
	size_t n = 0, segment = 0;

	for (size_t i = 0; i < words; i++) {
		if (segment < command->segments && command->segment[segment].program == i) {
			for (size_t j = 0; j < more; j++)
				out[n++] = prefix[j];
			segment++;
		}
		out[n++] = argv[i];
	}
	return out;
}
