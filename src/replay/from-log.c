/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a log can serve: some ranks alone only if it has everything that they receive. */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "replay/from.h"
#include "replay/live.h"
#include "replay/ranks.h"

/* Of a rank that is wanted there is no log; or not all of those are wanted that need each other. */
static int check_group(const struct replay_front *f, const bool chosen[], bool pruned)
{
	bool *logged = rp_alloc(f->ranks, sizeof(*logged)), some = false;
	bool all = replay_ranks_logged(f->run, logged);
	char *group = replay_ranks_text(f->run, logged);
	int code = 0;

	for (size_t i = 0; i < f->ranks && !code; i++) {
		some = some || (logged[i] && !chosen[i]);
		if (logged[i] || !chosen[i])
			continue;
		rp_say("rank %zu cannot be restarted: the checkpoints of %s are of ranks %s alone; "
		       "use --ranks %s, or 'reprise checkpoint' makes those of all ranks",
		       i, f->run->dir.show, group, group);
		code = RP_EXIT_BAD_INPUT;
	}
	if (!code && pruned && some) {
		rp_say("%s was logged with %s%s: what ranks send each other again is not in the "
		       "log, so all of them are replayed or none; 'reprise checkpoint --log=all' "
		       "logs everything",
		       f->run->dir.show, all ? "--log=mrt" : "--ranks ", all ? "" : group);
		code = RP_EXIT_BAD_INPUT;
	}
	free(group);
	free(logged);
	return code;
}

int replay_from_look_at_log(const struct replay_front *f, const bool chosen[],
			    struct replay_live *live)
{
	int rc = replay_live_read(f->run, live);

	if (rc >= 0)
		return check_group(f, chosen, rc == 1);
	rp_say("the log of %s is damaged; 'reprise checkpoint --again' makes it anew",
	       f->run->dir.show);
	return RP_EXIT_BAD_INPUT;
}
