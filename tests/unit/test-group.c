/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks as they are written, what gdb says in its machine interface, and whose answer it
 * is. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "group/gdb.h"
#include "group/mi.h"
#include "group/set.h"

static void is_set(const char *text, const char *wanted)
{
	struct group_set set;
	char *found;

	group_set_init(&set, 12, false);
	assert_int_equal(group_set_read(&set, text), 0);
	found = group_set_text(&set);
	assert_string_equal(found, wanted);
	free(found);
	group_set_free(&set);
}

static void sets_are_read_and_written(void **state)
{
	(void)state;
	is_set("all", "0-11");
	is_set("3", "3");
	is_set("0-3,7", "0-3,7");
	is_set("7,1,0,2", "0-2,7");
	is_set("5-5,6", "5-6");
}

static void other_texts_are_no_sets(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "-1",
					  "1-",
					  "12",
					  "0-12",
					  "3-1",
					  "1,,2",
					  "1 2",
					  "1x",
					  "all,1",
					  "1,",
					  "99999999999999999999"};
	struct group_set set;

	(void)state;
	group_set_init(&set, 12, true);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_not_equal(group_set_read(&set, bad[i]), 0);
	/* What was there stays. */
	assert_int_equal(group_set_count(&set), 12);
	group_set_free(&set);
}

static void results_become_json(void **state)
{
	struct group_mi mi;
	json_t *frame;

	(void)state;
	group_mi_read("12^done,stack=[frame={level=\"0\",func=\"f\"},frame={level=\"1\","
		      "file=\"a \\\"b\\\".c\"}],empty=[],n={}",
		      &mi);
	assert_int_equal(mi.kind, '^');
	assert_int_equal(mi.token, 12);
	assert_string_equal(mi.name, "done");
	assert_int_equal(json_array_size(json_object_get(mi.results, "stack")), 2);
	frame = json_array_get(json_object_get(mi.results, "stack"), 1);
	assert_string_equal(group_mi_string(frame, "file"), "a \"b\".c");
	assert_null(group_mi_string(frame, "func"));
	group_mi_free(&mi);

	group_mi_read("*stopped,reason=\"breakpoint-hit\",thread-id=\"1\"", &mi);
	assert_int_equal(mi.kind, '*');
	assert_int_equal(mi.token, -1);
	assert_string_equal(group_mi_string(mi.results, "reason"), "breakpoint-hit");
	group_mi_free(&mi);

	group_mi_read("~\"x = \\303\\244\\n\"", &mi);
	assert_int_equal(mi.kind, '~');
	assert_string_equal(mi.text, "x = \303\244\n");
	group_mi_free(&mi);
}

/* Never a crash, and never half of it. */
static void other_lines_are_lines(void **state)
{
	static const char *const bad[] = {"",
					  "(gdb) ",
					  "rank 0: 3",
					  "^done,x={a=\"1\"",
					  "^done,x=\"",
					  "^done,=",
					  "*stopped,x=[",
					  "~\"open",
					  "12",
					  "^done,x={a=\"1\"}}"};
	char deep[1024] = "^done,x=";
	struct group_mi mi;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		group_mi_read(bad[i], &mi);
		assert_int_equal(mi.kind, 0);
		assert_string_equal(mi.text, bad[i]);
		group_mi_free(&mi);
	}
	memset(deep + strlen(deep), '[', sizeof(deep) - strlen(deep) - 1);
	group_mi_read(deep, &mi);
	assert_int_equal(mi.kind, 0);
	group_mi_free(&mi);
}

static void words_are_quoted(void **state)
{
	char *text = group_mi_quoted("a \"b\" \\n\nc");

	(void)state;
	assert_string_equal(text, "\"a \\\"b\\\" \\\\n c\"");
	free(text);
}

/* What it said when it was stopped is no answer to what it is asked while it runs. */
static void who_runs_has_no_old_answer(void **state)
{
	struct group_gdb g = {.state = GROUP_GDB_RUNNING, .class = rp_strdup("done")};

	(void)state;
	g.answer = json_pack("{s:s}", "value", "70");
	assert_false(group_gdb_ask(&g, "-data-evaluate-expression x"));
	assert_null(g.answer);
	assert_string_equal(group_gdb_error(&g), "it runs");
	free(g.said);
}

static pid_t start_child(bool busy)
{
	volatile bool goes_on = true;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!pid && goes_on) {
		if (!busy)
			pause();
	}
	return pid;
}

/* Until it has used so many seconds of processor time more. */
static void await_work(pid_t pid, double seconds)
{
	struct timespec now, nap = {0, 1000000};
	clockid_t clock;
	double end = 0, at;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	do {
		assert_int_equal(clock_gettime(clock, &now), 0);
		at = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
		end = end > 0 ? end : at + seconds;
		nanosleep(&nap, NULL);
	} while (at < end);
}

/* gdb is attached to a process that runs a function for it: both have to do nothing. */
static void who_works_is_not_given_up(void **state)
{
	struct group_gdb g = {.state = GROUP_GDB_STOPPED,
			      .waits = true,
			      .pid = start_child(false),
			      .process = start_child(true)};
	int status;

	(void)state;
	group_gdb_doubt(&g, 0);
	await_work(g.process, 0.05); /* some ticks */
	group_gdb_doubt(&g, 0);
	assert_int_equal(g.state, GROUP_GDB_STOPPED);
	kill(g.process, SIGSTOP);
	assert_int_equal(waitpid(g.process, &status, WUNTRACED), g.process);
	group_gdb_doubt(&g, 0);
	group_gdb_doubt(&g, 0);
	assert_int_equal(g.state, GROUP_GDB_GONE);
	assert_false(g.waits);
	free(g.gone);
	kill(g.process, SIGKILL);
	waitpid(g.process, &status, 0);
	kill(g.pid, SIGKILL);
	waitpid(g.pid, &status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_read_and_written),
		cmocka_unit_test(other_texts_are_no_sets),
		cmocka_unit_test(results_become_json),
		cmocka_unit_test(other_lines_are_lines),
		cmocka_unit_test(words_are_quoted),
		cmocka_unit_test(who_runs_has_no_old_answer),
		cmocka_unit_test(who_works_is_not_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
