/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of programs of Netzer (1993), written anew, as small as theirs: programs THREADS NAME.
 * Some share data by plain memory alone, as theirs did: locus and mp3d count without locks, pnet
 * learns without, gauss waits for a row by looking at a flag. So this is for runs of one thread at
 * a time.
 */
#include <sched.h>
#include <stdio.h>

#include "../threads/team.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed = 42;
static long next_task;

static long take_task(void)
{
	long task;

	team_lock(&lock);
	task = next_task++;
	team_unlock(&lock);
	return task;
}

static int draw(int n)
{
	return (int)(team_random(&seed) * n);
}

/* --- barnes: bodies attract each other; far ones as one for each cell --- */

#define BODIES 96
#define CELLS 16

static double place[BODIES], speed[BODIES], force[BODIES], cell_mass[CELLS], cell_place[CELLS];
static pthread_mutex_t cell_lock[CELLS];

static int cell_of(int b)
{
	int c = (int)(place[b] * CELLS);

	return c < 0 ? 0 : c >= CELLS ? CELLS - 1 : c;
}

static double pull(double from, double to, double mass)
{
	double d = to - from;

	return mass * d / (d * d + 0.01);
}

static void attract(int b)
{
	double sum = 0;

	for (int c = 0; c < CELLS; c++) {
		if (c != cell_of(b) && cell_mass[c] > 0)
			sum += pull(place[b], cell_place[c] / cell_mass[c], cell_mass[c]);
	}
	for (int o = 0; o < BODIES; o++) {
		if (o != b && cell_of(o) == cell_of(b))
			sum += pull(place[b], place[o], 1);
	}
	force[b] = sum;
}

static void barnes(int id)
{
	long first, last;

	team_share(id, BODIES, &first, &last);
	for (int step = 0; step < 4; step++) {
		for (int c = id; c < CELLS; c += team_size)
			cell_mass[c] = cell_place[c] = 0;
		team_barrier();
		for (long b = first; b < last; b++) {
			int c = cell_of((int)b);

			team_lock(&cell_lock[c]);
			cell_mass[c] += 1;
			cell_place[c] += place[b];
			team_unlock(&cell_lock[c]);
		}
		team_barrier();
		for (long b = first; b < last; b++)
			attract((int)b);
		team_barrier();
		for (long b = first; b < last; b++) {
			speed[b] += force[b] * 1e-5;
			place[b] += speed[b];
		}
		team_barrier();
	}
}

/* --- gauss: rows are dealt out, and whoever needs one looks until it is ready --- */

#define ROWS 48

static double matrix[ROWS][ROWS + 1];
static volatile int ready[ROWS];

static void gauss(int id)
{
	for (int p = 0; p < ROWS; p++) {
		if (p % team_size == id) {
			for (int k = ROWS; k >= p; k--)
				matrix[p][k] /= matrix[p][p];
			ready[p] = 1;
		}
		while (!ready[p])
			sched_yield();
		for (int i = p + 1; i < ROWS; i++) {
			if (i % team_size != id)
				continue;
			for (int k = ROWS; k >= p; k--)
				matrix[i][k] -= matrix[i][p] * matrix[p][k];
		}
	}
}

/* --- gcd: of many numbers, two at a time, put back into a pool --- */

#define NUMBERS 600

static long pool[NUMBERS], pooled = NUMBERS, out_there;

static void gcd(int id)
{
	(void)id;
	for (;;) {
		long a = 0, b = 0;
		int idle;

		team_lock(&lock);
		if (pooled >= 2) {
			a = pool[--pooled];
			b = pool[--pooled];
			out_there++;
		}
		idle = !out_there;
		team_unlock(&lock);
		if (!a && idle)
			return;
		if (!a) {
			sched_yield();
			continue;
		}
		while (b) {
			long rest = a % b;

			a = b;
			b = rest;
		}
		team_lock(&lock);
		pool[pooled++] = a;
		out_there--;
		team_unlock(&lock);
	}
}

/* --- join: of two tables, the second one by hash --- */

#define LEFT 3000
#define RIGHT 500
#define BUCKETS 128

static int left[LEFT], right[RIGHT], right_next[RIGHT], bucket[BUCKETS], joined[LEFT * 4];
static int joined_count;

static void join(int id)
{
	long first, last;

	for (int r = 0; r < RIGHT && !id; r++) {
		right_next[r] = bucket[right[r] % BUCKETS];
		bucket[right[r] % BUCKETS] = r + 1;
	}
	team_barrier();
	team_share(id, LEFT, &first, &last);
	for (long l = first; l < last; l++) {
		for (int r = bucket[left[l] % BUCKETS]; r; r = right_next[r - 1]) {
			if (right[r - 1] != left[l] || right[r - 1] % 8)
				continue;
			team_lock(&lock);
			joined[joined_count++ % (LEFT * 4)] = (int)l;
			team_unlock(&lock);
		}
	}
}

