/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spheres seen with reflections. Tiles of the picture wait in a queue per thread; a thread whose
 * own is empty takes from the others. Every ray gets a number under one lock that all contend for,
 * and the numbers go into the result.
 */
#include <math.h>

#include "team.h"

enum { TILE = 8, SPHERES = 500, DEPTH = 4 };

struct ray {
	double from[3], to[3];
};

static struct {
	pthread_mutex_t lock;
	long *tile;
	long first, last;
} queues[TEAM_MOST];

static struct {
	double at[3], radius, mirror;
} spheres[SPHERES];

static long n;
static float *picture;
static uint64_t *numbers;
static pthread_mutex_t number_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_number;

static uint64_t next_number(void)
{
	uint64_t number;

	team_lock(&number_lock);
	number = ++last_number;
	team_unlock(&number_lock);
	return number;
}

static double dot(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The nearest sphere and its distance, or -1. */
static int hit(const struct ray *r, double *distance)
{
	int best = -1;

	*distance = 1e30;
	for (int i = 0; i < SPHERES; i++) {
		double d[3], b, c, t;

		for (int k = 0; k < 3; k++)
			d[k] = spheres[i].at[k] - r->from[k];
		b = dot(d, r->to);
		c = dot(d, d) - spheres[i].radius * spheres[i].radius;
		if (b * b < c)
			continue;
		t = b - sqrt(b * b - c);
		if (t > 1e-6 && t < *distance) {
			*distance = t;
			best = i;
		}
	}
	return best;
}

static double trace(struct ray r, int depth, uint64_t *hash)
{
	static const double light[3] = {0.6, 0.64, -0.48};
	double t, normal[3], shade;
	int i;

	*hash = *hash * 31 + next_number();
	i = hit(&r, &t);
	if (i < 0)
		return 0.2 + 0.1 * r.to[1];
	for (int k = 0; k < 3; k++) {
		r.from[k] += t * r.to[k];
		normal[k] = (r.from[k] - spheres[i].at[k]) / spheres[i].radius;
	}
	shade = dot(normal, light);
	shade = shade < 0.1 ? 0.1 : shade;
	if (depth == DEPTH)
		return shade;
	t = 2 * dot(normal, r.to);
	for (int k = 0; k < 3; k++)
		r.to[k] -= t * normal[k];
	return shade * (1 - spheres[i].mirror) + spheres[i].mirror * trace(r, depth + 1, hash);
}

static long take(int from)
{
	long tile = -1;

	team_lock(&queues[from].lock);
	if (queues[from].first < queues[from].last)
		tile = queues[from].tile[queues[from].first++];
	team_unlock(&queues[from].lock);
	return tile;
}

static void draw(long tile)
{
	long tiles = n / TILE, x = tile % tiles * TILE, y = tile / tiles * TILE;

	for (int i = 0; i < TILE * TILE; i++) {
		long px = x + i % TILE, py = y + i / TILE;
		double to[3] = {(double)px / (double)n - 0.5, (double)py / (double)n - 0.5, 1};
		double length = sqrt(dot(to, to));
		struct ray r = {{0, 0, -3}, {to[0] / length, to[1] / length, to[2] / length}};

		picture[py * n + px] = (float)trace(r, 0, &numbers[tile]);
	}
}

static void work(int id)
{
	for (int i = 0; i < team_size;) {
		long tile = take((id + i) % team_size);

		if (tile < 0)
			i++;
		else
			draw(tile);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = 6;
	long tiles;

	n = team_arguments(argc, argv, 400) / TILE * TILE;
	tiles = n / TILE * (n / TILE);
	picture = team_alloc((size_t)(n * n), sizeof(*picture));
	numbers = team_alloc((size_t)tiles, sizeof(*numbers));
	for (int i = 0; i < SPHERES; i++) {
		for (int k = 0; k < 3; k++)
			spheres[i].at[k] = 3 * team_random(&seed) - 1.5 + (k == 2 ? 2 : 0);
		spheres[i].radius = 0.02 + 0.1 * team_random(&seed);
		spheres[i].mirror = 0.6 * team_random(&seed);
	}
	for (int i = 0; i < team_size && i < TEAM_MOST; i++) {
		pthread_mutex_init(&queues[i].lock, NULL);
		queues[i].tile = team_alloc((size_t)tiles, sizeof(long));
	}
	/* Stripes: the middle of the picture is the hard part, and somebody gets it all. */
	for (long tile = 0; tile < tiles; tile++) {
		int i = (int)(tile * team_size / tiles);

		queues[i].tile[queues[i].last++] = tile;
	}
	team_run(work);
	team_print("picture", picture, (size_t)(n * n) * sizeof(*picture));
	team_print("numbers", numbers, (size_t)tiles * sizeof(*numbers));
	return 0;
}
