/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of receives in flight. A request is found by its handle until it has completed; MPI may
 * give the handle to the next request at once, also while another thread completes the first. Posts
 * are numbered, wildcards once more, and open wildcards are a list in the order of their posts.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifndef HOOK_MPI_HEADER

/* Without an MPI there is no such table. */
int main(void)
{
	return 0;
}

#else

#include "hook/mpi/object/requests.h"

#define MANY 3000
#define STEPS 20000

struct hook_process hook_process;
__thread struct hook_here hook_here = {.depth = 1};
struct hook_mpi_calls hook_mpi_real;
bool hook_mpi_turns;
#ifdef HOOK_FLAVOUR_OPENMPI
void *hook_handle_MPI_REQUEST_NULL;
#endif

static MPI_Request handle(uint64_t number)
{
	return (MPI_Request)(uintptr_t)(0x1000 + 16 * number);
}

static int dups;

static int dup_type(MPI_Datatype type, MPI_Datatype *copy)
{
	*copy = type;
	dups++;
	return MPI_SUCCESS;
}

static struct hook_request *begin(uint64_t number, uint32_t flags, enum hook_mpi_post how)
{
	MPI_Request request = handle(number);
	struct hook_mpi_receive want = {.post = how,
					.source = flags & REQUEST_WILD ? MPI_ANY_SOURCE : 3,
					.tag = 4,
					.request = &request};
	struct hook_request *r;

	assert_true(hook_requests_begin(&want, 0));
	r = hook_requests_find(request);
	assert_non_null(r);
	assert_int_equal(r->want.tag, 4);
	return r;
}

static struct hook_request *prepare(uint64_t number, uint32_t flags)
{
	struct hook_request *r = begin(number, flags, HOOK_PREPARED);

	assert_int_equal(r->flags, REQUEST_PERSISTENT | flags);
	return r;
}

static struct hook_request *post(uint64_t number, uint32_t flags)
{
	struct hook_request *r = begin(number, flags, HOOK_POSTED);

	assert_int_equal(r->flags, REQUEST_ACTIVE | flags);
	return r;
}

static void nothing_is_kept_of_a_receive_from_nobody(void **state)
{
	MPI_Request request = handle(1);
	struct hook_mpi_receive want = {
		.post = HOOK_POSTED, .source = MPI_PROC_NULL, .request = &request};

	(void)state;
	assert_true(hook_requests_begin(&want, 0));
	assert_null(hook_requests_find(request));
}

static int empty(void **state)
{
	(void)state;
	hook_mpi_turns = false;
	assert_int_equal(hook_requests_count(), 0);
	assert_int_equal(hook_mpi_pending, 0);
	assert_null(hook_requests_first_open());
	return 0;
}

static void found_until_it_has_completed(void **state)
{
	uint64_t first = hook_requests_next_post();

	(void)state;
	assert_null(hook_requests_find(handle(0)));
	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(post(i, 0)->post, first + i);
	assert_int_equal(hook_requests_count(), MANY);
	for (uint64_t i = 0; i < MANY; i += 2)
		hook_requests_retire(hook_requests_find(handle(i)));
	for (uint64_t i = 0; i < MANY; i++) {
		struct hook_request *r = hook_requests_find(handle(i));

		assert_int_equal(r != NULL, i % 2);
		assert_ptr_equal(hook_requests_of_post(first + i), r);
		if (r)
			hook_requests_remove(r);
	}
}

/* MPI has freed the old one, and we were not told. */
static void a_handle_that_comes_again_is_another_request(void **state)
{
	struct hook_request *r = post(1, REQUEST_WILD), *again;
	uint64_t number = r->post, wild = r->wild;

	(void)state;
	again = post(1, REQUEST_WILD);
	assert_int_equal(hook_requests_count(), 1);
	assert_ptr_equal(hook_requests_find(handle(1)), again);
	assert_int_equal(again->post, number + 1);
	assert_int_equal(again->wild, wild + 1);
	assert_ptr_equal(hook_requests_first_open(), again);
	assert_null(hook_requests_next_open(again));
	assert_null(hook_requests_of_post(number));
	hook_requests_retire(again);
}

