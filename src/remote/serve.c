/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that look at the process or set something; what is not known is answered with nothing. */
#include "remote/serve.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "remote/registers.h"
#include "remote/signals.h"
#include "remote/start.h"

#define SUPPORTED                                                                                  \
	"PacketSize=8000;QStartNoAckMode+;qXfer:features:read+;qXfer:auxv:read+;"                  \
	"qXfer:exec-file:read+;qXfer:libraries-svr4:read+;ReverseStep+;ReverseContinue+;swbreak+;" \
	"hwbreak+;vContSupported+;QPassSignals+"
#define READ_MOST 16000
/* Signals of libc's own, and of ours. */
#define OURS (1ull << 32 | 1ull << 33 | 1ull << SIGURG)

static void say(struct remote_server *s, const char *text)
{
	remote_packet_say(&s->link, text);
}

static bool wake(void *context)
{
	struct remote_server *s = context;

	remote_travel_drain(&s->travel);
	if (remote_packet_interrupts(&s->link))
		return true;
	/* Where it cannot be watched for. */
	return !s->travel.silent && !s->travel.front->released && s->travel.slot &&
	       !s->travel.state && remote_travel_at_end(&s->travel);
}

static void show(void *context, const char *bytes, size_t n)
{
	struct remote_server *s = context;

	if (!s->print)
		remote_packet_show(&s->link, bytes, n);
	else if (!remote_packet_write(s->print, bytes, n))
		s->print = 0;
}

static struct remote_thread *looked_at(const struct remote_server *s)
{
	return remote_process_thread(&s->travel.live, s->general);
}

/* --- registers and memory */

static void send_registers(struct remote_server *s)
{
	const struct remote_thread *t = looked_at(s);
	uint8_t bytes[REMOTE_REGISTERS_BYTES];
	char text[2 * REMOTE_REGISTERS_BYTES + 1];
	int n = t ? remote_registers_get(t, bytes) : -1;

	if (n < 0) {
		say(s, "E03");
		return;
	}
	remote_packet_hex(text, bytes, (size_t)n);
	say(s, text);
}

static void send_register(struct remote_server *s, const char *p)
{
	const struct remote_thread *t = looked_at(s);
	uint8_t bytes[REMOTE_REGISTERS_BYTES];
	char text[64];
	size_t at, n = remote_registers_find((unsigned)strtoul(p, NULL, 16), &at);

	if (!n || !t || remote_registers_get(t, bytes) < 0) {
		say(s, "E03");
		return;
	}
	remote_packet_hex(text, bytes + at, n);
	say(s, text);
}

static void set_registers(struct remote_server *s, const char *p)
{
	const struct remote_thread *t = looked_at(s);
	uint8_t bytes[REMOTE_REGISTERS_BYTES];
	size_t n = remote_packet_unhex(bytes, p, sizeof(bytes));

	say(s, t && remote_registers_set(t, bytes, n) == 0 ? "OK" : "E03");
}

static void set_register(struct remote_server *s, const char *p)
{
	const struct remote_thread *t = looked_at(s);
	uint8_t bytes[REMOTE_REGISTERS_BYTES];
	const char *equal = strchr(p, '=');
	size_t at, n = remote_registers_find((unsigned)strtoul(p, NULL, 16), &at);
	int all = t && n && equal ? remote_registers_get(t, bytes) : -1;

	if (all >= 0)
		remote_packet_unhex(bytes + at, equal + 1, n);
	say(s, all >= 0 && remote_registers_set(t, bytes, (size_t)all) == 0 ? "OK" : "E03");
}

static void send_memory(struct remote_server *s, const char *p)
{
	char *comma, *text;
	uint64_t at = strtoull(p, &comma, 16);
	size_t n = *comma == ',' ? strtoul(comma + 1, NULL, 16) : 0;
	uint8_t *bytes;

	n = n < READ_MOST ? n : READ_MOST;
	bytes = rp_alloc(n + 1, 1);
	text = rp_alloc(2 * n + 1, 1);
	n = remote_process_read(&s->travel.live, at, bytes, n);
	remote_packet_hex(text, bytes, n);
	say(s, n ? text : "E14");
	free(bytes);
	free(text);
}

