/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything here is safe in a signal handler but hook_session_map: plain system calls on paths
 * built in fixed buffers.
 */
#include "hook/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/held.h"
#include "hook/common/end.h"
#include "hook/common/process.h"
#include "hook/kit/text.h"

#define NAPS_PER_LOOK 50
#define MEETING_NAP_NS 100000
#define MEETING_NAPS 100000 /* some ten seconds */
#define SLOW_NAPS 10

static struct replay_slot no_slot = {.flags = REPLAY_CUT};
static struct replay_state_file *state;
static bool local;
bool hook_session_is_slow, hook_session_is_mute;
struct replay_slot *hook_slot = &no_slot;

static struct hook_text session_path(char *out, size_t size, const char *name)
{
	struct hook_text text = hook_text_in(out, size);

	hook_text_add(&text, hook_process.session);
	hook_text_add(&text, "/");
	hook_text_add(&text, name);
	return text;
}

/* Who made the stream: his pid, or -errno. */
static int writer_of(int dirfd, const char *name)
{
	struct trace_header header;
	int fd = rp_fd_openat(dirfd, name, O_RDONLY | O_CLOEXEC, 0), pid = 1;

	if (fd < 0)
		return -errno;
	if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) && (int)header.pid > 0)
		pid = (int)header.pid;
	close(fd);
	return pid;
}

/*
 * The directory of the rank has the last descriptor there is. Nothing can be recorded then; but
 * whether something is lost must be known, so the directory goes by its path from now on.
 */
static int writer_in_need(const char *name)
{
	char path[1200];
	struct hook_text text = hook_rank_path(path, sizeof(path), name);

	if (text.at == text.end)
		return -ENAMETOOLONG;
	close(hook_process.rank_fd);
	hook_process.rank_fd = -1;
	return writer_of(AT_FDCWD, path);
}

/* Recording: the claim is the order stream itself, made later by the same O_EXCL. */
static int record_claim(uint32_t k)
{
	struct hook_thread *t = hook_thread_self();
	char name[TRACE_NAME_BYTES + 16];
	int rc = -EMFILE;

	hook_process.process = k;
	hook_stream_name(t, "order", name, sizeof(name));
	if (hook_process.rank_fd >= 0)
		rc = trace_stream_create(&t->record.order.stream, hook_process.rank_fd, name,
					 TRACE_STREAM_ORDER, hook_process.rank, k, t->name);
	if (rc == 0)
		return 0;
	if (rc == -EEXIST) {
		rc = writer_of(hook_process.rank_fd, name);
		if (rc == -EMFILE)
			rc = writer_in_need(name);
	}
	if (rc < 0)
		hook_say("cannot record: ", hook_process.dir, ": ", hook_no_room(rc),
			 "; the program runs on without Reprise", NULL);
	return rc;
}

/* Is the stream there? Also where the directory has no descriptor any more. */
static int find_in_rank(const char *name)
{
	char path[1200];

	if (hook_process.rank_fd >= 0)
		return faccessat(hook_process.rank_fd, name, F_OK, 0) == 0 ? 0 : -errno;
	hook_rank_path(path, sizeof(path), name);
	return access(path, F_OK) == 0 ? 0 : -errno;
}

/* As in writer_in_need, the last descriptor may be that of the directory. */
static int make_claim(const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
	int fd = rp_fd_openat(AT_FDCWD, path, flags, 0600);

	if (fd >= 0 || errno != EMFILE || hook_process.rank_fd < 0)
		return fd;
	close(hook_process.rank_fd);
	hook_process.rank_fd = -1;
	return rp_fd_openat(AT_FDCWD, path, flags, 0600);
}

static int replay_claim(uint32_t k)
{
	struct hook_thread *t = hook_thread_self();
	char path[1100], pid[16] = "";
	struct hook_text text, number = hook_text_in(pid, sizeof(pid));
	int fd, rc;

	hook_process.process = k;
	hook_stream_name(t, "order", path, sizeof(path));
	rc = find_in_rank(path);
	if (rc)
		return rc;
	text = session_path(path, sizeof(path), "claim-");
	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_add(&text, "-");
	hook_text_number(&text, k);
	fd = make_claim(path);
	if (fd >= 0) {
		hook_text_number(&number, hook_process.pid);
		if (hook_write(fd, pid, strlen(pid)) < 0)
			pid[0] = 0;
		close(fd);
		return 0;
	}
	fd = rp_fd_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0) {
		hook_say("cannot replay: ", path, ": ", strerror(errno),
			 "; the program runs on without Reprise", NULL);
		return -errno;
	}
	if (read(fd, pid, sizeof(pid) - 1) < 0)
		pid[0] = 0;
	close(fd);
	return atoi(pid) > 0 ? atoi(pid) : 1;
}

int hook_session_claim(uint32_t k)
{
	return hook_process.mode == HOOK_RECORD ? record_claim(k) : replay_claim(k);
}

