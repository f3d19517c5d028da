/* SPDX-License-Identifier: Apache-2.0 */
/* thread_block.h - the data of a thread that records: a private block, beside its entry in the recording.
 *
 * One initial-exec TLS pointer leads to the block. Everything else lies in mapped memory, because glibc's static TLS
 * surplus is small. thread_registry.h gives blocks to threads and takes them back. */
#ifndef SBX_THREAD_BLOCK_H
#define SBX_THREAD_BLOCK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "open_calls.h"
#include "order.h"
#include "poll_place.h"
#include "page_probe.h"
#include "providers.h"
#include "recording_format.h"
#include "ring_writer.h"
#include "stack_replay.h"
#include "thread_clock.h"
#include "thread_cost.h"
#include "thread_timer.h"

enum {
    SBX_STACK_COPY_BYTES = 64 * 1024,
    /* Signal handlers of the host that ask for an alternate stack run on this one as well, if the thread has no stack
     * of its own for them. One handler may interrupt another: a thread that starves gets several signals at once, each
     * with a frame of up to 12 KiB (AMX). Unused parts cost addresses only. */
    SBX_SIGNAL_STACK_BYTES = 256 * 1024,
};

/* If samples well inside this many messages found the polling function at work, and none found it gone, messages are
 * handled below that function. A smaller number could be chance on a busy machine. */
enum {
    SBX_POLLER_KEPT_ENOUGH = 8
};

enum {
    SBX_POLL_PLACES = 4
};

enum {
    SBX_REST_PLACES = 2,
    SBX_REST_PASSES = 3,
    SBX_REST_SHARE = 3,
    SBX_REST_POLLS = 4096
};

/* A place where the main thread waits for work in another way than by polling (messages/rest_place.h). */
struct sbx_rest_place {
    uint64_t key;            /* hash of the functions that lead to the wait; 0: free */
    uint64_t waited_ns;      /* time waited there so far */
    uint32_t lasted, shorts; /* long waits there, and short ones, while the place was being learned */
};

struct sbx_rest {
    struct sbx_rest_place places[SBX_REST_PLACES];
    struct sbx_rest_place *loop; /* the loop's place: a message lies between two waits there; NULL: none is known */
    struct sbx_rest_place *here; /* place of the wait that the thread is in */
    uint64_t begin_ns;           /* begin of that wait; 0: none */
    uint32_t polls;              /* polls since the last such wait */
};

/* Short messages that are not recorded yet, one after the other. */
struct sbx_merged_messages {
    uint64_t begin_ns, end_ns; /* of the first message, and of the last */
    uint32_t count;            /* 0: none */
    uint8_t kind;              /* kind of all of them */
    uint64_t message;          /* number of the last message, and the thread's counters when it ended */
    uint64_t alloc_count, alloc_bytes;
};

/* The messages of a thread. For the main thread these are the messages of its loop; for any thread, those that it
 * enters (message_loop.h). */
