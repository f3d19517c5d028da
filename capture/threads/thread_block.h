/* SPDX-License-Identifier: Apache-2.0 */
/* thread_block.h - what a thread that records has: a private block, beside its entry in the recording.
 *
 * One initial-exec TLS pointer leads to the block; everything else lies in mapped memory, because glibc's static TLS surplus is
 * small. thread_registry.h gives blocks to threads and takes them back. */
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
    /* Handlers of the host's that ask for an alternate stack run on it as well, where they had the thread's own, and one may interrupt
     * another: a thread that starves finds several signals at once, each with a frame of up to 12 KiB (AMX). What is not used costs
     * addresses only. */
    SBX_SIGNAL_STACK_BYTES = 256 * 1024,
};

/* Samples well inside so many messages found the polling function at work, and none found it gone: messages are handled
 * below it. Fewer could be chance on a busy machine. */
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

/* Where the main thread waits for work otherwise than by polling (messages/rest_place.h). */
struct sbx_rest_place {
    uint64_t key;            /* of the functions that lead to the wait; 0: free */
    uint64_t waited_ns;      /* there, so far */
    uint32_t lasted, shorts; /* waits there that lasted, and others, while it was being learned */
};

struct sbx_rest {
    struct sbx_rest_place places[SBX_REST_PLACES];
    struct sbx_rest_place *loop; /* messages lie between two waits there; NULL: none is known */
    struct sbx_rest_place *here; /* of the wait that the thread is in */
    uint64_t begin_ns;           /* when that began; 0: none */
    uint32_t polls;              /* since the last such wait */
};

/* Short messages that were not recorded yet, one behind the other. */
struct sbx_merged_messages {
    uint64_t begin_ns, end_ns; /* of the first, and of the last */
    uint32_t count;            /* 0: none */
    uint8_t kind;              /* of all */
    uint64_t message;          /* the last's number, and the thread's counters when it ended */
    uint64_t alloc_count, alloc_bytes;
};

/* The messages of a thread: of the main thread those of its loop, of any those it enters (message_loop.h). */
struct sbx_message_loop {
    /* What each message of any thread touches: one line, with `has_loop` before it. */
    uint32_t entered;     /* sbx_message_enter() calls not yet left */
    uint8_t kind;         /* what the application calls the open message; 0: nothing */
    bool is_entered;      /* the open message was begun by sbx_message_enter(), not by a poll call */
    bool has_waited;      /* a thread without a loop: work.last is the place of a wait (client_message.h) */
    bool is_plain;        /* nothing is to be learned when the loop's place is met again (messages/loop_call.h) */
    uint64_t anr_message; /* last message for which `anr` fired: written by the watch thread */
    uint64_t maybe_pc; /* a call elsewhere that was taken for a handler's without proof; 0: none since the last pass */
    uint64_t question_in;    /* last message in which something was read from a client; 0: none */
    uint64_t key_ns, key_in; /* how long keys were awaited in that message, at a terminal, or connections by accept() */
    uint64_t
        seen_key_in; /* last message in which a look met a read from a terminal that is no point at the time: for how long it lasts
                             nobody knows. The watch thread's */
    /* What each turn of a loop touches besides: two lines. */
    uint64_t site_pc, site_sp; /* return address and stack pointer of its poll call; 0: none seen */
    uint32_t hits;             /* passes at this site; judged from the second on. The watch thread counts turns by it */
    uint32_t place;            /* the loop's own among `places` */
    uint32_t plain_turns;      /* passes that `places` do not count yet: sbx_loop_count_turns() */
    int32_t plain_fd;  /* the epoll set that the loop polls, and nothing is to be learned of it; -1: not known */
    bool has_accepted; /* by a blocking accept(), at any place so far */
    bool serves_many;  /* it is not by a blocking accept() that the loop waits: see messages/prompt_call.h */
    uint64_t idle_ns;  /* end of the last record of idle time */
    struct sbx_merged_messages merged;
    /* the rest */
    uint64_t other_pc; /* another place in the same activation from which it polls; 0: none seen */
    uint64_t doubt_begin_ns, doubt_end_ns, doubt_message; /* a slow message that ended there; see message_loop.c */
    uint64_t slots[3], callers[3]; /* return-address slots of the innermost frames at that call, and what they held */
    uint32_t slot_count;
    bool is_unclear;         /* the walk that was to name them ended where rows are still being built */
    uint64_t walked_ns;      /* when that was */
    uint32_t root_sp;        /* of the outermost frame, in bytes below the stack's end; see sbx_replay_root_sp() */
    uint64_t poller_gone_in; /* message in which a sample found the poll call's function returned; 0: none */
    uint32_t poller_holds;   /* below this frame's index nothing changed since it was asked: */
    bool poller_asked;
    bool poller_is_gone;     /* the poll call's function is not on it */
    bool poller_returns;     /* proven: that function returns before the message is handled */
    uint64_t poller_kept_in; /* last message in which a sample found that function still on the stack; 0: none */
    uint32_t poller_kept;    /* how many such messages there were, up to SBX_POLLER_KEPT_ENOUGH */
    uint64_t turn_pc, turn_sp, turn_what; /* a poll call inside of a handler that is a turn of the loop, and what tells
                                             its set from another; 0: none since the last pass */
    struct sbx_poll_place
        places[SBX_POLL_PLACES]; /* from where the thread polls, outside of what is known to lie in the
                                                      loop */
    uint32_t moves;              /* between them so far */
    uint32_t inner_run;          /* calls at inner places since the loop's last */
    /* Pauses: sleeps and waits for children (sbx_is_pause()), of messages since the loop was adopted */
    uint64_t paused_ns, paused_in; /* how long long ones took, and the last message with one */
    uint32_t paused;               /* messages with a long one */
    bool pauses;                   /* there was one */
    struct sbx_rest rest;
    uint64_t maybe_sp; /* of maybe_pc */
    uint64_t maybe_ns; /* when the newest such call began: read by the watch thread */
    uint32_t
        elsewhere_run; /* polls of another epoll set since the last pass, by the function that polls for the loop */
    bool elsewhere_is_inside; /* proven: such polls are waits of handlers */
    uint64_t anr_end_ns;      /* when that one ended, written by the loop thread; 0: not yet */
    uint64_t standing;        /* last message that is no longer looked at closely: the watch thread's own */
    /* a message that ended slow: filled by the loop thread, then `slow_message` with release */
    uint64_t slow_message, slow_begin_ns, slow_end_ns;
    uint8_t slow_kind, doubt_kind;
};

