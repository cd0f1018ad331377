/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/signals.h"

#include <signal.h>
#include <stddef.h>

static const struct {
	int here, there;
} pairs[] = {
	{SIGHUP, 1},     {SIGINT, 2},   {SIGQUIT, 3},   {SIGILL, 4},   {SIGTRAP, 5},  {SIGABRT, 6},
	{SIGFPE, 8},     {SIGKILL, 9},  {SIGBUS, 10},   {SIGSEGV, 11}, {SIGSYS, 12},  {SIGPIPE, 13},
	{SIGALRM, 14},   {SIGTERM, 15}, {SIGURG, 16},   {SIGSTOP, 17}, {SIGTSTP, 18}, {SIGCONT, 19},
	{SIGCHLD, 20},   {SIGTTIN, 21}, {SIGTTOU, 22},  {SIGIO, 23},   {SIGXCPU, 24}, {SIGXFSZ, 25},
	{SIGVTALRM, 26}, {SIGPROF, 27}, {SIGWINCH, 28}, {SIGUSR1, 30}, {SIGUSR2, 31}, {SIGPWR, 32},
	{32, 77},        {64, 78},
};

#define REALTIME 33 /* up to 63 they lie side by side */
#define REALTIME_THERE 45

int remote_signal_to_gdb(int signal)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i].here == signal)
			return pairs[i].there;
	}
	if (!signal)
		return 0;
	return signal >= REALTIME && signal < 64 ? signal - REALTIME + REALTIME_THERE : 143;
}

int remote_signal_from_gdb(int number)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i].there == number)
			return pairs[i].here;
	}
	if (number >= REALTIME_THERE && number < REALTIME_THERE + 64 - REALTIME)
		return number - REALTIME_THERE + REALTIME;
	return 0;
}
