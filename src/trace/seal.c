/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key: $XDG_STATE_HOME/reprise/key, or below ~/.local/state; where neither can be written to,
 * /var/tmp/reprise-UID/key. It is used only if the file and its directory belong to this user and
 * nobody else can write there. It is linked into place whole, so that two processes that make one
 * at the same time use the same key.
 */
#include "trace/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/siphash.h"

#define KEY_FILE "key"

struct key {
	unsigned char bytes[RP_SIPHASH_KEY];
};

/* It is of this kind, belongs to this user, and is not open to others. */
static bool is_own(int fd, mode_t kind, mode_t others)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
	       !(st.st_mode & others);
}

static bool read_key(int dir, struct key *key)
{
	int fd = openat(dir, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool good = fd >= 0 && is_own(fd, S_IFREG, 077) &&
		    read(fd, key->bytes, sizeof(key->bytes)) == sizeof(key->bytes);

	if (fd >= 0)
		close(fd);
	return good;
}

static bool make_key(int dir, struct key *key)
{
	char *temp = rp_format(".key-%ld", (long)getpid());
	unsigned char fresh[RP_SIPHASH_KEY];
	int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0 && getrandom(fresh, sizeof(fresh), 0) == sizeof(fresh) &&
	    write(fd, fresh, sizeof(fresh)) == sizeof(fresh) &&
	    linkat(dir, temp, dir, KEY_FILE, 0) != 0)
		errno = 0; /* somebody was quicker, whose key is read below; or there is none */
	if (fd >= 0) {
		close(fd);
		unlinkat(dir, temp, 0);
	}
	free(temp);
	return read_key(dir, key);
}

/* Makes what is missing of the path. */
static void make_directories(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0700) != 0)
			errno = 0;
		*p = '/';
	}
	if (mkdir(path, 0700) != 0)
		errno = 0;
}

/* Takes the path. */
static bool key_in(char *path, bool make, struct key *key)
{
	int dir;
	bool good;

	if (make)
		make_directories(path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	free(path);
	if (dir < 0)
		return false;
	good = is_own(dir, S_IFDIR, 022) && (read_key(dir, key) || (make && make_key(dir, key)));
	close(dir);
	return good;
}

static char *state_place(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && state[0] == '/')
		return rp_format("%s/reprise", state);
	return rp_format("%s/.local/state/reprise", home && home[0] == '/' ? home : "/nonexistent");
}

static char *spare_place(void)
{
	return rp_format("/var/tmp/reprise-%lu", (unsigned long)geteuid());
}

static void seal_with(const struct key *key, const char *text, char seal[TRACE_SEAL_BYTES])
{
	uint64_t code[2];

	rp_siphash(key->bytes, text, strlen(text), code);
	snprintf(seal, TRACE_SEAL_BYTES, "%016" PRIx64 "%016" PRIx64, code[0], code[1]);
}

bool trace_seal_make(const char *text, char seal[TRACE_SEAL_BYTES])
{
	struct key key;

	if (!key_in(state_place(), true, &key) && !key_in(spare_place(), true, &key))
		return false;
	seal_with(&key, text, seal);
	return true;
}

/* A rank may have had another home than the front: either key is this user's. */
bool trace_seal_matches(const char *text, const char *seal)
{
	char own[TRACE_SEAL_BYTES];
	struct key key;

	for (int i = 0; i < 2; i++) {
		if (!key_in(i ? spare_place() : state_place(), false, &key))
			continue;
		seal_with(&key, text, own);
		if (strcmp(seal, own) == 0)
			return true;
	}
	return false;
}
