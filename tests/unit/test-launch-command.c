/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launcher command lines: which word is the program. Expected words are marked in the line itself
 * by a leading '@', which is taken off before parsing. Words are split at blanks only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "launch/command.h"

struct line {
	char *text;
	char *word[64];
	size_t words;
	size_t marked[8];
	size_t marks;
};

static void split(struct line *line, const char *text)
{
	char *rest;

	*line = (struct line){.text = rp_strdup(text)};
	rest = line->text;
	for (char *w; (w = strtok_r(NULL, " ", &rest)); line->words++) {
		if (*w == '@') {
			line->marked[line->marks++] = line->words;
			w++;
		}
		line->word[line->words] = w;
	}
}

static void expect_programs(const char *text, enum launch_mpi mpi)
{
	struct launch_command command;
	struct line line;

	split(&line, text);
	print_message("%s\n", text);
	assert_int_equal(launch_command_parse(&command, line.word), 0);
	assert_int_equal(command.segments, line.marks);
	for (size_t i = 0; i < line.marks; i++)
		assert_string_equal(line.word[command.segment[i].program],
				    line.word[line.marked[i]]);
	for (size_t i = 0; i < line.marks; i++)
		assert_int_equal(command.segment[i].program, line.marked[i]);
	assert_int_equal(command.mpi, mpi);
	launch_command_free(&command);
	free(line.text);
}

