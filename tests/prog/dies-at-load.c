/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is killed while it is loaded, before the constructor of any library has run: always, or if RANK
 * of the launcher is the one that DIES names. Else it ends well.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void before_all(int argc, char **argv, char **envp)
{
	const char *who = NULL, *own = NULL;

	(void)argc;
	(void)argv;
	for (; *envp; envp++) {
		if (!strncmp(*envp, "DIES=", 5))
			who = *envp + 5;
		if (!strncmp(*envp, "OMPI_COMM_WORLD_RANK=", 21))
			own = *envp + 21;
		if (!strncmp(*envp, "PMI_RANK=", 9))
			own = *envp + 9;
	}
	if (!who || (own && !strcmp(who, own)))
		syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

__attribute__((section(".preinit_array"), used)) static void (*first)(int, char **,
								      char **) = before_all;

int main(void)
{
	puts("began");
	return 0;
}
