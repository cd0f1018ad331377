/* SPDX-License-Identifier: Apache-2.0 */
/* What the recording and the log of the rank say about the place where it is. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "remote/serve.h"
#include "replay/evaluate.h"
#include "replay/from.h"
#include "replay/log.h"
#include "trace/words.h"

#define BEFORE 3
#define AFTER 6
#define NAP_US 10000
#define ALIVE 500 /* naps; a debugger that hears nothing gives up after a minute */

static void add(char **text, char *more)
{
	char *both = rp_format("%s%s", *text, more);

	free(*text);
	free(more);
	*text = both;
}

static const struct trace_run_rank *rank_of(const struct remote_server *s)
{
	return &s->travel.front->run->rank[s->travel.one];
}

static char *list(const struct remote_server *s, const struct trace_view *view)
{
	unsigned rank = rank_of(s)->rank;
	uint64_t now = s->travel.slot->events >> 1, post = TRACE_WORDS_FIRST_POST;
	struct trace_order_reader reader;
	struct trace_rec rec;
	char *text = rp_strdup("");

	trace_order_reader_init(&reader, view);
	while (trace_order_next(&reader, &rec) == 1 && reader.last_event <= now + AFTER) {
		char *words = trace_rec_words(&rec, &post);

		if (reader.last_event + BEFORE >= now)
			add(&text, rp_format("%s %u@%" PRIu64 "\t%s\n",
					     reader.last_event == now ? "*" : " ", rank,
					     reader.last_event, words));
		free(words);
	}
	if (!*text)
		add(&text, rp_strdup("nothing is recorded near here\n"));
	return text;
}

/* Threads number their own events; it is that one whose events are counted. */
static const char *whose(const struct remote_server *s)
{
	return rank_of(s)->threads == 1 ? "" : " (first thread)";
}

char *remote_recorded_events(const struct remote_server *s)
{
	char name[TRACE_RANK_NAME_BYTES], *path, *text;
	struct trace_view view;
	const char *why;

	trace_dir_rank_name(rank_of(s)->rank, name);
	path = rp_format("%s/0.order", name);
	if (trace_view_open(&view, s->travel.front->run->dir.fd, path, &why) != 0) {
		text = rp_strdup("the recording cannot be read\n");
	} else {
		text = list(s, &view);
		trace_view_close(&view);
		if (*whose(s))
			add(&text, rp_strdup("these are events of the first thread alone\n"));
	}
	free(path);
	return text;
}

/* The last one that the rank, or its first thread, has got. */
char *remote_recorded_message(const struct remote_server *s)
{
	const struct replay_slot *slot = s->travel.slot;
	uint64_t done = (slot->events >> 1) - (slot->events & 1);
	struct trace_log_reader reader;
	struct trace_log_rec rec, last = {0};
	char *contents, *text;

	if (!s->travel.front->alone ||
	    replay_log_open(s->travel.front->run, rank_of(s)->rank, "0", &reader) != 0)
		return rp_strdup("there is no log of messages\n");
	while (trace_log_next(&reader, &rec) == 1 && rec.event <= done) {
		if (rec.kind == TRACE_LOG_MESSAGE)
			last = rec;
	}
	if (!last.kind) {
		text = rp_format("no message so far%s\n", whose(s));
	} else {
		contents = replay_log_text(&last);
		text = rp_format("%u@%" PRIu64 "\tfrom %" PRId32 ", tag %" PRId32 "%s, %s\n",
				 rank_of(s)->rank, last.event, last.source, last.tag, whose(s),
				 contents);
		free(contents);
	}
	trace_log_close(&reader);
	return text;
}

/* In a process of its own: standard input and output are the debugger's. */
static pid_t begin_evaluation(const struct replay_front *f)
{
	struct replay_evaluate how = {.force = f->force};
	pid_t pid = fork();
	int null;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGPIPE, SIG_DFL);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	_exit(replay_evaluate(f->run->dir.path, &how));
}

static bool evaluate(struct remote_server *s)
{
	pid_t pid = begin_evaluation(s->travel.front);
	int status = -1;

	for (unsigned naps = 1; pid > 0 && waitpid(pid, &status, WNOHANG) == 0; naps++) {
		usleep(NAP_US);
		if (naps % ALIVE == 0)
			remote_packet_show(&s->link, ".", 1);
		if (remote_packet_interrupts(&s->link))
			kill(pid, SIGTERM);
	}
	s->link.interrupted = false;
	return pid > 0 && status == 0;
}

char *remote_recorded_race(struct remote_server *s)
{
	const struct replay_slot *slot = s->travel.slot;
	const struct trace_run *run = s->travel.front->run;
	struct replay_evaluation known;
	char *text;

	if (!replay_from_is_mpi(run))
		return rp_strdup("without MPI there is no race of messages\n");
	if (!replay_evaluation_read(run, &known) && !evaluate(s))
		return rp_strdup("the run cannot be evaluated\n");
	text = s->known->race(s->known->context, rank_of(s)->rank, slot->events >> 1,
			      slot->events & 1);
	if (*text)
		return text;
	free(text);
	return rp_strdup("the events of the run cannot be read\n");
}
