/* SPDX-License-Identifier: Apache-2.0 */
/* Which files the program is made of, and that replay runs the same ones. */
#ifndef HOOK_MODULES_H
#define HOOK_MODULES_H

#include <stdbool.h>

/* Recording: writes a line for each file loaded at start. Replay: compares. */
void hook_modules_start(void);

/* Recording: a line "key=value" for `reprise info`. */
void hook_modules_note(const char *text);

/* Replay: has the calling thread noted this line? */
bool hook_modules_noted(const char *text);

#endif
