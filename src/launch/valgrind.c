/* SPDX-License-Identifier: Apache-2.0 */
/* Distributions put the files of Valgrind to different places. */
#include "launch/valgrind.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/flavour.h"

#define TOOL "valgrind/reprise-amd64-linux"

static const char *library_find(void)
{
	static const char *const places[] = {"/usr/libexec/valgrind",
					     "/usr/lib/x86_64-linux-gnu/valgrind",
					     "/usr/lib64/valgrind", "/usr/lib/valgrind", NULL};

	for (size_t i = 0; places[i]; i++) {
		char *file = rp_format("%s/vgpreload_core-amd64-linux.so", places[i]);
		bool found = access(file, R_OK) == 0;

		free(file);
		if (found)
			return places[i];
	}
	return NULL;
}

bool launch_valgrind_is_here(void)
{
	char *tool = launch_library_find(TOOL);

	free(tool);
	return tool && library_find();
}

int launch_valgrind_require(char **tool, const char **library)
{
	*tool = launch_library_find(TOOL);
	*library = library_find();
	if (*tool && *library)
		return 0;
	if (!*tool)
		rp_say("the Valgrind tool of Reprise is missing: this Reprise was built without "
		       "Valgrind, or its tool, which is installed apart, is not installed");
	else
		rp_say("Valgrind is not installed");
	free(*tool);
	return RP_EXIT_FAILURE;
}