enum {
    SBX_WORK_PLACES = 4
};

/* From where a thread waits. */
struct sbx_work_place {
    uint64_t pc, sp;  /* return address and stack pointer of the call; 0: none */
    int32_t epoll_fd; /* -1: no epoll call */
};

/* A thread without a loop: where it waits for work (messages/client_message.h). */
struct sbx_client_work {
    struct sbx_work_place last;                    /* its last wait outside of a message */
    struct sbx_work_place places[SBX_WORK_PLACES]; /* waits that were followed by a read from a client */
    uint32_t learned;                              /* so many were put there, the oldest is overwritten */
};

enum {
    SBX_BURST_FRAMES = 32
};

/* The frames of a thread that presents, or says where they begin and end (frame_pace.h). */
struct sbx_frame_pace {
    uint64_t begin_ns;   /* of the open frame; 0: never presented */
    uint64_t entered_ns; /* of the frame that the application said it began; 0: none. Read by the watch thread */
    uint64_t hung_ns;    /* entered_ns of the last frame that fired while it was open: written by the watch thread */
    uint32_t entered;    /* sbx_frame_enter() calls not yet left */
    bool is_told;        /* the application says where frames are: presents are not asked */
    uint32_t dropped;    /* of the last SBX_BURST_FRAMES frames, the newest in bit 0: which were dropped */
    uint64_t usual_ns;   /* moving mean of what a frame takes */
    uint64_t begins_ns[SBX_BURST_FRAMES]; /* when they began, by number */
    uint64_t count;                       /* frames so far */
    struct sbx_record merged;             /* short frames not yet recorded; amount 0: none */
    /* a frame that took long: filled by the presenting thread, then `slow_frame` (its number) with release; set to 0 by
     * who takes it */
    uint64_t slow_frame, slow_begin_ns, slow_end_ns;
    uint32_t slow_dropped; /* frames of a burst that were dropped; 0: one slow frame */
    uint64_t shown_in;     /* the number of the message that the next was counted in */
    uint32_t shown;        /* presents in it, up to SBX_FRAME_ANIMATION */
};

enum {
    SBX_TASKS_NESTED = 8
};

