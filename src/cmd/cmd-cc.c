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
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/archive.h"
#include "cmd/compile-run.h"
#include "cmd/compile.h"
#include "launch/flavour.h"
#include "race/wrapped.h"

struct wanted {
	bool atomics;
};

/*
 * What programs are linked with; atomics and header are NULL unless these are to be recorded. Of
 * accesses there are two kinds; clang has one in line, if that was built.
 */
struct runtimes {
	char *race, *accesses, *in_line, *atomics, *header;
};

static char *temporary_object(size_t number)
{
	const char *dir = getenv("TMPDIR");

	return rp_format("%s/reprise-cc-%ld-%zu.o", dir ? dir : "/tmp", (long)getpid(), number);
}

/* Can this clang, and its linker, do with the bitcode? It may be of another version. */
static bool links_in_line(const struct compile_line *line, const char *in_line)
{
	char *out = temporary_object(0);
	struct compile_words w = {0};
	bool done;

	compile_words_add(&w, line->word[0]);
	for (size_t i = 1; i < line->words; i++) {
		if (!strncmp(line->word[i], "-fuse-ld=", strlen("-fuse-ld=")))
			compile_words_add(&w, line->word[i]);
	}
	compile_words_add(&w, "-flto");
	compile_words_add(&w, "-nostdlib");
	compile_words_add(&w, "-r");
	compile_words_add(&w, in_line);
	compile_words_add(&w, "-o");
	compile_words_add(&w, out);
	done = compile_run_quietly(w.word) == 0;
	rp_strings_free(w.word);
	unlink(out);
	free(out);
	return done;
}

/* What the compiler does with these in line, it does not tell of. */
static void add_no_builtins(struct compile_words *w)
{
	static const char *const names[] = {"memcpy",  "memmove", "memset",  "memcmp", "memchr",
					    "strlen",  "strcpy",  "strncpy", "strcat", "strcmp",
					    "strncmp", "strchr",  "strrchr", NULL};

	for (size_t i = 0; names[i]; i++)
		compile_words_own(w, rp_format("-fno-builtin-%s", names[i]));
}

static void add_checks(struct compile_words *w, bool clang)
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
	/* Code that asks for the sanitizer would be other code: shared_ptr of libstdc++ does. */
	static const char *const of_gcc[] = {"--param", "tsan-instrument-func-entry-exit=0",
					     "-U__SANITIZE_THREAD__", NULL};

	compile_words_add(w, "-w");
	compile_words_add(w, "-g");
	compile_words_add(w, "-fsanitize=thread");
	for (const char *const *word = clang ? of_clang : of_gcc; *word; word++)
		compile_words_add(w, *word);
	add_no_builtins(w);
}

/* Atomic operations become calls of functions; all else is compiled as it is. */
static void add_atomics(struct compile_words *w, bool clang, const struct runtimes *runtimes)
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
		compile_words_add(w, "-fno-inline-atomics");
		compile_words_add(w, "-include");
		compile_words_add(w, runtimes->header);
		return;
	}
	for (const char *const *word = of_clang; *word; word++)
		compile_words_add(w, *word);
}

static void add_library(struct compile_words *w, const char *library)
{
	const char *slash = strrchr(library, '/');

	/* It is looked up by name, so nothing else may seem to need it. */
	compile_words_add(w, "-Wl,--push-state,--no-as-needed");
	compile_words_add(w, library);
	compile_words_add(w, "-Wl,--pop-state");
	compile_words_own(w, rp_format("-Wl,-rpath,%.*s", (int)(slash - library), library));
}

/* The compilation that was asked for. */
static int compile_program(const struct compile_line *line, const struct runtimes *runtimes)
{
	struct compile_words w = {0};
	int code;

	if (!runtimes->atomics)
		return compile_run(line->word);
	for (size_t i = 0; i < line->words; i++)
		compile_words_add(&w, line->word[i]);
	add_atomics(&w, compile_is_clang(line->word[0]), runtimes);
	if (line->is_linked)
		add_library(&w, runtimes->atomics);
	code = compile_run(w.word);
	rp_strings_free(w.word);
	return code;
}

