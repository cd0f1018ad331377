/* SPDX-License-Identifier: Apache-2.0 */
/* Every value comes back; whatever is not a whole varint of 64 bits is refused. */
#include "base/varint.h"

#include "scratch.h"

static void check_value(uint64_t value)
{
	uint8_t bytes[RP_VARINT_MAX + 1];
	size_t n = rp_varint_put(bytes, value);
	uint64_t got = ~value;

	assert_in_range(n, 1, RP_VARINT_MAX);
	assert_int_equal(rp_varint_get(bytes, bytes + n, &got), n);
	assert_true(got == value);
	bytes[n] = 0xff;
	assert_int_equal(rp_varint_get(bytes, bytes + n + 1, &got), n);
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(rp_varint_get(bytes, bytes + cut, &got), 0);
}

static void test_values_come_back(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int bit = 0; bit < 64; bit++) {
		check_value((1ull << bit) - 1);
		check_value(1ull << bit);
		check_value((1ull << bit) + 1);
	}
	check_value(UINT64_MAX);
	for (int i = 0; i < 100000; i++)
		check_value(random_value(&seed));
}

static void test_size_is_seven_bits_a_byte(void **state)
{
	uint8_t bytes[RP_VARINT_MAX];

	(void)state;
	for (size_t n = 1; n < RP_VARINT_MAX; n++) {
		assert_int_equal(rp_varint_put(bytes, (1ull << (7 * n)) - 1), n);
		assert_int_equal(rp_varint_put(bytes, 1ull << (7 * n)), n + 1);
	}
}

static void test_more_than_64_bits_is_refused(void **state)
{
	uint8_t bytes[12];
	uint64_t value = 7;

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(rp_varint_get(bytes, bytes + sizeof(bytes), &value), 0);
	memset(bytes, 0x80, 9);
	for (int last = 0; last < 256; last++) {
		bytes[9] = (uint8_t)last;
		assert_int_equal(rp_varint_get(bytes, bytes + sizeof(bytes), &value),
				 last < 2 ? 10 : 0);
	}
	assert_int_equal(value, 1ull << 63);
}

static void test_zigzag_keeps_small_numbers_small(void **state)
{
	uint64_t seed = 2;

	(void)state;
	assert_int_equal(rp_zigzag(0), 0);
	assert_int_equal(rp_zigzag(-1), 1);
	assert_int_equal(rp_zigzag(1), 2);
	assert_true(rp_unzigzag(rp_zigzag(INT64_MIN)) == INT64_MIN);
	assert_true(rp_unzigzag(rp_zigzag(INT64_MAX)) == INT64_MAX);
	for (int i = 0; i < 100000; i++) {
		int64_t value = (int64_t)random_next(&seed);

		assert_true(rp_unzigzag(rp_zigzag(value)) == value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_come_back),
		cmocka_unit_test(test_size_is_seven_bits_a_byte),
		cmocka_unit_test(test_more_than_64_bits_is_refused),
		cmocka_unit_test(test_zigzag_keeps_small_numbers_small),
	};

	return cmocka_run_group_tests_name("varint", tests, NULL, NULL);
}
