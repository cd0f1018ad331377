/* SPDX-License-Identifier: Apache-2.0 */
/* Signals are passed on to the child while it is there, and to nobody when it is reaped. */
#include "launch/front.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/job.h"

static pid_t told; /* the last one that a signal went to */

/* In the place of libc's. */
int kill(pid_t pid, int sig)
{
	told = pid;
	return (int)syscall(SYS_kill, pid, sig);
}

static int wait_for_signal(void *unused)
{
	(void)unused;
	while (pause() < 0)
		continue;
	return 0;
}

/* As another process would send it. */
static void tell_us(int sig)
{
	told = 0;
	assert_int_equal(sigqueue(getpid(), sig, (union sigval){0}), 0);
}

static void test_while_it_is_there(void **state)
{
	pid_t pid = launch_front_start(wait_for_signal, NULL);
	int status;

	(void)state;
	assert_true(pid > 0);
	tell_us(SIGTERM);
	assert_int_equal(told, pid);
	assert_int_equal(launch_front_signal(), SIGTERM);
	assert_true(replay_wait_until(pid, &status, replay_now() + 60));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);

	/* The number may be another process's now. */
	tell_us(SIGHUP);
	assert_int_equal(told, 0);
	assert_int_equal(launch_front_signal(), SIGHUP);
}

static void test_while_it_is_ours(void **state)
{
	pid_t pid = launch_front_start(wait_for_signal, NULL);
	int status;

	(void)state;
	assert_true(pid > 0);
	launch_front_forget(pid + 1);
	launch_front_forget(pid);
	tell_us(SIGHUP);
	assert_int_equal(told, 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_true(replay_wait_until(pid, &status, replay_now() + 60));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_while_it_is_there),
		cmocka_unit_test(test_while_it_is_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
