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
#include "left_code.h"
#include "marks.h"
#include "order.h"
#include "recording_format.h"
#include "registers.h"
#include "ring_writer.h"
#include "thread_registry.h"

/* What the watch thread sleeps for. A message or a frame that begins rings the bell of either. */
enum sbx_resting {
    SBX_AWAKE = 0,
    SBX_RESTS = 1, /* nothing happens: whoever records something rings as well */
    SBX_STANDS_BY =
        2 /* a stall stands that has been told: it looks rarely, and records of other threads do not wake it */
};

struct sbx_capture {
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    struct sbx_module_entry *modules;
    struct sbx_thread_entry *threads;
    struct sbx_watch_entry *watches;
    struct sbx_callstack_table table;
    struct sbx_ring ring;
    uint32_t quiet_groups; /* SBX_POINT_BIT() of groups whose calls are only shielded from signals, and not recorded */
    uint32_t provider_count;        /* see logical_stack.h; beside `map`, which a capture reads as well */
    const struct sbx_code_map *map; /* order: release and acquire code_map; read while `inside` is set (module_map.h) */
    uint32_t
        *gate; /* [0] 1: record. [1] 1: this is the process we were started in. In a page that fork() wipes: a child
                       finds zeroes, by whatever call it was made */
    uint64_t agent_begin, agent_end; /* addresses of our own code: its frames are left out of every stack */
    uint64_t interval_ns;            /* a thread records one leaf sample per this time at most */
    uint64_t leaf_interval_ns[SBX_POINT_GROUPS_MAX]; /* the same of each group, never below interval_ns */
    uint64_t threshold_ns[SBX_POINT_GROUPS_MAX];     /* by group: shorter waits leave no record */
    bool copies_by_file;                             /* process_vm_readv is not to be had here */
    uint64_t signal_return;                          /* struct sbx_code_map; 0: not known yet */
    void *sample_handler;                            /* its handler, which nobody is shown (point_signal.c) */
    uint32_t sample_signal; /* by which running threads are asked (sample_signal.h); 0: none. Pairs with sample_timer */
    uint32_t signal_changes; /* who sets the action of which signals just now (sample_number.h) */
    uint32_t calls_are_safe; /* 1: signals of timers are made when a thread returns from the kernel, never in a call */
    uint32_t resting;        /* enum sbx_resting */
    uint64_t wake_ns;        /* when it wakes by itself; UINT64_MAX: never */
    uint32_t news;       /* bumped when a thread has told of something slow: else nobody's block need be looked at */
    void (*leave)(void); /* ends the recorder: the program does what it cannot do beside us; NULL: none runs */
    uint32_t own_tid;    /* one of our own threads; set before `leave` */
    void (*late_ask)(
        uint8_t group); /* a wait begins in a program whose recorder has not begun yet (agent/late_start.h);
                                       NULL: nobody asks */
    void (*settle)(
        bool for_good);  /* wait for a start under way, or see to it that there is none; NULL: there is none */
    uint32_t has_frames; /* 1: some thread has said where its frames begin */
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

/* A wait begins while nothing is recorded. */
SBX_HOOK_SAFE static inline void sbx_capture_ask_late(uint8_t group)
{
    void (*ask)(uint8_t) = sbx_load_relaxed(&sbx_the_capture.late_ask); /* relaxed: set before there are hooks */
    if (SBX_UNLIKELY(ask != NULL)) {
        ask(group);
    }
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

/* What kind of thing descriptor `fd` is: enum sbx_fd_class; UNKNOWN for none. One system call, two for a socket. Sets errno. */
SBX_HOOK_SAFE uint8_t sbx_classify_fd(int fd);

/* The same of what stat(2) says; a socket of either kind is SOCKET. */
SBX_HOOK_SAFE uint8_t sbx_class_of_mode(uint32_t mode);

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

/* Count one call down; true: the count is out, and sbx_leaf_of_anybody() is to be called. */
SBX_HOOK_SAFE static inline bool sbx_leaf_is_out(void)
{
    return --sbx_own_entry->countdown < 0;
}

SBX_HOOK_SAFE static inline void sbx_leaf_here(uint8_t kind, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(sbx_leaf_is_out())) {
        sbx_leaf_of_anybody(kind, op, group);
    }
}

/* Around a call that may block. begin() makes the call visible from outside; end() records it when it took at least its
 * group's threshold, and else counts it as a leaf. Both keep errno. */
SBX_HOOK_SAFE void sbx_blocking_begin(struct sbx_blocking *call, uint8_t group, uint8_t kind, uint8_t op,
                                      uint64_t object, uint32_t peer);
SBX_HOOK_SAFE void sbx_blocking_end(struct sbx_blocking *call, uint64_t amount, bool failed, int fd);

/* Around a call that the kernel would not restart after a handler and of which nothing else is told: keeps our signal away,
 * while looks from outside tell of the thread as of any that is blocked. begin() returns what end() is to be given. Nothing is
 * to be kept away where signals are made outside of calls only, but from calls that make them themselves: `always`. */
SBX_HOOK_SAFE struct sbx_thread *sbx_shield_begin(bool always);
SBX_HOOK_SAFE void sbx_shield_end(struct sbx_thread *thread);

#endif
