/* SPDX-License-Identifier: Apache-2.0 */
/* handover_taker.h - the companion's thread that makes the snapshots which its programs cannot write
 * (agent/stalls/handover.h), and those of the processes among them that died (attended_processes.h).
 *
 * A thread of its own, because a slow disk must hold up neither the program's signals nor its end. It sleeps until
 * inotify tells that a recording was written to, which mapped stores do not do. Where there is no inotify it looks
 * every second. */
#ifndef SBX_HANDOVER_TAKER_H
#define SBX_HANDOVER_TAKER_H

#include <stdint.h>

#include "lost_images.h"

struct sbx_handover_taker;

/* `recordings` and `spool_path` are absolute, and borrowed until finish, as `images` is (NULL: none). Returns NULL without memory, threads or
 * descriptors: then nobody is to be given the key. `roster` is where the snapshots are noted; 0: nowhere. */
struct sbx_handover_taker *sbx_handover_taker_start(const char *recordings, const char *spool_path, uint64_t key,
                                                    uint64_t roster, struct sbx_lost_images *images);

/* The program is started, and its number is `child_pid`: from now on look after the others that it starts. 0: after all of
 * them. Once. */
void sbx_handover_taker_attend(struct sbx_handover_taker *taker, uint32_t child_pid);

/* An eventfd that says that some of them have ended; -1 for NULL. Stays the taker's. */
int sbx_handover_taker_ended(const struct sbx_handover_taker *taker);

struct sbx_handover_counts {
    uint64_t made, failed; /* snapshots */
    int last_error;        /* errno of the newest that failed */
};

/* Do what is still asked for, end the thread and release. NULL is fine, and did nothing. */
void sbx_handover_taker_finish(struct sbx_handover_taker *taker, struct sbx_handover_counts *counts_out);

#endif