static void open_mpi(void **state)
{
	static const char *const lines[] = {
		"mpirun.openmpi -n 4 @./app a b",
		"mpirun.openmpi -np 4 @./app -n 3",
		"mpirun.openmpi @./app",
		"mpiexec.openmpi --np 4 --host a,b -x A=B @app",
		"orterun -c 2 --mca btl self,vader -mca pml ob1 @./app --mca x y",
		"mpirun.openmpi --oversubscribe -n 2 -- @./app -- x",
		"mpirun.openmpi -H localhost -hostfile f -machinefile g @./app",
		"mpirun.openmpi --map-by ppr:2:node --bind-to core --rank-by slot @app",
		"mpirun.openmpi --tune f -output-filename out --timeout 5 -tag-output @app",
		"mpirun.openmpi -wdir /tmp -path /bin @app",
		"mpirun.openmpi --display=map --map-by=core -n 2 @app",
		"mpirun.openmpi -n 1 @./a x : -n 2 -x Q=1 @./b y : @c",
		"/usr/bin/mpirun.openmpi -gmca a b -am f -npernode 2 @./app",
		"mpirun.openmpi -q -v --report-bindings -s --nolocal @./app",
		"prterun --prtemca a b --omca c d -n 1 @app",
		"env A=B mpirun.openmpi -n 1 @./app",
		"timeout -k 5 10 mpirun.openmpi -n 1 @./app",
		"nice -n 5 stdbuf -o L mpirun.openmpi -n 1 @./app",
		"timeout --signal KILL 5 taskset 1 mpirun.openmpi -n 1 @./app",
		"env -u A -C /tmp -- mpirun.openmpi -n 1 @./app",
		"env MPIRUN=/usr/bin/mpirun.mpich mpirun.openmpi -n 1 @./app",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		expect_programs(lines[i], LAUNCH_MPI_OPENMPI);
}

static void mpich(void **state)
{
	static const char *const lines[] = {
		"mpiexec.hydra -n 4 @./app a",
		"mpirun.mpich -np 4 -env A B -genv C D @./app -env x y",
		"mpiexec.mpich -genvall -f hosts -hosts a,b -ppn 2 @app",
		"mpirun.mpich -wdir d -prepend-rank -launcher ssh -iface eth0 @./app",
		"mpirun.mpich -bind-to core:2 -map-by socket -outfile-pattern %r @./app",
		"mpirun.mpich -l -n 1 @./a : -n 2 -env A B @./b c : -n 1 @./d",
		"mpirun.mpich -genvlist A,B -envnone -gpus-per-proc 0 @./app",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		expect_programs(lines[i], LAUNCH_MPI_MPICH);
}

static void other_launchers(void **state)
{
	static const char *const lines[] = {
		"srun -n 4 @./app",
		"srun -n4 -N2 --mpi=pmix @./app -n 5",
		"srun --ntasks 4 --mpi pmi2 -t 10 --label @./app",
		"srun -lun 4 @/bin/sh script",
		"aprun -n 4 -N 2 -cc cpu @/bin/sh x",
		"jsrun -n 4 -a 1 -c 1 -b none @/bin/sh x",
		"ibrun -n 4 -o 0 @/bin/sh x",
		/* No launcher: the command itself. */
		"@./app mpirun -n 4 ./x",
		"@env A=B ./app",
		"@timeout 5 ./app",
		"@env A=1 /bin/sh mpirun -n 4 ./x",
		"@env -u mpirun /bin/sh",
		"@nice -n 5 timeout -s KILL 5 ./nosuch mpirun",
		"@taskset -c 0 /bin/sh mpirun.openmpi",
		"@/opt/mpirun/bin/app -n 4",
		"@mpirun2 -n 4 ./app",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		expect_programs(lines[i], LAUNCH_MPI_UNKNOWN);
}

/* Options that no table has: a word that can be started is the program, any other a value. */
static void unknown_options(void **state)
{
	(void)state;
	expect_programs("mpirun.openmpi --future-option value @/bin/sh x", LAUNCH_MPI_OPENMPI);
	expect_programs("mpirun.openmpi --future-flag @/bin/sh x", LAUNCH_MPI_OPENMPI);
	expect_programs("mpirun.openmpi --future-flag @sh x", LAUNCH_MPI_OPENMPI);
	expect_programs("mpirun.openmpi --future=1 @./nosuch", LAUNCH_MPI_OPENMPI);
	expect_programs("mpirun.mpich -future -n 2 @./nosuch", LAUNCH_MPI_MPICH);
}

static void refused(void **state)
{
	static const char *const lines[] = {
		"mpirun.openmpi",
		"mpirun.openmpi -n 4",
		"mpirun.openmpi -n",
		"mpirun.openmpi --mca a",
		"mpirun.openmpi --",
		"mpirun.openmpi -n 4 : ./b",
		"mpirun.openmpi ./a :",
		"mpirun.openmpi --app file",
		"mpirun.mpich -configfile file",
		"mpirun.mpich -n 1 ./a : -configfile file",
		"srun --multi-prog file",
	};
	struct launch_command command;
	struct line line;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		split(&line, lines[i]);
		assert_int_equal(launch_command_parse(&command, line.word), 2);
		free(line.text);
	}
}

static void program_elsewhere(void **state)
{
	char *argv[] = {"mpirun.openmpi", "-wdir", "d", "./a", ":", "./b", NULL};
	char *plain[] = {"mpirun.mpich", "-n", "1", "./a", NULL};
	struct launch_command command;

	(void)state;
	assert_int_equal(launch_command_parse(&command, argv), 0);
	assert_true(command.segment[0].moved);
	launch_command_free(&command);
	assert_int_equal(launch_command_parse(&command, plain), 0);
	assert_false(command.segment[0].moved);
	launch_command_free(&command);
}

/* Any words survive: only words are put in between. */
static void rewriting(void **state)
{
	char *argv[] = {"mpirun.mpich", "-n", "1",  "./a b", "",    "it's \"x\"", "-n",
			"\xff\xfe",     ":",  "-n", "2",     "./c", "a\nb",       NULL};
	char *prefix[] = {"/opt/re prise", "rank", "--", NULL};
	char *expected[] = {"mpirun.mpich",
			    "-n",
			    "1",
			    "/opt/re prise",
			    "rank",
			    "--",
			    "./a b",
			    "",
			    "it's \"x\"",
			    "-n",
			    "\xff\xfe",
			    ":",
			    "-n",
			    "2",
			    "/opt/re prise",
			    "rank",
			    "--",
			    "./c",
			    "a\nb",
			    NULL};
	struct launch_command command;
	char **out;
	size_t i;

	(void)state;
	assert_int_equal(launch_command_parse(&command, argv), 0);
	out = launch_command_rewrite(&command, argv, prefix);
	for (i = 0; expected[i]; i++)
		assert_string_equal(out[i], expected[i]);
	assert_null(out[i]);
	free(out);
	launch_command_free(&command);
}

/* A plain mpirun is what its link leads to. */
static void plain_name(void **state)
{
	char dir[] = "/tmp/reprise-test-XXXXXX";
	char *real, *link, *argv[] = {NULL, "-n", "2", "./app", NULL};
	struct launch_command command;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	real = rp_format("%s/mpiexec.hydra", dir);
	link = rp_format("%s/mpirun", dir);
	file = fopen(real, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(chmod(real, 0755), 0);
	assert_int_equal(symlink("mpiexec.hydra", link), 0);
	argv[0] = link;
	assert_int_equal(launch_command_parse(&command, argv), 0);
	assert_int_equal(command.mpi, LAUNCH_MPI_MPICH);
	launch_command_free(&command);
	unlink(link);
	unlink(real);
	argv[0] = "/nonexistent/mpirun";
	assert_int_equal(launch_command_parse(&command, argv), 0);
	assert_int_equal(command.mpi, LAUNCH_MPI_UNKNOWN);
	assert_int_equal(command.segment[0].program, 3);
	launch_command_free(&command);
	rmdir(dir);
	free(real);
	free(link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_mpi),        cmocka_unit_test(mpich),
		cmocka_unit_test(other_launchers), cmocka_unit_test(unknown_options),
		cmocka_unit_test(refused),         cmocka_unit_test(program_elsewhere),
		cmocka_unit_test(rewriting),       cmocka_unit_test(plain_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
