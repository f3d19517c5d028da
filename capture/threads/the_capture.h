/* SPDX-License-Identifier: Apache-2.0 */
/* the_capture.h - the one capture of a process: the recording that it writes, whether it may, what was lost, and a bell.
 *
 * It is attached to a mapped recording once and never detached: hooks and handlers may be anywhere in our code at any time, so
 * stopping takes the hooks out and shuts the gate, and leaves every page mapped.
 *
 * It lies on the ground: threads, calls, samples and handlers all know it, and it knows none of them. */
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

/* What the watch thread sleeps for. A message or a frame that begins rings the bell of either. */
enum sbx_resting {
    SBX_AWAKE = 0,
    SBX_RESTS = 1, /* nothing happens: whoever records something rings as well */
    SBX_STANDS_BY =
        2, /* a stall stands that has been told: it looks rarely, and records of other threads do not wake it */
};

/* What the program is about to do that does not go together with a recorder which is just beginning. */
enum sbx_settle {
    SBX_SETTLE_ONE_THREAD, /* it wants to be of one thread: who is beginning ends that first */
    SBX_SETTLE_RIGHTS, /* it gives up rights or its root: who is forked and will be recorded is recorded from here on */
    SBX_SETTLE_SANDBOX /* it forbids itself calls: nothing begins any more */
};

struct sbx_capture {
    /* What every hooked call reads: one line. */
    _Alignas(64) uint32_t
        *gate; /* [0] 1: record. [1] 1: this is the process we were started in. In a page that fork() wipes: a child
                       finds zeroes, by whatever call it was made */
    uint64_t quiet_groups; /* SBX_POINT_BIT() of groups whose calls are only shielded from signals, and not recorded */
    uint64_t threshold_least_ns; /* of threshold_ns: most calls are shorter */
    uint32_t calls_are_safe;  /* 1: signals of timers are made when a thread returns from the kernel, never in a call */
    uint32_t seats_are_short; /* 1: so many are taken that who waits gives his back (seat_turns.h). A hint */
    uint32_t lets_polls_pass; /* 1: to `late_ask` a poll with no time to wait is no wait for work: a forked child */
    uint32_t provider_count;  /* see providers.h */
    uint16_t has_awaits;      /* one of them tells who awaits what a thread runs */
    uint16_t has_runs;        /* one of them tells which piece of its work a thread runs */
    /* 1: the watch thread ticks, and recording costs too much: answers to clients are followed lightly (lone_call.h of calls/) */
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
    uint64_t agent_begin, agent_end; /* addresses of our own code: its frames are left out of every stack */
    uint64_t leaf_interval_ns[SBX_POINT_GROUPS_MAX]; /* the same of each group, never below interval_ns */
    uint64_t threshold_ns[SBX_POINT_GROUPS_MAX];     /* by group: shorter waits leave no record */
    bool copies_by_file;                             /* process_vm_readv is not to be had here */
    uint64_t signal_return;                          /* struct sbx_code_map; 0: not known yet */
    void *sample_handler;                            /* its handler, which nobody is shown (point_signal.c) */
    void *
        unshown_handler; /* that of fatal signals for as long as nobody is shown it either; NULL: everybody may see it */
    uint32_t sample_signal; /* by which running threads are asked (sample_signal.h); 0: none. Pairs with sample_timer */
    uint32_t signal_changes; /* who sets the action of which signals just now (sample_number.h) */
    /* What each message reads: one line. */
    _Alignas(64) uint32_t resting; /* enum sbx_resting */
    uint32_t has_frames;           /* 1: some thread has said where its frames begin */
    uint32_t has_clients; /* 1: some thread without a loop has read what a client wants (messages/client_message.h) */
    uint32_t serves;      /* 1: threads without a loop accept clients, or have read from them */
    uint32_t
        rests; /* 1: the main thread waits for conditions, semaphores or futexes that may be its loop's (messages/rest_place.h) */
    uint32_t news; /* bumped when a thread has told of something slow: else nobody's block need be looked at */
    /* Since when all points are in that see a client's question, its answer and waits for work; UINT64_MAX: one is out */
    uint64_t clients_since_ns;
    uint64_t wake_ns; /* when it wakes by itself; UINT64_MAX: never */
    uint64_t
        rung_ns; /* when the first of those began who woke it by sbx_capture_ring_for(), since it lay down; 0: nobody did */
    void (*leave)(void);  /* ends the recorder: the program does what it cannot do beside us; NULL: none runs */
    uint32_t own_tid;     /* one of our own threads; set before `leave` */
    uint32_t own_threads; /* how many of ours live, or are about to; 0 again in a forked child */
    /* 1: some thread has a filter that can kill. It was judged for what runs below it here; a forked child inherits it whole, and
     * what a start calls is in no list: no recorder begins there */
    uint32_t bars_children;
    /* A wait begins in a program whose recorder has not begun yet (agent/late_start.h, agent/forked_child.h); NULL: nobody asks */
    void (*late_ask)(uint8_t group, uint8_t op);
    void (*settle)(enum sbx_settle
                       what); /* a start that is under way, or to come, and what the program is about to do; NULL: there
                                             is none */
    uint32_t task_mask, queue_mask; /* how many tasks and queues there are, less one: powers of two; 0: none */
};

_Static_assert(offsetof(struct sbx_capture, interval_ns) + sizeof(uint64_t) - offsetof(struct sbx_capture, gate) == 64,
               "what every hooked call reads fills one cache line");

/* Hidden, and known to be: hooks read it at every call, and would ask a table of the loader's first where it is. */
extern struct sbx_capture sbx_the_capture __attribute__((visibility("hidden")));

/* Attach to a mapped, initialised recording. Single-threaded start-up. */
void sbx_capture_attach(struct sbx_recording_header *header);

/* In a forked child, by its fork handler: what asks the gate asks a word beside the capture from here on. The page that is wiped would be one more
 * fault, and some kernels and emulators wipe nothing. */
void sbx_capture_shut_gate(void);

/* In a forked child, which is about to attach to a recording of its own: forget the parent's. What is known of the code and of
 * signals stays; the map of the code is the caller's to take over. One thread, while nothing is recorded. */
void sbx_capture_forget_parent(void);

/* Take over the numbers (watch thread, or start-up). */
void sbx_capture_apply(const struct sbx_capture_settings *settings);

/* The hooks of these groups are in everywhere: what begins from now on is seen whole. By the thread that put them in. */
void sbx_capture_hooks_are_in(uint64_t points);

SBX_SIGNAL_SAFE static inline bool sbx_capture_is_open(void)
{
    return sbx_load_relaxed(sbx_the_capture.gate) != 0; /* relaxed: a late look costs one record more or less */
}

/* A wait begins while nothing is recorded. */
SBX_HOOK_SAFE static inline void sbx_capture_ask_late(uint8_t group, uint8_t op)
{
    void (*ask)(uint8_t, uint8_t) =
        sbx_load_relaxed(&sbx_the_capture.late_ask); /* relaxed: set before there are hooks */
    if (SBX_UNLIKELY(ask != NULL)) {
        ask(group, op);
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
/* The same, for a message or a frame that began just now: from then on the watch thread should have looked. */
SBX_HOOK_SAFE void sbx_capture_ring_for(uint64_t begin_ns);

/* Is the caller in the process that the recording is of? A child of vfork() is not, although its memory says so; nor is one in
 * another namespace whose number is the same. */
SBX_HOOK_SAFE bool sbx_capture_is_callers(void);

#endif
