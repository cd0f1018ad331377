/* SPDX-License-Identifier: Apache-2.0 */
/* Going on and going back, and what is told about where that ended. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "remote/registers.h"
#include "remote/serve.h"
#include "remote/signals.h"

#define RBP 6
#define RSP 7
#define RIP 16

/* Registers that gdb asks for after each stop. */
static size_t add_registers(const struct remote_server *s, unsigned number, char *to)
{
	static const unsigned wanted[] = {RBP, RSP, RIP};
	const struct remote_thread *t = remote_process_thread(&s->travel.live, number);
	uint8_t bytes[REMOTE_REGISTERS_BYTES];
	size_t n = 0, at;

	if (!t || remote_registers_get(t, bytes) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		n += (size_t)sprintf(to + n, "%02x:", wanted[i]);
		remote_registers_find(wanted[i], &at);
		remote_packet_hex(to + n, bytes + at, 8);
		n += 16;
		to[n++] = ';';
	}
	return n;
}

static void tell(struct remote_server *s, int signal, const char *why, unsigned number)
{
	size_t n;

	s->begin_told = strcmp(why, "replaylog:begin;") == 0;
	if (!remote_process_thread(&s->travel.live, number))
		number = s->travel.live.threads ? s->travel.live.thread[0].number : 1;
	n = (size_t)sprintf(s->stopped, "T%02x%s", remote_signal_to_gdb(signal), why);
	n += (size_t)sprintf(s->stopped + n, "thread:%x;", number);
	n += add_registers(s, number, s->stopped + n);
	s->stopped[n] = 0;
	s->general = number;
	s->chosen = s->chosen ? number : 0;
	remote_travel_look_at(&s->travel, number);
	remote_packet_say(&s->link, s->stopped);
}

static void tell_gone(struct remote_server *s)
{
	int status = s->travel.live.status;

	if (WIFEXITED(status))
		sprintf(s->stopped, "W%02x", WEXITSTATUS(status));
	else
		sprintf(s->stopped, "X%02x", remote_signal_to_gdb(WTERMSIG(status)));
	remote_packet_say(&s->link, s->stopped);
}

static const char *watch_word(enum remote_watch_kind kind)
{
	return kind == REMOTE_WATCH_WRITE  ? "watch"
	       : kind == REMOTE_WATCH_READ ? "rwatch"
					   : "awatch";
}

/* The last word of the rank. */
static void tell_end(struct remote_server *s, unsigned number)
{
	struct replay_front *f = s->travel.front;

	if (replay_front_any(f, REPLAY_WHY_DIVERGED) && !s->diverged) {
		replay_report_divergence(f);
		s->diverged = true;
	} else if (replay_front_any(f, REPLAY_WHY_FAILURE) && !s->end_told) {
		replay_report_failure(f);
	}
	s->end_told = true;
	tell(s, SIGTRAP, "replaylog:end;", number);
}

void remote_resume_tell(struct remote_server *s, const struct remote_stop *stop)
{
	char why[64] = "";

	switch (stop->kind) {
	case REMOTE_GONE:
		tell_gone(s);
		return;
	case REMOTE_TOLD:
		if (!s->link.interrupted && remote_travel_at_end(&s->travel)) {
			tell_end(s, stop->number);
			return;
		}
		s->link.interrupted = false;
		tell(s, SIGINT, "", stop->number);
		return;
	case REMOTE_SIGNAL:
		tell(s, stop->signal, "", stop->number);
		return;
	case REMOTE_WATCHED:
		if (!stop->event)
			sprintf(why, "%s:%" PRIx64 ";", watch_word(stop->watch), stop->address);
		break;
	case REMOTE_BREAK:
		strcpy(why, "swbreak:;");
		break;
	default:
		break;
	}
	tell(s, SIGTRAP, why, stop->number);
}

static void look_at(struct remote_travel *t, unsigned number)
{
	if (remote_process_thread(&t->live, number))
		remote_travel_look_at(t, number);
}

/* At the recorded end there is only one way on: to die as it did. */
static bool is_released(struct remote_server *s)
{
	if (s->travel.front->released || !remote_travel_at_end(&s->travel))
		return true;
	if (!s->end_told)
		return false;
	if (!replay_front_any(s->travel.front, REPLAY_WHY_EXIT) &&
	    !replay_front_any(s->travel.front, REPLAY_WHY_SIGNAL) &&
	    !replay_front_any(s->travel.front, REPLAY_WHY_ABORT))
		return false;
	replay_session_release(s->travel.front);
	s->travel.live.only = 0;
	return true;
}

static uint64_t pc_of(const struct remote_travel *t)
{
	const struct remote_thread *thread = remote_process_thread(&t->live, t->focus);
	struct user_regs_struct regs;

	return thread && remote_process_registers(thread, &regs) == 0 ? regs.rip : 0;
}

static const char *name_of(int signal, char text[32])
{
	const char *name = sigabbrev_np(signal);

	snprintf(text, 32, name ? "SIG%s" : "signal %.0s%d", name ? name : "", signal);
	return text;
}

