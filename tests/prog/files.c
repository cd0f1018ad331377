/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A threaded server of files: files DIRECTORY THREADS REQUESTS. Every thread accepts, reads the
 * name of a file, opens it, now by open, now by fopen or opendir first, sends it, and prints the
 * numbers of the descriptors that it got: which they are depends on what the others have open just
 * then. The port is the kernel's choice, on the first line of output.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST 16

static int listener, served, wanted;
static const char *directory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int entries(void)
{
	DIR *d = opendir(directory);
	int n = d ? dirfd(d) * 100 : -1;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void answer(int id, int fd, const char *name)
{
	char path[400], first[100] = "";
	struct stat st;
	FILE *f;
	int file, number, listed = -1, stream = -1;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = open(path, O_RDONLY);
	if (file < 0 || fstat(file, &st) != 0)
		return;
	if (strlen(name) % 2)
		listed = entries();
	f = fopen(path, "r");
	if (f && fgets(first, sizeof(first), f))
		stream = fileno(f);
	dprintf(fd, "%ld\n", (long)st.st_size);
	for (off_t at = 0; at < st.st_size;)
		if (sendfile(fd, file, &at, (size_t)(st.st_size - at)) <= 0)
			break;
	pthread_mutex_lock(&lock);
	number = ++served;
	printf("%d %s: thread %d, connection %d, file %d, stream %d, directory %d: %s", number,
	       name, id, fd, file, stream, listed, first);
	pthread_mutex_unlock(&lock);
	close(file);
	if (f)
		fclose(f);
	if (number == wanted)
		shutdown(listener, SHUT_RDWR);
}

static void *worker(void *arg)
{
	int id = (int)(long)arg, fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		char name[100];
		ssize_t n = read(fd, name, sizeof(name) - 1);

		if (n > 0) {
			name[n] = 0;
			name[strcspn(name, "\n")] = 0;
			answer(id, fd, name);
		}
		close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	pthread_t t[MOST];
	int threads = argc == 4 ? atoi(argv[2]) : 0;

	if (threads < 1 || threads > MOST)
		return 2;
	directory = argv[1];
	wanted = atoi(argv[3]);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(listener, 64) != 0)
		return 3;
	getsockname(listener, (struct sockaddr *)&at, &length);
	printf("port %d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}
