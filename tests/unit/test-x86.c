/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as gcc and clang write them: where each ends, and which are atomic. */
#include "base/x86.h"

#include "scratch.h"

struct known {
	const char *bytes;
	size_t length;
	enum rp_x86_kind kind;
};

#define I(text, kind)                                                                              \
	{                                                                                          \
		text, sizeof(text) - 1, kind                                                       \
	}

static const struct known known[] = {
	I("\x90", RP_X86_PLAIN),
	I("\xf3\x90", RP_X86_PAUSE),
	I("\x48\x8b\x45\xf0", RP_X86_PLAIN),                         /* mov -16(%rbp),%rax */
	I("\x48\xb8\xf0\x0f\xb1\x07\x00\x00\x00\x00", RP_X86_PLAIN), /* movabs */
	I("\x66\xb8\x01\x00", RP_X86_PLAIN),                         /* mov $1,%ax */
	I("\x66\x81\x3c\x24\x00\x01", RP_X86_PLAIN),                 /* cmpw $256,(%rsp) */
	I("\xe8\x00\x00\x00\x00", RP_X86_PLAIN),                     /* call */
	I("\x0f\x84\x10\x00\x00\x00", RP_X86_PLAIN),                 /* je */
	I("\xf6\x05\x00\x00\x00\x00\x01", RP_X86_PLAIN),             /* testb $1,0(%rip) */
	I("\xf7\xd8", RP_X86_PLAIN),                                 /* neg %eax */
	I("\x66\x0f\x3a\x0f\xc1\x08", RP_X86_PLAIN),                 /* palignr */
	I("\xc5\xf8\x77", RP_X86_PLAIN),                             /* vzeroupper */
	I("\xc5\xf9\x70\xc0\xb1", RP_X86_PLAIN),                     /* vpshufd */
	I("\xc4\xe3\x7d\x39\xc1\x01", RP_X86_PLAIN),                 /* vextracti128 */
	I("\x62\xf1\x7c\x48\x10\x44\x24\x01", RP_X86_PLAIN),         /* vmovups 64(%rsp),%zmm0 */
	I("\xc8\x10\x00\x00", RP_X86_PLAIN),                         /* enter */
	I("\x87\xc3", RP_X86_PLAIN),                                 /* xchg of registers */
	I("\x87\x07", RP_X86_EXCHANGE),                              /* xchg %eax,(%rdi) */
	I("\x86\x05\x00\x00\x00\x00", RP_X86_EXCHANGE),              /* xchg %al,0(%rip) */
	I("\xf0\x0f\xb1\x17", RP_X86_EXCHANGE),                      /* lock cmpxchg */
	I("\xf0\x48\x0f\xc7\x0f", RP_X86_EXCHANGE),                  /* lock cmpxchg16b */
	I("\xf0\x0f\xba\x2f\x00", RP_X86_EXCHANGE),                  /* lock bts */
	I("\x0f\xb1\x17", RP_X86_PLAIN),                             /* not locked */
	I("\xf0\x0f\xc1\x07", RP_X86_ADD),                           /* lock xadd %eax,(%rdi) */
	I("\xf0\x83\x07\x01", RP_X86_COUNT),                         /* lock add */
	I("\xf0\x83\x2f\x01", RP_X86_COUNT),                         /* lock sub */
	I("\xf0\xff\x07", RP_X86_COUNT),                             /* lock inc */
	I("\xf0\x48\x01\x37", RP_X86_COUNT),                         /* lock add %rsi,(%rdi) */
	I("\xf0\x48\x29\x37", RP_X86_COUNT),                         /* lock sub %rsi,(%rdi) */
	I("\xf0\x80\x0f\x01", RP_X86_MASK),                          /* lock orb */
	I("\xf0\x21\x37", RP_X86_MASK),                              /* lock and */
	I("\xf0\x48\x83\x0c\x24\x00", RP_X86_FENCE),                 /* lock orq $0,(%rsp) */
	I("\xf0\x83\x44\x24\xfc\x00", RP_X86_FENCE),                 /* lock addl $0,-4(%rsp) */
};

static void test_ends_and_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const uint8_t *code = (const uint8_t *)known[i].bytes;
		uint8_t longer[32];
		struct rp_x86 got;

		rp_x86_decode(code, code + known[i].length, &got);
		assert_int_equal(got.length, known[i].length);
		assert_int_equal(got.kind, known[i].kind);
		/* What follows does not matter, and a cut instruction is none. */
		memset(longer, 0x90, sizeof(longer));
		memcpy(longer, code, known[i].length);
		rp_x86_decode(longer, longer + sizeof(longer), &got);
		assert_int_equal(got.length, known[i].length);
		if (known[i].length > 1) {
			rp_x86_decode(code, code + known[i].length - 1, &got);
			assert_true(got.length < known[i].length);
		}
	}
}

/* Whatever the bytes: it goes on, and not past the end. */
static void test_any_bytes(void **state)
{
	uint64_t seed = 1;
	uint8_t bytes[20];
	struct rp_x86 got;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		size_t n = 1 + random_value(&seed) % sizeof(bytes);
		uint8_t *code = malloc(n);

		assert_non_null(code);
		for (size_t k = 0; k < n; k++)
			code[k] = (uint8_t)random_value(&seed);
		rp_x86_decode(code, code + n, &got);
		assert_in_range(got.length, 1, n);
		assert_in_range(got.kind, 0, RP_X86_KINDS - 1);
		free(code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_and_kinds),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
