/* SPDX-License-Identifier: Apache-2.0 */
/* Signals have numbers of their own in the remote protocol. */
#ifndef REMOTE_SIGNALS_H
#define REMOTE_SIGNALS_H

int remote_signal_to_gdb(int signal);
/* 0: there is no such signal here. */
int remote_signal_from_gdb(int number);

#endif
