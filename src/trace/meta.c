/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of a run and of a rank, by jansson. "check" is the xxHash64 of the compact, key-sorted dump
 * of the object without it. It shows whether the file was edited by hand or damaged on disk.
 * Nothing is taken from a file before its check and its format version are right. "seal"
 * (trace/seal.h) covers the dump without both, because these files say what a replay runs.
 */
#include "trace/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/seal.h"
#include "trace/words.h"

#define FILE_MAX (10u << 20) /* arguments and environment are 6 MB at most */
#define CHECK_BYTES 17

static json_t *put_string(const char *s)
{
	json_t *plain = json_string(s);
	size_t n = strlen(s);
	json_t *object;
	char *hex;

	if (plain)
		return plain;
	hex = rp_alloc(n + 1, 2);
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)s[i]);
	object = json_pack("{s:s}", "hex", hex);
	free(hex);
	return object;
}

static json_t *put_strings(char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list && list[i]; i++)
		json_array_append_new(array, put_string(list[i]));
	return array;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL if it is not a string in our form; a NUL inside is not allowed. */
static char *get_string(const json_t *value)
{
	const char *hex = json_string_value(json_object_get(value, "hex"));
	size_t n;
	char *s;

	if (json_is_string(value))
		return rp_strdup(json_string_value(value));
	if (!hex || strlen(hex) % 2)
		return NULL;
	n = strlen(hex) / 2;
	s = rp_alloc(n + 1, 1);
	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0 || high + low == 0) {
			free(s);
			return NULL;
		}
		s[i] = (char)(high << 4 | low);
	}
	return s;
}

static bool take_string(const json_t *object, const char *key, char **out)
{
	*out = get_string(json_object_get(object, key));
	return *out != NULL;
}

static bool take_strings(const json_t *object, const char *key, char ***out)
{
	const json_t *array = json_object_get(object, key);
	size_t n = json_array_size(array);

	if (!json_is_array(array))
		return false;
	*out = rp_alloc(n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++) {
		(*out)[i] = get_string(json_array_get(array, i));
		if (!(*out)[i])
			return false;
	}
	return true;
}

static bool take_integer(const json_t *object, const char *key, int64_t min, int64_t max,
			 int64_t *out)
{
	const json_t *value = json_object_get(object, key);

	*out = json_integer_value(value);
	return json_is_integer(value) && *out >= min && *out <= max;
}

static char *dump_of(const json_t *object)
{
	return json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
}

static bool check_of(const json_t *object, char check[CHECK_BYTES])
{
	char *dump = dump_of(object);

	if (!dump)
		return false;
	snprintf(check, CHECK_BYTES, "%016" PRIx64, (uint64_t)XXH64(dump, strlen(dump), 0));
	free(dump);
	return true;
}

static int write_all(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? -errno : -ENOSPC;
		text += done;
		n -= (size_t)done;
	}
	return 0;
}

static int replace_file(int dirfd, const char *name, const char *text)
{
	char *temp = rp_format(".%s-%ld", name, (long)getpid());
	int fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0) {
		rc = -errno;
		free(temp);
		return rc;
	}
	rc = write_all(fd, text, strlen(text));
	if (close(fd) != 0 && !rc)
		rc = -errno;
	if (!rc && renameat(dirfd, temp, dirfd, name) != 0)
		rc = -errno;
	if (rc)
		unlinkat(dirfd, temp, 0);
	free(temp);
	return rc;
}

/* Without a key the file stays unsealed: a replay will ask. */
static bool put_seal(json_t *object)
{
	char seal[TRACE_SEAL_BYTES];
	char *dump = object ? dump_of(object) : NULL;
	bool done = dump != NULL;

	if (done && trace_seal_make(dump, seal))
		done = json_object_set_new(object, "seal", json_string(seal)) == 0;
	free(dump);
	return done;
}

/* The seal is gone then. */
static bool take_seal(json_t *object)
{
	const char *value = json_string_value(json_object_get(object, "seal"));
	char *seal = rp_strdup(value ? value : ""), *dump;
	bool matches;

	json_object_del(object, "seal");
	dump = dump_of(object);
	matches = dump && *seal && trace_seal_matches(dump, seal);
	free(dump);
	free(seal);
	return matches;
}

/* Takes the object. */
static int write_object(int dirfd, const char *name, json_t *object)
{
	char check[CHECK_BYTES];
	char *text = NULL, *line;
	int rc;

	if (put_seal(object) && check_of(object, check) &&
	    json_object_set_new(object, "check", json_string(check)) == 0)
		text = json_dumps(object, JSON_INDENT(1));
	json_decref(object);
	if (!text)
		return -ENOMEM;
	line = rp_format("%s\n", text);
	free(text);
	rc = replace_file(dirfd, name, line);
	free(line);
	return rc;
}

