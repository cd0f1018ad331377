/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of stdio have locks that no wrapper sees, so an operation on a stream is an event of its
 * own: with several threads, lines come out in the recorded order. The lock of the stream is held
 * from before the event to after the operation. So is one of ours around write(2) to standard
 * output and error. Wide characters are in stdio-wide.c; the _unlocked functions are left alone.
 */
/* No definitions in stdio.h of what is defined here. */
#define __NO_INLINE__ 1

#include "hook/thread/stdio.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/uio.h>

#include "hook/input/channel.h"
#include "hook/input/child.h"
#include "hook/input/file.h"
#include "hook/input/infile.h"
#include "hook/thread/objects.h"
#include "hook/thread/real.h"
#include "hook/thread/stdio-wrap.h"

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
	X(freopen) X(setvbuf) X(setbuf) X(setbuffer) X(setlinebuf) X(vfprintf) X(__vfprintf_chk) X(puts) X(fputs) X(fputc) \
	X(fwrite) X(fread) X(__fread_chk) X(fgets) X(__fgets_chk) X(fgetc) X(ungetc) X(fflush) \
	X(getdelim) X(perror) X(fclose) X(pclose) X(fseek) X(fseeko) X(ftell) X(ftello) X(rewind) \
	X(fgetpos) X(fsetpos) X(putw) X(getw) X(vwarn) X(vwarnx) X(write) X(writev)
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

struct hook_stdio_use hook_stdio_begin(void *object, enum hook_sync_op op, const void *site)
{
	struct hook_stdio_use u = {.c = {.op = op, .object = object, .site = site}};

