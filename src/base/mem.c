/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void *checked(void *p)
{
	if (p)
		return p;
	rp_say("out of memory");
	exit(RP_EXIT_FAILURE);
}

void *rp_alloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size));
}

void *rp_realloc(void *p, size_t count, size_t size)
{
	return checked(reallocarray(p, count ? count : 1, size));
}

void *rp_widen(void *p, size_t have, size_t count, size_t size)
{
	char *wider = rp_realloc(p, count, size);

	memset(wider + have * size, 0, (count - have) * size);
	return wider;
}

char *rp_strdup(const char *s)
{
	return checked(strdup(s));
}

char *rp_format(const char *format, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&s, format, ap) < 0)
		s = NULL;
	va_end(ap);
	return checked(s);
}

size_t rp_strings_count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

void rp_strings_free(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}
