/* SPDX-License-Identifier: Apache-2.0 */
/* Text in a fixed buffer without stdio: safe in signal handlers and before libc is ready. */
#ifndef HOOK_TEXT_H
#define HOOK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hook_text {
	char *at, *end; /* always room for the final 0 at *end */
};

static inline struct hook_text hook_text_in(char *buffer, size_t size)
{
	buffer[0] = 0;
	return (struct hook_text){buffer, buffer + size - 1};
}

static inline void hook_text_add(struct hook_text *t, const char *s)
{
	while (*s && t->at < t->end)
		*t->at++ = *s++;
	*t->at = 0;
}

static inline void hook_text_number(struct hook_text *t, int64_t v)
{
	char digits[24];
	char *p = digits + sizeof(digits);
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;

	*--p = 0;
	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*--p = '-';
	hook_text_add(t, p);
}

static inline void hook_text_padded(struct hook_text *t, uint32_t v, unsigned int width)
{
	for (uint32_t power = 1; width > 1 && v / power >= 10; width--)
		power *= 10;
	while (width-- > 1)
		hook_text_add(t, "0");
	hook_text_number(t, v);
}

static inline void hook_text_hex(struct hook_text *t, uint64_t v)
{
	char digits[20];
	char *p = digits + sizeof(digits);

	*--p = 0;
	do
		*--p = "0123456789abcdef"[v & 15];
	while (v >>= 4);
	hook_text_add(t, "0x");
	hook_text_add(t, p);
}

/* Does the text begin with one of the words? NULL ends the list. */
static inline bool hook_text_begins_with(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (strncmp(text, *words, strlen(*words)) == 0)
			return true;
	}
	return false;
}

#endif
