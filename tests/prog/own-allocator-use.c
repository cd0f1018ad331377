/* SPDX-License-Identifier: Apache-2.0 */
/* Whose is the memory that libc allocates for the program? See own-allocator.c. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int is_mine(void *p);
static void look(const char *what, void *p)
{
	printf("%s: %s\n", what, !p ? "none" : is_mine(p) ? "mine" : "another");
	free(p);
}
int main(void)
{
	struct dirent **list;
	char *p = malloc(100);
	int n;

	p = realloc(p, 5000);
	puts(is_mine(p) ? "mine" : "another");
	free(p);
	look("realpath", realpath(".", NULL));
	look("canonicalize_file_name", canonicalize_file_name("."));
	look("getcwd", getcwd(NULL, 0));
	look("get_current_dir_name", get_current_dir_name());
	n = scandir("/", &list, NULL, alphasort);
	look("entry", n > 0 ? list[0] : NULL);
	look("scandir", n > 0 ? list : NULL);
	return 0;
}
