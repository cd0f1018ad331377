/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that code inside the user's program puts into records and digests, beside those of
 * format.h. They are part of the format: append-only, none is given a new value or used for
 * something else. A new number needs a new TRACE_VERSION; tools/trace-numbers compares all of them
 * with those that the version was published with.
 */
#ifndef TRACE_NUMBERS_H
#define TRACE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Operations of threads: OP(number, name, text, class). The number goes into the digest of a
 * thread's operations, and into the ids of those that have no object; the class (enum
 * trace_sync_class) decides how the outcome is written. New ones go to the end.
 */
/* clang-format off */
#define TRACE_SYNC_OPS(OP) \
	OP(0, MUTEX_LOCK, "pthread_mutex_lock", PLAIN) \
	OP(1, MUTEX_TRYLOCK, "pthread_mutex_trylock", TRY) \
	OP(2, MUTEX_TIMEDLOCK, "pthread_mutex_timedlock", TRY) \
	OP(3, MUTEX_CLOCKLOCK, "pthread_mutex_clocklock", TRY) \
	OP(4, MEMORY, "mmap, munmap or the like", PLAIN) \
	OP(5, RANDOM, "random, rand, drand48 or the like", PLAIN) \
	OP(6, SETTINGS, "getenv, setlocale, localtime or the like", PLAIN) \
	OP(7, TOKEN, "strtok", PLAIN) \
	OP(8, LOG, "syslog or the like", PLAIN) \
	OP(9, AT_EXIT, "atexit or the like", PLAIN) \
	OP(10, COND_WAIT, "pthread_cond_wait", WAIT) \
	OP(11, COND_TIMEDWAIT, "pthread_cond_timedwait", TIMED) \
	OP(12, COND_CLOCKWAIT, "pthread_cond_clockwait", TIMED) \
	OP(13, SPIN_LOCK, "pthread_spin_lock", PLAIN) \
	OP(14, SPIN_TRYLOCK, "pthread_spin_trylock", TRY) \
	OP(15, RDLOCK, "pthread_rwlock_rdlock", PLAIN) \
	OP(16, TRYRDLOCK, "pthread_rwlock_tryrdlock", TRY) \
	OP(17, TIMEDRDLOCK, "pthread_rwlock_timedrdlock", TRY) \
	OP(18, CLOCKRDLOCK, "pthread_rwlock_clockrdlock", TRY) \
	OP(19, WRLOCK, "pthread_rwlock_wrlock", PLAIN) \
	OP(20, TRYWRLOCK, "pthread_rwlock_trywrlock", TRY) \
	OP(21, TIMEDWRLOCK, "pthread_rwlock_timedwrlock", TRY) \
	OP(22, CLOCKWRLOCK, "pthread_rwlock_clockwrlock", TRY) \
	OP(23, SEM_POST, "sem_post", PLAIN) \
	OP(24, SEM_WAIT, "sem_wait", TRY) \
	OP(25, SEM_TRYWAIT, "sem_trywait", TRY) \
	OP(26, SEM_TIMEDWAIT, "sem_timedwait", TRY) \
	OP(27, SEM_CLOCKWAIT, "sem_clockwait", TRY) \
	OP(28, SEM_GETVALUE, "sem_getvalue", VALUE) \
	OP(29, BARRIER_WAIT, "pthread_barrier_wait", VALUE) \
	OP(30, ONCE, "pthread_once", VALUE) \
	OP(31, CREATE, "pthread_create", VALUE) \
	OP(32, JOIN, "pthread_join", VALUE) \
	OP(33, TRYJOIN, "pthread_tryjoin_np", VALUE) \
	OP(34, TIMEDJOIN, "pthread_timedjoin_np", VALUE) \
	OP(35, CLOCKJOIN, "pthread_clockjoin_np", VALUE) \
	OP(36, IO, "an operation on a descriptor", PLAIN) \
	OP(37, GOMP_CHUNK, "a loop or sections (OpenMP)", VALUE) \
	OP(38, GOMP_LENGTH, "a guided loop (OpenMP)", VALUE) \
	OP(39, GOMP_SINGLE, "single (OpenMP)", VALUE) \
	OP(40, GOMP_CANCEL, "cancel (OpenMP)", VALUE) \
	OP(41, GOMP_RUN, "a place where tasks can run (OpenMP)", VALUE) \
	OP(42, GOMP_NUMBER, "a place where a task runs (OpenMP)", VALUE) \
	OP(43, GOMP_TASK, "the tasks of a team (OpenMP)", PLAIN) \
	OP(44, GOMP_CRITICAL, "critical (OpenMP)", PLAIN) \
	OP(45, GOMP_ATOMIC, "atomic or reduction (OpenMP)", PLAIN) \
	OP(46, OMP_LOCK, "omp_set_lock", PLAIN) \
	OP(47, OMP_TEST, "omp_test_lock", TRY) \
	OP(48, OMP_NEST_LOCK, "omp_set_nest_lock", PLAIN) \
	OP(49, OMP_NEST_TEST, "omp_test_nest_lock", TRY) \
	OP(50, STREAM, "an operation on a stream (stdio)", PLAIN) \
	OP(51, FLOCKFILE, "flockfile", PLAIN) \
	OP(52, FTRYLOCKFILE, "ftrylockfile", TRY) \
	OP(53, WRITE, "write", TRY) /* to standard output or error, past stdio */ \
	OP(54, BATON, "the turn to run", TIMED) /* in serial mode, as LOADER below */ \
	OP(55, FUTEX, "futex", VALUE) /* in serial mode, or where atomic operations are recorded */ \
	OP(56, LOADER, "dlopen or dlclose", VALUE) \
	OP(57, ATOMIC_LOAD, "an atomic load", LOOK) \
	OP(58, ATOMIC_STORE, "an atomic store", PLAIN) \
	OP(59, ATOMIC_CHANGE, "an atomic exchange, addition or the like", PLAIN) \
	OP(60, ATOMIC_SWAP, "an atomic compare-and-exchange", SWAP)