/* Compiles word `source` to `object`, with all options of the line. */
static bool compile_checked(const struct compile_line *line, size_t source, const char *object,
			    const struct runtimes *runtimes)
{
	bool clang = compile_is_clang(line->word[0]);
	struct compile_words w = {0};
	bool done;

	for (size_t i = 0; i < line->words; i++) {
		if (!line->is_dropped[i] && !line->is_object[i] && !line->is_archive[i] &&
		    (!line->is_source[i] || i == source))
			compile_words_add(&w, line->word[i]);
	}
	add_checks(&w, clang);
	/* gcc would put its calls in when it links, if at all. */
	compile_words_add(&w, clang && runtimes->in_line ? "-flto" : "-fno-lto");
	if (runtimes->header && !clang) {
		/* As in the program: else variables of functions would be looked at by a load. */
		compile_words_add(&w, "-fno-inline-atomics");
		compile_words_add(&w, "-include");
		compile_words_add(&w, runtimes->header);
	}
	compile_words_add(&w, "-c");
	compile_words_add(&w, "-o");
	compile_words_add(&w, object);
	done = compile_run(w.word) == 0;
	rp_strings_free(w.word);
	return done;
}

/* The first of them that has a name is the one that is called. */
static void add_runtimes(struct compile_words *w, bool clang, const struct runtimes *runtimes)
{
#define WRAP(name) compile_words_add(w, "-Wl,--wrap=" #name);
	RACE_WRAPPED(WRAP)
#undef WRAP
	/* The hook library looks for these. */
	compile_words_add(w, "-Wl,--export-dynamic-symbol=reprise_race");
	compile_words_add(w, "-Wl,--export-dynamic-symbol=reprise_race_code");
	if (clang && runtimes->in_line) {
		/* Whatever the program is made with: only from there on is anything put in line. */
		compile_words_add(w, "-flto");
		compile_words_add(w, "-Wl,-plugin-opt=O2,-plugin-opt=-generate-arange-section");
	}
	compile_words_add(w, clang && runtimes->in_line ? runtimes->in_line : runtimes->accesses);
	compile_words_add(w, runtimes->race);
	if (runtimes->atomics)
		add_library(w, runtimes->atomics);
}

static char *temporary_archive(size_t number)
{
	char *object = temporary_object(number), *archive = rp_format("%s.a", object);

	free(object);
	return archive;
}

/* The archive, with twins in place of its objects as far as they have one. */
static void add_archive(struct compile_words *w, const struct compile_line *line, size_t word,
			struct archive_objects *objects)
{
	const char *library = compile_library_of(line, word);
	char *archive = compile_archive_of(line, word), *twin = temporary_archive(word);
	bool ours = archive && !archive_is_foreign(archive);
	size_t without = 0;
	int rc = ours ? archive_make_twin(archive, objects, twin, &without) : -ENOENT;

	if (rc && library)
		compile_words_own(w, rp_format("-l%s", library));
	else
		compile_words_add(w, rc ? line->word[word] : twin);
	if (ours && rc)
		rp_say("%s has no checked objects: what its code does is not seen", archive);
	else if (!rc && without)
		rp_say("%s has %zu object%s without a twin: what %s code does is not seen", archive,
		       without, without == 1 ? "" : "s", without == 1 ? "its" : "their");
	free(archive);
	free(twin);
}

static void add_word(struct compile_words *w, const char *word)
{
	compile_words_add(w, word);
	if (!strncmp(word, "-Wl,", 4) && strstr(word, ",-l"))
		rp_say("archives in %s are linked as they are: what their code does is not seen",
		       word);
}

