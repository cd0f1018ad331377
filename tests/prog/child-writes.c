/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child-writes HOW FILE: a process appends to a log, and so does its child, by the descriptor that
 * it has inherited (both), one of its own (opens) or as a shell (shell); or the process alone does:
 * without children (alone), after a child that has nothing open (closed), or beside one that writes
 * another file (apart). What is appended depends on whether FILE is there, which is not recorded.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int log_to(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static int child(const char *how, int fd, const char *text)
{
	if (strcmp(how, "closed") == 0)
		return 0;
	if (strcmp(how, "opens") == 0)
		fd = log_to("log");
	if (strcmp(how, "apart") == 0)
		fd = log_to("apart.log");
	return write(fd, text, 1) != 1;
}

int main(int argc, char **argv)
{
	int other = argc == 3 && pathconf(argv[2], _PC_NAME_MAX) > 0;
	const char *how = argv[1], *text = other ? "b" : "a";
	char command[4200];
	int fd = log_to("log"), closes = strcmp(how, "both") != 0;

	if (closes)
		close(fd);
	if (strcmp(how, "shell") == 0) {
		snprintf(command, sizeof(command),
			 "if [ -e %s ]; then printf b; else printf a; fi >>log", argv[2]);
		if (system(command))
			return 1;
	} else if (strcmp(how, "alone") != 0 && fork() == 0) {
		_exit(child(how, fd, text));
	}
	wait(NULL);
	if (closes)
		fd = log_to("log");
	if (strcmp(how, "alone") == 0 || strcmp(how, "closed") == 0 || strcmp(how, "apart") == 0)
		return write(fd, text, 1) != 1;
	return write(fd, "of the parent\n", 14) != 14;
}
