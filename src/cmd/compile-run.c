/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/compile-run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

void compile_words_add(struct compile_words *w, const char *word)
{
	w->word = rp_realloc(w->word, w->count + 2, sizeof(*w->word));
	w->word[w->count++] = rp_strdup(word);
	w->word[w->count] = NULL;
}

void compile_words_own(struct compile_words *w, char *word)
{
	compile_words_add(w, word);
	free(word);
}

/* The exit status, 128 and the signal, or 127. */
static int run_process(char **word, bool quiet)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int nowhere = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

		if (nowhere >= 0) {
			dup2(nowhere, STDOUT_FILENO);
			dup2(nowhere, STDERR_FILENO);
		}
		execvp(word[0], word);
		rp_say("cannot run %s: %s", word[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0) {
		rp_say("cannot run %s: %s", word[0], strerror(errno));
		return 127;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int compile_run(char **word)
{
	return run_process(word, false);
}

int compile_run_quietly(char **word)
{
	return run_process(word, true);
}

bool compile_is_clang(const char *compiler)
{
	const char *slash = strrchr(compiler, '/');
	const char *name = slash ? slash + 1 : compiler;
	char *command, line[256] = "";
	FILE *answer;

	if (strstr(name, "clang"))
		return true;
	if (!strncmp(name, "gcc", 3) || !strncmp(name, "g++", 3))
		return false;
	command = rp_format("exec '%s' --version 2>/dev/null", compiler);
	answer = strchr(compiler, '\'') ? NULL : popen(command, "r");
	free(command);
	if (!answer)
		return false;
	if (!fgets(line, sizeof(line), answer))
		line[0] = '\0';
	pclose(answer);
	return strstr(line, "clang") != NULL;
}