struct sbx_message_loop {
    /* What each message of any thread touches: one cache line, with `has_loop` before it. */
    uint32_t entered;     /* sbx_message_enter() calls without their leave so far */
    uint8_t kind;         /* the application's kind of the open message; 0: none */
    bool is_entered;      /* sbx_message_enter() began the open message, not a poll call */
    bool has_waited;      /* a thread without a loop: work.last is the place of a wait (client_message.h) */
    bool is_plain;        /* nothing new can be learned when the loop's place is met again (messages/loop_call.h) */
    uint64_t anr_message; /* last message for which `anr` fired: written by the watch thread */
    uint64_t maybe_pc;    /* a poll call elsewhere, taken for a handler's without proof; 0: none since the last pass */
    uint64_t question_in; /* last message that read something from a client; 0: none */
    uint64_t key_ns, key_in; /* wait for keys at a terminal or connections in accept(), in message key_in */
    /* Last message in which a look found a read from a terminal while that read was no point; how long it lasts is not
     * known. Written by the watch thread. */
    uint64_t seen_key_in;
    /* What each turn of a loop touches besides: two cache lines. */
    uint64_t site_pc, site_sp; /* return address and stack pointer of the loop's poll call; 0: none seen */
    uint32_t hits;             /* passes at this site; judged from the second on. The watch thread counts turns by it */
    uint32_t place;            /* index of the loop's place in `places` */
    uint32_t plain_turns;      /* passes that `places` does not count yet: sbx_loop_count_turns() */
    int32_t plain_fd;  /* the epoll set that the loop polls, when nothing is to be learned of it; -1: not known */
    bool has_accepted; /* a blocking accept() has accepted, at any place so far */
    /* The loop waits in another way than by a blocking accept(), and the sample signal cuts no call short: see
     * messages/prompt_call.h. */
    bool serves_many;
    /* Since the last turn that was not plain, a question of a client was noted: sbx_client_asked() has nothing to learn
     * from the next one. */
    bool leads_to_clients;
    uint64_t idle_ns; /* end of the last record of idle time */
    struct sbx_merged_messages merged;
    /* used less often */
    uint64_t other_pc; /* another place in the same activation that polls; 0: none seen */
    uint64_t doubt_begin_ns, doubt_end_ns, doubt_message; /* a slow message that ended there; see message_loop.c */
    uint64_t slots[3], callers[3]; /* return-address slots of the innermost frames at that call, and their values */
    uint32_t slot_count;
    bool is_unclear;         /* the walk that was to name them ended where rows are still being built */
    uint64_t walked_ns;      /* when that walk was */
    uint32_t root_sp;        /* distance of the outermost frame below the stack's end; see sbx_replay_root_sp() */
    uint64_t poller_gone_in; /* message in which a sample found that the poll call's function had returned; 0: none */
    uint32_t poller_holds;   /* no frame below this index has changed since the last check; its result: */
    bool poller_asked;
    bool poller_is_gone;     /* the poll call's function is not on the stack */
    bool poller_returns;     /* proven: that function returns before the message is handled */
    uint64_t poller_kept_in; /* last message in which a sample found that function still on the stack; 0: none */
    uint32_t poller_kept;    /* number of such messages, up to SBX_POLLER_KEPT_ENOUGH */
    /* A poll call inside a handler that is a turn of the loop, and what tells its set from another; 0: none since the
     * last pass. */
    uint64_t turn_pc, turn_sp, turn_what;
    /* Places from which the thread polls, except those known to lie inside the loop. */
    struct sbx_poll_place places[SBX_POLL_PLACES];
    uint32_t moves;     /* moves between those places so far */
    uint32_t inner_run; /* calls at inner places since the loop's last call */
    /* Pauses: sleeps and waits for children (sbx_is_pause()), in messages since the loop was adopted. */
    uint64_t paused_ns, paused_in; /* total time of long pauses, and the last message with one */
    uint32_t paused;               /* number of messages with a long pause */
    bool pauses;                   /* there was a pause, long or short */
    struct sbx_rest rest;
    uint64_t maybe_sp; /* stack pointer of maybe_pc */
    uint64_t maybe_ns; /* begin of the newest such call: read by the watch thread */
    /* Polls of another epoll set since the last pass, by the function that polls for the loop. */
    uint32_t elsewhere_run;
    bool elsewhere_is_inside; /* proven: such polls are waits of handlers */
    uint64_t anr_end_ns;      /* end of the anr_message, written by the loop thread; 0: it goes on */
    uint64_t standing;        /* last message that is not looked at closely any more: used by the watch thread only */
    /* A message that ended slow. The loop thread fills these in, then stores `slow_message` with release. */
    uint64_t slow_message, slow_begin_ns, slow_end_ns;
    uint8_t slow_kind, doubt_kind;
};

enum {
    SBX_WORK_PLACES = 4
};

/* A place where a thread waits. */
struct sbx_work_place {
    uint64_t pc, sp;  /* return address and stack pointer of the call; 0: none */
    int32_t epoll_fd; /* -1: no epoll call */
};

