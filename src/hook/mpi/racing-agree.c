/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Either clocks ride on the messages of all ranks or of none. A rank that is not recorded would not
 * answer a message of ours, and would take ours for its own; so ranks agree by files. Each leaves
 * a mark in its directory, rank 0 counts the marks, and the answer is the target of a symbolic
 * link: it can be made only once, so whoever loses patience and makes it "no" does so for all.
 */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hook/common/text.h"
#include "hook/mpi/racing.h"

#define MARK "rides" /* and the name of the link */
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

static bool wait_for_mark(int rank, double deadline)
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
	return true;
}

static bool all_marked(int world)
{
	double deadline = now() + COUNT_SECONDS;

	for (int i = 0; i < world; i++) {
		if (!wait_for_mark(i, deadline))
			return false;
	}
	return true;
}

static bool is_yes(const char *path, bool *answered)
{
	char answer[8] = "";
	ssize_t n = readlink(path, answer, sizeof(answer) - 1);

	*answered = n > 0;
	return n == 3 && memcmp(answer, "yes", 3) == 0;
}

bool racing_agree(bool can, int world)
{
	char path[1200];
	double deadline = now() + WAIT_SECONDS;
	bool answered = false, yes;
	int fd;

	path_in(path, sizeof(path), MARK);
	fd = can ? openat(hook_process.rank_fd, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || (hook_process.rank == 0 && !all_marked(world)))
		can = false;
	else if (hook_process.rank == 0 && symlink("yes", path) != 0)
		can = false;
	if (fd >= 0)
		close(fd);
	do {
		yes = is_yes(path, &answered);
		if (!answered && (!can || now() > deadline) && symlink("no", path) != 0 &&
		    access(hook_process.dir, W_OK) != 0)
			return false;
		if (!answered)
			nap();
	} while (!answered);
	unlinkat(hook_process.rank_fd, MARK, 0);
	return yes;
}
