/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: "Content-Length: N", an empty line, N bytes of JSON. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/dap.h"

#define HEAD_MOST 4096

/* Takes what is there; if `wait`, there will be something. */
static void take(struct cmd_dap *d, bool wait)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	if (d->ended || (poll(&p, 1, wait ? -1 : 0) <= 0 && !wait))
		return;
	if (d->room - d->used < 65536) {
		d->in = rp_widen(d->in, d->room, d->room + 262144, 1);
		d->room += 262144;
	}
	n = read(STDIN_FILENO, d->in + d->used, d->room - d->used - 1);
	if (n > 0)
		d->used += (size_t)n;
	else if (n == 0 || errno != EINTR)
		d->ended = true;
}

/* Where the message that begins at `from` has its bytes. 1, 0: it is not all there, -1: none. */
static int find(const struct cmd_dap *d, size_t from, size_t *at, size_t *n)
{
	const char *text = d->in ? d->in + from : "", *line;
	size_t left = d->used - from, head;
	const char *end = left ? memmem(text, left, "\r\n\r\n", 4) : NULL;
	char *stop;

	if (!end)
		return left > HEAD_MOST ? -1 : 0;
	head = (size_t)(end - text) + 4;
	for (line = text; line < end; line = (const char *)memchr(line, '\n', head) + 1) {
		if (strncasecmp(line, "Content-Length:", 15) != 0)
			continue;
		line += 15 + strspn(line + 15, " ");
		*n = strtoul(line, &stop, 10);
		*at = from + head;
		if (!isdigit((unsigned char)*line) || *stop != '\r' || *n > CMD_DAP_MOST)
			return -1;
		return left - head >= *n;
	}
	return -1;
}

json_t *cmd_dap_read(struct cmd_dap *d, bool *bad)
{
	json_t *message;
	size_t at, n;
	int found;

	*bad = false;
	while ((found = find(d, 0, &at, &n)) == 0 && !d->ended)
		take(d, true);
	if (found <= 0) {
		*bad = found < 0 || d->used;
		return NULL;
	}
	message = json_loadb(d->in + at, n, 0, NULL);
	d->used -= at + n;
	memmove(d->in, d->in + at + n, d->used);
	*bad = !json_is_object(message);
	return message;
}

bool cmd_dap_is_told(void *dap)
{
	struct cmd_dap *d = dap;
	size_t from = 0, at, n;

	cmd_dap_drain(d);
	take(d, false);
	while (find(d, from, &at, &n) == 1) {
		json_t *message = json_loadb(d->in + at, n, 0, NULL);
		const char *command = json_string_value(json_object_get(message, "command"));
		bool told = command &&
			    (strcmp(command, "pause") == 0 || strcmp(command, "disconnect") == 0 ||
			     strcmp(command, "terminate") == 0);

		json_decref(message);
		if (told)
			return true;
		from = at + n;
	}
	return d->ended;
}

void cmd_dap_send(struct cmd_dap *d, json_t *message)
{
	char *text;

	json_object_set_new(message, "seq", json_integer(++d->seq));
	text = json_dumps(message, JSON_COMPACT);
	printf("Content-Length: %zu\r\n\r\n%s", strlen(text), text);
	fflush(stdout);
	free(text);
	json_decref(message);
}

void cmd_dap_event(struct cmd_dap *d, const char *name, json_t *body)
{
	json_t *event = json_pack("{s:s, s:s}", "type", "event", "event", name);

	if (body)
		json_object_set_new(event, "body", body);
	cmd_dap_send(d, event);
}

static json_t *answer_to(const json_t *request, bool good)
{
	const char *command = json_string_value(json_object_get(request, "command"));

	return json_pack("{s:s, s:I, s:s, s:b}", "type", "response", "request_seq",
			 json_integer_value(json_object_get(request, "seq")), "command",
			 command ? command : "", "success", good);
}

void cmd_dap_answer(struct cmd_dap *d, const json_t *request, json_t *body)
{
	json_t *answer = answer_to(request, true);

	if (body)
		json_object_set_new(answer, "body", body);
	cmd_dap_send(d, answer);
}

void cmd_dap_refuse(struct cmd_dap *d, const json_t *request, const char *why)
{
	json_t *answer = answer_to(request, false);

	json_object_set_new(answer, "message", json_string(why));
	json_object_set_new(answer, "body",
			    json_pack("{s:{s:i, s:s}}", "error", "id", 1, "format", why));
	cmd_dap_send(d, answer);
}
