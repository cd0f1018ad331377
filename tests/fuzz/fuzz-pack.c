/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an archive that is unpacked. The first byte chooses: as they are, or as entries of
 * tar, with checksums and the outer compression set right so that they get past those. Of an
 * archive that is refused nothing may be left, and what is unpacked is a trace.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "forge.h"
#include "trace/pack.h"
#include "trace/tar.h"

#define LARGEST (256 << 10)
#define CHECKSUM 148
#define TYPE 156

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char archive[256];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	forge_open("pack");
	forge_require(setenv("REPRISE_TRACE_DIR", forge_path(), 1) == 0);
	snprintf(archive, sizeof(archive), "%s/archive", forge_path());
	return 0;
}

/* Every block that may be a header gets the checksum of one. */
static void set_right(uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at + TRACE_TAR_BLOCK <= size; at += TRACE_TAR_BLOCK) {
		uint8_t *block = bytes + at;
		unsigned sum = 8 * ' ';

		if (memcmp(block + 257, "ustar", 5))
			continue;
		for (size_t i = 0; i < TRACE_TAR_BLOCK; i++)
			sum += i < CHECKSUM || i >= TYPE ? block[i] : 0;
		snprintf((char *)block + CHECKSUM, 7, "%06o", sum);
		block[CHECKSUM + 7] = ' ';
	}
}

static void write_archive(const void *bytes, size_t size)
{
	int fd = open(archive, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	forge_require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void write_entries(const uint8_t *data, size_t size)
{
	static uint8_t tar[LARGEST + 2 * TRACE_TAR_BLOCK], packed[2 * sizeof(tar)];
	size_t n;

	memset(tar, 0, sizeof(tar));
	memcpy(tar, data, size);
	set_right(tar, size);
	size = (size + 3 * TRACE_TAR_BLOCK - 1) & ~(size_t)(TRACE_TAR_BLOCK - 1);
	n = ZSTD_compress(packed, sizeof(packed), tar, size, 1);
	forge_require(!ZSTD_isError(n));
	write_archive(packed, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_packed packed;
	struct trace_dir dir;
	char *show;

	if (!size || size > LARGEST)
		return 0;
	if (data[0] & 1)
		write_entries(data + 1, size - 1);
	else
		write_archive(data + 1, size - 1);
	if (trace_unpack(archive, forge_output(), &packed, &show) == 0) {
		free(show);
		forge_require(trace_dir_open(&dir, forge_output()) == 0);
		forge_require(trace_dir_delete(&dir) == 0);
		trace_dir_close(&dir);
	}
	forge_require(access(forge_output(), F_OK) != 0);
	return 0;
}
