/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: keeps senders near their receivers. A recorded run took messages as they came; a replay
 * takes them in the recorded order, and a sender that runs far ahead would fill the receiver's
 * queue with messages that every search has to walk past. So a sender that is ahead by more than
 * some messages steps aside for a moment. It never waits for long, because a program may receive
 * messages in another order than they were sent.
 */
#ifndef HOOK_CREDIT_H
#define HOOK_CREDIT_H

#include "hook/mpi/call/mpi.h"

/* Counts are kept for MPI_COMM_WORLD, among ranks on the front's host. */
void hook_credit_open(int world);
/* Nothing is counted any more. */
void hook_credit_close(void);
void hook_credit_sending(struct hook_thread *t, int dest, MPI_Comm comm);
void hook_credit_received(int source, MPI_Comm comm);

/*
 * Has the sender sent something that is not received yet? Only known where ranks yield
 * (hook/mpi/replay/yield.h), and it may be under another tag: a hint that waiting will be short.
 */
bool hook_credit_is_sent(int source, MPI_Comm comm);

/* A message came from an unknown sender: from now on nobody steps aside for us. */
void hook_credit_lost(MPI_Comm comm);

#endif
