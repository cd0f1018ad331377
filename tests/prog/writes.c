/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files, each way; if there is a file "other", other ones. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Replay knows nothing of the file argv[2]. */
int main(int argc, char **argv)
{
	int other = pathconf(argv[2], _PC_NAME_MAX) > 0, fd;
	FILE *f;

	if (argc == 3 && strcmp(argv[1], "stdio") == 0) {
		f = fopen("out", "w");
		for (int i = 0; i < 100000; i++)
			fprintf(f, "%d\n", i == 90000 && other ? 1 : i);
		fclose(f);
	} else if (strcmp(argv[1], "size") == 0) {
		fd = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (write(fd, "abc", other ? 2 : 3) < 0)
			return 2;
	} else if (strcmp(argv[1], "renamed") == 0) {
		f = fopen("out.new", "w");
		fputs(other ? "b" : "a", f);
		fclose(f);
		rename("out.new", "out");
	} else if (strcmp(argv[1], "grows") == 0) {
		f = fopen("log", "a");
		fputs("a line\n", f);
		fclose(f);
		f = fopen("log", "w");
		fputs("another line\n", f);
		fclose(f);
		f = fopen("gone", "w");
		fputs(other ? "b" : "a", f);
		fclose(f);
		remove("gone");
	} else if (strcmp(argv[1], "appends") == 0) {
		f = fopen("more", "a");
		fputs(other ? "b line\n" : "a line\n", f);
		fclose(f);
	} else if (strcmp(argv[1], "appends-less") == 0) {
		fd = open("much", O_WRONLY | O_CREAT | O_APPEND, 0600);
		if (write(fd, "abc", other ? 2 : 3) < 0)
			return 2;
	}
	return 0;
}
