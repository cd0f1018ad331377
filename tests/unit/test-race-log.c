/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's log when it is full: threads still get their names, and nobody gets another's. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hook/race/runtime.h"
#include "race/inner.h"
#include "race/log.h"

/* What other files of the runtime have. */
__thread struct race_thread *runtime_self;
bool runtime_depends;

static const struct race_log *log_of(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, RACE_LOG_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	assert_true(fd >= 0 && at != MAP_FAILED);
	close(fd);
	return at;
}

static struct race_found found_at(uint64_t address, uint32_t before, uint32_t now)
{
	return (struct race_found){.address = address,
				   .bytes = 1,
				   .before = {.slot = before, .clock = 1, .write = true},
				   .now = {.slot = now, .clock = 1, .write = true}};
}

static void test_full(void **state)
{
	char directory[] = "/tmp/reprise-race-log.XXXXXX";
	struct race_thread *first, *second;
	struct race_found f;
	const struct race_log *log;
	uint32_t count, dropped;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(runtime_log_open(AT_FDCWD, "log"), 0);
	assert_int_equal(race_start(runtime_log_race), 0);
	log = log_of("log");
	first = runtime_self = race_thread_first();
	runtime_log_thread(first, "0");
	second = race_thread_fork(first);
	f = found_at(0x1000, 0, race_thread_slot(second));

	/* All that is not for names. */
	while (runtime_log_new())
		;
	assert_int_equal(log->count, RACE_LOG_ENTRIES - RACE_LOG_NAMES);
	runtime_log_thread(second, "0.1");
	assert_int_equal(log->entry[log->count - 1].kind, RACE_LOG_THREAD);
	dropped = log->dropped;
	runtime_log_race(&f);
	assert_int_equal(log->dropped, dropped + 1);

	/* The names, too. */
	count = log->count;
	while (log->count < RACE_LOG_ENTRIES)
		runtime_log_thread(second, "0.2");
	assert_int_equal(log->count - count, RACE_LOG_NAMES - 1);
	dropped = log->dropped;
	runtime_log_thread(second, "0.3");
	f.address += 64;
	runtime_log_race(&f);
	assert_int_equal(log->dropped, dropped + 2);
	unlink("log");
	assert_int_equal(chdir("/"), 0);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
