/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

static bool trusted;

void replay_trust_given(void)
{
	trusted = true;
}

static bool is_own(const struct trace_run *run)
{
	struct stat st;

	if (fstat(run->dir.fd, &st) != 0 || st.st_uid != geteuid() || !run->meta.sealed)
		return false;
	for (size_t i = 0; i < run->ranks; i++) {
		if (!run->rank[i].start.sealed)
			return false;
	}
	return true;
}

/* At a terminal, and "y". */
static bool says_yes(void)
{
	static const char question[] = "reprise: run it? [y/N] ";
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) ||
	    write(STDERR_FILENO, question, sizeof(question) - 1) < 0 ||
	    !fgets(answer, sizeof(answer), stdin))
		return false;
	return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0;
}

int replay_trust(const struct trace_run *run)
{
	char *command;

	if (trusted || is_own(run))
		return 0;
	command = rp_text_command(run->meta.argv);
	rp_say("%s was not recorded by you on this machine; it would run %s in %s", run->dir.show,
	       command, run->meta.cwd);
	free(command);
	trusted = says_yes();
	if (trusted)
		return 0;
	rp_say("nothing was run; 'reprise info' and 'reprise dump' show what the trace holds, "
	       "--trust runs it");
	return RP_EXIT_BAD_INPUT;
}
