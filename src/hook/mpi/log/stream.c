/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's log: written in a replay with all ranks, read where the rank is alone. */
#include "hook/mpi/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hook/common/process.h"
#include "hook/image/image.h"
#include "hook/kit/pages.h"

#define HEAD_MOST 64 /* bytes of a record before its contents */

bool hook_log_refused;

void hook_log_fail(const char *what, const char *why)
{
	hook_failed_by(hook_self, what, "", why);
}

int hook_log_directory(void)
{
	static int rank_fd = -1;
	char path[1100];
	int fd = __atomic_load_n(&rank_fd, __ATOMIC_ACQUIRE);

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/log/rank-%04u", hook_process.session, hook_process.rank);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		hook_log_fail("the directory of the log: ", strerror(errno));
	fd = hook_high_fd(fd);
	__atomic_store_n(&rank_fd, fd, __ATOMIC_RELEASE);
	return fd;
}

static void advance(struct hook_log *log)
{
	int rc = trace_log_next(&log->reader, &log->next);

	if (rc < 0)
		hook_log_fail("the log makes no sense here", "");
	log->more = rc == 1;
	if (log->more && log->next.kind == TRACE_LOG_FREED && log->next.event == log->event) {
		hook_orphan_read(&log->next);
		advance(log);
	}
}

static void open_log(struct hook_log *log, struct hook_thread *t)
{
	char name[TRACE_NAME_BYTES + 16];
	const char *why = "";
	int rc;

	hook_stream_name(t, "log", name, sizeof(name));
	log->opened = true;
	if (!hook_process.replay.recover) {
		rc = trace_log_create(&log->writer, hook_log_directory(), name, hook_process.rank,
				      hook_process.process, t->name);
		if (rc)
			hook_log_fail("cannot write the log: ", strerror(-rc));
		return;
	}
	rc = trace_log_open(&log->reader, hook_log_directory(), name, &why);
	if (rc && rc != -ENOENT) {
		strncat(name, " ", sizeof(name) - strlen(name) - 1);
		hook_log_fail(name, why);
	}
	if (!rc)
		advance(log);
}

struct hook_log *hook_log_self(void)
{
	struct hook_thread *t = hook_self;
	struct hook_log *log;

	if (!t || !t->opened || hook_log_refused)
		return NULL;
	log = t->replay.log;
	if (__builtin_expect(!log, 0)) {
		log = t->replay.log = hook_pages(sizeof(*log));
		if (!log)
			hook_log_fail("out of memory for the log", "");
	}
	if (log->inside)
		return NULL;
	if (__builtin_expect(!log->opened, 0))
		open_log(log, t);
	if (log->event != t->replay.events) {
		log->event = t->replay.events;
		log->answers = 0;
		if (log->more && log->next.kind == TRACE_LOG_FREED &&
		    log->next.event == log->event) {
			hook_orphan_read(&log->next);
			advance(log);
		}
	}
	return log;
}

uint32_t hook_log_answer(struct hook_log *log)
{
	return log->answers++;
}

/* What the rank may still write, if that is limited; no thread writes once one could not. */
static uint64_t left;
static bool limited, over;

void hook_log_limit(void)
{
	left = hook_image_wanted("log=");
	limited = left != 0;
}

static bool has_room(uint64_t bytes)
{
	uint64_t now = __atomic_load_n(&left, __ATOMIC_RELAXED);

	if (!limited)
		return true;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE) && bytes <= now) {
		if (__atomic_compare_exchange_n(&left, &now, now - bytes, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	return false;
}

static void end_here(struct hook_log *log)
{
	int fd = openat(hook_log_directory(), "ended", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			0600);
	char line[TRACE_NAME_BYTES + 32];
	int n = snprintf(line, sizeof(line), "%s %llu\n", hook_self->name,
			 (unsigned long long)log->event);

	log->ended = true;
	if (fd < 0 || hook_write(fd, line, (size_t)n) != n)
		hook_log_fail("cannot write the log: ", strerror(errno));
	close(fd);
}

void hook_log_put(struct hook_log *log, struct trace_log_rec *rec)
{
	int rc;

	rec->event = log->event;
	if (!log->ended && !has_room(HEAD_MOST + rec->bytes))
		end_here(log);
	if (log->ended)
		return;
	rc = trace_log_put(&log->writer, rec);
	if (rc)
		hook_log_fail("cannot write the log: ", strerror(-rc));
}

void hook_log_contents(struct hook_log *log, const void *bytes, size_t n)
{
	int rc = log->ended ? 0 : trace_log_contents(&log->writer, bytes, n);

	if (rc)
		hook_log_fail("cannot write the log: ", strerror(-rc));
}

void hook_log_error(struct hook_log *log, int rc)
{
	struct trace_log_rec rec = {.kind = TRACE_LOG_ERROR, .error = rc};

	rec.index = hook_log_answer(log);
	if (rc != MPI_SUCCESS)
		hook_log_put(log, &rec);
}

void hook_log_refuse(const char *what)
{
	int fd;

	if (hook_log_refused)
		return;
	hook_log_refused = true;
	fd = openat(hook_log_directory(), "refused", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		hook_log_fail("cannot write the log: ", strerror(errno));
	if (hook_write(fd, what, strlen(what)) != (ssize_t)strlen(what))
		hook_log_fail("cannot write the log: ", strerror(errno));
	close(fd);
}

struct trace_log_rec hook_log_take(struct hook_log *log, uint32_t kind)
{
	struct trace_log_rec rec = log->next;

	if (!log->more)
		hook_log_fail("the log of what this rank receives ends here", "");
	if (rec.kind != kind || rec.event != log->event)
		hook_log_fail("the log of what this rank receives has something else here", "");
	advance(log);
	return rec;
}

bool hook_log_is_error(const struct hook_log *log)
{
	return log->more && log->next.kind == TRACE_LOG_ERROR && log->next.event == log->event &&
	       log->next.index == log->answers;
}

bool hook_log_take_error(struct hook_log *log, uint32_t kind, int *rc)
{
	uint32_t answer = hook_log_answer(log);

	*rc = MPI_SUCCESS;
	if (!log->more || log->next.kind != kind || log->next.event != log->event ||
	    log->next.index != answer)
		return false;
	*rc = log->next.error;
	log->gone = log->next.gone;
	advance(log);
	return true;
}
