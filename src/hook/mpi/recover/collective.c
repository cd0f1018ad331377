/* SPDX-License-Identifier: Apache-2.0 */
/* Collective operations of a rank alone. */
#include "hook/mpi/log/collective.h"

#include "hook/mpi/recover/recover.h"

void recover_post_result(struct hook_log *log, struct hook_result *r, MPI_Comm comm,
			 MPI_Request *request, uint32_t flags)
{
	recover_post(log, request);
	hook_want_result(*request, flags, r, comm);
}

#define BLOCKING(name, what, large, parameters, arguments)                                         \
	RECOVER_CALL(                                                                              \
		name, parameters, arguments,                                                       \
		struct hook_result r = {.wide = large, .one.type = MPI_DATATYPE_NULL};             \
		hook_log_take_error(log, TRACE_LOG_ERROR, &rc);                                    \
		if (rc == MPI_SUCCESS || hook_mpi_class(rc) == MPI_ERR_TRUNCATE) {                 \
			GIVES_##what;                                                              \
			hook_result_read(log, &r);                                                 \
		} if (rc != MPI_SUCCESS) recover_raise(log, comm, rc))
#define LATER(name, what, large, parameters, arguments, flags)                                     \
	RECOVER_CALL(                                                                              \
		name, parameters, arguments,                                                       \
		struct hook_result r = {.wide = large, .one.type = MPI_DATATYPE_NULL};             \
		if (!recover_fails(log, comm, &rc)) {                                              \
			GIVES_##what;                                                              \
			recover_post_result(log, &r, comm, request, flags);                        \
		})
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
