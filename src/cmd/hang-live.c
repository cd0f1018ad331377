/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that hang now. Ranks are found below their launcher by what it tells them in their
 * environment; their threads are stopped for a moment each. What a rank wants of which other one is
 * to be seen from outside only where the compiler has noted the arguments of its call; locks are,
 * by the word that the kernel is asked to wait on.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/hang.h"
#include "symbol/process.h"

#define MOST 65536

static char *read_proc(int pid, const char *what, size_t *n)
{
	char *path = rp_format("/proc/%d/%s", pid, what), *text = rp_alloc(1, MOST);
	FILE *file = fopen(path, "re");

	*n = file ? fread(text, 1, MOST - 1, file) : 0;
	if (file)
		fclose(file);
	free(path);
	return text;
}

static int parent_of(int pid)
{
	size_t n;
	char *text = read_proc(pid, "stat", &n), *end = strrchr(text, ')');
	int parent = 0;

	if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
		parent = 0;
	free(text);
	return parent;
}

static bool is_below(int pid, int ancestor)
{
	for (int steps = 0; pid > 1 && steps < 64; steps++, pid = parent_of(pid)) {
		if (pid == ancestor)
			return true;
	}
	return false;
}

/* As the launchers write it; -1: it is no rank. */
static int rank_of(int pid)
{
	static const char *const names[] = {
		"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="};
	size_t n;
	char *text = read_proc(pid, "environ", &n);
	int rank = -1;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && rank < 0; i++) {
		for (const char *p = text; p < text + n && rank < 0; p += strlen(p) + 1) {
			if (strncmp(p, names[i], strlen(names[i])) == 0)
				rank = atoi(p + strlen(names[i]));
		}
	}
	free(text);
	return rank;
}

/* The word that the thread waits on in the kernel, or 0. */
static uint64_t futex_of(int pid, int tid)
{
	char *what = rp_format("task/%d/syscall", tid), *text;
	unsigned long address = 0;
	long call = -1;
	size_t n;

	text = read_proc(pid, what, &n);
	if (sscanf(text, "%ld 0x%lx", &call, &address) != 2 || call != SYS_futex)
		address = 0;
	free(what);
	free(text);
	return address;
}

/*
 * glibc: a mutex begins with the word that is waited on, and its owner is at 8. A condition has two
 * such words, at 40 and 44. A join waits for the word that holds the other's number to be cleared.
 */
static void find_object(struct replay_seen *s, int pid, int tid)
{
	uint64_t word = futex_of(pid, tid);
	int32_t other = 0;

	if (!word)
		return;
	s->object = word;
	if (strstr(s->call, "cond_"))
		s->cond = word - (word % 8 ? 44 : 40);
	else if (strstr(s->call, "join") && !symbol_process_read(pid, word, &other, sizeof(other)))
		other = 0;
	else if (strstr(s->call, "mutex_") &&
		 !symbol_process_read(pid, word + 8, &other, sizeof(other)))
		other = 0;
	if (other > 0)
		s->holder = rp_format("%d", other);
}

/* In the numbers of its communicator, which nobody has told us. What is less than 0 has a meaning
   of its own, which is another one in each MPI. */
static char *partner_of(const struct symbol_standing *s)
{
	char *tag, *text;

	if (!s->has_peer || s->peer < 0)
		return NULL;
	tag = s->has_tag && s->tag >= 0 ? rp_format(", tag %" PRId32, s->tag) : rp_strdup("");
	text = rp_format("rank %" PRId32 " of its communicator%s", s->peer, tag);
	free(tag);
	return text;
}

