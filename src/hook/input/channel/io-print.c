/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and counts to and from channels, and to standard output and error, by functions of libc that
 * read and write without calling any function that we could stand in for: dprintf and its kin,
 * eventfd_read, eventfd_write.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/output/output.h"

#define SITE __builtin_return_address(0)
#define SHORT 1024

static int write_all(int fd, const char *p, int length)
{
	for (int done = 0; done < length;) {
		ssize_t n = write(fd, p + done, (size_t)(length - done));

		if (n < 0)
			return -1;
		done += (int)n;
	}
	return length;
}

/* What does not fit on the stack is ours, not the program's. */
static int print_long(int fd, const char *format, va_list ap, int length)
{
	char *text;
	int rc;

	hook_depth = 1;
	text = malloc((size_t)length + 1);
	hook_depth = 0;
	if (!text)
		return -1;
	vsnprintf(text, (size_t)length + 1, format, ap);
	rc = write_all(fd, text, length);
	hook_depth = 1;
	free(text);
	hook_depth = hook_self->passive;
	return rc;
}

static int print(int fd, const char *format, va_list ap)
{
	char text[SHORT];
	va_list again;
	int length;

	va_copy(again, ap);
	length = vsnprintf(text, sizeof(text), format, ap);
	if (length >= (int)sizeof(text))
		length = print_long(fd, format, again, length);
	else if (length > 0)
		length = write_all(fd, text, length);
	va_end(again);
	return length;
}

static bool is_ours(int fd, const void *site)
{
	return hook_channel_has(fd, site) || (hook_depth == 0 && hook_self && hook_output_has(fd));
}

HOOK_EXPORT int vdprintf(int fd, const char *format, va_list ap)
{
	return is_ours(fd, SITE) ? print(fd, format, ap) : REAL(vdprintf)(fd, format, ap);
}

HOOK_EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list ap)
{
	return is_ours(fd, SITE) ? print(fd, format, ap)
				 : REAL(__vdprintf_chk)(fd, flag, format, ap);
}

HOOK_EXPORT int dprintf(int fd, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = is_ours(fd, SITE) ? print(fd, format, ap) : REAL(vdprintf)(fd, format, ap);
	va_end(ap);
	return n;
}

HOOK_EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = is_ours(fd, SITE) ? print(fd, format, ap) : REAL(__vdprintf_chk)(fd, flag, format, ap);
	va_end(ap);
	return n;
}

HOOK_EXPORT int eventfd_read(int fd, eventfd_t *value)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(eventfd_read)(fd, value);
	return hook_channel_read(fd, "eventfd_read", value, sizeof(*value)) == sizeof(*value) ? 0
											      : -1;
}

HOOK_EXPORT int eventfd_write(int fd, eventfd_t value)
{
	if (!hook_channel_has(fd, SITE))
		return REAL(eventfd_write)(fd, value);
	return hook_channel_write(fd, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}
