/* SPDX-License-Identifier: Apache-2.0 */
/* handover_taker.h - the companion's thread that makes the snapshots which its programs cannot write
 * (agent/stalls/handover.h), and those of the processes among them that died (attended_processes.h).
 *
 * It is a thread of its own, because a slow disk must delay neither the program's signals nor its end. It sleeps
 * until inotify reports a write to a recording; stores to a mapping are not reported. Without inotify it looks every
 * second. */
#ifndef SBX_HANDOVER_TAKER_H
#define SBX_HANDOVER_TAKER_H

#include <stdint.h>

#include "lost_images.h"

struct sbx_handover_taker;

/* `recordings` and `spool_path` are absolute. They and `images` (NULL: none) are borrowed until finish. `roster`: the
 * roster that notes the snapshots; 0: none. Returns NULL without memory, threads or descriptors; then no process may be
 * given the key. */
struct sbx_handover_taker *sbx_handover_taker_start(const char *recordings, const char *spool_path, uint64_t key,
                                                    uint64_t roster, struct sbx_lost_images *images);

/* The program has started as process `child_pid`: attend the other processes that it starts from now on. 0: attend all
 * of them. Call it once. */
void sbx_handover_taker_attend(struct sbx_handover_taker *taker, uint32_t child_pid);

/* An eventfd that reports ended processes; -1 for NULL. The taker keeps it. */
int sbx_handover_taker_ended(const struct sbx_handover_taker *taker);

struct sbx_handover_counts {
    uint64_t made, failed; /* snapshots */
    int last_error;        /* errno of the latest failure */
};

/* Make the snapshots that are still asked for, end the thread, and release everything. NULL is fine; its counts are
 * zero. */
void sbx_handover_taker_finish(struct sbx_handover_taker *taker, struct sbx_handover_counts *counts_out);

#endif
