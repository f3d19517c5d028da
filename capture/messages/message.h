/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - a message of a thread: it is opened, closed, recorded, and reported if it was slow. The callers know what
 * a message is: message_loop.h (the main thread's loop) and client_message.h (any other thread that answers a client).
 *
 * A message is open while entry.message_begin_ns is not 0. Only then the watch thread looks at it. The thread itself
 * calls these functions; the watch thread may call sbx_message_is_paced() and sbx_message_is_unseen() too. */
#ifndef SBX_MESSAGE_H
#define SBX_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "marks.h"
#include "order.h"
#include "process_barrier.h"
#include "the_capture.h"
#include "thread_block.h"

enum {
    /* Messages shorter than this are merged into one record. A busy loop runs 100,000 a second, and the ring is for
     * records that can explain a stall. */
    SBX_SHORT_MESSAGE_NS = 1000000,
    SBX_MESSAGES_MERGE_NS = 5000000, /* merged messages cover at most this; shorter idle time is not recorded */
};

/* May the message from `begin_ns` to `end_ns` be merged with those before it, of which there is at least one? Only if
 * it follows at once: the idle time between messages belongs to none of them. */
SBX_HOOK_SAFE static inline bool sbx_messages_may_merge(const struct sbx_merged_messages *merged, uint8_t kind,
                                                        uint64_t begin_ns, uint64_t end_ns)
{
    return merged->count != 0 && merged->kind == kind && end_ns - merged->begin_ns < SBX_MESSAGES_MERGE_NS &&
           begin_ns - merged->end_ns < SBX_SHORT_MESSAGE_NS;
}

SBX_HOOK_SAFE static inline void sbx_messages_merge(struct sbx_merged_messages *merged,
                                                    const struct sbx_thread_entry *entry, uint64_t end_ns)
{
    merged->count++;
    merged->end_ns = end_ns;
    merged->message = entry->message;
    merged->alloc_count = entry->alloc_count;
    merged->alloc_bytes = entry->alloc_bytes;
}

/* Count a message and open it. Keeps errno. */
SBX_HOOK_SAFE static inline void sbx_message_open_at(struct sbx_thread *thread, uint64_t now_ns)
{
    struct sbx_thread_entry *entry = thread->entry;
    entry->message++;
    /* order: barrier message_begin_ns - Dekker with `resting`: either this thread sees that the watch thread rests, or
     * the watch thread sees the open message and does not rest */
    sbx_store_before_look(&entry->message_begin_ns, now_ns);
    if (sbx_load_seq_cst(&sbx_the_capture.resting) != 0) {
        sbx_capture_ring_for(now_ns);
    }
}

/* The same for a message that may not be judged yet: with now_ns 0 it stays closed. */
SBX_HOOK_SAFE void sbx_message_open(struct sbx_thread *thread, uint64_t now_ns);

/* Close the open message, if there is one, record it, and report it if it was slow. is_in_doubt: it is not known yet
 * whether it was a message. sbx_message_tell_doubted() says later that it was. */
SBX_HOOK_SAFE void sbx_message_close(struct sbx_thread *thread, uint64_t now_ns, bool is_in_doubt);
SBX_HOOK_SAFE void sbx_message_tell_doubted(struct sbx_message_loop *loop);

/* Close the open message and open the next one of the same kind: the loop has turned without a call that waits. */
SBX_HOOK_SAFE void sbx_message_turn(struct sbx_thread *thread, uint64_t now_ns);

/* Can the end of the open message go unseen, because points that would see it are switched off (by the governor or a
 * policy)? Such a message is not judged. Any thread. */
SBX_HOOK_SAFE bool sbx_message_is_unseen(const struct sbx_thread *thread);

/* If the message that was just closed was reported while it went on, report its end at once. */
SBX_HOOK_SAFE void sbx_message_tell_end(struct sbx_thread *thread, uint64_t end_ns);

/* Close the open message of a thread without a loop that did not report the message itself. It took less than
 * SBX_SHORT_MESSAGE_NS. Keeps errno. */
SBX_HOOK_SAFE static inline void sbx_message_close_short(struct sbx_thread *thread, uint64_t now_ns)
{
    struct sbx_thread_entry *entry = thread->entry;
    sbx_store_release(&entry->message_begin_ns, 0); /* order: release entry.message_begin_ns - as sbx_message_close() */
    sbx_store_relaxed(&thread->loop.kind, 0);       /* relaxed: the watch thread may see it late */
    if (SBX_UNLIKELY(sbx_load_relaxed(&thread->loop.anr_message) == entry->message)) { /* relaxed: checked again */
        sbx_message_tell_end(thread, now_ns);
    }
}

/* Does the time between two polls of `thread` not count as a message, because the thread gets its pace from pauses
 * (loop_turn.h)? With a `now_ns` other than 0, the watch thread asks about the open message and the thread's present
 * call. With 0, the question is about a message that just ended. */
SBX_HOOK_SAFE bool sbx_message_is_paced(const struct sbx_thread *thread, uint64_t now_ns);

#endif