/*
 * A signal is part of the recording: none can be left out or added, since what follows would be
 * another run. False: gdb wants one that has not come, and the program is not to go on.
 */
static bool has_signal(const struct remote_server *s, int wanted)
{
	const struct remote_thread *t = remote_process_thread(&s->travel.live, s->travel.focus);
	int signal = t ? t->signal : 0;
	char name[32];

	if (signal == wanted)
		return true;
	if (signal)
		rp_say("%s is delivered all the same: it is part of the recording",
		       name_of(signal, name));
	else
		rp_say("%s is not delivered, and the program does not go on: the recording has no "
		       "signal here",
		       name_of(wanted, name));
	return signal != 0;
}

static void forward(struct remote_server *s, bool step, int signal, uint64_t first, uint64_t end)
{
	struct remote_stop stop;

	if (!has_signal(s, signal)) {
		tell(s, 0, "", s->travel.focus);
		return;
	}
	if (!is_released(s)) {
		tell_end(s, s->travel.focus);
		return;
	}
	do
		remote_travel_run(&s->travel, step, s->travel.focus, &stop);
	while (step && stop.kind == REMOTE_STEPPED && pc_of(&s->travel) - first < end - first);
	remote_resume_tell(s, &stop);
}

static void backward(struct remote_server *s, bool step)
{
	struct remote_stop stop = {.kind = REMOTE_STEPPED, .number = s->travel.focus};
	enum remote_way way;

	s->end_told = false;
	/* Else the one whose registers were asked for last. */
	if (step && s->travel.live.turns)
		look_at(&s->travel, s->chosen ? s->chosen : s->general);
	stop.number = s->travel.focus;
	way = step ? remote_travel_step_back(&s->travel) : remote_travel_back(&s->travel, &stop);
	switch (way) {
	case REMOTE_WAY_DONE:
		remote_resume_tell(s, &stop);
		return;
	case REMOTE_WAY_BEGIN:
		tell(s, SIGTRAP, "replaylog:begin;", s->travel.focus);
		return;
	case REMOTE_WAY_STOPPED:
	case REMOTE_WAY_LOST:
		s->link.interrupted = false;
		tell(s, SIGINT, "", s->travel.focus);
	}
}

/* "vCont;action[:thread];…": the first one that names a thread or is for all. */
static void continue_as_told(struct remote_server *s, const char *p)
{
	while (*p == ';') {
		char action = p[1];
		const char *colon, *end = p + 1 + strcspn(p + 1, ";");
		uint64_t first = 0, behind = 0;
		int signal = 0;

		colon = memchr(p, ':', (size_t)(end - p));
		if (colon)
			look_at(&s->travel, (unsigned)strtoul(colon + 1, NULL, 16));
		if (action == 'r') {
			char *comma;

			first = strtoull(p + 2, &comma, 16);
			behind = *comma == ',' ? strtoull(comma + 1, NULL, 16) : 0;
		}
		if (action == 'C' || action == 'S')
			signal = remote_signal_from_gdb((int)strtoul(p + 2, NULL, 16));
		if (colon || !*end) {
			forward(s, action == 's' || action == 'S' || action == 'r', signal, first,
				behind);
			return;
		}
		p = end;
	}
	remote_packet_say(&s->link, "E01");
}

/* "C1e" and "S1e" have a signal, "c" and "s" none. */
static int asked(const char *packet)
{
	return packet[0] == 'C' || packet[0] == 'S'
		       ? remote_signal_from_gdb((int)strtoul(packet + 1, NULL, 16))
		       : 0;
}

bool remote_resume(struct remote_server *s, const char *packet)
{
	if (strncmp(packet, "vCont;", 6) == 0)
		continue_as_told(s, packet + 5);
	else if (strcmp(packet, "vCont?") == 0)
		remote_packet_say(&s->link, "vCont;c;C;s;S;r");
	else if (packet[0] == 'c' || packet[0] == 'C')
		forward(s, false, asked(packet), 0, 0);
	else if (packet[0] == 's' || packet[0] == 'S')
		forward(s, true, asked(packet), 0, 0);
	else if (strcmp(packet, "bs") == 0 || strcmp(packet, "bc") == 0)
		backward(s, packet[1] == 's');
	else if (sscanf(packet, "QReprise.Thread:%x", &s->chosen) == 1) {
		remote_packet_say(&s->link, "OK");
	} else if (strcmp(packet, "qReprise.Elsewhere") == 0) {
		remote_packet_say(&s->link, s->elsewhere ? "yes" : "no");
		s->elsewhere = false;
	} else if (strncmp(packet, "Hc", 2) == 0) {
		long number = strtol(packet + 2, NULL, 16);

		if (number > 0)
			look_at(&s->travel, (unsigned)number);
		remote_packet_say(&s->link, "OK");
	} else {
		return false;
	}
	return true;
}
