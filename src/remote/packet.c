/* SPDX-License-Identifier: Apache-2.0 */
/* "$bytes#checksum", answered by "+" until both sides have agreed to leave that out. */
#include "remote/packet.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define ESCAPE '}'
#define ESCAPED 0x20
#define INTERRUPT 3

bool remote_packet_write(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);
		struct pollfd p = {.fd = fd, .events = POLLOUT};

		if (done < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (done <= 0 && errno != EINTR)
			return false;
		bytes += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return true;
}

static void write_all(struct remote_link *l, const char *bytes, size_t n)
{
	l->closed = l->closed || !remote_packet_write(l->out, bytes, n);
}

/* The next byte, or -1. */
static int next(struct remote_link *l)
{
	ssize_t n;

	if (l->used < l->have)
		return l->bytes[l->used++];
	do
		n = read(l->in, l->bytes, sizeof(l->bytes));
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		l->closed = true;
		return -1;
	}
	l->have = (size_t)n;
	l->used = 1;
	return l->bytes[0];
}

bool remote_packet_interrupts(struct remote_link *l)
{
	struct pollfd p = {.fd = l->in, .events = POLLIN};

	while (!l->closed && !l->interrupted && (l->used < l->have || poll(&p, 1, 0) > 0)) {
		int c = next(l);

		if (c == INTERRUPT)
			l->interrupted = true;
		else if (c == '$')
			l->used--;
		if (c == '$')
			break;
	}
	return l->interrupted || l->closed;
}

static int digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *remote_packet_read(struct remote_link *l, size_t *n)
{
	static char packet[REMOTE_PACKET_BYTES + 1];

	for (;;) {
		unsigned sum = 0, wanted;
		size_t at = 0;
		int c;

		while ((c = next(l)) != '$') {
			if (c < 0)
				return NULL;
			l->interrupted = l->interrupted || c == INTERRUPT;
		}
		while ((c = next(l)) >= 0 && c != '#' && at < REMOTE_PACKET_BYTES) {
			sum += (unsigned)c;
			if (c == ESCAPE) {
				c = next(l);
				sum += (unsigned)c;
				c ^= ESCAPED;
			}
			packet[at++] = (char)c;
		}
		if (c != '#')
			return NULL;
		wanted = (unsigned)digit(next(l)) << 4;
		wanted |= (unsigned)digit(next(l));
		packet[at] = 0;
		*n = at;
		if (l->plain)
			return packet;
		write_all(l, (sum & 255) == wanted ? "+" : "-", 1);
		if ((sum & 255) == wanted)
			return packet;
	}
}

void remote_packet_send(struct remote_link *l, const char *bytes, size_t n)
{
	char *packet = rp_alloc(2 * n + 8, 1);
	unsigned sum = 0;
	size_t at = 1;

	packet[0] = '$';
	for (size_t i = 0; i < n; i++) {
		char c = bytes[i];

		if (c == '$' || c == '#' || c == ESCAPE || c == '*') {
			packet[at++] = ESCAPE;
			c ^= ESCAPED;
		}
		packet[at++] = c;
	}
	for (size_t i = 1; i < at; i++)
		sum += (unsigned char)packet[i];
	at += (size_t)sprintf(packet + at, "#%02x", sum & 255);
	write_all(l, packet, at);
	free(packet);
}

void remote_packet_say(struct remote_link *l, const char *text)
{
	remote_packet_send(l, text, strlen(text));
}

void remote_packet_hex(char *to, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *p = bytes;

	for (size_t i = 0; i < n; i++) {
		*to++ = digits[p[i] >> 4];
		*to++ = digits[p[i] & 15];
	}
	*to = 0;
}

size_t remote_packet_unhex(void *to, const char *text, size_t most)
{
	uint8_t *p = to;
	size_t n = 0;

	while (n < most && digit(text[0]) >= 0 && digit(text[1]) >= 0) {
		p[n++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
		text += 2;
	}
	return n;
}

void remote_packet_show(struct remote_link *l, const char *bytes, size_t n)
{
	while (n) {
		size_t part = n < 4096 ? n : 4096;
		char text[2 * 4096 + 2];

		text[0] = 'O';
		remote_packet_hex(text + 1, bytes, part);
		remote_packet_send(l, text, 1 + 2 * part);
		bytes += part;
		n -= part;
	}
}
