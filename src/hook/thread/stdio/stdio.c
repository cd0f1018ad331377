/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of stdio have locks that no wrapper sees, so an operation on a stream is an event of its
 * own: with several threads, lines come out in the recorded order. The lock of the stream is held
 * from before the event to after the operation. What is written past stdio, to the descriptors of
 * standard output and error, is an operation on these streams, too, unless another thread keeps
 * them for long. Wide characters are in wide.c; what
 * opens and closes streams is in hook/input/descriptor/stream.c; the _unlocked functions are left
 * alone.
 */
/* No definitions in stdio.h of what is defined here. */
#define __NO_INLINE__ 1

#include "hook/thread/stdio/stdio.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "hook/output/output.h"
#include "hook/thread/call/real.h"
#include "hook/thread/stdio/wrap.h"

/* Called by programs built with _FORTIFY_SOURCE, or long ago; declared nowhere. */
int __vfprintf_chk(FILE *f, int flag, const char *format, va_list ap);
char *__fgets_chk(char *s, size_t room, int n, FILE *f);
size_t __fread_chk(void *p, size_t room, size_t size, size_t n, FILE *f);
int __printf_chk(int flag, const char *format, ...);
int __fprintf_chk(FILE *f, int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list ap);
int _IO_putc(int c, FILE *f);
int _IO_getc(FILE *f);
int _IO_puts(const char *s);
__ssize_t __getdelim(char **line, size_t *n, int delimiter, FILE *f);

#undef putc
#undef getc
#undef putchar
#undef getchar

/* clang-format off */
#define REALS(X) \
	X(setvbuf) X(setbuf) X(setbuffer) X(setlinebuf) X(vfprintf) X(__vfprintf_chk) X(puts) X(fputs) X(fputc) \
	X(fwrite) X(fread) X(__fread_chk) X(fgets) X(__fgets_chk) X(fgetc) X(ungetc) X(fflush) \
	X(getdelim) X(perror) X(fseek) X(fseeko) X(ftell) X(ftello) X(rewind) \
	X(fgetpos) X(fsetpos) X(putw) X(getw) X(vwarn) X(vwarnx)
/* clang-format on */

static struct {
	REALS(FIELD)
	/* What stdio.h calls vfscanf, and what programs of before C99 do. */
	int (*vfscanf)(FILE *f, const char *format, va_list ap);
	int (*old_vfscanf)(FILE *f, const char *format, va_list ap);
} real;

static void resolve(void)
{
	REALS(RESOLVE)
	real.vfscanf = (int (*)(FILE *, const char *, va_list))hook_real("__isoc99_vfscanf");
	real.old_vfscanf = (int (*)(FILE *, const char *, va_list))hook_real("vfscanf");
}

/* The program may set the variables of stdio.h to streams of its own. */
extern FILE _IO_2_1_stdout_, _IO_2_1_stderr_;
static FILE *const standard[2] = {&_IO_2_1_stdout_, &_IO_2_1_stderr_};

/* The way of one thread writes a word and no more: programs print a lot. */
static bool is_one_of_many(struct hook_stdio_use *u, const void *site)
{
	u->t = NULL;
	hook_signal_pass();
	return hook_sync_is_on(site);
}

static int take(struct hook_stdio_use *u, struct hook_sync_call c)
{
	struct hook_thread *t = hook_sync_enter();
	int rc;

	u->c = c;
	rc = hook_sync_mode->take(t, &u->c);
	hook_sync_leave(t);
	u->t = t;
	return rc;
}

void hook_stdio_begin(struct hook_stdio_use *u, void *object, enum hook_sync_op op,
		      const void *site)
{
	if (is_one_of_many(u, site))
		take(u, (struct hook_sync_call){.op = op, .object = object, .site = site});
}

void hook_stdio_end(struct hook_stdio_use *u)
{
	int saved = errno;

	if (!u->t)
		return;
	hook_depth = 1;
	hook_sync_mode->release(u->t, &u->c);
	hook_sync_leave(u->t);
	errno = saved;
}

void hook_stdio_begin_write(struct hook_stdio_use *u, int fd, const void *site)
{
	FILE *f;

	if (!is_one_of_many(u, site))
		return;
	f = hook_output_tag(fd) == HOOK_OUTPUT_ERR ? standard[1] : standard[0];
	if (take(u, (struct hook_sync_call){.op = SYNC_WRITE, .object = f, .site = site}) != 0)
		u->t = NULL;
}

