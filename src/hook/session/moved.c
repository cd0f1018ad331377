/* SPDX-License-Identifier: Apache-2.0 */
/* Read once, before the program runs; from then on only looked at. */
#include "hook/session/moved.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "hook/common/hook.h"
#include "hook/kit/text.h"

#define PAIRS 16

bool hook_moved;
static char words[16384];
static struct {
	const char *from, *to;
} pairs[PAIRS];
static size_t count;

void hook_moved_load(void)
{
	char path[1100];
	struct hook_text text = hook_text_in(path, sizeof(path));
	ssize_t length;
	int fd;

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/moved");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	length = read(fd, words, sizeof(words) - 1);
	close(fd);
	for (char *p = words; length > 0 && p < words + length && count < PAIRS; count++) {
		pairs[count].from = p;
		p += strlen(p) + 1;
		if (p >= words + length)
			break;
		pairs[count].to = p;
		p += strlen(p) + 1;
	}
	hook_moved = count > 0;
}

/* `path` with `to` in place of `from`; 0 if it is not below that, or there is no room. */
static size_t replace(const char *path, const char *from, const char *to, char *out)
{
	size_t n = strlen(from), length = strlen(path) - n + strlen(to);

	if (strncmp(path, from, n) != 0 || (path[n] && path[n] != '/') || length >= HOOK_MOVED_PATH)
		return 0;
	strcpy(out, to);
	strcat(out, path + n);
	return length;
}

const char *hook_moved_path(const char *path, char buffer[HOOK_MOVED_PATH])
{
	for (size_t i = 0; i < count; i++) {
		if (replace(path, pairs[i].from, pairs[i].to, buffer))
			return buffer;
	}
	return path;
}

size_t hook_moved_back(const char *path, char then[HOOK_MOVED_PATH])
{
	size_t n = strlen(path);

	for (size_t i = 0; i < count; i++) {
		size_t length = replace(path, pairs[i].to, pairs[i].from, then);

		if (length)
			return length;
	}
	if (n >= HOOK_MOVED_PATH)
		return 0;
	memcpy(then, path, n + 1);
	return n;
}
