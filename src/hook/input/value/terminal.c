/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terminals. What is typed at standard input is recorded where it is read (hook_output_is_typed);
 * here is what a program asks of a terminal, or sets. A replay may have no terminal, so it is not
 * asked, and nothing is set.
 */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/input/channel/channel.h"
#include "hook/output/output.h"

#define SITE __builtin_return_address(0)
#define KERNEL_TERMIOS 36 /* what the kernel's own struct has */
#define NAME_BYTES 64
#define PASSWORD_BYTES 4096

static bool is_asked(int fd, const void *site)
{
	return hook_channel_has(fd, site) || (hook_output_tag(fd) && hook_io_is_programs(site));
}

/* How many bytes a request brings; -1: it is none of those that are known. */
static int brings(unsigned long request)
{
	switch (request) {
	case TCGETS:
		return KERNEL_TERMIOS;
	case TIOCGWINSZ:
		return sizeof(struct winsize);
	case TIOCGPGRP:
		return sizeof(pid_t);
	case FIONREAD:
		return sizeof(int);
	case SIOCGIFNAME:
	case SIOCGIFFLAGS:
	case SIOCGIFADDR:
	case SIOCGIFDSTADDR:
	case SIOCGIFBRDADDR:
	case SIOCGIFNETMASK:
	case SIOCGIFMETRIC:
	case SIOCGIFMTU:
	case SIOCGIFHWADDR:
	case SIOCGIFINDEX:
	case SIOCGIFTXQLEN:
	case SIOCGIFMAP:
		return sizeof(struct ifreq);
	case SIOCGIFCONF:
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
	case TIOCSWINSZ:
	case TIOCSPGRP:
	case TCFLSH:
	case TCSBRK:
	case TCSBRKP:
	case TCXONC:
		return 0;
	default:
		return -1;
	}
}

static void put_interfaces(struct hook_io *io, struct ifconf *list, size_t room)
{
	hook_io_part(io, &list->ifc_len, sizeof(list->ifc_len), sizeof(list->ifc_len));
	if (list->ifc_buf)
		hook_io_part(io, list->ifc_buf, (size_t)list->ifc_len, room);
}

HOOK_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	int n = brings(request);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (n < 0 || !is_asked(fd, SITE))
		return REAL(ioctl)(fd, request, arg);
	size_t room = request == SIOCGIFCONF ? (size_t)((struct ifconf *)arg)->ifc_len : 0;
	HOOK_IO(io, "ioctl", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(ioctl)(fd, request, arg));
	if (io.result >= 0 && request == SIOCGIFCONF)
		put_interfaces(&io, arg, room);
	if (io.result >= 0 && n)
		hook_io_part(&io, arg, (size_t)n, (size_t)n);
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int tcgetattr(int fd, struct termios *state)
{
	if (!is_asked(fd, SITE))
		return REAL(tcgetattr)(fd, state);
	HOOK_IO(io, "tcgetattr", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(tcgetattr)(fd, state));
	if (io.result >= 0)
		hook_io_part(&io, state, sizeof(*state), sizeof(*state));
	return (int)hook_io_result(&io);
}

HOOK_EXPORT int tcsetattr(int fd, int when, const struct termios *state)
{
	if (!is_asked(fd, SITE))
		return REAL(tcsetattr)(fd, when, state);
	HOOK_IO(io, "tcsetattr", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(tcsetattr)(fd, when, state));
	return (int)hook_io_result(&io);
}

/* What is done to the terminal itself, and not to what was read from it. */
#define ORDER(name)                                                                                \
	HOOK_EXPORT int name(int fd, int how)                                                      \
	{                                                                                          \
		if (!is_asked(fd, SITE))                                                           \
			return REAL(name)(fd, how);                                                \
		HOOK_IO(io, #name, HOOK_IO_GIVES);                                                 \
		if (io.live)                                                                       \
			hook_io_did(&io, REAL(name)(fd, how));                                     \
		return (int)hook_io_result(&io);                                                   \
	}

ORDER(tcflush)
ORDER(tcflow)
ORDER(tcsendbreak)

HOOK_EXPORT int tcdrain(int fd)
{
	if (!is_asked(fd, SITE))
		return REAL(tcdrain)(fd);
	HOOK_IO(io, "tcdrain", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(tcdrain)(fd));
	return (int)hook_io_result(&io);
}

/*
 * libc reads a password from the terminal by itself, where no wrapper comes, or, without one, from
 * standard input, where one does.
 */
static ssize_t fetch_password(void *ctx, void *buffer, size_t size)
{
	int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char *word;

	if (terminal < 0)
		return 0;
	close(terminal);
	word = REAL(getpass)(ctx);
	if (!word)
		return -errno;
	strncpy(buffer, word, size - 1);
	return (ssize_t)strlen(buffer) + 1;
}

HOOK_EXPORT char *getpass(const char *prompt)
{
	static char word[PASSWORD_BYTES];
	ssize_t n = 0;

	if (hook_io_is_programs(SITE))
		n = hook_io_told("getpass", SITE, fetch_password, (void *)prompt, word,
				 sizeof(word));
	if (n < 0)
		return NULL;
	return n ? word : REAL(getpass)(prompt);
}

HOOK_EXPORT pid_t tcgetpgrp(int fd)
{
	if (!is_asked(fd, SITE))
		return REAL(tcgetpgrp)(fd);
	HOOK_IO(io, "tcgetpgrp", HOOK_IO_GETS);
	if (io.live)
		hook_io_did(&io, REAL(tcgetpgrp)(fd));
	return (pid_t)hook_io_result(&io);
}

HOOK_EXPORT int tcsetpgrp(int fd, pid_t into)
{
	if (!is_asked(fd, SITE))
		return REAL(tcsetpgrp)(fd, hook_input_real_pid(into));
	HOOK_IO(io, "tcsetpgrp", HOOK_IO_GIVES);
	if (io.live)
		hook_io_did(&io, REAL(tcsetpgrp)(fd, into));
	return (int)hook_io_result(&io);
}

static int name_of(int fd, char *name, size_t room)
{
	HOOK_IO(io, "ttyname", HOOK_IO_GETS);

	if (io.live) {
		errno = REAL(ttyname_r)(fd, name, room);
		hook_io_did(&io, errno ? -1 : 0);
	}
	if (io.result >= 0)
		hook_io_part(&io, name, io.live ? strlen(name) + 1 : 0, room);
	errno = io.error;
	return (int)-io.result;
}

HOOK_EXPORT int ttyname_r(int fd, char *name, size_t room)
{
	return is_asked(fd, SITE) ? name_of(fd, name, room) : REAL(ttyname_r)(fd, name, room);
}

HOOK_EXPORT char *ttyname(int fd)
{
	static char name[NAME_BYTES];
	int rc = is_asked(fd, SITE) ? name_of(fd, name, sizeof(name))
				    : REAL(ttyname_r)(fd, name, sizeof(name));

	if (rc)
		errno = rc;
	return rc ? NULL : name;
}

HOOK_EXPORT int isatty(int fd)
{
	int was = hook_depth ? -1 : hook_output_was_terminal(fd);

	if (hook_channel_has(fd, SITE)) {
		HOOK_IO(io, "isatty", HOOK_IO_GETS);
		if (io.live)
			hook_io_did(&io, REAL(isatty)(fd) ? 1 : -1);
		return hook_io_result(&io) == 1;
	}
	if (was < 0)
		return REAL(isatty)(fd);
	if (!was)
		errno = ENOTTY;
	return was;
}
