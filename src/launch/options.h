/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of MPI launchers look like: how many words each takes. */
#ifndef LAUNCH_OPTIONS_H
#define LAUNCH_OPTIONS_H

#include <stdbool.h>

enum launch_dialect {
	LAUNCH_ORTERUN = 1, /* Open MPI's mpirun, prun */
	LAUNCH_HYDRA = 2,   /* MPICH's mpiexec */
	LAUNCH_SRUN = 4,    /* Slurm */
	LAUNCH_OTHER = 8,   /* no table: all is guessed */
};

enum launch_option_kind {
	LAUNCH_OPTION_PLAIN = 0,
	LAUNCH_OPTION_MOVES = 1,   /* the program is looked for somewhere else */
	LAUNCH_OPTION_APPFILE = 2, /* the programs are named in a file */
};

struct launch_option {
	const char *name; /* without dashes */
	int words;        /* that follow it */
	enum launch_option_kind kind;
};

/*
 * Looks up an option word. *whole is set if the value is part of the word ("--n=4", "-n4").
 * NULL if no dialect of the set knows it.
 */
const struct launch_option *launch_option_find(int dialects, const char *word, bool *whole);

#endif