static void open_wildcards_are_in_the_order_of_their_posts(void **state)
{
	uint64_t wild = hook_requests_next_wild(), expected = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		post(i, i % 3 ? REQUEST_WILD : 0);
	for (uint64_t i = 1; i < 100; i += 6)
		hook_requests_close(hook_requests_find(handle(i)));
	for (struct hook_request *r = hook_requests_first_open(); r;
	     r = hook_requests_next_open(r)) {
		while (expected % 3 == 0 || expected % 6 == 1)
			expected++;
		assert_ptr_equal(r, hook_requests_find(handle(expected)));
		assert_true(r->wild >= wild);
		wild = r->wild + 1;
		expected++;
	}
	assert_int_equal(expected, 99);
	/* To be closed twice does no harm. */
	hook_requests_close(hook_requests_find(handle(1)));
	for (uint64_t i = 0; i < 100; i++)
		hook_requests_retire(hook_requests_find(handle(i)));
}

/* A wildcard that was not posted has a number all the same, so the next post has the one after. */
static void numbers_are_taken_without_a_post(void **state)
{
	uint64_t wild = hook_requests_next_wild();
	struct hook_request *r;

	(void)state;
	assert_int_equal(hook_requests_number_wild(), wild);
	r = post(1, REQUEST_WILD);
	assert_int_equal(r->wild, wild + 1);
	assert_int_equal(hook_requests_next_wild(), wild + 2);
	hook_requests_retire(r);
}

static void a_persistent_one_is_posted_again(void **state)
{
	struct hook_request *r = prepare(1, REQUEST_WILD);
	uint64_t last = 0;

	(void)state;
	hook_mpi_real.Type_dup = dup_type;
	hook_requests_keep(handle(1));
	assert_int_equal(dups, 1);
	assert_null(hook_requests_first_open());
	for (int i = 0; i < 3; i++) {
		hook_requests_post(r);
		assert_true(r->flags & REQUEST_ACTIVE);
		assert_false(r->flags & (REQUEST_KNOWN | REQUEST_CANCEL | REQUEST_DONE));
		assert_true(!i || r->post == last + 1);
		last = r->post;
		assert_ptr_equal(hook_requests_first_open(), r);
		r->flags |= REQUEST_KNOWN | REQUEST_CANCEL | REQUEST_DONE;
		hook_requests_retire(r);
		assert_ptr_equal(hook_requests_find(handle(1)), r);
		assert_false(r->flags & REQUEST_ACTIVE);
		assert_null(hook_requests_of_post(last));
		assert_null(hook_requests_first_open());
	}
	hook_requests_remove(r);
	assert_null(hook_requests_find(handle(1)));
}

static void those_to_be_asked_again_are_counted_once(void **state)
{
	struct hook_request *a = post(1, REQUEST_WILD), *b = post(2, REQUEST_WILD);

	(void)state;
	hook_requests_pend(a);
	hook_requests_pend(a);
	hook_requests_pend(b);
	assert_int_equal(hook_mpi_pending, 2);
	hook_requests_close(a);
	hook_requests_close(a);
	assert_int_equal(hook_mpi_pending, 1);
	hook_requests_retire(a);
	hook_requests_remove(b);
}

/* Threads take turns: while one completes a request, another posts one with the same handle. */
static void a_handle_that_is_taken_belongs_to_the_next(void **state)
{
	MPI_Request requests[3] = {handle(1), handle(2), handle(3)};
	struct hook_request *first, *idle, *next;
	uint32_t taken[3];

	(void)state;
	hook_mpi_turns = true;
	first = post(1, REQUEST_WILD);
	idle = prepare(2, 0);
	hook_requests_take(3, requests, taken);
	assert_null(hook_requests_find(handle(1)));
	assert_ptr_equal(hook_requests_taken(requests[0], &taken[0]), first);
	assert_int_equal(taken[1], 0); /* not active: nothing of it can complete */
	assert_int_equal(taken[2], 0);
	next = post(1, REQUEST_WILD);
	assert_ptr_not_equal(next, first);
	assert_ptr_equal(hook_requests_find(handle(1)), next);
	hook_requests_retire(first);
	taken[0] = 0;
	hook_requests_put_back(3, taken);
	assert_ptr_equal(hook_requests_find(handle(1)), next);
	/* One that has not completed is where it was. */
	hook_requests_take(1, requests, taken);
	hook_requests_put_back(1, taken);
	assert_ptr_equal(hook_requests_find(handle(1)), next);
	assert_false(next->flags & REQUEST_BUSY);
	hook_requests_retire(next);
	hook_requests_remove(idle);
}

