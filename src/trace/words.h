/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in words, the same wherever the tool speaks of them. The caller frees a returned char *.
 */
#ifndef TRACE_WORDS_H
#define TRACE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/order.h"
#include "trace/sync.h"

/* One word for people and scripts: "source", "post", …; "unknown" for anything else. */
const char *trace_kind_word(uint32_t kind);
const char *trace_input_word(uint32_t kind);
const char *trace_stream_word(uint32_t kind);
const char *trace_sync_word(uint32_t kind);

/* "order", "racing, full clocks". */
const char *trace_mode_words(uint32_t mode);

/* "parallel", "serial" or "auto": enum trace_threads. */
const char *trace_threads_name(uint32_t threads);
bool trace_threads_parse(const char *name, uint32_t *threads);

/*
 * What the record says: "received from 3". `post` is the running number of posted wildcards, which
 * the record may move on; start with TRACE_WORDS_FIRST_POST for each stream.
 */
#define TRACE_WORDS_FIRST_POST UINT64_MAX
char *trace_rec_words(const struct trace_rec *rec, uint64_t *post);

/* "took the object, 3 versions later", "returned EBUSY". */
char *trace_sync_words(const struct trace_sync_rec *rec);

/* "exit 1", "killed by SIGSEGV", "MPI_Abort 3". */
char *trace_end_words(uint64_t end, uint64_t value);

/* "MPI_Put cannot be replayed", "the disk was full". */
char *trace_stop_words(uint64_t stop, uint64_t value);

#endif
