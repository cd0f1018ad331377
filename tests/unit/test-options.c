/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of options: a name means one thing, whatever the verb; values are read as declared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "cmd/cmd.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Options that say what they do in the words of their verb. The meaning is one, and people have
   read these side by side. Whoever words an option anew compares it with the others here. */
static const struct {
	const char *name, *verbs;
} worded_apart[] = {
	{"again", " checkpoint evaluate "},           /* make it again, although it is there */
	{"all", " races stats "},                     /* not only the worst */
	{"at", " dap debug gdb "},                    /* where to begin */
	{"by-rank", " info stats "},                  /* one line per rank */
	{"output", " explore record reduce unpack "}, /* where the new trace comes to lie */
	{"patience", NULL},                           /* how long it is by default */
	{"ranks", " checkpoint replay "},             /* only these */
	{"top", " races stats "},                     /* only the worst N */
	{"using", " evaluate races rank replay "},    /* the checked twin */
	{"valgrind", " races rank "},                 /* the program runs in Valgrind */
};

static bool is_of(const char *verbs, const char *verb)
{
	char word[32];

	snprintf(word, sizeof(word), " %s ", verb);
	return !verbs || strstr(verbs, word);
}

static bool may_be_worded_apart(const char *option, const char *verb, const char *other)
{
	for (size_t i = 0; i < sizeof(worded_apart) / sizeof(worded_apart[0]); i++)
		if (!strcmp(worded_apart[i].name, option))
			return is_of(worded_apart[i].verbs, verb) &&
			       is_of(worded_apart[i].verbs, other);
	return false;
}

static void compare(const struct cmd_verb *v, const struct cmd_option *a, const struct cmd_verb *w,
		    const struct cmd_option *b)
{
	if (!strcmp(a->name, b->name)) {
		if (a->kind != b->kind || a->read != b->read || a->letter != b->letter ||
		    a->optional != b->optional || !same_text(a->value, b->value))
			fail_msg("--%s of %s is not that of %s", a->name, v->name, w->name);
		if (strcmp(a->help, b->help) != 0 &&
		    !may_be_worded_apart(a->name, v->name, w->name))
			fail_msg("--%s of %s says \"%s\", that of %s \"%s\"", a->name, v->name,
				 a->help, w->name, b->help);
		if (v == w && a != b)
			fail_msg("%s has two options --%s", v->name, a->name);
	} else if (a->letter && a->letter == b->letter) {
		fail_msg("-%c is --%s of %s and --%s of %s", a->letter, a->name, v->name, b->name,
			 w->name);
	}
}

static void test_one_meaning(void **state)
{
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; cmd_verbs[i]; i++) {
		for (size_t j = 0; cmd_verbs[j]; j++) {
			const struct cmd_option *a = cmd_verbs[i]->options;

			for (; a && a->name; a++) {
				const struct cmd_option *b = cmd_verbs[j]->options;

				for (; b && b->name; b++, compared++)
					compare(cmd_verbs[i], a, cmd_verbs[j], b);
			}
		}
	}
	assert_true(compared > 1000);
}

static void test_complete(void **state)
{
	(void)state;
	for (size_t i = 0; cmd_verbs[i]; i++) {
		const struct cmd_option *o = cmd_verbs[i]->options;
		size_t n = 0;

		for (; o && o->name; o++, n++) {
			assert_non_null(o->help);
			assert_true(strlen(o->name) < 32);
			assert_true((o->kind == CMD_OWN) == (o->read != NULL));
			if (o->kind != CMD_OWN)
				assert_true((o->kind == CMD_FLAG) == (o->value == NULL));
			if (o->kind == CMD_CHOICE)
				assert_non_null(strchr(o->value, '|'));
			assert_true(o->letter != 'h');
		}
		assert_true(n < 32);
	}
}

struct wanted {
	bool flag;
	const char *text;
	unsigned choice;
	uint64_t number;
	size_t count;
	double seconds;
	struct cmd_noise noise;
};

