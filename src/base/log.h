/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the tool to the user (never from inside the user's program): one line on stderr,
 * prefixed "reprise: ". Exit codes are those of the manual page.
 */
#ifndef RP_LOG_H
#define RP_LOG_H

enum rp_exit {
	RP_EXIT_BAD_INPUT = 2,
	RP_EXIT_DIVERGED = 120,
	RP_EXIT_FAILURE = 125,
	RP_EXIT_CANNOT_EXEC = 126,
	RP_EXIT_NOT_FOUND = 127,
};

void rp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Lines go to this descriptor from now on; 2 at first. */
void rp_say_to(int fd);

#endif