/* The whole file, or NULL and errno. */
static char *read_text(int dirfd, const char *name, size_t *length)
{
	int fd = rp_fd_open_file(dirfd, name);
	size_t n = 0, room = 1 << 16;
	ssize_t got = -1;
	char *text;

	if (fd < 0)
		return NULL;
	text = rp_alloc(room, 1);
	while ((got = read(fd, text + n, room - n)) > 0) {
		n += (size_t)got;
		if (n >= FILE_MAX)
			break;
		if (n == room)
			text = rp_realloc(text, room *= 2, 1);
	}
	if (got != 0) {
		int err = got < 0 ? errno : EFBIG;

		free(text);
		text = NULL;
		errno = err;
	}
	close(fd);
	*length = n;
	return text;
}

static bool check_matches(json_t *object)
{
	const char *value = json_string_value(json_object_get(object, "check"));
	char stored[CHECK_BYTES], computed[CHECK_BYTES];

	if (!value || strlen(value) != CHECK_BYTES - 1)
		return false;
	memcpy(stored, value, CHECK_BYTES);
	json_object_del(object, "check");
	return check_of(object, computed) && !strcmp(stored, computed);
}

/* NULL after saying why. `what` is "meta.json" or "rank-0003/start.json". */
static json_t *read_object(const struct trace_dir *dir, const char *what)
{
	int64_t format = 0;
	json_t *object = NULL;
	size_t n;
	char *text = read_text(dir->fd, what, &n);

	if (!text) {
		rp_say("cannot read %s of the trace %s: %s", what, dir->show, strerror(errno));
		return NULL;
	}
	object = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	if (!json_is_object(object))
		rp_say("%s of the trace %s is damaged", what, dir->show);
	else if (take_integer(object, "format", TRACE_VERSION + 1, INT_MAX, &format))
		rp_say("the trace %s was written by a newer Reprise (format %d, this one reads up "
		       "to %d)",
		       dir->show, (int)format, TRACE_VERSION);
	else if (!check_matches(object) || format < TRACE_VERSION_OLDEST || format > TRACE_VERSION)
		rp_say("%s of the trace %s is damaged", what, dir->show);
	else
		return object;
	json_decref(object);
	return NULL;
}

static int damaged(const struct trace_dir *dir, const char *what)
{
	rp_say("%s of the trace %s is damaged", what, dir->show);
	return RP_EXIT_BAD_INPUT;
}

static json_t *put_ended(const struct trace_meta *meta)
{
	return json_pack("{s:i, s:f}", meta->ended == TRACE_ENDED_EXIT ? "exit" : "signal",
			 meta->status, "seconds", meta->seconds);
}

int trace_meta_write(const struct trace_dir *dir, const struct trace_meta *meta)
{
	json_t *object = json_pack("{s:i, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "format",
				   TRACE_VERSION, "reprise", put_string(meta->version), "argv",
				   put_strings(meta->argv), "mpi", put_string(meta->mpi), "front",
				   (int)meta->front, "cwd", put_string(meta->cwd), "host",
				   put_string(meta->host), "start", put_string(meta->start));
	char seed[24];

	if (object && meta->place)
		json_object_set_new(object, "trace", put_string(meta->place));
	if (object && meta->env)
		json_object_set_new(object, "env", put_strings(meta->env));
	if (object && meta->noisy) {
		snprintf(seed, sizeof(seed), "%" PRIu64, meta->noise);
		json_object_set_new(object, "noise", json_string(seed));
	}
	if (object && meta->tracing)
		json_object_set_new(object, "tracing", json_integer(meta->tracing));
	if (object && meta->system_heap)
		json_object_set_new(object, "heap", json_string("system"));
	if (object && meta->threads)
		json_object_set_new(object, "threads",
				    json_string(trace_threads_name(meta->threads)));
	if (object && meta->ended)
		json_object_set_new(object, "ended", put_ended(meta));
	if (object && meta->origin)
		json_object_set_new(object, "origin", put_string(meta->origin));
	return write_object(dir->fd, "meta.json", object);
}

static bool take_noise(const json_t *object, struct trace_meta *meta)
{
	const json_t *value = json_object_get(object, "noise");
	const char *text = json_string_value(value);
	char *end;

	if (!value)
		return true;
	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	meta->noise = strtoull(text, &end, 10);
	meta->noisy = true;
	return !*end && !errno;
}

static bool take_tracing(const json_t *object, struct trace_meta *meta)
{
	int64_t mode = 0;

	if (json_object_get(object, "tracing") &&
	    !take_integer(object, "tracing", 0, TRACE_MODES - 1, &mode))
		return false;
	meta->tracing = (uint32_t)mode;
	return true;
}

static bool take_heap(const json_t *object, struct trace_meta *meta)
{
	const json_t *value = json_object_get(object, "heap");
	const char *text = json_string_value(value);

	meta->system_heap = text && strcmp(text, "system") == 0;
	return !value || meta->system_heap;
}

