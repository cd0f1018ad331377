/* SPDX-License-Identifier: Apache-2.0 */
/* reprise rm: removes traces, or what can be made of them again. */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/show.h"
#include "trace/dir.h"

struct wanted {
	bool derived;
};

static const struct cmd_option options[] = {
	{.name = "derived",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, derived),
	 .help = "only what verbs make again when they need it: evaluations, images, logs"},
	CMD_OPTION_END,
};

static int remove_derived(struct trace_dir *dir)
{
	static const char *const derived[] = {"graph", "ckpt", "log", "memory"};
	int rc = 0;

	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]) && !rc; i++)
		rc = trace_dir_remove_part(dir, derived[i]);
	return rc;
}

static int remove_one(const char *path, const struct wanted *w)
{
	struct trace_dir dir;
	int code = trace_dir_open(&dir, path), rc, pid;
	char *show;

	if (code)
		return code;
	show = cmd_show_text(path);
	pid = trace_dir_user(&dir);
	if (pid) {
		rp_say("%s is in use: process %d records or replays it", show, pid);
		code = RP_EXIT_BAD_INPUT;
	} else {
		rc = w->derived ? remove_derived(&dir) : trace_dir_delete(&dir);
		if (rc)
			rp_say("cannot remove %s: %s", show, strerror(-rc));
		code = rc ? RP_EXIT_FAILURE : 0;
	}
	free(show);
	trace_dir_close(&dir);
	return code;
}

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_rm, argc, argv, &w, &operands), one;

	if (!code && !operands.all) {
		rp_say("which traces? 'reprise ls' lists them");
		return RP_EXIT_BAD_INPUT;
	}
	if (!code) {
		/* One that cannot be removed is said, and the others go. */
		for (size_t i = 0; operands.all[i]; i++) {
			one = remove_one(operands.all[i], &w);
			if (one)
				code = one;
		}
	}
	free(operands.all);
	return code;
}

const struct cmd_verb cmd_rm = {
	.name = "rm",
	.takes = CMD_TAKES_TRACES,
	.summary = "Removes traces",
	.about = "Only directories that are traces are removed, with all that was made of them, "
		 "and none "
		 "that is being recorded or replayed.\n",
	.options = options,
	.run = run,
};
