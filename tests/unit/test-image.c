/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images as the tool reads them: a good one is good; one that is cut anywhere, changed in any byte,
 * or whose tables lie although their checksums are right, is refused.
 */
#include "ckpt/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

#include "scratch.h"

#define PAGES 3

/* A small image: one thread, one map, one run, a descriptor, some text. */
struct file {
	struct ckpt_head head;
	char pad[(CKPT_PAGE - sizeof(struct ckpt_head) % CKPT_PAGE) % CKPT_PAGE];
	uint8_t page[PAGES][CKPT_PAGE];
	struct ckpt_thread thread;
	struct ckpt_map map;
	struct ckpt_run run;
	uint64_t hash[PAGES];
	struct ckpt_fd fd;
	char text[16];
};

static void put(struct file *f, enum ckpt_section_kind kind, const void *at, size_t bytes)
{
	f->head.section[kind] = (struct ckpt_section){
		.at = (uint64_t)((const char *)at - (const char *)f),
		.bytes = bytes,
		.check = XXH3_64bits(at, bytes),
	};
}

/* Checksums are right again, whatever is in it. */
static void seal(struct file *f)
{
	put(f, CKPT_PAGES, f->page, sizeof(f->page));
	put(f, CKPT_THREADS, &f->thread, sizeof(f->thread));
	put(f, CKPT_MAPS, &f->map, sizeof(f->map));
	put(f, CKPT_RUNS, &f->run, sizeof(f->run));
	put(f, CKPT_HASHES, f->hash, sizeof(f->hash));
	put(f, CKPT_FDS, &f->fd, sizeof(f->fd));
	put(f, CKPT_TEXT, f->text, sizeof(f->text));
	put(f, CKPT_OUTPUT, f->text, 0);
	put(f, CKPT_COPIES, f->text, 0);
	f->head.check = XXH3_64bits(&f->head, offsetof(struct ckpt_head, check));
}

static void make(struct file *f)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->head.magic, CKPT_MAGIC, sizeof(f->head.magic));
	f->head.version = CKPT_VERSION;
	f->head.head_bytes = sizeof(f->head);
	f->head.number = 1;
	f->head.pages = PAGES;
	f->head.cwd = f->head.program = 1;
	f->thread.flags = CKPT_THREAD_MAIN | CKPT_THREAD_TAKER;
	f->map.start = 0x10000;
	f->map.end = 0x20000;
	f->map.kind = CKPT_MAP_ANON;
	f->map.runs = 1;
	f->run.address = 0x11000;
	f->run.pages = PAGES;
	f->run.image = 1;
	f->run.at = offsetof(struct file, page);
	f->fd.kind = CKPT_FD_KEPT;
	strcpy(f->text + 1, "/tmp");
	for (size_t i = 0; i < PAGES; i++) {
		for (size_t k = 0; k < CKPT_PAGE; k++)
			f->page[i][k] = (uint8_t)(i * 7 + k);
		f->hash[i] = XXH3_64bits(f->page[i], CKPT_PAGE);
	}
	seal(f);
}

/* What is wrong with these bytes, or NULL; the caller frees. */
static char *judge(const struct scratch *dir, const void *bytes, size_t n)
{
	char path[4200];
	struct ckpt_image image;
	char *damage;
	FILE *out;

	snprintf(path, sizeof(path), "%s/1.image", dir->path);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, n, out), n);
	assert_int_equal(fclose(out), 0);
	ckpt_image_open(&image, path);
	ckpt_image_check_pages(&image);
	damage = image.damage ? strdup(image.damage) : NULL;
	ckpt_image_close(&image);
	return damage;
}

static void must_be_bad(const struct scratch *dir, const struct file *f, size_t n)
{
	char *damage = judge(dir, f, n);

	assert_non_null(damage);
	free(damage);
}

static void test_good(void **state)
{
	const struct scratch *dir = *state;
	struct file f;

	make(&f);
	assert_null(judge(dir, &f, sizeof(f)));
}

static void test_cut(void **state)
{
	const struct scratch *dir = *state;
	struct file f;

	make(&f);
	for (size_t n = 0; n < sizeof(f) - sizeof(f.text); n += 61)
		must_be_bad(dir, &f, n);
}

/* A terabyte of nothing is not read through. */
static void test_holes(void **state)
{
	const struct scratch *dir = *state;
	struct ckpt_image image;
	char path[4200];
	struct file f;

	make(&f);
	assert_null(judge(dir, &f, sizeof(f)));
	snprintf(path, sizeof(path), "%s/1.image", dir->path);
	assert_int_equal(truncate(path, 1l << 40), 0);
	ckpt_image_open(&image, path);
	assert_string_equal(image.damage, "has holes");
	ckpt_image_close(&image);
}

/* But for the padding, which means nothing. */
static void test_changed(void **state)
{
	const struct scratch *dir = *state;
	struct file f;

	for (size_t at = 0; at < sizeof(f); at += at < sizeof(f.head) ? 13 : 37) {
		make(&f);
		if (at >= sizeof(f.head) && at < offsetof(struct file, page))
			continue;
		((uint8_t *)&f)[at] ^= 0x10;
		must_be_bad(dir, &f, sizeof(f));
	}
}

static void test_lies(void **state)
{
	const struct scratch *dir = *state;
	struct file f;
#define LIE(change)                                                                                \
	make(&f);                                                                                  \
	change;                                                                                    \
	seal(&f);                                                                                  \
	must_be_bad(dir, &f, sizeof(f))

	LIE(f.map.end = f.map.start);
	LIE(f.map.start = 0x10001);
	LIE(f.map.kind = 9);
	LIE(f.map.kind = 0);
	LIE(f.map.base = 3);
	LIE(f.map.path = sizeof(f.text));
	LIE(f.map.first_run = 1);
	LIE(f.map.runs = UINT32_MAX);
	LIE(f.run.address = 0xf000);
	LIE(f.run.address = 0x1e000);
	LIE(f.run.pages = UINT32_MAX);
	LIE(f.run.pages = 2);
	LIE(f.run.image = 2);
	LIE(f.run.image = 0);
	LIE(f.run.at = 0);
	LIE(f.run.at = UINT64_MAX - CKPT_PAGE);
	LIE(f.fd.kind = 99);
	LIE(f.fd.same = 3);
	LIE(f.fd.path = UINT32_MAX);
	LIE(f.fd.copy_bytes = 1);
	LIE(f.thread.flags = CKPT_THREAD_MAIN);
	LIE(f.thread.flags = 0);
	LIE(f.head.cwd = sizeof(f.text));
	LIE(f.head.pages = 7);
	LIE(f.head.mm.auxv_bytes = UINT32_MAX);
	LIE(memset(f.head.kernel, 'x', sizeof(f.head.kernel)));
	LIE(memset(f.head.processor, 'x', sizeof(f.head.processor)));
	LIE(memset(f.text, 'x', sizeof(f.text)));
	LIE(f.head.version++);
	LIE(f.hash[1]++);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_good),    scratch_test(test_cut),  scratch_test(test_holes),
		scratch_test(test_changed), scratch_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
