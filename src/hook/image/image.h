/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images of a replayed process (ckpt/format.h), taken while it runs. Where one is due, the thread
 * that finds it takes it: all other threads are parked in a handler of a signal that programs
 * cannot block, what the kernel knows of the process is noted, and a child that shares the memory
 * copy on write does the writing (write.c), while the program goes on. What a thread goes on with
 * is the frame that the kernel made for the handler, on the thread's own stack.
 *
 * In a restored process all threads come to hook_image_resume, wait until the one that took the
 * image has put right what belongs to the old process (resume.c), and then return from that
 * handler. take.c: when. park.c: the parking. capture.c, descriptors.c: what is noted while all
 * stand still. copy.c: copies that a debugger makes.
 */
#ifndef HOOK_IMAGE_H
#define HOOK_IMAGE_H

#include "ckpt/format.h"
#include "hook/common/hook.h"
#include "replay/session.h"

#define HOOK_IMAGE_TEXT (256u << 10)
#define HOOK_IMAGE_WHY 256
#define HOOK_IMAGE_COPY "copy-"    /* how files of a session begin that the program writes */
#define HOOK_IMAGE_SHARED "shared" /* in the directory of images: what cannot be copied */
#define HOOK_IMAGE_TAIL 40960      /* more than is ever appended at once */

/* All that is noted of the process; the image has it in this place, too. */
struct hook_image {
	struct ckpt_head head;
	struct ckpt_note note;
	struct ckpt_thread thread[CKPT_MOST_THREADS];
	struct ckpt_fd fd[CKPT_MOST_FDS];
	uint32_t threads, fds;
	char text[HOOK_IMAGE_TEXT];
	uint32_t text_bytes;
	struct replay_slot slot;
	uint8_t output_head[4096]; /* of the stream of what is printed, whose bytes are appended */
	uint64_t output_bytes;     /* of that file, with the head */
	uint8_t output_tail[HOOK_IMAGE_TAIL];
	size_t output_tail_bytes;
	char output[64];       /* its name in the session */
	uint32_t base;         /* number of the image before, whose pages need not be written
				  again; 0: none */
	uint64_t memory_pages; /* that the process has mapped */
	int copies_fd;         /* contents of files that are written; or -1 */
	uint64_t copies_bytes;
	bool awaited;   /* nobody goes on until it is written */
	bool verifies;  /* for tests: pages that were not written to are read all the same */
	bool all_apart; /* for tests: small blocks are kept apart, too (written/apart.h) */
	bool no_scan;   /* for tests: as if the kernel were older than PAGEMAP_SCAN */
	bool late;      /* for tests: the first rank goes on before others have written theirs */
	bool no_kcmp;   /* for tests: as if it did not compare descriptors */
	struct ckpt_action parking; /* what was there before our own handler */
	char why[HOOK_IMAGE_WHY];   /* there can be no image now */
};

extern struct hook_image hook_image;

/* Has it opened MPI? It may have ended it since, but what MPI has made is still there. */
static inline bool hook_image_has_mpi(void)
{
	return hook_process.mpi_open || hook_process.replay.recover == HOOK_RECOVER_ALONE;
}

/* What belongs to an evaluation that runs with it, and not to the process. */
bool hook_image_is_left(const char *path);

/* The main thread, before the program begins: finds out whether images are wanted. */
void hook_image_start(void);

/*
 * Takes one, if it can be, when MPI has just been opened: the program runs on meanwhile.
 * S/ckpt/rank-NNNN/init says which one it is. True in the process that is restored from it, when
 * that goes on.
 */
bool hook_image_take_open(void);

/* In a rank of which none is wanted: stands still there while the others take theirs. */
void hook_image_let_others(void);

/* In a process that was restored: more of them, if its session wants that (S/checkpoint). */
void hook_image_go_on(void);

/* Waits until the last one is written: the process ends. */
void hook_image_finish(void);

/*
 * capture.c: before MPI is opened; and, of a mapping that is shared: would a copy be less than
 * that?
 */
struct raw_map;
void hook_image_note_shared(void);
bool hook_image_is_shared(const struct raw_map *m);

/* descriptors.c: looks at what is open before the program begins. */
void hook_image_note_found(void);

/* capture.c: true, or the reason is in hook_image.why. All others are parked. */
bool hook_image_capture(void);
/* Where the threads of the program are. */
void hook_image_fill_positions(void);

/* Both in one sentence; false. */
bool hook_image_refuse(const char *a, const char *b);

/* descriptors.c: as hook_image_capture. */
bool hook_image_take_descriptors(void);

/* How many pages the calling process has mapped. */
uint64_t hook_image_memory_pages(void);

/* write.c: in the child; does not return. */
void hook_image_write(void) __attribute__((noreturn));

/* resume.c: where thread number `index` of a restored process begins; does not return. */
void hook_image_resume(uint64_t index) __attribute__((noreturn));

/* copy.c: tells a debugger how the process is copied. */
void hook_image_copy_offer(void);

/* Where a handler returns to. */
void hook_image_return(void);

/* The offset of a string in hook_image.text, 0 if there is no room. */
uint32_t hook_image_text(const char *s);

/* The same for a path, which is kept without our directory if it is below one: that is in *base. */
uint32_t hook_image_keep_path(const char *path, uint32_t *base);
bool hook_image_is_ours(const char *path);
/* A file that the program writes: it is in this session alone. */
bool hook_image_is_copy(const char *path);
/* Makes of what the kernel calls a file the name that it has. */
void hook_image_true_path(char *path);

/* How the directory of images is called in a session, with the rank. */
void hook_image_path(char *out, size_t size, const char *name);

/* word.c: writes that into a file of this directory; the status that a child ended with in words.
 */
void hook_image_leave_word(const char *name, const char *text);
const char *hook_image_why_not(int error);
/* What S/checkpoint, lines "key=value", says behind "key="; or 0. */
uint64_t hook_image_wanted(const char *key);
/* Bytes for its images: what the log has of them is spent. */
uint64_t hook_image_budget(void);

/* The path of the file of this number. */
void hook_image_name(char *out, size_t size, uint32_t number, const char *suffix);

#endif
