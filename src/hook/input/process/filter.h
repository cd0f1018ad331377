/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of system calls (seccomp). Before the program gets a filter, we try it on the calls that
 * we make ourselves. If it forbids one of them, recording ends here with a message, and the streams
 * stay as they are. Otherwise the filter would end the program for what we do.
 */
#ifndef HOOK_FILTER_H
#define HOOK_FILTER_H

/* The program is about to make this call, which may install one. */
void hook_filter_prctl(int option, unsigned long mode, unsigned long program);
void hook_filter_seccomp(unsigned int operation, unsigned long program);

#endif
