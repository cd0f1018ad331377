/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a job: which they are, and how it is ended. Ours are those that have our session
 * in their environment. Invariant: when a job was ended, no process of it is left on this host.
 */
#include "replay/job.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/front.h"

#define SETTLED 40 /* naps without traffic after which a launcher has passed everything on */
#define MAX_HELPERS 64

bool replay_job_is_ours(const struct replay_front *f, int pid)
{
	char path[64], *text = rp_alloc(1, 1 << 20), *end, *p;
	char *wanted = rp_format("REPRISE_SESSION=%s", f->session);
	bool found = false;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, (1 << 20) - 1);
	if (fd >= 0)
		close(fd);
	end = text + (n > 0 ? n : 0);
	for (p = text; p < end && !found; p += strlen(p) + 1)
		found = strcmp(p, wanted) == 0;
	free(text);
	free(wanted);
	return found;
}

/*
 * Sends a signal to all processes on this host that have our session in their environment. Returns
 * how many there were.
 */
static size_t signal_ours(const struct replay_front *f, int sig)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t found = 0;

	while (proc && (entry = readdir(proc))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && replay_job_is_ours(f, pid)) {
			kill(pid, sig);
			found++;
		}
	}
	if (proc)
		closedir(proc);
	return found;
}

static size_t kill_ours(const struct replay_front *f)
{
	return signal_ours(f, SIGKILL);
}

bool replay_front_has_processes(const struct replay_front *f)
{
	return signal_ours(f, 0) > 0;
}

char replay_process_state(int pid, uint64_t *ticks)
{
	unsigned long user, system;
	char path[64], text[512], *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	if (!end || !end[1])
		return 0;
	if (ticks &&
	    sscanf(end + 3, "%*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) == 2)
		*ticks = user + system;
	return end[2];
}

uint64_t replay_process_pages(int pid)
{
	char *name = rp_format("/proc/%d/statm", pid);
	FILE *file = fopen(name, "re");
	unsigned long pages = 0;

	free(name);
	if (file) {
		if (fscanf(file, "%*u %lu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return pages;
}

/* In a container orphans may stay zombies for good: nobody is there to reap them. */
static bool is_gone(int pid)
{
	char state = replay_process_state(pid, NULL);

	return !state || state == 'Z' || state == 'X';
}

bool replay_wait_until(pid_t pid, int *status, double deadline)
{
	while (waitpid(pid, status, WNOHANG) == 0) {
		if (replay_now() > deadline)
			return false;
		replay_nap();
	}
	launch_front_forget(pid);
	return true;
}

/* What a process has read and written so far; *busy if it is about to do more. */
static unsigned long traffic(int pid, bool *busy)
{
	char *name = rp_format("/proc/%d/io", pid);
	FILE *file = fopen(name, "re");
	unsigned long in = 0, out = 0;

	free(name);
	if (file) {
		if (fscanf(file, "rchar: %lu wchar: %lu", &in, &out) != 2)
			in = out = 0;
		fclose(file);
	}
	*busy = replay_process_state(pid, NULL) == 'R';
	return in + out;
}

/* Lets the launcher pass on what the ranks have printed: waits until it has nothing to do. */
static void settle(pid_t pid)
{
	double deadline = replay_now() + REPLAY_GRACE;
	unsigned long before = 0, moved;
	int quiet = 0;
	bool busy;

	while (quiet < SETTLED && replay_now() < deadline) {
		moved = traffic(pid, &busy);
		quiet = moved == before && !busy ? quiet + 1 : 0;
		before = moved;
		replay_nap();
	}
}

/* The launcher's own helpers, which end when they notice that it has. */
static size_t find_helpers(pid_t pid, int helpers[MAX_HELPERS])
{
	char *name = rp_format("/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *file = fopen(name, "re");
	size_t n = 0;

	free(name);
	while (file && n < MAX_HELPERS && fscanf(file, "%d", &helpers[n]) == 1)
		n++;
	if (file)
		fclose(file);
	return n;
}

void replay_job_clear(const struct replay_front *f, const int helpers[], size_t n)
{
	double deadline = replay_now() + REPLAY_GRACE;
	bool alive = true;

	while (alive && replay_now() < deadline) {
		alive = kill_ours(f) > 0;
		for (size_t i = 0; i < n; i++)
			alive = alive || !is_gone(helpers[i]);
		if (alive)
			replay_nap();
	}
}

/*
 * The last call of a rank may have ended it, as it did when it was recorded: its launcher then ends
 * by itself, and Open MPI's crashes if it is asked meanwhile.
 */
static bool ends_meanwhile(const struct replay_front *f, pid_t pid, int *status)
{
	return replay_wait_until(pid, status, replay_now() + REPLAY_LAST) ||
	       (signal_ours(f, 0) < f->ranks &&
		replay_wait_until(pid, status, replay_now() + REPLAY_GRACE));
}

/*
 * Open MPI's launcher ends quietly when asked to. Hydra comments on ranks that die on standard
 * output, which is the program's: so it has to go first. Where ranks did not start, launchers are
 * busy with that already, and Open MPI's does not survive being asked.
 */
void replay_end_job(const struct replay_front *f, pid_t pid, bool started)
{
	bool hydra = strcmp(f->run->rank[0].start.mpi, "mpich") == 0;
	int helpers[MAX_HELPERS], status;
	size_t n = find_helpers(pid, helpers);

	if (hydra)
		settle(pid);
	if (hydra || !started)
		kill(pid, SIGKILL);
	else if (!ends_meanwhile(f, pid, &status))
		kill(pid, SIGTERM);
	else
		pid = 0;
	if (pid && !replay_wait_until(pid, &status, replay_now() + REPLAY_GRACE)) {
		kill(pid, SIGKILL);
		if (!replay_wait_until(pid, &status, replay_now() + REPLAY_GRACE))
			rp_say("process %d does not end; end it with 'kill -9'", (int)pid);
	}
	replay_job_clear(f, helpers, n);
}
