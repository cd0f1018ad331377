/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

static int out = STDERR_FILENO;

void rp_say_to(int fd)
{
	out = fd;
}

/*
 * One write, so that lines of several processes do not mix. Names in it may come from a trace of
 * somebody else: no control character gets through.
 */
void rp_say(const char *format, ...)
{
	char line[4096];
	va_list ap;
	int n = snprintf(line, sizeof(line), "reprise: ");
	int m;

	va_start(ap, format);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, ap);
	va_end(ap);
	if (m < 0)
		return;
	rp_text_clean(line);
	n = (int)strlen(line);
	line[n++] = '\n';
	if (write(out, line, (size_t)n) < 0)
		return;
}
