/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front runs in a child, since it watches its ranks all the time, and since it changes its
 * directory and environment to those of the run. A page that both share is all they say to each
 * other; what ranks do is in the state of the session, which is mapped.
 */
#include "group/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

#define LEAVE_MS 10000 /* for the job to end */

struct group_live_shared {
	uint32_t arrived, go, leave;
	char session[PATH_MAX];
	char word[]; /* by rank: 0 until its last word, then 'x', or 's' if it is to die of a signal
		      */
};

static size_t shared_bytes(const struct group_live *l)
{
	return sizeof(struct group_live_shared) + l->run->ranks + 1;
}

static void pass_on(struct replay_front *f)
{
	replay_halt_let_go(f);
	for (size_t i = 0; i < f->ranks; i++) {
		if (f->word[i].why && strcmp(f->word[i].why, REPLAY_WHY_SIGNAL) == 0)
			__atomic_store_n(&f->state->slot[i].go, REPLAY_GO_TO_DEATH,
					 __ATOMIC_RELEASE);
	}
}

/* In the front, at every look. */
static bool visit(struct replay_front *f, void *visitor)
{
	struct group_live_shared *shared = visitor;

	for (size_t i = 0; i < f->ranks; i++) {
		const char *why = f->word[i].why;

		shared->word[i] = !why ? 0 : strcmp(why, REPLAY_WHY_SIGNAL) == 0 ? 's' : 'x';
	}
	if (!shared->arrived) {
		snprintf(shared->session, sizeof(shared->session), "%s", f->session);
		__atomic_store_n(&shared->arrived, 1, __ATOMIC_RELEASE);
	}
	if (__atomic_exchange_n(&shared->go, 0, __ATOMIC_ACQ_REL))
		pass_on(f);
	f->halt->leave = __atomic_load_n(&shared->leave, __ATOMIC_ACQUIRE);
	return true;
}

static int run_front(const struct group_live *l, const struct replay_halt *planned)
{
	struct replay_halt halt = *planned;
	struct replay_front f = {.run = l->run,
				 .ranks = l->run->ranks,
				 .force = l->force,
				 .patience = l->patience,
				 .halt = &halt};
	int null = l->silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : l->print ? l->print : -1;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0) {
		rp_say_to(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	halt.visit = visit;
	halt.visitor = l->shared;
	halt.flags |= REPLAY_HALT_END;
	return replay_run(&f);
}

int group_live_start(struct group_live *l, const struct replay_halt *halt)
{
	l->shared = mmap(NULL, shared_bytes(l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	if (l->shared == MAP_FAILED)
		l->shared = NULL;
	fflush(NULL);
	l->code = 0;
	l->front = l->shared ? fork() : -1;
	if (l->front == 0)
		_exit(run_front(l, halt));
	if (l->front > 0) {
		setpgid(l->front, l->front);
		return 0;
	}
	l->front = 0;
	group_live_end(l);
	rp_say("cannot start a process: %s", strerror(errno));
	return RP_EXIT_FAILURE;
}

static void map_state(struct group_live *l)
{
	char *path = rp_format("%s/state", l->shared->session);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;

	free(path);
	if (fd < 0)
		return;
	at = fstat(fd, &st) == 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0)
				 : MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		return;
	l->state = at;
	l->state_bytes = (size_t)st.st_size;
}

bool group_live_has_arrived(struct group_live *l)
{
	if (!l->shared || !__atomic_load_n(&l->shared->arrived, __ATOMIC_ACQUIRE))
		return false;
	if (!l->state)
		map_state(l);
	return l->state != NULL;
}

bool group_live_has_ended(struct group_live *l)
{
	int status;

	if (l->front && waitpid(l->front, &status, WNOHANG) == l->front) {
		l->front = 0;
		l->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	return !l->front;
}

void group_live_release(struct group_live *l)
{
	__atomic_store_n(&l->shared->go, 1, __ATOMIC_RELEASE);
	while (!group_live_has_ended(l) && __atomic_load_n(&l->shared->go, __ATOMIC_ACQUIRE))
		usleep(2000);
}

bool group_live_is_at_end(const struct group_live *l, unsigned rank)
{
	return l->state && (l->state->slot[rank].state == REPLAY_AT_END ||
			    l->state->slot[rank].state == REPLAY_GONE || l->shared->word[rank]);
}

bool group_live_dies(const struct group_live *l, unsigned rank)
{
	return l->shared && l->shared->word[rank] == 's';
}

void group_live_leave(struct group_live *l)
{
	if (l->shared)
		__atomic_store_n(&l->shared->leave, 1, __ATOMIC_RELEASE);
}

void group_live_end(struct group_live *l)
{
	/* A launcher that is told by a signal comments on that. */
	if (l->front > 0) {
		group_live_leave(l);
		for (int i = 0; l->shared->arrived && i < LEAVE_MS / 5 && !group_live_has_ended(l);
		     i++)
			usleep(5000);
	}
	if (l->front > 0) {
		kill(l->front, SIGTERM);
		while (waitpid(l->front, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (l->state)
		munmap((void *)l->state, l->state_bytes);
	if (l->shared)
		munmap(l->shared, shared_bytes(l));
	l->front = 0;
	l->state = NULL;
	l->shared = NULL;
}
