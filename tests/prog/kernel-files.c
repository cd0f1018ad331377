/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the kernel writes when they are read, by stream and by descriptor, twice. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	FILE *f = fopen("/proc/uptime", "r");
	int fd = open("/proc/self/stat", O_RDONLY);
	char line[512];
	ssize_t n;

	if (!f || fd < 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		if (!fgets(line, sizeof(line), f))
			return 2;
		fputs(line, stdout);
		rewind(f);
		n = read(fd, line, sizeof(line));
		if (n <= 0 || lseek(fd, 0, SEEK_SET) != 0)
			return 3;
		printf("%.*s", (int)n, line);
	}
	fclose(f);
	close(fd);
	return 0;
}
