/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of gdb's remote protocol over two descriptors. */
#ifndef REMOTE_PACKET_H
#define REMOTE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_PACKET_BYTES 65536

struct remote_link {
	int in, out;
	bool plain; /* nobody acknowledges */
	bool closed;
	bool interrupted; /* a ctrl-C has come between packets */
	uint8_t bytes[REMOTE_PACKET_BYTES];
	size_t have, used;
};

/*
 * Waits for the next packet: its bytes, as they were before they were escaped, and a 0 behind them;
 * NULL when the other side is gone. They are there until the next call.
 */
char *remote_packet_read(struct remote_link *l, size_t *n);

/* Has a ctrl-C come, or has the other side gone? Does not wait. */
bool remote_packet_interrupts(struct remote_link *l);

/* All of it, whatever interrupts us, and however slow the reader is. False: nobody reads. */
bool remote_packet_write(int fd, const char *bytes, size_t n);

void remote_packet_send(struct remote_link *l, const char *bytes, size_t n);
void remote_packet_say(struct remote_link *l, const char *text);
/* What the console of the debugger is to show. */
void remote_packet_show(struct remote_link *l, const char *bytes, size_t n);

/* Hexadecimal: two digits for each byte, and a 0. */
void remote_packet_hex(char *to, const void *bytes, size_t n);
/* How many bytes there were. */
size_t remote_packet_unhex(void *to, const char *text, size_t most);

#endif
