/* SPDX-License-Identifier: Apache-2.0 */
/* Collective operations of a rank alone. */
#include "hook/mpi/log/collective.h"

#include "hook/mpi/recover/recover.h"

static void give_later(struct hook_log *log, struct hook_result *r, MPI_Comm comm,
		       MPI_Request *request, uint32_t flags)
{
	log->inside++;
	hook_stand_in(request);
	log->inside--;
	hook_want_result(*request, flags, r, comm);
}

#define BLOCKING(name, what, large, parameters, arguments)                                         \
	static int recover_##name parameters                                                       \
	{                                                                                          \
		struct hook_result r = {.wide = large, .one.type = MPI_DATATYPE_NULL};             \
		struct hook_log *log = recover_self();                                             \
		int rc;                                                                            \
                                                                                                   \
		if (!log)                                                                          \
			return hook_mpi_real.name arguments;                                       \
		hook_log_take_error(log, TRACE_LOG_ERROR, &rc);                                    \
		if (rc == MPI_SUCCESS || hook_log_is_truncated(rc)) {                              \
			GIVES_##what;                                                              \
			hook_result_read(log, &r);                                                 \
		}                                                                                  \
		return rc == MPI_SUCCESS ? rc : recover_raise(log, comm, rc);                      \
	}
#define LATER(name, what, large, parameters, arguments, flags)                                     \
	static int recover_##name parameters                                                       \
	{                                                                                          \
		struct hook_result r = {.wide = large, .one.type = MPI_DATATYPE_NULL};             \
		struct hook_log *log = recover_self();                                             \
		int rc;                                                                            \
                                                                                                   \
		if (!log)                                                                          \
			return hook_mpi_real.name arguments;                                       \
		if (recover_fails(log, comm, &rc))                                                 \
			return rc;                                                                 \
		GIVES_##what;                                                                      \
		give_later(log, &r, comm, request, flags);                                         \
		return rc;                                                                         \
	}
#define POSTED(name, what, large, parameters, arguments)                                           \
	LATER(name, what, large, parameters, arguments, HOOK_WANT_ACTIVE)
#define PREPARED(name, what, large, parameters, arguments)                                         \
	LATER(name, what, large, parameters, arguments, HOOK_WANT_PERSISTENT)

HOOK_MPI_BLOCKING_GIVES(BLOCKING)
HOOK_MPI_POSTED_GIVES(POSTED)
HOOK_MPI_PREPARED_GIVES(PREPARED)

#define INSTALL(name, what, large, parameters, arguments) mpi->name = recover_##name;

void recover_install_collectives(struct hook_mpi_calls *mpi)
{
	HOOK_MPI_BLOCKING_GIVES(INSTALL)
	HOOK_MPI_POSTED_GIVES(INSTALL)
	HOOK_MPI_PREPARED_GIVES(INSTALL)
}
