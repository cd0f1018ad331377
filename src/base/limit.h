/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit on the size of files (ulimit -f). A process that writes beyond it gets SIGXFSZ and
 * dies. So we check before we write, or ignore the signal and get EFBIG.
 */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include <stdint.h>

/* A file of ours may become so long: 0 or -EFBIG. */
int rp_limit_check(uint64_t size);

/* For the whole tool; what it starts gets back what the tool got. */
void rp_limit_ignore_signal(void);
void rp_limit_restore_signal(void);

#endif
