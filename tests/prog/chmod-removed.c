/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file "in", changes its mode and removes it. Then the directory "late" is wanted for a
 * file before it is there, and is made.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	FILE *f = fopen("in", "r");
	pthread_t thread;
	char line[32] = "";
	int fd;

	if (!f || !fgets(line, sizeof(line), f))
		return 1;
	fclose(f);
	printf("%s%d %d\n", line, chmod("in", 0600), unlink("in"));
	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
	fd = open("late/log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	printf("%d %d\n", fd, mkdir("late", 0700));
	fd = open("late/other", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	printf("%d %zd\n", fd < 0, write(fd, line, 1));
	return 0;
}
