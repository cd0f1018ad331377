/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of stdio and wide characters: as in stdio.c. */
#define __NO_INLINE__ 1

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "hook/thread/stdio/wrap.h"

/* Called by programs built with _FORTIFY_SOURCE; declared nowhere. */
int __vfwprintf_chk(FILE *f, int flag, const wchar_t *format, va_list ap);
int __wprintf_chk(int flag, const wchar_t *format, ...);
int __fwprintf_chk(FILE *f, int flag, const wchar_t *format, ...);
int __vwprintf_chk(int flag, const wchar_t *format, va_list ap);
wchar_t *__fgetws_chk(wchar_t *s, size_t room, int n, FILE *f);

#undef putwc
#undef getwc
#undef putwchar
#undef getwchar

/* clang-format off */
#define REALS(X) \
	X(vfwprintf) X(__vfwprintf_chk) X(fputwc) X(fputws) X(fgetwc) X(fgetws) X(__fgetws_chk) \
	X(ungetwc) X(fwide)
/* clang-format on */

static struct {
	REALS(FIELD)
	/* What wchar.h calls vfwscanf, and what programs of before C99 do. */
	int (*vfwscanf)(FILE *f, const wchar_t *format, va_list ap);
	int (*old_vfwscanf)(FILE *f, const wchar_t *format, va_list ap);
} real;

static void resolve(void)
{
	REALS(RESOLVE)
	real.vfwscanf = (int (*)(FILE *, const wchar_t *, va_list))hook_real("__isoc99_vfwscanf");
	real.old_vfwscanf = (int (*)(FILE *, const wchar_t *, va_list))hook_real("vfwscanf");
}

WRAP_VARIADIC(wprintf, vfwprintf, stdout, (const wchar_t *format, ...), (stdout, format, ap))
WRAP_VARIADIC(fwprintf, vfwprintf, f, (FILE * f, const wchar_t *format, ...), (f, format, ap))
WRAP_VARIADIC(__wprintf_chk, __vfwprintf_chk, stdout, (int flag, const wchar_t *format, ...),
	      (stdout, flag, format, ap))
WRAP_VARIADIC(__fwprintf_chk, __vfwprintf_chk, f, (FILE * f, int flag, const wchar_t *format, ...),
	      (f, flag, format, ap))
WRAP_AS(int, vfwprintf, vfwprintf, f, (FILE * f, const wchar_t *format, va_list ap),
	(f, format, ap))
WRAP_AS(int, __vfwprintf_chk, __vfwprintf_chk, f,
	(FILE * f, int flag, const wchar_t *format, va_list ap), (f, flag, format, ap))
WRAP_AS(int, vwprintf, vfwprintf, stdout, (const wchar_t *format, va_list ap), (stdout, format, ap))
WRAP_AS(int, __vwprintf_chk, __vfwprintf_chk, stdout, (int flag, const wchar_t *format, va_list ap),
	(stdout, flag, format, ap))

WRAP_VARIADIC(wscanf, vfwscanf, stdin, (const wchar_t *format, ...), (stdin, format, ap))
WRAP_VARIADIC(fwscanf, vfwscanf, f, (FILE * f, const wchar_t *format, ...), (f, format, ap))
WRAP(int, vfwscanf, f, (FILE * f, const wchar_t *format, va_list ap), (f, format, ap))
WRAP_AS(int, vwscanf, vfwscanf, stdin, (const wchar_t *format, va_list ap), (stdin, format, ap))

/* By the names that programs of before C99 have. */
int hook_old_wscanf(const wchar_t *format, ...) __asm__("wscanf");
int hook_old_fwscanf(FILE *f, const wchar_t *format, ...) __asm__("fwscanf");
int hook_old_vwscanf(const wchar_t *format, va_list ap) __asm__("vwscanf");
int hook_old_vfwscanf(FILE *f, const wchar_t *format, va_list ap) __asm__("vfwscanf");
WRAP_VARIADIC(hook_old_wscanf, old_vfwscanf, stdin, (const wchar_t *format, ...),
	      (stdin, format, ap))
WRAP_VARIADIC(hook_old_fwscanf, old_vfwscanf, f, (FILE * f, const wchar_t *format, ...),
	      (f, format, ap))
WRAP_AS(int, hook_old_vwscanf, old_vfwscanf, stdin, (const wchar_t *format, va_list ap),
	(stdin, format, ap))
WRAP_AS(int, hook_old_vfwscanf, old_vfwscanf, f, (FILE * f, const wchar_t *format, va_list ap),
	(f, format, ap))

WRAP_AS(int, fputws, fputws, f, (const wchar_t *s, FILE *f), (s, f))
WRAP_AS(wint_t, fputwc, fputwc, f, (wchar_t c, FILE *f), (c, f))
WRAP_AS(wint_t, putwc, fputwc, f, (wchar_t c, FILE *f), (c, f))
WRAP_AS(wint_t, putwchar, fputwc, stdout, (wchar_t c), (c, stdout))
WRAP(wchar_t *, fgetws, f, (wchar_t * s, int n, FILE *f), (s, n, f))
WRAP(wchar_t *, __fgetws_chk, f, (wchar_t * s, size_t room, int n, FILE *f), (s, room, n, f))
WRAP(wint_t, fgetwc, f, (FILE * f), (f))
WRAP_AS(wint_t, getwc, fgetwc, f, (FILE * f), (f))
WRAP_AS(wint_t, getwchar, fgetwc, stdin, (void), (stdin))
WRAP(wint_t, ungetwc, f, (wint_t c, FILE *f), (c, f))
WRAP(int, fwide, f, (FILE * f, int mode), (f, mode))
