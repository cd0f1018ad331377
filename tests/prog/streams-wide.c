/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same as streams.c with wide characters: threads write to standard output and error, share
 * what is in a file, character by character and by the line, and change how it is buffered.
 */
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#include "streams.h"

#ifdef OLD_SCANF
/* As programs of before C99 call it. */
int old_fwscanf(FILE *f, const wchar_t *format, ...) __asm__("fwscanf");
#define fwscanf old_fwscanf
#endif

static wchar_t got[THREADS][STEPS * 16];
static size_t length[THREADS];

static void with_list(const wchar_t *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vwprintf(format, ap);
	va_end(ap);
	va_start(ap, format);
	vfwprintf(stderr, format, ap);
	va_end(ap);
}

static void put(int id, int i)
{
	FILE *f = next() % 2 ? stdout : stderr;
	wchar_t line[40];

	swprintf(line, 40, L"%d %d é\n", id, i);
	switch (next() % 6) {
	case 0:
		wprintf(L"%ls", line);
		break;
	case 1:
		fwprintf(f, L"f %ls", line);
		break;
	case 2:
		fputws(line, f);
		break;
	case 3:
		with_list(L"v %ls", line);
		break;
	case 4:
		putwchar(L'a' + id);
		putwc(L'e' + id, f);
		fputwc(L'\n', f);
		break;
	default:
		x += (uint64_t)fwide(f, 0);
		fflush(f);
	}
}

static void get(int id)
{
	wchar_t line[16] = L"";
	wint_t c;

	switch (next() % 5) {
	case 0:
		if (!fgetws(line, 16, shared))
			return;
		break;
	case 1:
		if (fwscanf(shared, L"%6ls", line) != 1)
			return;
		break;
	case 2:
		line[0] = (wchar_t)getwc(shared);
		line[1] = (wchar_t)fgetwc(shared);
		break;
	case 3:
		setvbuf(shared, NULL, _IOFBF, 4096);
		break;
	default:
		c = fgetwc(shared);
		line[0] = (wchar_t)c;
		if (c != WEOF)
			ungetwc(c, shared);
	}
	for (int i = 0; line[i]; i++)
		got[id][length[id]++] = line[i] == L'\n' ? L' ' : line[i];
}

int main(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	shared = tmpfile();
	if (!shared)
		return 2;
	for (int i = 0; i < 2 * THREADS * STEPS; i++)
		fwprintf(shared, L"l%05d\n", i);
	run_threads();
	for (int i = 0; i < THREADS; i++)
		wprintf(L"\ngot %d %ls\n", i, got[i]);
	fclose(shared);
	return 0;
}
