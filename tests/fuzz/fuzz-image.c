/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of a process, the second based on the first, with bytes of them changed at any places. The
 * first byte of the input chooses whether checksums are set right after that: otherwise nothing
 * behind them would ever be read. Then come the changes: which image, where, how many bytes, bytes.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "ckpt/image.h"
#include "forge.h"

enum { SECTION = 8192, PAGES = 4, THREADS = 2, MAPS = 3, RUNS = 3, FDS = 3, AT = 2 * CKPT_PAGE };
#define FILE_BYTES (AT + CKPT_SECTIONS * SECTION + PAGES * CKPT_PAGE)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union image {
	struct ckpt_head head;
	uint8_t bytes[FILE_BYTES];
} good[2], image[2];

static void *put(union image *i, enum ckpt_section_kind kind, uint64_t bytes)
{
	i->head.section[kind] = (struct ckpt_section){AT + kind * SECTION, bytes, 0};
	return i->bytes + AT + kind * SECTION;
}

static void make(union image *i, uint32_t number)
{
	struct ckpt_head *h = &i->head;
	struct ckpt_thread *t = put(i, CKPT_THREADS, THREADS * sizeof(*t));
	struct ckpt_map *m = put(i, CKPT_MAPS, MAPS * sizeof(*m));
	struct ckpt_run *r = put(i, CKPT_RUNS, RUNS * sizeof(*r));
	struct ckpt_fd *f = put(i, CKPT_FDS, FDS * sizeof(*f));
	uint64_t at = AT + CKPT_PAGES * SECTION;

	*h = (struct ckpt_head){.version = CKPT_VERSION,
				.head_bytes = sizeof(*h),
				.number = number,
				.pages = PAGES};
	memcpy(h->magic, CKPT_MAGIC, sizeof(h->magic));
	put(i, CKPT_THREADS, THREADS * sizeof(*t));
	put(i, CKPT_MAPS, MAPS * sizeof(*m));
	put(i, CKPT_RUNS, RUNS * sizeof(*r));
	put(i, CKPT_FDS, FDS * sizeof(*f));
	put(i, CKPT_HASHES, PAGES * sizeof(uint64_t));
	put(i, CKPT_OUTPUT, 100);
	put(i, CKPT_COPIES, 40);
	put(i, CKPT_PAGES, PAGES * CKPT_PAGE);
	memcpy(put(i, CKPT_TEXT, 16), "\0/etc/passwd\0/x", 16);
	h->program = 1;
	t[0].flags = CKPT_THREAD_MAIN;
	t[1].flags = CKPT_THREAD_TAKER;
	for (uint32_t k = 0; k < MAPS; k++)
		m[k] = (struct ckpt_map){.start = 0x10000 + k * 0x10000,
					 .end = 0x18000 + k * 0x10000,
					 .kind = CKPT_MAP_ANON + k,
					 .first_run = k,
					 .runs = 1,
					 .path = k == 1};
	r[0] = (struct ckpt_run){m[0].start, 2, number, at};
	r[1] = (struct ckpt_run){m[1].start + CKPT_PAGE, 1, 0, at + 2 * CKPT_PAGE};
	r[2] = (struct ckpt_run){m[2].start, 1, number, at + 3 * CKPT_PAGE};
	f[0] = (struct ckpt_fd){.kind = CKPT_FD_KEPT};
	f[1] = (struct ckpt_fd){.fd = 3, .kind = CKPT_FD_COPY, .copy = 8, .copy_bytes = 32};
	f[2] = (struct ckpt_fd){.fd = 4, .kind = CKPT_FD_SAME, .same = 3};
}

static bool is_inside(uint64_t at, uint64_t bytes)
{
	return at <= FILE_BYTES && bytes <= FILE_BYTES - at;
}

static bool is_section_inside(const union image *i, enum ckpt_section_kind kind)
{
	return is_inside(i->head.section[kind].at, i->head.section[kind].bytes);
}

