/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds programs the way execvp and the kernel do, so that what we say about a program is true of
 * the one that will run.
 */
#include "launch/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/elf.h"

#define SHEBANG_BYTES 256
#define SHEBANG_DEPTH 5
#define DEFAULT_PATH "/bin:/usr/bin"

/* 0 or the errno execve would give. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return access(path, X_OK) == 0 ? 0 : errno;
}

char *launch_program_find(const char *name)
{
	const char *search = getenv("PATH");
	int err = *name ? check_executable(name) : ENOENT;

	if (strchr(name, '/') || !*name) {
		if (!err)
			return rp_strdup(name);
		errno = err;
		return NULL;
	}
	if (!search)
		search = DEFAULT_PATH;
	for (err = ENOENT;; search++) {
		size_t n = strcspn(search, ":");
		char *path =
			n ? rp_format("%.*s/%s", (int)n, search, name) : rp_format("./%s", name);
		int why = check_executable(path);

		if (!why)
			return path;
		free(path);
		if (why == EACCES)
			err = EACCES;
		search += n;
		if (!*search)
			break;
	}
	errno = err;
	return NULL;
}

bool launch_program_exists(const char *name)
{
	char *path = launch_program_find(name);
	bool found = path != NULL;

	free(path);
	return found;
}

char *launch_program_find_rank(const char *name)
{
	char *path = launch_program_find(name);
	char *here;
	int err = errno;

	/* Open MPI's mpirun takes "app" for "./app" if PATH has none. */
	if (path || !*name || strchr(name, '/') || !getenv("OMPI_COMM_WORLD_RANK"))
		return path;
	here = rp_format("./%s", name);
	if (check_executable(here) == 0)
		return here;
	free(here);
	errno = err;
	return NULL;
}

static bool is_directory(const char *name)
{
	struct stat st;

	return strchr(name, '/') && stat(name, &st) == 0 && S_ISDIR(st.st_mode);
}

int launch_program_require(const char *name, char **path)
{
	*path = launch_program_find_rank(name);
	if (*path)
		return 0;
	if (errno == ENOENT || errno == ENOTDIR) {
		rp_say("there is no program %s", *name ? name : "''");
		return RP_EXIT_NOT_FOUND;
	}
	rp_say("cannot start %s: %s", name,
	       is_directory(name) ? "it is a directory" : strerror(errno));
	return RP_EXIT_CANNOT_EXEC;
}

/* Cuts the next word off *rest; NULL at the end. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " \t");
	size_t n = strcspn(word, " \t");

	if (!n)
		return NULL;
	*rest = word + n;
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

/* What "#!/usr/bin/env [-S] [NAME=VALUE] COMMAND" starts. */
static char *env_command(char *rest)
{
	char *word;

	while ((word = next_word(&rest))) {
		if (word[0] != '-' && !strchr(word, '='))
			return launch_program_find(word);
	}
	return NULL;
}

/* The next file in the chain, or NULL if `path` is the binary. */
static char *interpreter_of(const char *path)
{
	char line[SHEBANG_BYTES + 1] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? 0 : read(fd, line, SHEBANG_BYTES);
	char *rest = line + 2, *word, *command;
	const char *base;

	if (fd >= 0)
		close(fd);
	if (n >= 4 && !memcmp(line, "\177ELF", 4))
		return NULL;
	if (fd < 0 || n < 0)
		return NULL;
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return rp_strdup("/bin/sh");
	line[strcspn(line, "\n")] = '\0';
	word = next_word(&rest);
	if (!word)
		return rp_strdup("/bin/sh");
	base = strrchr(word, '/');
	if (!strcmp(base ? base + 1 : word, "env")) {
		command = env_command(rest);
		if (command)
			return command;
	}
	return rp_strdup(word);
}

char *launch_program_binary(const char *path)
{
	char *at = rp_strdup(path);

	for (int depth = 0; depth < SHEBANG_DEPTH; depth++) {
		char *next = interpreter_of(at);

		if (!next)
			return at;
		free(at);
		at = next;
	}
	free(at);
	errno = ELOOP;
	return NULL;
}

int launch_build_id(const char *path, char id[LAUNCH_BUILD_ID_BYTES])
{
	struct launch_elf elf;
	int rc = launch_elf_open(&elf, path);

	if (rc)
		return rc;
	if (elf.build_id && 2 * elf.build_id_size < LAUNCH_BUILD_ID_BYTES) {
		for (size_t i = 0; i < elf.build_id_size; i++)
			snprintf(id + 2 * i, 3, "%02x", elf.build_id[i]);
	} else {
		snprintf(id, LAUNCH_BUILD_ID_BYTES, "xxh64:%016" PRIx64,
			 (uint64_t)XXH64(elf.bytes ? (const void *)elf.bytes : "", elf.size, 0));
	}
	launch_elf_close(&elf);
	return 0;
}

char *launch_self(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return rp_strdup("reprise");
	path[n] = '\0';
	return rp_strdup(path);
}
