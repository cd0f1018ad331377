/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of objects that have checked twins. Nobody sees how an archive is made, and it names
 * its members without their directories: each is looked for among the objects below the archive's
 * directory and the working directory that have a twin beside them, and is the one that has the
 * very same bytes.
 */
#ifndef CMD_ARCHIVE_H
#define CMD_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/compile-run.h"

/* Objects that have a twin, for all archives of a link; {0} at first. */
struct archive_objects {
	struct compile_words object, directory; /* found, below these */
	size_t looked;
};

void archive_objects_free(struct archive_objects *objects);

/* Of the system: its objects are not the program's. */
bool archive_is_foreign(const char *archive);

/*
 * Writes the archive with twins in place of the members that have one. How many have none goes to
 * *without. 0; -ENOENT if no member has one; or -errno, -EINVAL if it is no archive. The file is
 * there only with 0.
 */
int archive_make_twin(const char *archive, struct archive_objects *objects, const char *out,
		      size_t *without) __attribute__((warn_unused_result));

#endif