struct sbx_open_task {
    uint64_t id;
    uint64_t place : 63;  /* of the frame that began it; where its loop polls */
    uint64_t is_turn : 1; /* it lasts until that loop polls again */
};

/* The tasks that a thread runs, one inside another (calls/task.h). */
struct sbx_thread_tasks {
    uint64_t follow_ns; /* the next task that it queues is followed from then on */
    uint32_t depth;
    bool turns; /* one of those that are open may be a turn's */
    /* of self-pipes (messages/self_pipe.h) */
    uint32_t looks;
    uint32_t polled_elsewhere;     /* how often in a row it polled elsewhere */
    uint64_t polled_pc, polled_sp; /* where a thread without a loop polls for work, as far as it is known */
    /* the rest */
    struct sbx_open_task open[SBX_TASKS_NESTED];
    uint64_t lay_ns;      /* the next that lay for long is told from then on */
    uint64_t told_ns;     /* newest task that it told of */
    uint64_t popped;      /* the item that it works at until its next pop; 0: none */
    uint64_t popped_from; /* and from which queue that is */
    uint64_t
        source_ended; /* GLib's: the source that was called for the last time, until it is gone (tasks/point_glib.c) */
    uint32_t next_hop, hops_left; /* numbers that it has taken for tasks which it will queue */
    /* of Qt (tasks/point_qt.c) */
    uint64_t posts;               /* the event that it posts, which is queued already; 0: none */
    uint64_t timer, timer_object; /* key and object of the timer whose event is delivered; 0: none, or it was stopped */
};

