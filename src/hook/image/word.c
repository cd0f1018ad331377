/* SPDX-License-Identifier: Apache-2.0 */
/* What the front wants, what is left for it, and why a child could write no image. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "ckpt/raw.h"
#include "hook/image/image.h"
#include "hook/kit/text.h"

void hook_image_leave_word(const char *name, const char *text)
{
	char path[1100];
	long fd;

	hook_image_path(path, sizeof(path), name);
	fd = raw(SYS_open, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	raw(SYS_write, fd, text, strlen(text));
	raw(SYS_close, fd);
}

/* What it is that is shared is told by the child. */
static const char *name_shared(void)
{
	static char why[HOOK_IMAGE_WHY];
	char path[1100], file[HOOK_IMAGE_WHY / 2] = "";
	struct hook_text text = hook_text_in(why, sizeof(why));

	hook_image_path(path, sizeof(path), HOOK_IMAGE_SHARED);
	raw_slurp(path, file, sizeof(file));
	raw(SYS_unlink, path);
	hook_text_add(&text, "it has memory that is shared (MAP_SHARED)");
	if (file[0])
		hook_text_add(&text, ": ");
	hook_text_add(&text, file);
	return why;
}

const char *hook_image_why_not(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "the disk is full";
	case ENOENT:
		return "a file is mapped that has no name any more";
	case EXDEV:
		return name_shared();
	case ECHILD:
		return "it has memory that a child does not get (MADV_DONTFORK, MADV_WIPEONFORK)";
	case EUCLEAN:
		return "a page has changed, and the kernel does not tell it was written to";
	case ENOMEM:
		return "there is not enough memory";
	default:
		return "its image could not be written";
	}
}

uint64_t hook_image_wanted(const char *key)
{
	char path[1100], text[512];
	struct hook_text out = hook_text_in(path, sizeof(path));
	const char *p;

	hook_text_add(&out, hook_process.session);
	hook_text_add(&out, "/checkpoint");
	if (raw_slurp(path, text, sizeof(text)) <= 0)
		return 0;
	p = strstr(text, key);
	return p && (p == text || p[-1] == '\n') ? strtoull(p + strlen(key), NULL, 10) : 0;
}

uint64_t hook_image_budget(void)
{
	uint64_t all = hook_image_wanted("budget="), spent = 0;
	char path[1100], text[32];

	hook_image_path(path, sizeof(path), "spent");
	if (raw_slurp(path, text, sizeof(text)) > 0)
		spent = strtoull(text, NULL, 10);
	return all > spent ? all - spent : 0;
}
