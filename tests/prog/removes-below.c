/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what argv[2] names below the directory argv[1], by descriptors of that directory. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	DIR *d = opendir(argv[1]);
	int fd = open(argv[1], O_RDONLY | O_DIRECTORY);

	if (argc < 3 || !d || fd < 0)
		return 1;
	printf("%d\n", unlinkat(dirfd(d), argv[2], 0));
	printf("%d\n", unlinkat(fd, argv[3], 0));
	closedir(d);
	close(fd);
	return 0;
}