/* "Maddress,length:digits" or "Xaddress,length:bytes". */
static void set_memory(struct remote_server *s, const char *p, size_t size)
{
	char *comma;
	uint64_t at = strtoull(p + 1, &comma, 16);
	size_t n = *comma == ',' ? strtoul(comma + 1, NULL, 16) : 0;
	const char *bytes = memchr(p, ':', size);
	uint8_t *made = NULL;

	if (!bytes || (p[0] == 'X' && bytes + 1 + n > p + size)) {
		say(s, "E01");
		return;
	}
	bytes++;
	if (p[0] == 'M') {
		made = rp_alloc(n + 1, 1);
		n = remote_packet_unhex(made, bytes, n);
	}
	say(s, remote_process_write(&s->travel.live, at, made ? (char *)made : bytes, n) == n
		       ? "OK"
		       : "E14");
	free(made);
}

/* --- breakpoints */

static bool set_break(struct remote_points *points, uint64_t at)
{
	for (size_t i = 0; i < points->breaks; i++) {
		if (points->at[i] == at)
			return true;
	}
	if (points->breaks == REMOTE_BREAKS)
		return false;
	points->at[points->breaks++] = at;
	return true;
}

static void clear_break(struct remote_points *points, uint64_t at)
{
	for (size_t i = 0; i < points->breaks; i++) {
		if (points->at[i] == at) {
			points->at[i] = points->at[--points->breaks];
			return;
		}
	}
}

static bool is_same(const struct remote_watch *a, const struct remote_watch *b)
{
	return a->kind == b->kind && a->address == b->address && a->length == b->length;
}

static bool set_watch(struct remote_points *points, const struct remote_watch *wanted)
{
	struct remote_watch *free_one = NULL;

	/* A debug register watches 1, 2, 4 or 8 bytes that are aligned. */
	if (!wanted->length || wanted->length > 8 || wanted->length & (wanted->length - 1) ||
	    wanted->address % wanted->length)
		return false;
	for (unsigned i = 0; i < REMOTE_WATCHES; i++) {
		if (is_same(&points->watch[i], wanted))
			return true;
		if (!points->watch[i].kind && !free_one)
			free_one = &points->watch[i];
	}
	if (free_one)
		*free_one = *wanted;
	return free_one != NULL;
}

static void clear_watch(struct remote_points *points, const struct remote_watch *wanted)
{
	for (unsigned i = 0; i < REMOTE_WATCHES; i++) {
		if (is_same(&points->watch[i], wanted))
			points->watch[i] = (struct remote_watch){0};
	}
}

/* "Zkind,address,length" */
static void set_point(struct remote_server *s, const char *p)
{
	struct remote_points *points = &s->travel.points;
	int kind = p[1] - '0';
	char *comma;
	uint64_t at = strtoull(p + 3, &comma, 16);
	struct remote_watch watch = {.kind = (enum remote_watch_kind)kind, .address = at};
	bool good = true;

	if (p[2] != ',' || *comma != ',' || kind < 0 || kind > REMOTE_WATCH_ACCESS) {
		say(s, "");
		return;
	}
	watch.length = (unsigned)strtoul(comma + 1, NULL, 16);
	if (kind < REMOTE_WATCH_WRITE && p[0] == 'Z')
		good = set_break(points, at);
	else if (kind < REMOTE_WATCH_WRITE)
		clear_break(points, at);
	else if (p[0] == 'Z')
		good = set_watch(points, &watch);
	else
		clear_watch(points, &watch);
	say(s, good ? "OK" : "E28");
}

/* --- what is read in pieces */