/* --- locus: wires on a grid, each by the cheaper of two ways; costs are counted without a lock ---
 */

#define WIRES 300
#define GRID 64

static struct wire {
	int x[2], y[2];
} wire[WIRES];
static int cost[GRID][GRID];

static int along(const struct wire *w, int corner, int put)
{
	int sum = 0, x = w->x[0], y = w->y[0], to_x = w->x[1], to_y = w->y[1];

	for (int leg = 0; leg < 2; leg++) {
		int *at = leg == corner ? &x : &y, to = leg == corner ? to_x : to_y;

		while (*at != to) {
			*at += *at < to ? 1 : -1;
			sum += cost[y][x];
			if (put)
				cost[y][x]++;
		}
	}
	return sum;
}

static void locus(int id)
{
	(void)id;
	for (long i = take_task(); i < WIRES; i = take_task())
		along(&wire[i], along(&wire[i], 0, 0) > along(&wire[i], 1, 0), 1);
}

/* --- mp3d: particles fly through cells and count there, without a lock --- */

#define PARTICLES 1000
#define SPACE 256

static double at[PARTICLES], velocity[PARTICLES];
static int in_cell[SPACE];

static void mp3d(int id)
{
	long first, last;

	team_share(id, PARTICLES, &first, &last);
	for (int step = 0; step < 10; step++) {
		for (long p = first; p < last; p++) {
			int cell;

			at[p] += velocity[p];
			if (at[p] < 0 || at[p] >= 1) {
				velocity[p] = -velocity[p];
				at[p] += 2 * velocity[p];
			}
			cell = (int)(at[p] * SPACE);
			if (++in_cell[cell] % 64 == 0)
				velocity[p] = -velocity[p];
		}
		team_barrier();
	}
}

/* --- mtxmult: rows from a counter --- */

#define SIDE 40

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

static void mtxmult(int id)
{
	(void)id;
	for (long i = take_task(); i < SIDE; i = take_task()) {
		for (int j = 0; j < SIDE; j++) {
			for (int k = 0; k < SIDE; k++)
				c[i][j] += a[i][k] * b[k][j];
		}
	}
}

/* --- pnet: a perceptron whose threads learn into the same weights --- */

#define INPUTS 32
#define SAMPLES 200

static double sample[SAMPLES][INPUTS], weight[INPUTS], wanted[SAMPLES];

static void pnet(int id)
{
	for (int round = 0; round < 4; round++) {
		for (int s = id; s < SAMPLES; s += team_size) {
			double sum = 0;

			for (int i = 0; i < INPUTS; i++)
				sum += weight[i] * sample[s][i];
			for (int i = 0; i < INPUTS; i++)
				weight[i] += 0.01 * (wanted[s] - sum) * sample[s][i];
			if (s % 8 == 0)
				sched_yield();
		}
	}
}

/* --- ptycho: tasks of much work and one result each --- */

#define RUNS 64

static double result[RUNS];

static void ptycho(int id)
{
	(void)id;
	for (long i = take_task(); i < RUNS; i = take_task()) {
		double state[16] = {(double)i};

		for (int k = 1; k < 1600; k++)
			state[k % 16] = state[(k + 15) % 16] * 0.99 + result[i] + k % 7;
		result[i] = state[15];
	}
}

/* --- quicksort: ranges on a shared stack --- */

#define SORTED 4000

static int sorted[SORTED];
static struct range {
	int low, high;
} stack[SORTED];
static int stacked, unsorted = SORTED;

static int divide(int low, int high)
{
	int pivot = sorted[high], to = low;

	for (int i = low; i < high; i++) {
		if (sorted[i] < pivot) {
			int was = sorted[i];

			sorted[i] = sorted[to];
			sorted[to++] = was;
		}
	}
	sorted[high] = sorted[to];
	sorted[to] = pivot;
	return to;
}

static void quicksort(int id)
{
	(void)id;
	for (;;) {
		struct range r = {0, -1};
		int all_done, middle;

		team_lock(&lock);
		if (stacked)
			r = stack[--stacked];
		all_done = !unsorted;
		team_unlock(&lock);
		if (all_done)
			return;
		if (r.high < r.low) {
			sched_yield();
			continue;
		}
		middle = divide(r.low, r.high);
		team_lock(&lock);
		unsorted--;
		if (r.low < middle)
			stack[stacked++] = (struct range){r.low, middle - 1};
		if (middle < r.high)
			stack[stacked++] = (struct range){middle + 1, r.high};
		team_unlock(&lock);
	}
}

/* --- shpath: distances get shorter until none does --- */

#define NODES 120

static int edge[NODES][NODES], distance[NODES], changed;

