/* SPDX-License-Identifier: Apache-2.0 */
/* Files that can be started: found as execvp finds them, followed from script to interpreter. */
#ifndef LAUNCH_PROGRAM_H
#define LAUNCH_PROGRAM_H

#include <stdbool.h>

#define LAUNCH_BUILD_ID_BYTES 129

/* The path execvp would start, from malloc, or NULL with errno (ENOENT, EACCES, …). */
char *launch_program_find(const char *name);

/* Could execvp start something by this name? */
bool launch_program_exists(const char *name);

/* launch_program_find() for a launcher's rank, which may look in the working directory last. */
char *launch_program_find_rank(const char *name);

/* 0 and *path, or the exit code 126 or 127 after saying why. */
int launch_program_require(const char *name, char **path) __attribute__((warn_unused_result));

/*
 * The binary that runs when `path` is started: itself, or the interpreter its first line names,
 * or what env is told to start there. From malloc; NULL with errno.
 */
char *launch_program_binary(const char *path);

/* Hexadecimal GNU build-id, or "xxh64:" and a hash of the contents. 0 or -errno. */
int launch_build_id(const char *path, char id[LAUNCH_BUILD_ID_BYTES])
	__attribute__((warn_unused_result));

/* This very executable, absolute, from malloc. */
char *launch_self(void);

#endif
