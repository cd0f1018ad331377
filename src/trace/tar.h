/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of a tar archive (ustar; sizes from 8 GiB on in base 256, as GNU tar writes them): as
 * much of it as a trace needs, which is files and directories. What is read is not trusted.
 */
#ifndef TRACE_TAR_H
#define TRACE_TAR_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_TAR_BLOCK 512
#define TRACE_TAR_NAME 257 /* bytes of the longest name, with the zero behind it */

struct trace_tar_entry {
	char name[TRACE_TAR_NAME];
	bool directory;
	uint64_t size; /* of a file; whole blocks follow the header */
};

/* 0, or -ENAMETOOLONG. */
int trace_tar_put(const struct trace_tar_entry *entry, char block[TRACE_TAR_BLOCK])
	__attribute__((warn_unused_result));

/*
 * 1; 0 at the end of the archive; -EBADMSG: this is no header; -ENOTSUP: it is of something else
 * than a file or directory. A name that is given is relative, and no part of it is "" or "." or
 * "..".
 */
int trace_tar_get(const char block[TRACE_TAR_BLOCK], struct trace_tar_entry *entry)
	__attribute__((warn_unused_result));

/* Bytes behind the contents of a file, up to the next block. */
static inline uint64_t trace_tar_padding(uint64_t size)
{
	return -size % TRACE_TAR_BLOCK;
}

#endif
