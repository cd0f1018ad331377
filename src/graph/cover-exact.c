/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact covers. A bipartite graph by Koenig's theorem from a largest matching (Hopcroft and Karp).
 * Any other first by the linear program, which is a matching in the bipartite double of the graph:
 * vertices that it gives 0 or 1 are settled (Nemhauser and Trotter), those with 1/2 are left to a
 * branch and bound search of limited length. Half the matching of the double is a lower bound that
 * is never below the largest matching of the graph itself.
 */
#include "graph/cover-exact.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NONE UINT32_MAX
#define SEARCH_STEPS 20000000 /* vertices looked at: about a second */

/* A matching between left and right copies of the vertices; left[] NULL stands for all of them. */
struct matching {
	const struct graph_adjacency *g;
	const uint8_t *left;
	uint32_t *of_left, *of_right;
	uint32_t *level, *queue;
	uint64_t *next;
	uint64_t size;
};

static bool is_left(const struct matching *m, uint32_t v)
{
	return !m->left || m->left[v];
}

/* Breadth first from the free left ones; true if a free right one can be reached. */
static bool set_levels(struct matching *m)
{
	uint32_t head = 0, tail = 0;
	bool found = false;

	for (uint32_t v = 0; v < m->g->count; v++) {
		m->level[v] = NONE;
		m->next[v] = m->g->start[v];
		if (is_left(m, v) && m->of_left[v] == NONE) {
			m->level[v] = 0;
			m->queue[tail++] = v;
		}
	}
	while (head < tail) {
		uint32_t v = m->queue[head++];

		for (uint64_t i = m->g->start[v]; i < m->g->start[v + 1]; i++) {
			uint32_t mate = m->of_right[m->g->near[i]];

			if (mate == NONE) {
				found = true;
			} else if (m->level[mate] == NONE) {
				m->level[mate] = m->level[v] + 1;
				m->queue[tail++] = mate;
			}
		}
	}
	return found;
}

/* One augmenting path from `root`, without recursion: the queue serves as its stack. */
static bool augment(struct matching *m, uint32_t root)
{
	uint32_t depth = 0;

	m->queue[0] = root;
	for (;;) {
		uint32_t v = m->queue[depth];
		uint32_t mate, right;

		if (m->next[v] == m->g->start[v + 1]) {
			m->level[v] = NONE;
			if (depth-- == 0)
				return false;
			m->next[m->queue[depth]]++;
			continue;
		}
		right = m->g->near[m->next[v]];
		mate = m->of_right[right];
		if (mate == NONE)
			break;
		if (m->level[mate] == m->level[v] + 1)
			m->queue[++depth] = mate;
		else
			m->next[v]++;
	}
	for (uint32_t i = 0; i <= depth; i++) {
		uint32_t v = m->queue[i];
		uint32_t right = m->g->near[m->next[v]];

		m->of_left[v] = right;
		m->of_right[right] = v;
		m->level[v] = NONE;
	}
	return true;
}

static void matching_find(struct matching *m, const struct graph_adjacency *g, const uint8_t *left)
{
	memset(m, 0, sizeof(*m));
	m->g = g;
	m->left = left;
	m->of_left = rp_alloc(g->count, sizeof(uint32_t));
	m->of_right = rp_alloc(g->count, sizeof(uint32_t));
	m->level = rp_alloc(g->count, sizeof(uint32_t));
	m->queue = rp_alloc(g->count, sizeof(uint32_t));
	m->next = rp_alloc(g->count, sizeof(uint64_t));
	memset(m->of_left, 0xff, g->count * sizeof(uint32_t));
	memset(m->of_right, 0xff, g->count * sizeof(uint32_t));
	while (set_levels(m)) {
		for (uint32_t v = 0; v < g->count; v++) {
			if (is_left(m, v) && m->of_left[v] == NONE)
				m->size += augment(m, v);
		}
	}
}

static void matching_free(struct matching *m)
{
	free(m->of_left);
	free(m->of_right);
	free(m->level);
	free(m->queue);
	free(m->next);
}

