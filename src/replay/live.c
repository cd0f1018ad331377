/* SPDX-License-Identifier: Apache-2.0 */
/* Text for the few numbers of a run, a table for the many of its messages. */
#include "replay/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "replay/alone.h"
#include "replay/ranks.h"

#define LEVEL 3
#define HEAD "live 1 all %" SCNu64 " %" SCNu64 " logged %" SCNu64 " %" SCNu64 "%n"
#define NEED "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 "%n"
#define CHECK "\ncheck "

/* All of a file, with a 0 behind it; NULL: it cannot be read, and errno is set. */
static char *slurp(int dirfd, const char *name, size_t *size)
{
	int fd = rp_fd_open_file(dirfd, name);
	struct stat st;
	char *text = NULL;
	size_t n = 0;

	if (fd < 0 || fstat(fd, &st) != 0)
		return NULL;
	text = rp_alloc((size_t)st.st_size + 1, 1);
	while (n < (size_t)st.st_size) {
		ssize_t done = read(fd, text + n, (size_t)st.st_size - n);

		if (done <= 0)
			break;
		n += (size_t)done;
	}
	close(fd);
	*size = n;
	return text;
}

static int spill(int dirfd, const char *name, const void *bytes, size_t n)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = 0;
	const char *from = bytes;

	if (fd < 0)
		return -errno;
	while (n && !rc) {
		ssize_t done = write(fd, from, n);

		if (done < 0 && errno != EINTR)
			rc = -errno;
		from += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	if (close(fd) != 0 && !rc)
		rc = -errno;
	return rc;
}

static int parse(char *text, struct replay_live *live)
{
	char *check = strstr(text, CHECK), *p = text;
	int n = 0;

	if (!check ||
	    strtoull(check + strlen(CHECK), NULL, 16) != XXH3_64bits(text, (size_t)(check - text)))
		return -EBADMSG;
	*check = '\0';
	if (sscanf(p, HEAD, &live->all.messages, &live->all.bytes, &live->logged.messages,
		   &live->logged.bytes, &n) != 4)
		return -EBADMSG;
	for (p += n; *p; p += n) {
		struct replay_live_need need;

		if (sscanf(p, NEED, &need.receiver, &need.receiving, &need.sender, &need.sending,
			   &n) != 4)
			return -EBADMSG;
		live->need = rp_realloc(live->need, live->needs + 1, sizeof(need));
		live->need[live->needs++] = need;
	}
	return 1;
}

int replay_live_read(const struct trace_run *run, struct replay_live *live)
{
	size_t n;
	char *text = slurp(run->dir.fd, "log/" REPLAY_LIVE_FILE, &n);
	int rc = text ? 0 : -errno;

	*live = (struct replay_live){0};
	if (!text)
		return rc == -ENOENT ? 0 : -EBADMSG;
	rc = parse(text, live);
	for (size_t i = 0; i < live->needs && rc == 1; i++) {
		if (live->need[i].receiver >= run->ranks || live->need[i].sender >= run->ranks)
			rc = -EBADMSG;
	}
	if (rc < 0)
		replay_live_free(live);
	free(text);
	return rc;
}

void replay_live_free(struct replay_live *live)
{
	free(live->need);
	*live = (struct replay_live){0};
}

char *replay_live_text(const struct trace_run *run)
{
	struct replay_live live;
	int rc = replay_live_read(run, &live);
	char *ranks = replay_ranks_logged_text(run);
	char *text = rc <= 0 ? rp_format("%s%s", ranks, rc ? ", damaged" : "")
			     : rp_format("%s with %" PRIu64 " of %" PRIu64 " messages (--log=mrt)",
					 ranks, live.logged.messages, live.all.messages);

	free(ranks);
	replay_live_free(&live);
	return text;
}

