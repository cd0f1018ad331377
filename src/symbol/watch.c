/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/watch.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int symbol_watch_open(int tid, uint64_t address)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long),
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

bool symbol_watch_read(int fd, uint64_t *times, double *seconds)
{
	struct {
		uint64_t times, enabled, running;
	} found;

	if (read(fd, &found, sizeof(found)) != sizeof(found) || found.enabled != found.running)
		return false;
	*times = found.times;
	*seconds = (double)found.running / 1e9;
	return true;
}
