/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise cc: compiles as the compiler does, and then once more for the checked twin: x.o-checked
 * beside x.o, app-checked beside app. What is recorded is the program itself, at its own speed; the
 * twin is only replayed. Invariant: the first compilation is exactly what was asked for, and its
 * status is ours; if the twin cannot be made, a message says so, and the build goes on.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/compile.h"
#include "launch/flavour.h"
#include "race/wrapped.h"

/* Words that grow. */
struct words {
	char **word;
	size_t count;
};

static void add(struct words *w, const char *word)
{
	w->word = rp_realloc(w->word, w->count + 2, sizeof(*w->word));
	w->word[w->count++] = rp_strdup(word);
	w->word[w->count] = NULL;
}

static void add_owned(struct words *w, char *word)
{
	add(w, word);
	free(word);
}

/* The exit status, 128 and the signal, or 127. */
static int run_words(char **word)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
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

/* Whatever its name, clang says that it is one. */
static bool is_clang(const char *compiler)
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

/* What the compiler does with these in line, it does not tell of. */
static void add_no_builtins(struct words *w)
{
	static const char *const names[] = {"memcpy",  "memmove", "memset",  "memcmp", "memchr",
					    "strlen",  "strcpy",  "strncpy", "strcat", "strcmp",
					    "strncmp", "strchr",  "strrchr", NULL};

	for (size_t i = 0; names[i]; i++)
		add_owned(w, rp_format("-fno-builtin-%s", names[i]));
}

static void add_checks(struct words *w, bool clang)
{
	static const char *const of_clang[] = {"-mllvm",
					       "-tsan-instrument-func-entry-exit=0",
					       "-gdwarf-aranges",
					       "-mprefer-vector-width=128",
					       "-Wno-unused-command-line-argument",
					       NULL};
	static const char *const of_gcc[] = {"--param", "tsan-instrument-func-entry-exit=0", NULL};

	add(w, "-w");
	add(w, "-g");
	add(w, "-fsanitize=thread");
	for (const char *const *word = clang ? of_clang : of_gcc; *word; word++)
		add(w, *word);
	add_no_builtins(w);
}

/* Compiles word `source` to `object`, with all options of the line. */
static bool compile_checked(const struct compile_line *line, size_t source, const char *object)
{
	struct words w = {0};
	bool done;

	for (size_t i = 0; i < line->words; i++) {
		if (!line->is_dropped[i] && !line->is_object[i] &&
		    (!line->is_source[i] || i == source))
			add(&w, line->word[i]);
	}
	add_checks(&w, is_clang(line->word[0]));
	add(&w, "-c");
	add(&w, "-o");
	add(&w, object);
	done = run_words(w.word) == 0;
	rp_strings_free(w.word);
	return done;
}

static void add_runtime(struct words *w, const char *library)
{
	const char *slash = strrchr(library, '/');

#define WRAP(name) add(w, "-Wl,--wrap=" #name);
	RACE_WRAPPED(WRAP)
#undef WRAP
	add(w, library);
	add_owned(w, rp_format("-Wl,-rpath,%.*s", (int)(slash - library), library));
}

/* The twin of an object, if it has one. */
static void add_object(struct words *w, const char *object)
{
	char *twin = rp_format("%s" COMPILE_SUFFIX, object);

	add(w, access(twin, R_OK) == 0 ? twin : object);
	free(twin);
}

static char *temporary_object(size_t number)
{
	const char *dir = getenv("TMPDIR");

	return rp_format("%s/reprise-cc-%ld-%zu.o", dir ? dir : "/tmp", (long)getpid(), number);
}

/* Sources have been compiled to temporary objects. */
static bool link_checked(const struct compile_line *line, const char *library)
{
	const char *output = line->output ? line->output : "a.out";
	struct words w = {0};
	bool done;

	for (size_t i = 0; i < line->words; i++) {
		if (line->is_source[i])
			add_owned(&w, temporary_object(i));
		else if (line->is_object[i])
			add_object(&w, line->word[i]);
		else if (!line->is_dropped[i])
			add(&w, line->word[i]);
	}
	add(&w, "-o");
	add_owned(&w, rp_format("%s" COMPILE_SUFFIX, output));
	add_runtime(&w, library);
	done = run_words(w.word) == 0;
	rp_strings_free(w.word);
	return done;
}

