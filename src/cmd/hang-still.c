/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads are looked at one after the other: each was seen in its wait, but perhaps never all at
 * once. Those that have not had the processor from before the last of them was found asleep until
 * after that were asleep at the same time. Whom they wait for sleeps, too; so they still do.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/mem.h"
#include "cmd/hang.h"

#define TRIES 100 /* of 20 ms: after it was let go, a thread has to get the processor once */

static FILE *open_proc(int pid, const char *thread, const char *what)
{
	char *path = rp_format("/proc/%d/task/%s/%s", pid, thread, what);
	FILE *file = fopen(path, "re");

	free(path);
	return file;
}

/* The word that it waits on without an end; 0 if it does not. */
static uint64_t word_of(int pid, const char *thread)
{
	FILE *file = open_proc(pid, thread, "syscall");
	uint64_t word = 0, timeout = 0;
	long call = -1;

	if (!file ||
	    fscanf(file, "%ld 0x%" SCNx64 " 0x%*x 0x%*x 0x%" SCNx64, &call, &word, &timeout) != 3 ||
	    call != SYS_futex || timeout)
		word = 0;
	if (file)
		fclose(file);
	return word;
}

/* How often it was taken from the processor; false if it is not asleep. */
static bool count_switches(int pid, const char *thread, uint64_t *switches)
{
	FILE *file = open_proc(pid, thread, "status");
	char *line = NULL, state = 0;
	size_t room = 0;

	*switches = 0;
	while (file && getline(&line, &room, file) > 0) {
		const char *count = strstr(line, "voluntary_ctxt_switches:");

		sscanf(line, "State: %c", &state);
		if (count)
			*switches += strtoull(strchr(count, ':') + 1, NULL, 10);
	}
	if (file)
		fclose(file);
	free(line);
	return state == 'S';
}

static bool is_asleep(int pid, struct cmd_hang_still *s)
{
	s->word = word_of(pid, s->thread);
	return count_switches(pid, s->thread, &s->switches) && s->word;
}

static bool are_asleep(int pid, const struct cmd_hang_still *list, size_t n)
{
	bool same = true;

	for (size_t i = 0; i < n && same; i++) {
		struct cmd_hang_still now = list[i];

		same = is_asleep(pid, &now) && now.word == list[i].word &&
		       now.switches == list[i].switches;
	}
	return same;
}

static bool have_settled(int pid, struct cmd_hang_still *list, size_t n)
{
	static const struct timespec nap = {0, 20000000};
	bool still = false;

	for (unsigned i = 0; i < TRIES && !still; i++) {
		nanosleep(&nap, NULL);
		still = true;
		for (size_t k = 0; k < n; k++)
			still &= is_asleep(pid, &list[k]);
		still = still && are_asleep(pid, list, n);
	}
	return still;
}

void cmd_hang_find_still(struct cmd_hang *h)
{
	for (size_t i = 0; i < h->ranks; i++) {
		size_t n, before = h->stills;
		struct cmd_hang_thread *list = cmd_hang_waits(h, h->rank[i].rank, &n);

		for (size_t k = 0; k < n; k++) {
			if (!list[k].counts)
				continue;
			h->still = rp_widen(h->still, h->stills, h->stills + 1, sizeof(*h->still));
			h->still[h->stills++] = (struct cmd_hang_still){
				.rank = list[k].seen->rank,
				.thread = rp_strdup(list[k].seen->thread),
			};
		}
		free(list);
		if (h->stills > before &&
		    have_settled(h->rank[i].pid, &h->still[before], h->stills - before))
			continue;
		while (h->stills > before)
			free(h->still[--h->stills].thread);
	}
}

bool cmd_hang_was_still(const struct cmd_hang *h, const struct replay_seen *seen)
{
	for (size_t i = 0; i < h->stills; i++) {
		const struct cmd_hang_still *s = &h->still[i];

		if (s->rank == seen->rank && strcmp(s->thread, seen->thread) == 0)
			return s->word == seen->object;
	}
	return false;
}
