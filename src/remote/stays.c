/* SPDX-License-Identifier: Apache-2.0 */
/* Copies along the run. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "remote/registers.h"
#include "remote/travel.h"

#define FEW 6      /* as many are always kept */
#define MOST 40    /* and no more than these */
#define SPARSE 0.7 /* how far apart two may be, as a part of how long ago that was */
#define CHUNK 65536

static void forget_word(struct remote_travel *t)
{
	struct replay_front *f = t->front;
	struct replay_word *w = &f->word[t->one];
	char name[24];

	snprintf(name, sizeof(name), "end-%04u", f->run->rank[t->one].rank);
	unlinkat(f->session_fd, name, 0);
	f->words -= w->why != NULL;
	*w = (struct replay_word){0};
}

int remote_stay_push(struct remote_travel *t)
{
	struct remote_stay stay = {.since = remote_process_cpu(&t->live) - t->base,
				   .steps = t->steps};
	int rc;

	remote_travel_drain(t);
	stay.printed = t->printed;
	rc = remote_copy_keep(&t->live, &t->slot->copy, &stay.copy);
	if (rc)
		return rc;
	remote_stay_insert(t, t->stays, &stay);
	t->base = remote_process_cpu(&t->live);
	t->steps = 0;
	return 0;
}

void remote_stay_insert(struct remote_travel *t, size_t at, const struct remote_stay *stay)
{
	if (t->stays == t->room) {
		t->stay = rp_widen(t->stay, t->room, 2 * t->room + 8, sizeof(*t->stay));
		t->room = 2 * t->room + 8;
	}
	memmove(&t->stay[at + 1], &t->stay[at], (t->stays - at) * sizeof(*t->stay));
	t->stay[at] = *stay;
	t->stays++;
	if (at + 1 == t->stays)
		return;
	t->stay[at + 1].since -= stay->since;
	t->stay[at + 1].steps = stay->steps >= 0 && t->stay[at + 1].steps >= stay->steps
					? t->stay[at + 1].steps - stay->steps
					: -1;
}

void remote_stay_remove(struct remote_travel *t, size_t at)
{
	struct remote_stay gone = t->stay[at];

	t->stays--;
	memmove(&t->stay[at], &t->stay[at + 1], (t->stays - at) * sizeof(*t->stay));
	if (at < t->stays) {
		struct remote_stay *next = &t->stay[at];

		next->since += gone.since;
		next->steps = next->steps >= 0 && gone.steps >= 0 ? next->steps + gone.steps : -1;
	} else {
		t->base -= gone.since;
		t->steps = t->steps >= 0 && gone.steps >= 0 ? t->steps + gone.steps : -1;
	}
	remote_copy_drop(&gone.copy);
}

void remote_stay_forget(struct remote_travel *t)
{
	remote_copy_drop(&t->stay[--t->stays].copy);
}

int remote_stay_take_up(struct remote_travel *t, size_t at)
{
	return remote_stay_go_to(t, &t->stay[at]);
}

int remote_stay_go_to(struct remote_travel *t, const struct remote_stay *stay)
{
	struct remote_process process;
	int rc = remote_copy_take_up(&stay->copy, &t->slot->copy, &process);

	if (rc)
		return rc;
	remote_process_kill(&t->live);
	remote_travel_drain(t);
	forget_word(t);
	t->live = process;
	t->slot->pid = process.pid;
	t->printed = stay->printed;
	t->base = remote_process_cpu(&t->live);
	t->steps = 0;
	return 0;
}

/* Seconds of processor time from the first stay to this one. */
static double age(const struct remote_travel *t, size_t at)
{
	double sum = remote_process_cpu(&t->live) - t->base;

	for (size_t i = t->stays; i > at + 1; i--)
		sum += t->stay[i - 1].since;
	return sum;
}

void remote_stay_thin(struct remote_travel *t)
{
	for (size_t i = t->stays; i-- > 1 && t->stays > FEW;) {
		if (i + 1 >= t->stays)
			continue;
		if (t->stay[i].since + t->stay[i + 1].since < SPARSE * age(t, i) || t->stays > MOST)
			remote_stay_remove(t, i);
	}
}

/* --- comparing */

struct range {
	uint64_t start, end;
};

/*
 * What is the program's alone: its data, its heaps, mappings and stacks. Libraries and what lies
 * behind them hold things that time decides, which are not the program's. Among threads it is only
 * the stack that nobody else changes.
 */
static bool next_range(FILE *maps, bool threads, uint64_t sp, struct range *r)
{
	char line[4400], kind[8];

	while (fgets(line, sizeof(line), maps)) {
		bool stack;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &r->start, &r->end, kind) != 3 ||
		    kind[1] != 'w' || kind[3] != 'p')
			continue;
		stack = sp >= r->start && sp < r->end;
		/* Below the stack pointer and its red zone nothing is kept. */
		if (stack && r->start < sp - 128)
			r->start = sp - 128;
		if (stack || (!threads && r->end <= REPLAY_PROGRAM_END))
			return true;
	}
	return false;
}

static bool same_bytes(const struct remote_process *a, const struct remote_process *b,
		       const struct range *r)
{
	static uint8_t x[CHUNK], y[CHUNK];

	for (uint64_t at = r->start; at < r->end; at += CHUNK) {
		size_t n = r->end - at < CHUNK ? r->end - at : CHUNK;
		size_t m = remote_process_read(a, at, x, n);

		if (remote_process_read(b, at, y, n) != m || memcmp(x, y, m) != 0)
			return false;
	}
	return true;
}

static bool same_memory(const struct remote_process *a, const struct remote_process *b, uint64_t sp)
{
	char path[32];
	struct range r;
	bool same = true;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", a->pid);
	maps = fopen(path, "re");
	while (maps && same && next_range(maps, a->threads > 1, sp, &r))
		same = same_bytes(a, b, &r);
	if (maps)
		fclose(maps);
	return maps && same;
}

bool remote_stay_is_here(const struct remote_travel *t, const struct remote_stay *stay)
{
	const struct remote_thread *here = remote_process_thread(&t->live, t->focus);
	const struct remote_thread *there = remote_process_thread(&stay->copy.process, t->focus);
	struct user_regs_struct a, b;

	return here && there && remote_process_registers(here, &a) == 0 &&
	       remote_process_registers(there, &b) == 0 && remote_registers_same(&a, &b) &&
	       same_memory(&stay->copy.process, &t->live, a.rsp);
}
