/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of a thread as gdb numbers them, and the description by which it knows them. */
#ifndef REMOTE_REGISTERS_H
#define REMOTE_REGISTERS_H

#include "remote/process.h"

#define REMOTE_REGISTERS_BYTES 2048

/* An XML document; it has to be freed. */
char *remote_registers_description(void);

/* All of them, one behind the other; how many bytes, or -errno. */
int remote_registers_get(const struct remote_thread *t, uint8_t bytes[REMOTE_REGISTERS_BYTES]);
int remote_registers_set(const struct remote_thread *t, const uint8_t *bytes, size_t n);

/* Where one is among these: its bytes and *at. 0: there is no such register. */
size_t remote_registers_find(unsigned number, size_t *at);

/* Without what stepping and calls of the system leave there. */
void remote_registers_clean(struct user_regs_struct *regs);
/* Do two threads have the same in those of floating point and vectors? In a call into a library
   only its modes are the program's: nobody expects to find the others again. */
bool remote_registers_same_extended(const struct remote_thread *a, const struct remote_thread *b,
				    bool in_call);

#endif
