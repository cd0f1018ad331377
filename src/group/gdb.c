/* SPDX-License-Identifier: Apache-2.0 */
#include "group/gdb.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "group/mi.h"

#define OURS "reprise: "
#define DEPTH 3 /* of what it starts: its target, and what that starts */

static void __attribute__((noreturn))
become_gdb(int process, const char *first, const char *program, int in, int out, char **env)
{
	char *attach = rp_format("attach %d", process);
	/* Signals of ours, and functions of ours that nobody wants to step into. */
	char *argv[40] = {"gdb",
			  "-q",
			  "--interpreter=mi3",
			  "-iex",
			  "set debuginfod enabled off",
			  "-iex",
			  "set mi-async on",
			  "-iex",
			  "set confirm off",
			  "-iex",
			  "set pagination off",
			  "-iex",
			  "set print elements 200",
			  "-iex",
			  "set auto-solib-add off", /* see stacks.h */
			  "-iex",
			  "handle SIGURG SIG32 SIG33 nostop noprint pass",
			  "-iex",
			  "skip -gfi */src/hook/*",
			  "-ex",
			  GROUP_GDB_NO_DEBUG,
			  "-ex",
			  "set debug-file-directory"};
	size_t n = 0;
	sigset_t none;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	/* A target of ours has words for the user there. */
	if (process)
		dup2(null, STDERR_FILENO);
	while (argv[n])
		n++;
	if (process) {
		argv[n++] = "-ex";
		argv[n++] = attach;
	} else {
		argv[n++] = "-ix";
		argv[n++] = (char *)first;
	}
	argv[n] = (char *)program;
	environ = env;
	execvp("gdb", argv);
	_exit(127);
}

int group_gdb_start(struct group_gdb *g, unsigned rank, int process, const char *first,
		    const char *program, char **env)
{
	int to[2], from[2];

	*g = (struct group_gdb){.rank = rank, .process = process, .in = -1, .out = -1};
	if (pipe2(to, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(from, O_CLOEXEC) != 0) {
		close(to[0]);
		close(to[1]);
		return -errno;
	}
	g->pid = fork();
	if (g->pid == 0)
		become_gdb(process, first, program, to[0], from[1], env);
	close(to[0]);
	close(from[1]);
	g->in = to[1];
	g->out = from[0];
	fcntl(g->out, F_SETFL, O_NONBLOCK);
	g->state = process ? GROUP_GDB_RUNNING : GROUP_GDB_STOPPED;
	if (g->pid > 0)
		return 0;
	g->pid = 0;
	group_gdb_end(g);
	return -EAGAIN;
}

void group_gdb_forget_look(struct group_gdb *g)
{
	g->looked = false;
	json_decref(g->frames);
	g->frames = NULL;
	free(g->thread_name);
	g->thread_name = NULL;
}

static void forget_thread(struct group_gdb *g)
{
	group_gdb_forget_look(g);
	free(g->thread);
	g->thread = NULL;
}

void group_gdb_forget(struct group_gdb *g)
{
	json_decref(g->stop);
	g->stop = NULL;
	free(g->refused);
	g->refused = NULL;
	forget_thread(g);
}

static void is_gone(struct group_gdb *g, char *why)
{
	g->state = GROUP_GDB_GONE;
	g->waits = false;
	group_gdb_forget_look(g);
	if (g->gone)
		free(why);
	else
		g->gone = why;
}

static void forget_answer(struct group_gdb *g)
{
	free(g->class);
	json_decref(g->answer);
	free(g->said);
	g->class = NULL;
	g->answer = NULL;
	g->said = rp_strdup("");
}

bool group_gdb_ask(struct group_gdb *g, const char *command)
{
	if (g->state == GROUP_GDB_STOPPED)
		return group_gdb_send(g, command);
	forget_answer(g);
	return false;
}

bool group_gdb_send(struct group_gdb *g, const char *command)
{
	char *line;
	size_t n;
	ssize_t written;

	if (g->state == GROUP_GDB_GONE)
		return false;
	forget_answer(g);
	g->at = 0;
	line = rp_format("%ld%s\n", ++g->token, command);
	n = strlen(line);
	written = write(g->in, line, n);
	free(line);
	g->waits = written == (ssize_t)n;
	if (!g->waits)
		is_gone(g, rp_strdup("its gdb has ended"));
	return g->waits;
}

/* Clock ticks that the process and its children have used. */
static unsigned long used(pid_t pid, unsigned depth)
{
	char path[64], line[1024], *at = NULL;
	unsigned long user = 0, system = 0;
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file) && (at = strrchr(line, ')')))
		sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = depth ? fopen(path, "re") : NULL;
	while (file && fscanf(file, "%d", &child) == 1)
		user += used(child, depth - 1);
	if (file)
		fclose(file);
	return user + system;
}

