/* SPDX-License-Identifier: Apache-2.0 */
/* attended_processes.h - the recorded processes that one `stallbox run` has started, including their children: which
 * ones there are, and how the recording of each is settled when it ends.
 *
 * Only the program itself is our child; nothing reports the others to us. Each has its own recording in the folder,
 * with our key in it. A process descriptor (pidfd) tells when a process has ended. The signal that ended it comes from
 * /proc until its parent reaps it, or from the descriptor (Linux 6.15). Then its recording is settled at once
 * (agent/snapshot/recording_recover.h): it becomes a snapshot, or is removed. Without a process descriptor (another pid
 * namespace, no free descriptors) the recording's lock is checked every second. This does not change the parent of any
 * process: a subreaper would show in getppid().
 *
 * The contents of a recording are untrusted (handover_snapshot.h): its name tells the process, and the kernel tells how
 * the process ended. Not thread-safe: the thread of the handover taker uses it, which looks at the same recordings. */
#ifndef SBX_ATTENDED_PROCESSES_H
#define SBX_ATTENDED_PROCESSES_H

#include <stdint.h>

#include "handover_snapshot.h"
#include "lost_images.h"

struct sbx_attended;

struct sbx_attended_options {        /* all borrowed until the family is destroyed */
    const char *recordings;          /* absolute path of the folder */
    int folder;                      /* descriptor of the folder */
    uint32_t child_pid;              /* its recording is left to its parent, which knows more; 0: none */
    struct sbx_handovers *handovers; /* key and spool; a snapshot that a dead process asked for is made first */
    struct sbx_lost_images *images;  /* the executables of the processes are held here; NULL: not held */
};

/* Make an empty set. NULL without memory or descriptors. */
struct sbx_attended *sbx_attended_create(const struct sbx_attended_options *options);
void sbx_attended_destroy(struct sbx_attended *family);

/* A recording with this name exists in the folder, or was changed. For a known one this costs a comparison. */
void sbx_attended_see(struct sbx_attended *family, const char *name);

/* The recording is gone from the folder: its process ends, or has called exec. */
void sbx_attended_forget(struct sbx_attended *family, const char *name);

/* The same for all recordings that are gone, when single removals are not reported. */
void sbx_attended_forget_missing(struct sbx_attended *family);

/* A descriptor that is readable when a process has ended. The set keeps it. */
int sbx_attended_descriptor(const struct sbx_attended *family);

/* Settle processes that have ended, and look again at those that were starting. Returns the milliseconds after which to
 * call again; -1: only when the descriptor is readable. *ended_out: the number of settled processes. */
int sbx_attended_step(struct sbx_attended *family, unsigned *ended_out);

#endif
