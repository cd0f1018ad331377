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

/* The exit status, 128 and the signal, or 127. */
int compile_run(char **word);
/* What it prints is not for anybody. */
int compile_run_quietly(char **word);

/* Whatever its name, clang says that it is one. */
bool compile_is_clang(const char *compiler);

#endif
