/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives something up that we need, too: gives-up descriptors|user|root. Ends with status 3; prints
 * another line, and ends with status 4, if there was a file argv[2].
 */
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int give_up(const char *what)
{
	const struct rlimit none = {3, 3};

	if (strcmp(what, "descriptors") == 0)
		return setrlimit(RLIMIT_NOFILE, &none);
	if (strcmp(what, "user") == 0)
		return setgroups(0, NULL) || setgid(65534) || setuid(65534);
	return chroot("/usr") || chdir("/");
}

int main(int argc, char **argv)
{
	int other = argc > 2 && pathconf(argv[2], _PC_NAME_MAX) > 0;

	puts("begins");
	if (give_up(argv[1]) != 0)
		return 77;
	puts(other ? "is another one" : "goes on");
	return other ? 4 : 3;
}
