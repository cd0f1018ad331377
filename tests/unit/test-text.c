/* SPDX-License-Identifier: Apache-2.0 */
/* Text for terminals, and the code that seals are made of, against its published examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/siphash.h"
#include "base/text.h"

static void check_clean(const char *from, const char *to)
{
	char *copy = strdup(from);

	assert_non_null(copy);
	rp_text_clean(copy);
	assert_string_equal(copy, to);
	free(copy);
}

static void test_clean(void **state)
{
	(void)state;
	check_clean("", "");
	check_clean("plain text", "plain text");
	check_clean("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	check_clean("\x1b[31mred\x1b[0m\a\r\n", "?[31mred?[0m???");
	check_clean("\xc2\x9b"
		    "31m",
		    "?31m");
	check_clean("\xff\xfe"
		    "a\xc3",
		    "??a?");
	check_clean("\xed\xa0\x80", "???");
}

static void test_command(void **state)
{
	char *argv[] = {"mpirun", "-n", "2", "./my app", "it's", "\x1b]0;x\a", NULL};
	char *text = rp_text_command(argv);

	(void)state;
	assert_string_equal(text, "mpirun -n 2 './my app' 'it'\\''s' '?]0;x?'");
	free(text);
}

static void test_siphash(void **state)
{
	static const uint64_t expected[][2] = {
		{0xe6a825ba047f81a3, 0x930255c71472f66d},
		{0x44af996bd8c187da, 0x45fc229b11597634},
	};
	unsigned char key[RP_SIPHASH_KEY], text[64];
	uint64_t code[2], other[2];

	(void)state;
	for (unsigned char i = 0; i < sizeof(key); i++)
		key[i] = i;
	for (unsigned char i = 0; i < sizeof(text); i++)
		text[i] = i;
	for (size_t n = 0; n < 2; n++) {
		rp_siphash(key, text, n, code);
		assert_memory_equal(code, expected[n], sizeof(code));
	}
	for (size_t n = 1; n < sizeof(text); n++) {
		rp_siphash(key, text, n, code);
		text[n - 1] ^= 1;
		rp_siphash(key, text, n, other);
		text[n - 1] ^= 1;
		assert_memory_not_equal(code, other, sizeof(code));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_siphash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
