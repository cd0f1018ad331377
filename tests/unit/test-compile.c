/* SPDX-License-Identifier: Apache-2.0 */
/* What `reprise cc` makes of command lines of compilers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/compile.h"

#define MOST 24

static char text[512], *words[MOST];

static struct compile_line line_of(const char *command)
{
	struct compile_line line;
	size_t n = 0;

	strcpy(text, command);
	for (char *w = strtok(text, " "); w && n + 1 < MOST; w = strtok(NULL, " "))
		words[n++] = w;
	words[n] = NULL;
	compile_line_read(&line, words);
	return line;
}

static enum compile_kind kind_of(const char *command)
{
	struct compile_line line = line_of(command);
	enum compile_kind kind = line.kind;

	compile_line_free(&line);
	return kind;
}

static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(kind_of("gcc -O2 -c x.c"), COMPILE_OBJECT);
	assert_int_equal(kind_of("gcc -c -o a/x.o x.cpp"), COMPILE_OBJECT);
	assert_int_equal(kind_of("gcc x.c"), COMPILE_LINK);
	assert_int_equal(kind_of("gcc x.o y.o -lm -o app"), COMPILE_LINK);
	assert_int_equal(kind_of("gcc -shared x.o -o libx.so"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc -E x.c"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc -M x.c"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc --version"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc -print-file-name=libc.a"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc x.c -o /dev/null"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc @words"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc x.a -o app"), COMPILE_LINK);
	assert_int_equal(kind_of("gcc -shared -c x.c"), COMPILE_OBJECT);
	assert_int_equal(kind_of("gcc -lm"), COMPILE_OTHER);
	/* Words of options are no sources. */
	assert_int_equal(kind_of("gcc -include x.c -I y.c --version"), COMPILE_OTHER);
	assert_int_equal(kind_of("gcc -c -include x.c"), COMPILE_OTHER);
}

static void test_words(void **state)
{
	struct compile_line line =
		line_of("gcc -MMD -MF x.d -fsanitize=address -o app x.c y.o z.a -O2");

	(void)state;
	assert_string_equal(line.output, "app");
	assert_int_equal(line.sources, 1);
	assert_int_equal(line.objects, 1);
	/* -MMD -MF x.d -fsanitize -o app */
	for (size_t i = 1; i <= 6; i++)
		assert_true(line.is_dropped[i]);
	for (size_t i = 7; i <= 10; i++)
		assert_false(line.is_dropped[i]);
	assert_true(line.is_source[7] && line.is_object[8]);
	compile_line_free(&line);
	line = line_of("gcc x.c -oapp");
	assert_string_equal(line.output, "app");
	assert_true(line.is_dropped[2]);
	compile_line_free(&line);
}

/* Code without a twin, for which there is a word to blame. */
static void test_without(void **state)
{
	static const struct {
		const char *command, *without;
	} lines[] = {
		{"gcc -shared x.o -o libx.so", "-shared"},
		{"gcc x.c -static -o x", "-static"},
		{"gcc -r x.o y.o -o z.o", "-r"},
		{"gcc @words", "@words"},
		{"gcc -c @words", "@words"},
		{"gcc -shared -c x.c", NULL},
		{"gcc -E -static x.c", NULL},
		{"gcc x.c -o x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct compile_line line = line_of(lines[i].command);

		assert_int_equal(!line.without, !lines[i].without);
		if (line.without)
			assert_string_equal(line.without, lines[i].without);
		compile_line_free(&line);
	}
}

static void test_objects(void **state)
{
	char *object = compile_object_of("a.b/x.y.c");

	(void)state;
	assert_string_equal(object, "x.y.o");
	free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
