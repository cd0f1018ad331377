/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that start other processes between their messages: fork and exec, posix_spawn, system,
 * popen, and a fork without exec whose child reads the clock, prints, and exits by exit(). None of
 * these children is the rank. Prints the outcomes of the rank and what the children said.
 */
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "note.h"

extern char **environ;

static void fork_exec(void)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
		_exit(126);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void spawn(void)
{
	char *argv[] = {"true", NULL};
	int status;
	pid_t child;

	CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) == 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void shell(void)
{
	char line[64] = "";
	FILE *pipe = popen("echo from the helper; date >/dev/null", "r");

	CHECK(pipe != NULL);
	CHECK(fgets(line, sizeof(line), pipe) != NULL);
	CHECK(pclose(pipe) == 0);
	CHECK(!strcmp(line, "from the helper\n"));
	CHECK(WEXITSTATUS(system("exit 9")) == 9);
}

/* The child's clock readings must neither be recorded nor fed from the recording. */
static void fork_only(void)
{
	int ends[2], status;
	long long seen = 0, now;
	pid_t child;

	CHECK(pipe(ends) == 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		for (int i = 0; i < 5; i++)
			now = (long long)time(NULL) + (getpid() == getppid());
		if (write(ends[1], &now, sizeof(now)) != (ssize_t)sizeof(now))
			_exit(1);
		_exit(11);
	}
	CHECK(read(ends[0], &seen, sizeof(seen)) == (ssize_t)sizeof(seen));
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 11);
	CHECK(seen > 1000000000);
	close(ends[0]);
	close(ends[1]);
}

static void (*const starts[])(void) = {fork_exec, spawn, shell, fork_only};

int main(int argc, char **argv)
{
	int me, size, rounds = argument(argc, argv, 1, 8);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++) {
		starts[(i + me) % 4]();
		jitter();
		if (me != 0)
			note_send(0, 1);
		for (int k = 1; me == 0 && k < size; k++) {
			struct note note;
			MPI_Status status;

			MPI_Recv(&note, NOTE_INTS, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				 &status);
			note_got(&note, &status);
		}
		outcome(" t%lld", (long long)time(NULL));
	}
	outcome_print();
	MPI_Finalize();
	return 0;
}
