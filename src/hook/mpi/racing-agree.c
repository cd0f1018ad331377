/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Either clocks ride on the messages of all ranks or of none. A rank that is not recorded would not
 * answer a message of ours, and would take ours for its own; so ranks agree by files. Each leaves
 * a mark in its directory, rank 0 counts the marks, and the answer is the target of a symbolic
 * link: it can be made only once, so whoever loses patience and makes it "no" does so for all.
 *
 * Rank 0 makes the ledger, in memory, because a file system is slow to give a page; a symbolic link
 * tells where it is. A mark holds the name of this boot of the host if the rank has mapped it:
 * where all are the same, clocks are there. Then its name has done its service.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hook/common/text.h"
#include "hook/mpi/carry.h"
#include "hook/mpi/racing.h"

#define MARK "rides" /* and the name of the link */
#define NEW_MARK "rides-new"
#define LEDGER "ledger"
#define BOOT "/proc/sys/kernel/random/boot_id"
#define COUNT_SECONDS 15
#define WAIT_SECONDS 60

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void nap(void)
{
	struct timespec ts = {0, 500000};

	nanosleep(&ts, NULL);
}

static struct hook_text path_in(char *out, size_t size, const char *name)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, hook_process.dir);
	hook_text_add(&text, "/");
	hook_text_add(&text, name);
	return text;
}

/* Bytes of a short file; none if it cannot be read. */
static size_t read_all(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, out, size);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (size_t)n : 0;
}

struct mark {
	char boot[64];
	size_t bytes;
};

static bool wait_for_mark(int rank, double deadline, struct mark *mark)
{
	char path[1200];
	struct hook_text text = path_in(path, sizeof(path), "rank-");

	hook_text_padded(&text, (uint64_t)rank, 4);
	hook_text_add(&text, "/" MARK);
	while (access(path, F_OK) != 0) {
		if (now() > deadline)
			return false;
		nap();
	}
	mark->bytes = read_all(path, mark->boot, sizeof(mark->boot));
	return true;
}

/* The answer that rank 0 gives. */
static const char *count_marks(int world, const struct mark *mine)
{
	double deadline = now() + COUNT_SECONDS;
	bool alike = mine->bytes > 0;
	struct mark mark;

	for (int i = 0; i < world; i++) {
		if (!wait_for_mark(i, deadline, &mark))
			return "no";
		alike = alike && mark.bytes == mine->bytes &&
			memcmp(mark.boot, mine->boot, mark.bytes) == 0;
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

static bool make_ledger(char *path, size_t size, const char *link)
{
	const char *fault = getenv("REPRISE_FAULT");
	struct hook_text text = hook_text_in(path, size);
	bool made;

	hook_text_add(&text, "/dev/shm/reprise-");
	hook_text_number(&text, (int64_t)hook_process.pid);
	hook_text_add(&text, "-");
	hook_text_number(&text, (int64_t)(now() * 1e6));
	made = !(fault && strcmp(fault, "noledger") == 0) &&
	       hook_ledger_open(path, 0, carry_clock.ranks, carry_head);
	return symlink(made ? path : "none", link) == 0 && made;
}

/* Waits for the link of rank 0, unless there is an answer already. */
static bool find_ledger(const char *link, const char *answer)
{
	double deadline = now() + WAIT_SECONDS;
	char path[100] = "";

	while (readlink(link, path, sizeof(path) - 1) < 0) {
		enum racing_ride ride;

		if (read_answer(answer, &ride) || now() > deadline)
			return false;
		nap();
	}
	return path[0] == '/' &&
	       hook_ledger_open(path, carry_clock.rank, carry_clock.ranks, carry_head);
}

/* It appears with all that is in it. */
static bool leave_mark(const struct mark *mark)
{
	int fd = openat(hook_process.rank_fd, NEW_MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool written;

	if (fd < 0)
		return false;
	written = hook_write(fd, mark->boot, mark->bytes) == (ssize_t)mark->bytes;
	close(fd);
	return written && renameat(hook_process.rank_fd, NEW_MARK, hook_process.rank_fd, MARK) == 0;
}

static enum racing_ride wait_for_answer(const char *path, bool can)
{
	double deadline = now() + WAIT_SECONDS;
	enum racing_ride ride;

	while (!read_answer(path, &ride)) {
		if ((!can || now() > deadline) && symlink("no", path) != 0 &&
		    access(hook_process.dir, W_OK) != 0)
			return RACING_NO;
		nap();
	}
	return ride;
}

enum racing_ride racing_agree(bool can, int world)
{
	char answer[1200], link[1200], ledger[100];
	struct mark mine = {.bytes = 0};
	enum racing_ride ride;
	bool mapped = false;

	path_in(answer, sizeof(answer), MARK);
	path_in(link, sizeof(link), LEDGER);
	if (can)
		mapped = hook_process.rank == 0 ? make_ledger(ledger, sizeof(ledger), link)
						: find_ledger(link, answer);
	if (mapped)
		mine.bytes = read_all(BOOT, mine.boot, sizeof(mine.boot));
	can = can && leave_mark(&mine);
	if (can && hook_process.rank == 0)
		can = symlink(count_marks(world, &mine), answer) == 0;
	ride = wait_for_answer(answer, can);
	unlinkat(hook_process.rank_fd, MARK, 0);
	if (hook_process.rank == 0) {
		unlink(link);
		if (mapped)
			unlink(ledger);
	}
	if (ride != RACING_APART)
		hook_ledger_close();
	return ride;
}
