/* SPDX-License-Identifier: Apache-2.0 */
/* the_capture.h - the one capture of a process: the recording that it writes, whether it may record, what was lost, and
 * a bell.
 *
 * It is attached to a mapped recording once and never detached. Hooks and handlers may be anywhere in our code at any
 * time. So stopping removes the hooks and shuts the gate, and leaves every page mapped.
 *
 * It is the lowest layer: threads, calls, samples and handlers use it, and it uses none of them. */
#ifndef SBX_THE_CAPTURE_H
#define SBX_THE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "callstack_table.h"
#include "capture_settings.h"
#include "marks.h"
#include "order.h"
#include "recording_format.h"
#include "ring_writer.h"

struct sbx_code_map;

/* Why the watch thread sleeps. In both cases a message or a frame that begins rings the bell. */
enum sbx_resting {
    SBX_AWAKE = 0,
    SBX_RESTS = 1, /* nothing happens: any thread that records something rings the bell as well */
    /* a stall goes on that was already reported: the watch thread looks rarely, and records of other threads do not
     * wake it */
    SBX_STANDS_BY = 2,
};

/* What the program is about to do that conflicts with a recorder that is just starting. */
enum sbx_settle {
    SBX_SETTLE_ONE_THREAD, /* it needs to be single-threaded: a start that is under way completes first */
    /* it gives up rights or its root: a forked process that will be recorded is recorded from here on */
    SBX_SETTLE_RIGHTS,
    SBX_SETTLE_SANDBOX /* it forbids system calls to itself: no recorder begins any more */
};

/* What makes a call other than usual. They are bits of one word, because every call asks for all of them. */
enum sbx_unusual {
    SBX_UNUSUAL_GROUPS = 1, /* calls of some groups are only shielded: `quiet_groups` */
    SBX_UNUSUAL_SEATS = 2,  /* few seats are free: a waiting thread gives its seat back (seat_turns.h). A hint */
    SBX_UNUSUAL_SIGNALS = 4 /* timer signals may be made in calls, or it is not known yet: `calls_are_safe` is 0 */
};

struct sbx_capture {
    /* What every hooked call reads: one cache line. gate[0] 1: record. gate[1] 1: this is the process we were started
     * in. The gate is in a page that the kernel wipes on fork, so that a child finds zeroes, whatever call made it. */
    _Alignas(64) uint32_t *gate;
    uint64_t quiet_groups; /* SBX_POINT_BIT() of groups whose calls are only shielded from signals, not recorded */
    uint64_t threshold_least_ns; /* least value of threshold_ns: most calls are shorter */
    uint32_t calls_are_safe;     /* 1: timer signals are made when a thread returns from the kernel, never in a call */
    uint32_t unusual;            /* enum sbx_unusual. Any thread, by sbx_capture_say_unusual() */
    uint32_t lets_polls_pass;    /* 1: to `late_ask` a poll without waiting time is no wait for work: a forked child */
    uint32_t provider_count;     /* see providers.h */
    uint16_t has_awaits;         /* by provider: it tells who awaits what a thread runs */
    uint16_t has_runs;           /* by provider: it tells which piece of its work a thread runs */
    /* 1: the watch thread ticks, and recording costs too much: only the begin of an answer to a client is followed
     * (messages/client_message.h) */
    uint32_t follows_lightly;
    const struct sbx_code_map *map; /* order: release and acquire code_map; read while `inside` is set (module_map.h) */
    uint64_t interval_ns;           /* a thread records one leaf sample per this time at most */
    /* the rest */
    struct sbx_recording_header *header;
    struct sbx_control_page *control;
    struct sbx_module_entry *modules;
    struct sbx_thread_entry *threads;
    struct sbx_watch_entry *watches;
    struct sbx_task_entry *tasks;
    struct sbx_queue_entry *queues;
    struct sbx_callstack_table table;
    struct sbx_ring ring;
    uint64_t agent_begin, agent_end;                 /* addresses of our own code: every stack leaves out its frames */
    uint64_t leaf_interval_ns[SBX_POINT_GROUPS_MAX]; /* the same for each group, never below interval_ns */
    uint64_t threshold_ns[SBX_POINT_GROUPS_MAX];     /* by group: a shorter wait leaves no record */
    bool copies_by_file;                             /* process_vm_readv cannot be used here */
    uint64_t signal_return;                          /* struct sbx_code_map; 0: not known yet */
    void *sample_handler;                            /* its handler, hidden from the program (point_signal.c) */
    void *
        unshown_handler; /* that of fatal signals while it is hidden from the program as well; NULL: it is not hidden */
    uint32_t sample_signal;  /* signal that asks running threads (sample_signal.h); 0: none. Pairs with sample_timer */
    uint32_t signal_changes; /* which signals are having their action set now, and by which side (sample_number.h) */
    /* What each message reads: one cache line. */
    _Alignas(64) uint32_t resting; /* enum sbx_resting */
    uint32_t has_frames;           /* 1: some thread has said where its frames begin */
    uint32_t has_clients; /* 1: some thread without a loop has read from a client (messages/client_message.h) */
    uint32_t serves;      /* 1: threads without a loop accept clients, or have read from them */
    /* 1: the main thread waits for conditions, semaphores or futexes that may be its loop's (messages/rest_place.h) */
    uint32_t rests;
    uint32_t news; /* bumped when a thread has stored something slow; if unchanged, no block need be looked at */
    /* Since when all points are in that see a client's question, its answer and waits for work; UINT64_MAX: one of them
     * is out */
    uint64_t clients_since_ns;
    uint64_t wake_ns; /* when the watch thread wakes by itself; UINT64_MAX: never */
    /* the earliest begin that sbx_capture_ring_for() has woken the watch thread for since it lay down; 0: none */
    uint64_t rung_ns;
    void (*leave)(void);  /* ends the recorder: the program does what conflicts with it; NULL: none runs */
    uint32_t own_tid;     /* tid of one of our own threads; set before `leave` */
    uint32_t own_threads; /* number of our threads that live, or are about to start; 0 again in a forked child */
    uint64_t of_one_thread_until_ns; /* until then the program is taken to have one thread; 0: the kernel is asked */
    /* 1: some thread has a seccomp filter that can kill. For this process the filter was compared with the system calls
     * that we make here. A forked child inherits the whole filter, and no list has the calls of a start. So no recorder
     * begins in a child. */
    uint32_t bars_children;
    /* A wait begins in a program whose recorder has not begun yet (agent/late_start.h, agent/forked_child.h), or a leaf
     * call by `caller`; NULL: no recorder is expected */
    void (*late_ask)(uint8_t group, uint8_t op, const void *caller);
    /* tells a start that is under way, or to come, what the program is about to do; NULL: there is no such start */
    void (*settle)(enum sbx_settle what);
    uint32_t task_mask, queue_mask; /* number of tasks and queues less one; the numbers are powers of two; 0: none */
};

