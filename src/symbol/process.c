/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/process.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdwfl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "symbol/argument.h"
#include "symbol/frame.h"
#include "symbol/memory.h"
#include "symbol/prepare.h"
#include "symbol/symbol.h"

#define MAX_FRAMES 512

struct symbol_process {
	Dwfl *dwfl;
};

/* A server is not asked: that may take minutes, while the process stands. */
static int find_debuginfo(Dwfl_Module *module, void **own, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **out)
{
	char *servers = getenv("DEBUGINFOD_URLS") ? rp_strdup(getenv("DEBUGINFOD_URLS")) : NULL;
	int fd;

	unsetenv("DEBUGINFOD_URLS");
	fd = dwfl_standard_find_debuginfo(module, own, name, base, file, link, crc, out);
	if (servers)
		setenv("DEBUGINFOD_URLS", servers, 1);
	free(servers);
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = find_debuginfo,
};

struct symbol_process *symbol_process_open(int pid)
{
	struct symbol_process *p = rp_alloc(1, sizeof(*p));

	p->dwfl = dwfl_begin(&callbacks);
	if (p->dwfl && dwfl_linux_proc_report(p->dwfl, pid) == 0 &&
	    dwfl_report_end(p->dwfl, NULL, NULL) == 0 &&
	    dwfl_linux_proc_attach(p->dwfl, pid, true) == 0)
		return p;
	symbol_process_close(p);
	return NULL;
}

void symbol_process_close(struct symbol_process *p)
{
	if (!p)
		return;
	if (p->dwfl)
		dwfl_end(p->dwfl);
	free(p);
}

/* A stack, down to the first frame of the program. */
struct walk {
	const struct symbol_process *process;
	struct symbol_frame *frame;
	size_t frames;
	bool ended; /* where the thread began */
};

/* The file that the code is of, or NULL; *bias is where it was loaded. */
static const char *path_of(const struct symbol_process *p, uint64_t pc, Dwarf_Addr *bias)
{
	Dwfl_Module *module = dwfl_addrmodule(p->dwfl, pc);
	const char *path = NULL;

	if (module && dwfl_module_getelf(module, bias))
		dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &path, NULL);
	return path && path[0] == '/' ? path : NULL;
}

/* Second names of MPI's and libc's functions. */
static const char *usual_name(const char *name)
{
	if (strncmp(name, "PMPI_", 5) == 0 || strncmp(name, "pmpi_", 5) == 0)
		return name + 1;
	return name + (strncmp(name, "__", 2) == 0 ? 2 : 0);
}

bool symbol_process_read(int pid, uint64_t address, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)(uintptr_t)address, n};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

/*
 * What the call before pc leads to: through the table of addresses of its file, by way of an entry
 * of jumps or at once. 0 if it is another kind of call.
 */
