/* SPDX-License-Identifier: Apache-2.0 */
/* A pass whose visitor looks around when all have come to their ends. Nothing is kept. */
#include "replay/look.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "replay/halt.h"
#include "replay/pass.h"
#include "replay/threads.h"

/* What glibc has at the beginning of a mutex: who holds it. */
static int owner_of(int pid, uint64_t mutex)
{
	pthread_mutex_t m;
	struct iovec here = {&m, sizeof(m)}, there = {(void *)(uintptr_t)mutex, sizeof(m)};

	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(m))
		return 0;
	return m.__data.__owner;
}

static bool is_of_mutex(const char *call)
{
	return strncmp(call, "pthread_mutex_", 14) == 0 || strncmp(call, "mtx_", 4) == 0;
}

static bool is_join(const char *call)
{
	return strstr(call, "join") != NULL;
}

static char *holder_of(int pid, const struct replay_listed *list, size_t n,
		       const struct replay_listed *l, const char *call)
{
	int owner = l->object && is_of_mutex(call) ? owner_of(pid, l->object) : 0;

	for (size_t i = 0; i < n; i++) {
		if ((owner && list[i].tid == owner) ||
		    (is_join(call) && l->object && list[i].handle == l->object))
			return rp_strdup(list[i].name);
	}
	return NULL;
}

char *replay_look_variable(int pid, const struct replay_seen *seen)
{
	bool condition = strstr(seen->call, "cond_") || strncmp(seen->call, "cnd_", 4) == 0;

	if (is_join(seen->call))
		return NULL;
	return symbol_process_variable(pid, condition ? seen->cond : seen->object);
}

static struct replay_seen *add(struct replay_look *look, unsigned rank, const char *thread)
{
	look->seen = rp_widen(look->seen, look->n, look->n + 1, sizeof(*look->seen));
	look->seen[look->n] = (struct replay_seen){.rank = rank, .thread = rp_strdup(thread)};
	return &look->seen[look->n++];
}

/* " at file.c:12 (function)", as places of events are written. */
static char *without_directory(char *place)
{
	char *colon = strrchr(place, ':'), *slash = NULL, *text;

	for (char *p = place; colon && p < colon; p++)
		slash = *p == '/' ? p : slash;
	if (!slash || strncmp(place, " at ", 4) != 0)
		return place;
	text = rp_format(" at %s", slash + 1);
	free(place);
	return text;
}

static void look_at_rank(struct replay_look *look, const struct replay_front *f, size_t rank)
{
	const struct replay_slot *slot = &f->state->slot[rank];
	struct symbol_process *p = slot->pid ? symbol_process_open(slot->pid) : NULL;
	struct replay_listed *list = NULL, alone = {.name = "0", .tid = slot->pid};
	size_t n = p ? replay_threads_list(slot, &list) : 0;

	if (p && !n) {
		list = rp_alloc(1, sizeof(*list));
		list[n++] = alone;
	}
	look->known[rank] = p != NULL;
	for (size_t i = n; i-- > 0;) {
		struct symbol_standing s = {0};
		struct replay_seen *seen = add(look, f->run->rank[rank].rank, list[i].name);
		const char *call;

		if (!list[i].tid || symbol_process_look(p, list[i].tid, &s) != 0)
			s.place = rp_strdup("");
		call = replay_threads_call(&list[i], &s);
		seen->place = without_directory(s.place);
		if (call) {
			seen->call = rp_strdup(call);
			seen->object = list[i].object;
			seen->cond = list[i].cond;
			seen->variable = replay_look_variable(slot->pid, seen);
			seen->holder = holder_of(slot->pid, list, n, &list[i], call);
		}
		free(s.call);
	}
	free(list);
	symbol_process_close(p);
}

static bool visit(struct replay_front *f, void *visitor)
{
	struct replay_look *look = visitor;

	for (size_t i = 0; i < f->ranks; i++)
		look_at_rank(look, f, i);
	return false;
}

static int prepare(const struct replay_front *f)
{
	(void)f;
	return 0;
}

static int keep(const struct replay_front *f, uint64_t started)
{
	(void)f;
	(void)started;
	return 0;
}

static const struct replay_pass pass = {
	.verb = "look at the end of",
	.doing = "replaying",
	.noun = "replay",
	.prepare = prepare,
	.keep = keep,
};

int replay_look(const struct trace_run *run, double patience, struct replay_look *look)
{
	struct replay_halt halt = {.kind = REPLAY_TO_END, .visit = visit, .visitor = look};
	struct replay_front f = {
		.run = run, .ranks = run->ranks, .patience = patience, .halt = &halt};
	int code;

	*look = (struct replay_look){.known = rp_alloc(run->ranks + 1, sizeof(*look->known))};
	code = replay_check(&f);
	if (!code)
		code = replay_pass_run(&f, &pass);
	if (code)
		replay_look_free(look);
	return code;
}

void replay_look_free(struct replay_look *look)
{
	for (size_t i = 0; i < look->n; i++) {
		free(look->seen[i].thread);
		free(look->seen[i].call);
		free(look->seen[i].place);
		free(look->seen[i].partner);
		free(look->seen[i].holder);
		free(look->seen[i].variable);
	}
	free(look->seen);
	free(look->known);
	*look = (struct replay_look){0};
}
