/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependences as the ranks have found them become what a thread has to wait for: they are sorted by
 * the thread that waits, and threads have names instead of slots, since these are given away as it
 * comes.
 */
#include "replay/memory-order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "launch/program.h"
#include "replay/pass.h"
#include "trace/memory.h"

/* A thread of the log: what it had as its first number, and who had its slot before; 0: nobody. */
struct thread {
	uint32_t first, before;
};

struct order {
	struct trace_memory head;
	struct trace_memory_thread *kept;
	struct thread *thread;
	uint32_t in_slot[RACE_MOST_THREADS]; /* who had it last, and 1; 0: nobody */
	struct trace_memory_wait *wait;
	uint32_t *waiter; /* which thread waits, for each */
};

static char *file_name(const char *what, unsigned rank, unsigned process)
{
	return rp_format("%s-%04u-%u", what, rank, process);
}

/* A plain file, mapped; NULL: there is none. */
static const void *map_file(int dir, const char *name, size_t *bytes)
{
	int fd = rp_fd_open_file(dir, name);
	void *at = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
		*bytes = (size_t)st.st_size;
		at = mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* --- made --- */

static void read_threads(struct order *o, const struct race_log *log)
{
	uint32_t n = 0;

	o->kept = rp_alloc(log->count + 1, sizeof(*o->kept));
	o->thread = rp_alloc(log->count + 1, sizeof(*o->thread));
	for (uint32_t i = 0; i < log->count; i++) {
		const struct race_log_entry *e = &log->entry[i];

		if (e->kind != RACE_LOG_THREAD || e->side[0].slot >= RACE_MOST_THREADS)
			continue;
		o->thread[n] = (struct thread){e->side[0].clock, o->in_slot[e->side[0].slot]};
		o->in_slot[e->side[0].slot] = n + 1;
		o->kept[n] = (struct trace_memory_thread){
			.last = (uint32_t)e->value - e->side[0].clock, .ended = e->size == 1};
		memcpy(o->kept[n].name, e->text, TRACE_NAME_BYTES - 1);
		n++;
	}
	o->head.threads = n;
}

/* Who had the slot then; UINT32_MAX: nobody. */
static uint32_t thread_at(const struct order *o, uint32_t slot, uint32_t number)
{
	uint32_t found = slot < RACE_MOST_THREADS ? o->in_slot[slot] : 0;

	while (found && o->thread[found - 1].first > number)
		found = o->thread[found - 1].before;
	return found - 1;
}

static int by_number(const void *a, const void *b)
{
	const struct trace_memory_wait *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* One thread after the other; each one's are in order then. False: they make no sense. */
static bool sort_waits(struct order *o, const struct race_depends *raw)
{
	uint64_t *next = rp_alloc(o->head.threads + 1ul, sizeof(*next));

	o->wait = rp_alloc(raw->count + 1, sizeof(*o->wait));
	o->waiter = rp_alloc(raw->count + 1, sizeof(*o->waiter));
	for (uint64_t i = 0; i < raw->count; i++) {
		o->waiter[i] = thread_at(o, raw->one[i].to_slot, raw->one[i].to);
		if (o->waiter[i] == UINT32_MAX) {
			free(next);
			return false;
		}
		o->kept[o->waiter[i]].waits++;
	}
	for (uint32_t t = 0; t + 1 < o->head.threads; t++)
		o->kept[t + 1].first = o->kept[t].first + o->kept[t].waits;
	for (uint64_t i = 0; i < raw->count; i++) {
		const struct race_depends_one *one = &raw->one[i];
		uint32_t to = o->waiter[i], from = thread_at(o, one->from_slot, one->from);

		if (from == UINT32_MAX)
			break;
		o->wait[o->kept[to].first + next[to]++] =
			(struct trace_memory_wait){.number = one->to - o->thread[to].first,
						   .thread = from,
						   .until = one->from - o->thread[from].first,
						   .address = one->address};
		o->head.waits++;
	}
	for (uint32_t t = 0; t < o->head.threads; t++)
		qsort(o->wait + o->kept[t].first, next[t], sizeof(*o->wait), by_number);
	free(next);
	return o->head.waits == raw->count;
}

static bool write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		at += done;
		n -= (size_t)done;
	}
	return true;
}

static int write_order(const struct replay_front *f, const char *name, struct order *o)
{
	char *path = rp_format(TRACE_MEMORY "/%s", name);
	size_t threads = o->head.threads * sizeof(*o->kept);
	size_t waits = o->head.waits * sizeof(*o->wait);
	XXH3_state_t *state = XXH3_createState();
	int fd = openat(f->session_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : 0;

	o->head.magic = TRACE_MEMORY_MAGIC;
	o->head.version = TRACE_MEMORY_VERSION;
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, o->kept, threads);
	XXH3_64bits_update(state, o->wait, waits);
	o->head.check = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	errno = ENOSPC;
	if (!rc && (!write_all(fd, &o->head, sizeof(o->head)) || !write_all(fd, o->kept, threads) ||
		    !write_all(fd, o->wait, waits)))
		rc = -errno;
	if (fd >= 0 && close(fd) != 0 && !rc)
		rc = -errno;
	free(path);
	return rc;
}

