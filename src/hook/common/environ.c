/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our variables lie where the kernel has put them, and stay there: whoever looks for the processes
 * of a replay finds them in /proc. Of LD_PRELOAD and ASAN_OPTIONS only the first word is ours.
 * Invariant: a variable that the program has set itself is not replaced by ours of that name.
 */
#include "hook/common/environ.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/kit/lock.h"
#include "hook/kit/pages.h"

#define MOST 24
#define LONGEST 8192

struct word {
	const char *name,
		*ours;       /* of the variable, and by what its first word is known to be ours */
	char whole[LONGEST]; /* the variable with our word alone; empty if there is none */
	char rest[LONGEST];  /* without it */
	size_t length;       /* of our word */
};

static char *hidden[MOST];
static size_t count;
static struct hook_lock lock;

static struct word words[] = {{.name = "LD_PRELOAD=", .ours = "/libreprise-"},
			      {.name = "ASAN_OPTIONS=", .ours = "verify_asan_link_order=0"}};
#define WORDS (sizeof(words) / sizeof(words[0]))

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_ours(const char *variable)
{
	static const char *const names[] = {
		"MODE=",  "DIR=",      "SESSION=", "RANK=",     "NOISE=", "FORCE=", "DISCARD=",
		"TRACE=", "LAUNCHED=", "THREADS=", "SNAPSHOT=", "HEAP=",  "PAD=",   "PAD2=",
	};

	if (!begins(variable, "REPRISE_"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (begins(variable + strlen("REPRISE_"), names[i]))
			return true;
	}
	return false;
}

/* The library that is loaded first is this one (launch/environ.c), unless valgrind is there. */
static bool split(struct word *w, const char *variable)
{
	const char *value = variable + strlen(w->name), *end = strchrnul(value, ':');
	const char *ours = strstr(value, w->ours);

	if (!ours || ours >= end || strlen(variable) >= sizeof(w->whole))
		return false;
	w->length = (size_t)(end - value);
	*stpncpy(stpcpy(w->whole, w->name), value, w->length) = '\0';
	stpcpy(stpcpy(w->rest, w->name), *end ? end + 1 : end);
	return true;
}

/* False if there is no room for one more. */
static bool note(char *variable)
{
	for (size_t i = 0; i < count; i++) {
		if (hidden[i] == variable)
			return true;
	}
	if (count == MOST)
		return false;
	hidden[count++] = variable;
	return true;
}

static struct word *word_of(const char *variable)
{
	for (size_t i = 0; i < WORDS; i++) {
		if (begins(variable, words[i].name))
			return &words[i];
	}
	return NULL;
}

static void take_out(char **env)
{
	char **to = env;

	for (char **from = env; *from; from++) {
		struct word *w = word_of(*from);

		if (w && split(w, *from)) {
			if (w->rest[strlen(w->name)])
				*to++ = w->rest;
		} else if (is_ours(*from) && note(*from)) {
			continue;
		} else {
			*to++ = *from;
		}
	}
	*to = NULL;
}

void hook_environ_hide(void)
{
	if (environ && !count)
		take_out(environ);
}

const char *hook_environ_get(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < count; i++) {
		if (strncmp(hidden[i], name, n) == 0 && hidden[i][n] == '=')
			return hidden[i] + n + 1;
	}
	return getenv(name);
}

/* In its place where there is room, for whoever looks into /proc. */
void hook_environ_change(const char *name, const char *value)
{
	static char larger[MOST][LONGEST];
	size_t n = strlen(name);

	for (size_t i = 0; i < count; i++) {
		size_t room = strlen(hidden[i]) + 1;

		if (strncmp(hidden[i], name, n) != 0 || hidden[i][n] != '=')
			continue;
		if (n + strlen(value) + 2 > room) {
			room = LONGEST;
			hidden[i] = larger[i];
			stpcpy(stpcpy(hidden[i], name), "=");
		}
		if (n + strlen(value) + 2 <= room)
			strcpy(hidden[i] + n + 1, value);
	}
}

static size_t length_of(char *const *env)
{
	size_t n = 0;

	while (env && env[n])
		n++;
	return n;
}

size_t hook_environ_room(char *const *env)
{
	size_t room = (length_of(env) + MOST + WORDS + 1) * sizeof(char *);

	for (size_t i = 0; env && env[i]; i++) {
		struct word *w = word_of(env[i]);

		if (w && w->whole[0])
			room += strlen(env[i]) + strlen(w->whole) + 2;
	}
	return room;
}

static bool has(char *const *env, size_t n, const char *variable)
{
	size_t length = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < n; i++) {
		if (strncmp(env[i], variable, length) == 0)
			return true;
	}
	return false;
}

/* Our word, then the program's. */
static char *merge(const struct word *w, const char *variable, char **text)
{
	const char *value = variable + strlen(w->name), *ours = w->whole + strlen(w->name);
	char *start = *text;

	if (strncmp(value, ours, w->length) == 0)
		return (char *)variable;
	*text = stpcpy(*text, w->whole);
	if (*value) {
		*(*text)++ = ':';
		*text = stpcpy(*text, value);
	}
	++*text;
	return start;
}

char *const *hook_environ_whole(char *const *env, void *room)
{
	size_t n = length_of(env), given = n;
	char **whole = room, *text = (char *)(whole + n + MOST + WORDS + 1);

	if (!count)
		return env;
	for (size_t i = 0; i < n; i++) {
		const struct word *w = word_of(env[i]);

		whole[i] = w && w->whole[0] ? merge(w, env[i], &text) : env[i];
	}
	for (size_t i = 0; i < WORDS; i++) {
		if (words[i].whole[0] && !has(whole, given, words[i].name))
			whole[n++] = words[i].whole;
	}
	for (size_t i = 0; i < count; i++) {
		if (!has(whole, given, hidden[i]))
			whole[n++] = hidden[i];
	}
	whole[n] = NULL;
	return whole;
}

static struct {
	char **before, **whole;
	size_t size;
	int users;
} shown;

void hook_environ_begin(void)
{
	hook_lock_take(&lock);
}

void hook_environ_end(void)
{
	hook_lock_give(&lock);
}

void hook_environ_show(void)
{
	int error = errno;

	hook_environ_begin();
	if (!shown.users++ && count) {
		shown.before = environ;
		shown.size = hook_environ_room(environ);
		shown.whole = hook_pages(shown.size);
		if (shown.whole)
			environ = (char **)hook_environ_whole(environ, shown.whole);
	}
	hook_environ_end();
	errno = error;
}

/* Another thread may have set variables meanwhile: there, or in an array that libc has made. */
void hook_environ_unshow(void)
{
	int error = errno;

	hook_environ_begin();
	if (!--shown.users && shown.whole) {
		if (environ == shown.whole) {
			for (size_t i = 0; shown.before[i]; i++) {
				if (!word_of(shown.before[i]))
					shown.before[i] = shown.whole[i];
			}
			environ = shown.before;
		} else {
			take_out(environ);
		}
		hook_pages_free(shown.whole, shown.size);
		shown.whole = NULL;
	}
	hook_environ_end();
	errno = error;
}
