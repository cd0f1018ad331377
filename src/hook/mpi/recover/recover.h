/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: a rank alone. The replay above is the same as with all ranks; below it this layer
 * answers from the log (hook/mpi/log/), and no call that would communicate reaches MPI. What MPI
 * can do by itself it does: types, groups, packing, attributes, error handlers.
 * recover.c: messages. complete.c: requests. collective.c. comm.c: communicators that come up;
 * topology.c: what is asked about them; attributes.c: what is attached to them.
 */
#ifndef HOOK_MPI_RECOVER_H
#define HOOK_MPI_RECOVER_H

#include "hook/mpi/log/log.h"

/*
 * The log of the calling thread, NULL where a call comes from inside MPI. The call that the
 * recording never saw return ends here.
 */
struct hook_log *recover_self(void);

/* A call of this layer; the statements set rc. */
#define RECOVER_CALL(name, parameters, arguments, ...)                                             \
	static int recover_##name parameters                                                       \
	{                                                                                          \
		struct hook_log *log = recover_self();                                             \
		int rc;                                                                            \
                                                                                                   \
		if (!log)                                                                          \
			return hook_mpi_real.name arguments;                                       \
		__VA_ARGS__;                                                                       \
		return rc;                                                                         \
	}

/* A request of a call that begins something; and what it will give. */
void recover_post(struct hook_log *log, MPI_Request *request);
void recover_post_result(struct hook_log *log, struct hook_result *r, MPI_Comm comm,
			 MPI_Request *request, uint32_t flags);

/* True if the call at work failed: *rc, and its error handler has been called. */
bool recover_fails(struct hook_log *log, MPI_Comm comm, int *rc);
int recover_raise(struct hook_log *log, MPI_Comm comm, int rc);

/* status may be MPI_STATUS_IGNORE. */
void recover_status(MPI_Status *status, const struct trace_log_rec *rec);

/* The message to come, into its place; its error. */
int recover_message(struct hook_log *log, const struct hook_block *b, MPI_Status *status);

/* A communicator that MPI does not know as the program does. */
struct recover_comm {
	struct hook_entry entry;
	int size, rank, remote; /* remote: ranks on the other side, if it has one */
	int kind;               /* of its topology, or MPI_UNDEFINED */
	int numbers;
	int32_t *number; /* members: own side, other side; then the topology's numbers */
};

/* Who that is among all ranks; -1: nobody. */
int recover_world_rank(MPI_Comm comm, int peer);

/*
 * live.c. What is sent goes to where its receiver finds it, if the session wants that. And what the
 * log does not have comes from there: that record is the next, and it into its place.
 */
void recover_live_send(struct hook_log *log, const struct hook_block *b, int dest, MPI_Comm comm);
bool recover_live_is_next(const struct hook_log *log);
void recover_live_take(struct hook_log *log, const struct trace_log_rec *rec,
		       const struct hook_block *b);

/* NULL: MPI knows all about it. */
const struct recover_comm *recover_comm(MPI_Comm handle);
/* What its topology has. */
static inline const int32_t *recover_topology(const struct recover_comm *c)
{
	return c->number + c->size + c->remote;
}

/* Of MPI_COMM_WORLD, by the program's functions; their error. */
int recover_copy_attributes(MPI_Comm from, MPI_Comm to);
/* MPI ends: those of MPI_COMM_SELF and MPI_COMM_WORLD. */
void recover_delete_attributes(void);

void recover_install_requests(struct hook_mpi_calls *mpi);
void recover_install_collectives(struct hook_mpi_calls *mpi);
void recover_install_comms(struct hook_mpi_calls *mpi);
void recover_install_attributes(struct hook_mpi_calls *mpi);
void recover_install_topology(struct hook_mpi_calls *mpi);

#endif
