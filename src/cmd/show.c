/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and arguments in a trace are whatever bytes the user had. Nothing of them reaches a
 * terminal or a JSON reader unchecked: UTF-8 is decoded, all else replaced.
 */
#include "cmd/show.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#define RANKS_WIDTH 48

char *cmd_show_text(const char *text)
{
	return rp_text_cleaned(text, "?", false);
}

char *cmd_show_size(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024)
		return rp_format("%" PRIu64 " B", bytes);
	for (; value >= 1024 && unit < 3; unit++)
		value /= 1024;
	return rp_format("%.1f %s", value, units[unit]);
}

/* Links are not followed. */
uint64_t cmd_show_usage(int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *d;
	struct stat st;
	uint64_t sum = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	while ((d = readdir(dir))) {
		int sub;

		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
		    fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		sum += (uint64_t)st.st_blocks * 512;
		if (!S_ISDIR(st.st_mode))
			continue;
		sub = openat(fd, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			sum += cmd_show_usage(sub);
	}
	closedir(dir);
	return sum;
}

char *cmd_show_ranks(const unsigned *rank, size_t n)
{
	char *out = rp_alloc(RANKS_WIDTH + 32, 1);
	size_t length = 0;

	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && rank[end] == rank[end - 1] + 1;)
			end++;
		if (length > RANKS_WIDTH) {
			strcpy(out + length, ",…");
			break;
		}
		length += (size_t)sprintf(out + length, "%s%u", i ? "," : "", rank[i]);
		if (end - i > 1)
			length += (size_t)sprintf(out + length, "%s%u", end - i > 2 ? "-" : ",",
						  rank[end - 1]);
	}
	return out;
}

json_t *cmd_show_json(const char *text)
{
	json_t *string = json_string(text);
	char *clean;

	if (string)
		return string;
	clean = rp_text_cleaned(text, "\xef\xbf\xbd", true);
	string = json_string(clean);
	free(clean);
	return string;
}

json_t *cmd_show_json_list(char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list && list[i]; i++)
		json_array_append_new(array, cmd_show_json(list[i]));
	return array;
}

void cmd_show_json_line(json_t *value, size_t flags)
{
	/* Some terminals obey control characters above ASCII, too. */
	char *text = json_dumps(value, flags | JSON_ENSURE_ASCII);

	if (text)
		puts(text);
	free(text);
	json_decref(value);
}