static uint64_t called_before(int pid, uint64_t pc)
{
	uint8_t code[6], entry[16];
	size_t at = 0;
	int32_t far;
	uint64_t to;

	if (!symbol_process_read(pid, pc - sizeof(code), code, sizeof(code)))
		return 0;
	memcpy(&far, code + 2, sizeof(far));
	to = pc + (uint64_t)(int64_t)far;
	if (code[0] != 0xff || code[1] != 0x15) {
		if (code[1] != 0xe8 || !symbol_process_read(pid, to, entry, sizeof(entry)))
			return 0;
		at += memcmp(entry, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
		at += entry[at] == 0xf2;
		if (entry[at] != 0xff || entry[at + 1] != 0x25)
			return 0;
		memcpy(&far, entry + at + 2, sizeof(far));
		to += at + 6 + (uint64_t)(int64_t)far;
	}
	return symbol_process_read(pid, to, &to, sizeof(to)) ? to : 0;
}

/* The function of another file that the call before pc leads to, or NULL; the caller frees. */
static char *name_called(const struct symbol_process *p, uint64_t pc)
{
	uint64_t address = called_before((int)dwfl_pid(p->dwfl), pc);
	Dwarf_Addr bias;
	const char *path = address ? path_of(p, address, &bias) : NULL;
	struct symbol_place place;

	if (!path || !symbol_find(path, address - bias, false, &place) || !place.exported)
		return NULL;
	return rp_strdup(usual_name(place.function));
}

/* The function that was called may have gone on in another one, which has its frame now. */
static void find_called(const struct symbol_process *p, struct symbol_standing *s)
{
	char *name = name_called(p, s->pc);

	if (!name)
		return;
	free(s->call);
	s->call = name;
	s->sure = true;
}

/* And so may one of the program, which has called that of MPI with other arguments. */
static bool is_called(const struct symbol_process *p, const struct symbol_standing *s)
{
	char *name = name_called(p, s->pc);
	bool is = name && strcmp(name, s->call) == 0;

	free(name);
	return is;
}

/* Blocking calls, and which arguments are what. */
static void find_words(const struct symbol_process *p, const struct symbol_frame *frame,
		       struct symbol_memory *memory, struct symbol_standing *s)
{
	enum { NONE = SYMBOL_ARGUMENTS };
	static const struct {
		const char *call;
		unsigned at[SYMBOL_WORDS];
	} calls[] = {{"MPI_Recv", {3, 4, 5, 2, 1}},
		     {"MPI_Send", {3, 4, 5, 2, 1}},
		     {"MPI_Ssend", {3, 4, 5, 2, 1}},
		     {"MPI_Bsend", {3, 4, 5, 2, 1}},
		     {"MPI_Rsend", {3, 4, 5, 2, 1}},
		     {"MPI_Probe", {0, 1, 2, NONE, NONE}},
		     {"MPI_Mprobe", {0, 1, 2, NONE, NONE}},
		     {"MPI_Barrier", {NONE, NONE, 0, NONE, NONE}}};

	Dwfl_Module *module = dwfl_addrmodule(p->dwfl, frame->pc - 1);
	uint64_t made[SYMBOL_ARGUMENTS];
	bool is_made[SYMBOL_ARGUMENTS];

	for (size_t i = 0; s->call && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].call, s->call) != 0)
			continue;
		memset(is_made, 0, sizeof(is_made));
		if (is_called(p, s))
			symbol_prepare(module, frame, memory, made, is_made);
		for (unsigned k = 0; k < SYMBOL_WORDS; k++) {
			unsigned at = calls[i].at[k];
			uint64_t *word = &s->word[k];

			s->known[k] = symbol_argument(module, frame, s->call, at, word);
			if (!s->known[k] && at < SYMBOL_ARGUMENTS && is_made[at]) {
				*word = made[at];
				s->known[k] = true;
			}
		}
	}
}

static int note_frame(Dwfl_Frame *frame, void *data)
{
	struct walk *w = data;
	struct symbol_frame f = {0};
	const char *path;
	Dwarf_Addr bias;

	if (w->frames == MAX_FRAMES || !dwfl_frame_pc(frame, &f.pc, &f.active))
		return DWARF_CB_ABORT;
	for (unsigned k = 0; k < SYMBOL_REGISTERS; k++)
		f.known[k] = dwfl_frame_reg(frame, k, &f.reg[k]) == 0;
	w->frame = rp_widen(w->frame, w->frames, w->frames + 1, sizeof(*w->frame));
	w->frame[w->frames++] = f;
	path = path_of(w->process, f.pc - !f.active, &bias);
	return path && !symbol_is_foreign(path) ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* The kernel's part of each process has no file either. */
static bool is_of_kernel(const struct symbol_process *p, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(p->dwfl, pc);
	const char *name =
		module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;

	return name && strncmp(name, "[vdso", 5) == 0;
}

/* What was called, by whom; or, if that is not seen, the innermost function. True if the last frame
   is the program's. */
static bool name_frames(const struct walk *w, struct symbol_standing *out)
{
	bool known = true, mpi = false;
	char *innermost = NULL;

	for (size_t i = 0; i < w->frames; i++) {
		const struct symbol_frame *f = &w->frame[i];
		struct symbol_place place;
		Dwarf_Addr bias;
		const char *path = path_of(w->process, f->pc - !f->active, &bias);
		char *where;

		if (path && !symbol_is_foreign(path)) {
			where = rp_format("%s+0x%lx", path,
					  (unsigned long)(f->pc + f->active - bias));
			out->place = symbol_text(where);
			out->pc = f->pc;
			free(where);
			free(innermost);
			return true;
		}
		/* What is in no file was made by the program; libc alone is anybody's. */
		known = known && (path || is_of_kernel(w->process, f->pc - !f->active));
		mpi = mpi || (path && !symbol_is_runtime(path));
		if (path && symbol_find(path, f->pc - bias, !f->active, &place)) {
			free(out->call);
			out->call = rp_strdup(usual_name(place.function));
			out->sure = place.exported;
			innermost = innermost ? innermost : rp_strdup(out->call);
		}
	}
	free(out->call);
	out->call = innermost;
	out->foreign = w->ended && known && mpi;
	return false;
}

/*
 * Stops the thread; *sig is the signal that it was about to get, and gets when it is let go. To
 * attach in the old way would not do: a process that becomes another program meanwhile is sent a
 * SIGTRAP then, and dies of it.
 */
static bool hold(int tid, int *sig)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return false;
	}
	*sig = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
	return true;
}