/* Sends the piece of `n` bytes that "offset,length" names. */
static void send_piece(struct remote_server *s, const char *range, const char *bytes, size_t n)
{
	char *comma, *packet;
	size_t at = strtoul(range, &comma, 16);
	size_t wanted = *comma == ',' ? strtoul(comma + 1, NULL, 16) : 0;

	at = at < n ? at : n;
	wanted = wanted < READ_MOST ? wanted : READ_MOST;
	wanted = wanted < n - at ? wanted : n - at;
	packet = rp_alloc(wanted + 1, 1);
	packet[0] = at + wanted < n ? 'm' : 'l';
	memcpy(packet + 1, bytes + at, wanted);
	remote_packet_send(&s->link, packet, wanted + 1);
	free(packet);
}

static void send_file(struct remote_server *s, const char *range, const char *name, bool link)
{
	static char bytes[65536];
	char *path = rp_format("/proc/%d/%s", s->travel.live.pid, name);
	ssize_t n = -1;
	int fd;

	if (link) {
		n = readlink(path, bytes, sizeof(bytes));
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
		if (fd >= 0)
			close(fd);
	}
	free(path);
	if (n < 0)
		say(s, "E01");
	else
		send_piece(s, range, bytes, (size_t)n);
}

static void send_libraries(struct remote_server *s, const char *range)
{
	char *list = remote_libraries(&s->travel.live);

	if (list)
		send_piece(s, range, list, strlen(list));
	else
		say(s, "E01");
	free(list);
}

/* "qXfer:object:read:annex:offset,length" */
static void send_object(struct remote_server *s, const char *p)
{
	const char *range = strrchr(p, ':') + 1;

	if (strncmp(p, "features:read:target.xml:", 25) == 0)
		send_piece(s, range, s->description, strlen(s->description));
	else if (strncmp(p, "auxv:read:", 10) == 0)
		send_file(s, range, "auxv", false);
	else if (strncmp(p, "exec-file:read:", 15) == 0)
		send_file(s, range, "exe", true);
	else if (strncmp(p, "libraries-svr4:read:", 20) == 0)
		send_libraries(s, range);
	else
		say(s, "");
}

/* --- the rest */

static void list_threads(struct remote_server *s)
{
	char *text = rp_alloc(12 * s->travel.live.threads + 2, 1), *to = text;

	*to++ = 'm';
	for (size_t i = 0; i < s->travel.live.threads; i++)
		to += sprintf(to, "%s%x", i ? "," : "", s->travel.live.thread[i].number);
	say(s, text);
	free(text);
}

/* What the recording calls it: 0.1 is the first thread that the main one has made. */
static void name_thread(struct remote_server *s, unsigned number)
{
	char said[REPLAY_NAME_BYTES + 1], text[2 * sizeof(said) + 1];
	const struct remote_thread *t = remote_process_thread(&s->travel.live, number);

	if (!t || !remote_travel_name(&s->travel, t, said))
		strcpy(said, "not the program's");
	remote_packet_hex(text, said, strlen(said));
	say(s, text);
}

static void pass_signals(struct remote_server *s, const char *p)
{
	s->travel.quiet = OURS;
	while (*p) {
		char *end;
		int signal = remote_signal_from_gdb((int)strtoul(p, &end, 16));

		if (signal)
			s->travel.quiet |= 1ull << signal;
		if (end == p)
			break;
		p = *end == ';' ? end + 1 : end;
	}
	say(s, "OK");
}

static void command(struct remote_server *s, const char *p)
{
	char words[512], *text, *hex;
	size_t n = remote_packet_unhex(words, p, sizeof(words) - 1);

	words[n] = 0;
	text = remote_monitor(s, words);
	hex = rp_alloc(2 * strlen(text) + 1, 1);
	remote_packet_hex(hex, text, strlen(text));
	say(s, *hex ? hex : "OK");
	free(hex);
	free(text);
}

