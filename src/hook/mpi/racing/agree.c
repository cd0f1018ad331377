/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Either clocks ride on the messages of all ranks or of none. A rank that is not recorded would not
 * answer a message of ours, and would take ours for its own; so ranks agree by files. Each leaves a
 * mark in its directory, rank 0 counts the marks, and the answer is the target of a symbolic link:
 * it can be made only once, so a rank that loses patience and makes it "no" does so for all. A rank
 * may run MPI programs one after the other. Each takes a number of its own, which is part of all
 * names: an answer other than "no" with that number has counted the mark of this very process.
 *
 * Rank 0 makes the ledger, in memory; a symbolic link tells where it is. A mark holds the name of
 * this boot of the host if the rank has mapped it: where all are the same, clocks are there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "hook/common/process.h"
#include "hook/kit/proc.h"
#include "hook/kit/text.h"
#include "hook/kit/time.h"
#include "hook/mpi/racing/racing.h"
#include "hook/mpi/stamp/stamp.h"

#define MARK "rides" /* and the name of the answer */
#define LEDGER "ledger"
#define NOT_MAPPED "none\n"
#define BOOT "/proc/sys/kernel/random/boot_id"
#define COUNT_NS 15000000000
#define WAIT_NS 60000000000
#define NAP_NS 500000

static uint32_t number; /* of this process among those of its rank that got here */

static void add_name(struct hook_text *text, const char *name)
{
	hook_text_add(text, name);
	if (number > 0) {
		hook_text_add(text, "-");
		hook_text_number(text, number);
	}
}

static struct hook_text dir_in(char *out, size_t size)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, hook_process.dir);
	hook_text_add(&text, "/");
	return text;
}

struct mark {
	char text[64];
	size_t bytes; /* none: of a rank that has not mapped the ledger */
};

/* A mark ends with its line. */
static bool wait_for_mark(int rank, uint64_t deadline, struct mark *mark)
{
	char path[1200];
	struct hook_text text = dir_in(path, sizeof(path));

	hook_text_add(&text, "rank-");
	hook_text_padded(&text, (uint64_t)rank, 4);
	hook_text_add(&text, "/");
	add_name(&text, MARK);
	for (;;) {
		mark->bytes = hook_proc_read(path, mark->text, sizeof(mark->text));
		if (mark->bytes > 0 && mark->text[mark->bytes - 1] == '\n')
			return true;
		if (hook_time_now() > deadline)
			return false;
		hook_time_nap(NAP_NS);
	}
}

/* The answer that rank 0 gives. */
static const char *count_marks(int world, const struct mark *mine)
{
	uint64_t deadline = hook_time_now() + COUNT_NS;
	bool alike = mine->bytes > 0;
	struct mark mark;

	for (int i = 0; i < world; i++) {
		if (!wait_for_mark(i, deadline, &mark))
			return "no";
		alike = alike && mark.bytes == mine->bytes &&
			memcmp(mark.text, mine->text, mark.bytes) == 0;
	}
	return alike ? "apart" : "yes";
}

/* False: there is no answer yet. */
static bool read_answer(const char *path, enum racing_ride *ride)
{
	char answer[8] = "";
	ssize_t n = readlink(path, answer, sizeof(answer) - 1);

	*ride = strcmp(answer, "apart") == 0 ? RACING_APART
		: strcmp(answer, "yes") == 0 ? RACING_WITHIN
					     : RACING_NO;
	return n > 0;
}

/* Of rank 0: its descriptor, or -1. */
static int make_ledger(const char *link)
{
	const char *fault = getenv("REPRISE_FAULT");
	bool may = !(fault && strcmp(fault, "noledger") == 0);
	char target[100] = "none";
	struct hook_text text;
	uint64_t word;
	int fd = -1;

	if (may && getrandom(&word, sizeof(word), GRND_NONBLOCK) == (ssize_t)sizeof(word))
		fd = hook_ledger_make(word, stamp_clock.ranks, stamp_head);
	if (fd >= 0) {
		fd = hook_high_fd(fd);
		text = hook_text_in(target, sizeof(target));
		hook_text_add(&text, "/proc/");
		hook_text_number(&text, hook_process.pid);
		hook_text_add(&text, "/fd/");
		hook_text_number(&text, fd);
		hook_text_add(&text, " ");
		hook_text_hex(&text, word);
	}
	if (symlink(target, link) == 0 || fd < 0)
		return fd;
	close(fd);
	hook_ledger_close();
	return -1;
}

/* Waits for the link of rank 0, unless there is an answer already. */
static bool find_ledger(const char *link, const char *answer, uint64_t deadline)
{
	char target[100] = "", *word;

	while (readlink(link, target, sizeof(target) - 1) < 0) {
		enum racing_ride ride;

		if (read_answer(answer, &ride) || hook_time_now() > deadline)
			return false;
		hook_time_nap(NAP_NS);
	}
	word = strchr(target, ' ');
	if (!word)
		return false;
	*word++ = 0;
	return hook_ledger_join(target, strtoull(word, NULL, 16), stamp_clock.rank,
				stamp_clock.ranks, stamp_head);
}

/* The file of the mark, still empty; it stays, so that no later process gets the same number. */
static int take_number(void)
{
	char name[32];
	int fd;

	for (number = 0;; number++) {
		struct hook_text text = hook_text_in(name, sizeof(name));

		add_name(&text, MARK);
		fd = openat(hook_process.rank_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			    0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
}

static bool leave_mark(int fd, const struct mark *mark)
{
	const char *text = mark->bytes ? mark->text : NOT_MAPPED;
	size_t bytes = mark->bytes ? mark->bytes : sizeof(NOT_MAPPED) - 1;

	return hook_write(fd, text, bytes) == (ssize_t)bytes;
}

static enum racing_ride wait_for_answer(const char *path, bool can, uint64_t deadline)
{
	enum racing_ride ride;

	while (!read_answer(path, &ride)) {
		if ((!can || hook_time_now() > deadline) && symlink("no", path) != 0 &&
		    access(hook_process.dir, W_OK) != 0)
			return RACING_NO;
		hook_time_nap(NAP_NS);
	}
	return ride;
}

enum racing_ride racing_agree(bool can, int world)
{
	uint64_t deadline = hook_time_now() + WAIT_NS;
	int mark_fd = take_number(), ledger_fd = -1;
	char answer[1200], link[1200];
	struct hook_text text = dir_in(answer, sizeof(answer));
	struct mark mine = {.bytes = 0};
	enum racing_ride ride;
	bool mapped = false;

	add_name(&text, MARK);
	text = dir_in(link, sizeof(link));
	add_name(&text, LEDGER);
	/* With the launcher of another MPI each rank is a world of its own. */
	can = can && stamp_clock.rank == hook_process.rank && mark_fd >= 0;
	if (can && hook_process.rank == 0) {
		ledger_fd = make_ledger(link);
		mapped = ledger_fd >= 0;
	} else if (can) {
		mapped = find_ledger(link, answer, deadline);
	}
	if (mapped)
		mine.bytes = hook_proc_read(BOOT, mine.text, sizeof(mine.text));
	can = can && leave_mark(mark_fd, &mine);
	if (mark_fd >= 0)
		close(mark_fd);
	if (can && hook_process.rank == 0)
		can = symlink(count_marks(world, &mine), answer) == 0;
	ride = wait_for_answer(answer, can, deadline);
	if (hook_process.rank == 0)
		unlink(link);
	if (ledger_fd >= 0)
		close(ledger_fd);
	if (!can)
		ride = RACING_NO;
	if (ride != RACING_APART)
		hook_ledger_close();
	return ride;
}
