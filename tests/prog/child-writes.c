/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child-writes HOW FILE: a process appends to a log, and so does its child (both), or the process
 * alone does (alone). What is appended depends on whether FILE is there, which is not recorded.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
	int other = argc == 3 && pathconf(argv[2], _PC_NAME_MAX) > 0;

	if (strcmp(argv[1], "both") == 0 && fork() == 0)
		_exit(write(fd, other ? "b" : "a", 1) != 1);
	wait(NULL);
	if (strcmp(argv[1], "alone") == 0)
		return write(fd, other ? "b" : "a", 1) != 1;
	return write(fd, "of the parent\n", 14) != 14;
}
