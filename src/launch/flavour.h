/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI a program uses, and with it which hook library it needs. */
#ifndef LAUNCH_FLAVOUR_H
#define LAUNCH_FLAVOUR_H

#include <stdbool.h>

enum launch_mpi {
	LAUNCH_MPI_UNKNOWN = 0,
	LAUNCH_MPI_NONE,
	LAUNCH_MPI_OPENMPI,
	LAUNCH_MPI_MPICH,
};

/* "openmpi", "mpich", "none"; "" for unknown. */
const char *launch_mpi_name(enum launch_mpi mpi);
/* "Open MPI", "MPICH", "programs without MPI"; NULL for unknown. */
const char *launch_mpi_title(enum launch_mpi mpi);
bool launch_mpi_parse(const char *name, enum launch_mpi *mpi);

/*
 * The MPI of the program at `path` with the words argv: the user's word `told` if there is one, or
 * the libraries it needs, or, if it is a command such as env or timeout, those of the program
 * behind it. LAUNCH_MPI_UNKNOWN if none of them names one. 0, or the exit code after saying why
 * this program cannot be recorded (static, other word size, set-user-id).
 */
int launch_flavour_linked(const char *path, char *const *argv, enum launch_mpi told,
			  enum launch_mpi *mpi) __attribute__((warn_unused_result));

/* The same in a rank, where the launcher's variables in the environment decide what is unknown. */
int launch_flavour_of(const char *path, char *const *argv, enum launch_mpi told,
		      enum launch_mpi *mpi) __attribute__((warn_unused_result));

/* The path of a library of ours, from malloc; NULL if it is not installed. */
char *launch_library_find(const char *name);

/* The path of the hook library, from malloc; NULL if it is not installed. */
char *launch_hook_find(enum launch_mpi mpi);

/* The same, or the exit code after saying that it is missing. */
int launch_hook_require(enum launch_mpi mpi, char **path) __attribute__((warn_unused_result));

#endif