/* Sources have been compiled to temporary objects. */
static bool link_checked(const struct compile_line *line, const struct runtimes *runtimes)
{
	const char *output = line->output ? line->output : "a.out";
	struct archive_objects objects = {0};
	struct compile_words w = {0};
	struct compile_unchecked unchecked = {0};
	bool done;

	for (size_t i = 0; i < line->words; i++) {
		if (line->is_source[i])
			compile_words_own(&w, temporary_object(i));
		else if (line->is_object[i])
			compile_add_object(&w, line->word[i], &unchecked);
		else if (line->is_archive[i])
			add_archive(&w, line, i, &objects);
		else if (!line->is_dropped[i])
			add_word(&w, line->word[i]);
	}
	compile_tell_unchecked(&unchecked);
	compile_words_add(&w, "-o");
	compile_words_own(&w, rp_format("%s" COMPILE_SUFFIX, output));
	archive_objects_free(&objects);
	add_runtimes(&w, compile_is_clang(line->word[0]), runtimes);
	done = compile_run(w.word) == 0;
	rp_strings_free(w.word);
	return done;
}

/* The twin of one word's object; the caller frees. */
static char *object_twin(const struct compile_line *line, size_t source)
{
	char *object =
		line->output ? rp_strdup(line->output) : compile_object_of(line->word[source]);
	char *twin = rp_format("%s" COMPILE_SUFFIX, object);

	free(object);
	return twin;
}

/* A twin of what was there before would tell of a program that is none any more. */
static void forget_twins(const struct compile_line *line)
{
	char *twin;

	if (line->kind == COMPILE_LINK || line->without) {
		twin = rp_format("%s" COMPILE_SUFFIX, line->output ? line->output : "a.out");
		unlink(twin);
		free(twin);
	}
	for (size_t i = 1; line->kind == COMPILE_OBJECT && i < line->words; i++) {
		if (!line->is_source[i])
			continue;
		twin = object_twin(line, i);
		unlink(twin);
		free(twin);
	}
}

static bool make_objects(const struct compile_line *line, const struct runtimes *runtimes)
{
	bool done = true;

	for (size_t i = 1; i < line->words && done; i++) {
		char *twin;

		if (!line->is_source[i])
			continue;
		twin = object_twin(line, i);
		done = compile_checked(line, i, twin, runtimes);
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
		char *object = temporary_object(i), *archive = temporary_archive(i);

		if (line->is_source[i])
			unlink(object);
		if (line->is_archive[i])
			unlink(archive);
		free(object);
		free(archive);
	}
	return done;
}

static void say_without(const struct compile_line *line)
{
	const char *what = line->output ? line->output : "what was compiled", *why;

	if (!strcmp(line->without, "-shared"))
		why = "what a shared library does is not seen; 'reprise races --valgrind' sees it";
	else if (!strcmp(line->without, "-r"))
		why = "objects that are joined by -r are linked as they are";
	else if (*line->without == '@')
		why = "words in a file are not read";
	else
		why = "a static program cannot be recorded";
	rp_say("there is no checked twin of %s: %s", what, why);
}

static void make_twin(const struct compile_line *line, struct runtimes *runtimes)
{
	bool done = true;

	if (line->without)
		say_without(line);
	if (line->kind != COMPILE_OBJECT && line->kind != COMPILE_LINK)
		return;
	if (runtimes->in_line && compile_is_clang(line->word[0]) &&
	    !links_in_line(line, runtimes->in_line)) {
		free(runtimes->in_line);
		runtimes->in_line = NULL;
	}
	if (line->kind == COMPILE_OBJECT)
		done = make_objects(line, runtimes);
	else
		done = make_program(line, runtimes);
	if (!done)
		forget_twins(line);
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
	int code = find_runtime("reprise-race.o", &runtimes->race);

	if (!code)
		code = find_runtime("reprise-accesses.o", &runtimes->accesses);
	runtimes->in_line = launch_library_find("reprise-accesses-clang.o");
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
		forget_twins(&line);
		code = compile_program(&line, &runtimes);
		if (!code)
			make_twin(&line, &runtimes);
		compile_line_free(&line);
	}
	free(runtimes.race);
	free(runtimes.accesses);
	free(runtimes.in_line);
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
	"For example: make CC=\"reprise cc gcc\", or CC=\"reprise cc clang\" ./configure, or "     \
	"CC=\"reprise cc gcc\" cmake -B build. The "                                               \
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
