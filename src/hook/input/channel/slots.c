/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stdio writes inside libc, where no wrapper comes: by the tables of functions that every FILE on a
 * descriptor has, _IO_file_jumps and _IO_wfile_jumps. libc looks whether a table is one of its own,
 * not at what is in it; so three of its entries are ours: those which read and write, and that
 * which asks what kind of file the descriptor is, by which stdio chooses how to buffer. Invariant:
 * an entry is replaced only where all are in libc's code; else nothing is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hook/input/channel/channel.h"
#include "hook/output/output.h"

#define FLAG_ERROR 0x20 /* of a FILE: a call failed */
#define SLOT_READ 14
#define SLOT_WRITE 15
#define SLOT_STAT 18

typedef ssize_t read_function(FILE *f, void *bytes, ssize_t n);
typedef ssize_t write_function(FILE *f, const void *bytes, ssize_t n);
typedef int stat_function(FILE *f, void *st);

static read_function *real_read;
static write_function *real_write;
static stat_function *real_stat;

/* A descriptor may have become a channel after its FILE was made, by dup2. */
static ssize_t file_read(FILE *f, void *bytes, ssize_t n)
{
	if (hook_channel_has(f->_fileno, NULL) ||
	    (hook_output_is_typed(f->_fileno) && hook_io_is_programs(NULL)))
		return hook_channel_read(f->_fileno, "read", bytes, (size_t)n);
	return real_read(f, bytes, n);
}

static ssize_t write_to_channel(FILE *f, const char *bytes, ssize_t n)
{
	ssize_t done = 0;

	while (done < n) {
		ssize_t part = hook_channel_write(f->_fileno, bytes + done, (size_t)(n - done));

		if (part < 0) {
			f->_flags |= FLAG_ERROR;
			break;
		}
		done += part;
	}
	return done;
}

static ssize_t file_write(FILE *f, const void *bytes, ssize_t n)
{
	int fd = f->_fileno;
	ssize_t done;

	if (hook_channel_has(fd, NULL))
		return write_to_channel(f, bytes, n);
	if (!hook_output_has(fd))
		return real_write(f, bytes, n);
	hook_output_begins();
	done = real_write(f, bytes, n);
	hook_output_wrote(fd, bytes, done);
	hook_output_is_done();
	return done;
}

static int file_stat(FILE *f, void *st)
{
	int rc = real_stat(f, st);

	if (rc == 0 && hook_output_tag(f->_fileno))
		hook_output_stat(f->_fileno, st);
	return rc;
}

/* Is the address in the code of the file that has the other address? */
struct question {
	uintptr_t table, code;
	bool yes;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct question *q = arg;
	bool has_table = false, has_code = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		has_table |= q->table - start < part->p_memsz;
		has_code |= q->code - start < part->p_memsz && (part->p_flags & PF_X);
	}
	q->yes = has_table && has_code;
	return has_table;
}

static bool is_as_expected(void *const *table)
{
	for (int slot = SLOT_READ; slot <= SLOT_STAT; slot++) {
		struct question q = {(uintptr_t)table, (uintptr_t)table[slot], false};

		dl_iterate_phdr(look, &q);
		if (!q.yes)
			return false;
	}
	return true;
}

static bool replace(void **table)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)&table[SLOT_READ] & -page;
	uintptr_t to = ((uintptr_t)&table[SLOT_STAT + 1] + page - 1) & -page;

	if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) != 0)
		return false;
	table[SLOT_READ] = (void *)file_read;
	table[SLOT_WRITE] = (void *)file_write;
	table[SLOT_STAT] = (void *)file_stat;
	return mprotect((void *)from, to - from, PROT_READ) == 0;
}

void hook_output_watch_stdio(void)
{
	void **narrow = dlsym(RTLD_DEFAULT, "_IO_file_jumps");
	void **wide = dlsym(RTLD_DEFAULT, "_IO_wfile_jumps");

	if (real_write)
		return;
	if (narrow && wide && is_as_expected(narrow) && is_as_expected(wide) &&
	    narrow[SLOT_READ] == wide[SLOT_READ] && narrow[SLOT_WRITE] == wide[SLOT_WRITE] &&
	    narrow[SLOT_STAT] == wide[SLOT_STAT]) {
		real_read = (read_function *)narrow[SLOT_READ];
		real_write = (write_function *)narrow[SLOT_WRITE];
		real_stat = (stat_function *)narrow[SLOT_STAT];
		if (replace(narrow) && replace(wide))
			return;
	}
	hook_say_once("stdio", "this libc is not one that Reprise knows: what the program prints",
		      " by stdio is not compared in replay", NULL);
}