int replay_live_write(int logfd, const struct replay_live *live)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	int rc;

	if (!out)
		return -ENOMEM;
	fprintf(out, "live 1 all %" PRIu64 " %" PRIu64 " logged %" PRIu64 " %" PRIu64,
		live->all.messages, live->all.bytes, live->logged.messages, live->logged.bytes);
	for (size_t i = 0; i < live->needs; i++) {
		const struct replay_live_need *need = &live->need[i];

		fprintf(out, "\n%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32, need->receiver,
			need->receiving, need->sender, need->sending);
	}
	fflush(out);
	fprintf(out, CHECK "%" PRIx64 "\n", (uint64_t)XXH3_64bits(text, n));
	rc = fclose(out) == 0 ? spill(logfd, REPLAY_LIVE_FILE, text, n) : -ENOMEM;
	free(text);
	return rc;
}

int replay_live_pack(int dirfd, const char *name, const struct trace_live_entry *entry, size_t n)
{
	size_t bytes = sizeof(struct trace_live_head) + n * sizeof(*entry);
	size_t room = ZSTD_compressBound(bytes);
	struct trace_live_head *head = rp_alloc(bytes, 1);
	char *packed = rp_alloc(room, 1);
	int rc;

	memcpy(head->magic, TRACE_LIVE_MAGIC, sizeof(head->magic));
	head->version = TRACE_LIVE_VERSION;
	head->entries = n;
	head->check = XXH3_64bits(entry, n * sizeof(*entry));
	if (n)
		memcpy(head + 1, entry, n * sizeof(*entry));
	room = ZSTD_compress(packed, room, head, bytes, LEVEL);
	rc = ZSTD_isError(room) ? -EIO : spill(dirfd, name, packed, room);
	free(packed);
	free(head);
	return rc;
}

static bool is_good(const struct trace_live_head *head, size_t n)
{
	return n >= sizeof(*head) &&
	       memcmp(head->magic, TRACE_LIVE_MAGIC, sizeof(head->magic)) == 0 &&
	       head->version == TRACE_LIVE_VERSION &&
	       head->entries == (n - sizeof(*head)) / sizeof(struct trace_live_entry) &&
	       head->check == XXH3_64bits(head + 1, n - sizeof(*head));
}

/* For tests: all messages are others than they were. */
static void change_hashes(struct trace_live_head *head)
{
	struct trace_live_entry *entry = (struct trace_live_entry *)(head + 1);
	const char *fault = getenv("REPRISE_FAULT");

	for (uint64_t i = 0; fault && strcmp(fault, "live") == 0 && i < head->entries; i++)
		entry[i].hash ^= 1;
}

int replay_live_unpack(int from, const char *name, int to, const char *result)
{
	size_t n;
	char *packed = slurp(from, name, &n), *raw = NULL;
	unsigned long long size;
	int rc = packed ? 0 : -errno;

	if (rc)
		return rc;
	size = ZSTD_getFrameContentSize(packed, n);
	/* A table that says it is far larger than its file is none. */
	if (ZSTD_isError(size) || size / 4096 > n) {
		rc = -EBADMSG;
	} else {
		raw = rp_alloc(size + 1, 1);
		n = ZSTD_decompress(raw, size, packed, n);
		rc = !ZSTD_isError(n) && is_good((void *)raw, n) ? 0 : -EBADMSG;
	}
	if (!rc) {
		change_hashes((void *)raw);
		rc = spill(to, result, raw, n);
	}
	free(raw);
	free(packed);
	return rc;
}

bool replay_live_settle(const struct replay_live *live, size_t ranks, uint32_t number[],
			uint32_t (*take)(void *context, size_t rank, uint32_t most), void *context)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < live->needs; i++) {
			const struct replay_live_need *need = &live->need[i];

			if (need->receiver >= ranks || need->sender >= ranks ||
			    number[need->receiver] > need->receiving ||
			    number[need->sender] <= need->sending)
				continue;
			number[need->sender] = take(context, need->sender, need->sending);
			if (!number[need->sender])
				return false;
			changed = true;
		}
	}
	return true;
}

int replay_live_tell(const struct replay_front *f)
{
	if (mkdirat(f->session_fd, "live", 0700) != 0)
		return -errno;
	for (size_t i = 0; i < f->ranks; i++) {
		if (replay_alone_is_in(f, i))
			f->state->slot[i].flags |= REPLAY_LIVE;
	}
	return 0;
}
