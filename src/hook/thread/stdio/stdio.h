/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of stdio as objects: see stdio.c. */
#ifndef HOOK_SYNC_STDIO_H
#define HOOK_SYNC_STDIO_H

/* What people call the stream or output, or NULL: it has no name, or is something else. */
const char *hook_stdio_name(const void *object);

#endif