void group_gdb_doubt(struct group_gdb *g, double seconds)
{
	/* The process that it is attached to is no child of its, and may run a function for it. */
	double busy = (double)used(g->pid, DEPTH) + (double)used(g->process, 0);
	struct timespec ts;
	double now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
	if (busy != g->busy || !g->at) {
		g->busy = busy;
		g->at = now;
	} else if (now - g->at > seconds) {
		is_gone(g, rp_format("its gdb has not answered for %g s", seconds));
	}
}

static void take_stop(struct group_gdb *g, json_t *results)
{
	const char *reason = group_mi_string(results, "reason");

	json_decref(g->stop);
	g->stop = json_incref(results);
	forget_thread(g);
	g->stopped++;
	if (reason && strncmp(reason, "exited", 6) == 0) {
		free(g->gone);
		g->gone = NULL;
		is_gone(g, rp_strdup("it has ended"));
	} else if (g->state != GROUP_GDB_GONE) {
		g->state = GROUP_GDB_STOPPED;
	}
}

static void runs(struct group_gdb *g)
{
	if (g->state == GROUP_GDB_STOPPED)
		g->state = GROUP_GDB_RUNNING;
	group_gdb_forget_look(g);
}

/* What a target of ours has to tell comes in pieces among gdb's own words, which are for nobody. */
static void take_error(struct group_gdb *g, const char *text)
{
	char *both = rp_format("%s%s", g->error ? g->error : "", text), *line = both, *end;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (strncmp(line, OURS, strlen(OURS)) == 0)
			rp_say("rank %u: %s", g->rank, line + strlen(OURS));
	}
	free(g->error);
	g->error = *line ? rp_strdup(line) : NULL;
	free(both);
}

static void take(struct group_gdb *g, const char *text)
{
	struct group_mi mi;

	group_mi_read(text, &mi);
	if (mi.kind == '^' && mi.token == g->token && g->waits) {
		g->waits = false;
		g->class = mi.name;
		g->answer = mi.results;
		mi.name = NULL;
		mi.results = NULL;
		/* Before any word of a stop. */
		if (strcmp(g->class, "running") == 0)
			runs(g);
	} else if (mi.kind == '*' && strcmp(mi.name, "stopped") == 0) {
		take_stop(g, mi.results);
	} else if (mi.kind == '*' && strcmp(mi.name, "running") == 0) {
		runs(g);
	} else if (mi.kind == '=' && strcmp(mi.name, "thread-group-exited") == 0) {
		/* Of a process that ends, the reason follows; of a target that does, no word. */
		is_gone(g, rp_strdup("its process is gone"));
	} else if ((mi.kind == '~' || mi.kind == '@') && g->said) {
		char *both = rp_format("%s%s", g->said, mi.text);

		free(g->said);
		g->said = both;
	} else if (mi.kind == '&') {
		take_error(g, mi.text);
	}
	group_mi_free(&mi);
}

void group_gdb_read(struct group_gdb *g)
{
	ssize_t n = 1;
	char *end;

	while (n > 0 && g->pid) {
		if (g->room - g->used < 4096) {
			g->line = rp_widen(g->line, g->room, g->room + 65536, 1);
			g->room += 65536;
		}
		n = read(g->out, g->line + g->used, g->room - g->used - 1);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
			is_gone(g, rp_strdup("its gdb has ended"));
			return;
		}
		g->used += n > 0 ? (size_t)n : 0;
		while ((end = memchr(g->line, '\n', g->used))) {
			size_t length = (size_t)(end - g->line);

			*end = 0;
			take(g, g->line);
			g->used -= length + 1;
			memmove(g->line, end + 1, g->used);
		}
	}
}

const char *group_gdb_error(const struct group_gdb *g)
{
	if (g->state == GROUP_GDB_GONE)
		return g->gone ? g->gone : "it is gone";
	if (!g->class)
		return g->state == GROUP_GDB_RUNNING ? "it runs" : "no answer from gdb";
	if (strcmp(g->class, "error") != 0)
		return NULL;
	return group_mi_string(g->answer, "msg");
}

void group_gdb_end(struct group_gdb *g)
{
	if (g->in >= 0)
		close(g->in);
	if (g->out >= 0)
		close(g->out);
	if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(g->line);
	free(g->class);
	free(g->said);
	free(g->gone);
	free(g->refused);
	free(g->thread);
	free(g->thread_name);
	free(g->error);
	json_decref(g->answer);
	json_decref(g->stop);
	json_decref(g->frames);
	json_decref(g->read);
	free(g->unread);
	*g = (struct group_gdb){.in = -1, .out = -1};
}
