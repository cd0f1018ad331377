/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the program is as it is without us: the variables by which the tool speaks to
 * this library (launch/rank.c) are taken out when the process begins, and given to every program
 * that it executes.
 */
#ifndef HOOK_COMMON_ENVIRON_H
#define HOOK_COMMON_ENVIRON_H

#include <stddef.h>

/* Takes them out of the array in place: main() gets the same one. */
void hook_environ_hide(void);

/* As getenv, of ours, too. */
const char *hook_environ_get(const char *name);

/* Programs that are executed from now on get this value; the name is one of ours. */
void hook_environ_change(const char *name, const char *value);

/* How many bytes a whole environment takes; then it is made there. Good in a child by vfork. */
size_t hook_environ_room(char *const *env);
char *const *hook_environ_whole(char *const *env, void *room);

/* Around calls of the program that change it: they may not come in between. */
void hook_environ_begin(void);
void hook_environ_end(void);

/* Around calls of libc that execute something with the environment of the process. */
void hook_environ_show(void);
void hook_environ_unshow(void);

#endif
