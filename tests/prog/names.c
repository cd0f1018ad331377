/* SPDX-License-Identifier: Apache-2.0 */
/* Gives names to files, each way; if there is a file argv[2], other names, or more of them. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT "a text"

extern char **environ;

static int write_to(int fd, const char *text)
{
	int rc = fd < 0 || write(fd, text, strlen(text)) < 0;

	close(fd);
	return rc;
}

static int make(const char *name, const char *text)
{
	return write_to(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600), text);
}

static int run(char *text)
{
	char *words[] = {"sh", "-c", text, NULL};
	int status = 0;
	pid_t pid;

	return posix_spawnp(&pid, "sh", NULL, NULL, words, environ) ||
	       waitpid(pid, &status, 0) != pid || status;
}

static int run_forked(const char *word)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(execlp("true", "true", word, NULL));
	return waitpid(pid, &status, 0) != pid || status;
}

static int without_name(const char *text)
{
	int fd = open(".", O_RDWR | O_TMPFILE, 0600);
	char path[64];

	if (fd < 0)
		return 77;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, AT_FDCWD, "unnamed", AT_SYMLINK_FOLLOW) != 0)
		return 77;
	return write_to(fd, text);
}

/* Past libc, where nobody can stand in. */
static long bare(long number, long a, long b)
{
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(number), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return rc;
}

/* Replay knows nothing of the file argv[2]. */
int main(int argc, char **argv)
{
	int other = pathconf(argv[2], _PC_NAME_MAX) > 0, dir = open(".", O_RDONLY | O_DIRECTORY);
	const char *way = argc > 1 ? argv[1] : "", *name = other ? "one" : "two";
	char temporary[] = "made-XXXXXX";

	if (strcmp(way, "file") == 0)
		return make(name, TEXT);
	if (strcmp(way, "more") == 0)
		return make("always", TEXT) || (other && make("sometimes", TEXT));
	if (strcmp(way, "anew") == 0)
		return write_to(open("anew", O_WRONLY | O_CREAT | O_EXCL, 0600), name);
	if (strcmp(way, "below") == 0)
		return write_to(openat(dir, "below", O_WRONLY | O_CREAT | O_TRUNC, 0600), name);
	if (strcmp(way, "unnamed") == 0)
		return without_name(name);
	if (strcmp(way, "temporary") == 0)
		return write_to(mkstemp(temporary), name) || rename(temporary, "temporary");
	if (strcmp(way, "renameat") == 0)
		return make("new", name) || renameat(dir, "new", dir, "renamed");
	if (strcmp(way, "linked") == 0)
		return make("new", name) || link("new", "linked") || unlink("new");
	if (strcmp(way, "rename") == 0)
		return make("new", TEXT) || rename("new", name);
	if (strcmp(way, "link") == 0)
		return make("new", TEXT) || link("new", name);
	if (strcmp(way, "mkdir") == 0)
		return mkdir(name, 0700);
	if (strcmp(way, "symlink") == 0)
		return symlink("somewhere", name);
	if (strcmp(way, "leads") == 0)
		return symlink(name, "leads");
	if (strcmp(way, "fifo") == 0)
		return mkfifo(name, 0600);
	if (strcmp(way, "node") == 0)
		return mknod(name, S_IFREG | 0600, 0);
	if (strcmp(way, "chmod") == 0)
		return make("new", TEXT) || chmod("new", other ? 0600 : 0640);
	if (strcmp(way, "truncate") == 0)
		return truncate("there", other ? 1 : 2);
	if (strcmp(way, "remove") == 0)
		return remove(other ? "there" : "there-too");
	if (strcmp(way, "system") == 0)
		return system(other ? "echo 1 >by-child" : "echo 2 >by-child");
	if (strcmp(way, "popen") == 0)
		return pclose(popen(other ? "cat >from-pipe" : "cat >from-pipe-2", "w"));
	if (strcmp(way, "spawn") == 0)
		return run(other ? "echo 1 >by-spawn" : "echo 2 >by-spawn");
	if (strcmp(way, "forks") == 0)
		return run_forked(other ? "1" : "2");
	if (strcmp(way, "becomes") == 0)
		return execl("/bin/true", "true", name, NULL);
	if (strcmp(way, "dies") == 0)
		return raise(other ? SIGTERM : SIGHUP);
	if (strcmp(way, "dies-unseen") == 0)
		return (int)bare(SYS_kill, bare(SYS_getpid, 0, 0), other ? SIGTERM : SIGHUP);
	return 2;
}