_Static_assert(offsetof(struct sbx_capture, interval_ns) + sizeof(uint64_t) - offsetof(struct sbx_capture, gate) == 64,
               "what every hooked call reads fills one cache line");

/* Hidden: hooks read it at every call, and without this attribute they would first look up its address in a table of
 * the loader. */
extern struct sbx_capture sbx_the_capture __attribute__((visibility("hidden")));

/* Attach to a mapped, initialized recording. Start-up, one thread. */
void sbx_capture_attach(struct sbx_recording_header *header);

/* For the fork handler, in a forked child: readers of the gate read a word beside the capture from here on. The wiped
 * page would cost one more page fault, and some kernels and emulators do not wipe it. */
void sbx_capture_shut_gate(void);

/* In a forked child that is about to attach to a recording of its own: forget the parent's. What is known of the code
 * and of signals stays. The caller takes over the map of the code. One thread, while nothing is recorded. */
void sbx_capture_forget_parent(void);

/* Take over the numbers of `settings` (watch thread, or start-up). */
void sbx_capture_apply(const struct sbx_capture_settings *settings);

/* The hooks of these groups are in everywhere, so what begins from now on is seen whole. Called by the thread that put
 * them in. */
void sbx_capture_hooks_are_in(uint64_t points);

SBX_SIGNAL_SAFE static inline bool sbx_capture_is_open(void)
{
    return sbx_load_relaxed(sbx_the_capture.gate) != 0; /* relaxed: a late look costs one record more or less */
}

/* May a call that begins be one of the usual kind? */
SBX_HOOK_SAFE static inline bool sbx_capture_is_usual(void)
{
    return sbx_load_relaxed(&sbx_the_capture.unusual) == 0; /* relaxed: a change counts from the next call on */
}

SBX_HOOK_SAFE static inline bool sbx_capture_is_short_of_seats(void)
{
    return (sbx_load_relaxed(&sbx_the_capture.unusual) & SBX_UNUSUAL_SEATS) != 0; /* relaxed: a hint */
}

/* Not written when nothing changes, because every call reads this line. */
SBX_HOOK_SAFE static inline void sbx_capture_say_unusual(enum sbx_unusual what, bool is_so)
{
    /* relaxed: the next change of the same bit repairs a late one */
    if (((sbx_load_relaxed(&sbx_the_capture.unusual) & (uint32_t)what) != 0) != is_so) {
        if (is_so) {
            sbx_or_seq_cst(&sbx_the_capture.unusual, (uint32_t)what);
        } else {
            sbx_and_seq_cst(&sbx_the_capture.unusual, ~(uint32_t)what);
        }
    }
}

/* It is known now where the kernel makes timer signals. */
static inline void sbx_capture_say_calls_are_safe(bool are_safe)
{
    sbx_store_relaxed(&sbx_the_capture.calls_are_safe, are_safe); /* relaxed: once it is 1 it stays 1 */
    sbx_capture_say_unusual(SBX_UNUSUAL_SIGNALS, !are_safe);
}

/* A wait begins, or a leaf call, while nothing is recorded. `caller`: the return address of a leaf call; NULL for a
 * wait. */
SBX_HOOK_SAFE static inline void sbx_capture_ask_late(uint8_t group, uint8_t op, const void *caller)
{
    void (*ask)(uint8_t, uint8_t, const void *) =
        sbx_load_relaxed(&sbx_the_capture.late_ask); /* relaxed: set before there are hooks */
    if (SBX_UNLIKELY(ask != NULL)) {
        ask(group, op, caller);
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

/* Wake the watch thread. One futex wake-up. */
SBX_HOOK_SAFE void sbx_capture_ring_bell(void);
/* The same, for a message or a frame that began at `begin_ns`: the watch thread counts its time from then. */
SBX_HOOK_SAFE void sbx_capture_ring_for(uint64_t begin_ns);

/* Is the caller in the process that the recording is of? A child of vfork() is not, although its memory says so. A
 * process in another namespace with the same number is not either. */
SBX_HOOK_SAFE bool sbx_capture_is_callers(void);

#endif
