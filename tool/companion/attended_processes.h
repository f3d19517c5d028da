/* SPDX-License-Identifier: Apache-2.0 */
/* attended_processes.h - the recorded processes that one `stallbox run` has started, their children included: which they are, and how the
 * recording of each is settled when it ends.
 *
 * Only the program itself is our child; nothing reports the others to us. Each has a recording of its own in the folder, with
 * our key in it. A process descriptor (pidfd) says when one has ended; /proc, while its parent has not asked, or the descriptor
 * (Linux 6.15) says by which signal. Then its recording is settled at once (agent/snapshot/recording_recover.h): it becomes a snapshot, or goes away.
 * Where there is no process descriptor (another pid namespace, no descriptors left) a look at the recording's lock every
 * second has to do. No parent is changed for that: a subreaper would be seen by getppid().
 *
 * What a recording says is not believed (handover_snapshot.h): whose it is, is in its name, and how it ended is the kernel's word.
 *
 * Not thread-safe: it is the handover taker's, which looks at the same recordings. */
#ifndef SBX_ATTENDED_PROCESSES_H
#define SBX_ATTENDED_PROCESSES_H

#include <stdint.h>

#include "handover_snapshot.h"
#include "lost_images.h"

struct sbx_attended;

struct sbx_attended_options {        /* all borrowed until the family is destroyed */
    const char *recordings;          /* folder, absolute */
    int folder;                      /* the same, open */
    uint32_t child_pid;              /* its recording is left to its parent, which knows more; 0: there is none */
    struct sbx_handovers *handovers; /* key and spool; what a dead one has asked for is done first */
    struct sbx_lost_images *images;  /* theirs are held; NULL: none */
};

/* Empty. NULL without memory or descriptors. */
struct sbx_attended *sbx_attended_create(const struct sbx_attended_options *options);
void sbx_attended_destroy(struct sbx_attended *family);

/* A recording of this name is in the folder, or was changed there. One that is known already costs a comparison. */
void sbx_attended_see(struct sbx_attended *family, const char *name);

/* It has gone from there: its process ends, or has called exec. */
void sbx_attended_forget(struct sbx_attended *family, const char *name);

/* The same, of all whose recordings are not there any more: where nobody tells of each. */
void sbx_attended_forget_missing(struct sbx_attended *family);

/* Readable when somebody has ended. Stays the family's. */
int sbx_attended_descriptor(const struct sbx_attended *family);

/* Settle processes that have ended, look again at those that were starting. Returns in how many milliseconds to call again at
 * the latest; -1: only when the descriptor is readable. *ended_out: how many were settled. */
int sbx_attended_step(struct sbx_attended *family, unsigned *ended_out);

#endif