/*
 * Koenig: what alternating paths from the free left ones reach. The levels of the last, vain search
 * are that, on the left; a right one is reached if its mate is.
 */
static bool in_cover_left(const struct matching *m, uint32_t v)
{
	return is_left(m, v) && m->level[v] == NONE;
}

static bool in_cover_right(const struct matching *m, uint32_t v)
{
	return m->of_right[v] != NONE && m->level[m->of_right[v]] != NONE;
}

static bool colour(const struct graph_adjacency *g, uint8_t *left)
{
	uint32_t *queue = rp_alloc(g->count, sizeof(*queue));
	uint8_t *seen = rp_alloc(g->count, 1);
	bool two = true;

	for (uint32_t root = 0; root < g->count && two; root++) {
		uint32_t head = 0, tail = 0;

		if (seen[root])
			continue;
		seen[root] = left[root] = 1;
		queue[tail++] = root;
		while (head < tail && two) {
			uint32_t v = queue[head++];

			for (uint64_t i = g->start[v]; i < g->start[v + 1]; i++) {
				uint32_t w = g->near[i];

				two = two && (!seen[w] || left[w] != left[v]);
				if (seen[w])
					continue;
				seen[w] = 1;
				left[w] = !left[v];
				queue[tail++] = w;
			}
		}
	}
	free(queue);
	free(seen);
	return two;
}

bool graph_cover_bipartite(const struct graph_adjacency *g, uint8_t chosen[], uint64_t *size)
{
	uint8_t *left = rp_alloc(g->count, 1);
	struct matching m;
	bool two = colour(g, left);

	if (two) {
		matching_find(&m, g, left);
		for (uint32_t v = 0; v < g->count; v++)
			chosen[v] = left[v] ? in_cover_left(&m, v) : in_cover_right(&m, v);
		*size = m.size;
		matching_free(&m);
	}
	free(left);
	return two;
}

/* The search. A vertex is open, taken into the cover, or left out; the trail undoes. */
enum { OPEN, TAKEN, OUT };

struct search {
	const struct graph_adjacency *g;
	uint8_t *state, *best;
	uint32_t *degree; /* open neighbours */
	uint32_t *trail;
	uint32_t trailed;
	uint8_t *matched;  /* for the bound; all 0 between uses */
	uint32_t *members; /* vertices of the part at work */
	uint32_t count;
	uint32_t taken, best_size;
	int64_t steps;
};

static void settle(struct search *s, uint32_t v, uint8_t state)
{
	s->state[v] = state;
	s->taken += state == TAKEN;
	s->trail[s->trailed++] = v;
	for (uint64_t i = s->g->start[v]; i < s->g->start[v + 1]; i++)
		s->degree[s->g->near[i]]--;
}

static void undo(struct search *s, uint32_t mark)
{
	while (s->trailed > mark) {
		uint32_t v = s->trail[--s->trailed];

		s->taken -= s->state[v] == TAKEN;
		s->state[v] = OPEN;
		for (uint64_t i = s->g->start[v]; i < s->g->start[v + 1]; i++)
			s->degree[s->g->near[i]]++;
	}
}

/* Leaves v out, and so takes all its neighbours. */
static void leave_out(struct search *s, uint32_t v)
{
	settle(s, v, OUT);
	for (uint64_t i = s->g->start[v]; i < s->g->start[v + 1]; i++) {
		if (s->state[s->g->near[i]] == OPEN)
			settle(s, s->g->near[i], TAKEN);
	}
}

/* Vertices with one open neighbour or none are left out; the one of most is returned, or NONE. */
static uint32_t reduce(struct search *s)
{
	uint32_t most;
	bool again;

	do {
		again = false;
		most = NONE;
		for (uint32_t i = 0; i < s->count; i++) {
			uint32_t v = s->members[i];

			if (s->state[v] != OPEN)
				continue;
			if (s->degree[v] <= 1) {
				leave_out(s, v);
				again = true;
			} else if (most == NONE || s->degree[v] > s->degree[most]) {
				most = v;
			}
		}
		s->steps -= s->count;
	} while (again);
	return most;
}