static const struct cmd_option options[] = {
	{.name = "flag",
	 .letter = 'f',
	 .help = "it",
	 .kind = CMD_FLAG,
	 .target = offsetof(struct wanted, flag)},
	{.name = "text",
	 .letter = 't',
	 .value = "DIR",
	 .help = "it",
	 .kind = CMD_TEXT,
	 .target = offsetof(struct wanted, text)},
	{.name = "choice",
	 .value = "this|that|other",
	 .help = "it",
	 .kind = CMD_CHOICE,
	 .target = offsetof(struct wanted, choice)},
	{.name = "number",
	 .value = "N",
	 .help = "it",
	 .kind = CMD_NUMBER,
	 .target = offsetof(struct wanted, number)},
	{.name = "count",
	 .value = "N",
	 .help = "it",
	 .kind = CMD_COUNT,
	 .target = offsetof(struct wanted, count)},
	{.name = "seconds",
	 .value = "SECONDS",
	 .help = "it",
	 .kind = CMD_SECONDS,
	 .target = offsetof(struct wanted, seconds)},
	CMD_OPTION_NOISE(struct wanted, noise),
	CMD_OPTION_END,
};

static int read_words(enum cmd_takes takes, struct wanted *w, struct cmd_operands *operands,
		      const char *words)
{
	static char text[256], *argv[32];
	const struct cmd_verb verb = {.name = "verb", .options = options, .takes = takes};
	int argc = 0;

	strcpy(text, words);
	argv[argc++] = "verb";
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return cmd_options_read(&verb, argc, argv, w, operands);
}

static void test_values(void **state)
{
	struct cmd_operands operands;
	struct wanted w = {.choice = CMD_NO_CHOICE};

	(void)state;
	assert_int_equal(read_words(CMD_TAKES_TRACE, &w, &operands,
				    "-f trace --text=a --choice that --number=0 --count=3 "
				    "--seconds=1.5 --noise=7"),
			 0);
	assert_true(w.flag && w.choice == 1 && w.number == 0 && w.count == 3);
	assert_true(w.seconds == 1.5 && w.noise.given && w.noise.seeded && w.noise.seed == 7);
	assert_string_equal(w.text, "a");
	assert_string_equal(operands.first, "trace");
	assert_null(operands.command);

	w = (struct wanted){0};
	assert_int_equal(read_words(CMD_TAKES_TRACE_COMMAND, &w, &operands,
				    "--noise trace -tb -- command --flag"),
			 0);
	assert_true(!w.flag && w.noise.given && !w.noise.seeded);
	assert_string_equal(w.text, "b");
	assert_string_equal(operands.first, "trace");
	assert_string_equal(operands.command[0], "command");
	assert_string_equal(operands.command[1], "--flag");

	w = (struct wanted){0};
	assert_int_equal(read_words(CMD_TAKES_COMMAND, &w, &operands, "command --flag"), 0);
	assert_true(!w.flag && !operands.first);
	assert_string_equal(operands.command[1], "--flag");

	assert_int_equal(read_words(CMD_TAKES_NOTHING, &w, &operands, "--help"), CMD_HELPED);
}

static void test_mistakes(void **state)
{
	static const char *const wrong[] = {
		"--flg",       "--flag=x",    "-x",          "--text",
		"--text=",     "--choice=th", "--choice=",   "--choice=thisthat",
		"--number=-1", "--number=x",  "--count=0",   "--count=",
		"--seconds=0", "--seconds=x", "--noise=abc", "--number=99999999999999999999999",
		"one two",     "one -- two",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct cmd_operands operands;
		struct wanted w = {0};

		if (read_words(CMD_TAKES_TRACE, &w, &operands, wrong[i]) != RP_EXIT_BAD_INPUT)
			fail_msg("'%s' is accepted", wrong[i]);
	}
}

static void test_nearest(void **state)
{
	static const char *const names[] = {"format", "force", "map", "trust", NULL};

	(void)state;
	assert_string_equal(cmd_nearest("fromat", names), "format");
	assert_string_equal(cmd_nearest("FORCE", names), "force");
	assert_string_equal(cmd_nearest("tru", names), "trust");
	assert_null(cmd_nearest("something", names));
	assert_null(cmd_nearest("", names));
	assert_null(cmd_nearest("a-name-that-is-longer-than-any-there-is", names));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_meaning), cmocka_unit_test(test_complete),
		cmocka_unit_test(test_values),      cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
