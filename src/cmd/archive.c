/* SPDX-License-Identifier: Apache-2.0 */
/* The format is that of ar(5), with GNU's table of long names. */
#include "cmd/archive.h"

#include <ar.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cmd/compile.h"

#define MOST_FILES 200000 /* that are looked at */

struct file {
	char *bytes;
	size_t size;
};

static int file_open(struct file *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return -EINVAL;
	}
	f->size = (size_t)st.st_size;
	f->bytes = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (f->bytes == MAP_FAILED)
		rc = -errno;
	close(fd);
	return rc;
}

static void file_close(struct file *f)
{
	munmap(f->bytes, f->size);
}

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_in(const struct compile_words *directories, const char *path, bool or_below)
{
	for (size_t i = 0; i < directories->count; i++) {
		size_t n = strlen(directories->word[i]);

		if (!strncmp(directories->word[i], path, n) &&
		    (!path[n] || (or_below && path[n] == '/')))
			return true;
	}
	return false;
}

static void look_at(struct archive_objects *objects, FTS *tree, FTSENT *e)
{
	size_t n = e->fts_pathlen, end = strlen(COMPILE_SUFFIX);

	if (e->fts_info == FTS_D && is_in(&objects->directory, e->fts_path, false))
		fts_set(tree, e, FTS_SKIP);
	else if (e->fts_info == FTS_F && n > end && !strcmp(e->fts_path + n - end, COMPILE_SUFFIX))
		compile_words_own(&objects->object, rp_format("%.*s", (int)(n - end), e->fts_path));
}

