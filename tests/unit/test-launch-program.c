/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs: found as execvp finds them, followed through scripts, judged by what they link with;
 * ELF files with any bytes survived; the initial stack brought to one size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "launch/elf.h"
#include "launch/environ.h"
#include "launch/flavour.h"
#include "launch/job.h"
#include "launch/program.h"

static char place[] = "/tmp/reprise-test-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(place) && chdir(place) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(place) == 0 ? 0 : -1;
}

static void write_file(const char *name, const void *bytes, size_t n, mode_t mode)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	fclose(file);
	assert_int_equal(chmod(name, mode), 0);
}

static void write_script(const char *name, const char *text)
{
	write_file(name, text, strlen(text), 0755);
}

static void finding(void **state)
{
	char *old = rp_strdup(getenv("PATH"));
	char *path;

	(void)state;
	write_script("tool", "#!/bin/sh\n");
	write_file("data", "", 0, 0644);
	setenv("PATH", "/nonexistent:", 1);
	path = launch_program_find("tool");
	assert_string_equal(path, "./tool");
	free(path);
	path = launch_program_find("./tool");
	assert_string_equal(path, "./tool");
	free(path);
	assert_null(launch_program_find("data"));
	assert_int_equal(errno, EACCES);
	assert_null(launch_program_find("nosuch"));
	assert_int_equal(errno, ENOENT);
	assert_null(launch_program_find(""));
	assert_int_equal(errno, ENOENT);
	assert_null(launch_program_find("/tmp"));
	assert_int_equal(errno, EACCES);
	assert_int_equal(launch_program_require("nosuch", &path), 127);
	assert_int_equal(launch_program_require("./data", &path), 126);
	setenv("PATH", "/bin", 1);
	assert_null(launch_program_find("tool"));
	/* Open MPI's mpirun would start it. */
	setenv("OMPI_COMM_WORLD_RANK", "0", 1);
	path = launch_program_find_rank("tool");
	assert_string_equal(path, "./tool");
	free(path);
	unsetenv("OMPI_COMM_WORLD_RANK");
	setenv("PATH", old, 1);
	free(old);
	unlink("tool");
	unlink("data");
}

static void expect_binary(const char *text, const char *binary)
{
	char *path;

	write_script("script", text);
	path = launch_program_binary("./script");
	if (binary)
		assert_string_equal(path, binary);
	else
		assert_null(path);
	free(path);
	unlink("script");
}

static void scripts(void **state)
{
	char *sh = launch_program_find("sh");

	(void)state;
	expect_binary("#!/bin/sh\nexit 0\n", "/bin/sh");
	expect_binary("#! /bin/sh -e\n", "/bin/sh");
	expect_binary("#!/usr/bin/env sh\n", sh);
	expect_binary("#!/usr/bin/env -S A=B sh -e\n", sh);
	expect_binary("echo no first line\n", "/bin/sh");
	expect_binary("", "/bin/sh");
	expect_binary("#!", "/bin/sh");
	expect_binary("#!./script\n", NULL);
	free(sh);
}

static void flavours(void **state)
{
	char *argv[] = {"sh", NULL}, *prefixed[] = {"env", "A=1", "./broken", NULL};
	enum launch_mpi mpi;

	(void)state;
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("PMI_RANK");
	unsetenv("PMI_FD");
	unsetenv("PMIX_RANK");
	assert_int_equal(launch_flavour_of("/bin/sh", argv, LAUNCH_MPI_UNKNOWN, &mpi), 0);
	assert_int_equal(mpi, LAUNCH_MPI_NONE);
	setenv("PMI_RANK", "1", 1);
	assert_int_equal(launch_flavour_of("/bin/sh", argv, LAUNCH_MPI_UNKNOWN, &mpi), 0);
	assert_int_equal(mpi, LAUNCH_MPI_MPICH);
	setenv("OMPI_COMM_WORLD_RANK", "1", 1);
	assert_int_equal(launch_flavour_of("/bin/sh", argv, LAUNCH_MPI_UNKNOWN, &mpi), 0);
	assert_int_equal(mpi, LAUNCH_MPI_OPENMPI);
	assert_int_equal(launch_flavour_of("/bin/sh", argv, LAUNCH_MPI_NONE, &mpi), 0);
	assert_int_equal(mpi, LAUNCH_MPI_NONE);
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("PMI_RANK");
	/* 64 bytes of an ELF header with nothing behind it: no program of this machine. */
	write_file("broken", "\177ELF", 4, 0755);
	assert_int_equal(launch_flavour_of("./broken", argv, LAUNCH_MPI_UNKNOWN, &mpi), 2);
	/* Behind a prefix command it is looked at, too. */
	assert_int_equal(launch_flavour_of("/usr/bin/env", prefixed, LAUNCH_MPI_UNKNOWN, &mpi), 2);
	unlink("broken");
}

