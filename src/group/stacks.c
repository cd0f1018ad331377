/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a frame is, is told by the file that its address lies in, as the kernel lists it: that is
 * so with and without debug information.
 */
#include "group/stacks.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "group/mi.h"
#include "group/threads.h"
#include "symbol/symbol.h"

#define FRAMES "-stack-list-frames 0 199"

struct area {
	unsigned long start, end;
	char *path;
	bool own; /* the program's */
};

/* Code of files. An address in none of them may not even be one. */
static size_t find_areas(int pid, struct area **out)
{
	char *path = rp_format("/proc/%d/maps", pid), *line = NULL, mode[8];
	FILE *maps = fopen(path, "re");
	struct area *area = NULL, a;
	size_t room = 0, n = 0;
	int at;

	free(path);
	while (maps && getline(&line, &room, maps) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %n", &a.start, &a.end, mode, &at) < 3 ||
		    !strchr(mode, 'x') || line[at] != '/')
			continue;
		area = rp_widen(area, n, n + 1, sizeof(*area));
		a.path = rp_strdup(line + at);
		a.own = !symbol_is_foreign(a.path);
		area[n++] = a;
	}
	if (maps)
		fclose(maps);
	free(line);
	*out = area;
	return n;
}

/* "name" of "/lib/name.so.3", as an expression, if gdb can be asked for that library; else NULL. */
static char *library_name(const char *path)
{
	char *text;
	const char *name = strrchr(path, '/'), *end = name ? strstr(name, ".so") : NULL;

	if (!end)
		return NULL;
	for (const char *c = name + 1; c < end; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("-_+.", *c))
			return NULL;
	}
	text = rp_format("%.*s", (int)(end - name - 1), name + 1);
	for (char *c = text; *c; c++)
		*c = *c == '+' ? '.' : *c;
	return text;
}

/* Is it one of those without which hardly a stack is known, or with which gdb shows containers? */
static bool is_basic(const char *path)
{
	const char *name = strrchr(path, '/');

	return strncmp(name, "/libc.so", 8) == 0 || strncmp(name, "/libstdc++.so", 13) == 0 ||
	       strncmp(name, "/libgomp.so", 11) == 0;
}

/* What we know of our own takes gdb longer to read than all of the above. */
static bool is_ours(const char *path)
{
	return strncmp(strrchr(path, '/'), "/libreprise-", 12) == 0;
}

/* The command that reads the basic ones, or those of the program; NULL: there are none. */
static char *read_symbols(int pid, bool basic)
{
	char *path = rp_format("/proc/%d/maps", pid), *line = NULL;
	char *text = rp_strdup(basic ? "ld-linux" : ""), *quoted;
	FILE *maps = fopen(path, "re");
	size_t room = 0;

	free(path);
	while (maps && getline(&line, &room, maps) > 0) {
		char *slash = strchr(line, '/'), *name;

		line[strcspn(line, "\n")] = 0;
		if (!slash || is_ours(slash) || is_basic(slash) != basic ||
		    (!basic && symbol_is_foreign(slash)))
			continue;
		name = library_name(slash);
		if (name && !strstr(text, name)) {
			char *longer = rp_format("%s%s%s", text, *text ? "\\|" : "", name);

			free(text);
			text = longer;
		}
		free(name);
	}
	if (maps)
		fclose(maps);
	free(line);
	line = rp_format("sharedlibrary %s", text);
	quoted = group_mi_quoted(line);
	free(line);
	line = *text ? rp_format("-interpreter-exec console %s", quoted) : NULL;
	free(quoted);
	free(text);
	return line;
}

bool group_read_symbols(struct group *g)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	char *quoted = group_mi_quoted(GROUP_GDB_DEBUG);
	bool answered;

	for (unsigned i = 0; i < g->ranks; i++)
		command[i] = read_symbols(g->gdb[i].process, true);
	answered = group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks && answered; i++)
		command[i] = rp_format("-interpreter-exec console %s", quoted);
	answered = answered && group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks && answered; i++)
		command[i] = read_symbols(g->gdb[i].process, false);
	answered = answered && group_ask_each(g, command);
	free(quoted);
	free(command);
	return answered;
}