/* 0, -errno, or 1 if not all of it is known. */
static int keep_one(const struct replay_front *f, const struct replay_race_log *log)
{
	char *from = file_name("depends", log->rank, log->process);
	char *to = file_name("order", log->rank, log->process);
	size_t bytes = 0;
	const struct race_depends *raw = map_file(f->session_fd, from, &bytes);
	struct order o = {0};
	int rc = 1;

	if (raw && bytes >= sizeof(*raw) && !raw->lost && !log->log->dropped &&
	    raw->count <= (bytes - sizeof(*raw)) / sizeof(raw->one[0])) {
		read_threads(&o, log->log);
		if (sort_waits(&o, raw))
			rc = write_order(f, to, &o);
	}
	if (raw)
		munmap((void *)raw, bytes);
	free(o.kept);
	free(o.thread);
	free(o.wait);
	free(o.waiter);
	free(from);
	free(to);
	return rc;
}

int replay_memory_order_keep(const struct replay_front *f, const struct replay_race_logs *logs)
{
	int rc = mkdirat(f->session_fd, TRACE_MEMORY, 0700) == 0 ? 0 : -errno;
	char id[LAUNCH_BUILD_ID_BYTES], *text;

	for (size_t i = 0; i < logs->count && !rc; i++)
		rc = keep_one(f, &logs->log[i]);
	if (!rc)
		rc = launch_build_id(f->twin, id);
	if (rc)
		return rc;
	text = rp_format("memory 1 check %" PRIx64 " twin %s\n", replay_pass_check(f->run), id);
	rc = replay_pass_write(f->session_fd, TRACE_MEMORY "/evaluation", text);
	free(text);
	return rc ? rc : replay_pass_publish(f, TRACE_MEMORY);
}

/* --- used --- */

bool replay_memory_order_is_kept(const struct trace_run *run, const char *twin)
{
	char *text = replay_pass_read(run->dir.fd, TRACE_MEMORY "/evaluation");
	char id[LAUNCH_BUILD_ID_BYTES], had[LAUNCH_BUILD_ID_BYTES];
	uint64_t check = 0;
	bool found = text &&
		     sscanf(text, "memory 1 check %" SCNx64 " twin %128s", &check, had) == 2 &&
		     check == replay_pass_check(run) && launch_build_id(twin, id) == 0 &&
		     strcmp(had, id) == 0;

	free(text);
	return found;
}

static bool is_whole(const struct trace_memory *m, size_t bytes)
{
	return bytes >= sizeof(*m) && m->magic == TRACE_MEMORY_MAGIC &&
	       m->version == TRACE_MEMORY_VERSION &&
	       m->waits <= bytes / sizeof(struct trace_memory_wait) &&
	       trace_memory_bytes(m) == bytes && XXH3_64bits(m + 1, bytes - sizeof(*m)) == m->check;
}

/* 1, 0: there is none, or -errno. */
static int tell_one(const struct replay_front *f, unsigned rank, unsigned process)
{
	char *name = file_name("order", rank, process);
	char *inner = rp_format(TRACE_MEMORY "/%s", name);
	char *path = rp_format("%s/%s", f->run->dir.path, inner);
	size_t bytes = 0;
	const struct trace_memory *m = map_file(f->run->dir.fd, inner, &bytes);
	int rc = 0;

	if (m) {
		rc = is_whole(m, bytes) ? 1 : -EBADMSG;
		munmap((void *)m, bytes);
	}
	if (rc > 0 && symlinkat(path, f->session_fd, name) != 0)
		rc = -errno;
	free(name);
	free(inner);
	free(path);
	return rc;
}

int replay_memory_order_tell(const struct replay_front *f)
{
	int rc = replay_pass_write(f->session_fd, "races", "");

	for (size_t i = 0; i < f->ranks && rc >= 0; i++) {
		const struct trace_run_rank *rank = &f->run->rank[i];

		for (size_t k = 0; k < rank->streams && rc >= 0; k++) {
			if (trace_run_is_of_process(&rank->stream[k]))
				rc = tell_one(f, rank->rank, rank->stream[k].process);
		}
	}
	if (rc >= 0)
		return 0;
	if (rc == -EBADMSG)
		rp_say("%s/" TRACE_MEMORY " is damaged; 'reprise evaluate --memory' makes it again",
		       f->run->dir.show);
	else
		rp_say("cannot tell the ranks in which order memory was used: %s", strerror(-rc));
	return rc == -EBADMSG ? RP_EXIT_BAD_INPUT : RP_EXIT_FAILURE;
}
