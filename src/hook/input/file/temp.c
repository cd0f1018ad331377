/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of temporary files. The letters that libc chooses are an input; in replay the file gets the
 * recorded name. If there is a file of that name, the recording or a replay has left it, and it is
 * used again, as any file that a run writes. A file that is not the user's own is not touched:
 * another name is taken, and a message says so.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/input/descriptor/device.h"
#include "hook/input/descriptor/file.h"
#include "hook/input/value/input.h"
#include "hook/kit/text.h"
#include "hook/output/output.h"
#include "hook/session/moved.h"
#include "hook/session/private.h"

#define SITE __builtin_return_address(0)
#define LETTERS 6

enum kind { A_FILE, A_DIRECTORY, A_NAME };

struct wanted {
	enum kind kind;
	char *name, *letters;
	int suffix, flags;
	int made;    /* descriptor, or 0; -1 if it is yet to be made */
	bool varies; /* it has another name than recorded */
};

static int make(struct wanted *w)
{
	if (w->kind == A_FILE)
		return REAL(mkostemps)(w->name, w->suffix, w->flags);
	if (w->kind == A_DIRECTORY)
		return REAL(mkdtemp)(w->name) ? 0 : -1;
	return REAL(mktemp)(w->name)[0] ? 0 : -1;
}

static ssize_t fetch(void *ctx, void *buffer, size_t size)
{
	struct wanted *w = ctx;

	(void)size;
	w->made = make(w);
	if (w->made < 0)
		return -errno;
	memcpy(buffer, w->letters, LETTERS);
	return LETTERS;
}

static int open_left(const struct wanted *w, const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0 || st.st_uid != geteuid())
		return -1;
	if (w->kind == A_DIRECTORY)
		return S_ISDIR(st.st_mode) ? 0 : -1;
	if (!S_ISREG(st.st_mode))
		return -1;
	return REAL(openat)(AT_FDCWD, path, O_RDWR | O_TRUNC | O_NOFOLLOW | w->flags);
}

/* By the recorded name. */
static int make_again(struct wanted *w)
{
	char elsewhere[HOOK_MOVED_PATH], own[HOOK_MOVED_PATH];
	const char *path = hook_moved ? hook_moved_path(w->name, elsewhere) : w->name;
	char then[64];
	struct hook_text text = hook_text_in(then, sizeof(then));
	int made = 0;

	if (w->kind == A_FILE && __builtin_expect(hook_private, 0))
		path = hook_private_open(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, -1, own);
	if (w->kind == A_FILE)
		made = REAL(openat)(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | w->flags, 0600);
	else if (w->kind == A_DIRECTORY)
		made = mkdir(path, 0700);
	if (made < 0 && errno == EEXIST)
		made = open_left(w, path);
	if (made >= 0 || errno != EEXIST)
		return made;
	hook_text_add(&text, w->name);
	memset(w->letters, 'X', LETTERS);
	made = make(w);
	w->varies = true;
	hook_say("the temporary file ", then, " exists and is not yours: the replay takes ",
		 w->name, " and may differ", NULL);
	return made;
}

static int choose(struct wanted *w, const char *call, const void *site)
{
	size_t n = strlen(w->name);
	char letters[LETTERS];
	int fd;

	if (!hook_io_is_programs(site) || n < LETTERS + (size_t)w->suffix)
		return make(w);
	w->letters = w->name + n - (size_t)w->suffix - LETTERS;
	w->made = -1;
	if (hook_input_bytes(TRACE_IN_RANDOM, call, fetch, w, letters, sizeof(letters)) != LETTERS)
		return -1;
	if (w->made < 0) {
		memcpy(w->letters, letters, LETTERS);
		hook_depth++;
		w->made = make_again(w);
		hook_depth--;
		if (w->varies)
			hook_output_names_vary();
	}
	if (w->kind != A_FILE)
		return w->made;
	fd = hook_file_has_number(site) ? hook_file_opened(call, w->made) : w->made;
	if (fd >= 0) {
		hook_output_writes(AT_FDCWD, w->name);
		hook_channel_forget(fd);
		hook_input_device_forget(fd);
	}
	return fd;
}

static int file(const char *call, char *name, int suffix, int flags, const void *site)
{
	struct wanted w = {.kind = A_FILE, .name = name, .suffix = suffix, .flags = flags};

	if (suffix < 0)
		return make(&w);
	return choose(&w, call, site);
}

HOOK_EXPORT int mkstemp(char *name)
{
	return file("mkstemp", name, 0, 0, SITE);
}

HOOK_EXPORT int mkostemp(char *name, int flags)
{
	return file("mkostemp", name, 0, flags, SITE);
}

HOOK_EXPORT int mkstemps(char *name, int suffix)
{
	return file("mkstemps", name, suffix, 0, SITE);
}

HOOK_EXPORT int mkostemps(char *name, int suffix, int flags)
{
	return file("mkostemps", name, suffix, flags, SITE);
}

HOOK_EXPORT int mkstemp64(char *name) __attribute__((alias("mkstemp")));
HOOK_EXPORT int mkostemp64(char *name, int flags) __attribute__((alias("mkostemp")));
HOOK_EXPORT int mkstemps64(char *name, int suffix) __attribute__((alias("mkstemps")));
HOOK_EXPORT int mkostemps64(char *name, int suffix, int flags) __attribute__((alias("mkostemps")));

HOOK_EXPORT char *mkdtemp(char *name)
{
	struct wanted w = {.kind = A_DIRECTORY, .name = name};

	return choose(&w, "mkdtemp", SITE) < 0 ? NULL : name;
}

HOOK_EXPORT char *mktemp(char *name)
{
	struct wanted w = {.kind = A_NAME, .name = name};

	if (choose(&w, "mktemp", SITE) < 0)
		name[0] = '\0';
	return name;
}

static ssize_t fetch_letters(void *ctx, void *buffer, size_t size)
{
	memcpy(buffer, ctx, size);
	return (ssize_t)size;
}

/* The last letters of a name that libc has made, before or after the program has it. */
static char *named(const char *call, char *name)
{
	size_t n = name ? strlen(name) : 0;
	char letters[LETTERS];

	if (n >= LETTERS && hook_input_bytes(TRACE_IN_RANDOM, call, fetch_letters,
					     name + n - LETTERS, letters, LETTERS) == LETTERS)
		memcpy(name + n - LETTERS, letters, LETTERS);
	return name;
}

HOOK_EXPORT char *tmpnam(char name[L_tmpnam])
{
	char *made = REAL(tmpnam)(name);

	return hook_io_is_programs(SITE) ? named("tmpnam", made) : made;
}

HOOK_EXPORT char *tmpnam_r(char name[L_tmpnam])
{
	char *made = name ? REAL(tmpnam)(name) : NULL;

	return hook_io_is_programs(SITE) ? named("tmpnam_r", made) : made;
}

HOOK_EXPORT char *tempnam(const char *directory, const char *prefix)
{
	char *made = REAL(tempnam)(directory, prefix);

	return hook_io_is_programs(SITE) ? named("tempnam", made) : made;
}