/* The file whose code a frame is in, or NULL. */
static const struct area *area_of(const struct area *area, size_t n, const json_t *frame)
{
	const char *text = group_mi_string(frame, "addr");
	unsigned long address = text ? strtoul(text, NULL, 16) : 0;

	for (size_t i = 0; i < n; i++) {
		if (address >= area[i].start && address < area[i].end)
			return &area[i];
	}
	return NULL;
}

/*
 * Without what is known of a library, gdb guesses at what is outside of its frames: words of the
 * stack that are addresses of code, but not of calls. So it is read, whatever follows.
 */
static bool is_unread(const struct group_gdb *gdb, const struct area *area, const json_t *frame)
{
	const char *func = group_mi_string(frame, "func"), *name;

	if (!area || gdb->all_symbols || !func || strcmp(func, "??") != 0)
		return false;
	name = strrchr(area->path, '/');
	return strstr(name, ".so") && !json_object_get(gdb->read, area->path) &&
	       !(gdb->our_symbols && is_ours(name));
}

/* Marks the frames that are not the program's, and finds the first that is. */
static void judge(struct group_gdb *gdb)
{
	struct area *areas;
	size_t n = find_areas(gdb->process, &areas), i;
	json_t *frame;

	json_decref(gdb->frames);
	gdb->frames = json_incref(json_object_get(gdb->answer, "stack"));
	gdb->level = -1;
	free(gdb->unread);
	gdb->unread = NULL;
	json_array_foreach(gdb->frames, i, frame)
	{
		const char *func = group_mi_string(frame, "func");
		const struct area *area = area_of(areas, n, frame);

		if (!gdb->unread && is_unread(gdb, area, frame))
			gdb->unread = rp_strdup(area->path);
		if (!area || !area->own || (func && strcmp(func, "_start") == 0))
			json_object_set_new(frame, "foreign", json_true());
		else if (gdb->level < 0)
			gdb->level = (int)i;
	}
	gdb->looked = true;
	while (n)
		free(areas[--n].path);
	free(areas);
}

/* Stacks that do not come to the program: the symbols of what they are in are missing. */
static bool is_lost(const struct group_gdb *gdb)
{
	return gdb->state == GROUP_GDB_STOPPED && gdb->looked && gdb->level < 0 &&
	       !gdb->all_symbols;
}

void group_read_ours(struct group *g, const bool *wanted)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));

	for (unsigned i = 0; i < g->ranks; i++) {
		if (!wanted[i] || g->gdb[i].our_symbols)
			continue;
		g->gdb[i].our_symbols = true;
		command[i] = rp_strdup("-interpreter-exec console \"sharedlibrary libreprise-\"");
	}
	group_ask_each(g, command);
	free(command);
}

/* The command that reads the library that the stack cannot be told without. */
static char *read_missing(struct group_gdb *gdb)
{
	char *name = library_name(gdb->unread), *text;

	if (!gdb->read)
		gdb->read = json_object();
	/* Whatever letters it has. */
	json_object_set_new_nocheck(gdb->read, gdb->unread, json_true());
	gdb->our_symbols |= is_ours(gdb->unread);
	gdb->all_symbols |= !name;
	text = rp_format("-interpreter-exec console \"sharedlibrary %s\"", name ? name : "");
	free(name);
	/* If that is of no use, nothing more is asked for. */
	free(gdb->unread);
	gdb->unread = NULL;
	return text;
}

static void ask_frames(struct group *g, const bool *fresh, char **command)
{
	for (unsigned i = 0; i < g->ranks; i++)
		command[i] = fresh[i] ? rp_strdup(FRAMES) : NULL;
	group_ask_each(g, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		if (fresh[i] && !group_gdb_error(&g->gdb[i]))
			judge(&g->gdb[i]);
	}
}

/* Reads what is missing, the innermost first, until no stack is guessed any more, or somebody
   interrupts it. */
