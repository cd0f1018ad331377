/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A one-dimensional Fourier transform of n * n points, kept as a matrix: transpose, transform the
 * rows, multiply by roots of unity, transpose, transform the rows, transpose. Between any two of
 * these steps there is a barrier, and nothing else.
 */
#include <complex.h>
#include <math.h>

#include "team.h"

static long n; /* rows; a power of two */
static double complex *from, *to, *roots;

static void transpose(double complex *out, const double complex *in, long first, long last)
{
	enum { TILE = 8 };

	for (long i = first; i < last; i += TILE) {
		for (long j = 0; j < n; j += TILE) {
			for (long a = i; a < i + TILE && a < last; a++) {
				for (long b = j; b < j + TILE; b++)
					out[a * n + b] = in[b * n + a];
			}
		}
	}
}

static void reverse_bits(double complex *x)
{
	for (long i = 1, j = 0; i < n; i++) {
		long bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			double complex t = x[i];

			x[i] = x[j];
			x[j] = t;
		}
	}
}

/* In place; roots[k * n] is the k-th n-th root. */
static void transform_row(double complex *x)
{
	reverse_bits(x);
	for (long length = 2; length <= n; length *= 2) {
		for (long i = 0; i < n; i += length) {
			for (long k = 0; k < length / 2; k++) {
				double complex odd =
					roots[k * (n / length) * n] * x[i + k + length / 2];

				x[i + k + length / 2] = x[i + k] - odd;
				x[i + k] += odd;
			}
		}
	}
}

static void transform_rows(double complex *x, long first, long last, int twiddle)
{
	for (long i = first; i < last; i++) {
		transform_row(x + i * n);
		for (long j = 0; twiddle && j < n; j++)
			x[i * n + j] *= roots[i * j % (n * n)];
	}
}

static void work(int id)
{
	long first, last;

	team_share(id, n, &first, &last);
	for (int round = 0; round < 100; round++) {
		transpose(to, from, first, last);
		team_barrier();
		transform_rows(to, first, last, 1);
		team_barrier();
		transpose(from, to, first, last);
		team_barrier();
		transform_rows(from, first, last, 0);
		team_barrier();
		transpose(to, from, first, last);
		team_barrier();
		for (long i = first * n; i < last * n; i++)
			from[i] = to[i] / (double)n;
		team_barrier();
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	n = team_arguments(argc, argv, 256);
	if (n < 8 || n & (n - 1))
		return 2;
	from = team_alloc((size_t)(n * n), sizeof(*from));
	to = team_alloc((size_t)(n * n), sizeof(*to));
	roots = team_alloc((size_t)(n * n), sizeof(*roots));
	for (long i = 0; i < n * n; i++) {
		from[i] = team_random(&seed) - 0.5;
		roots[i] = cexp(-2 * M_PI * I * (double)i / (double)(n * n));
	}
	team_run(work);
	team_print("fft", from, (size_t)(n * n) * sizeof(*from));
	return 0;
}
