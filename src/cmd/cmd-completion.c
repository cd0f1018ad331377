/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise completion bash: a script that completes command lines, from the tables of the verbs. It
 * is installed where bash looks for it.
 */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* How the words of a value are completed: "=DIR" by directories, or from the list. */
static void print_value(const struct cmd_option *o)
{
	if (strchr(o->value, '|')) {
		for (const char *c = o->value; *c; c++)
			putchar(*c == '|' ? ' ' : *c);
	} else if (!strcmp(o->value, "DIR") || !strcmp(o->value, "OLD=NEW")) {
		fputs("DIR", stdout);
	} else {
		fputs("ANY", stdout);
	}
}

/* "VERB:OPTION" and its values. An option whose value is optional takes no separate word. */
static void print_values(const struct cmd_verb *verb)
{
	for (const struct cmd_option *o = verb->options; o && o->name; o++) {
		if (!o->value)
			continue;
		printf("\t%s:--%s", verb->name, o->name);
		if (o->letter)
			printf(" | %s:-%c", verb->name, o->letter);
		printf(") %s=\"", o->optional ? "joined=1; values" : "values");
		print_value(o);
		puts("\" ;;");
	}
}

static void print_options(const struct cmd_verb *verb)
{
	printf("\t%s) words=\"--help", verb->name);
	for (const struct cmd_option *o = verb->options; o && o->name; o++) {
		printf(" --%s%s", o->name, o->value && !o->optional ? "=" : "");
		if (o->letter)
			printf(" -%c", o->letter);
	}
	printf("\" ;;\n");
}

static void print_operands(const struct cmd_verb *verb)
{
	static const char *const kind[] = {
		[CMD_TAKES_NOTHING] = "",          [CMD_TAKES_TRACE] = "DIR",
		[CMD_TAKES_TRACE_COMMAND] = "DIR", [CMD_TAKES_COMMAND] = "COMMAND",
		[CMD_TAKES_VERB] = "VERB",         [CMD_TAKES_SHELL] = "bash",
		[CMD_TAKES_TRACES] = "DIR",        [CMD_TAKES_PACKED] = "FILE",
		[CMD_TAKES_RANK_TRACE] = "DIR",
	};

	printf("\t%s) values=\"%s\" ;;\n", verb->name, kind[verb->takes]);
}

static void for_each(void (*print)(const struct cmd_verb *verb))
{
	for (size_t i = 0; cmd_verbs[i]; i++) {
		if (!cmd_verbs[i]->hidden)
			print(cmd_verbs[i]);
	}
}

static void print_name(const struct cmd_verb *verb)
{
	printf("%s ", verb->name);
}

static void print_bash(void)
{
	fputs("# bash completion for reprise: made by 'reprise completion bash'.\n\n"
	      "# VERB OPTION: sets values, what may stand behind it, and joined if only with =\n"
	      "_reprise_value() {\n\tvalues= joined=\n\tcase $1:$2 in\n",
	      stdout);
	for_each(print_values);
	fputs("\tesac\n}\n\n# VERB: sets words, its options\n"
	      "_reprise_options() {\n\twords=\n\tcase $1 in\n",
	      stdout);
	for_each(print_options);
	fputs("\tesac\n}\n\n# VERB: sets values, what follows the options\n"
	      "_reprise_operand() {\n\tvalues=\n\tcase $1 in\n",
	      stdout);
	for_each(print_operands);
	fputs("\tesac\n}\n\n_reprise_verbs=\"", stdout);
	for_each(print_name);
	fputs("\"\n\n"
	      "# The value at the cursor, of the kind in values.\n"
	      "_reprise_offer() {\n"
	      "\tcase $values in\n"
	      "\tDIR) compopt -o filenames 2>/dev/null || true; mapfile -t COMPREPLY < <(compgen "
	      "-d -- "
	      "\"$1\") ;;\n"
	      "\tFILE) compopt -o filenames 2>/dev/null || true; mapfile -t COMPREPLY < <(compgen "
	      "-f -- "
	      "\"$1\") ;;\n"
	      "\tVERB) mapfile -t COMPREPLY < <(compgen -W \"$_reprise_verbs\" -- \"$1\") ;;\n"
	      "\tANY | '') ;;\n"
	      "\t*) mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$1\") ;;\n"
	      "\tesac\n"
	      "}\n\n"
	      "_reprise() {\n"
	      "\tlocal at=$COMP_CWORD verb=${COMP_WORDS[1]-} cur=${COMP_WORDS[COMP_CWORD]}\n"
	      "\tlocal values words joined i\n\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((at == 1)); then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$_reprise_verbs --help --version\" -- "
	      "\"$cur\")\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\t# bash breaks words at =: --format=json is three of them.\n"
	      "\tfor ((i = 2; i < at; i++)); do\n"
	      "\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t--) ((i++)); break ;;\n"
	      "\t\t-*)\n"
	      "\t\t\t_reprise_value \"$verb\" \"${COMP_WORDS[i]}\"\n"
	      "\t\t\tif [[ -n $values && ${COMP_WORDS[i + 1]-} == '=' ]]; then\n"
	      "\t\t\t\t((i++))\n"
	      "\t\t\telif [[ -n $joined || -z $values ]]; then\n"
	      "\t\t\t\tcontinue\n"
	      "\t\t\tfi\n"
	      "\t\t\tif ((i + 1 >= at)); then\n"
	      "\t\t\t\t[[ $cur != '=' ]] || cur=\n"
	      "\t\t\t\t_reprise_offer \"$cur\"\n"
	      "\t\t\t\treturn\n"
	      "\t\t\tfi\n"
	      "\t\t\t((i++))\n"
	      "\t\t\t;;\n"
	      "\t\t*) break ;;\n"
	      "\t\tesac\n"
	      "\tdone\n"
	      "\t_reprise_operand \"$verb\"\n"
	      "\tif [[ $values == COMMAND && ( $i -lt $at || $cur != -* ) ]]; then\n"
	      "\t\tif declare -F _command_offset >/dev/null; then\n"
	      "\t\t\t_command_offset \"$i\"\n"
	      "\t\telif ((i == at)); then\n"
	      "\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
	      "\t\telse\n"
	      "\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	      "\t\tfi\n"
	      "\telif [[ $cur == -* ]]; then\n"
	      "\t\t_reprise_options \"$verb\"\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	      "\t\t[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null || true\n"
	      "\telse\n"
	      "\t\t_reprise_offer \"$cur\"\n"
	      "\tfi\n"
	      "}\n"
	      "complete -F _reprise reprise\n",
	      stdout);
}

static int run(int argc, char **argv)
{
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_completion, argc, argv, NULL, &operands);

	if (code)
		return code;
	if (!operands.first || strcmp(operands.first, "bash")) {
		rp_say("completion is for bash: reprise completion bash");
		return RP_EXIT_BAD_INPUT;
	}
	print_bash();
	return 0;
}

const struct cmd_verb cmd_completion = {
	.name = "completion",
	.takes = CMD_TAKES_SHELL,
	.summary = "Prints a script that lets the shell complete verbs and options",
	.about = "An installed Reprise needs no more: bash finds the script. Without an "
		 "installation:\n\n  source <(reprise completion bash)\n",
	.run = run,
};
