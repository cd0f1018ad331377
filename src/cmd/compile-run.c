/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/compile-run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/compile.h"

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

/* An object that was compiled again by itself leaves a twin of what it was. */
static bool is_twin_of(const char *twin, const char *object)
{
	struct stat t, o;

	return access(twin, R_OK) == 0 && stat(twin, &t) == 0 && stat(object, &o) == 0 &&
	       (t.st_mtim.tv_sec > o.st_mtim.tv_sec ||
		(t.st_mtim.tv_sec == o.st_mtim.tv_sec && t.st_mtim.tv_nsec >= o.st_mtim.tv_nsec));
}

void compile_add_object(struct compile_words *w, const char *object, struct compile_unchecked *u)
{
	char *twin = rp_format("%s" COMPILE_SUFFIX, object);

	if (is_twin_of(twin, object)) {
		compile_words_add(w, twin);
	} else {
		compile_words_add(w, object);
		if (!u->count++)
			u->first = object;
	}
	free(twin);
}

void compile_tell_unchecked(const struct compile_unchecked *u)
{
	if (u->count == 1)
		rp_say("%s has no up-to-date twin: what its code does is not seen", u->first);
	else if (u->count)
		rp_say("%s and %zu more object%s have no up-to-date twin: what their code does is "
		       "not seen",
		       u->first, u->count - 1, u->count == 2 ? "" : "s");
}
