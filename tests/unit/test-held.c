/* SPDX-License-Identifier: Apache-2.0 */
/* Who is held by a tracer, as the kernel tells it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/held.h"

static void *wait_for_ever(void *arg)
{
	int *ready = arg, tid = gettid();

	if (write(*ready, &tid, sizeof(tid)) != sizeof(tid))
		abort();
	for (;;)
		pause();
}

/* A child with two threads; *tid is the second. */
static pid_t make_child(int *tid)
{
	pthread_t thread;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		pthread_create(&thread, NULL, wait_for_ever, &ready[1]);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], tid, sizeof(*tid)), sizeof(*tid));
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(rp_held(pid));
}

static void test_one_thread(void **state)
{
	int tid;
	pid_t pid = make_child(&tid);

	(void)state;
	assert_false(rp_held(pid));
	assert_false(rp_traced(pid));
	assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	assert_true(rp_traced(pid));
	assert_false(rp_held(pid));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, NULL, __WALL), tid);
	assert_true(rp_held(pid));
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
	assert_false(rp_traced(pid));
	end_child(pid);
}

/* A debugger attaches to one thread after the other. */
static void test_all_threads(void **state)
{
	int tid;
	pid_t pid = make_child(&tid);

	(void)state;
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	assert_false(rp_all_traced(pid));
	assert_int_equal(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	assert_true(rp_all_traced(pid));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, NULL, __WALL), pid);
	assert_true(rp_held(pid));
	assert_false(rp_all_held(pid));
	assert_int_equal(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, NULL, __WALL), tid);
	assert_true(rp_all_held(pid));
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
	end_child(pid);
	assert_false(rp_all_traced(pid));
}

/* Nobody debugs it: whoever stopped it may have forgotten it. */
static void test_stopped_by_signal(void **state)
{
	int tid, status;
	pid_t pid = make_child(&tid);

	(void)state;
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_false(rp_held(pid));
	end_child(pid);
}

static void test_nobody(void **state)
{
	(void)state;
	assert_true(rp_runs(getpid()));
	assert_false(rp_runs(0));
	assert_false(rp_held(0));
	assert_false(rp_held(-1));
	assert_false(rp_held(getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_all_threads),
		cmocka_unit_test(test_stopped_by_signal),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
