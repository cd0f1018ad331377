/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the image while a process becomes it: all of it lies in one piece of memory that
 * neither the image nor the new process uses. restore.c fills it, become.c works by it.
 */
#ifndef HOOK_RESTORE_H
#define HOOK_RESTORE_H

#include "ckpt/format.h"
#include "ckpt/raw.h"

#define RESTORE_LIST_BYTES (8ul << 20)
#define RESTORE_CHAIN_MOST 1024

struct restore {
	struct ckpt_head head;
	struct ckpt_note note;
	struct ckpt_thread *thread;
	struct ckpt_map *map;
	struct ckpt_run *run;
	struct ckpt_fd *fd;
	char *text;
	uint32_t threads, maps, fds;
	const char **map_path, **fd_path;
	char *list;
	uint64_t scratch, scratch_bytes;
	uint64_t rseq;  /* of the process as it is */
	uint64_t begin; /* where the code for threads lies now */
	int highest;    /* descriptor of the image */
	uint32_t chain;
	struct {
		uint32_t number;
		int fd;
	} image[RESTORE_CHAIN_MOST];
	char maps_file[16], words[48];
};

/* Code that is moved: begin and end, and what of it is called from outside. */
extern const char __start_restorer[] __attribute__((visibility("hidden")));
extern const char __stop_restorer[] __attribute__((visibility("hidden")));

/* Becomes the process; on a stack that is moved, too. */
void restore_become(struct restore *w) __attribute__((noreturn));

/* A thread of it, with its own registers for thread-local storage: the last that is done here. */
void restore_begin(struct restore *w, uint64_t index) __attribute__((noreturn));

/* The descriptor of an image that has pages of this one, or -1. */
RAW int restore_image_of(const struct restore *w, uint32_t number)
{
	for (uint32_t i = 0; i < w->chain; i++) {
		if (w->image[i].number == number)
			return w->image[i].fd;
	}
	return -1;
}

#endif
