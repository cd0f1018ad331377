/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web-server THREADS REQUESTS: a threaded HTTP server. Every thread accepts connections, reads
 * requests by stdio until the client closes, and answers with its number, the number of the request
 * and the time. Lines on standard output say who did what. Ends after so many requests; the port is
 * on the first line.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define MOST 16

static int listener, served, wanted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void answer(int id, FILE *f, const char *path, long length, const char *body)
{
	struct timeval now;
	char text[400];
	int number, n;

	gettimeofday(&now, NULL);
	pthread_mutex_lock(&lock);
	number = ++served;
	printf("%d does %d at %ld.%06ld: %s %ld %s\n", id, number, (long)now.tv_sec,
	       (long)now.tv_usec, path, length, body);
	pthread_mutex_unlock(&lock);
	n = snprintf(text, sizeof(text), "request %d of %s by %d, %s\n", number, path, id, body);
	fprintf(f, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Thread: %d\r\n\r\n%s", n, id, text);
	fflush(f);
	if (number == wanted)
		shutdown(listener, SHUT_RDWR);
}

/* One request: 0 if there is none any more. */
static int serve(int id, FILE *in, FILE *out)
{
	char line[300], path[200] = "?", body[100] = "";
	long length = 0;

	if (!fgets(line, sizeof(line), in) || sscanf(line, "%*s %199s", path) != 1)
		return 0;
	while (fgets(line, sizeof(line), in) && line[0] != '\r') {
		if (strncasecmp(line, "Content-Length:", 15) == 0)
			length = atol(line + 15);
	}
	if (length > 0 && length < (long)sizeof(body) && fread(body, (size_t)length, 1, in) != 1)
		return 0;
	answer(id, out, path, length, body);
	return 1;
}

static void *work(void *arg)
{
	int id = (int)(long)arg, fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");

		while (serve(id, in, out))
			;
		fclose(out);
		fclose(in);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(here);
	pthread_t thread[MOST];
	int threads = argc > 1 ? atoi(argv[1]) : 4;

	wanted = argc > 2 ? atoi(argv[2]) : 10;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (threads > MOST || bind(listener, (struct sockaddr *)&here, size) ||
	    listen(listener, 50) || getsockname(listener, (struct sockaddr *)&here, &size))
		return 2;
	printf("port %d\n", ntohs(here.sin_port));
	fflush(stdout);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%d requests\n", served);
	return 0;
}