/* A thread's private block: mapped, zeroed, reused after its thread is gone. */
struct sbx_thread {
    /* A block stays with its entry for good: these two never change, so that the watch thread may follow them while the
     * block is being given to another thread. */
    struct sbx_thread_entry *entry;
    uint32_t index;
    uint32_t owner; /* the life whose seat it is; 0: nobody's. Who exchanges it for 0 clears the seat away */
    struct sbx_thread_cost cost; /* goes on counting whoever has the block */
    _Alignas(64) struct sbx_thread_clock clock;
    /* What every blocking call and every sample touches: this line, and the next. */
    uint64_t inside;       /* not 0: our own code runs on this thread, in a frame that SBX_INSIDE_PLACE_OF() has (1: not
                                told); the handler then does nothing. See left_code.h */
    uint32_t blocking;     /* enum sbx_blocking_how. Pairs with sample_timer */
    uint32_t sample_timer; /* number + 1 of the timer that is to ask this thread for a sample, with SBX_TIMER_ANSWERED
                                once it did; 0: none. Who exchanges it for 0 deletes the timer */
    uint32_t stride;       /* leaf samples (capture_sample.c): the countdown's last length */
    uint32_t cut_call;     /* serial of the newest call that our handler cut short, and no handler of the program's; 0:
                                none. Written by the handler, and by the call's own hook */
    /* Where the hook of the call in progress goes on, for a look from outside that does not get out of libc: it may keep its
     * return address in a register (aarch64) or have no unwind data (musl). Written before entry.call_kind. */
    uint64_t call_pc, call_sp;
    uint64_t
        next_note_ns;    /* when the next call is noted that begins on a thread of a runtime (calls/logical_points.h) */
    uint64_t sampled_ns; /* newest sample or record of a wait */
    uint64_t asked_ns;   /* when the clock was last asked whether a sample is due */
    uint32_t call_depth; /* blocking calls in progress, one in the other (a signal handler's): see `calls` */
    uint32_t wait_depth; /* 1 + the depth of the one that has the thread's seat among the waiters; 0: none */
    uint32_t call_serial; /* of the newest blocking call; goes on counting whoever has the block (K2) */
    uint32_t
        ends_by_clock; /* 0: the call that is followed lightly (lone_call.h of calls/) is over without a look at the clock, unless the watch thread met the
                               thread in it and made this 1 */
    struct sbx_open_call calls[SBX_CALLS_NESTED]; /* call_depth of them, innermost last (open_calls.h) */
    uint32_t generation, tid;
    int32_t counted_from;   /* where the countdown began that runs now */
    uint64_t usage_ns;      /* the last record that told faults and context switches */
    uint64_t usage_message; /* the message it was in */
    uint32_t samples;       /* since that one */
    uint32_t
        question;     /* which sample it was last asked for: 15 bits, from 1; with SBX_QUESTION_AHEAD one that stands */
    uint32_t answers; /* to questions that stand: counted by its handler */
    uint32_t signal_flags; /* enum sbx_record_flag for the sample asked for */
    uint64_t
        signal_sent_ns; /* when it was last asked, or looked at instead, or asked itself by a question that stands */
    uint64_t sampled_cpu_ns; /* its CPU time at its newest sample by signal */
    /* Its alternate signal stack, ours or its own, and its mask, as far as calls that passed our hooks tell. They change
     * with the third word first, and a timer that is out is taken back before the kernel hears of it. */
    uint64_t signal_stack_low, signal_stack_high;
    uint64_t blocked_signals;       /* signal n in bit n - 1 */
    uint32_t may_be_asked;          /* 1: it registered itself, and handlers of ours run on the stack above */
    uint32_t mask_changes;          /* bumped when it changes its mask */
    bool has_our_signal_stack;      /* the stack above is `signal_stack` */
    uint64_t stack_low, stack_high; /* bounds of its stack; 0: not known */
    uint64_t handle;                /* its pthread_t, which a join names; 0: not known */
    uint64_t told_ns;               /* newest WAKE record, and the wait it told of (wake.c) */
    uint32_t told_wait;
    struct {
        uint64_t
            begin_ns; /* of a wait that another process ended; 0: none. Pairs with the watch thread, which makes it 0 again */
        uint64_t object, ended_by; /* shared_hands.h */
    } shared_wait;
    _Alignas(64) bool has_loop; /* the main thread */
    bool keeps_seat;            /* others know it by its index: it has opened a watch, or shown signs of life */
    struct sbx_message_loop loop;
    _Alignas(64) struct sbx_client_work work;
    _Alignas(64) struct sbx_thread_tasks tasks;
    struct sbx_ring_writer writer;
    struct sbx_frame_pace frame;
    /* the watch thread's notes about this thread */
    uint64_t seen_cpu_ns, seen_call_begin_ns, seen_ns;
    uint64_t counted_ns; /* when the kernel's counts of it were last read (kernel_counts.h) */
    uint64_t stirred_ns; /* when it was last seen to have used CPU time */
    uint64_t
        due_cpu_ns; /* its CPU time at which the timer that is out is due, and when that was armed, or answered last */
    uint64_t armed_ns;
    uint32_t seen_answers;   /* of `answers` */
    bool is_hurried;         /* a question that stands is to be answered at once, and was not yet */
    uint64_t ahead_until_ns; /* the tick in which it gave such a question up, for another thread */
    uint64_t ask_again_ns;   /* it did not answer: it is left in peace until then */
    uint64_t ask_pause_ns;   /* for so long that time; 0: it answered the last time */
    uint64_t mask_asked_ns;  /* when its signal mask was read; 0: never */
    uint64_t mask_good_ns;   /* for so long what was read is taken for true */
    uint32_t mask_overruled; /* 1 + mask_changes of a mask of which the kernel said otherwise than our hooks; 0: none */
    bool blocks_signal;      /* it blocked our signal then */
    bool is_deaf;            /* it was counted as one that is not signalled */
    uint64_t deaf_since_ns;  /* since when that is so: it blocks the signal, has no room for it or never registered */
    _Alignas(64) struct sbx_replay replay; /* so that what stands above does not move what each capture touches */
    struct sbx_walk_cache cache;
    struct sbx_walk walk;                     /* scratch of one capture */
    struct sbx_logical logical;               /* providers.h; untouched without a provider */
    struct sbx_awaits awaits;                 /* likewise */
    struct sbx_seen_work seen_work;           /* likewise */
    struct sbx_page_probe probe;              /* the same */
    uint8_t stack_copy[SBX_STACK_COPY_BYTES]; /* for stacks that cannot be read in place; untouched otherwise */
    /* For handlers, when the thread has none of its own. Behind the copy, so that who runs over its end meets that. */
    _Alignas(64) uint8_t signal_stack[SBX_SIGNAL_STACK_BYTES];
};

/* What `blocking` says of the thread. */
enum sbx_blocking_how {
    SBX_BLOCKING_NOT = 0,
    SBX_BLOCKING_CALL = 1,  /* in a hooked call that a signal could interrupt, where signals are made in calls at all */
    SBX_BLOCKING_ALWAYS = 2 /* in one that makes them itself (io_uring_enter), or that cannot be made once more */
};