static bool take_threads(const json_t *object, struct trace_meta *meta)
{
	const json_t *value = json_object_get(object, "threads");

	meta->threads = TRACE_THREADS_PARALLEL;
	return !value || (json_is_string(value) &&
			  trace_threads_parse(json_string_value(value), &meta->threads));
}

static bool take_ended(const json_t *object, struct trace_meta *meta)
{
	const json_t *ended = json_object_get(object, "ended");
	int64_t status;

	if (!ended)
		return true;
	meta->seconds = json_number_value(json_object_get(ended, "seconds"));
	if (take_integer(ended, "exit", 0, 255, &status))
		meta->ended = TRACE_ENDED_EXIT;
	else if (take_integer(ended, "signal", 1, 127, &status))
		meta->ended = TRACE_ENDED_SIGNAL;
	else
		return false;
	meta->status = (int)status;
	return meta->seconds >= 0;
}

int trace_meta_read(const struct trace_dir *dir, struct trace_meta *meta)
{
	json_t *object = read_object(dir, "meta.json");
	const json_t *front = json_object_get(object, "front");
	bool good;

	*meta = (struct trace_meta){0};
	if (!object)
		return RP_EXIT_BAD_INPUT;
	meta->sealed = take_seal(object);
	meta->format = (unsigned)json_integer_value(json_object_get(object, "format"));
	meta->front = json_is_true(front);
	good = json_is_boolean(front) && take_string(object, "reprise", &meta->version) &&
	       take_strings(object, "argv", &meta->argv) && meta->argv[0] &&
	       take_string(object, "mpi", &meta->mpi) && take_string(object, "cwd", &meta->cwd) &&
	       take_string(object, "host", &meta->host) &&
	       take_string(object, "start", &meta->start) && take_noise(object, meta) &&
	       take_tracing(object, meta) && take_heap(object, meta) &&
	       take_threads(object, meta) && take_ended(object, meta) &&
	       (!json_object_get(object, "env") || take_strings(object, "env", &meta->env)) &&
	       (!json_object_get(object, "trace") || take_string(object, "trace", &meta->place)) &&
	       (!json_object_get(object, "origin") || take_string(object, "origin", &meta->origin));
	json_decref(object);
	if (good)
		return 0;
	trace_meta_free(meta);
	return damaged(dir, "meta.json");
}

void trace_meta_free(struct trace_meta *meta)
{
	free(meta->version);
	rp_strings_free(meta->argv);
	free(meta->mpi);
	rp_strings_free(meta->env);
	free(meta->cwd);
	free(meta->host);
	free(meta->place);
	free(meta->start);
	free(meta->origin);
	*meta = (struct trace_meta){0};
}

int trace_start_write(int rankfd, const struct trace_start *start)
{
	json_t *object = json_pack(
		"{s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "format", TRACE_VERSION,
		"rank", (json_int_t)start->rank, "argv", put_strings(start->argv), "env",
		put_strings(start->env), "cwd", put_string(start->cwd), "host",
		put_string(start->host), "program", put_string(start->program), "build-id",
		put_string(start->build_id), "mpi", put_string(start->mpi), "stdin",
		put_string(start->input), "stack", (json_int_t)start->stack);

	return write_object(rankfd, "start.json", object);
}

int trace_start_read(const struct trace_dir *dir, unsigned rank, struct trace_start *start)
{
	char name[TRACE_RANK_NAME_BYTES], what[TRACE_RANK_NAME_BYTES + 16];
	int64_t number = 0, stack = 0;
	json_t *object;
	bool good;

	*start = (struct trace_start){.rank = rank};
	trace_dir_rank_name(rank, name);
	snprintf(what, sizeof(what), "%s/start.json", name);
	object = read_object(dir, what);
	if (!object)
		return RP_EXIT_BAD_INPUT;
	start->sealed = take_seal(object);
	good = take_integer(object, "rank", rank, rank, &number) &&
	       take_strings(object, "argv", &start->argv) && start->argv[0] &&
	       take_strings(object, "env", &start->env) &&
	       take_string(object, "cwd", &start->cwd) &&
	       take_string(object, "host", &start->host) &&
	       take_string(object, "program", &start->program) &&
	       take_string(object, "build-id", &start->build_id) &&
	       take_string(object, "mpi", &start->mpi) &&
	       take_string(object, "stdin", &start->input) &&
	       take_integer(object, "stack", 0, INT_MAX, &stack);
	start->stack = (uint64_t)stack;
	json_decref(object);
	if (good)
		return 0;
	trace_start_free(start);
	return damaged(dir, what);
}

void trace_start_free(struct trace_start *start)
{
	rp_strings_free(start->argv);
	rp_strings_free(start->env);
	free(start->cwd);
	free(start->host);
	free(start->program);
	free(start->build_id);
	free(start->mpi);
	free(start->input);
	*start = (struct trace_start){0};
}
