/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of a compiler, as far as it matters for the checked twin of what it makes: what
 * is compiled, what is linked, and where that goes.
 */
#ifndef CMD_COMPILE_H
#define CMD_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#define COMPILE_SUFFIX "-checked"

enum compile_kind {
	COMPILE_OTHER,  /* nothing that has a twin: preprocessing, a question, a library */
	COMPILE_OBJECT, /* -c */
	COMPILE_LINK,   /* a program, of sources and objects */
};

struct compile_line {
	char **word;     /* the command line; word[0] is the compiler */
	bool *is_source; /* by word */
	bool *is_object;
	bool *is_archive; /* "x.a", "-lx", or the first word of "-l x" */
	bool *is_dropped; /* not for the twin: where output and dependencies go */
	size_t words, sources, objects, archives;
	const char *output; /* -o, or NULL */
	bool is_linked;     /* to a program, or to a shared library */
	enum compile_kind kind;
	const char *without; /* COMPILE_OTHER: code has no twin because of this word; or NULL */
};

/* The words stay the caller's. */
void compile_line_read(struct compile_line *line, char **words);
void compile_line_free(struct compile_line *line);

/* What is behind -l, in the word or the next one; NULL: it is no such word. */
const char *compile_library_of(const struct compile_line *line, size_t word);

/* The archive that the word stands for, as the linker finds it in -L; NULL: none, or a shared
 * library. The caller frees. */
char *compile_archive_of(const struct compile_line *line, size_t word);

/* Where the compiler puts a source's object without -o: "x.o" for "a/x.c"; the caller frees. */
char *compile_object_of(const char *source);

#endif