/* clang-format on */

/* The id of an operation that has no object of its own; 54 bits are left to those that have one. */
#define TRACE_SYNC_OP_SHIFT 54

static inline uint64_t trace_sync_op_id(uint32_t op)
{
	return (uint64_t)(op + 1) << TRACE_SYNC_OP_SHIFT;
}

/*
 * The id of the n-th object, from 1 on, that a thread of this name has made. The same in every run,
 * and with near certainty no other object's.
 */
static inline uint64_t trace_sync_maker(const char *name)
{
	uint64_t maker = 0xcbf29ce484222325ull;

	for (; *name; name++)
		maker = (maker ^ (uint8_t)*name) * 0x100000001b3ull;
	return maker;
}

static inline uint64_t trace_sync_object_id(uint64_t maker, uint64_t n)
{
	uint64_t id = (maker + n) * 0x9e3779b97f4a7c15ull;

	return id ? id : 1;
}

/* Codes of outcomes that no call of the program returns. */
enum trace_sync_code {
	TRACE_SYNC_BATON_TAKEN = 0,
	TRACE_SYNC_BATON_STOLEN = 1,
	TRACE_SYNC_BATON_PARKED = 0x4000, /* and the next one, by turns, so that each is written */
	TRACE_SYNC_LARGE = 0xfffe,        /* of a number: it has more than one code */
	TRACE_SYNC_CANCELLED = 0xffff,    /* a wait that ended by cancellation */
	/* an atomic: what is not recorded has changed it; and 24 bits of what was found */
	TRACE_SYNC_ELSEWHERE = 0x1000000,
};

/* Bits of a number that one code behind TRACE_SYNC_LARGE has. */
#define TRACE_SYNC_PIECE 30

/* What comes next at a place where tasks can run: the number of a GOMP_RUN. */
enum trace_gomp_run {
	TRACE_GOMP_OVER = 0,
	TRACE_GOMP_MET = 1,
	TRACE_GOMP_TASK = 2, /* and the maker of the task is added */
};

/* TRACE_IN_SIGNAL: a handler runs. */
enum trace_signal_where {
	TRACE_SIGNAL_POINT = 0,  /* at a numbered point */
	TRACE_SIGNAL_INSIDE = 1, /* while an operation or a call waits: in replay as it begins */
	TRACE_SIGNAL_AFTER = 2,  /* after an operation, or not at a point at all */
};

struct trace_signal {
	int32_t sig, code, pid, uid;
	uint64_t value, calls, ops;
	uint8_t where;
	uint8_t takes_baton;
	uint16_t handlers; /* at work when it came */
	uint32_t given;
};

/* What goes into the digest of an MPI event (TRACE_CHECK). */
static inline __attribute__((always_inline)) uint64_t
trace_call_digest(uint64_t digest, uint32_t call, int peer, int tag, uint64_t extra)
{
	uint64_t x = call + ((uint64_t)(uint32_t)peer << 16) + ((uint64_t)(uint32_t)tag << 32);

	digest = (digest ^ x ^ extra << 7) * 0x9e3779b97f4a7c15ull;
	return digest ^ digest >> 32;
}

/* What `extra` is. Of a send, a collective operation or the like: the sum over those of its
   arguments that count, each by its place among them, from 0. */
static inline uint64_t trace_digest_argument(unsigned int place, uint64_t value)
{
	return value * (2 * place + 3);
}

static inline uint64_t trace_digest_receive(uint64_t count)
{
	return count;
}

/* Of a receive and a send in one call. */
static inline uint64_t trace_digest_exchange(uint64_t count, uint64_t dest)
{
	return count + dest * 3;
}

/* Of a call that starts or completes requests. */
static inline uint64_t trace_digest_requests(bool several, uint64_t count)
{
	return several ? count : 0;
}

static inline uint64_t trace_digest_partition(uint64_t partition)
{
	return partition;
}

#endif
