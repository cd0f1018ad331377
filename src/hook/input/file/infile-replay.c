/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares files that are read in replay with the recorded ones, by path. The recorded list is read
 * before the program begins. A file is accepted if it is in any of the states that the recording
 * met under its path. If that cannot be known (a large file of the same size, with another time),
 * the message says so.
 */
#undef _FORTIFY_SOURCE
#include "hook/input/file/infile.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "hook/common/real.h"
#include "hook/kit/table.h"
#include "hook/session/moved.h"

struct state {
	struct hook_entry entry; /* by the hash of its path */
	struct trace_file file;
};

#define FINE UINT32_MAX

static struct trace_view view;
static struct hook_table states = {.bytes = sizeof(struct state), .clear = sizeof(struct state)};

static uint32_t hash_path(const char *path, size_t n)
{
	uint32_t h = 2166136261u;

	while (n--)
		h = (h ^ (uint8_t)*path++) * 16777619u;
	return h;
}

static struct state *state_at(uint32_t number)
{
	return hook_table_at(&states, number);
}

static void load_states(void)
{
	struct trace_file file;
	struct state *s;
	uint64_t at = 0;
	int rc;

	while ((rc = trace_file_next(&view, &at, &file)) == 1) {
		s = hook_table_new(&states);
		if (!s)
			hook_failed(hook_thread_self(),
				    "there is no memory for the names of files");
		s->file = file;
		hook_table_insert(&states, s, hash_path(file.path, file.length));
	}
	if (rc < 0)
		hook_failed(hook_thread_self(), "the recorded files make no sense");
}

void hook_infile_load(void)
{
	char name[32];
	struct hook_text text = hook_text_in(name, sizeof(name));
	const char *why;
	int rc;

	if (hook_process.process) {
		hook_text_add(&text, "p");
		hook_text_number(&text, hook_process.process);
		hook_text_add(&text, "-");
	}
	hook_text_add(&text, "0.files");
	rc = trace_view_open(&view, hook_process.rank_fd, name, &why);
	if (rc && rc != -ENOENT)
		hook_failed_by(hook_thread_self(), name, " ", why);
	load_states();
}

void hook_infile_unload(void)
{
	hook_table_forget(&states);
}

/* The next state of the path that was recorded, after `last`, which is 0 at first; 0: none. */
static uint32_t find(const char *path, size_t n, uint32_t last)
{
	struct state *s = last ? state_at(state_at(last)->entry.next)
			       : hook_table_find(&states, hash_path(path, n));

	while (s && (s->file.length != n || memcmp(s->file.path, path, n) != 0))
		s = state_at(s->entry.next);
	return s ? s->entry.index : 0;
}

/* The first state of the path; of those from before the run, if there are such. */
static uint32_t first_state(const char *path, size_t n, bool *all_fresh)
{
	uint32_t chosen = 0;

	*all_fresh = true;
	for (uint32_t i = find(path, n, 0); i; i = find(path, n, i)) {
		bool fresh = state_at(i)->file.flags & TRACE_FILE_FRESH;

		if (!chosen || (!fresh && *all_fresh))
			chosen = i;
		*all_fresh = *all_fresh && fresh;
	}
	return chosen;
}

/* How a file differs from a recorded one, in words; "" if it does not, with `maybe` if unknown. */
static void differ(const struct trace_file *was, const struct trace_file *is, int fd,
		   struct hook_text *out, bool *maybe)
{
	uint64_t hash;

	*maybe = false;
	if (was->size != is->size) {
		hook_text_add(out, "size ");
		hook_text_number(out, (int64_t)was->size);
		hook_text_add(out, " -> ");
		hook_text_number(out, (int64_t)is->size);
	} else if (was->flags & TRACE_FILE_HASHED) {
		if (!hook_infile_hash(fd, is->size, &hash) || hash != was->hash)
			hook_text_add(out, "other contents of the same size");
	} else if (was->modified != is->modified) {
		hook_text_add(out, "the same size, another time of change");
		*maybe = true;
	}
}

/* Relative to where the program is, if it is below. */
static const char *shown(const char *path)
{
	char directory[TRACE_FILE_PATH];
	long n = syscall(SYS_getcwd, directory, sizeof(directory));

	if (n > 1 && strncmp(path, directory, (size_t)n - 1) == 0 && path[n - 1] == '/')
		return path + n;
	return path;
}

/*
 * Once for all ranks. S/changed-HASH keeps the words for the front, which names the file if the
 * replay differs.
 */
static void tell(const char *path, const char *what, bool fed)
{
	char name[1100], words[TRACE_FILE_PATH + 128], rank[16];
	struct hook_text text = hook_text_in(name, sizeof(name));
	int fd;

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, fed ? "/copied-" : "/changed-");
	hook_text_number(&text, hash_path(path, strlen(path)));
	text = hook_text_in(words, sizeof(words));
	hook_text_add(&text, "input file ");
	hook_text_add(&text, shown(path));
	hook_text_add(&text, what);
	fd = REAL(openat)(AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	hook_write(fd, words, (size_t)(text.at - words));
	REAL(close)(fd);
	text = hook_text_in(rank, sizeof(rank));
	hook_text_number(&text, hook_process.rank);
	hook_say("rank ", rank, ": ", words,
		 fed ? "; its copy in the trace is read instead" : "; the replay may differ", NULL);
}

