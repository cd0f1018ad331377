/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators that come up while a rank is alone. Each is one of this rank only to MPI, so that
 * attributes, names and error handlers work; who its members are comes from the log.
 */
#include <string.h>
#include <sys/mman.h>

#include "hook/kit/pages.h"
#include "hook/mpi/recover/recover.h"

#define HEAD 4 /* size, rank, remote, topology */

static struct hook_table table = {.bytes = sizeof(struct recover_comm),
				  .clear = sizeof(struct recover_comm)};
static struct hook_lock locked;
static MPI_Comm blank; /* what new ones are made of */

const struct recover_comm *recover_comm(MPI_Comm handle)
{
	const struct recover_comm *c;

	hook_mpi_lock(&locked);
	c = hook_table_find(&table, (uint64_t)(uintptr_t)handle);
	hook_mpi_unlock(&locked);
	return c;
}

int recover_world_rank(MPI_Comm comm, int peer)
{
	const struct recover_comm *c = recover_comm(comm);

	if (peer < 0)
		return -1;
	if (!c)
		return comm == MPI_COMM_WORLD  ? peer
		       : comm == MPI_COMM_SELF ? (int)hook_process.rank
					       : -1;
	if (peer >= (c->remote ? c->remote : c->size))
		return -1;
	return c->number[c->remote ? c->size + peer : peer];
}

static struct recover_comm *add(MPI_Comm handle, int numbers)
{
	struct recover_comm *c;

	hook_mpi_lock(&locked);
	c = hook_mpi_entry(&table, (uint64_t)(uintptr_t)handle, "communicators");
	c->numbers = numbers;
	c->number = hook_pages((size_t)(numbers + 1) * sizeof(*c->number));
	if (!c->number)
		hook_failed(hook_self, "out of memory for communicators");
	hook_mpi_unlock(&locked);
	return c;
}

static void forget(MPI_Comm handle)
{
	struct recover_comm *c;

	hook_mpi_lock(&locked);
	c = hook_table_find(&table, (uint64_t)(uintptr_t)handle);
	if (c) {
		hook_table_remove(&table, c);
		munmap(c->number, (size_t)(c->numbers + 1) * sizeof(*c->number));
		hook_table_free(&table, c);
	}
	hook_mpi_unlock(&locked);
}

/* A record must be about as many numbers as it says. */
static bool makes_sense(const int32_t *head, int numbers)
{
	int64_t left = (int64_t)numbers - HEAD - head[0] - head[2];
	const int32_t *topology = head + HEAD + head[0] + head[2];

	if (head[0] <= 0 || head[1] < 0 || head[1] >= head[0] || head[2] < 0 || left < 0)
		return false;
	if (head[3] == MPI_CART)
		return left >= 1 && topology[0] >= 0 && left == 1 + 3 * (int64_t)topology[0];
	if (head[3] == MPI_GRAPH)
		return left >= 2 && topology[0] >= 0 && topology[1] >= 0 &&
		       left == 2 + (int64_t)topology[0] + topology[1];
	if (head[3] == MPI_DIST_GRAPH)
		return left >= 3 && topology[0] >= 0 && topology[1] >= 0 &&
		       left == 3 + 2 * ((int64_t)topology[0] + topology[1]);
	return left == 0;
}

static void inherit(MPI_Comm parent, MPI_Comm created)
{
	MPI_Errhandler handler;

	if (hook_mpi_real.Comm_get_errhandler(parent, &handler) != MPI_SUCCESS)
		return;
	hook_mpi_real.Comm_set_errhandler(created, handler);
	hook_mpi_real.Errhandler_free(&handler);
}

/* By a constructor that all of the parent call, or only the members. */
static void make(struct hook_log *log, MPI_Comm parent, MPI_Comm *created)
{
	struct trace_log_rec rec = hook_log_take(log, TRACE_LOG_COMM);
	int numbers = (int)(rec.bytes / sizeof(int32_t));
	struct recover_comm *c;
	int32_t head[HEAD];

	*created = MPI_COMM_NULL;
	if (!rec.bytes)
		return;
	if (rec.bytes > INT32_MAX || numbers < HEAD)
		hook_failed(hook_self, "the log makes no sense here");
	log->inside++;
	hook_mpi_real.Comm_dup(blank, created);
	inherit(parent, *created);
	log->inside--;
	c = add(*created, numbers);
	memcpy(c->number, rec.data, (size_t)numbers * sizeof(int32_t));
	if (!makes_sense(c->number, numbers))
		hook_failed(hook_self, "the log makes no sense here");
	memcpy(head, c->number, sizeof(head));
	memmove(c->number, c->number + HEAD, (size_t)(numbers - HEAD) * sizeof(int32_t));
	c->size = head[0];
	c->rank = head[1];
	c->remote = head[2];
	c->kind = head[3];
}

