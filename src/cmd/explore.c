/* SPDX-License-Identifier: Apache-2.0 */
/* Alternatives as people write and read them. */
#include "cmd/explore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "trace/format.h"

static bool number(const char **text, uint64_t most, uint64_t *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return !errno && *value <= most;
}

/* R@E or R.T@E; *text is behind it. */
static bool position(const char **text, struct replay_position *at)
{
	const char *thread;
	uint64_t rank, event;
	size_t n;

	if (!number(text, INT32_MAX, &rank))
		return false;
	at->rank = (unsigned)rank;
	at->process = 0;
	thread = **text == '.' ? *text + 1 : "0";
	n = strspn(thread, "0123456789.");
	if (**text == '.')
		*text = thread + n;
	if (!n || **text != '@')
		return false;
	(*text)++;
	if (!number(text, UINT64_MAX >> 1, &event) || !event)
		return false;
	at->event = event;
	at->thread = rp_format("%.*s", (int)n, thread);
	return true;
}

int cmd_parse_force(const char *text, struct replay_force *force)
{
	const char *p = text;
	uint64_t value;

	*force = (struct replay_force){0};
	if (!position(&p, &force->at))
		goto wrong;
	if (*p == '#') {
		p++;
		force->is_post = true;
		if (!number(&p, UINT64_MAX >> 1, &force->post))
			goto wrong;
	}
	if (*p++ != '=' || !number(&p, INT32_MAX, &value) || *p)
		goto wrong;
	force->value = (uint32_t)value;
	return 0;
wrong:
	rp_say("--outcome takes RANK@EVENT=SOURCE, not '%s'; see 'reprise help explore'", text);
	free((char *)force->at.thread);
	*force = (struct replay_force){0};
	return RP_EXIT_BAD_INPUT;
}

int cmd_parse_cut(const char *text, struct replay_cut *cut)
{
	const char *p = text;

	do {
		struct replay_position at;

		if (!position(&p, &at) || (*p && *p != ',')) {
			rp_say("--cut takes RANK@EVENT,RANK@EVENT,…, not '%s'; see 'reprise help "
			       "explore'",
			       text);
			return RP_EXIT_BAD_INPUT;
		}
		cut->at = rp_realloc(cut->at, cut->n + 1, sizeof(at));
		cut->at[cut->n++] = at;
	} while (*p++);
	return 0;
}

static const char *what_of(uint32_t kind)
{
	return kind == TRACE_INDEX || kind == TRACE_SOME ? "index" : "source";
}

char *cmd_alternative_text(const struct replay_alternative *a)
{
	const struct replay_position *at = &a->force.at;
	bool is_main = !at->thread || strcmp(at->thread, "0") == 0;
	char *post = a->force.is_post ? rp_format("#%" PRIu64, a->force.post) : rp_strdup("");
	char *old = a->recorded.value < 0 ? rp_strdup("none")
					  : rp_format("%" PRId64, a->recorded.value);
	char *new = a->force.by_receive ? rp_format("that of the receive posted at %u@%" PRIu64,
						    at->rank, a->posted_by)
					: rp_format("%" PRIu32, a->force.value);
	char *text =
		rp_format("%u%s%s@%" PRIu64 "%s%s%s: %s %s -> %s", at->rank, is_main ? "" : ".",
			  is_main ? "" : at->thread, at->event, post, a->place ? " " : "",
			  a->place ? a->place : "", what_of(a->recorded.kind), old, new);

	if (!a->forced) {
		free(text);
		text = rp_strdup("free from the cut on");
	}
	free(post);
	free(old);
	free(new);
	return text;
}