/* Another file behind the descriptor; what the program asks of that is answered by the copy. */
static bool feed(int fd, const struct trace_file *file, int flags)
{
	int copy = hook_infile_open_copy(file, flags), rc;

	if (copy < 0)
		return false;
	rc = REAL(dup3)(copy, fd, REAL(fcntl)(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0);
	REAL(close)(copy);
	return rc >= 0;
}

/* The number of the recorded state whose copy is to be read, or FINE. */
static uint32_t judge(int fd, int flags, const struct stat *st, bool fresh)
{
	char path[TRACE_FILE_PATH], old[TRACE_FILE_PATH], how[96], what[160];
	struct hook_text text;
	struct trace_file is;
	uint32_t chosen;
	bool all_fresh, maybe;
	size_t n = hook_infile_path(fd, path);

	n = n ? hook_moved_back(path, old) : 0;
	chosen = n ? first_state(old, n, &all_fresh) : 0;
	if (!chosen)
		return FINE;
	hook_infile_describe(&is, st);
	for (uint32_t i = find(old, n, 0); i; i = find(old, n, i)) {
		text = hook_text_in(how, sizeof(how));
		/* The run has made it, as it did. */
		if (fresh && state_at(i)->file.flags & TRACE_FILE_FRESH)
			return FINE;
		differ(&state_at(i)->file, &is, fd, &text, &maybe);
		if (!how[0])
			return FINE;
	}
	text = hook_text_in(how, sizeof(how));
	differ(&state_at(chosen)->file, &is, fd, &text, &maybe);
	text = hook_text_in(what, sizeof(what));
	hook_text_add(&text, maybe ? " may have changed" : " changed");
	hook_text_add(&text, " since the recording (");
	hook_text_add(&text, how);
	hook_text_add(&text, ")");
	if (feed(fd, &state_at(chosen)->file, flags)) {
		tell(path, what, true);
		return chosen;
	}
	tell(path, what, false);
	return FINE;
}

void hook_infile_compare(int fd, int flags, const struct stat *st)
{
	bool fresh = hook_infile_is_fresh(st), first = false;
	uint32_t number = 0;

	hook_infile_lock();
	if (!hook_infile_seen(st, fresh, &first, &number))
		first = true;
	hook_infile_unlock();
	if (!first && number) {
		if (number != FINE)
			feed(fd, &state_at(number)->file, flags);
		return;
	}
	number = judge(fd, flags, st, fresh);
	hook_infile_lock();
	hook_infile_set(st, fresh, number);
	hook_infile_unlock();
}

/* The path that would be opened, as hook_infile_path has it of those that are. */
static size_t path_of(int dir, const char *name, char path[TRACE_FILE_PATH])
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	char parent[TRACE_FILE_PATH] = ".";
	size_t n = 0;
	int fd;

	if (slash && (size_t)(slash - name) + 1 < sizeof(parent)) {
		memcpy(parent, name, (size_t)(slash - name) + 1);
		parent[slash - name + 1] = '\0';
	}
	fd = REAL(openat)(dir, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		n = hook_infile_path(fd, path);
		REAL(close)(fd);
	} else if (name[0] == '/') {
		n = strlen(parent) - 1;
		memcpy(path, parent, n);
	}
	if (!n || n + strlen(base) + 2 > TRACE_FILE_PATH)
		return 0;
	path[n] = '/';
	strcpy(path + n + 1, base);
	return n + 1 + strlen(base);
}

int hook_infile_missing(int dir, const char *name, int flags, int error)
{
	char path[TRACE_FILE_PATH], old[TRACE_FILE_PATH], what[160];
	struct hook_text text = hook_text_in(what, sizeof(what));
	uint32_t chosen;
	bool all_fresh;
	size_t n;
	int fd;

	/* Of the file itself, not of how many the program has open. */
	if (error != ENOENT && error != ENOTDIR && error != EACCES && error != EPERM)
		return -1;
	n = path_of(dir, name, path) ? hook_moved_back(path, old) : 0;
	chosen = n ? first_state(old, n, &all_fresh) : 0;
	if (!chosen || all_fresh)
		return -1;
	fd = hook_infile_open_copy(&state_at(chosen)->file, flags);
	if (error == ENOENT || error == ENOTDIR) {
		hook_text_add(&text, " was there when the run was recorded and is missing now");
	} else {
		hook_text_add(&text, " cannot be opened as when the run was recorded (");
		hook_text_add(&text, strerror(error));
		hook_text_add(&text, ")");
	}
	tell(path, what, fd >= 0);
	return fd;
}

void hook_infile_resized(int fd, int dir, const char *name, uint64_t was, uint64_t is)
{
	char path[TRACE_FILE_PATH], what[96];
	struct hook_text text = hook_text_in(what, sizeof(what));
	size_t n = fd >= 0 ? hook_infile_path(fd, path) : path_of(dir, name, path);

	if (!n)
		return;
	hook_text_add(&text, " changed since the recording (size ");
	hook_text_number(&text, (int64_t)was);
	hook_text_add(&text, " -> ");
	hook_text_number(&text, (int64_t)is);
	hook_text_add(&text, ")");
	tell(path, what, false);
}
