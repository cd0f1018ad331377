/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines from the terminal it has for standard input, in several ways, and tells what it got.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static void show(const char *way, const char *line)
{
	printf("%s: %.*s\n", way, (int)strcspn(line, "\n"), line);
}

static void ask_terminal(void)
{
	struct termios state, raw;
	struct winsize size = {0};
	char name[64];

	if (tcgetattr(0, &state) != 0) {
		printf("no terminal\n");
		return;
	}
	raw = state;
	raw.c_lflag &= ~(tcflag_t)ECHO;
	printf("set %d, ", tcsetattr(0, TCSANOW, &raw));
	printf("flush %d, drain %d, ", tcflush(0, TCOFLUSH), tcdrain(0));
	printf("size %d ", ioctl(0, TIOCGWINSZ, &size));
	printf("%d x %d, ", size.ws_row, size.ws_col);
	printf("name %s, typed on one: %d, the other %d\n",
	       ttyname_r(0, name, sizeof(name)) == 0 ? name : "none", isatty(0), isatty(1));
	tcsetattr(0, TCSANOW, &state);
}

static void *read_lines(void *way)
{
	char line[100] = "", word[100] = "";
	ssize_t n;
	int c, copy;

	if (fgets(line, sizeof(line), stdin))
		show(way, line);
	while ((c = getchar_unlocked()) != EOF && c != '\n')
		printf("(%c)", c);
	printf("\n");
	if (scanf("%99s %d", word, &c) == 2)
		printf("scanf: %s %d\n", word, c);
	while ((c = getchar()) != EOF && c != '\n')
		;
	n = read(0, line, sizeof(line));
	printf("read %zd bytes: %.*s", n, (int)n, line);
	copy = dup(0);
	n = read(copy, line, sizeof(line));
	printf("by a copy %zd bytes: %.*s", n, (int)n, line);
	close(copy);
	return NULL;
}

static void ask_behind(void)
{
	FILE *f = fopen("/dev/tty", "r+");
	char line[100] = "";

	if (f && fgets(line, sizeof(line), f))
		show("/dev/tty", line);
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	ask_terminal();
	if (argc > 1 && strcmp(argv[1], "password") == 0) {
		show("password", getpass("password? "));
		return 0;
	}
	if (argc > 1) {
		pthread_create(&thread, NULL, read_lines, "a thread");
		pthread_join(thread, NULL);
	} else {
		read_lines("main");
	}
	ask_behind();
	printf("then %s\n", fgets((char[100]){0}, 100, stdin) ? "more" : "the end");
	return argv[0] == NULL;
}
