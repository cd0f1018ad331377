/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs that end before their rank does, since a budget was used up. The rank says so in
 * log/rank-NNNN/ended, a line "THREAD EVENT" for each thread that had more to log: it can be served
 * what comes before that event.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/halt.h"
#include "replay/log.h"
#include "replay/pass.h"

/* The caller frees; NULL: it does not end early. */
static char *read_ends(int dirfd, unsigned rank)
{
	char *path = rp_format("log/rank-%04u/" REPLAY_LOG_ENDED, rank);
	char *text = replay_pass_read(dirfd, path);

	free(path);
	return text;
}

char *replay_log_end(int dirfd, unsigned rank)
{
	char *ends = read_ends(dirfd, rank), *text = NULL;

	for (char *p = ends; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
		int n = (int)strcspn(p, " \n");
		uint64_t event = strtoull(p + n, NULL, 10);
		bool is_main = n == 1 && *p == '0';
		char *before = text;

		text = rp_format("%s%s%u%s%.*s@%" PRIu64, before ? before : "",
				 before ? " and " : "", rank, is_main ? "" : ".", is_main ? 0 : n,
				 p, event);
		free(before);
	}
	free(ends);
	if (text)
		rp_text_clean(text); /* a trace may be somebody else's */
	return text;
}

uint64_t replay_log_stop(const char *places, const char *thread, size_t length)
{
	for (const char *p = places; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
		uint64_t first, second;
		char *end;

		if (strncmp(p, thread, length) != 0 || p[length] != ' ')
			continue;
		first = strtoull(p + length, &end, 10);
		second = strtoull(end, NULL, 10);
		return first > second ? first : second;
	}
	return UINT64_MAX;
}

static bool reaches(const char *ends, const char *places)
{
	for (const char *p = ends; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		size_t n = strcspn(p, " \n");

		if (replay_log_stop(places, p, n) > strtoull(p + n, NULL, 10))
			return false;
	}
	return true;
}

int replay_log_check_end(const struct replay_front *f, size_t i, const char *places)
{
	unsigned rank = f->run->rank[i].rank;
	char *ends = read_ends(f->run->dir.fd, rank), *text;
	bool enough = !ends || reaches(ends, places);

	free(ends);
	if (enough)
		return 0;
	text = replay_log_end(f->run->dir.fd, rank);
	rp_say("rank %u: its log ends before %s, where --budget was used up; 'reprise checkpoint "
	       "--again' with a larger one logs more",
	       rank, text);
	free(text);
	return RP_EXIT_BAD_INPUT;
}
