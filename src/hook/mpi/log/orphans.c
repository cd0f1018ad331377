/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives that the program has freed before they had completed. It can learn of what they take
 * only by what others tell it: so they are kept, and looked at before a call returns that may have
 * told it. Invariant: they are numbered in the order in which they were freed, here and there.
 */
#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/mpi/log/log.h"

#define FIRST 64

struct orphan {
	struct hook_block block;
	MPI_Request request;
	uint32_t next; /* that waits for its message, too, counted from 1; 0: none */
};

static struct orphan *orphans;
static uint32_t count, room;
static uint32_t waiting; /* the first that waits, counted from 1 */
static struct hook_lock locked;

static void fit(void)
{
	uint32_t more = room ? 2 * room : FIRST;
	struct orphan *p;

	if (count < room)
		return;
	p = hook_pages_widen(orphans, room * sizeof(*p), more * sizeof(*p));
	if (!p)
		hook_failed(hook_self, "out of memory for open requests");
	orphans = p;
	room = more;
}

void hook_orphan_add(const struct hook_block *b, MPI_Request request)
{
	hook_lock_take(&locked);
	fit();
	orphans[count++] = (struct orphan){*b, request, waiting};
	waiting = count;
	hook_lock_give(&locked);
}

/* One of them has taken its message, or was cancelled by nobody. */
static void write_one(struct hook_log *log, uint32_t i)
{
	struct orphan *o = &orphans[i];
	struct trace_log_rec rec = {.kind = TRACE_LOG_FREED, .index = i};
	struct hook_block part;
	MPI_Count bytes = 0;
	MPI_Status status;

	if (hook_mpi_real.Wait(&o->request, &status) == MPI_SUCCESS)
		hook_mpi_real.Get_elements_x(&status, MPI_BYTE, &bytes);
	part = hook_block_part(&o->block, bytes > 0 ? (uint64_t)bytes : 0);
	rec.bytes = hook_block_bytes(&part);
	hook_log_put(log, &rec);
	hook_block_write(log, &part);
	hook_mpi_real.Type_free(&o->block.type);
}

void hook_orphans_look(struct hook_log *log)
{
	if (__builtin_expect(!waiting, 1))
		return;
	hook_lock_take(&locked);
	log->inside++;
	for (uint32_t *link = &waiting; *link;) {
		struct orphan *o = &orphans[*link - 1];
		int done = 0;

		hook_mpi_real.Request_get_status(o->request, &done, MPI_STATUS_IGNORE);
		if (done) {
			write_one(log, *link - 1);
			*link = o->next;
		} else {
			link = &o->next;
		}
	}
	log->inside--;
	hook_lock_give(&locked);
}

void hook_orphan_read(const struct trace_log_rec *rec)
{
	struct hook_block part;

	hook_lock_take(&locked);
	if (rec->index >= count)
		hook_failed(hook_self, "the log makes no sense here");
	part = orphans[rec->index].block;
	part = hook_block_part(&part, rec->bytes);
	if (hook_block_bytes(&part) != rec->bytes)
		hook_failed(hook_self, "the log has a message that does not fit here");
	hook_block_read(&part, rec->data, rec->bytes);
	hook_mpi_real.Type_free(&orphans[rec->index].block.type);
	hook_lock_give(&locked);
}

void hook_orphans_free(void)
{
	for (; waiting; waiting = orphans[waiting - 1].next)
		hook_mpi_real.Request_free(&orphans[waiting - 1].request);
}
