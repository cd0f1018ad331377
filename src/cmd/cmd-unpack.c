/* SPDX-License-Identifier: Apache-2.0 */
/* reprise unpack: the trace in a file that 'reprise pack' made. */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "cmd/show.h"
#include "trace/pack.h"

struct wanted {
	const char *output;
};

static const struct cmd_option options[] = {
	{.name = "output",
	 .letter = 'o',
	 .value = "DIR",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, output),
	 .help = "the new trace directory; it must not exist; without it the name it had"},
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	struct trace_packed packed;
	char *show, *text, *size;
	int code = cmd_options_read(&cmd_unpack, argc, argv, &w, &operands);

	if (code)
		return code;
	if (!operands.first) {
		rp_say("which file? 'reprise unpack FILE'");
		return RP_EXIT_BAD_INPUT;
	}
	code = trace_unpack(operands.first, w.output, &packed, &show);
	if (code)
		return code;
	text = cmd_show_text(show);
	size = cmd_show_size(packed.bytes);
	printf("%s: %s in %" PRIu64 " files\n", text, size, packed.files);
	free(text);
	free(size);
	free(show);
	return 0;
}

const struct cmd_verb cmd_unpack = {
	.name = "unpack",
	.takes = CMD_TAKES_PACKED,
	.summary = "Unpacks a trace that 'reprise pack' packed",
	.about = "The trace is then the latest one. Nothing of it runs: 'reprise replay' asks "
		 "first, "
		 "unless you recorded it yourself.\n",
	.options = options,
	.run = run,
};
