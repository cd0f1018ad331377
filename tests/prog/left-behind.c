/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes files and directories that must not be there, and leaves them; removes what may be there.
 * Prints what each call returned.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void say(const char *call, int rc)
{
	printf("%s: %s\n", call, rc < 0 ? strerror(errno) : "done");
}

static void *work(void *unused)
{
	char text[20] = "";
	int fd = open("new", O_RDWR | O_CREAT | O_EXCL, 0600);

	say("unlink", unlink("old"));
	say("open", fd);
	printf("%zd bytes in it\n", read(fd, text, sizeof(text)));
	if (write(fd, "some bytes\n", 11) != 11)
		say("write", -1);
	close(fd);
	say("open, once more", open("new", O_RDWR | O_CREAT | O_EXCL, 0600));
	say("open, the user's", open("users", O_RDWR | O_CREAT | O_EXCL, 0600));
	say("mkdir", mkdir("directory", 0700));
	say("mkdir, once more", mkdir("directory", 0700));
	say("symlink", symlink("new", "directory/link"));
	say("link", link("new", "old"));
	say("rename", rename("directory/link", "directory/other"));
	say("rmdir", rmdir("directory"));
	say("truncate, made later", truncate("later", 0));
	say("open, made later", open("later", O_RDONLY));
	say("fopen, made later", fopen("later", "r") ? 0 : -1);
	say("creat", creat("later", 0600));
	say("truncate, made", truncate("later", 100));
	say("fopen, made", fopen("later", "r") ? 0 : -1);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1 && strcmp(argv[1], "thread") == 0) {
		pthread_create(&thread, NULL, work, NULL);
		pthread_join(thread, NULL);
	} else {
		work(NULL);
	}
	return 0;
}