/* MPI_COMM_WORLD and MPI_COMM_SELF have no numbers here. */
static struct recover_comm *copy_members(MPI_Comm parent, MPI_Comm created)
{
	const struct recover_comm *p = recover_comm(parent);
	int size = 1, rank = 0;
	struct recover_comm *c;

	if (p) {
		c = add(created, p->numbers);
		c->size = p->size;
		c->rank = p->rank;
		c->remote = p->remote;
		c->kind = p->kind;
		memcpy(c->number, p->number, (size_t)p->numbers * sizeof(*c->number));
		return c;
	}
	hook_mpi_real.Comm_size(parent, &size);
	hook_mpi_real.Comm_rank(parent, &rank);
	c = add(created, size);
	c->size = size;
	c->rank = rank;
	c->kind = MPI_UNDEFINED;
	for (int i = 0; i < size; i++)
		c->number[i] = parent == MPI_COMM_SELF ? (int32_t)hook_process.rank : i;
	return c;
}

/* With attributes: MPI calls what the program has for that. */
static int copy(struct hook_log *log, MPI_Comm parent, MPI_Comm *created)
{
	int rc;

	log->inside++;
	rc = hook_mpi_real.Comm_dup(parent == MPI_COMM_WORLD ? blank : parent, created);
	if (rc == MPI_SUCCESS && parent == MPI_COMM_WORLD) {
		inherit(parent, *created);
		rc = recover_copy_attributes(parent, *created);
		if (rc != MPI_SUCCESS)
			hook_mpi_real.Comm_free(created);
	}
	log->inside--;
	if (rc == MPI_SUCCESS)
		copy_members(parent, *created);
	return rc;
}

#define MAKES(name, parent, created, parameters, arguments)                                        \
	RECOVER_CALL(name, parameters, arguments,                                                  \
		     if (!recover_fails(log, parent, &rc)) make(log, parent, created))
#define COPIES(name, parent, created, parameters, arguments)                                       \
	RECOVER_CALL(name, parameters, arguments,                                                  \
		     if (!recover_fails(log, parent, &rc)) rc = copy(log, parent, created))
#define COPIES_POSTED(name, parent, created, parameters, arguments)                                \
	RECOVER_CALL(                                                                              \
		name, parameters, arguments,                                                       \
		struct hook_result nothing = {.one.type = MPI_DATATYPE_NULL};                      \
		if (!recover_fails(log, parent, &rc)) {                                            \
			rc = copy(log, parent, created);                                           \
			recover_post_result(log, &nothing, parent, request, HOOK_WANT_ACTIVE);     \
		})

HOOK_MPI_MAKES(MAKES)
HOOK_MPI_COPIES(COPIES)
HOOK_MPI_COPIES_POSTED(COPIES_POSTED)

static int recover_Comm_free(MPI_Comm *comm)
{
	struct hook_log *log = recover_self();
	MPI_Comm handle = *comm;
	int rc;

	if (log)
		log->inside++;
	rc = hook_mpi_real.Comm_free(comm);
	if (log)
		log->inside--;
	if (rc == MPI_SUCCESS)
		forget(handle);
	return rc;
}

#define INSTALL(name, parent, created, parameters, arguments) mpi->name = recover_##name;

void recover_install_comms(struct hook_mpi_calls *mpi)
{
	hook_mpi_make_alone(&blank);
	HOOK_MPI_MAKES(INSTALL)
	HOOK_MPI_COPIES(INSTALL)
	HOOK_MPI_COPIES_POSTED(INSTALL)
	mpi->Comm_free = recover_Comm_free;
	mpi->Comm_disconnect = recover_Comm_free;
}
