/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec-bare PROGRAM [ARGUMENT …]: becomes PROGRAM by a system call of its own and with the
 * environment that it finds, so that nobody adds anything: PROGRAM is not recorded.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long rc = SYS_execve;

	if (argc < 2)
		return 2;
	__asm__ volatile("syscall"
			 : "+a"(rc)
			 : "D"(argv[1]), "S"(argv + 1), "d"(environ)
			 : "rcx", "r11", "memory");
	return 127;
}
