/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of compilers, made and run. */
#ifndef CMD_COMPILE_RUN_H
#define CMD_COMPILE_RUN_H

#include <stdbool.h>
#include <stddef.h>

/* Words that grow. */
struct compile_words {
	char **word;
	size_t count;
};

void compile_words_add(struct compile_words *w, const char *word);
/* The same, and frees it. */
void compile_words_own(struct compile_words *w, char *word);

/* Objects that are linked to a twin as they are. */
struct compile_unchecked {
	const char *first;
	size_t count;
};

/* The twin of an object; without one that is up to date, the object itself, and it is counted. */
void compile_add_object(struct compile_words *w, const char *object, struct compile_unchecked *u);
void compile_tell_unchecked(const struct compile_unchecked *u);

/* The exit status, 128 and the signal, or 127. */
int compile_run(char **word);
/* What it prints is not for anybody. */
int compile_run_quietly(char **word);

/* Whatever its name, clang says that it is one. */
bool compile_is_clang(const char *compiler);

#endif
