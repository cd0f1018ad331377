/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs. Each cmd-VERB.c exports one struct cmd_verb; verbs.c has the table. A verb gets argv
 * with argv[0] = its name, reads it by cmd_options_read(), prints answers on stdout and words with
 * rp_say(), and returns the exit code or CMD_HELPED. main() checks stdout for write errors
 * afterwards.
 */
#ifndef CMD_H
#define CMD_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/option.h"

#ifndef REPRISE_VERSION
#define REPRISE_VERSION "0.1.0"
#endif

struct cmd_verb {
	const char *name;
	const char *summary;              /* one line, no full stop */
	const char *about;                /* what it does, before the options; may be NULL */
	const struct cmd_option *options; /* ended by CMD_OPTION_END; may be NULL */
	const char *notes;                /* what else is to be said, behind them; may be NULL */
	int (*run)(int argc, char **argv);
	enum cmd_takes takes;
	bool hidden;
};

extern const struct cmd_verb cmd_record;
extern const struct cmd_verb cmd_replay;
extern const struct cmd_verb cmd_gdb;
extern const struct cmd_verb cmd_debug;
extern const struct cmd_verb cmd_dap;
extern const struct cmd_verb cmd_gdb_target;
extern const struct cmd_verb cmd_explore;
extern const struct cmd_verb cmd_evaluate;
extern const struct cmd_verb cmd_checkpoint;
extern const struct cmd_verb cmd_lines;
extern const struct cmd_verb cmd_reduce;
extern const struct cmd_verb cmd_info;
extern const struct cmd_verb cmd_ls;
extern const struct cmd_verb cmd_dump;
extern const struct cmd_verb cmd_pack;
extern const struct cmd_verb cmd_unpack;
extern const struct cmd_verb cmd_rm;
extern const struct cmd_verb cmd_hang;
extern const struct cmd_verb cmd_races;
extern const struct cmd_verb cmd_stats;
extern const struct cmd_verb cmd_cc;
extern const struct cmd_verb cmd_cxx;
extern const struct cmd_verb cmd_doctor;
extern const struct cmd_verb cmd_completion;
extern const struct cmd_verb cmd_help;
extern const struct cmd_verb cmd_rank;

/* All verbs, ended by NULL. */
extern const struct cmd_verb *const cmd_verbs[];

const struct cmd_verb *cmd_find(const char *name);

/* Says that there is no such verb, and which one may have been meant; returns the exit code 2. */
int cmd_unknown(const char *name);

void cmd_print_overview(FILE *out);

#endif
