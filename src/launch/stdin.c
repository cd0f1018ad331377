/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is copied. A pipe is read by a relay: a process of its own session, with no descriptor
 * but its own, that writes to the stream before it passes bytes on. So the program never gets a
 * byte that is not in the trace, unless there is no room for it: that is said at once, and the
 * stream is marked. The relay ends at end of file or when nobody can read any more.
 */
#include "launch/stdin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/front.h"
#include "trace/stream.h"
#include "trace/words.h"

#define STREAM "stdin"
#define CHUNK (16u << 10)
#define FILE_MAX (64u << 20)

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

/*
 * An empty stream with the mark of a cut one: it tells info and replay that there was an input. A
 * partial copy of a file was removed before, so there is room for it if there is any.
 */
static bool not_kept(int rankfd, unsigned rank, int rc)
{
	struct trace_stream stream;

	rp_say("standard input is not recorded: %s; this run cannot be replayed", strerror(-rc));
	unlinkat(rankfd, STREAM, 0);
	if (trace_stream_create(&stream, rankfd, STREAM, TRACE_STREAM_STDIN, rank, 0, "") != 0)
		return false;
	trace_stream_set_events(&stream, 1, true);
	trace_stream_close(&stream);
	return true;
}

/* Copies the rest of the file; the offset, shared with others, stays. */
static bool keep_file(int rankfd, unsigned rank, off_t at)
{
	uint8_t chunk[CHUNK];
	struct trace_stream stream;
	int rc = trace_stream_create(&stream, rankfd, STREAM, TRACE_STREAM_STDIN, rank, 0, "");
	ssize_t n = 0;

	if (rc)
		return not_kept(rankfd, rank, rc);
	while (!rc && (n = pread(STDIN_FILENO, chunk, sizeof(chunk), at)) > 0) {
		rc = trace_stream_reserve(&stream, (size_t)n);
		if (!rc)
			trace_stream_append(&stream, chunk, (size_t)n);
		at += n;
	}
	if (n < 0)
		rc = -errno;
	trace_stream_close(&stream);
	if (!rc)
		return true;
	return not_kept(rankfd, rank, rc);
}

/* Blocks until there is something to read; false when the reader is gone. */
static bool wait_for_input(int from, int to)
{
	struct pollfd fds[2] = {{.fd = from, .events = POLLIN}, {.fd = to}};

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[1].revents & (POLLERR | POLLNVAL))
			return false;
		if (fds[0].revents)
			return true;
	}
}

#define ERRORS 3 /* the relay's descriptor of standard error, if that is a file */

/*
 * Standard error of the program is opened only to say something: a descriptor of a pipe or terminal
 * that was kept would keep the launcher waiting. A file is kept: only so the place to write at is
 * shared with all others.
 */
static int open_errors(pid_t program)
{
	char *path;
	int fd = fcntl(ERRORS, F_DUPFD_CLOEXEC, ERRORS + 1);

	if (fd >= 0)
		return fd;
	path = rp_format("/proc/%d/fd/2", (int)program);
	fd = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	free(path);
	return fd;
}

static void say_as(pid_t program, const char *words)
{
	int fd = open_errors(program);

	if (fd < 0)
		return;
	/* Nobody can be told if this fails; `info` and replay say it. */
	write_all(fd, (const uint8_t *)words, strlen(words));
	close(fd);
}

/* Half an input would replay as a run that never was. The mark makes replay refuse it. */
static void give_up(struct trace_stream *stream, pid_t program, int rc)
{
	char *words = rp_format("reprise: standard input is recorded only up to byte %" PRIu64
				": %s; this run cannot be replayed\n",
				stream->length, strerror(-rc));

	trace_stream_set_events(stream, 1, true);
	trace_stream_close(stream);
	say_as(program, words);
	free(words);
}

static void relay(struct trace_stream *stream, int from, int to, pid_t program)
{
	uint8_t chunk[CHUNK];
	int rc;

	while (wait_for_input(from, to)) {
		ssize_t n = read(from, chunk, sizeof(chunk));

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		rc = stream->header ? trace_stream_reserve(stream, (size_t)n) : 0;
		if (rc)
			give_up(stream, program, rc);
		if (stream->header)
			trace_stream_append(stream, chunk, (size_t)n);
		if (write_all(to, chunk, (size_t)n))
			break;
	}
	trace_stream_close(stream);
}

