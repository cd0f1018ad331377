/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the hook library. The dynamic loader itself is asked which libraries a program needs
 * (`ld.so --list`, nothing of the program runs), so RPATH, LD_LIBRARY_PATH and the like have their
 * usual effect. Programs that load MPI later, such as Python, are judged by the launcher's
 * variables.
 */
#include "launch/flavour.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/elf.h"
#include "launch/front.h"
#include "launch/prefix.h"
#include "launch/program.h"

static const struct {
	const char *name;
	const char *library;
	const char *title;
} flavours[] = {
	[LAUNCH_MPI_UNKNOWN] = {"", NULL, NULL},
	[LAUNCH_MPI_NONE] = {"none", "libreprise-plain.so", "programs without MPI"},
	[LAUNCH_MPI_OPENMPI] = {"openmpi", "libreprise-openmpi.so", "Open MPI"},
	[LAUNCH_MPI_MPICH] = {"mpich", "libreprise-mpich.so", "MPICH"},
};

/* Where hook libraries are, seen from the directory of the executable. */
static const char *const hook_places[] = {
	".",
	"../lib/reprise",
	"../lib/x86_64-linux-gnu/reprise",
	"../lib/aarch64-linux-gnu/reprise",
};

const char *launch_mpi_title(enum launch_mpi mpi)
{
	return flavours[mpi].title;
}

const char *launch_mpi_name(enum launch_mpi mpi)
{
	return flavours[mpi].name;
}

bool launch_mpi_parse(const char *name, enum launch_mpi *mpi)
{
	for (int i = LAUNCH_MPI_NONE; i <= LAUNCH_MPI_MPICH; i++) {
		if (!strcmp(flavours[i].name, name)) {
			*mpi = (enum launch_mpi)i;
			return true;
		}
	}
	return false;
}