static bool make_objects(const struct compile_line *line)
{
	bool done = true;

	for (size_t i = 1; i < line->words && done; i++) {
		char *object, *twin;

		if (!line->is_source[i])
			continue;
		object = line->output ? rp_strdup(line->output) : compile_object_of(line->word[i]);
		twin = rp_format("%s" COMPILE_SUFFIX, object);
		done = compile_checked(line, i, twin);
		free(object);
		free(twin);
	}
	return done;
}

static bool make_program(const struct compile_line *line, const char *library)
{
	bool done = true;

	for (size_t i = 1; i < line->words && done; i++) {
		char *object = temporary_object(i);

		if (line->is_source[i])
			done = compile_checked(line, i, object);
		free(object);
	}
	if (done)
		done = link_checked(line, library);
	for (size_t i = 1; i < line->words; i++) {
		char *object = temporary_object(i);

		if (line->is_source[i])
			unlink(object);
		free(object);
	}
	return done;
}

static void make_twin(const struct compile_line *line, const char *library)
{
	bool done = true;

	if (line->kind == COMPILE_OBJECT)
		done = make_objects(line);
	else if (line->kind == COMPILE_LINK)
		done = make_program(line, library);
	if (!done)
		rp_say("there is no checked twin of %s: it could not be compiled",
		       line->output ? line->output : "what was compiled");
}

static int run_as(const struct cmd_verb *verb, int argc, char **argv)
{
	struct cmd_operands operands;
	struct compile_line line;
	char none, *library;
	int code = cmd_options_read(verb, argc, argv, &none, &operands);

	if (code)
		return code;
	if (!operands.command) {
		rp_say("%s needs a compiler and its arguments, as in 'reprise %s gcc -O2 -c x.c'",
		       verb->name, verb->name);
		return RP_EXIT_BAD_INPUT;
	}
	library = launch_library_find("libreprise-race.so");
	if (!library) {
		rp_say("libreprise-race.so is missing: it is installed with the hook libraries; "
		       "see 'reprise doctor'");
		return RP_EXIT_FAILURE;
	}
	code = run_words(operands.command);
	if (!code) {
		compile_line_read(&line, operands.command);
		make_twin(&line, library);
		compile_line_free(&line);
	}
	free(library);
	return code;
}

static int run_cc(int argc, char **argv)
{
	return run_as(&cmd_cc, argc, argv);
}

static int run_cxx(int argc, char **argv)
{
	return run_as(&cmd_cxx, argc, argv);
}

#define ABOUT                                                                                      \
	"Runs the compiler as it is, and once more for the checked twin: app-checked beside app, " \
	"x.o-checked beside x.o. The program itself is recorded, at its own speed; the twin "      \
	"tells "                                                                                   \
	"'reprise races' which data threads raced for. For gcc and clang, and compilers of MPI "   \
	"made of them.\n"
#define NOTES                                                                                      \
	"For example: make CC=\"reprise cc gcc\", or CC=\"reprise cc clang\" ./configure. The "    \
	"exit "                                                                                    \
	"status is that of the compiler; if the twin cannot be made, a message says so.\n"

const struct cmd_verb cmd_cc = {
	.name = "cc",
	.takes = CMD_TAKES_COMMAND,
	.summary = "Compiles a C program together with its checked twin",
	.about = ABOUT,
	.notes = NOTES,
	.run = run_cc,
};

const struct cmd_verb cmd_cxx = {
	.name = "c++",
	.takes = CMD_TAKES_COMMAND,
	.summary = "Compiles a C++ program together with its checked twin",
	.about = ABOUT,
	.notes = NOTES,
	.run = run_cxx,
};
