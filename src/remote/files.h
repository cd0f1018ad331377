/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that the process writes, as they are at a moment of its run: all copies of the process have
 * them in common. Those that it opens to write are its own, in the session
 * (hook/session/private.h), and what they are called is in its memory. What is left is what they
 * hold, which of them are there, and that others which it writes, the user's, are as they were.
 */
#ifndef REMOTE_FILES_H
#define REMOTE_FILES_H

#include "remote/process.h"

struct remote_file {
	char *name; /* in the session; or NULL: */
	int fd;
	uint64_t inode, size, hash;
	uint8_t *saved; /* NULL: it is too large for that */
};

struct remote_files {
	struct remote_file *file;
	size_t files;
};

void remote_files_note(const struct remote_process *p, struct remote_files *f);

/* As they were then. What cannot be put back is said, once. */
void remote_files_put_back(const struct remote_process *p, const struct remote_files *f);

/* Are they as they were? */
bool remote_files_are(const struct remote_process *p, const struct remote_files *f);

void remote_files_free(struct remote_files *f);

#endif
