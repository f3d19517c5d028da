/* SPDX-License-Identifier: Apache-2.0 */
/* record_kinds.h - which kinds of records there are, for all code that judges and prints them. Pure. */
#ifndef SBX_RECORD_KINDS_H
#define SBX_RECORD_KINDS_H

#include "stall.h"

/* Whether a record of this kind is a look at a stack; one with begin < end stands for a run of them. */
bool sbx_kind_is_sample(uint32_t kind);

/* A sample that the thread took itself, or for which it was interrupted, while it ran. */
bool sbx_kind_is_running_sample(uint32_t kind);

/* An interval in which the thread did not run, or waited for work (IDLE). */
bool sbx_kind_is_wait(uint32_t kind);

/* An interval that only tells where one thing ended and the next began: a message, a frame. */
bool sbx_kind_is_boundary(uint32_t kind);

/* A look that the clock triggered, whatever the thread did: by signal, or from outside while it was in a call. */
bool sbx_record_is_unbiased(const struct sbx_stall_record *record);

enum {
    SBX_UNBIASED_ENOUGH = 6, /* so many of them are enough to use no others */
};

/* How many looks a sample adds. The first look of a run has a record of its own, so the run's record adds only the
 * repeats. */
uint64_t sbx_record_looks(const struct sbx_stall_record *record);

/* Is the process related to other processes? Then one of its threads has begun or awaited one, as far back as the
 * records reach. */
bool sbx_stall_sees_processes(const struct sbx_stall *stall);

/* The kind of record that a wait in this function makes. NONE: the function does not wait, or is not known. */
uint32_t sbx_kind_of_op(uint32_t op);

/* Does this function wait for a lock on a file? */
bool sbx_is_file_lock(uint32_t op);

#endif