	hook_signal_pass();
	if (!hook_sync_is_on(site))
		return u;
	u.t = hook_sync_enter();
	hook_sync_mode->take(u.t, &u.c);
	hook_sync_leave(u.t);
	return u;
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

/* Around write(2) to standard output and error. */
static pthread_mutex_t outputs[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

bool hook_stdio_is_seen(const struct hook_stdio_use *u)
{
	const void *object = u->c.object;

	return u->t && (object == stdout || object == stderr || object == &outputs[0] ||
			object == &outputs[1]);
}

static uint64_t mixed(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/*
 * What is printed, by threads that race, may differ where all operations are as recorded: the end
 * of the thread tells.
 */
void hook_stdio_prints(const struct hook_stdio_use *u, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t hash, word = 0;

	if (!hook_stdio_is_seen(u))
		return;
	hash = mixed(u->t->output, n);
	for (; n >= sizeof(word); p += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = mixed(hash, word);
	}
	word = 0;
	memcpy(&word, p, n);
	u->t->output = mixed(hash, word);
}

/* Of a text that is long the beginning stands for it. */
static void prints_text(const struct hook_stdio_use *u, const char *format, va_list ap)
{
	char text[512];
	int saved = errno, n;

	if (!hook_stdio_is_seen(u))
		return;
	n = vsnprintf(text, sizeof(text), format, ap);
	if (n > 0)
		hook_stdio_prints(u, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	errno = saved;
}

/* What a call that reads does with its format is its own business. */
static inline void reads_text(const struct hook_stdio_use *u, const char *format, va_list ap)
{
	(void)u, (void)format, (void)ap;
}

WRAP_VARIADIC(printf, vfprintf, prints_text, stdout, (const char *format, ...),
	      (stdout, format, ap))
WRAP_VARIADIC(fprintf, vfprintf, prints_text, f, (FILE * f, const char *format, ...),
	      (f, format, ap))
WRAP_VARIADIC(__printf_chk, __vfprintf_chk, prints_text, stdout,
	      (int flag, const char *format, ...), (stdout, flag, format, ap))
WRAP_VARIADIC(__fprintf_chk, __vfprintf_chk, prints_text, f,
	      (FILE * f, int flag, const char *format, ...), (f, flag, format, ap))
WRAP_VARIADIC(scanf, vfscanf, reads_text, stdin, (const char *format, ...), (stdin, format, ap))
WRAP_VARIADIC(fscanf, vfscanf, reads_text, f, (FILE * f, const char *format, ...), (f, format, ap))
WRAP_TEXT(vfprintf, vfprintf, f, (FILE * f, const char *format, va_list ap), (f, format, ap))
WRAP_TEXT(__vfprintf_chk, __vfprintf_chk, f, (FILE * f, int flag, const char *format, va_list ap),
	  (f, flag, format, ap))
WRAP_TEXT(vprintf, vfprintf, stdout, (const char *format, va_list ap), (stdout, format, ap))
WRAP_TEXT(__vprintf_chk, __vfprintf_chk, stdout, (int flag, const char *format, va_list ap),
	  (stdout, flag, format, ap))

/* By the names that programs of before C99 have. */
int hook_old_scanf(const char *format, ...) __asm__("scanf");
int hook_old_fscanf(FILE *f, const char *format, ...) __asm__("fscanf");
int hook_old_vscanf(const char *format, va_list ap) __asm__("vscanf");
int hook_old_vfscanf(FILE *f, const char *format, va_list ap) __asm__("vfscanf");
WRAP_VARIADIC(hook_old_scanf, old_vfscanf, reads_text, stdin, (const char *format, ...),
	      (stdin, format, ap))
WRAP_VARIADIC(hook_old_fscanf, old_vfscanf, reads_text, f, (FILE * f, const char *format, ...),
	      (f, format, ap))
WRAP_AS(int, hook_old_vscanf, old_vfscanf, stdin, (const char *format, va_list ap),
	(stdin, format, ap))
WRAP_AS(int, hook_old_vfscanf, old_vfscanf, f, (FILE * f, const char *format, va_list ap),
	(f, format, ap))

WRAP(int, vfscanf, f, (FILE * f, const char *format, va_list ap), (f, format, ap))
WRAP_AS(int, vscanf, vfscanf, stdin, (const char *format, va_list ap), (stdin, format, ap))

WRAP_PUT(int, puts, puts, stdout, (const char *s), (s), s, strlen(s))
WRAP_PUT(int, _IO_puts, puts, stdout, (const char *s), (s), s, strlen(s))
WRAP_PUT(int, fputs, fputs, f, (const char *s, FILE *f), (s, f), s, strlen(s))
WRAP_PUT(int, fputc, fputc, f, (int c, FILE *f), (c, f), &c, sizeof(c))
WRAP_PUT(int, putc, fputc, f, (int c, FILE *f), (c, f), &c, sizeof(c))
WRAP_PUT(int, _IO_putc, fputc, f, (int c, FILE *f), (c, f), &c, sizeof(c))
WRAP_PUT(int, putchar, fputc, stdout, (int c), (c, stdout), &c, sizeof(c))
WRAP_PUT(size_t, fwrite, fwrite, f, (const void *p, size_t size, size_t n, FILE *f),
	 (p, size, n, f), p, size *n)
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

HOOK_EXPORT FILE *freopen(const char *path, const char *mode, FILE *f)
{
	int flags = hook_infile_flags(mode);
	bool reads = path && hook_infile_is_wanted(flags, __builtin_return_address(0));
	char copy[32];
	struct hook_text text = hook_text_in(copy, sizeof(copy));
	int fd = reads ? hook_infile_before(AT_FDCWD, path, flags) : -1;
	FILE *opened;
	USE(f, SYNC_STREAM);

	if (fd >= 0) {
		hook_text_add(&text, "/proc/self/fd/");
		hook_text_number(&text, fd);
	}
	opened = REAL(freopen)(fd >= 0 ? copy : path, mode, f);
	if (fd >= 0)
		close(fd);
	else if (opened && reads)
		hook_infile_opened(fileno(opened), AT_FDCWD, path, flags);
	return opened;
}

HOOK_EXPORT FILE *freopen64(const char *path, const char *mode, FILE *f)
	__attribute__((alias("freopen")));
WRAP(int, setvbuf, f, (FILE * f, char *buffer, int mode, size_t size), (f, buffer, mode, size))
WRAP(void, setbuf, f, (FILE * f, char *buffer), (f, buffer))
WRAP(void, setbuffer, f, (FILE * f, char *buffer, size_t size), (f, buffer, size))
WRAP(void, setlinebuf, f, (FILE * f), (f))

/* All streams at once stand for standard output. */
WRAP(int, fflush, f ? f : stdout, (FILE * f), (f))

/* The next stream at this place is another one; it may be there before this call returns. */
static int close_stream(FILE *f, int (*how)(FILE *), const void *site)
{
	struct hook_sync_call c = {.op = SYNC_STREAM, .object = f, .site = site};
	struct hook_thread *t;
	int rc;

	if (!hook_sync_is_on(site))
		return how(f);
	t = hook_sync_enter();
	hook_sync_mode->take(t, &c);
	hook_sync_forget(f);
	hook_sync_leave(t);
	hook_file_closes();
	rc = how(f);
	hook_file_closed();
	return rc;
}

HOOK_EXPORT int fclose(FILE *f)
{
	return close_stream(f, REAL(fclose), __builtin_return_address(0));
}

HOOK_EXPORT int pclose(FILE *f)
{
	return close_stream(f, hook_child_pclose, __builtin_return_address(0));
}

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
	if (object == stdout || object == &outputs[0])
		return "standard output";
	return object == stderr || object == &outputs[1] ? "standard error" : NULL;
}

static bool is_output(int fd)
{
	return fd == STDOUT_FILENO || fd == STDERR_FILENO;
}

HOOK_EXPORT ssize_t write(int fd, const void *p, size_t n)
{
	ssize_t done;

	if (hook_channel_has(fd, __builtin_return_address(0)))
		return hook_channel_write(fd, p, n);
	if (!is_output(fd))
		return REAL(write)(fd, p, n);
	USE(&outputs[fd - STDOUT_FILENO], SYNC_WRITE);
	done = REAL(write)(fd, p, n);
	if (done >= 0)
		hook_stdio_prints(&use_at_work, p, n);
	return done;
}

HOOK_EXPORT ssize_t writev(int fd, const struct iovec *parts, int n)
{
	ssize_t done;

	if (n > 0 && hook_channel_has(fd, __builtin_return_address(0)))
		return hook_channel_writev(fd, parts, n);
	if (!is_output(fd))
		return REAL(writev)(fd, parts, n);
	USE(&outputs[fd - STDOUT_FILENO], SYNC_WRITE);
	done = REAL(writev)(fd, parts, n);
	for (int i = 0; i < n && done >= 0; i++)
		hook_stdio_prints(&use_at_work, parts[i].iov_base, parts[i].iov_len);
	return done;
}