WRAP_VARIADIC(printf, vfprintf, stdout, (const char *format, ...), (stdout, format, ap))
WRAP_VARIADIC(fprintf, vfprintf, f, (FILE * f, const char *format, ...), (f, format, ap))
WRAP_VARIADIC(__printf_chk, __vfprintf_chk, stdout, (int flag, const char *format, ...),
	      (stdout, flag, format, ap))
WRAP_VARIADIC(__fprintf_chk, __vfprintf_chk, f, (FILE * f, int flag, const char *format, ...),
	      (f, flag, format, ap))
WRAP_VARIADIC(scanf, vfscanf, stdin, (const char *format, ...), (stdin, format, ap))
WRAP_VARIADIC(fscanf, vfscanf, f, (FILE * f, const char *format, ...), (f, format, ap))
WRAP_AS(int, vfprintf, vfprintf, f, (FILE * f, const char *format, va_list ap), (f, format, ap))
WRAP_AS(int, __vfprintf_chk, __vfprintf_chk, f,
	(FILE * f, int flag, const char *format, va_list ap), (f, flag, format, ap))
WRAP_AS(int, vprintf, vfprintf, stdout, (const char *format, va_list ap), (stdout, format, ap))
WRAP_AS(int, __vprintf_chk, __vfprintf_chk, stdout, (int flag, const char *format, va_list ap),
	(stdout, flag, format, ap))

/* By the names that programs of before C99 have. */
int hook_old_scanf(const char *format, ...) __asm__("scanf");
int hook_old_fscanf(FILE *f, const char *format, ...) __asm__("fscanf");
int hook_old_vscanf(const char *format, va_list ap) __asm__("vscanf");
int hook_old_vfscanf(FILE *f, const char *format, va_list ap) __asm__("vfscanf");
WRAP_VARIADIC(hook_old_scanf, old_vfscanf, stdin, (const char *format, ...), (stdin, format, ap))
WRAP_VARIADIC(hook_old_fscanf, old_vfscanf, f, (FILE * f, const char *format, ...), (f, format, ap))
WRAP_AS(int, hook_old_vscanf, old_vfscanf, stdin, (const char *format, va_list ap),
	(stdin, format, ap))
WRAP_AS(int, hook_old_vfscanf, old_vfscanf, f, (FILE * f, const char *format, va_list ap),
	(f, format, ap))

WRAP(int, vfscanf, f, (FILE * f, const char *format, va_list ap), (f, format, ap))
WRAP_AS(int, vscanf, vfscanf, stdin, (const char *format, va_list ap), (stdin, format, ap))

