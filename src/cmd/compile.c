/* SPDX-License-Identifier: Apache-2.0 */
/* gcc's and clang's options that have a word of their own behind them, and those that decide. */
#include "cmd/compile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_one_of(const char *word, const char *const *list)
{
	while (*list && strcmp(*list, word) != 0)
		list++;
	return *list != NULL;
}

/* The next word belongs to it. */
static bool takes_next(const char *word)
{
	static const char *const list[] = {
		"-o",        "-I",         "-D",           "-U",      "-L",
		"-l",        "-x",         "-T",           "-u",      "-z",
		"-e",        "-MF",        "-MT",          "-MQ",     "-include",
		"-isystem",  "-idirafter", "-iprefix",     "-iquote", "-imacros",
		"-isysroot", "-Xlinker",   "-Xassembler",  "-Xclang", "-Xpreprocessor",
		"-mllvm",    "--param",    "-arch",        "-target", "-aux-info",
		"-dumpbase", "-rpath",     "-iwithprefix", NULL};

	return is_one_of(word, list);
}

/* What is made then is no object and no program. */
static bool makes_other(const char *word)
{
	static const char *const list[] = {
		"-E",   "-S",           "-M",           "-MM",    "--version", "-fsyntax-only",
		"-###", "-dumpversion", "-dumpmachine", "--help", NULL};

	return is_one_of(word, list) || !strncmp(word, "-print-", 7);
}

/* What is made then is code, for which there is no twin all the same. */
static bool makes_without(const char *word)
{
	static const char *const list[] = {"-shared", "-r", "-static", "-static-pie", NULL};

	return is_one_of(word, list) || *word == '@';
}

/* Dependencies are written once; sanitizers are not for the twin. */
static bool is_dropped(const char *word)
{
	static const char *const list[] = {"-o", "-MD", "-MMD", "-MP", "-MF", "-MT", "-MQ", NULL};

	return is_one_of(word, list) || !strncmp(word, "-fsanitize", 10) ||
	       !strncmp(word, "-Wp,-M", 6);
}

static bool ends_with_one_of(const char *word, const char *const *list)
{
	const char *dot = strrchr(word, '.');

	return dot && is_one_of(dot, list);
}

static bool is_source(const char *word)
{
	static const char *const list[] = {".c",   ".cc", ".cpp", ".cxx", ".C",   ".c++",
					   ".CPP", ".f",  ".F",   ".f90", ".F90", ".f08",
					   ".F08", ".i",  ".ii",  NULL};

	return ends_with_one_of(word, list);
}

static bool is_object(const char *word)
{
	static const char *const list[] = {".o", ".obj", ".lo", NULL};

	return ends_with_one_of(word, list);
}

static bool is_archive(const char *word)
{
	static const char *const list[] = {".a", NULL};

	return *word == '-' ? !strncmp(word, "-l", 2) : ends_with_one_of(word, list);
}

static void judge(struct compile_line *line, bool only_objects, bool other)
{
	/* A place that is no file has no place beside it. */
	other |= line->output && !strncmp(line->output, "/dev/", 5);
	/* Without a link, options of the linker do nothing. */
	if (other || (only_objects && line->without && *line->without != '@'))
		line->without = NULL;
	if (other || line->without || (!line->sources && !line->objects && !line->archives))
		line->kind = COMPILE_OTHER;
	else if (only_objects)
		line->kind = line->sources ? COMPILE_OBJECT : COMPILE_OTHER;
	else
		line->kind = COMPILE_LINK;
}

void compile_line_read(struct compile_line *line, char **words)
{
	bool only_objects = false, other = false, shared = false;

	*line = (struct compile_line){.word = words, .words = rp_strings_count(words)};
	line->is_source = rp_alloc(line->words + 1, sizeof(bool));
	line->is_object = rp_alloc(line->words + 1, sizeof(bool));
	line->is_archive = rp_alloc(line->words + 1, sizeof(bool));
	line->is_dropped = rp_alloc(line->words + 1, sizeof(bool));
	for (size_t i = 1; i < line->words; i++) {
		const char *word = words[i];

		line->is_dropped[i] = is_dropped(word);
		only_objects |= !strcmp(word, "-c");
		other |= makes_other(word);
		if (makes_without(word))
			line->without = word;
		shared |= !strcmp(word, "-shared");
		if (!strncmp(word, "-o", 2) && word[2]) {
			line->output = word + 2;
			line->is_dropped[i] = true;
		}
		if (takes_next(word) && i + 1 < line->words) {
			if (!strcmp(word, "-o"))
				line->output = words[i + 1];
			line->is_archive[i] = is_archive(word);
			line->is_dropped[i + 1] = line->is_dropped[i] || line->is_archive[i];
			i++;
		} else if (*word != '-' && is_source(word)) {
			line->is_source[i] = true;
			line->sources++;
		} else if (*word != '-' && is_object(word)) {
			line->is_object[i] = true;
			line->objects++;
		} else if (is_archive(word)) {
			line->is_archive[i] = true;
			line->archives += *word != '-';
		}
	}
	judge(line, only_objects, other);
	line->is_linked = line->kind == COMPILE_LINK || (shared && !only_objects);
}

void compile_line_free(struct compile_line *line)
{
	free(line->is_source);
	free(line->is_object);
	free(line->is_archive);
	free(line->is_dropped);
}

const char *compile_library_of(const struct compile_line *line, size_t word)
{
	const char *name = line->word[word];

	if (strncmp(name, "-l", 2) != 0)
		return NULL;
	return name[2] ? name + 2 : line->word[word + 1];
}

/* Since then, the linker passes over shared libraries. */
static bool is_static_at(const struct compile_line *line, size_t word)
{
	while (--word && strcmp(line->word[word], "-Wl,-Bdynamic") != 0) {
		if (!strcmp(line->word[word], "-Wl,-Bstatic"))
			return true;
	}
	return false;
}

static bool is_there(const char *directory, const char *name, const char *suffix, char **path)
{
	*path = *name == ':' ? rp_format("%s/%s", directory, name + 1)
			     : rp_format("%s/lib%s%s", directory, name, suffix);
	return access(*path, R_OK) == 0;
}

/* In one directory a shared library comes first. *found: there is one or the other. */
static char *library_in(const char *directory, const char *name, bool is_static, bool *found)
{
	char *shared, *archive;
	bool is_shared = is_there(directory, name, ".so", &shared);

	is_shared = is_shared && !is_static && !is_archive(shared);
	*found = is_there(directory, name, ".a", &archive) || is_shared;
	free(shared);
	if (*found && !is_shared)
		return archive;
	free(archive);
	return NULL;
}

char *compile_archive_of(const struct compile_line *line, size_t word)
{
	const char *name = compile_library_of(line, word);
	bool is_static = is_static_at(line, word), found = false;
	char *archive = NULL;

	if (!name)
		return rp_strdup(line->word[word]);
	for (size_t i = 1; i < line->words && !found; i++) {
		const char *directory = line->word[i] + 2;

		if (strncmp(line->word[i], "-L", 2) != 0)
			continue;
		if (!*directory && i + 1 < line->words)
			directory = line->word[i + 1];
		archive = library_in(directory, name, is_static, &found);
	}
	return archive;
}

char *compile_object_of(const char *source)
{
	const char *slash = strrchr(source, '/');
	const char *name = slash ? slash + 1 : source;
	const char *dot = strrchr(name, '.');

	return rp_format("%.*s.o", (int)(dot ? dot - name : (long)strlen(name)), name);
}
