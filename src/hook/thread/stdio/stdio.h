/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of stdio as objects: see stdio.c. */
#ifndef HOOK_SYNC_STDIO_H
#define HOOK_SYNC_STDIO_H

/* The common name of the stream, such as "standard output", or NULL if it has none. */
const char *hook_stdio_name(const void *object);

#endif
