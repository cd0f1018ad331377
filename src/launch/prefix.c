/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skips what belongs to a prefix command: options with their values, operands, assignments. Short
 * options with a value are in the table. A long option that no '=' joins to a value is guessed: the
 * next word is its value if nothing of that name could be started.
 */
#include "launch/prefix.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "launch/program.h"

static const struct prefix {
	const char *name;
	const char *valued; /* letters of options that take the next word */
	int operands;       /* words before the command */
} prefixes[] = {
	{"env", "uC", 0},  {"timeout", "ks", 1},      {"nice", "n", 0},   {"ionice", "cn", 0},
	{"time", "fo", 0}, {"stdbuf", "ioe", 0},      {"taskset", "", 1}, {"nohup", "", 0},
	{"setsid", "", 0}, {"numactl", "imNCpPw", 0},
};

static const struct prefix *find(const char *word)
{
	const char *slash = strrchr(word, '/');

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strcmp(prefixes[i].name, slash ? slash + 1 : word))
			return &prefixes[i];
	}
	return NULL;
}

static bool is_assignment(const char *word)
{
	size_t n = 0;

	while (isalnum((unsigned char)word[n]) || word[n] == '_')
		n++;
	return n && word[n] == '=';
}

/* Is the word after this option its value? */
static bool takes_next(const struct prefix *prefix, const char *option, const char *next)
{
	if (option[1] == '-')
		return option[2] && !strchr(option, '=') && next && next[0] != '-' &&
		       !launch_program_exists(next);
	return option[1] && !option[2] && strchr(prefix->valued, option[1]);
}

size_t launch_prefix_skip(char *const *argv)
{
	const struct prefix *prefix = find(argv[0]);
	int operands = prefix ? prefix->operands : 0;

	for (size_t i = 1; prefix && argv[i]; i++) {
		const struct prefix *next = find(argv[i]);

		if (argv[i][0] == '-') {
			i += takes_next(prefix, argv[i], argv[i + 1]) && argv[i + 1];
		} else if (operands > 0) {
			operands--;
		} else if (next) {
			prefix = next;
			operands = next->operands;
		} else if (!is_assignment(argv[i])) {
			return i;
		}
	}
	return 0;
}