/* Nothing of the launcher's may stay open here: it waits for the ends of its pipes. */
static void become_relay(struct trace_stream *stream, int to, pid_t program)
{
	struct stat st;
	int errors = -1;

	setsid();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (chdir("/") != 0)
		_exit(1);
	if (fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode))
		errors = fcntl(STDERR_FILENO, F_DUPFD, ERRORS + 1);
	if (dup2(to, 1) != 1 || dup2(stream->fd, 2) != 2)
		_exit(1);
	stream->fd = 2;
	close(ERRORS);
	if (errors >= 0)
		dup2(errors, ERRORS);
	close_range(ERRORS + 1, ~0u, 0);
	relay(stream, 0, 1, program);
	_exit(0);
}

/* A grandchild relays, so that the program never sees a child it did not make. */
static bool keep_pipe(int rankfd, unsigned rank)
{
	struct trace_stream stream;
	int fd[2], rc, status = 1;
	pid_t pid, program = getpid();

	rc = trace_stream_create(&stream, rankfd, STREAM, TRACE_STREAM_STDIN, rank, 0, "");
	if (rc)
		return not_kept(rankfd, rank, rc);
	if (pipe2(fd, O_CLOEXEC) != 0) {
		rc = -errno;
		trace_stream_close(&stream);
		return not_kept(rankfd, rank, rc);
	}
	pid = launch_front_fork_aside();
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			become_relay(&stream, fd[1], program);
		_exit(pid < 0 ? errno : 0);
	}
	rc = pid < 0 ? -errno : 0;
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status)
		rc = -WEXITSTATUS(status);
	if (rc) {
		close(fd[0]);
		close(fd[1]);
		trace_stream_close(&stream);
		return not_kept(rankfd, rank, rc);
	}
	close(stream.fd);
	trace_stream_forget(&stream);
	dup2(fd[0], STDIN_FILENO);
	close(fd[0]);
	close(fd[1]);
	return true;
}

static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Hung up and nothing left in it. */
static bool at_end(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) && !(p.revents & POLLIN);
}

const char *launch_stdin_keep(int rankfd, unsigned rank)
{
	int flags = fcntl(STDIN_FILENO, F_GETFD);
	struct stat st;
	off_t at;

	/* A file that we opened, and that goes at exec, may have taken the free number. */
	if (flags < 0 || (flags & FD_CLOEXEC) || fstat(STDIN_FILENO, &st) != 0)
		return "closed";
	if (is_null_device(&st))
		return "empty";
	if (isatty(STDIN_FILENO))
		return "terminal";
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		if (at_end(STDIN_FILENO))
			return "empty";
		return keep_pipe(rankfd, rank) ? "kept" : "other";
	}
	at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (!S_ISREG(st.st_mode) || at < 0)
		return "other";
	if (st.st_size - at > (off_t)FILE_MAX) {
		rp_say("standard input is a file of more than %u MiB: it is not kept, and replay "
		       "must be given the same file",
		       FILE_MAX >> 20);
		return "other";
	}
	return keep_file(rankfd, rank, at) ? "kept" : "other";
}

static int use_as_stdin(int fd)
{
	if (fd == STDIN_FILENO)
		return fcntl(fd, F_SETFD, 0);
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0) {
		rp_say("cannot give back standard input: %s", strerror(errno));
		return RP_EXIT_FAILURE;
	}
	close(fd);
	return 0;
}

static int restore_kept(int rankfd)
{
	struct trace_view view;
	const char *why;
	int fd, rc = trace_view_open(&view, rankfd, STREAM, &why);

	if (rc) {
		rp_say("the recorded standard input %s", why);
		return RP_EXIT_BAD_INPUT;
	}
	if (view.inside) {
		char *words = trace_stop_words(TRACE_STOP_STDIN, view.length);

		rp_say("%s: there was no room for more; this run cannot be replayed", words);
		free(words);
		trace_view_close(&view);
		return RP_EXIT_BAD_INPUT;
	}
	fd = memfd_create("stdin", MFD_CLOEXEC);
	if (fd >= 0 && view.length) {
		rc = write_all(fd, view.bytes, view.length);
		lseek(fd, 0, SEEK_SET);
	}
	trace_view_close(&view);
	if (rc) {
		rp_say("cannot give back standard input: %s", strerror(-rc));
		return RP_EXIT_FAILURE;
	}
	return use_as_stdin(fd);
}

int launch_stdin_restore(int rankfd, const char *word)
{
	if (!strcmp(word, "kept"))
		return restore_kept(rankfd);
	if (!strcmp(word, "empty"))
		return use_as_stdin(open("/dev/null", O_RDONLY | O_CLOEXEC));
	if (!strcmp(word, "closed"))
		fcntl(STDIN_FILENO, F_SETFD, FD_CLOEXEC);
	return 0;
}
