/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_call.h - prompt calls: reads and writes that cannot wait. They are calls on a client's connection with
 * O_NONBLOCK, by the thread whose loop serves it.
 *
 * A server makes two or three of these calls for each request, and they never wait. So no clock is read around them,
 * other threads do not see them, and they are leaf points. What they mean for the message is noted as for any other
 * call (client_message.h).
 *
 * accept4() and fcntl() have told the hooks that a connection has O_NONBLOCK. This may be wrong by now: dup2() may have
 * put another file there, or another process that shares the connection may have cleared the flag. So the flag is not
 * trusted. Around the call the thread's rseq word is armed (thread_clock.h). If the word is not armed any more
 * afterwards, the thread was switched out. Then the kernel is asked for the flag, and a sample is due at once; its time
 * and CPU time describe what was before it. So a wait in such a call is never lost: it ends in a sample of its stack,
 * and the next call on that descriptor is measured.
 *
 * Where the kernel does not support this, or where the sample signal could cut a call short, no call is taken for
 * prompt. */
#ifndef SBX_PROMPT_CALL_H
#define SBX_PROMPT_CALL_H

#include <stdint.h>
#include <sys/types.h>

#include "capture_sample.h"
#include "client_sockets.h"
#include "loop_call.h"
#include "message.h"
#include "the_capture.h"
#include "thread_block.h"

/* A prompt call on `fd` may have waited. If `fd` is not prompt, forget that it was. Make a sample due. Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_was_left(struct sbx_thread *thread, int fd, uint8_t group);

/* May calls of the calling thread `thread` be prompt, on descriptors that are? */
SBX_HOOK_SAFE static inline bool sbx_makes_prompt_calls(const struct sbx_thread *thread)
{
    return sbx_thread_is_registered(thread) && thread->loop.serves_many;
}

/* May this call of such a thread be made as a prompt call, on a descriptor that is prompt? Returns the calling thread
 * if so. NULL: the call must be made like one that may block. */
SBX_HOOK_SAFE static inline struct sbx_thread *sbx_prompt_begin(void)
{
    struct sbx_thread *thread = sbx_self;
    if (SBX_UNLIKELY(!sbx_capture_is_open() || (thread->inside | thread->call_depth) != 0)) {
        return NULL;
    }
    return sbx_thread_clock_watch(&thread->clock) ? thread : NULL;
}

/* As sbx_leaf_ask(): the count has run out with a prompt call. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_ask(struct sbx_thread *thread, uint8_t op, uint8_t group);

SBX_HOOK_SAFE static inline void sbx_prompt_end(struct sbx_thread *thread, int fd, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(!sbx_clock_word_is_ours(thread->clock.rseq_offset))) {
        sbx_prompt_was_left(thread, fd, group);
    }
    if (SBX_UNLIKELY(--thread->entry->countdown < 0)) {
        sbx_prompt_ask(thread, op, group);
    }
}

/* For the first time in this message, data was read from a client (question). A client is about to be answered
 * (answer). */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_question(struct sbx_thread *thread);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_answer(struct sbx_thread *thread);

SBX_HOOK_SAFE static inline void sbx_prompt_read_end(struct sbx_thread *thread, int fd, ssize_t result, uint8_t op,
                                                     uint8_t group)
{
    struct sbx_message_loop *loop = &thread->loop;
    if (result > 0 && loop->question_in != thread->entry->message) {
        if (SBX_LIKELY(loop->leads_to_clients && sbx_loop_is_plain(loop))) {
            sbx_store_relaxed(&loop->question_in, thread->entry->message); /* relaxed: as sbx_client_asked() */
        } else {
            sbx_prompt_question(thread);
        }
    }
    sbx_prompt_end(thread, fd, op, group);
}

SBX_HOOK_SAFE static inline void sbx_prompt_write_begin(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    uint64_t begin_ns = thread->entry->message_begin_ns;
    if (loop->question_in == thread->entry->message && begin_ns != 0) {
        if (SBX_LIKELY(sbx_thread_clock_is_within(&thread->clock, begin_ns, SBX_SHORT_MESSAGE_NS))) {
            sbx_store_relaxed(&loop->question_in, 0); /* no limit is that short. relaxed: as sbx_client_answered() */
        } else {
            sbx_prompt_answer(thread);
        }
    }
}

#endif