/*
 * The thread stands no longer than it takes to note its stack: names are looked up, and files read,
 * when it has gone on. Memory is noted, or, if it has been before, compared.
 */
static int walk(struct symbol_process *p, int tid, struct walk *w, struct symbol_memory *memory)
{
	const struct symbol_frame *last;
	int sig = 0;

	*w = (struct walk){.process = p};
	if (!hold(tid, &sig))
		return -EPERM;
	w->ended = dwfl_getthread_frames(p->dwfl, tid, note_frame, w) == 0;
	last = w->frames ? &w->frame[w->frames - 1] : NULL;
	if (memory && last && last->known[SYMBOL_STACK_POINTER])
		symbol_memory_note(memory, last->reg[SYMBOL_STACK_POINTER]);
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)sig);
	return w->frames ? 0 : -EPERM;
}

/* Of one that is in a call, nothing has changed that the call keeps. */
static bool is_same(const struct symbol_frame *a, const struct symbol_frame *b)
{
	static const unsigned kept[] = SYMBOL_KEPT;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (a->known[kept[i]] != b->known[kept[i]] ||
		    (a->known[kept[i]] && a->reg[kept[i]] != b->reg[kept[i]]))
			return false;
	}
	return a->pc == b->pc;
}

/* Memory that may change was read when the thread had gone on: does that belong together? */
static bool stands_there_still(struct symbol_process *p, int tid, const struct symbol_frame *frame,
			       struct symbol_memory *memory)
{
	struct walk again;
	bool same = walk(p, tid, &again, memory) == 0 && memory->same &&
		    is_same(frame, &again.frame[again.frames - 1]);

	free(again.frame);
	return same;
}

static int look(struct symbol_process *p, int tid, struct symbol_memory *memory,
		struct symbol_standing *out)
{
	struct symbol_standing standing = {0};
	struct walk w;
	int rc = walk(p, tid, &w, memory);

	if (rc == 0 && name_frames(&w, &standing)) {
		const struct symbol_frame *frame = &w.frame[w.frames - 1];

		if (standing.call && !standing.sure)
			find_called(p, &standing);
		if (memory)
			find_words(p, frame, memory, &standing);
		if (memory && memory->changes && !stands_there_still(p, tid, frame, memory))
			memset(standing.known, 0, sizeof(standing.known));
	}
	free(w.frame);
	if (!standing.place)
		standing.place = rp_strdup("");
	if (rc == 0)
		*out = standing;
	else
		free(standing.place);
	return rc;
}

int symbol_process_look(struct symbol_process *p, int tid, struct symbol_standing *out)
{
	return look(p, tid, NULL, out);
}

int symbol_process_look_closely(struct symbol_process *p, int tid, bool alone,
				struct symbol_standing *out)
{
	struct symbol_memory *memory = rp_alloc(1, sizeof(*memory));
	int rc;

	memory->pid = (int)dwfl_pid(p->dwfl);
	memory->alone = alone;
	rc = look(p, tid, memory, out);
	symbol_memory_forget(memory);
	free(memory);
	return rc;
}

/* Data of a file lies behind its first page; old programs are linked to a fixed address. */
#define FIXED 0x10000000

char *symbol_process_variable(int pid, uint64_t address)
{
	char *path = rp_format("/proc/%d/maps", pid), *line = NULL, *file = NULL, *text = NULL;
	FILE *maps = fopen(path, "re");
	unsigned long start, offset, bias = 0;
	const char *name = NULL;
	uint64_t into = 0;
	size_t room = 0;
	int at;

	free(path);
	while (maps && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %n", &start, &offset, &at) < 2 ||
		    line[at] != '/' || offset || start > address)
			continue;
		free(file);
		file = rp_strdup(line + at);
		bias = start > FIXED ? start : 0;
	}
	if (maps)
		fclose(maps);
	if (file && address && !strstr(file, "/libreprise-"))
		name = symbol_variable(file, address - bias, &into);
	if (name)
		text = into ? rp_format("%s+0x%lx", name, (unsigned long)into) : rp_strdup(name);
	free(file);
	free(line);
	return text;
}
