/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of ours: for the program they are not there. */
#ifndef HOOK_INPUT_CLOSE_H
#define HOOK_INPUT_CLOSE_H

#include <stdbool.h>

bool hook_close_is_ours(int fd);

#endif
