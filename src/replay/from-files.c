/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a run makes and reads itself. A process that goes on from an image has those that were
 * open there as they were. All others are as the run has left them, which is wrong for whoever
 * reads them once more.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "replay/from.h"
#include "trace/files.h"
#include "trace/output.h"

static bool reads_fresh(const struct trace_view *view)
{
	struct trace_file file;
	uint64_t at = 0;

	while (trace_file_next(view, &at, &file) == 1) {
		if (file.flags & TRACE_FILE_FRESH)
			return true;
	}
	return false;
}

/* Where it comes to write is where the file ends. */
static bool appends(const struct trace_view *view)
{
	struct trace_output o;
	bool found = false;

	if (trace_output_read(&o, view) != 0)
		return true;
	for (size_t i = 0; i < o.files; i++)
		found |= o.file[i].appended;
	trace_output_free(&o);
	return found;
}

bool replay_from_rereads(const struct trace_run *run, size_t rank)
{
	const struct trace_run_rank *r = &run->rank[rank];
	char dir[TRACE_RANK_NAME_BYTES];
	bool found = false;
	int fd;

	trace_dir_rank_name(r->rank, dir);
	fd = openat(run->dir.fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t k = 0; k < r->streams && !found; k++) {
		const struct trace_run_stream *s = &r->stream[k];
		struct trace_view view;
		const char *why;

		if (s->kind != TRACE_STREAM_FILES && s->kind != TRACE_STREAM_OUTPUT)
			continue;
		if (trace_view_open(&view, fd, s->name, &why) != 0)
			continue;
		found = s->kind == TRACE_STREAM_FILES ? reads_fresh(&view) : appends(&view);
		trace_view_close(&view);
	}
	if (fd >= 0)
		close(fd);
	return found;
}
