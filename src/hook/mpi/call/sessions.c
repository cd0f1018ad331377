/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions. The first one begins MPI for us and the last one ends it, unless MPI_Init was called
 * before. What we need ourselves comes from a session of our own, which lives as long as the
 * program's. So the program does not see it in its own. Invariant: `sessions` counts those of the
 * program since MPI was begun by one.
 */
#include "hook/mpi/call/mpi.h"

#include <string.h>

#include "hook/mpi/log/log.h"
#include "hook/thread/evaluate/stacks.h"

bool hook_mpi_sessions;

#ifdef HOOK_FLAVOUR_OPENMPI

void hook_mpi_make_alone(MPI_Comm *created)
{
	hook_mpi_real.Comm_dup(MPI_COMM_SELF, created);
}

#else

static MPI_Session mine;
static uint32_t sessions;

void hook_mpi_make_alone(MPI_Comm *created)
{
	MPI_Group group;

	if (!hook_mpi_sessions) {
		hook_mpi_real.Comm_dup(MPI_COMM_SELF, created);
		return;
	}
	hook_mpi_real.Group_from_session_pset(mine, "mpi://SELF", &group);
	hook_mpi_real.Comm_create_from_group(group, "reprise", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
					     created);
	hook_mpi_real.Group_free(&group);
}

static int world_size(void)
{
	MPI_Group group;
	int size = 1;

	hook_mpi_real.Group_from_session_pset(mine, "mpi://WORLD", &group);
	hook_mpi_real.Group_size(group, &size);
	hook_mpi_real.Group_free(&group);
	return size;
}

/* The level that the session tells; one that does not tell any may be used by threads. */
static int level_of(MPI_Session session)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
		      {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
		      {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED}};
	char value[MPI_MAX_INFO_VAL] = "";
	MPI_Info info;
	int there = 0;

	if (hook_mpi_real.Session_get_info(session, &info) != MPI_SUCCESS)
		return MPI_THREAD_MULTIPLE;
	hook_mpi_real.Info_get(info, "thread_level", sizeof(value) - 1, value, &there);
	hook_mpi_real.Info_free(&info);
	for (size_t i = 0; there && i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (strcmp(value, levels[i].name) == 0)
			return levels[i].level;
	}
	return MPI_THREAD_MULTIPLE;
}

static void begin(struct hook_thread *t, MPI_Session session)
{
	/* What the others log is not lost. */
	if (hook_process.replay.meets && hook_process.replay.evaluate) {
		hook_evaluate_give_up(t);
		hook_process.replay.evaluate = false;
		hook_mpi_mode = &hook_mpi_replay;
	}
	if (hook_process.replay.evaluate || hook_process.explore.on)
		hook_failed(t,
			    "this program uses MPI by sessions: it can be recorded and replayed, "
			    "but 'reprise races', stats, reduce and explore do not work");
	hook_mpi_sessions = true;
	hook_mpi_real.Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &mine);
	hook_mpi_opened(t, world_size(), level_of(session));
}

HOOK_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
	static bool before;
	struct hook_thread *t;
	int rc;

	if (!hook_process.mpi_open && !hook_mpi_begins(CALL_Session_init))
		return hook_mpi_real.Session_init(info, errhandler, session);
	if (hook_depth)
		return hook_mpi_real.Session_init(info, errhandler, session);
	t = hook_mpi_enter(CALL_Session_init, __builtin_return_address(0));
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	if (before && !hook_process.mpi_open)
		hook_mpi_mode->refuse(t);
	if (hook_process.mpi_open && hook_process.replay.checkpoint)
		hook_log_refuse("sessions of MPI");
	rc = hook_mpi_real.Session_init(info, errhandler, session);
	if (rc == MPI_SUCCESS && !hook_process.mpi_open && !before) {
		before = true;
		begin(t, *session);
	}
	sessions += rc == MPI_SUCCESS;
	hook_mpi_end(t);
	hook_mpi_leave(t);
	return rc;
}

HOOK_EXPORT int MPI_Session_finalize(MPI_Session *session)
{
	struct hook_thread *t;
	bool last;
	int rc;

	if (hook_depth)
		return hook_mpi_real.Session_finalize(session);
	t = hook_mpi_enter(CALL_Session_finalize, __builtin_return_address(0));
	hook_mpi_begin(t, HOOK_NO_PEER, HOOK_NO_TAG, 0);
	last = sessions && --sessions == 0 && hook_mpi_sessions;
	if (last) {
		hook_mpi_closing(t);
		hook_mpi_real.Session_finalize(&mine);
	}
	rc = hook_mpi_real.Session_finalize(session);
	if (last)
		hook_process.mpi_open = false;
	hook_mpi_end(t);
	hook_mpi_leave(t);
	return rc;
}

HOOK_EXPORT int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
	__attribute__((alias("MPI_Session_init")));
HOOK_EXPORT int PMPI_Session_finalize(MPI_Session *session)
	__attribute__((alias("MPI_Session_finalize")));

#endif
