/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - a message of a thread: opened, closed, recorded, told where it was slow. Who opens one knows what it is:
 * message_loop.h (the main thread's loop), client_message.h (any other thread that answers somebody).
 *
 * A message is open while entry.message_begin_ns says so, and only then looked at by the watch thread. All of these are for the
 * thread itself, but for sbx_message_is_paced(). */
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
    /* Messages shorter than this are merged into one record: a busy loop runs 100,000 a second, and the ring is
     * for what could explain a stall. */
    SBX_SHORT_MESSAGE_NS = 1000000,
    SBX_MESSAGES_MERGE_NS = 5000000, /* so far at most do merged messages reach, and idle time goes untold */
};

/* May the message that lasted from `begin_ns` to `end_ns` be put to those that were merged before, of which there is at least one? Only what
 * follows hot on the heels: idle time between messages is none of theirs. */
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
    /* order: barrier message_begin_ns - Dekker with `resting`: either we see that the watch thread rests, or it
     * sees the open message and does not */
    sbx_store_before_look(&entry->message_begin_ns, now_ns);
    if (sbx_load_seq_cst(&sbx_the_capture.resting) != 0) {
        sbx_capture_ring_for(now_ns);
    }
}

/* The same where it is judged only perhaps: now_ns 0 leaves it closed. */
SBX_HOOK_SAFE void sbx_message_open(struct sbx_thread *thread, uint64_t now_ns);

/* Close the one that is open, if there is one, record it, and tell it where it was slow. is_in_doubt: whether it was a message is not
 * known yet, sbx_message_tell_doubted() says so. */
SBX_HOOK_SAFE void sbx_message_close(struct sbx_thread *thread, uint64_t now_ns, bool is_in_doubt);
SBX_HOOK_SAFE void sbx_message_tell_doubted(struct sbx_message_loop *loop);

/* Close the one that is open and open the next of the same kind: the loop has turned without a call that waits. */
SBX_HOOK_SAFE void sbx_message_turn(struct sbx_thread *thread, uint64_t now_ns);

/* Is the open message one whose end may pass unseen, because points are out that would see it (the governor, a policy)? It is
 * judged by nobody. Any thread. */
SBX_HOOK_SAFE bool sbx_message_is_unseen(const struct sbx_thread *thread);

/* The message that has just been closed was told while it went on, if it was: its end is news, and at once. */
SBX_HOOK_SAFE void sbx_message_tell_end(struct sbx_thread *thread, uint64_t end_ns);

/* Close the one that is open, of a thread without a loop that has not entered it, and that took less than SBX_SHORT_MESSAGE_NS. Keeps errno. */
SBX_HOOK_SAFE static inline void sbx_message_close_short(struct sbx_thread *thread, uint64_t now_ns)
{
    struct sbx_thread_entry *entry = thread->entry;
    sbx_store_release(&entry->message_begin_ns, 0); /* order: release entry.message_begin_ns - as sbx_message_close() */
    sbx_store_relaxed(&thread->loop.kind, 0);       /* relaxed: the watch thread reads what it can get */
    if (SBX_UNLIKELY(sbx_load_relaxed(&thread->loop.anr_message) == entry->message)) { /* relaxed: asked again */
        sbx_message_tell_end(thread, now_ns);
    }
}

/* Does the time between two polls of `thread` not count as a message, because it has its pace from pauses (loop_turn.h)? `now_ns`:
 * for the watch thread, of the message that is open and the call that the thread is in; 0 of one that just ended. */
SBX_HOOK_SAFE bool sbx_message_is_paced(const struct sbx_thread *thread, uint64_t now_ns);

#endif