const struct replay_slot *hook_session_slot(uint32_t rank)
{
	return state && rank < state->ranks ? &state->slot[rank] : &no_slot;
}

static void count_kind(struct replay_slot *slot, const struct replay_want *message, int32_t by)
{
	uint32_t tagged = replay_kind(message->source, message->tag, message->comm);
	uint32_t any = replay_kind(message->source, REPLAY_ANY, message->comm);

	__atomic_add_fetch(&slot->with_tag[tagged], by, __ATOMIC_RELAXED);
	__atomic_add_fetch(&slot->of_source[any], by, __ATOMIC_RELAXED);
}

void hook_session_message_to(uint32_t rank, const struct replay_want *message)
{
	if (!state || rank >= state->ranks)
		return;
	__atomic_add_fetch(&state->slot[rank].sent_here, 1, __ATOMIC_RELAXED);
	count_kind(&state->slot[rank], message, 1);
}

void hook_session_message_taken(const struct replay_want *message)
{
	__atomic_add_fetch(&hook_slot->received, 1, __ATOMIC_RELAXED);
	count_kind(hook_slot, message, -1);
}

static bool all_came(int number)
{
	return __atomic_load_n(&state->met[number], __ATOMIC_ACQUIRE) >= state->ranks;
}

static bool all_live(void)
{
	for (uint32_t i = 0; i < state->ranks; i++) {
		if (syscall(SYS_kill, state->slot[i].pid, 0) != 0)
			return false;
	}
	return true;
}

/* To the last one they come when they have written: that takes as long as it takes. */
bool hook_session_meet(int number, void (*meanwhile)(void))
{
	struct timespec nap = {0, MEETING_NAP_NS};
	bool last = number == HOOK_SESSION_WRITTEN;

	if (!state)
		return false;
	__atomic_add_fetch(&state->met[number], 1, __ATOMIC_ACQ_REL);
	for (int i = 0; i < MEETING_NAPS && !hook_session_has_parted(); i++) {
		if (all_came(number))
			return true;
		if (meanwhile)
			meanwhile();
		nanosleep(&nap, NULL);
		if (last && i == MEETING_NAPS - 1 && all_live())
			i = 0;
	}
	if (all_came(number))
		return true;
	hook_session_part();
	return false;
}

bool hook_session_has_parted(void)
{
	return state && __atomic_load_n(&state->parted, __ATOMIC_ACQUIRE);
}

void hook_session_part(void)
{
	if (state)
		__atomic_store_n(&state->parted, 1, __ATOMIC_SEQ_CST);
}

/* Those of other hosts are not seen here. */
uint64_t hook_session_behind(uint32_t *running, uint32_t *within)
{
	uint64_t done = 0;

	*running = *within = 0;
	for (uint32_t i = 0; local && i < state->ranks; i++) {
		const struct replay_slot *slot = &state->slot[i];
		uint64_t events = __atomic_load_n(&slot->events, __ATOMIC_RELAXED);
		uint32_t is = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);

		done += events + is + __atomic_load_n(&slot->sync, __ATOMIC_RELAXED);
		if (is == REPLAY_RUNNING && slot != hook_slot &&
		    !(slot->flags & REPLAY_CUT && events >= slot->limit))
			++*(events & 1 ? within : running);
	}
	return done;
}

bool hook_session_is_local(void)
{
	return local;
}

bool hook_session_is_held(void)
{
	for (uint32_t i = 0; local && i < state->ranks; i++) {
		if (rp_held(state->slot[i].pid))
			return true;
	}
	return false;
}

int hook_session_nap(int naps)
{
	static const struct timespec nap = {0, 2000000};

	syscall(SYS_nanosleep, &nap, NULL);
	if (++naps % NAPS_PER_LOOK == 0 && hook_session_is_held())
		return naps - NAPS_PER_LOOK;
	return naps;
}

void hook_session_map(void)
{
	char path[1100], host[sizeof(((struct replay_state_file *)0)->host)] = "";
	struct replay_state_file *file;
	struct stat st;
	int fd;

	session_path(path, sizeof(path), "state");
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (size_t)st.st_size >= sizeof(*file)) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (file != MAP_FAILED && file->magic == REPLAY_STATE_MAGIC &&
		    hook_process.rank < file->ranks &&
		    replay_state_bytes(file->ranks) <= (size_t)st.st_size)
			hook_slot = &file->slot[hook_process.rank];
		state = hook_slot == &no_slot ? NULL : file;
		gethostname(host, sizeof(host) - 1);
		local = hook_slot != &no_slot && strcmp(host, file->host) == 0;
	}
	close(fd);
}

struct place {
	uintptr_t address;
	struct hook_text *out;
	const char *before, *behind;
};