/* A thread without a loop: its places of waits for work (messages/client_message.h). */
struct sbx_client_work {
    struct sbx_work_place last; /* its last wait outside of a message */
    uint32_t waited_at;         /* begin of its last wait for a condition, as SBX_WAITED_AT(); wraps around */
    uint32_t learned;           /* number of places learned; a new one overwrites the oldest */
    struct sbx_work_place places[SBX_WORK_PLACES]; /* waits that a read from a client followed */
};
#define SBX_WAITED_AT(ns) ((uint32_t)((ns) >> 10))

enum {
    SBX_BURST_FRAMES = 32
};

/* The frames of a thread that presents, or that says where they begin and end (frame_pace.h). */
struct sbx_frame_pace {
    uint64_t begin_ns;   /* begin of the open frame; 0: never presented */
    uint64_t entered_ns; /* begin of the frame that the application announced; 0: none. Read by the watch thread */
    uint64_t hung_ns;    /* entered_ns of the last frame that fired while open: written by the watch thread */
    uint32_t entered;    /* sbx_frame_enter() calls without their leave so far */
    bool is_told;        /* the application says where frames are, so presents are not used */
    uint32_t dropped;    /* which of the last SBX_BURST_FRAMES frames were dropped; bit 0 is the newest */
    uint64_t usual_ns;   /* moving mean of the time of a frame */
    uint64_t begins_ns[SBX_BURST_FRAMES]; /* begins of frames, by frame number */
    uint64_t count;                       /* number of frames so far */
    struct sbx_record merged;             /* short frames not yet recorded; amount 0: none */
    /* A frame that took long. The presenting thread fills these in, then stores `slow_frame` (its number) with release.
     * The reader that takes it sets it to 0. */
    uint64_t slow_frame, slow_begin_ns, slow_end_ns;
    uint32_t slow_dropped; /* dropped frames of a burst; 0: this is one slow frame */
    uint64_t shown_in;     /* the message in which `shown` presents were counted */
    uint32_t shown;        /* presents in that message, up to SBX_FRAME_ANIMATION */
};

enum {
    SBX_TASKS_NESTED = 8
};

struct sbx_open_task {
    uint64_t id;
    uint64_t place : 63;  /* place of the frame that began it; for a turn, where its loop polls */
    uint64_t is_turn : 1; /* it lasts until that loop polls again */
};

/* The tasks that a thread runs, one inside another (calls/task.h). */
struct sbx_thread_tasks {
    uint64_t follow_ns; /* the next task that it queues after this time is followed */
    uint32_t depth;
    /* for self-pipes (messages/self_pipe.h) */
    uint32_t looks;
    uint32_t polled_elsewhere;     /* how often in a row it polled at another place */
    uint64_t polled_pc, polled_sp; /* where a thread without a loop polls for work, if known */
    /* used less often */
    struct sbx_open_task open[SBX_TASKS_NESTED];
    uint64_t lay_ns;      /* the next task that lay for long after this time is recorded */
    uint64_t told_ns;     /* time of the newest task that it recorded */
    uint64_t popped;      /* the item that it works on until its next pop; 0: none */
    uint64_t popped_from; /* the queue of that item */
    /* GLib: the last source that was called, until it is gone (tasks/point_glib.c) */
    uint64_t source_ended;
    uint32_t next_hop, hops_left; /* hop numbers reserved for tasks that it will queue */
    /* for Qt (tasks/point_qt.c) */
    uint64_t posts;               /* the event that it is posting and that is queued already; 0: none */
    uint64_t timer, timer_object; /* key and object of the timer whose event is delivered; 0: none, or it was stopped */
};