/* Runs `loader --list path`; its lines, or NULL. */
static FILE *list_libraries(const char *loader, const char *path, pid_t *pid)
{
	int fd[2];
	FILE *lines;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return NULL;
	*pid = launch_front_fork_aside();
	if (*pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDIN_FILENO);
		dup2(fd[1], STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(loader, loader, "--list", path, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	lines = *pid < 0 ? NULL : fdopen(fd[0], "r");
	if (!lines)
		close(fd[0]);
	return lines;
}

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static enum launch_mpi mpi_by_libraries(const char *loader, const char *path)
{
	bool open_runtime = false, libmpi = false, libmpi12 = false, libmpich = false;
	size_t room = 0;
	char *line = NULL;
	pid_t pid;
	FILE *lines = list_libraries(loader, path, &pid);

	if (!lines)
		return LAUNCH_MPI_UNKNOWN;
	while (getline(&line, &room, lines) >= 0) {
		const char *name = line + strspn(line, " \t");

		libmpi12 = libmpi12 || starts_with(name, "libmpi.so.12");
		libmpi = libmpi || starts_with(name, "libmpi.so");
		libmpich = libmpich || starts_with(name, "libmpich.so");
		open_runtime = open_runtime || starts_with(name, "libmpi.so.40") ||
			       starts_with(name, "libopen-rte.so") ||
			       starts_with(name, "libopen-pal.so");
	}
	free(line);
	fclose(lines);
	waitpid(pid, NULL, 0);
	if (libmpi && open_runtime)
		return LAUNCH_MPI_OPENMPI;
	return libmpich || libmpi12 ? LAUNCH_MPI_MPICH : LAUNCH_MPI_UNKNOWN;
}

static enum launch_mpi mpi_by_environment(void)
{
	if (getenv("OMPI_COMM_WORLD_RANK"))
		return LAUNCH_MPI_OPENMPI;
	if (getenv("PMI_RANK") || getenv("PMI_FD"))
		return LAUNCH_MPI_MPICH;
	return getenv("PMIX_RANK") ? LAUNCH_MPI_OPENMPI : LAUNCH_MPI_NONE;
}

/* The loader ignores LD_PRELOAD where the program gains rights it was not started with. */
static bool gains_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return true;
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* 0, or the exit code after saying why LD_PRELOAD cannot work with this binary. */
static int check_binary(const char *path, const struct launch_elf *elf)
{
	static const char *const init[] = {"MPI_Init", "PMPI_Init", "MPI_Init_thread",
					   "PMPI_Init_thread", NULL};

	if (!elf->elf || !elf->native)
		rp_say("%s is not a 64-bit program of this machine: it cannot be recorded", path);
	else if (!elf->interp && launch_elf_has_symbol(elf, init))
		rp_say("%s is a static MPI program: link it with the shared MPI library to record "
		       "it",
		       path);
	else if (!elf->interp)
		rp_say("%s is statically linked: link it with shared libraries to record it", path);
	else if (strstr(elf->interp, "ld-musl"))
		rp_say("%s is built for musl: only programs of the GNU C library can be recorded",
		       path);
	else if (gains_rights(path))
		rp_say("%s runs with rights of its own (set-user-id or capabilities): it cannot be "
		       "recorded; record a copy without them",
		       path);
	else
		return 0;
	return RP_EXIT_BAD_INPUT;
}

static int cannot_read(const char *path, const char *binary, int err)
{
	if (binary && strcmp(path, binary))
		rp_say("cannot start %s: its interpreter %s cannot be read: %s", path, binary,
		       strerror(err));
	else
		rp_say("cannot read %s: %s", path, strerror(err));
	return RP_EXIT_CANNOT_EXEC;
}

/* Judges by the libraries of one program, if the user has not said which MPI it is. */
static int linked_with(const char *path, enum launch_mpi told, enum launch_mpi *mpi)
{
	char *binary = launch_program_binary(path);
	struct launch_elf elf;
	int rc = binary ? launch_elf_open(&elf, binary) : -errno;

	if (rc) {
		rc = cannot_read(path, binary, -rc);
		free(binary);
		return rc;
	}
	rc = check_binary(binary, &elf);
	*mpi = told;
	if (!rc && told == LAUNCH_MPI_UNKNOWN)
		*mpi = mpi_by_libraries(elf.interp, binary);
	launch_elf_close(&elf);
	free(binary);
	return rc;
}

int launch_flavour_linked(const char *path, char *const *argv, enum launch_mpi told,
			  enum launch_mpi *mpi)
{
	size_t behind = launch_prefix_skip(argv);
	int rc = linked_with(path, told, mpi);
	char *program;

	if (rc || !behind || *mpi != LAUNCH_MPI_UNKNOWN)
		return rc;
	program = launch_program_find(argv[behind]);
	if (program)
		rc = linked_with(program, told, mpi);
	free(program);
	return rc;
}

int launch_flavour_of(const char *path, char *const *argv, enum launch_mpi told,
		      enum launch_mpi *mpi)
{
	int rc = launch_flavour_linked(path, argv, told, mpi);

	if (!rc && *mpi == LAUNCH_MPI_UNKNOWN)
		*mpi = mpi_by_environment();
	return rc;
}

char *launch_library_find(const char *name)
{
	char *self = launch_self();
	const char *here = dirname(self);
	char *found = NULL;

	for (size_t i = 0; i < sizeof(hook_places) / sizeof(hook_places[0]) && !found; i++) {
		char *path = rp_format("%s/%s/%s", here, hook_places[i], name);

		if (access(path, R_OK) == 0)
			found = realpath(path, NULL);
		free(path);
	}
	free(self);
	return found;
}

char *launch_hook_find(enum launch_mpi mpi)
{
	return launch_library_find(flavours[mpi].library);
}

int launch_hook_require(enum launch_mpi mpi, char **path)
{
	*path = launch_hook_find(mpi);
	if (*path)
		return 0;
	rp_say("%s is missing: this Reprise was built without support for %s; see 'reprise doctor'",
	       flavours[mpi].library, flavours[mpi].title);
	return RP_EXIT_FAILURE;
}
