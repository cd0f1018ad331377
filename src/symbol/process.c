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
#include "symbol/symbol.h"

#define MAX_FRAMES 512

struct symbol_process {
	Dwfl *dwfl;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
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

struct walk {
	const struct symbol_process *process;
	struct symbol_standing *out;
	size_t frames;
	bool partners; /* are wanted */
};

/* Second names of MPI's and libc's functions. */
static const char *usual_name(const char *name)
{
	if (strncmp(name, "PMPI_", 5) == 0 || strncmp(name, "pmpi_", 5) == 0)
		return name + 1;
	return name + (strncmp(name, "__", 2) == 0 ? 2 : 0);
}

/* Blocking calls for one message, and which arguments are the partner and the tag. */
static void find_partner(Dwfl_Module *module, Dwfl_Frame *frame, struct symbol_standing *s)
{
	static const struct {
		const char *call;
		unsigned peer, tag;
	} calls[] = {{"MPI_Recv", 3, 4},  {"MPI_Send", 3, 4},  {"MPI_Ssend", 3, 4},
		     {"MPI_Bsend", 3, 4}, {"MPI_Rsend", 3, 4}, {"MPI_Probe", 0, 1},
		     {"MPI_Mprobe", 0, 1}};

	for (size_t i = 0; s->call && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].call, s->call) != 0)
			continue;
		s->has_peer = symbol_argument(module, frame, s->call, calls[i].peer, &s->peer);
		s->has_tag = symbol_argument(module, frame, s->call, calls[i].tag, &s->tag);
	}
}

static int look_at_frame(Dwfl_Frame *frame, void *data)
{
	struct walk *w = data;
	const char *path = NULL;
	struct symbol_place place;
	Dwfl_Module *module;
	Dwarf_Addr pc, bias;
	bool active;

	if (++w->frames > MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &active))
		return DWARF_CB_ABORT;
	module = dwfl_addrmodule(w->process->dwfl, pc - !active);
	if (module && dwfl_module_getelf(module, &bias))
		dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &path, NULL);
	if (!path || path[0] != '/')
		return DWARF_CB_OK;
	if (!symbol_is_foreign(path)) {
		char *where = rp_format("%s+0x%lx", path, (unsigned long)(pc + active - bias));

		w->out->place = symbol_text(where);
		w->out->pc = pc;
		if (w->partners)
			find_partner(module, frame, w->out);
		free(where);
		return DWARF_CB_ABORT;
	}
	if (symbol_find(path, pc - bias, !active, &place)) {
		free(w->out->call);
		w->out->call = rp_strdup(usual_name(place.function));
		w->out->sure = place.exported;
	}
	return DWARF_CB_OK;
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

/* The function that was called may have gone on in another one, which has its frame now. */
static void find_called(const struct symbol_process *p, struct symbol_standing *s)
{
	uint64_t address = called_before((int)dwfl_pid(p->dwfl), s->pc);
	Dwfl_Module *module = address ? dwfl_addrmodule(p->dwfl, address) : NULL;
	const char *path = NULL;
	struct symbol_place place;
	Dwarf_Addr bias;

	if (module && dwfl_module_getelf(module, &bias))
		dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &path, NULL);
	if (!path || path[0] != '/' || !symbol_find(path, address - bias, false, &place) ||
	    !place.exported)
		return;
	free(s->call);
	s->call = rp_strdup(usual_name(place.function));
	s->sure = true;
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

static int look(struct symbol_process *p, int tid, bool partners, struct symbol_standing *out)
{
	struct symbol_standing standing = {0};
	struct walk w = {p, &standing, 0, partners};
	int sig = 0;

	if (!hold(tid, &sig))
		return -EPERM;
	dwfl_getthread_frames(p->dwfl, tid, look_at_frame, &w);
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)sig);
	if (!w.frames)
		return -EPERM;
	if (standing.call && !standing.sure && standing.place)
		find_called(p, &standing);
	if (!standing.place)
		standing.place = rp_strdup("");
	*out = standing;
	return 0;
}

int symbol_process_look(struct symbol_process *p, int tid, struct symbol_standing *out)
{
	return look(p, tid, false, out);
}

int symbol_process_look_closely(struct symbol_process *p, int tid, struct symbol_standing *out)
{
	return look(p, tid, true, out);
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