/* A thread's private block: mapped, zeroed, reused after its thread is gone. */
struct sbx_thread {
    /* A block stays with its entry for ever. These two never change, so that the watch thread may follow them while the
     * block is being given to another thread. */
    struct sbx_thread_entry *entry;
    uint32_t index;
    uint32_t owner; /* the life whose seat this is; 0: none. The thread that exchanges it for 0 cleans up the seat */
    struct sbx_thread_cost cost; /* keeps counting when another thread gets the block */
    _Alignas(64) struct sbx_thread_clock clock;
    /* What every blocking call and every sample touches: this cache line, and the next. `inside` is not 0 when our own
     * code runs on this thread, in a frame that SBX_INSIDE_PLACE_OF() gives (1: frame not stored). The handler then
     * does nothing. See left_code.h. */
    uint64_t inside;
    uint32_t blocking; /* enum sbx_blocking_how. Pairs with sample_timer */
    /* Number + 1 of the timer that asks this thread for a sample, with SBX_TIMER_ANSWERED once the thread has answered;
     * 0: none. The thread that exchanges it for 0 deletes the timer. */
    uint32_t sample_timer;
    uint32_t stride; /* leaf samples (capture_sample.c): the last start value of the countdown */
    /* Serial of the newest call that our handler cut short, and no handler of the program did; 0: none. Written by the
     * handler, and by the call's own hook. */
    uint32_t cut_call;
    /* Where the hook of the call in progress continues. It is for a look from outside that cannot get out of libc: libc
     * may keep its return address in a register (aarch64) or have no unwind data (musl). Written before
     * entry.call_kind. */
    uint64_t call_pc, call_sp;
    /* The next call after this time on a thread of a runtime is noted when it begins (calls/logical_points.h). */
    uint64_t next_note_ns;
    uint64_t sampled_ns;  /* time of the newest sample or record of a wait */
    uint64_t asked_ns;    /* when it was last checked with the clock whether a sample is due */
    uint32_t call_depth;  /* blocking calls in progress, one inside the other (in a signal handler): see `calls` */
    uint32_t wait_depth;  /* 1 + the depth of the call that has the thread's seat among the waiters; 0: none */
    uint32_t call_serial; /* serial of the newest blocking call; the next owner of the block continues it (K2) */
    struct sbx_open_call calls[SBX_CALLS_NESTED]; /* `call_depth` of them, innermost last (open_calls.h) */
    uint32_t generation, tid;
    int32_t counted_from;   /* start value of the running countdown */
    uint64_t usage_ns;      /* time of the last record with faults and context switches */
    uint64_t usage_message; /* the message of that record */
    uint32_t samples;       /* samples since that record */
    /* Number of the sample it was last asked for: 15 bits, from 1; with SBX_QUESTION_AHEAD for a standing question. */
    uint32_t question;
    uint32_t answers;      /* answers to standing questions: counted by its handler */
    uint32_t signal_flags; /* enum sbx_record_flag for the sample asked for */
    /* When it was last asked, or was looked at instead, or asked itself by a standing question. */
    uint64_t signal_sent_ns;
    uint64_t sampled_cpu_ns; /* its CPU time at its newest sample by signal */
    /* Its alternate signal stack, ours or its own, and its signal mask, as far as calls through our hooks show them. To
     * change them, a thread stores the third word first, and takes back its active timer before it calls the kernel. */
    uint64_t signal_stack_low, signal_stack_high;
    uint64_t blocked_signals;       /* signal n in bit n - 1 */
    uint32_t may_be_asked;          /* 1: it registered itself, and our handlers run on the stack above */
    uint32_t mask_changes;          /* bumped when the thread changes its mask */
    bool has_our_signal_stack;      /* the stack above is `signal_stack` */
    uint64_t stack_low, stack_high; /* bounds of its stack; 0: not known */
    uint64_t handle;                /* its pthread_t, as a join names it; 0: not known */
    uint64_t told_ns;               /* time of the newest WAKE record, and the wait that it named (wake.c) */
    uint32_t told_wait;
    struct {
        /* Begin of a wait that another process ended; 0: none. Pairs with the watch thread, which sets it back to 0. */
        uint64_t begin_ns;
        uint64_t object, ended_by; /* shared_hands.h */
    } shared_wait;
    _Alignas(64) bool has_loop; /* true for the main thread */
    bool keeps_seat;            /* others know it by its index: it has opened a watch, or shown signs of life */
    bool has_turns;             /* one of the open `tasks` may be a turn's */
    struct sbx_message_loop loop;
    _Alignas(64) struct sbx_client_work work;
    _Alignas(64) struct sbx_thread_tasks tasks;
    struct sbx_ring_writer writer;
    struct sbx_frame_pace frame;
    /* the watch thread's notes about this thread */
    uint64_t seen_cpu_ns, seen_call_begin_ns, seen_ns;
    uint64_t counted_ns; /* when the kernel's counts of it were last read (kernel_counts.h) */
    uint64_t stirred_ns; /* when it was last seen to have used CPU time */
    /* Its CPU time at which the active timer is due; and when that timer was armed, or last answered. */
    uint64_t due_cpu_ns;
    uint64_t armed_ns;
    uint32_t seen_answers;   /* value of `answers` */
    bool is_hurried;         /* a standing question is to be answered at once, and has no answer yet */
    uint64_t ahead_until_ns; /* the tick in which it gave up such a question in favour of another thread */
    uint64_t ask_again_ns;   /* it did not answer: it is not asked before this time */
    uint64_t ask_pause_ns;   /* length of that pause; 0: it answered the last time */
    uint64_t mask_asked_ns;  /* when its signal mask was last read; 0: never */
    uint64_t mask_good_ns;   /* how long that mask is taken for true */
    uint32_t mask_overruled; /* 1 + mask_changes when the kernel reported another mask than our hooks; 0: none */
    bool blocks_signal;      /* that mask blocked our signal */
    bool is_deaf;            /* it was counted as a thread that cannot be signalled */
    uint64_t deaf_since_ns;  /* since when it blocks the signal, has no room for it or never registered; 0: no */
    _Alignas(64) struct sbx_replay replay; /* aligned: the fields above do not move the lines of each capture */
    struct sbx_walk_cache cache;
    struct sbx_walk walk;                     /* scratch of one capture */
    struct sbx_logical logical;               /* providers.h; untouched without a provider */
    struct sbx_awaits awaits;                 /* the same */
    struct sbx_seen_work seen_work;           /* the same */
    struct sbx_page_probe probe;              /* the same */
    uint8_t stack_copy[SBX_STACK_COPY_BYTES]; /* for stacks that cannot be read in place; otherwise untouched */
    /* For handlers, when the thread has no alternate stack of its own. It follows the copy, so that an overflow hits
     * the copy. */
    _Alignas(64) uint8_t signal_stack[SBX_SIGNAL_STACK_BYTES];
};