/* Objects "x.o" below the directory for which there is "x.o-checked". */
static void look_below(struct archive_objects *objects, const char *directory)
{
	char *whole = realpath(directory, NULL);
	FTS *tree = NULL;
	FTSENT *e;

	if (whole && !is_in(&objects->directory, whole, true))
		tree = fts_open((char *const[]){whole, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (tree && objects->looked < MOST_FILES && (e = fts_read(tree))) {
		look_at(objects, tree, e);
		if (++objects->looked == MOST_FILES)
			rp_say("there are more than %d files below %s: not all are looked at for "
			       "the twins of objects in archives",
			       MOST_FILES, whole);
	}
	if (tree) {
		fts_close(tree);
		compile_words_add(&objects->directory, whole);
	}
	free(whole);
}

void archive_objects_free(struct archive_objects *objects)
{
	if (objects->object.word)
		rp_strings_free(objects->object.word);
	if (objects->directory.word)
		rp_strings_free(objects->directory.word);
}

struct member {
	const struct ar_hdr *head;
	const char *bytes;
	size_t size;
	char name[256];
};

static size_t number_of(const char *digits, size_t n)
{
	size_t value = 0;

	for (size_t i = 0; i < n && digits[i] >= '0' && digits[i] <= '9'; i++)
		value = value * 10 + (size_t)(digits[i] - '0');
	return value;
}

/* "x.o/", or "/17": at that place in the table. */
static void read_name(struct member *m, const struct file *names)
{
	const char *text = m->head->ar_name;
	size_t n = sizeof(m->head->ar_name), at, i = 0;

	if (text[0] == '/' && text[1] >= '0' && text[1] <= '9') {
		at = number_of(text + 1, n - 1);
		text = at < names->size ? names->bytes + at : "";
		n = at < names->size ? names->size - at : 0;
	}
	while (i < n && i + 1 < sizeof(m->name) && text[i] != '/' && text[i] != '\n') {
		m->name[i] = text[i];
		i++;
	}
	m->name[i] = '\0';
}

/* The one at *at, which is moved behind it. False: there is none. */
static bool next(const struct file *archive, size_t *at, struct member *m)
{
	if (*at + sizeof(*m->head) > archive->size)
		return false;
	m->head = (const struct ar_hdr *)(archive->bytes + *at);
	m->bytes = archive->bytes + *at + sizeof(*m->head);
	m->size = number_of(m->head->ar_size, sizeof(m->head->ar_size));
	if (memcmp(m->head->ar_fmag, ARFMAG, 2) != 0 ||
	    m->size > archive->size - *at - sizeof(*m->head))
		return false;
	*at += sizeof(*m->head) + m->size + m->size % 2;
	return true;
}

static bool is_table(const struct member *m, const char *name)
{
	size_t n = strlen(name);

	return !memcmp(m->head->ar_name, name, n) && m->head->ar_name[n] == ' ';
}

/* The twin of the object that the member is. */
static bool find_twin(const struct member *m, const struct compile_words *objects,
		      struct file *twin)
{
	for (size_t i = 0; i < objects->count; i++) {
		const char *name = objects->word[i];
		struct file object;
		char *path;
		bool same;

		if (strcmp(name_in(name), m->name) != 0 || file_open(&object, name))
			continue;
		same = object.size == m->size && !memcmp(object.bytes, m->bytes, m->size);
		file_close(&object);
		path = rp_format("%s" COMPILE_SUFFIX, name);
		same = same && file_open(twin, path) == 0;
		free(path);
		if (same)
			return true;
	}
	return false;
}

static void put(FILE *out, const struct member *m, const char *bytes, size_t size)
{
	struct ar_hdr head = *m->head;
	char digits[sizeof(head.ar_size) + 1];

	snprintf(digits, sizeof(digits), "%-10zu", size);
	memcpy(head.ar_size, digits, sizeof(head.ar_size));
	fwrite(&head, sizeof(head), 1, out);
	fwrite(bytes, size, 1, out);
	if (size % 2)
		fputc('\n', out);
}

/* How many have twins. The table of names stays as it is; the index is made anew. */
static size_t copy(const struct file *archive, const struct compile_words *objects, FILE *out,
		   size_t *without)
{
	struct file names = {0}, twin;
	size_t at = SARMAG, twins = 0;
	struct member m;

	fwrite(ARMAG, SARMAG, 1, out);
	while (next(archive, &at, &m)) {
		if (is_table(&m, "/") || is_table(&m, "/SYM64/"))
			continue;
		if (is_table(&m, "//")) {
			names = (struct file){(char *)m.bytes, m.size};
			put(out, &m, m.bytes, m.size);
			continue;
		}
		read_name(&m, &names);
		if (find_twin(&m, objects, &twin)) {
			put(out, &m, twin.bytes, twin.size);
			file_close(&twin);
			twins++;
		} else {
			put(out, &m, m.bytes, m.size);
			(*without)++;
		}
	}
	return twins;
}

static int write_twin(const char *archive, const struct compile_words *objects, const char *out,
		      size_t *without)
{
	struct file f;
	size_t twins = 0;
	FILE *file;
	int rc = file_open(&f, archive);

	*without = 0;
	if (rc)
		return rc;
	if (f.size < SARMAG || memcmp(f.bytes, ARMAG, SARMAG) != 0) {
		file_close(&f);
		return -EINVAL;
	}
	file = fopen(out, "we");
	rc = file ? 0 : -errno;
	if (!rc) {
		twins = copy(&f, objects, file, without);
		rc = ferror(file) ? -EIO : twins ? 0 : -ENOENT;
		if (fclose(file) != 0 && !rc)
			rc = -errno;
		if (rc)
			unlink(out);
	}
	file_close(&f);
	return rc;
}

bool archive_is_foreign(const char *archive)
{
	static const char *const places[] = {"/usr/", "/lib/", "/lib64/", "/opt/", NULL};
	char *here = getcwd(NULL, 0);
	size_t i = 0, n = here ? strlen(here) : 0;
	bool below = n && strncmp(archive, here, n) == 0 && archive[n] == '/';

	free(here);
	while (places[i] && strncmp(archive, places[i], strlen(places[i])) != 0)
		i++;
	return places[i] && !below;
}

int archive_make_twin(const char *archive, struct archive_objects *objects, const char *out,
		      size_t *without)
{
	char *whole = rp_strdup(archive);
	int rc;

	look_below(objects, dirname(whole));
	look_below(objects, ".");
	rc = write_twin(archive, &objects->object, out, without);
	if (!rc && compile_run((char *[]){(char *)"ar", (char *)"s", (char *)out, NULL}) != 0) {
		unlink(out);
		rc = -EIO;
	}
	free(whole);
	return rc;
}