static void build_ids(void **state)
{
	char one[LAUNCH_BUILD_ID_BYTES], two[LAUNCH_BUILD_ID_BYTES];

	(void)state;
	write_script("script", "#!/bin/sh\n");
	assert_int_equal(launch_build_id("script", one), 0);
	assert_int_equal(strncmp(one, "xxh64:", 6), 0);
	write_script("script", "#!/bin/sh\n\n");
	assert_int_equal(launch_build_id("script", two), 0);
	assert_string_not_equal(one, two);
	write_file("script", "", 0, 0755);
	assert_int_equal(launch_build_id("script", two), 0);
	assert_int_equal(launch_build_id("nosuch", two), -ENOENT);
	unlink("script");
}

static void survive(const uint8_t *bytes, size_t n)
{
	static const char *const names[] = {"MPI_Init", NULL};
	char id[LAUNCH_BUILD_ID_BYTES];
	struct launch_elf elf;

	write_file("elf", bytes, n, 0755);
	assert_int_equal(launch_elf_open(&elf, "elf"), 0);
	assert_false(launch_elf_has_symbol(&elf, names));
	launch_elf_close(&elf);
	assert_int_equal(launch_build_id("elf", id), 0);
}

static void hostile_elf(void **state)
{
	FILE *file = fopen("/proc/self/exe", "r");
	uint8_t *bytes, *changed;
	size_t n;
	long size;

	(void)state;
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	bytes = rp_alloc((size_t)size, 1);
	changed = rp_alloc((size_t)size, 1);
	n = fread(bytes, 1, (size_t)size, file);
	fclose(file);
	for (size_t cut = 0; cut < 1024; cut++)
		survive(bytes, cut < n ? cut : n);
	/* Headers and program headers, where every offset and length comes from. */
	srand(1);
	n = n < 8192 ? n : 8192;
	for (int round = 0; round < 1500; round++) {
		memcpy(changed, bytes, n);
		for (int i = 0; i <= round % 4; i++)
			changed[(size_t)rand() % 900] = (uint8_t)(rand() % 3 ? 0xff : rand());
		memcpy(changed, "\177ELF", 4);
		survive(changed, n);
	}
	unlink("elf");
	free(bytes);
	free(changed);
}

/* What the kernel will use of the stack above the pointers' place. */
static uint64_t stack_use(const char *path, char *const *argv)
{
	uint64_t size = strlen(path) + 1, pointers = 0;

	for (; *argv; argv++, pointers++)
		size += strlen(*argv) + 1;
	for (char **e = environ; *e; e++, pointers++)
		size += strlen(*e) + 1;
	assert_int_equal(pointers % 2, 0);
	assert_int_equal((size + 8) % 16, 0);
	return size + 8 * pointers;
}

static void padding(void **state)
{
	char *argv[] = {"a", "bc", NULL};
	uint64_t size;

	(void)state;
	size = launch_environ_pad("./a", argv, 0);
	assert_int_equal(stack_use("./a", argv), size);
	for (int i = 0; i < 40; i++) {
		char name[32];

		snprintf(name, sizeof(name), "TEST_%d", i);
		setenv(name, &"0123456789012345678901234567890123456789"[i], 1);
		assert_int_equal(launch_environ_pad("./a", argv, size), size);
		assert_int_equal(stack_use("./a", argv), size);
	}
	/* Too small: another size is taken, and kept to. */
	assert_true(launch_environ_pad("./a", argv, 24) > 24);
}

