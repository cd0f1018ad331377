/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order by MPI: what a thread did before a call comes before what another one does after a call of
 * its own. The front has found out which calls these are (race/log.h), from the events of the run.
 * What is given is released before the call and acquired after it, so by MPI itself the one comes
 * first. Each gift is an object of its own, whose address is that of its entry: with one for all
 * gifts of a thread, others would learn what it gave later. Invariant: what is released depends on
 * the file alone, so that segments are the same in each pass.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/common/process.h"
#include "hook/thread/race/race.h"
#include "race/log.h"

bool hook_race_by_messages;

static struct race_log_hand *hands;
static size_t count;

/* Of the calling thread: what comes next; it has looked for the first. */
static __thread struct {
	bool looked;
	size_t next, end;
} mine;

void hook_race_messages_open(void)
{
	char path[1200];
	struct stat st;
	void *at = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/races-messages-%04u-%u", hook_process.session,
		 hook_process.rank, hook_process.process);
	fd = hook_process.replay.races ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		hook_failed(hook_thread_self(), "the order by messages cannot be read");
	hands = at;
	count = (size_t)st.st_size / sizeof(*hands);
	hook_race_by_messages = true;
}

/* The first entry that is not before the thread. */
static size_t first_of(uint64_t thread)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (hands[mid].thread < thread)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void look(const struct hook_thread *t)
{
	uint64_t thread = race_log_name(t->name);

	mine.looked = true;
	mine.next = mine.end = first_of(thread);
	while (mine.end < count && hands[mine.end].thread == thread)
		mine.end++;
}

void hook_race_message_begins(const struct hook_thread *t, uint64_t event)
{
	size_t i;

	if (!mine.looked)
		look(t);
	while (mine.next < mine.end && hands[mine.next].event < event)
		mine.next++;
	for (i = mine.next; i < mine.end && hands[i].event == event; i++) {
		if (hands[i].from == RACE_LOG_GIVES)
			hook_race_release(&hands[i]);
	}
}

void hook_race_message_ends(uint64_t event)
{
	for (; mine.next < mine.end && hands[mine.next].event == event; mine.next++) {
		uint32_t from = hands[mine.next].from;

		if (from >= count)
			continue;
		hook_race_acquire(&hands[from]);
		if (__atomic_sub_fetch(&hands[from].takers, 1, __ATOMIC_RELAXED) == 0)
			hook_race_forget(&hands[from]);
	}
}