/* Edges of a greedy matching among open vertices. */
static uint32_t still_needed(struct search *s)
{
	uint32_t size = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t v = s->members[i];

		for (uint64_t k = s->g->start[v];
		     s->state[v] == OPEN && !s->matched[v] && k < s->g->start[v + 1]; k++) {
			uint32_t w = s->g->near[k];

			if (s->state[w] != OPEN || s->matched[w])
				continue;
			s->matched[v] = s->matched[w] = 1;
			size++;
		}
	}
	for (uint32_t i = 0; i < s->count; i++)
		s->matched[s->members[i]] = 0;
	s->steps -= s->count;
	return size;
}

static void branch(struct search *s)
{
	uint32_t mark = s->trailed;
	uint32_t v = reduce(s);

	if (s->steps < 0 || s->taken + still_needed(s) >= s->best_size) {
		undo(s, mark);
		return;
	}
	if (v == NONE) {
		s->best_size = s->taken;
		for (uint32_t i = 0; i < s->count; i++)
			s->best[s->members[i]] = s->state[s->members[i]] == TAKEN;
	} else {
		uint32_t here = s->trailed;

		settle(s, v, TAKEN);
		branch(s);
		undo(s, here);
		/* In a cycle either choice is as good as the other. */
		if (s->degree[v] > 2) {
			leave_out(s, v);
			branch(s);
		}
	}
	undo(s, mark);
}

/* Gathers the open component of `root`. */
static void gather(struct search *s, uint32_t root)
{
	s->count = 0;
	s->members[s->count++] = root;
	s->matched[root] = 1;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t v = s->members[i];

		for (uint64_t k = s->g->start[v]; k < s->g->start[v + 1]; k++) {
			uint32_t w = s->g->near[k];

			if (s->state[w] != OPEN || s->matched[w])
				continue;
			s->matched[w] = 1;
			s->members[s->count++] = w;
		}
	}
	for (uint32_t i = 0; i < s->count; i++)
		s->matched[s->members[i]] = 0;
}

/* Solves what is open, component by component; true if time sufficed. */
static bool solve_open(struct search *s)
{
	for (uint32_t root = 0; root < s->g->count; root++) {
		if (s->state[root] != OPEN)
			continue;
		gather(s, root);
		s->taken = 0;
		for (uint32_t i = 0; i < s->count; i++)
			s->best[s->members[i]] = i > 0;
		s->best_size = s->count - 1;
		branch(s);
		if (s->steps < 0)
			return false;
		for (uint32_t i = 0; i < s->count; i++)
			settle(s, s->members[i], s->best[s->members[i]] ? TAKEN : OUT);
	}
	return true;
}

bool graph_cover_search(const struct graph_adjacency *g, uint8_t chosen[], uint64_t *bound)
{
	struct search s = {.g = g, .steps = SEARCH_STEPS};
	struct matching m;
	bool done;

	matching_find(&m, g, NULL);
	*bound = (m.size + 1) / 2;
	s.state = rp_alloc(g->count, 1);
	s.best = rp_alloc(g->count, 1);
	s.matched = rp_alloc(g->count, 1);
	s.degree = rp_alloc(g->count, sizeof(*s.degree));
	s.trail = rp_alloc(g->count, sizeof(*s.trail));
	s.members = rp_alloc(g->count, sizeof(*s.members));
	for (uint32_t v = 0; v < g->count; v++)
		s.degree[v] = (uint32_t)(g->start[v + 1] - g->start[v]);
	for (uint32_t v = 0; v < g->count; v++) {
		int twice = in_cover_left(&m, v) + in_cover_right(&m, v);

		if (twice != 1)
			settle(&s, v, twice == 2 ? TAKEN : OUT);
	}
	matching_free(&m);
	done = solve_open(&s);
	if (done) {
		*bound = 0;
		for (uint32_t v = 0; v < g->count; v++) {
			chosen[v] = s.state[v] == TAKEN;
			*bound += chosen[v];
		}
	}
	free(s.state);
	free(s.best);
	free(s.matched);
	free(s.degree);
	free(s.trail);
	free(s.members);
	return done;
}