/* The values of `blocking`. */
enum sbx_blocking_how {
    SBX_BLOCKING_NOT = 0,
    SBX_BLOCKING_CALL = 1,  /* in a hooked call that a signal could interrupt, if signals are made in calls at all */
    SBX_BLOCKING_ALWAYS = 2 /* in a call that makes signals itself (io_uring_enter), or that cannot be repeated */
};

#define SBX_TIMER_ANSWERED UINT32_C(0x80000000)
/* In `question`: its timer fires again and again, and is never marked as answered. */
#define SBX_QUESTION_AHEAD UINT32_C(0x8000)

/* 1: a filter of the host kills a process that makes or deletes timers or changes the alternate stack: no thread is
 * asked any more. */
extern uint32_t sbx_asking_is_forbidden;

/* Take back the active timer of this thread, if there is one. Called by the thread or by another; the first one does
 * it. After this the timer makes no signal, but it may have made one just before. A child of vfork() runs on its
 * parent's block and has no timers. A timer that it finds stays its parent's; otherwise no thread would know of a timer
 * that goes on firing. */
SBX_SIGNAL_SAFE static inline void sbx_sample_take_back(struct sbx_thread *thread)
{
    if (sbx_load_relaxed(&thread->sample_timer) != 0) {
        uint32_t timer = sbx_swap_acq_rel(&thread->sample_timer, 0);
        if (timer != 0 && SBX_LIKELY(sbx_load_relaxed(&sbx_asking_is_forbidden) == 0) &&
            SBX_UNLIKELY(sbx_raw_timer_delete((timer & ~SBX_TIMER_ANSWERED) - 1) == -EINVAL)) {
            uint32_t none = 0;
            (void)sbx_cas_acq_rel(&thread->sample_timer, &none, timer);
        }
    }
}