/* Of the runs as far as they and their hashes are in the files. */
static void set_hashes(union image *i)
{
	const struct ckpt_section *runs = &i->head.section[CKPT_RUNS];
	const struct ckpt_section *hashes = &i->head.section[CKPT_HASHES];
	uint64_t n = 0;

	if (!is_section_inside(i, CKPT_RUNS) || !is_section_inside(i, CKPT_HASHES))
		return;
	for (uint64_t k = 0; k < runs->bytes / sizeof(struct ckpt_run); k++) {
		struct ckpt_run r;

		memcpy(&r, i->bytes + runs->at + k * sizeof(r), sizeof(r));
		for (uint64_t page = 0; page < r.pages; page++, n++) {
			uint64_t at = r.at + page * CKPT_PAGE, hash;

			if (r.image > 1 || !is_inside(at, CKPT_PAGE) || n >= hashes->bytes / 8)
				return;
			hash = XXH3_64bits(image[r.image].bytes + at, CKPT_PAGE);
			memcpy(i->bytes + hashes->at + n * 8, &hash, sizeof(hash));
		}
	}
}

static void set_checks(union image *i)
{
	for (enum ckpt_section_kind k = 0; k < CKPT_SECTIONS; k++) {
		struct ckpt_section *s = &i->head.section[k];

		if (is_section_inside(i, k))
			s->check = XXH3_64bits(i->bytes + s->at, s->bytes);
	}
	i->head.check = XXH3_64bits(&i->head, offsetof(struct ckpt_head, check));
}

static void set_right(void)
{
	for (int k = 0; k < 2; k++) {
		set_hashes(&image[k]);
		set_checks(&image[k]);
	}
}

static void write_image(uint32_t number)
{
	char *path = ckpt_image_path(forge_path(), number);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	forge_require(fd >= 0 && write(fd, image[number].bytes, FILE_BYTES) == FILE_BYTES);
	close(fd);
	free(path);
}

/* As `lines` and `replay --from` look at them. True: nothing is wrong with it. */
static bool look(uint32_t number)
{
	char *path = ckpt_image_path(forge_path(), number);
	struct ckpt_image i;
	bool right;

	ckpt_image_open(&i, path);
	ckpt_image_check_pages(&i);
	right = !i.damage;
	ckpt_image_check_place(&i);
	if (right) {
		forge_require(strlen(ckpt_image_text(&i, i.head->cwd)) < FILE_BYTES);
		forge_require(strlen(ckpt_image_text(&i, i.head->program)) < FILE_BYTES);
	}
	ckpt_image_close(&i);
	free(path);
	return right;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	forge_open("image");
	for (uint32_t k = 0; k < 2; k++)
		make(&good[k], k);
	memcpy(image, good, sizeof(image));
	set_right();
	for (uint32_t k = 0; k < 2; k++)
		write_image(k);
	forge_require(look(0) && look(1));
	return 0;
}

static void change(const uint8_t *data, size_t size)
{
	while (size > 4) {
		uint8_t *to = image[data[0] & 1].bytes;
		size_t at = ((size_t)data[1] << 8 | data[2]) * (data[0] & 2 ? 8 : 1);
		size_t n = data[3] % 32 + 1u;

		data += 4;
		size -= 4;
		for (size_t i = 0; i < n && i < size && at + i < FILE_BYTES; i++)
			to[at + i] = data[i];
		n = n < size ? n : size;
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t *list;
	size_t n;

	if (!size)
		return 0;
	memcpy(image, good, sizeof(image));
	if (data[0] & 1) {
		change(data + 1, size - 1);
		set_right();
	} else {
		set_right();
		change(data + 1, size - 1);
	}
	for (uint32_t k = 0; k < 2; k++)
		write_image(k);
	list = ckpt_image_list(forge_path(), &n);
	forge_require(n == 2 && list[0] == 0 && list[1] == 1);
	free(list);
	look(0);
	look(1);
	return 0;
}
