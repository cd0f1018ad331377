/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int out = STDERR_FILENO;

void rp_say_to(int fd)
{
	out = fd;
}

/* One write, so that lines of several processes do not mix. */
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
	n += m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(out, line, (size_t)n) < 0)
		return;
}