static void shpath(int id)
{
	long first, last;

	team_share(id, NODES, &first, &last);
	for (int again = 1; again;) {
		int mine = 0;

		team_barrier();
		changed = 0;
		team_barrier();
		for (long n = first; n < last; n++) {
			for (int from = 0; from < NODES; from++) {
				if (distance[from] + edge[from][n] < distance[n]) {
					distance[n] = distance[from] + edge[from][n];
					mine = 1;
				}
			}
		}
		if (mine)
			changed = 1;
		team_barrier();
		again = changed;
	}
}

/* --- sort: each its part, then merged two by two --- */

static int merged[SORTED];

static int by_number(const void *x, const void *y)
{
	return *(const int *)x - *(const int *)y;
}

static void merge(long low, long middle, long high)
{
	long i = low, k = middle;

	for (long to = low; to < high; to++)
		merged[to] = k == high || (i < middle && sorted[i] < sorted[k]) ? sorted[i++]
										: sorted[k++];
	memcpy(sorted + low, merged + low, (size_t)(high - low) * sizeof(*sorted));
}

static void sort(int id)
{
	long first, last, middle, unused;

	team_share(id, SORTED, &first, &last);
	for (long i = first + 1; i < last; i++) {
		int value = sorted[i];
		long k = i;

		if (last - first > 300)
			break;
		for (; k > first && sorted[k - 1] > value; k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = value;
	}
	if (last - first > 300)
		qsort(sorted + first, (size_t)(last - first), sizeof(*sorted), by_number);
	for (int width = 1; width < team_size; width *= 2) {
		team_barrier();
		if (id % (2 * width) || id + width >= team_size)
			continue;
		team_share(id + width, SORTED, &middle, &unused);
		team_share(id + 2 * width > team_size ? team_size : id + 2 * width, SORTED, &last,
			   &unused);
		merge(first, middle, last);
	}
}

/* --- */

static const struct {
	const char *name;
	void (*work)(int id);
	const void *data;
	size_t bytes;
} programs[] = {
	{"barnes", barnes, place, sizeof(place)},
	{"gauss", gauss, matrix, sizeof(matrix)},
	{"gcd", gcd, pool, sizeof(*pool)},
	{"join", join, &joined_count, sizeof(joined_count)},
	{"locus", locus, cost, sizeof(cost)},
	{"mp3d", mp3d, in_cell, sizeof(in_cell)},
	{"mtxmult", mtxmult, c, sizeof(c)},
	{"pnet", pnet, weight, sizeof(weight)},
	{"ptycho", ptycho, result, sizeof(result)},
	{"quicksort", quicksort, sorted, sizeof(sorted)},
	{"shpath", shpath, distance, sizeof(distance)},
	{"sort", sort, sorted, sizeof(sorted)},
};

static void fill(void)
{
	for (int i = 0; i < BODIES; i++)
		place[i] = team_random(&seed);
	for (int i = 0; i < CELLS; i++)
		pthread_mutex_init(&cell_lock[i], NULL);
	for (int i = 0; i < ROWS; i++) {
		for (int k = 0; k <= ROWS; k++)
			matrix[i][k] = team_random(&seed) + (i == k) * ROWS;
	}
	for (int i = 0; i < NUMBERS; i++)
		pool[i] = 6 * (1 + draw(100000000));
	for (int i = 0; i < LEFT; i++)
		left[i] = draw(1000);
	for (int i = 0; i < RIGHT; i++)
		right[i] = draw(1000);
	for (int i = 0; i < WIRES; i++)
		wire[i] = (struct wire){{draw(GRID), draw(GRID)}, {draw(GRID), draw(GRID)}};
	for (int i = 0; i < PARTICLES; i++) {
		at[i] = team_random(&seed);
		velocity[i] = (team_random(&seed) - 0.5) / 50;
	}
	for (int i = 0; i < SIDE * SIDE; i++) {
		a[i / SIDE][i % SIDE] = team_random(&seed);
		b[i / SIDE][i % SIDE] = team_random(&seed);
	}
	for (int i = 0; i < SAMPLES * INPUTS; i++)
		sample[i / INPUTS][i % INPUTS] = team_random(&seed);
	for (int i = 0; i < SAMPLES; i++)
		wanted[i] = sample[i][0];
	for (int i = 0; i < SORTED; i++)
		sorted[i] = draw(1000000);
	stack[stacked++] = (struct range){0, SORTED - 1};
	for (int i = 0; i < NODES * NODES; i++)
		edge[i / NODES][i % NODES] = 1 + draw(1000);
	for (int i = 1; i < NODES; i++)
		distance[i] = 1000000;
}

int main(int argc, char **argv)
{
	team_arguments(argc, argv, 0);
	fill();
	for (size_t i = 0; argc > 2 && i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (strcmp(programs[i].name, argv[2]))
			continue;
		team_run(programs[i].work);
		team_print(argv[2], programs[i].data, programs[i].bytes);
		return 0;
	}
	return 2;
}
