/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs that do not have everything: what is said of them comes back, or its damage is noticed in
 * any byte; and a restart begins at the latest images with which nobody lacks a message.
 */
#include "replay/live.h"

#include <errno.h>
#include <sys/stat.h>

#include "scratch.h"

#define RANKS 4
#define IMAGES 4
#define NEEDS 12
#define ENTRIES 100

static struct replay_live_need need[NEEDS];

static void make_needs(uint64_t *seed)
{
	for (int i = 0; i < NEEDS; i++)
		need[i] = (struct replay_live_need){
			.receiver = (uint32_t)(random_next(seed) % RANKS),
			.receiving = 1 + (uint32_t)(random_next(seed) % IMAGES),
			.sender = (uint32_t)(random_next(seed) % RANKS),
			.sending = 1 + (uint32_t)(random_next(seed) % IMAGES),
		};
}

static void flip(const struct scratch *dir, const char *name, off_t at, int bit)
{
	int fd = openat(dir->fd, name, O_RDWR);
	unsigned char byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= (unsigned char)(1 << bit);
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static off_t size_of(const struct scratch *dir, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir->fd, name, &st, 0), 0);
	return st.st_size;
}

static void test_words(void **state)
{
	struct scratch *dir = *state;
	struct replay_live live = {.all = {870, 123456}, .logged = {12, 99}, .need = need}, back;
	struct trace_run run = {.dir.fd = dir->fd, .ranks = RANKS};
	uint64_t seed = 7;
	int fd, rc;

	assert_int_equal(replay_live_read(&run, &back), 0);
	make_needs(&seed);
	live.needs = NEEDS;
	assert_int_equal(mkdirat(dir->fd, "log", 0700), 0);
	fd = openat(dir->fd, "log", O_RDONLY | O_DIRECTORY);
	assert_int_equal(replay_live_write(fd, &live), 0);
	close(fd);
	assert_int_equal(replay_live_read(&run, &back), 1);
	assert_memory_equal(&back.all, &live.all, sizeof(live.all));
	assert_memory_equal(&back.logged, &live.logged, sizeof(live.logged));
	assert_int_equal(back.needs, NEEDS);
	assert_memory_equal(back.need, need, sizeof(need));
	replay_live_free(&back);
	/* The newline at the end says nothing. */
	for (off_t at = 0; at < size_of(dir, "log/live") - 1; at++) {
		flip(dir, "log/live", at, (int)(at % 8));
		rc = replay_live_read(&run, &back);
		if (rc != -EBADMSG) /* 'A' is 'a' to a checksum */
			assert_int_equal(rc, 1);
		if (rc == 1) {
			assert_int_equal(back.needs, NEEDS);
			assert_memory_equal(back.need, need, sizeof(need));
			replay_live_free(&back);
		}
		flip(dir, "log/live", at, (int)(at % 8));
	}
	run.ranks = 1;
	assert_int_equal(replay_live_read(&run, &back), -EBADMSG);
}

static void test_table(void **state)
{
	struct scratch *dir = *state;
	struct trace_live_entry entry[ENTRIES];
	struct trace_live_head head;
	uint64_t seed = 3;
	int fd;

	for (int i = 0; i < ENTRIES; i++)
		entry[i] = (struct trace_live_entry){.at = (uint64_t)i * 70,
						     .event = random_next(&seed) % 1000,
						     .hash = random_next(&seed),
						     .sender = (uint32_t)i % 3};
	assert_int_equal(replay_live_pack(dir->fd, "packed", entry, ENTRIES), 0);
	assert_int_equal(replay_live_pack(dir->fd, "none", NULL, 0), 0);
	assert_int_equal(replay_live_unpack(dir->fd, "packed", dir->fd, "table"), 0);
	assert_int_equal(replay_live_unpack(dir->fd, "none", dir->fd, "empty"), 0);
	assert_int_equal(size_of(dir, "empty"), sizeof(head));
	assert_int_equal(size_of(dir, "table"), sizeof(head) + sizeof(entry));
	fd = openat(dir->fd, "table", O_RDONLY);
	assert_int_equal(read(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(head.entries, ENTRIES);
	for (int i = 0; i < ENTRIES; i++) {
		struct trace_live_entry back;

		assert_int_equal(read(fd, &back, sizeof(back)), sizeof(back));
		assert_memory_equal(&back, &entry[i], sizeof(back));
	}
	close(fd);
	for (off_t at = 0; at < size_of(dir, "packed"); at++) {
		flip(dir, "packed", at, (int)(at % 8));
		unlinkat(dir->fd, "table", 0);
		if (replay_live_unpack(dir->fd, "packed", dir->fd, "table") != 0)
			assert_int_equal(faccessat(dir->fd, "table", F_OK, 0), -1);
		else /* zstd has bits that mean nothing */
			assert_int_equal(size_of(dir, "table"), sizeof(head) + sizeof(entry));
		flip(dir, "packed", at, (int)(at % 8));
	}
}

static bool is_line(const struct replay_live *live, const uint32_t number[])
{
	for (size_t i = 0; i < live->needs; i++) {
		const struct replay_live_need *n = &live->need[i];

		if (number[n->receiver] <= n->receiving && number[n->sender] > n->sending)
			return false;
	}
	return true;
}

/* Some images are of no use. */
static bool usable[RANKS][IMAGES + 1];

static uint32_t take(void *context, size_t rank, uint32_t most)
{
	(void)context;
	while (most && !usable[rank][most])
		most--;
	return most;
}

/* All choices of an image of each rank, none behind its start: there is one that is the latest. */
static bool find_latest(const struct replay_live *live, const uint32_t start[], uint32_t latest[])
{
	uint32_t number[RANKS];
	bool found = false;

	memset(latest, 0, RANKS * sizeof(*latest));
	for (int code = 0; code < 1 << 2 * RANKS; code++) {
		bool good = true;

		for (int q = 0; q < RANKS; q++) {
			number[q] = 1 + (uint32_t)(code >> 2 * q & 3);
			good = good && number[q] <= start[q] && usable[q][number[q]];
		}
		if (!good || !is_line(live, number))
			continue;
		found = true;
		for (int q = 0; q < RANKS; q++)
			latest[q] = number[q] > latest[q] ? number[q] : latest[q];
	}
	return found;
}

static void test_lines(void **state)
{
	struct replay_live live = {.need = need, .needs = NEEDS};
	uint64_t seed = 11;
	int found = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint32_t number[RANKS], start[RANKS], latest[RANKS];
		bool is;

		make_needs(&seed);
		for (uint32_t q = 0; q < RANKS; q++) {
			for (int i = 1; i <= IMAGES; i++)
				usable[q][i] = random_next(&seed) % 4 != 0;
			usable[q][1] = true;
			number[q] = start[q] =
				take(NULL, q, 1 + (uint32_t)(random_next(&seed) % IMAGES));
		}
		is = find_latest(&live, start, latest);
		found += is;
		assert_int_equal(replay_live_settle(&live, RANKS, number, take, NULL), is);
		if (is)
			assert_memory_equal(number, latest, sizeof(number));
	}
	assert_in_range(found, 200, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_words),
		scratch_test(test_table),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
