/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise ls: the traces in one directory, oldest first. A trace is a directory that holds a
 * meta.json. One that cannot be read is listed all the same, with the reason.
 */
#include "cmd/cmd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/show.h"
#include "replay/images.h"
#include "trace/dir.h"
#include "trace/meta.h"
#include "trace/words.h"

struct entry {
	char *path;
	char *program; /* NULL if unknown */
	bool damaged;
	struct trace_meta meta; /* not if damaged */
	size_t ranks;
	uint64_t bytes;
	struct replay_images_sum checkpoints;
};

static char *program_of(const struct trace_dir *dir, unsigned rank)
{
	char file[TRACE_RANK_NAME_BYTES + 16], name[TRACE_RANK_NAME_BYTES];
	struct trace_start start;
	char *program;

	trace_dir_rank_name(rank, name);
	snprintf(file, sizeof(file), "%s/start.json", name);
	/* A rank that is only just starting has none yet: that is no damage. */
	if (faccessat(dir->fd, file, F_OK, 0) != 0)
		return NULL;
	if (trace_start_read(dir, rank, &start))
		return NULL;
	program = rp_strdup(basename(start.program));
	trace_start_free(&start);
	return program;
}

static void read_entry(struct entry *entry, const struct trace_dir *dir)
{
	struct trace_ranks ranks;
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	entry->bytes = fd < 0 ? 0 : cmd_show_usage(fd);
	entry->damaged = trace_meta_read(dir, &entry->meta) != 0;
	if (trace_dir_ranks(dir, &ranks))
		return;
	entry->ranks = ranks.n;
	replay_images_measure_all(dir, &entry->checkpoints);
	if (ranks.n)
		entry->program = program_of(dir, ranks.rank[0]);
	trace_ranks_free(&ranks);
}

static void free_entry(struct entry *entry)
{
	free(entry->path);
	free(entry->program);
	if (!entry->damaged)
		trace_meta_free(&entry->meta);
}

static bool is_trace(int parent, const char *name)
{
	struct stat st;
	char *meta;
	bool is;

	if (name[0] == '.' || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISDIR(st.st_mode))
		return false;
	meta = rp_format("%s/meta.json", name);
	is = faccessat(parent, meta, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	free(meta);
	return is;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->damaged ? "" : x->meta.start, y->damaged ? "" : y->meta.start);

	return order ? order : strverscmp(x->path, y->path);
}

/* Adds all traces below `parent`, and those that explorations of them made; 0 or -errno. */
static int find(const char *parent, struct entry **entries, size_t *n)
{
	DIR *dir = opendir(parent);
	struct dirent *d;
	char *explored;

	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		struct trace_dir trace;
		struct entry entry = {0};

		if (!is_trace(dirfd(dir), d->d_name))
			continue;
		entry.path = strcmp(parent, ".") ? rp_format("%s/%s", parent, d->d_name)
						 : rp_strdup(d->d_name);
		if (trace_dir_enter(&trace, entry.path)) {
			free(entry.path);
			continue;
		}
		read_entry(&entry, &trace);
		trace_dir_close(&trace);
		*entries = rp_realloc(*entries, *n + 1, sizeof(entry));
		(*entries)[(*n)++] = entry;
		explored = rp_format("%s/explore", entry.path);
		find(explored, entries, n);
		free(explored);
	}
	closedir(dir);
	return 0;
}

static char *ended(const struct entry *entry)
{
	if (entry->damaged)
		return rp_strdup("damaged");
	if (!entry->meta.ended)
		return rp_strdup("running or killed");
	return trace_end_words(entry->meta.ended == TRACE_ENDED_EXIT ? TRACE_END_EXIT
								     : TRACE_END_SIGNAL,
			       (uint64_t)entry->meta.status);
}

static void print_json(const struct entry *entries, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &entries[i];
		char *end = ended(e);
		json_t *object = json_pack(
			"{s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:s}", "trace", cmd_show_json(e->path),
			"damaged", (int)e->damaged, "ranks", (json_int_t)e->ranks, "disk",
			(json_int_t)e->bytes, "images", (json_int_t)e->checkpoints.images,
			"image_bytes", (json_int_t)e->checkpoints.image_bytes, "log_bytes",
			(json_int_t)e->checkpoints.log_bytes, "ended", end);

		free(end);
		if (e->program)
			json_object_set_new(object, "program", cmd_show_json(e->program));
		if (!e->damaged) {
			json_object_set_new(object, "start", cmd_show_json(e->meta.start));
			json_object_set_new(object, "command", cmd_show_json_list(e->meta.argv));
			if (e->meta.origin)
				json_object_set_new(object, "origin",
						    cmd_show_json(e->meta.origin));
		}
		json_array_append_new(array, object);
	}
	cmd_show_json_line(array, JSON_INDENT(1));
}

static int width_of(const struct entry *entries, size_t n)
{
	size_t width = strlen("TRACE");

	for (size_t i = 0; i < n; i++) {
		if (strlen(entries[i].path) > width)
			width = strlen(entries[i].path);
	}
	return width < 60 ? (int)width : 60;
}

static void print_text(const struct entry *entries, size_t n)
{
	int width = width_of(entries, n);

	printf("%-*s  %-16s  %5s  %-20s  %-17s  %6s  %10s\n", width, "TRACE", "PROGRAM", "RANKS",
	       "STARTED", "ENDED", "IMAGES", "SIZE");
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &entries[i];
		char *path = cmd_show_text(e->path), *end = ended(e);
		char *program = cmd_show_text(e->program ? e->program : "-");
		char *start = cmd_show_text(e->damaged ? "-" : e->meta.start);
		char *size = cmd_show_size(e->bytes);

		printf("%-*s  %-16s  %5zu  %-20s  %-17s  %6zu  %10s\n", width, path, program,
		       e->ranks, start, end, e->checkpoints.images, size);
		free(path);
		free(end);
		free(program);
		free(start);
		free(size);
	}
}

static int list(bool json)
{
	const char *variable = getenv("REPRISE_TRACE_DIR");
	const char *parent = variable && *variable ? variable : ".";
	struct entry *entries = NULL;
	size_t n = 0;
	int rc = find(parent, &entries, &n);

	if (rc) {
		rp_say("cannot list the traces in %s: %s", parent, strerror(-rc));
		return RP_EXIT_BAD_INPUT;
	}
	if (n)
		qsort(entries, n, sizeof(*entries), by_start);
	if (json)
		print_json(entries, n);
	else if (n)
		print_text(entries, n);
	else
		rp_say("no trace here; record one with 'reprise record COMMAND'");
	for (size_t i = 0; i < n; i++)
		free_entry(&entries[i]);
	free(entries);
	return 0;
}

struct wanted {
	unsigned format;
};

static const struct cmd_option options[] = {
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct wanted w = {0};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_ls, argc, argv, &w, &operands);

	return code ? code : list(w.format == CMD_FORMAT_JSON);
}

const struct cmd_verb cmd_ls = {
	.name = "ls",
	.takes = CMD_TAKES_NOTHING,
	.summary = "Lists the traces here, or in REPRISE_TRACE_DIR",
	.options = options,
	.notes = "Oldest traces come first. Damaged traces are listed, too, and those that "
		 "'reprise explore' made in TRACE/explore.\n",
	.run = run,
};