_Static_assert(offsetof(struct sbx_thread, inside) % 64 == 0, "begins a cache line");
_Static_assert(offsetof(struct sbx_thread, call_depth) - offsetof(struct sbx_thread, inside) == 64, "and fills it");
_Static_assert(offsetof(struct sbx_thread, loop.site_pc) - offsetof(struct sbx_thread, has_loop) == 64,
               "a message's line, and full");

/* `inside` is one word, because a handler may run between the stores of two. Low bits: the frame's place. Above it: 16
 * bits of the frame's return address, if that lies directly below the place. It does not change while the frame is
 * there. */
#define SBX_INSIDE_PLACE_BITS   48
#define SBX_INSIDE_PLACE_OF(it) ((it) & ((UINT64_C(1) << SBX_INSIDE_PLACE_BITS) - 1))
#if defined(__x86_64__)
#define SBX_INSIDE_RETURN(address) ((uint64_t)(address) << SBX_INSIDE_PLACE_BITS)
#else
#define SBX_INSIDE_RETURN(address) UINT64_C(0)
#endif

/* Our own code begins on the thread, in the caller's frame; and our own code ends. */
__attribute__((always_inline)) static inline void sbx_thread_enter(struct sbx_thread *thread)
{
    uint64_t place = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
    sbx_store_relaxed(&thread->inside, /* relaxed: see C.7 */
                      place | SBX_INSIDE_RETURN((uintptr_t)__builtin_return_address(0)));
    sbx_order_with_handler();
}

SBX_SIGNAL_SAFE static inline void sbx_thread_leave(struct sbx_thread *thread)
{
    sbx_order_with_handler();
    sbx_store_relaxed(&thread->inside, 0); /* relaxed: see C.7 */
}

/* Is `place` certainly on the stack that the thread was made with? Unknown bounds contain nothing. */
SBX_SIGNAL_SAFE static inline bool sbx_thread_is_on_own_stack(const struct sbx_thread *thread, uint64_t place)
{
    return place >= thread->stack_low && place < thread->stack_high;
}

/* Has the thread served clients that another place than a loop led to? Watch thread, or its own. */
SBX_SIGNAL_SAFE static inline bool sbx_is_of_pool(const struct sbx_thread *thread)
{
    return !thread->has_loop && sbx_load_relaxed(&thread->work.learned) != 0; /* relaxed: a hint */
}

/* Wall and CPU time of the calling thread, whose block this is. */
SBX_SIGNAL_SAFE static inline struct sbx_times sbx_thread_times(struct sbx_thread *thread)
{
    return sbx_thread_clock_read(&thread->clock);
}

SBX_SIGNAL_SAFE static inline uint64_t sbx_thread_wall_ns(struct sbx_thread *thread)
{
    return sbx_thread_clock_wall_ns(&thread->clock);
}

/* Around a capture whose record needs no CPU time: reads the CPU time only when this capture is to be timed. Wall time
 * would be cheaper to read, but a thread that lost its processor meanwhile would be charged for that time, sixteen
 * times over. begin() returns a value for end(), and end() counts the capture. The caller holds `inside`. */
SBX_HOOK_SAFE static inline uint64_t sbx_cost_begin(struct sbx_thread *thread, enum sbx_cost_kind kind)
{
    return SBX_UNLIKELY(sbx_cost_is_next_timed(&thread->cost, kind)) ? sbx_thread_times(thread).cpu_ns : 0;
}

SBX_HOOK_SAFE static inline void sbx_cost_end(struct sbx_thread *thread, enum sbx_cost_kind kind, uint64_t begin_ns)
{
    if (SBX_UNLIKELY(sbx_cost_capture(&thread->cost, kind)) && begin_ns != 0) {
        sbx_cost_timed(&thread->cost, kind, sbx_thread_times(thread).cpu_ns - begin_ns);
    }
}

