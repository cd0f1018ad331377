/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a verb, declared once. Parsing, the usage line, the help and shell completion all
 * come from this table, and a test compares the manual pages with it. A name means the same in
 * every verb that has it (tests/unit/test-options.c).
 */
#ifndef CMD_OPTION_H
#define CMD_OPTION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cmd_verb;

enum cmd_option_kind {
	CMD_FLAG,    /* bool: becomes true */
	CMD_TEXT,    /* const char *: any but the empty text */
	CMD_CHOICE,  /* unsigned: which of the words "this|that", from 0 */
	CMD_NUMBER,  /* uint64_t */
	CMD_COUNT,   /* size_t: a number from 1 on */
	CMD_SECONDS, /* double: above 0 */
	CMD_OWN,     /* what read() makes of it */
};

struct cmd_option {
	const char *name;
	const char *value; /* the word for its value, or "this|that"; NULL: it takes none */
	const char *help;
	/* CMD_OWN: 0, or the exit code after saying what is wrong. The text is NULL if there is
	   none. */
	int (*read)(void *target, const char *text);
	size_t target; /* offset in the struct that the verb gives */
	enum cmd_option_kind kind;
	char letter;   /* 'o' for -o; 0: it has none */
	bool optional; /* the value */
};

/* A CMD_CHOICE that was not made. */
#define CMD_NO_CHOICE UINT_MAX

/* What follows the options. */
enum cmd_takes {
	CMD_TAKES_NOTHING,
	CMD_TAKES_TRACE,         /* or none: the latest */
	CMD_TAKES_TRACE_COMMAND, /* the same, and a command behind "--" */
	CMD_TAKES_RANK_TRACE,    /* a rank, perhaps a trace, and arguments behind "--" */
	CMD_TAKES_COMMAND,       /* whose options are its own */
	CMD_TAKES_VERB,          /* or none */
	CMD_TAKES_SHELL,
	CMD_TAKES_TRACES, /* one or more */
	CMD_TAKES_PACKED, /* a file that 'pack' made */
};

struct cmd_operands {
	const char *first; /* trace, verb, shell or file, or NULL */
	const char **all;  /* CMD_TAKES_TRACES: ended by NULL; the caller frees */
	const char *trace; /* behind a rank, or NULL */
	char **command;    /* or NULL */
};

/* The verb has shown its help: there is nothing left to do. */
#define CMD_HELPED (-1)

/*
 * Reads argv into the struct `wanted`, whose members the verb's options set. The caller has filled
 * it with the defaults. 0, CMD_HELPED, or the exit code after saying what is wrong.
 */
int cmd_options_read(const struct cmd_verb *verb, int argc, char **argv, void *wanted,
		     struct cmd_operands *operands) __attribute__((warn_unused_result));

/* "--output=DIR", "--map OLD=NEW", "--noise[=SEED]"; the caller frees. */
char *cmd_option_text(const struct cmd_option *option);

void cmd_print_usage(FILE *out, const struct cmd_verb *verb);

/* The name that `word` is most like, NULL if like none; names end with NULL. */
const char *cmd_nearest(const char *word, const char *const names[]);

/* Options of more than one verb. */
enum cmd_format { CMD_FORMAT_TEXT, CMD_FORMAT_JSON };

struct cmd_noise {
	bool given, seeded;
	uint64_t seed;
};

int cmd_read_noise(void *noise, const char *text);
/* "200M": a number of bytes, for that option. */
int cmd_read_bytes(uint64_t *bytes, const char *text, const char *option);
int cmd_read_mpi(void *mpi, const char *text);
int cmd_read_map(void *nothing, const char *text);
int cmd_read_trust(void *nothing, const char *text);

#define CMD_OPTION_FORMAT(type, member)                                                            \
	{                                                                                          \
		.name = "format", .value = "text|json", .kind = CMD_CHOICE,                        \
		.target = offsetof(type, member), .help = "json is for scripts"                    \
	}
#define CMD_OPTION_MAP                                                                             \
	{                                                                                          \
		.name = "map", .value = "OLD=NEW", .kind = CMD_OWN, .read = cmd_read_map,          \
		.help = "the directory OLD is now at NEW; may be repeated"                         \
	}
#define CMD_OPTION_TRUST                                                                           \
	{                                                                                          \
		.name = "trust", .kind = CMD_OWN, .read = cmd_read_trust,                          \
		.help = "run the recorded command, although you did not record it here"            \
	}
#define CMD_OPTION_FORCE(type, member)                                                             \
	{                                                                                          \
		.name = "force", .kind = CMD_FLAG, .target = offsetof(type, member),               \
		.help = "replay although the program or a library has changed"                     \
	}
#define CMD_OPTION_PATIENCE(type, member, usual)                                                   \
	{                                                                                          \
		.name = "patience", .value = "SECONDS", .kind = CMD_SECONDS,                       \
		.target = offsetof(type, member),                                                  \
		.help = "how long nothing may happen before the run counts as hung (" usual ")"    \
	}
#define CMD_OPTION_NOISE(type, member)                                                             \
	{                                                                                          \
		.name = "noise", .value = "SEED", .optional = true, .kind = CMD_OWN,               \
		.read = cmd_read_noise, .target = offsetof(type, member),                          \
		.help = "delay events at random, so that rare orders show up"                      \
	}
#define CMD_OPTION_MPI(type, member)                                                               \
	{                                                                                          \
		.name = "mpi", .value = "openmpi|mpich|none", .kind = CMD_OWN,                     \
		.read = cmd_read_mpi, .target = offsetof(type, member),                            \
		.help = "the MPI that the program uses, if Reprise cannot find out"                \
	}
#define CMD_OPTION_END                                                                             \
	{                                                                                          \
		.name = NULL                                                                       \
	}

#endif
