/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a replay prints goes to a pipe whose reader has gone (`reprise replay | head`). Who writes
 * to it is killed, or does something else than recorded: that is not the program's, and no
 * divergence.
 */
#ifndef REPLAY_UNREAD_H
#define REPLAY_UNREAD_H

#include "replay/front.h"

bool replay_unread(const struct replay_front *f);

/* Once. */
void replay_unread_say(void);

/* Reports the divergence, unless it may be none; the exit code. */
int replay_unread_or(const struct replay_front *f, void (*report)(const struct replay_front *f));

#endif
