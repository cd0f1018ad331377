/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log that does not have all that ranks received (--log=mrt): the rest is sent again when all
 * ranks are restarted together (trace/live.h). TRACE/log/live says so, and what a restart has to
 * keep to: lines of text, the last of which is a checksum. Without it the log is whole.
 */
#ifndef REPLAY_LIVE_H
#define REPLAY_LIVE_H

#include "graph/interval.h"
#include "replay/front.h"
#include "trace/live.h"

#define REPLAY_LIVE_FILE "live"

/*
 * What the receiver gets between its image of that number and the next comes, in part, from what
 * the sender sends behind its own: who begins no later than the first begins the other no later
 * than the second.
 */
struct replay_live_need {
	uint32_t receiver, receiving; /* a rank, and the number of an image of it */
	uint32_t sender, sending;
};

struct replay_live {
	struct graph_amount all, logged; /* messages among ranks, and those whose contents are there
					  */
	struct replay_live_need *need;
	size_t needs;
};

/* 1, 0 if the log is whole, -EBADMSG if that is not known. */
int replay_live_read(const struct trace_run *run, struct replay_live *live)
	__attribute__((warn_unused_result));
void replay_live_free(struct replay_live *live);

/* " of ranks 0-3 with 12 of 870 messages (--log=mrt)", or less of it, or ""; the caller frees. */
char *replay_live_text(const struct trace_run *run);

/* Into that directory, a log; 0 or -errno. */
int replay_live_write(int logfd, const struct replay_live *live)
	__attribute__((warn_unused_result));

/* The list of a thread's messages that are sent again, packed, and unpacked; 0 or -errno. */
int replay_live_pack(int dirfd, const char *name, const struct trace_live_entry *entry, size_t n)
	__attribute__((warn_unused_result));
int replay_live_unpack(int from, const char *name, int to, const char *result)
	__attribute__((warn_unused_result));

/*
 * What images of all ranks there are to begin with, so that nobody waits for what nobody sends. The
 * caller takes for a rank an image with that number or a lower one, which is not 0, and says which;
 * 0: there is none. True if there is a line: number[] has it.
 */
bool replay_live_settle(const struct replay_live *live, size_t ranks, uint32_t number[],
			uint32_t (*take)(void *context, size_t rank, uint32_t most), void *context);

/* In an open session: ranks are told that what they send is wanted. 0 or -errno. */
int replay_live_tell(const struct replay_front *f) __attribute__((warn_unused_result));

#endif
