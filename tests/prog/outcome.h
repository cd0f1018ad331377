/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test program shares. Each rank notes its outcomes in a buffer; outcome_print gathers
 * them, and rank 0 prints one line per rank, so that standard output depends on the outcomes and
 * not on which rank prints first. CHECK ends the run with status 3 if the program finds that a
 * message is not what was sent.
 *
 * jitter() makes outcomes differ from run to run. It draws from the cycle counter, which nobody
 * records: replays are jittered too.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			MPI_Abort(MPI_COMM_WORLD, 3);                                              \
		}                                                                                  \
	} while (0)

struct outcome_log {
	char *text;
	size_t length, room;
};

static struct outcome_log outcome_main;

UNUSED static void outcome_vadd(struct outcome_log *log, const char *format, va_list list)
{
	char piece[256];
	int n = vsnprintf(piece, sizeof(piece), format, list);

	CHECK(n >= 0 && n < (int)sizeof(piece));
	if (log->length + (size_t)n + 1 > log->room) {
		log->room = 2 * log->room + sizeof(piece);
		log->text = realloc(log->text, log->room);
		CHECK(log->text != NULL);
	}
	memcpy(log->text + log->length, piece, (size_t)n + 1);
	log->length += (size_t)n;
}

__attribute__((format(printf, 2, 3))) UNUSED static void outcome_add(struct outcome_log *log,
								     const char *format, ...)
{
	va_list list;

	va_start(list, format);
	outcome_vadd(log, format, list);
	va_end(list);
}

/* Notes one outcome of this rank. */
__attribute__((format(printf, 1, 2))) UNUSED static void outcome(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	outcome_vadd(&outcome_main, format, list);
	va_end(list);
}

/* Collective over MPI_COMM_WORLD. */
UNUSED static void outcome_print(void)
{
	int rank, size, length = (int)outcome_main.length, total = 0;
	int *lengths = NULL, *starts = NULL;
	char *all = NULL;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == 0) {
		lengths = malloc((size_t)size * sizeof(*lengths));
		starts = malloc((size_t)size * sizeof(*starts));
		CHECK(lengths && starts);
	}
	MPI_Gather(&length, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		for (int i = 0; i < size; i++) {
			starts[i] = total;
			total += lengths[i];
		}
		all = malloc((size_t)total + 1);
		CHECK(all != NULL);
	}
	MPI_Gatherv(outcome_main.text, length, MPI_CHAR, all, lengths, starts, MPI_CHAR, 0,
		    MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < size; i++)
		printf("rank %d:%.*s\n", i, lengths[i], all + starts[i]);
	fflush(stdout);
	free(lengths);
	free(starts);
	free(all);
	free(outcome_main.text);
	memset(&outcome_main, 0, sizeof(outcome_main));
}

UNUSED static uint64_t outcome_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
#error "no cycle counter known for this machine"
#endif
}

/* Wastes up to a few ten microseconds, and sometimes gives the processor away. */
UNUSED static void jitter(void)
{
	uint64_t cycles = outcome_cycles() * 0x9e3779b97f4a7c15ull >> 40;

	for (volatile uint64_t spin = cycles % 8192; spin > 0; spin--)
		;
	for (uint64_t yields = cycles >> 13 & 3; yields > 0; yields--)
		sched_yield();
}

UNUSED static int argument(int argc, char **argv, int n, int otherwise)
{
	return argc > n ? atoi(argv[n]) : otherwise;
}

#endif