/* A persistent one keeps its handle: it is in the table all the time, and once. */
static void a_persistent_one_that_is_taken_stays(void **state)
{
	MPI_Request request = handle(7);
	struct hook_request *r, *next;
	uint32_t taken;

	(void)state;
	hook_mpi_turns = true;
	r = prepare(7, 0);
	for (int completes = 0; completes < 2; completes++) {
		hook_requests_post(r);
		hook_requests_take(1, &request, &taken);
		assert_ptr_equal(hook_requests_taken(request, &taken), r);
		assert_ptr_equal(hook_requests_find(request), r);
		assert_true(r->flags & REQUEST_BUSY);
		if (completes) {
			hook_requests_retire(r);
			taken = 0;
		}
		hook_requests_put_back(1, &taken);
		assert_ptr_equal(hook_requests_find(request), r);
		assert_false(r->flags & REQUEST_BUSY);
		assert_int_equal(r->flags & REQUEST_ACTIVE, completes ? 0 : REQUEST_ACTIVE);
	}
	/* An error can free it as it completes: then the handle is another one's. */
	hook_requests_post(r);
	hook_requests_take(1, &request, &taken);
	next = post(7, 0);
	assert_ptr_not_equal(next, r);
	assert_ptr_equal(hook_requests_taken(request, &taken), r);
	assert_ptr_equal(hook_requests_find(request), next);
	hook_requests_remove(r);
	assert_ptr_equal(hook_requests_find(request), next);
	hook_requests_remove(next);
	assert_null(hook_requests_find(request));
}

static uint64_t counted;

static void *count(void *self)
{
	hook_self = self;
	for (int i = 0; i < STEPS; i++) {
		uint64_t before;

		hook_requests_lock();
		before = counted;
		hook_requests_lock();
		hook_requests_unlock();
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		counted = before + 1;
		hook_requests_unlock();
	}
	return NULL;
}

static void its_holder_takes_the_lock_again_and_nobody_else(void **state)
{
	static struct hook_thread others[3];
	pthread_t threads[3];

	(void)state;
	hook_mpi_turns = true;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, &others[i]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counted, 3 * STEPS);
}

/* Against a list that is searched. */
static void anything_in_any_order(void **state)
{
	static struct {
		uint64_t post;
		bool there, open;
	} known[64];
	uint64_t seed = 11;

	(void)state;
	for (int step = 0; step < STEPS; step++) {
		uint64_t i = seed >> 33 & 63;
		struct hook_request *r = hook_requests_find(handle(i));

		assert_int_equal(r != NULL, known[i].there);
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (!r) {
			r = post(i, seed >> 40 & 1 ? REQUEST_WILD : 0);
			known[i].there = true;
			known[i].open = r->flags & REQUEST_WILD;
			known[i].post = r->post;
		} else if (known[i].open && seed >> 41 & 1) {
			hook_requests_close(r);
			known[i].open = false;
		} else {
			assert_int_equal(r->post, known[i].post);
			hook_requests_retire(r);
			known[i].there = known[i].open = false;
		}
	}
	for (uint64_t i = 0; i < 64; i++) {
		struct hook_request *r = hook_requests_find(handle(i));

		assert_int_equal(r && r->next, known[i].open);
		if (r)
			hook_requests_remove(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_kept_of_a_receive_from_nobody, empty,
						empty),
		cmocka_unit_test_setup_teardown(found_until_it_has_completed, empty, empty),
		cmocka_unit_test_setup_teardown(a_handle_that_comes_again_is_another_request, empty,
						empty),
		cmocka_unit_test_setup_teardown(open_wildcards_are_in_the_order_of_their_posts,
						empty, empty),
		cmocka_unit_test_setup_teardown(numbers_are_taken_without_a_post, empty, empty),
		cmocka_unit_test_setup_teardown(a_persistent_one_is_posted_again, empty, empty),
		cmocka_unit_test_setup_teardown(those_to_be_asked_again_are_counted_once, empty,
						empty),
		cmocka_unit_test_setup_teardown(a_handle_that_is_taken_belongs_to_the_next, empty,
						empty),
		cmocka_unit_test_setup_teardown(a_persistent_one_that_is_taken_stays, empty, empty),
		cmocka_unit_test_setup_teardown(its_holder_takes_the_lock_again_and_nobody_else,
						empty, empty),
		cmocka_unit_test_setup_teardown(anything_in_any_order, empty, empty),
	};

	static struct hook_thread self;

	hook_self = &self;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
