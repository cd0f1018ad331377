/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed between the recorded run and one with another outcome. How ranks ended comes first:
 * the worst end that the recorded run did not have is named. Then what they printed on standard
 * output, rank by rank, because launchers mix it by chance.
 */
#include "replay/explore.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "trace/words.h"

#define SHOWN 60 /* bytes of a line */

/* How a rank ended; kind 0: it was killed, mostly because of another. */
struct end {
	uint32_t kind;
	uint64_t value;
	size_t rank;
};

static struct end end_of(const struct trace_run *run, size_t rank)
{
	const struct trace_run_stream *last = run->rank[rank].last;
	struct end end = {.rank = rank};

	if (last && last->end) {
		end.kind = last->end == TRACE_END_EARLY ? TRACE_END_EXIT : last->end;
		end.value = last->end_value;
	}
	return end;
}

/* Ends from good to worse. */
static enum replay_change grade(const struct end *end)
{
	if (end->kind == TRACE_END_SIGNAL)
		return REPLAY_CRASH;
	if (end->kind == TRACE_END_ABORT)
		return REPLAY_ABORT;
	return end->kind == TRACE_END_EXIT && end->value ? REPLAY_STATUS : REPLAY_SAME;
}

static bool same_end(const struct end *a, const struct end *b)
{
	return a->kind == b->kind && a->value == b->value;
}

static struct end worst_end(const struct trace_run *run)
{
	struct end worst = end_of(run, 0);

	for (size_t i = 1; i < run->ranks; i++) {
		struct end end = end_of(run, i);

		if (grade(&end) > grade(&worst))
			worst = end;
	}
	return worst;
}

static void tell_end(const struct end *before, const struct end *now,
		     struct replay_finding *finding)
{
	char *was =
		before->kind ? trace_end_words(before->kind, before->value) : rp_strdup("killed");
	char *is = now->kind ? trace_end_words(now->kind, now->value) : rp_strdup("killed");

	free(finding->text);
	finding->change = grade(now) == REPLAY_SAME ? REPLAY_STATUS : grade(now);
	finding->rank = (unsigned)now->rank;
	finding->text = rp_format("rank %zu: %s instead of %s", now->rank, is, was);
	free(was);
	free(is);
}

/* Ranks that were killed say nothing; which of several bad ends comes first is chance. */
static bool compare_ends(const struct trace_run *before, const struct trace_run *now,
			 struct replay_finding *finding)
{
	struct end old_worst = worst_end(before), worst = worst_end(now);
	bool found = false;

	for (size_t i = 0; i < before->ranks && i < now->ranks; i++) {
		struct end old_end = end_of(before, i), end = end_of(now, i);

		if (!end.kind || !old_end.kind || same_end(&end, &old_end) ||
		    (found && grade(&end) <= finding->change))
			continue;
		tell_end(&old_end, &end, finding);
		found = true;
	}
	if (!found && !same_end(&worst, &old_worst)) {
		tell_end(&old_worst, &worst, finding);
		found = true;
	}
	return found;
}

struct text {
	char *bytes;
	size_t size;
};

static struct text text_open(const char *dir, size_t rank)
{
	char *path = rp_format("%s/rank-%04zu.out", dir, rank);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct text t = {NULL, 0};
	struct stat st;
	void *p;

	free(path);
	if (fd < 0)
		return t;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED)
			t = (struct text){p, (size_t)st.st_size};
	}
	close(fd);
	return t;
}

static void text_close(struct text *t)
{
	if (t->bytes)
		munmap(t->bytes, t->size);
}

/* The line at `at`, in quotes; what cannot be shown is cut off. */
static char *line_at(const struct text *t, size_t at)
{
	size_t n = 0;

	if (at >= t->size)
		return rp_strdup("nothing");
	while (at + n < t->size && n < SHOWN && t->bytes[at + n] != '\n')
		n++;
	return rp_format("'%.*s'", (int)n, t->bytes + at);
}

static bool compare_texts(const struct text *a, const struct text *b, size_t rank,
			  struct replay_finding *finding)
{
	size_t line = 1, start = 0, i = 0;
	char *was, *is;

	for (; i < a->size && i < b->size && a->bytes[i] == b->bytes[i]; i++) {
		if (a->bytes[i] != '\n')
			continue;
		line++;
		start = i + 1;
	}
	if (i == a->size && i == b->size)
		return false;
	was = line_at(a, start);
	is = line_at(b, start);
	finding->change = REPLAY_OUTPUT;
	finding->rank = (unsigned)rank;
	finding->text =
		rp_format("rank %zu prints %s instead of %s in line %zu", rank, is, was, line);
	free(was);
	free(is);
	return true;
}

static void compare_output(const struct replay_explore *x, const struct trace_run *now,
			   struct replay_finding *finding)
{
	char *after = rp_format("%s/" REPLAY_EXPLORE_OUTPUT, now->dir.path);
	bool differ = false;

	for (size_t i = 0; i < now->ranks && !differ; i++) {
		struct text a = text_open(x->base, i), b = text_open(after, i);

		differ = compare_texts(&a, &b, i, finding);
		text_close(&a);
		text_close(&b);
	}
	free(after);
}

void replay_explore_compare(const struct replay_explore *x, const struct trace_run *now,
			    struct replay_finding *finding)
{
	finding->change = REPLAY_SAME;
	if (!compare_ends(x->run, now, finding))
		compare_output(x, now, finding);
	if (!finding->text)
		finding->text = rp_strdup("");
}

const char *replay_change_name(enum replay_change change)
{
	static const char *const names[REPLAY_CHANGES] = {
		"same", "output", "status", "abort", "crash", "deadlock", "timeout", "not-tried",
	};

	return names[change];
}
