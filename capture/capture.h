/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - what the points, the sample handler and the watch thread share: one recording and how to write to it.
 *
 * There is one capture a process. It is attached to a mapped recording once and never detached: hooks and handlers may
 * be anywhere in it at any time, so stopping takes the hooks out and shuts the gate, and leaves every page mapped. */
#ifndef SBX_CAPTURE_H
#define SBX_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "callstack_table.h"
#include "capture_settings.h"
#include "frame_walker.h"
#include "marks.h"
#include "order.h"
#include "recording_format.h"
#include "registers.h"
#include "ring_writer.h"
#include "thread_registry.h"

struct sbx_capture {
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    struct sbx_module_entry *modules;
    struct sbx_thread_entry *threads;
    struct sbx_callstack_table table;
    struct sbx_ring ring;
    const struct sbx_code_map *map; /* order: release and acquire code_map; read while `inside` is set (module_map.h) */
    uint32_t *gate; /* [0] 1: record. [1] 1: this is the process we were started in. In a page that fork() wipes: a child
                       finds zeroes, by whatever call it was made */
    uint64_t agent_begin, agent_end; /* addresses of our own code: its frames are left out of every stack */
    uint64_t interval_ns;                        /* a thread records one leaf sample per this time at most */
    uint64_t leaf_interval_ns[SBX_POINT_GROUPS_MAX]; /* the same of each group, never below interval_ns */
    uint64_t threshold_ns[SBX_POINT_GROUPS_MAX];     /* by group: shorter waits leave no record */
    bool copies_by_file;    /* process_vm_readv is not to be had here */
    uint64_t signal_return; /* struct sbx_code_map; 0: not known yet */
    uint32_t resting; /* 1: the watch thread sleeps until somebody rings the bell */
};

extern struct sbx_capture sbx_the_capture;

/* Attach to a mapped, initialised recording. Single-threaded start-up. */
void sbx_capture_attach(struct sbx_recording_header *header);

/* Take over the numbers (watch thread, or start-up). */
void sbx_capture_apply(const struct sbx_capture_settings *settings);

SBX_SIGNAL_SAFE static inline bool sbx_capture_is_open(void)
{
    return sbx_load_relaxed(sbx_the_capture.gate) != 0; /* relaxed: a late look costs one record more or less */
}

/* A child of fork() must not write to the recording: it is its parent's. */
SBX_SIGNAL_SAFE static inline bool sbx_capture_is_ours(void)
{
    return sbx_load_relaxed(sbx_the_capture.gate + 1) != 0; /* relaxed: changes only across a fork */
}

SBX_SIGNAL_SAFE static inline void sbx_count_drop(enum sbx_drop drop)
{
    sbx_add_relaxed(&sbx_the_capture.header->drops[drop], 1); /* relaxed: statistics */
}

/* Call the watch thread. One futex wake-up. */
SBX_HOOK_SAFE void sbx_capture_ring_bell(void);

/* Find out how memory can be copied here. Single-threaded start-up. */
void sbx_copy_stack_start(void);

/* Copy at most SBX_STACK_COPY_BYTES of this process's memory from `from` on into `to`, which has that room. Returns how
 * many bytes there were. One system call; memory that is not there ends the copy where a load would fault. */
SBX_SIGNAL_SAFE size_t sbx_copy_stack(uint64_t from, size_t bytes, uint8_t *to);

/* Walk the calling thread's stack from `start` and intern it, replaying what has not changed; returns the callstack id.
 * The caller holds `inside`. */
SBX_SIGNAL_SAFE uint32_t sbx_capture_stack(struct sbx_thread *thread, const struct sbx_walk_registers *start);

/* Fill the fields every record of the calling thread has (thread, counters, message) and put it into the ring; a sample
 * that repeats the one before it only lengthens its run. The caller has set kind, op, times and what else it knows, and
 * holds `inside`. */
SBX_SIGNAL_SAFE void sbx_capture_put(struct sbx_thread *thread, struct sbx_record *record);

/* Put what the thread's run of equal samples has to tell. The caller holds `inside`, or the thread is gone. */
SBX_SIGNAL_SAFE void sbx_capture_end_run(struct sbx_thread *thread);

/* Faults and context switches of the calling thread into the record. A system call: some 250 ns. */
SBX_SIGNAL_SAFE void sbx_capture_read_usage(struct sbx_record *record);

/* ---- leaf points: what runs often carries the sampling ----
 *
 * A leaf point counts down a word of its thread, which costs less than a look at any clock. When the count is out the
 * clock is asked whether a sample is due, and the next count is chosen so that it is asked some eight times an interval:
 * no thread of ours has to tick for it, and an application at rest has none running. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_ask(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t group);

SBX_HOOK_SAFE static inline void sbx_leaf(struct sbx_thread *thread, uint8_t kind, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(--thread->entry->countdown < 0)) {
        sbx_leaf_ask(thread, kind, op, group);
    }
}

/* The same for a point that does nothing else and asks nobody who its thread is (sbx_own_entry). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_leaf_of_anybody(uint8_t kind, uint8_t op, uint8_t group);

SBX_HOOK_SAFE static inline void sbx_leaf_here(uint8_t kind, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(--sbx_own_entry->countdown < 0)) {
        sbx_leaf_of_anybody(kind, op, group);
    }
}

/* Around a call that may block. begin() makes the call visible from outside; end() records it when it took at least its
 * group's threshold, and else counts it as a leaf. Both keep errno. */
SBX_HOOK_SAFE void sbx_blocking_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op,
                                      uint64_t object, uint32_t peer);
SBX_HOOK_SAFE void sbx_blocking_end(struct sbx_blocking *call, uint64_t amount, bool failed, int fd);

/* The call is over, without a record: give the entry back to the call around it, if there is one. */
SBX_HOOK_SAFE void sbx_leave_call(struct sbx_thread *thread, const struct sbx_blocking *call);

#endif
