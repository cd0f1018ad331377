/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command and stays invisible: signals and the exit status pass through. */
#ifndef LAUNCH_FRONT_H
#define LAUNCH_FRONT_H

#include <stdbool.h>
#include <sys/types.h>

struct launch_ended {
	bool signaled;
	int status; /* exit status, or the signal */
	double seconds;
};

/* The exit code a shell would show. */
int launch_ended_code(const struct launch_ended *ended);

/*
 * Runs `child(data)` in a new process, which execs or returns its exit code, and waits for it.
 * 0 or -errno. Signals other processes send to us are passed on; those of the terminal reach the
 * child by themselves.
 */
int launch_front_run(int (*child)(void *data), void *data, struct launch_ended *ended)
	__attribute__((warn_unused_result));

/* The same in steps, for callers that have more to do meanwhile. */
pid_t launch_front_start(int (*child)(void *data), void *data);
void launch_front_ended(pid_t pid, int wait_status, struct launch_ended *ended);

/* The child is reaped, or somebody else's from now on: signals are passed on to it no more. */
void launch_front_forget(pid_t pid);

/* The last signal that came to us since the child was started, the terminal's included; or 0. */
int launch_front_signal(void);

/*
 * A fork for helpers of ours, which execs, forks or exits at once: a debugger that follows the
 * children of this process goes on to the program.
 */
pid_t launch_front_fork_aside(void);

/* A child function: execs the argv that data points to. */
int launch_front_exec(void *argv);

#endif