/* Store where the hook of the call continues, for a look from outside: see call_pc. Call it before entry.call is
 * released. */
SBX_SIGNAL_SAFE static inline void sbx_call_is_at(struct sbx_thread *thread, uint64_t pc, uint64_t sp)
{
    thread->call_pc = pc;
    thread->call_sp = sp;
}

/* Values of the TLS pointer besides a block. NULL: not registered yet. SBX_THREAD_GONE: never again (our own threads, a
 * thread past its destructor, a forked child). */
#define SBX_THREAD_GONE ((struct sbx_thread *)1)
extern __thread struct sbx_thread *sbx_self;

/* The entry whose counters the calling thread moves. It is never NULL, so that an allocation is counted without a check
 * of the thread first. A thread without a block moves sbx_entry_of_strangers. Its countdown is always at its end, and
 * the code for a due sample then finds out which thread this is. A thread that is GONE moves sbx_entry_of_nobody. Its
 * countdown never ends, except in a forked child whose recorder has not begun: there the call at its end asks
 * whether the recorder is to begin. Both are scratch, and only the second's number of allocations is read. */
#define SBX_NOBODYS_STRIDE 31 /* a clock read for as many leaf calls. Odd, because calls come in pairs */
extern __thread struct sbx_thread_entry *sbx_own_entry;
extern struct sbx_thread_entry sbx_entry_of_strangers, sbx_entry_of_nobody;

/* Set the identity of the calling thread: NULL, SBX_THREAD_GONE, or its block. */
SBX_SIGNAL_SAFE static inline void sbx_thread_become(struct sbx_thread *thread)
{
    sbx_own_entry = thread == NULL              ? &sbx_entry_of_strangers
                    : thread == SBX_THREAD_GONE ? &sbx_entry_of_nobody
                                                : thread->entry;
    sbx_self = thread;
}

static inline bool sbx_thread_is_registered(const struct sbx_thread *thread)
{
    return (uintptr_t)thread > 1;
}

/* Blocks by entry index; a block stays with its entry for ever. Read through sbx_thread_at(). */
extern struct sbx_thread *sbx_thread_blocks[SBX_THREADS_MAX];

/* The block of entry `index` (below SBX_THREADS_MAX) if its thread lives, else NULL. */
SBX_SIGNAL_SAFE static inline struct sbx_thread *sbx_thread_at(uint32_t index)
{
    struct sbx_thread *thread =
        sbx_load_acquire(&sbx_thread_blocks[index]); /* order: acquire block - pairs with claim() */
    if (thread == NULL || sbx_load_acquire(&thread->entry->state) != SBX_THREAD_LIVE || /* order: acquire entry.state */
        sbx_load_acquire(&thread->entry->tid) != thread->tid) {                         /* order: acquire entry.tid */
        return NULL;
    }
    return thread;
}

/* The block with that index, if it is the calling thread's. `tid` is that thread's id. */
SBX_SIGNAL_SAFE static inline struct sbx_thread *sbx_thread_block_of(uint32_t index, uint32_t tid)
{
    struct sbx_thread *thread = index < SBX_THREADS_MAX ? sbx_thread_at(index) : NULL;
    return thread != NULL && thread->tid == tid ? thread : NULL;
}

/* Take the block that the watch thread prepared, if it is the calling thread's. `tid` is that thread's id. */
SBX_SIGNAL_SAFE static inline struct sbx_thread *sbx_thread_adopted_self(uint32_t index, uint32_t tid)
{
    struct sbx_thread *thread = sbx_thread_block_of(index, tid);
    if (thread != NULL) {
        sbx_thread_become(thread);
    }
    return thread;
}

uint32_t sbx_thread_count(void); /* number of entries ever used */

/* The watch thread's own `inside`, for its walks of other threads' stacks. */
extern uint32_t sbx_watch_inside;

#endif
