/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where lines come from. On a terminal, libedit reads them, with a history and completion of
 * commands, if Reprise was built with it; otherwise, and elsewhere, plain lines are read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef REPRISE_LIBEDIT
#include <editline/readline.h>
#endif

#include "base/log.h"
#include "base/mem.h"
#include "cmd/debug.h"

static char *prompt_of(const struct cmd_debug *d)
{
	char *focus = group_set_text(&d->focus), *text;

	text = d->there ? rp_format("(reprise %s @ %u%%) ", focus, cmd_debug_percent(d))
			: rp_strdup("(reprise) ");
	free(focus);
	return text;
}

#ifdef REPRISE_LIBEDIT
static char *complete(const char *text, int state)
{
	static size_t at;
	const char *const *names = cmd_debug_names();

	if (!state)
		at = 0;
	while (names[at]) {
		const char *name = names[at++];

		if (strncmp(name, text, strlen(text)) == 0)
			return rp_strdup(name);
	}
	return NULL;
}

static char **complete_line(const char *text, int start, int end)
{
	(void)end;
	return start == 0 ? rl_completion_matches(text, complete) : NULL;
}

static char *read_terminal(const char *prompt)
{
	char *line;

	rl_attempted_completion_function = complete_line;
	line = readline(prompt);
	if (line && *line)
		add_history(line);
	return line;
}
#else
static char *read_terminal(const char *prompt)
{
	char *line = NULL;
	size_t room = 0;

	fputs(prompt, stdout);
	fflush(stdout);
	if (getline(&line, &room, stdin) > 0)
		return line;
	free(line);
	return NULL;
}
#endif

static bool talk_once(struct cmd_debug *d, bool terminal)
{
	char *prompt = prompt_of(d), *line = NULL;
	size_t room = 0;

	if (terminal)
		line = read_terminal(prompt);
	else if (getline(&line, &room, stdin) <= 0) {
		free(line);
		line = NULL;
	}
	free(prompt);
	if (!line && group_was_interrupted()) {
		clearerr(stdin);
		putchar('\n');
		return true;
	}
	if (!line)
		return false;
	group_was_interrupted();
	cmd_debug_run(d, line);
	free(line);
	return !d->over;
}

void cmd_debug_talk(struct cmd_debug *d)
{
	bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !d->json;

	while (!d->over && talk_once(d, terminal))
		;
	if (terminal && !d->over)
		putchar('\n');
}

bool cmd_debug_read_file(struct cmd_debug *d, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file) {
		rp_say("cannot read %s: %s", path, strerror(errno));
		return false;
	}
	while (!d->over && getline(&line, &room, file) > 0)
		cmd_debug_run(d, line);
	free(line);
	fclose(file);
	return true;
}