static void read_all_missing(struct group *g, const bool *fresh, char **command)
{
	bool *again = rp_alloc(g->ranks + 1, sizeof(*again)), any = true;

	while (any) {
		any = false;
		for (unsigned i = 0; i < g->ranks; i++) {
			struct group_gdb *gdb = &g->gdb[i];

			again[i] = fresh[i] && gdb->state == GROUP_GDB_STOPPED && gdb->unread;
			command[i] = again[i] ? read_missing(gdb) : NULL;
			any |= again[i];
		}
		any = group_ask_each(g, command) && any;
		if (any)
			ask_frames(g, again, command);
	}
	free(again);
}

void group_look(struct group *g, const struct group_set *set)
{
	char **command = rp_alloc(g->ranks + 1, sizeof(*command));
	bool *fresh = rp_alloc(g->ranks + 1, sizeof(*fresh));
	bool *lost = rp_alloc(g->ranks + 1, sizeof(*lost));

	for (unsigned i = 0; i < g->ranks; i++)
		fresh[i] = set->has[i] && g->gdb[i].state == GROUP_GDB_STOPPED && !g->gdb[i].looked;
	ask_frames(g, fresh, command);
	read_all_missing(g, fresh, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		lost[i] = fresh[i] && is_lost(&g->gdb[i]);
		g->gdb[i].all_symbols |= lost[i];
		command[i] =
			lost[i] ? rp_strdup("-interpreter-exec console \"sharedlibrary\"") : NULL;
	}
	group_ask_each(g, command);
	ask_frames(g, lost, command);
	for (unsigned i = 0; i < g->ranks; i++) {
		if (fresh[i] && g->gdb[i].looked && g->gdb[i].level > 0)
			command[i] = rp_format("-stack-select-frame %d", g->gdb[i].level);
	}
	group_ask_each(g, command);
	group_threads_name(g, set);
	free(command);
	free(fresh);
	free(lost);
}

const char *group_thread(const struct group_gdb *gdb)
{
	const char *thread = group_mi_string(gdb->stop, "thread-id");

	return gdb->thread ? gdb->thread : thread ? thread : "1";
}

bool group_stopped_early(const struct group_gdb *gdb)
{
	const char *reason = group_mi_string(gdb->stop, "reason");

	return reason &&
	       (strcmp(reason, "breakpoint-hit") == 0 || strcmp(reason, "signal-received") == 0 ||
		strstr(reason, "watchpoint") != NULL);
}

static char *frame_text(const json_t *frame)
{
	const char *func = group_mi_string(frame, "func"), *file = group_mi_string(frame, "file");
	const char *line = group_mi_string(frame, "line"),
		   *slash = file ? strrchr(file, '/') : NULL;

	if (!func)
		func = group_mi_string(frame, "addr");
	if (!file || !line)
		return rp_format("%s()", func ? func : "?");
	return rp_format("%s:%s %s()", slash ? slash + 1 : file, line, func ? func : "?");
}

/* The function of a library that the program has called: the frame inside of its own. */
static char *call_text(const struct group_gdb *gdb)
{
	static const struct {
		const char *to, *from;
	} jumps[] = {{"replay_lock", "pthread_mutex_lock"},
		     {"replay_unlock", "pthread_mutex_unlock"},
		     {"other_MPI_", "MPI_"},
		     {"quick_replay_", "MPI_"}};
	const json_t *inner =
		gdb->level > 0 ? json_array_get(gdb->frames, (size_t)gdb->level - 1) : NULL;
	const char *func = inner ? group_mi_string(inner, "func") : NULL;

	if (!func || strcmp(func, "??") == 0)
		return rp_strdup("");
	if (strncmp(func, "PMPI_", 5) == 0)
		func++;
	/* Of two versions of a function, ours has a name of its own. */
	if (strncmp(func, "hook_cond_", 10) == 0)
		return rp_format(" in pthread_%s", func + 5);
	/* And some of ours jump to what the mode has for them: no frame is left of the function
	 * itself. */
	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		if (strncmp(func, jumps[i].to, strlen(jumps[i].to)) == 0)
			return rp_format(" in %s%s", jumps[i].from, func + strlen(jumps[i].to));
	}
	return rp_format(" in %s", func);
}

