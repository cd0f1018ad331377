/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel puts path, environment and argument strings at the top of the stack, aligns to 16,
 * and puts below them an array with a pointer to each. Where main() finds its stack depends on the
 * sum alone if the strings end on an alignment boundary and the number of pointers is even.
 */
#include "launch/environ.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/job.h"
#include "launch/moved.h"

#define PAD "REPRISE_PAD="
#define PAD_SECOND "REPRISE_PAD2="
#define ROOM 2048 /* launchers' variables grow and shrink by a few bytes from run to run */
#define STEP 4096
#define TOP 8 /* bytes the kernel leaves free above the strings */

/*
 * These belong to the place and the session of the user, not to the run: a recorded value may be
 * stale.
 */
static const char *const of_session[] = {
	"REPRISE_", "SLURM_",      "PBS_",        "LSB_",     "PALS_",   "SSH_",
	"XDG_",     "KRB5CCNAME=", "XAUTHORITY=", "DISPLAY=", "TMPDIR=",
};

static bool is_of_session(const char *variable)
{
	for (size_t i = 0; i < sizeof(of_session) / sizeof(of_session[0]); i++) {
		if (!strncmp(variable, of_session[i], strlen(of_session[i])))
			return true;
	}
	return false;
}

/* Where files are looked for. */
static char *moved(const char *variable)
{
	static const char *const paths[] = {"LD_LIBRARY_PATH=", "LD_PRELOAD=", "PATH="};
	char *there, *whole;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (strncmp(variable, paths[i], strlen(paths[i])) != 0)
			continue;
		there = launch_moved_paths(variable + strlen(paths[i]));
		whole = rp_format("%s%s", paths[i], there);
		free(there);
		return whole;
	}
	return rp_strdup(variable);
}

/* The same variable in another list, or NULL. */
static char *find(char *const *list, const char *variable)
{
	size_t n = strcspn(variable, "=") + 1;

	for (; *list; list++) {
		if (strncmp(*list, variable, n) == 0)
			return *list;
	}
	return NULL;
}

/*
 * Replaces environ: recorded values in their order, but current ones for variables that `current`
 * names.
 */
static void mix(char *const *recorded, bool (*current)(const char *variable))
{
	size_t n = 0, now = rp_strings_count(environ);
	char **list = rp_alloc(now + rp_strings_count(recorded) + 1, sizeof(*list));

	for (size_t i = 0; recorded[i]; i++) {
		char *variable =
			current(recorded[i]) ? find(environ, recorded[i]) : moved(recorded[i]);

		if (variable)
			list[n++] = variable;
	}
	for (size_t i = 0; i < now; i++) {
		if (current(environ[i]) && !find(recorded, environ[i]))
			list[n++] = environ[i];
	}
	environ = list;
}

void launch_environ_restore(char *const *recorded)
{
	mix(recorded, launch_job_owns);
}

void launch_environ_of_front(char *const *recorded)
{
	if (recorded)
		mix(recorded, is_of_session);
}

bool launch_environ_is_inside(void)
{
	FILE *f = fopen("/proc/self/environ", "r");
	char *variable = NULL;
	size_t room = 0;
	bool found = getenv("REPRISE_MODE") != NULL;

	while (f && !found && getdelim(&variable, &room, '\0', f) > 0)
		found = strncmp(variable, "REPRISE_MODE=", strlen("REPRISE_MODE=")) == 0;
	free(variable);
	if (f)
		fclose(f);
	return found;
}

static void prepend(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *joined = old && *old ? rp_format("%s:%s", value, old) : rp_strdup(value);

	setenv(name, joined, 1);
	free(joined);
}

int launch_environ_preload(const char *library)
{
	const char *slash = strrchr(library, '/');
	char *dir;

	/* The address sanitizer of gcc ends a program in which another library is loaded first. */
	prepend("ASAN_OPTIONS", "verify_asan_link_order=0");
	if (!strpbrk(library, " :")) {
		prepend("LD_PRELOAD", library);
		return 0;
	}
	if (strpbrk(library, ":;") || !slash) {
		rp_say("the path %s has a colon or semicolon in it, which the dynamic loader "
		       "cannot take; "
		       "move Reprise",
		       library);
		return RP_EXIT_FAILURE;
	}
	/* LD_PRELOAD knows no quoting, but a library path may have spaces. */
	dir = rp_format("%.*s", (int)(slash - library), library);
	prepend("LD_LIBRARY_PATH", dir);
	prepend("LD_PRELOAD", slash + 1);
	free(dir);
	return 0;
}

/* The loader takes it up before the program's own libraries, which are not even read. */
int launch_environ_audit(const char *library)
{
	if (strchr(library, ':')) {
		rp_say("the path %s has a colon in it, which the dynamic loader cannot take; move "
		       "Reprise",
		       library);
		return RP_EXIT_FAILURE;
	}
	setenv("LD_AUDIT", library, 1);
	return 0;
}

static uint64_t strings_size(char *const *list, uint64_t *pointers)
{
	uint64_t size = 0;

	for (; *list; list++) {
		size += strlen(*list) + 1;
		++*pointers;
	}
	return size;
}

uint64_t launch_environ_pad(const char *path, char *const *argv, uint64_t size)
{
	uint64_t pointers = 0, strings, needed, pad;
	size_t n;
	char **list;

	unsetenv("REPRISE_PAD");
	unsetenv("REPRISE_PAD2");
	strings =
		strlen(path) + 1 + strings_size(argv, &pointers) + strings_size(environ, &pointers);
	n = rp_strings_count(environ);
	list = rp_alloc(n + 3, sizeof(*list));
	memcpy(list, environ, n * sizeof(*list));
	if (pointers % 2 == 0) {
		list[n++] = rp_strdup(PAD_SECOND);
		strings += sizeof(PAD_SECOND);
		pointers++;
	}
	strings += sizeof(PAD);
	pointers++;
	needed = strings + pointers * sizeof(char *);
	if (size < needed || size % 16 != TOP)
		size = (needed + ROOM + STEP - 1) / STEP * STEP + TOP;
	pad = size - needed;
	list[n] = rp_alloc(pad + sizeof(PAD), 1);
	memcpy(list[n], PAD, sizeof(PAD) - 1);
	memset(list[n] + sizeof(PAD) - 1, '.', pad);
	environ = list;
	return size;
}
