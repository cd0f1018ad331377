/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -rdynamic -Wl,-z,now */
/*
 * Prints what calls have left on the stack below the caller, as a collector of garbage would see it
 * that takes every word of the stack for a pointer. It has a function of that name of D's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WORDS 2300

void *gc_malloc(size_t size);

void *gc_malloc(size_t size)
{
	return malloc(size);
}

static uint64_t sum[64];
static int calls;

/* A frame that is not initialised; the words next to the caller's own are left to the call. */
static void __attribute__((noinline, optimize("no-stack-protector"))) look(void)
{
	volatile uint64_t words[WORDS];
	uint64_t hash = 0;

	__asm__ volatile("" : "=m"(words));
	for (int i = 0; i < WORDS; i++)
		hash = hash * 31 + words[i];
	sum[calls++] = hash;
}

/* open() keeps all registers of arguments on its stack, also those that earlier calls left. */
static inline __attribute__((always_inline)) void forget_registers(void)
{
	__asm__ volatile("xor %%edx, %%edx\n\txor %%ecx, %%ecx\n\t"
			 "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d"
			 :
			 :
			 : "rdx", "rcx", "r8", "r9", "cc");
}

static char path[PATH_MAX];

static void ask(const char *name)
{
	struct timespec now;
	struct stat st;
	DIR *d;
	FILE *f;
	int fd;

	if (!realpath(name, path))
		exit(1);
	look();
	free(realpath("/nowhere/at/all", NULL));
	look();
	if (stat(name, &st) != 0)
		exit(1);
	look();
	if (lstat("/nowhere", &st) == 0)
		exit(1);
	look();
	if (access(name, R_OK) != 0)
		exit(1);
	look();
	if (!getcwd(path, sizeof(path)))
		exit(1);
	look();
	free(get_current_dir_name());
	look();
	if (readlink("/proc/self/exe", path, sizeof(path)) < 0)
		exit(1);
	look();
	forget_registers();
	fd = open(name, O_RDONLY);
	look();
	if (fd < 0 || read(fd, path, sizeof(path)) < 0)
		exit(1);
	look();
	if (fstat(fd, &st) != 0 || close(fd) != 0)
		exit(1);
	look();
	forget_registers();
	fd = open("/nowhere", O_RDONLY);
	look();
	f = fopen(name, "r");
	look();
	if (f)
		fclose(f);
	d = opendir(".");
	look();
	if (!d || !readdir(d))
		exit(1);
	look();
	closedir(d);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	look();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	ask(argv[1]);
	for (int i = 0; i < calls; i++)
		printf("%d: %016llx\n", i, (unsigned long long)sum[i]);
	return 0;
}