char **group_frames(const struct group_gdb *gdb)
{
	size_t all = json_array_size(gdb->frames), n = 0;
	char **list = rp_alloc(all + 2, sizeof(*list)), *call;

	for (size_t i = all; i-- > 0;) {
		json_t *frame = json_array_get(gdb->frames, i);
		if (!json_object_get(frame, "foreign"))
			list[n++] = frame_text(frame);
	}
	if (!n)
		list[n++] = rp_strdup("in no function of the program");
	call = call_text(gdb);
	if (*call) {
		char *both = rp_format("%s%s", list[n - 1], call);

		free(list[n - 1]);
		list[n - 1] = both;
	}
	free(call);
	return list;
}

char *group_place(const struct group_gdb *gdb)
{
	char **list = group_frames(gdb), *text;
	size_t n = rp_strings_count(list);

	text = rp_strdup(list[n - 1]);
	rp_strings_free(list);
	return text;
}

static char *watched_text(const json_t *stop)
{
	const json_t *wpt = json_object_get(stop, "wpt"), *value = json_object_get(stop, "value");
	const char *exp = group_mi_string(wpt, "exp"), *old = group_mi_string(value, "old");
	const char *new = group_mi_string(value, "new");

	return rp_format("%s was %s, is %s: ", exp ? exp : "watched", old ? old : "?",
			 new ? new : "?");
}

static char *reason_text(const struct group *g, unsigned rank)
{
	const json_t *stop = g->gdb[rank].stop;
	const char *reason = group_mi_string(stop, "reason");
	const char *kept = group_mi_string(stop, "disp");
	const char *result = group_mi_string(stop, "return-value");
	const char *sig = group_mi_string(stop, "signal-name");

	if (group_dies(g, rank) && reason && sig && strcmp(sig, "0") != 0 &&
	    strcmp(sig, "SIGINT") != 0 && strcmp(sig, "SIGTRAP") != 0)
		return rp_format("dies of %s: ", sig);
	if (group_is_at_end(g, rank))
		return rp_strdup("at the recorded end: ");
	if (g->gdb[rank].at_begin)
		return rp_strdup("there is nothing before: ");
	if (!reason || (sig && (strcmp(sig, "SIGINT") == 0 || strcmp(sig, "0") == 0)))
		return rp_strdup(reason ? "stopped: " : "");
	/* Those of ours, as at main, go away as they are met. */
	if (strcmp(reason, "breakpoint-hit") == 0)
		return rp_strdup(kept && strcmp(kept, "keep") == 0 ? "breakpoint: " : "");
	if (strstr(reason, "watchpoint"))
		return watched_text(stop);
	if (strcmp(reason, "signal-received") == 0)
		return rp_format("gets %s: ", sig ? sig : "a signal");
	if (strcmp(reason, "function-finished") == 0 && result)
		return rp_format("returned %s: ", result);
	return rp_strdup("");
}

char *group_stop_text(const struct group *g, unsigned rank)
{
	const struct group_gdb *gdb = &g->gdb[rank];
	char *why, *place, *text;
	const char *stopped;

	if (gdb->state == GROUP_GDB_GONE)
		return rp_strdup(gdb->gone ? gdb->gone : "gone");
	if (gdb->state == GROUP_GDB_RUNNING)
		return rp_strdup("still runs");
	/* It was to move, and gdb would not. */
	if (gdb->refused)
		return rp_strdup(gdb->refused);
	/* The reason is that of who stopped; another one may have been chosen since. */
	stopped = group_mi_string(gdb->stop, "thread-id");
	why = stopped && strcmp(stopped, group_thread(gdb)) != 0 ? rp_strdup("")
								 : reason_text(g, rank);
	place = group_place(gdb);
	/* The main one goes without saying. */
	if (gdb->thread_name && strcmp(gdb->thread_name, "0") != 0)
		text = rp_format("%sthread %s: %s", why, gdb->thread_name, place);
	else
		text = rp_format("%s%s", why, place);
	free(why);
	free(place);
	return text;
}