static void add_thread(struct cmd_hang *h, struct symbol_process *p, unsigned rank, int pid,
		       int tid)
{
	struct replay_seen seen = {.rank = rank};
	struct symbol_standing s;

	if (symbol_process_look_closely(p, tid, &s) != 0)
		return;
	/* MPI has threads of its own. */
	if (tid != pid && !s.place[0]) {
		free(s.call);
		free(s.place);
		return;
	}
	seen.thread = rp_format("%d", tid);
	seen.call = s.call;
	seen.place = s.place;
	seen.partner = partner_of(&s);
	if (seen.call) {
		find_object(&seen, pid, tid);
		seen.variable = replay_look_variable(pid, &seen);
	}
	h->look.seen = rp_widen(h->look.seen, h->look.n, h->look.n + 1, sizeof(*h->look.seen));
	h->look.seen[h->look.n++] = seen;
}

static int add_rank(struct cmd_hang *h, unsigned rank, int pid)
{
	struct symbol_process *p = symbol_process_open(pid);
	char *path = rp_format("/proc/%d/task", pid);
	DIR *dir = opendir(path);
	size_t before = h->look.n;
	struct dirent *entry;

	free(path);
	if (p)
		add_thread(h, p, rank, pid, pid);
	while (p && dir && (entry = readdir(dir))) {
		int tid = atoi(entry->d_name);

		if (tid > 0 && tid != pid)
			add_thread(h, p, rank, pid, tid);
	}
	if (dir)
		closedir(dir);
	symbol_process_close(p);
	if (h->look.n > before) {
		h->rank = rp_widen(h->rank, h->ranks, h->ranks + 1, sizeof(*h->rank));
		h->rank[h->ranks++] = (struct cmd_hang_rank){rank, pid};
		return 0;
	}
	rp_say("cannot look at process %d: %s", pid,
	       errno == EPERM || errno == EACCES ? "it may not be traced (is it another user's?)"
						 : "it has ended, or a debugger holds it");
	return RP_EXIT_BAD_INPUT;
}

static int by_rank(const void *a, const void *b)
{
	const struct cmd_hang_rank *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool is_reprise(int pid)
{
	size_t n;
	char *text = read_proc(pid, "comm", &n);
	bool is = strcmp(text, "reprise\n") == 0;

	free(text);
	return is;
}

/* Of a rank that is a script, the program below it is the one. */
static bool has_rank_below(int pid, int rank, const int *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (parent_of(all[i]) == pid && rank_of(all[i]) == rank)
			return true;
	}
	return false;
}

/* Without ranks: the process itself, or what we run for it. */
static int program_of(int pid, const int *all, size_t n)
{
	for (size_t i = 0; i < n && is_reprise(pid); i++) {
		if (parent_of(all[i]) == pid)
			return all[i];
	}
	return pid;
}

int cmd_hang_open_live(struct cmd_hang *h, int pid)
{
	DIR *proc = opendir("/proc");
	struct cmd_hang_rank *found = NULL;
	struct dirent *entry;
	size_t n = 0, founds = 0;
	int *all = NULL, code = 0;

	*h = (struct cmd_hang){.live = true};
	while (proc && (entry = readdir(proc))) {
		int other = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

		if (other && is_below(other, pid)) {
			all = rp_widen(all, n, n + 1, sizeof(*all));
			all[n++] = other;
		}
	}
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < n; i++) {
		int rank = rank_of(all[i]);

		if (rank < 0 || is_reprise(all[i]) || has_rank_below(all[i], rank, all, n))
			continue;
		found = rp_widen(found, founds, founds + 1, sizeof(*found));
		found[founds++] = (struct cmd_hang_rank){(unsigned)rank, all[i]};
	}
	if (!n) {
		rp_say("there is no process %d", pid);
		code = RP_EXIT_BAD_INPUT;
	} else if (!founds) {
		found = rp_alloc(1, sizeof(*found));
		found[founds++] = (struct cmd_hang_rank){0, program_of(pid, all, n)};
	}
	qsort(found, founds, sizeof(*found), by_rank);
	for (size_t i = 0; i < founds && !code; i++)
		code = add_rank(h, found[i].rank, found[i].pid);
	free(all);
	free(found);
	if (code)
		cmd_hang_close(h);
	return code;
}