static int add_place(struct dl_phdr_info *info, size_t size, void *data)
{
	struct place *place = data;
	const char *name = info->dlpi_name;
	char self[1024];
	ssize_t n;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD || place->address < start ||
		    place->address >= start + info->dlpi_phdr[i].p_memsz)
			continue;
		if (!name[0]) {
			n = readlink("/proc/self/exe", self, sizeof(self) - 1);
			self[n > 0 ? n : 0] = 0;
			name = self;
		}
		hook_text_add(place->out, place->before);
		hook_text_add(place->out, name);
		hook_text_add(place->out, "+");
		hook_text_hex(place->out, place->address - info->dlpi_addr);
		hook_text_add(place->out, place->behind);
		return 1;
	}
	return 0;
}

void hook_session_place(const void *address, struct hook_text *out)
{
	struct place place = {(uintptr_t)address, out, "", ""};

	dl_iterate_phdr(add_place, &place);
}

static void add_line(struct hook_text *out, const char *key, const char *value)
{
	hook_text_add(out, key);
	hook_text_add(out, "=");
	hook_text_add(out, value);
	hook_text_add(out, "\n");
}

static void add_number(struct hook_text *out, const char *key, int64_t value)
{
	hook_text_add(out, key);
	hook_text_add(out, "=");
	hook_text_number(out, value);
	hook_text_add(out, "\n");
}

/* Of a process that has given up its rights, or has no descriptor left. */
static void publish_spare(const char *bytes, size_t n)
{
	struct replay_spare *spare = state ? replay_spare(state, hook_process.rank) : NULL;

	if (!spare || spare->length)
		return;
	n = n < sizeof(spare->text) ? n : sizeof(spare->text);
	memcpy(spare->text, bytes, n);
	__atomic_store_n(&spare->length, (uint32_t)n, __ATOMIC_RELEASE);
	hook_slot->state = REPLAY_AT_END;
}

static void publish(const char *bytes, size_t n)
{
	char path[1100], temp[1100];
	struct hook_text text = session_path(path, sizeof(path), "end-");
	struct hook_text other = session_path(temp, sizeof(temp), REPLAY_WORD);
	int fd;

	hook_text_padded(&text, hook_process.rank, 4);
	hook_text_padded(&other, hook_process.rank, 4);
	if (hook_session_is_mute && hook_slot->flags & REPLAY_CUT && hook_slot->events & 1)
		return;
	/* Where the disk may be full, the front has left room in it (replay/images.c). */
	fd = open(temp, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0) {
		publish_spare(bytes, n);
		return;
	}
	if (hook_write(fd, bytes, n) == (ssize_t)n && ftruncate(fd, (off_t)n) == 0 &&
	    link(temp, path) == 0) {
		for (int nap = 0; hook_session_is_slow && nap < SLOW_NAPS; nap++)
			hook_session_nap(0);
		hook_slot->state = REPLAY_AT_END;
	}
	close(fd);
	unlink(temp);
}

static void word(struct hook_text *out, const struct hook_thread *t, const char *why,
		 const char *call, int64_t value, const char *text, void *const *frames, int count)
{
	add_line(out, "why", why);
	add_line(out, "thread", t->name);
	add_number(out, "event", (int64_t)t->replay.events);
	add_line(out, "call", call);
	add_number(out, "value", value);
	add_line(out, "text", text);
	for (int i = 0; i < count; i++) {
		struct place place = {(uintptr_t)frames[i], out, "where=", "\n"};

		dl_iterate_phdr(add_place, &place);
	}
}

void hook_session_last_word(const struct hook_thread *t, const char *why, const char *call,
			    int64_t value, const char *text, void *const *frames, int count)
{
	char buffer[REPLAY_WORD_BYTES];
	struct hook_text out = hook_text_in(buffer, sizeof(buffer));

	word(&out, t, why, call, value, text, frames, count);
	if (strcmp(why, REPLAY_WHY_END) == 0 || strcmp(why, REPLAY_WHY_DIVERGED) == 0)
		hook_sync_tell(t, strcmp(why, REPLAY_WHY_END) != 0, &out);
	publish(buffer, (size_t)(out.at - buffer));
}

void hook_session_gave(const struct hook_thread *t, const char *file, const char *call,
		       const char *text, void *const *frames, int count)
{
	char path[1100], buffer[REPLAY_WORD_BYTES];
	struct hook_text name = session_path(path, sizeof(path), file);
	struct hook_text out = hook_text_in(buffer, sizeof(buffer));
	int fd;

	hook_text_padded(&name, hook_process.rank, 4);
	word(&out, t, REPLAY_WHY_DIVERGED, call, 0, text, frames, count);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	hook_write(fd, buffer, (size_t)(out.at - buffer));
	close(fd);
}

bool hook_session_is_released(void)
{
	char path[1100];

	if (state && __atomic_load_n(&state->released, __ATOMIC_ACQUIRE))
		return true;
	session_path(path, sizeof(path), "all");
	return access(path, F_OK) == 0;
}

bool hook_session_all_ended(void)
{
	return __atomic_load_n(&hook_slot->go, __ATOMIC_ACQUIRE) == REPLAY_GO_TO_DEATH ||
	       hook_session_is_released();
}
