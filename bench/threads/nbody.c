/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Molecules that attract and repel each other within a radius: each thread takes its part of all
 * pairs and adds the forces to both molecules, under a lock per molecule, so that the order of
 * additions, and with it the last bits of the result, is that of the locks. Barriers between steps.
 */
#include <math.h>

#include "team.h"

enum { STEPS = 12 };

struct molecule {
	pthread_mutex_t lock;
	double at[3], speed[3], force[3];
};

static long n;
static double side;
static struct molecule *all;
static pthread_mutex_t energy_lock = PTHREAD_MUTEX_INITIALIZER;
static double energy;

static void push(struct molecule *m, const double *force, double sign)
{
	team_lock(&m->lock);
	for (int k = 0; k < 3; k++)
		m->force[k] += sign * force[k];
	team_unlock(&m->lock);
}

/* The force between two molecules; 0 if they are too far from each other. */
static int pull(const struct molecule *a, const struct molecule *b, double *force)
{
	double d[3], r2 = 1e-3, f;

	for (int k = 0; k < 3; k++) {
		d[k] = a->at[k] - b->at[k];
		d[k] -= side * nearbyint(d[k] / side);
		r2 += d[k] * d[k];
	}
	if (r2 > 2)
		return 0;
	f = 1 / (r2 * r2) - 0.5 / r2;
	for (int k = 0; k < 3; k++)
		force[k] = f * d[k] * 1e-3;
	return 1;
}

static void forces(long first, long last)
{
	for (long i = first; i < last; i++) {
		double own[3] = {0}, force[3];

		for (long d = 1; d <= n / 2; d++) {
			long j = (i + d) % n;

			if (!pull(&all[i], &all[j], force))
				continue;
			for (int k = 0; k < 3; k++)
				own[k] += force[k];
			push(&all[j], force, -1);
		}
		push(&all[i], own, 1);
	}
}

static void move(long first, long last)
{
	double sum = 0;

	for (long i = first; i < last; i++) {
		for (int k = 0; k < 3; k++) {
			all[i].speed[k] += all[i].force[k];
			all[i].at[k] += all[i].speed[k] * 0.01;
			all[i].force[k] = 0;
			sum += all[i].speed[k] * all[i].speed[k];
		}
	}
	team_lock(&energy_lock);
	energy += sum;
	team_unlock(&energy_lock);
}

static void work(int id)
{
	long first, last;

	team_share(id, n, &first, &last);
	for (int step = 0; step < STEPS; step++) {
		forces(first, last);
		team_barrier();
		move(first, last);
		team_barrier();
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = 5;
	double *places;

	n = team_arguments(argc, argv, 2500);
	side = cbrt((double)n);
	all = team_alloc((size_t)n, sizeof(*all));
	places = team_alloc(3 * (size_t)n, sizeof(*places));
	for (long i = 0; i < n; i++) {
		pthread_mutex_init(&all[i].lock, NULL);
		for (int k = 0; k < 3; k++)
			all[i].at[k] = team_random(&seed) * side;
	}
	team_run(work);
	for (long i = 0; i < n; i++)
		memcpy(&places[3 * i], all[i].at, sizeof(all[i].at));
	team_print("energy", &energy, sizeof(energy));
	team_print("places", places, 3 * (size_t)n * sizeof(*places));
	return 0;
}
