/* SPDX-License-Identifier: Apache-2.0 */
/* culprit.h - other threads that had a part: the holder of the lock, the late waker, the user of the processor.
 * Pure. */
#ifndef SBX_CULPRIT_H
#define SBX_CULPRIT_H

#include "thread_judge.h"

/* How the culprit of a wait is known. */
enum sbx_culprit_source {
    SBX_CULPRIT_NONE = 0,    /* no culprit is known */
    SBX_CULPRIT_NAMED = 1,   /* the lock named its holder, or the waker its wait */
    SBX_CULPRIT_INFERRED = 2 /* concluded from what the other threads did meanwhile */
};

/* Name the other thread, and its location; `location` NULL: not known. */
void sbx_culprit_name(struct sbx_verdict *verdict, uint32_t thread, const struct sbx_location *location);

/* Is it a wait for a file, a process or a peer whose owner is recorded? For locks on files, for pipes and for sockets
 * the owner is known if it is another process of the family. */
bool sbx_culprit_is_told(const struct sbx_judgement *judgement);

/* For a verdict of LOCK or WAIT, and for others with a recorded culprit. Names the holder or the waker, follows the
 * chain of waits from that thread to its end, and turns LOCK into DEADLOCK if the chain is a cycle. Returns enum
 * sbx_culprit_source or -ENOMEM. */
int sbx_culprit_of_wait(struct sbx_report *report, const struct sbx_judgement *judgement);

/* For a verdict of CPU_CONTENTION: the threads of this process that ran while the judged one did not, or "external".
 * Returns 0 or -ENOMEM. */
int sbx_culprit_of_contention(struct sbx_report *report, const struct sbx_judgement *judgement);

/* CPU time of all other threads of this process in the judged interval. Returns 0 or -ENOMEM. */
int sbx_culprit_rivals_ns(struct sbx_report *report, const struct sbx_judgement *judgement, double *own_ns_out);

/* Adds evidence of kind `peer`: the other end is not known. And of kind `meanwhile`: a thread of this process that may
 * have the other end of the awaited pipe. Names no culprit. Returns 0 or -ENOMEM. */
int sbx_culprit_perhaps(struct sbx_report *report, const struct sbx_judgement *judgement);

#endif
