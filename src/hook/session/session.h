/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the processes of a run share: claims, and in replay the session directory. */
#ifndef HOOK_SESSION_H
#define HOOK_SESSION_H

#include "hook/common/hook.h"
#include "hook/kit/text.h"
#include "replay/session.h"

/* 0 if process number k of this rank is ours now, the holder's pid if it is taken, or -errno. */
int hook_session_claim(uint32_t k);

/* This rank's slot; a dummy if the state file cannot be mapped. */
extern struct replay_slot *hook_slot;
void hook_session_map(void);

/* Another rank's slot; the dummy if there is none. */
const struct replay_slot *hook_session_slot(uint32_t rank);

/* Counts a message in that rank's slot, or one that was received in ours. */
void hook_session_message_to(uint32_t rank, const struct replay_want *message);
void hook_session_message_taken(const struct replay_want *message);

/*
 * Waits for all ranks to come to the meeting of that number, which each has once; calls `meanwhile`
 * if it is not NULL. False if they did not come in time: then no other meets any more.
 */
#define HOOK_SESSION_WRITTEN 2 /* the last one */
bool hook_session_meet(int number, void (*meanwhile)(void));

/* Has anybody given up a meeting? He has told so before he went on; and tells so. */
bool hook_session_has_parted(void);
void hook_session_part(void);

/* Is this the host of the front? Only there is shared memory shared. */
bool hook_session_is_local(void);

/* Does a debugger hold a rank of the session, on this host? */
bool hook_session_is_held(void);

/*
 * How many of the other ranks have not come to their end: those outside of a call, and those within
 * one. What the ranks have done comes back, as one number that changes.
 */
uint64_t hook_session_behind(uint32_t *running, uint32_t *within);

/*
 * Naps for 2 ms in a wait for what other ranks do. How many naps count by then: none while one of
 * them is held.
 */
int hook_session_nap(int naps);

/* Faults for tests: time passes between the last word and the state that says so; */
extern bool hook_session_is_slow;
/* who was cut off within a call says no last word. */
extern bool hook_session_is_mute;

/* Writes S/end-NNNN, once; `frames` return addresses become "where" lines. */
void hook_session_last_word(const struct hook_thread *t, const char *why, const char *call,
			    int64_t value, const char *text, void *const *frames, int count);

/* Writes such a file of the rank, once: in this call the program gave something else to be written.
 */
#define HOOK_SESSION_FRAMES 48
void hook_session_gave(const struct hook_thread *t, const char *file, const char *call,
		       const char *text, void *const *frames, int count);

/* "module+0xoffset" of an address, if it lies in a file. */
void hook_session_place(const void *address, struct hook_text *out);

/* True when the front has seen the last word of every rank, and lets them die as they did. */
bool hook_session_is_released(void);

/* The same, or a debugger wants to see this one die. */
bool hook_session_all_ended(void);

#endif
