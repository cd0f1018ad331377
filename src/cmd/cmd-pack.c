/* SPDX-License-Identifier: Apache-2.0 */
/* reprise pack: a trace as one file, to be passed on. */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/show.h"
#include "trace/pack.h"

struct wanted {
	const char *file;
	bool images;
};

static const struct cmd_option options[] = {
	{.name = "file",
	 .letter = 'f',
	 .value = "FILE",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, file),
	 .help = "the file; it must not exist; without it TRACE" TRACE_PACK_SUFFIX " here"},
	{.name = "images",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, images),
	 .help = "also images and logs of messages, which 'reprise checkpoint' can make again"},
	CMD_OPTION_END,
};

static int pack(const struct trace_dir *dir, const struct wanted *w)
{
	static const char *const made_again[] = {"ckpt", "log", NULL};
	static const char *const nothing[] = {NULL};
	struct trace_packed packed;
	char *path = rp_strdup(dir->path);
	char *name =
		w->file ? rp_strdup(w->file) : rp_format("%s" TRACE_PACK_SUFFIX, basename(path));
	int code = trace_pack(dir, name, w->images ? nothing : made_again, &packed);

	if (!code) {
		char *show = cmd_show_text(name), *size = cmd_show_size(packed.packed);
		char *before = cmd_show_size(packed.bytes);

		printf("%s: %s, from %s in %" PRIu64 " files\n", show, size, before, packed.files);
		free(show);
		free(size);
		free(before);
	}
	free(path);
	free(name);
	return code;
}

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	struct trace_dir dir;
	int code = cmd_options_read(&cmd_pack, argc, argv, &w, &operands);

	if (!code)
		code = trace_dir_open(&dir, operands.first);
	if (code)
		return code;
	code = pack(&dir, &w);
	trace_dir_close(&dir);
	return code;
}

const struct cmd_verb cmd_pack = {
	.name = "pack",
	.takes = CMD_TAKES_TRACE,
	.summary = "Makes one compressed file of a trace",
	.about = "The file can be passed on. 'reprise unpack' unpacks it. Then 'info', 'dump' and "
		 "the like show the trace, and 'reprise replay' replays it on a machine with the "
		 "same program and libraries. It is a tar archive, compressed by zstd.\n",
	.options = options,
	.notes = "A trace holds the environment, standard input and what was printed: think before "
		 "you pass it on. Without TRACE, the newest trace is used.\n",
	.run = run,
};