#define SBX_TIMER_ANSWERED UINT32_C(0x80000000)
/* Of `question`: its timer fires again and again, and is never marked as answered. */
#define SBX_QUESTION_AHEAD UINT32_C(0x8000)

/* 1: a filter of the host's ends who makes or deletes timers, or changes his stack for handlers: nobody is asked any more. */
extern uint32_t sbx_asking_is_forbidden;

/* Take back the timer that is out for this thread, if there is one: by whoever is first, the thread or another. Its signal
 * is then not made any more, but where one has just been. A child of vfork(), which runs on its parent's block, has no timers: what it
 * finds stays its parent's, or nobody would know of a timer that goes on firing. */
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

/* `inside` in one word, because a handler may come between two: the frame's place below, and above it 16 bits of the frame's
 * return address where that lies right below the place. It does not change while the frame is there. */
#define SBX_INSIDE_PLACE_BITS   48
#define SBX_INSIDE_PLACE_OF(it) ((it) & ((UINT64_C(1) << SBX_INSIDE_PLACE_BITS) - 1))
#if defined(__x86_64__)
#define SBX_INSIDE_RETURN(address) ((uint64_t)(address) << SBX_INSIDE_PLACE_BITS)
#else
#define SBX_INSIDE_RETURN(address) UINT64_C(0)
#endif

/* Our own code begins on the thread, in the caller's frame, and ends. */
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

/* Does `place` lie on the stack that the thread was made with? Not in doubt: bounds that are not known hold nothing. */
SBX_SIGNAL_SAFE static inline bool sbx_thread_is_on_own_stack(const struct sbx_thread *thread, uint64_t place)
{
    return place >= thread->stack_low && place < thread->stack_high;
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

/* Around a capture of a kind whose record needs no CPU time: only where this one is to be timed it is read. Not wall time, which is cheaper:
 * a thread that lost its processor in between would be charged for that, sixteen times over. begin() returns what end() is to be given,
 * which counts the capture. The caller holds `inside`. */
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

/* Where the hook of the call goes on, for a look from outside: see call_pc. Before entry.call is released. */
SBX_SIGNAL_SAFE static inline void sbx_call_is_at(struct sbx_thread *thread, uint64_t pc, uint64_t sp)
{
    thread->call_pc = pc;
    thread->call_sp = sp;
}

/* What the TLS pointer says besides a block: NULL not registered yet, SBX_THREAD_GONE never again (our own threads, a
 * thread past its destructor, a forked child). */
#define SBX_THREAD_GONE ((struct sbx_thread *)1)
extern __thread struct sbx_thread *sbx_self;

/* The entry whose counters the calling thread moves; never NULL, so that an allocation is counted without asking first
 * who its thread is. A thread without a block moves sbx_entry_of_strangers, whose countdown is always out: the way of a
 * sample that is due then finds out who it is. A thread that is GONE moves sbx_entry_of_nobody, whose countdown never
 * ends. Both are scratch that nobody reads. */
extern __thread struct sbx_thread_entry *sbx_own_entry;
extern struct sbx_thread_entry sbx_entry_of_strangers, sbx_entry_of_nobody;

/* Say who the calling thread is: NULL, SBX_THREAD_GONE, or its block. */
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

/* Blocks by entry index; a block stays with its entry for good. Read through sbx_thread_at(). */
extern struct sbx_thread *sbx_thread_blocks[SBX_THREADS_MAX];

/* Block of entry `index` (below SBX_THREADS_MAX) when its thread lives, else NULL. */
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

/* The block with that index if it is the calling thread's, whose number is `tid`. */
SBX_SIGNAL_SAFE static inline struct sbx_thread *sbx_thread_block_of(uint32_t index, uint32_t tid)
{
    struct sbx_thread *thread = index < SBX_THREADS_MAX ? sbx_thread_at(index) : NULL;
    return thread != NULL && thread->tid == tid ? thread : NULL;
}

/* Take the block the watch thread prepared, if it is the calling thread's, whose id is `tid`. */
SBX_SIGNAL_SAFE static inline struct sbx_thread *sbx_thread_adopted_self(uint32_t index, uint32_t tid)
{
    struct sbx_thread *thread = sbx_thread_block_of(index, tid);
    if (thread != NULL) {
        sbx_thread_become(thread);
    }
    return thread;
}

uint32_t sbx_thread_count(void); /* entries ever used */

/* The watch thread's own `inside`, for its walks of other threads' stacks. */
extern uint32_t sbx_watch_inside;

#endif
