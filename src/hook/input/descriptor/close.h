/* SPDX-License-Identifier: Apache-2.0 */
/* Our own descriptors do not exist for the program. */
#ifndef HOOK_INPUT_CLOSE_H
#define HOOK_INPUT_CLOSE_H

#include <stdbool.h>

bool hook_close_is_ours(int fd);

#endif