static void restored_environment(void **state)
{
	char *recorded[] = {"A=recorded",           "OMPI_X=recorded",
			    "LD_PRELOAD=recorded",  "HYDROGEN=recorded",
			    "PMIX=recorded",        "MPI_LOCALITY=recorded",
			    "MPIR_CVAR_X=recorded", NULL};

	(void)state;
	setenv("A", "now", 1);
	setenv("OMPI_X", "now", 1);
	unsetenv("LD_PRELOAD");
	launch_environ_restore(recorded);
	assert_string_equal(getenv("A"), "recorded");
	assert_string_equal(getenv("OMPI_X"), "now");
	assert_string_equal(getenv("LD_PRELOAD"), "recorded");
	/* They only look like a launcher's. */
	assert_string_equal(getenv("HYDROGEN"), "recorded");
	assert_string_equal(getenv("PMIX"), "recorded");
	assert_string_equal(getenv("MPI_LOCALITY"), "recorded");
	assert_string_equal(getenv("MPIR_CVAR_X"), "recorded");
	assert_null(getenv("PATH"));
	unsetenv("LD_PRELOAD");
}

static void environment_of_the_front(void **state)
{
	char *recorded[] = {"A=recorded", "OMPI_MCA_x=recorded", "SLURM_JOB_ID=recorded",
			    "REPRISE_TRACE_DIR=recorded", NULL};

	(void)state;
	setenv("A", "now", 1);
	setenv("B", "now", 1);
	setenv("SLURM_JOB_ID", "now", 1);
	launch_environ_of_front(NULL);
	assert_string_equal(getenv("A"), "now");
	launch_environ_of_front(recorded);
	assert_string_equal(getenv("A"), "recorded");
	assert_string_equal(getenv("OMPI_MCA_x"), "recorded");
	assert_null(getenv("B"));
	assert_string_equal(getenv("SLURM_JOB_ID"), "now");
	assert_null(getenv("REPRISE_TRACE_DIR"));
}

static void preloading(void **state)
{
	(void)state;
	unsetenv("LD_PRELOAD");
	assert_int_equal(launch_environ_preload("/x/hook.so"), 0);
	assert_string_equal(getenv("LD_PRELOAD"), "/x/hook.so");
	assert_int_equal(launch_environ_preload("/a dir/hook.so"), 0);
	assert_string_equal(getenv("LD_PRELOAD"), "hook.so:/x/hook.so");
	assert_string_equal(getenv("LD_LIBRARY_PATH"), "/a dir");
	assert_int_equal(launch_environ_preload("/a:dir/hook.so"), 125);
	unsetenv("LD_PRELOAD");
	unsetenv("LD_LIBRARY_PATH");
}

static void jobs(void **state)
{
	char *one, *two;
	unsigned rank;

	(void)state;
	clearenv();
	assert_false(launch_job_rank(&rank));
	setenv("SLURM_PROCID", "4", 1);
	assert_false(launch_job_rank(&rank));
	setenv("SLURM_STEP_ID", "0", 1);
	assert_true(launch_job_rank(&rank));
	assert_int_equal(rank, 4);
	setenv("PMIX_RANK", "-1", 1);
	setenv("PMI_RANK", "3", 1);
	assert_true(launch_job_rank(&rank));
	assert_int_equal(rank, 3);
	clearenv();
	one = launch_job_key();
	two = launch_job_key();
	assert_string_equal(one, two);
	free(one);
	free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finding),
		cmocka_unit_test(scripts),
		cmocka_unit_test(flavours),
		cmocka_unit_test(build_ids),
		cmocka_unit_test(hostile_elf),
		cmocka_unit_test(padding),
		cmocka_unit_test(preloading),
		cmocka_unit_test(restored_environment),
		cmocka_unit_test(environment_of_the_front),
		cmocka_unit_test(jobs),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
