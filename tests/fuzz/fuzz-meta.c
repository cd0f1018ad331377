/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as meta.json and as rank-0000/start.json. Where they are a JSON object its check is
 * made right first: otherwise nothing behind the check would ever run.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <jansson.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/dir.h"
#include "trace/meta.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct trace_dir dir = {.fd = -1};

static void require(int condition)
{
	if (!condition)
		abort();
}

static void leave(void)
{
	unlinkat(dir.fd, "rank-0000/start.json", 0);
	unlinkat(dir.fd, "rank-0000", AT_REMOVEDIR);
	unlinkat(dir.fd, "meta.json", 0);
	rmdir(dir.path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char path[64];

	(void)argc;
	(void)argv;
	snprintf(path, sizeof(path), "%s/fuzz-meta-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(path) != NULL);
	dir.path = dir.show = path;
	dir.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	require(dir.fd >= 0 && mkdirat(dir.fd, "rank-0000", 0700) == 0);
	atexit(leave);
	return 0;
}

static void write_file(const char *name, const void *data, size_t size)
{
	int fd = openat(dir.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	require(fd >= 0);
	require(write(fd, data, size) == (ssize_t)size);
	close(fd);
}

/* The object with its check set right, or NULL if the bytes are no object. */
static char *with_check(const uint8_t *data, size_t size)
{
	json_t *object = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	char check[17];
	char *dump = NULL;

	if (json_is_object(object)) {
		json_object_del(object, "check");
		dump = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
	}
	if (dump) {
		snprintf(check, sizeof(check), "%016" PRIx64,
			 (uint64_t)XXH64(dump, strlen(dump), 0));
		free(dump);
		json_object_set_new(object, "check", json_string(check));
		dump = json_dumps(object, JSON_COMPACT);
	}
	json_decref(object);
	return dump;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = with_check(data, size);
	struct trace_meta meta;
	struct trace_start start;

	if (text) {
		data = (const uint8_t *)text;
		size = strlen(text);
	}
	write_file("meta.json", data, size);
	require(linkat(dir.fd, "meta.json", dir.fd, "rank-0000/start.json", 0) == 0);
	if (trace_meta_read(&dir, &meta) == 0) {
		require(meta.argv && meta.argv[0] && meta.version && meta.cwd);
		trace_meta_free(&meta);
	}
	if (trace_start_read(&dir, 0, &start) == 0) {
		require(start.argv && start.argv[0] && start.program && start.env);
		trace_start_free(&start);
	}
	unlinkat(dir.fd, "rank-0000/start.json", 0);
	free(text);
	return 0;
}