WRAP_AS(int, puts, puts, stdout, (const char *s), (s))
WRAP_AS(int, _IO_puts, puts, stdout, (const char *s), (s))
WRAP_AS(int, fputs, fputs, f, (const char *s, FILE *f), (s, f))
WRAP_AS(int, fputc, fputc, f, (int c, FILE *f), (c, f))
WRAP_AS(int, putc, fputc, f, (int c, FILE *f), (c, f))
WRAP_AS(int, _IO_putc, fputc, f, (int c, FILE *f), (c, f))
WRAP_AS(int, putchar, fputc, stdout, (int c), (c, stdout))
WRAP_AS(size_t, fwrite, fwrite, f, (const void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
WRAP(int, putw, f, (int word, FILE *f), (word, f))
WRAP(void, perror, stderr, (const char *s), (s))
WRAP(void, vwarn, stderr, (const char *format, va_list ap), (format, ap))
WRAP(void, vwarnx, stderr, (const char *format, va_list ap), (format, ap))

#define WRAP_WARNING(name, other)                                                                  \
	HOOK_EXPORT void name(const char *format, ...)                                             \
	{                                                                                          \
		USE(stderr, SYNC_STREAM);                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, format);                                                              \
		REAL(other)(format, ap);                                                           \
		va_end(ap);                                                                        \
	}

WRAP_WARNING(warn, vwarn)
WRAP_WARNING(warnx, vwarnx)

WRAP(size_t, fread, f, (void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
WRAP(size_t, __fread_chk, f, (void *p, size_t room, size_t size, size_t n, FILE *f),
     (p, room, size, n, f))
WRAP(char *, fgets, f, (char *s, int n, FILE *f), (s, n, f))
WRAP(char *, __fgets_chk, f, (char *s, size_t room, int n, FILE *f), (s, room, n, f))
WRAP(int, fgetc, f, (FILE * f), (f))
WRAP_AS(int, getc, fgetc, f, (FILE * f), (f))
WRAP_AS(int, _IO_getc, fgetc, f, (FILE * f), (f))
WRAP_AS(int, getchar, fgetc, stdin, (void), (stdin))
WRAP(int, getw, f, (FILE * f), (f))
WRAP(int, ungetc, f, (int c, FILE *f), (c, f))
WRAP(ssize_t, getdelim, f, (char **line, size_t *n, int delimiter, FILE *f),
     (line, n, delimiter, f))
WRAP_AS(ssize_t, __getdelim, getdelim, f, (char **line, size_t *n, int delimiter, FILE *f),
	(line, n, delimiter, f))
WRAP_AS(ssize_t, getline, getdelim, f, (char **line, size_t *n, FILE *f), (line, n, '\n', f))
WRAP(int, fseek, f, (FILE * f, long offset, int whence), (f, offset, whence))
WRAP(int, fseeko, f, (FILE * f, off_t offset, int whence), (f, offset, whence))
WRAP(long, ftell, f, (FILE * f), (f))
WRAP(off_t, ftello, f, (FILE * f), (f))
WRAP(void, rewind, f, (FILE * f), (f))
WRAP(int, fgetpos, f, (FILE * f, fpos_t *position), (f, position))
WRAP(int, fsetpos, f, (FILE * f, const fpos_t *position), (f, position))
HOOK_EXPORT int fseeko64(FILE *f, off64_t offset, int whence) __attribute__((alias("fseeko")));
HOOK_EXPORT off64_t ftello64(FILE *f) __attribute__((alias("ftello")));
HOOK_EXPORT int fgetpos64(FILE *f, fpos64_t *position) __attribute__((alias("fgetpos")));
HOOK_EXPORT int fsetpos64(FILE *f, const fpos64_t *position) __attribute__((alias("fsetpos")));

WRAP(int, setvbuf, f, (FILE * f, char *buffer, int mode, size_t size), (f, buffer, mode, size))
WRAP(void, setbuf, f, (FILE * f, char *buffer), (f, buffer))
WRAP(void, setbuffer, f, (FILE * f, char *buffer, size_t size), (f, buffer, size))
WRAP(void, setlinebuf, f, (FILE * f), (f))

/* All streams at once stand for standard output. */
WRAP(int, fflush, f ? f : stdout, (FILE * f), (f))

HOOK_EXPORT void flockfile(FILE *f)
{
	struct hook_sync_call c = {
		.op = SYNC_FLOCKFILE, .object = f, .site = __builtin_return_address(0)};
	struct hook_thread *t;

	if (!hook_sync_is_on(c.site)) {
		SYNC_REAL(flockfile)(f);
		return;
	}
	t = hook_sync_enter();
	hook_sync_mode->take(t, &c);
	hook_sync_leave(t);
}

HOOK_EXPORT int ftrylockfile(FILE *f)
{
	struct hook_sync_call c = {
		.op = SYNC_FTRYLOCKFILE, .object = f, .site = __builtin_return_address(0)};
	struct hook_thread *t;
	int rc;

	if (!hook_sync_is_on(c.site))
		return SYNC_REAL(ftrylockfile)(f);
	t = hook_sync_enter();
	rc = hook_sync_mode->take(t, &c);
	hook_sync_leave(t);
	return rc ? -1 : 0;
}

HOOK_EXPORT void funlockfile(FILE *f)
{
	struct hook_sync_call c = {
		.op = SYNC_FLOCKFILE, .object = f, .site = __builtin_return_address(0)};
	struct hook_thread *t;

	if (!hook_sync_is_on(c.site)) {
		SYNC_REAL(funlockfile)(f);
		return;
	}
	t = hook_sync_enter();
	hook_sync_mode->release(t, &c);
	hook_sync_leave(t);
}

const char *hook_stdio_name(const void *object)
{
	if (object == stdin)
		return "standard input";
	if (object == standard[0])
		return "standard output";
	return object == standard[1] ? "standard error" : NULL;
}