static void query(struct remote_server *s, const char *p)
{
	char text[32];

	if (strncmp(p, "qSupported", 10) == 0) {
		say(s, SUPPORTED);
	} else if (strncmp(p, "qXfer:", 6) == 0 && strrchr(p, ':') > p + 6) {
		send_object(s, p + 6);
	} else if (strncmp(p, "qRcmd,", 6) == 0) {
		command(s, p + 6);
	} else if (strcmp(p, "qfThreadInfo") == 0) {
		list_threads(s);
	} else if (strncmp(p, "qThreadExtraInfo,", 17) == 0) {
		name_thread(s, (unsigned)strtoul(p + 17, NULL, 16));
	} else if (strcmp(p, "qsThreadInfo") == 0) {
		say(s, "l");
	} else if (strcmp(p, "qC") == 0) {
		snprintf(text, sizeof(text), "QC%x", s->travel.focus);
		say(s, text);
	} else if (strncmp(p, "qAttached", 9) == 0) {
		say(s, "0");
	} else if (strncmp(p, "qSymbol", 7) == 0) {
		say(s, "OK");
	} else {
		say(s, "");
	}
}

static void set(struct remote_server *s, const char *p)
{
	if (strcmp(p, "QStartNoAckMode") == 0) {
		say(s, "OK");
		s->link.plain = true;
	} else if (strncmp(p, "QPassSignals:", 13) == 0) {
		pass_signals(s, p + 13);
	} else {
		say(s, "");
	}
}

static void answer(struct remote_server *s, const char *p, size_t n)
{
	if (remote_resume(s, p))
		return;
	switch (p[0]) {
	case '?':
		say(s, s->stopped);
		break;
	case 'g':
		send_registers(s);
		break;
	case 'G':
		set_registers(s, p + 1);
		break;
	case 'p':
		send_register(s, p + 1);
		break;
	case 'P':
		set_register(s, p + 1);
		break;
	case 'm':
		send_memory(s, p + 1);
		break;
	case 'M':
	case 'X':
		set_memory(s, p, n);
		break;
	case 'Z':
	case 'z':
		set_point(s, p);
		break;
	case 'H':
		if (strtol(p + 2, NULL, 16) > 0)
			s->general = (unsigned)strtoul(p + 2, NULL, 16);
		say(s, "OK");
		break;
	case 'T':
		say(s, remote_process_thread(&s->travel.live, (unsigned)strtoul(p + 1, NULL, 16))
			       ? "OK"
			       : "E01");
		break;
	case 'D':
		say(s, "OK");
		/* fallthrough */
	case 'k':
		s->over = true;
		break;
	case 'q':
		query(s, p);
		break;
	case 'Q':
		set(s, p);
		break;
	case 'v':
		if (strncmp(p, "vKill", 5) == 0) {
			s->over = true;
			say(s, "OK");
			break;
		}
		/* fallthrough */
	default:
		say(s, "");
	}
}

int remote_serve(struct replay_front *f, size_t rank, int print, const struct remote_known *known)
{
	struct remote_server *s = rp_alloc(1, sizeof(*s));
	char *packet;
	size_t n;
	int code;

	signal(SIGPIPE, SIG_IGN);
	s->link.in = STDIN_FILENO;
	s->link.out = STDOUT_FILENO;
	s->print = print;
	s->known = known;
	s->travel.front = f;
	s->travel.one = rank;
	s->travel.live.memory = -1;
	s->travel.output = -1;
	s->travel.wake = wake;
	s->travel.show = show;
	s->travel.context = s;
	s->travel.quiet = OURS;
	s->general = 1;
	s->description = remote_registers_description();
	code = remote_start(&s->travel);
	snprintf(s->stopped, sizeof(s->stopped), "T05thread:1;");
	while (!code && !s->over && (packet = remote_packet_read(&s->link, &n)))
		answer(s, packet, n);
	remote_start_close(&s->travel);
	if (!code && s->diverged)
		code = RP_EXIT_DIVERGED;
	free(s->description);
	free(s);
	return code;
}
