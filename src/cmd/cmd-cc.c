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

struct wanted {
	bool atomics;
};

/* What programs are linked with; atomics and header are NULL unless these are to be recorded. */
struct runtimes {
	char *race, *atomics, *header;
};

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
	/* clang tells of a read and a write of the same by the write, after the read. */
	static const char *const of_clang[] = {"-mllvm",
					       "-tsan-instrument-func-entry-exit=0",
					       "-mllvm",
					       "-tsan-instrument-read-before-write=1",
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

/* Atomic operations become calls of functions; all else is compiled as it is. */
static void add_atomics(struct words *w, bool clang, const struct runtimes *runtimes)
{
	static const char *const of_clang[] = {"-Xclang",
					       "-fsanitize=thread",
					       "-mllvm",
					       "-tsan-instrument-memory-accesses=0",
					       "-mllvm",
					       "-tsan-instrument-func-entry-exit=0",
					       "-mllvm",
					       "-tsan-instrument-memintrinsics=0",
					       "-Wno-unused-command-line-argument",
					       NULL};

	if (!clang) {
		add(w, "-fno-inline-atomics");
		add(w, "-include");
		add(w, runtimes->header);
		return;
	}
	for (const char *const *word = of_clang; *word; word++)
		add(w, *word);
}

static void add_library(struct words *w, const char *library)
{
	const char *slash = strrchr(library, '/');

	/* It is looked up by name, so nothing else may seem to need it. */
	add(w, "-Wl,--push-state,--no-as-needed");
	add(w, library);
	add(w, "-Wl,--pop-state");
	add_owned(w, rp_format("-Wl,-rpath,%.*s", (int)(slash - library), library));
}

/* The compilation that was asked for. */
static int compile_program(const struct compile_line *line, const struct runtimes *runtimes)
{
	struct words w = {0};
	int code;

	if (!runtimes->atomics)
		return run_words(line->word);
	for (size_t i = 0; i < line->words; i++)
		add(&w, line->word[i]);
	add_atomics(&w, is_clang(line->word[0]), runtimes);
	if (line->is_linked)
		add_library(&w, runtimes->atomics);
	code = run_words(w.word);
	rp_strings_free(w.word);
	return code;
}

/* Compiles word `source` to `object`, with all options of the line. */
static bool compile_checked(const struct compile_line *line, size_t source, const char *object,
			    const struct runtimes *runtimes)
{
	bool clang = is_clang(line->word[0]);
	struct words w = {0};
	bool done;

	for (size_t i = 0; i < line->words; i++) {
		if (!line->is_dropped[i] && !line->is_object[i] &&
		    (!line->is_source[i] || i == source))
			add(&w, line->word[i]);
	}
	add_checks(&w, clang);
	if (runtimes->header && !clang) {
		add(&w, "-include");
		add(&w, runtimes->header);
	}
	add(&w, "-c");
	add(&w, "-o");
	add(&w, object);
	done = run_words(w.word) == 0;
	rp_strings_free(w.word);
	return done;
}

/* The first of them that has a name is the one that is called. */
static void add_runtimes(struct words *w, const struct runtimes *runtimes)
{
#define WRAP(name) add(w, "-Wl,--wrap=" #name);
	RACE_WRAPPED(WRAP)
#undef WRAP
	add_library(w, runtimes->race);
	if (runtimes->atomics)
		add_library(w, runtimes->atomics);
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
static bool link_checked(const struct compile_line *line, const struct runtimes *runtimes)
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
	add_runtimes(&w, runtimes);
	done = run_words(w.word) == 0;
	rp_strings_free(w.word);
	return done;
}

static bool make_objects(const struct compile_line *line, const struct runtimes *runtimes)
{
	bool done = true;

	for (size_t i = 1; i < line->words && done; i++) {
		char *object, *twin;

		if (!line->is_source[i])
			continue;
		object = line->output ? rp_strdup(line->output) : compile_object_of(line->word[i]);
		twin = rp_format("%s" COMPILE_SUFFIX, object);
		done = compile_checked(line, i, twin, runtimes);
		free(object);
		free(twin);
	}
	return done;
}

static bool make_program(const struct compile_line *line, const struct runtimes *runtimes)
{
	bool done = true;

	for (size_t i = 1; i < line->words && done; i++) {
		char *object = temporary_object(i);

		if (line->is_source[i])
			done = compile_checked(line, i, object, runtimes);
		free(object);
	}
	if (done)
		done = link_checked(line, runtimes);
	for (size_t i = 1; i < line->words; i++) {
		char *object = temporary_object(i);

		if (line->is_source[i])
			unlink(object);
		free(object);
	}
	return done;
}

static void make_twin(const struct compile_line *line, const struct runtimes *runtimes)
{
	bool done = true;

	if (line->kind == COMPILE_OBJECT)
		done = make_objects(line, runtimes);
	else if (line->kind == COMPILE_LINK)
		done = make_program(line, runtimes);
	if (!done)
		rp_say("there is no checked twin of %s: it could not be compiled",
		       line->output ? line->output : "what was compiled");
}

static int find_runtime(const char *name, char **path)
{
	*path = launch_library_find(name);
	if (*path)
		return 0;
	rp_say("%s is missing: it is installed with the hook libraries; see 'reprise doctor'",
	       name);
	return RP_EXIT_FAILURE;
}

static int find_runtimes(bool atomics, struct runtimes *runtimes)
{
	int code = find_runtime("libreprise-race.so", &runtimes->race);

	if (!code && atomics)
		code = find_runtime("libreprise-atomics.so", &runtimes->atomics);
	if (!code && atomics)
		code = find_runtime("reprise-atomics.h", &runtimes->header);
	return code;
}

static int run_as(const struct cmd_verb *verb, int argc, char **argv)
{
	struct wanted w = {0};
	struct runtimes runtimes = {0};
	struct cmd_operands operands;
	struct compile_line line;
	int code = cmd_options_read(verb, argc, argv, &w, &operands);

	if (code)
		return code;
	if (!operands.command) {
		rp_say("%s needs a compiler and its arguments, as in 'reprise %s gcc -O2 -c x.c'",
		       verb->name, verb->name);
		return RP_EXIT_BAD_INPUT;
	}
	code = find_runtimes(w.atomics, &runtimes);
	if (!code) {
		compile_line_read(&line, operands.command);
		code = compile_program(&line, &runtimes);
		if (!code)
			make_twin(&line, &runtimes);
		compile_line_free(&line);
	}
	free(runtimes.race);
	free(runtimes.atomics);
	free(runtimes.header);
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

static const struct cmd_option options[] = {
	{.name = "atomics",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, atomics),
	 .help = "have atomic operations of the program recorded, too"},
	CMD_OPTION_END,
};

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
	.options = options,
	.about = ABOUT,
	.notes = NOTES,
	.run = run_cc,
};

const struct cmd_verb cmd_cxx = {
	.name = "c++",
	.takes = CMD_TAKES_COMMAND,
	.summary = "Compiles a C++ program together with its checked twin",
	.options = options,
	.about = ABOUT,
	.notes = NOTES,
	.run = run_cxx,
};
