/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as one file: a tar archive, compressed by zstd with a checksum over all of it. Its
 * entries lie below the name of the trace's directory; meta.json is the last, so that a directory
 * in which unpacking was cut off is no trace. A function that fails has said why and returns the
 * exit code.
 */
#ifndef TRACE_PACK_H
#define TRACE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/dir.h"

#define TRACE_PACK_SUFFIX ".tar.zst"

struct trace_packed {
	uint64_t files;
	uint64_t bytes;  /* of the files */
	uint64_t packed; /* of the archive */
};

/*
 * Packs the trace into `file`, which must not be there; it is there as a whole or not at all. What
 * of `without` lies directly in the trace's directory is left out; the list ends with NULL. So are
 * the directories of replays at work, and links.
 */
int trace_pack(const struct trace_dir *dir, const char *file, const char *const without[],
	       struct trace_packed *packed) __attribute__((warn_unused_result));

/*
 * Unpacks a file into the directory `wanted`, or, if that is NULL, into one with the trace's name
 * where traces are recorded; it must not be there. *show is its name as a person would type it,
 * which the caller frees.
 */
int trace_unpack(const char *file, const char *wanted, struct trace_packed *packed, char **show)
	__attribute__((warn_unused_result));

#endif
