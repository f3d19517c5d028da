/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_call.h - reads and writes that cannot wait: of a client's connection with O_NONBLOCK, by the thread whose loop serves it.
 *
 * A server makes two or three of these for each request, and nothing is ever waited for in them: so there is no clock around them, no
 * call is shown to looks from outside, and they are leaf points. What they are for the message is noted as of any other
 * (client_message.h).
 *
 * That a connection has O_NONBLOCK is what accept4() and fcntl() said in our hooks. It may be wrong by now: dup2() has put something else
 * there, or another process that shares the connection has taken the flag back. So nobody relies on it. Around the call the thread's
 * rseq word is armed (thread_clock.h), and when it is gone afterwards the thread has been switched out: then the kernel is asked for
 * the flag, and a sample is due at once, whose time and CPU time tell what was before it. A wait in such a call is therefore never lost:
 * it ends in a sample of its stack, and the next one on that descriptor is measured. Where the kernel's habit does not allow that, or
 * a signal of ours could cut a call short, no call is taken for prompt. */
#ifndef SBX_PROMPT_CALL_H
#define SBX_PROMPT_CALL_H

#include <stdint.h>
#include <sys/types.h>

#include "capture_sample.h"
#include "client_sockets.h"
#include "left_code.h"
#include "the_capture.h"
#include "thread_block.h"

/* A prompt call on `fd` may have waited: forget that it is prompt if it is not, and have a sample taken. Keeps errno. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_was_left(struct sbx_thread *thread, int fd, uint8_t group);

/* Is a call one, on a descriptor that is prompt? The calling thread then, else NULL, and the call goes the way of those that may block. */
SBX_HOOK_SAFE static inline struct sbx_thread *sbx_prompt_begin(void)
{
    struct sbx_thread *thread = sbx_self;
    if (!sbx_thread_is_registered(thread) || !sbx_capture_is_open() || sbx_thread_is_inside(thread) ||
        thread->call_depth != 0 || !thread->loop.serves_many || thread->clock.rseq_offset == 0 ||
        sbx_load_relaxed(&sbx_the_capture.calls_are_safe) == 0 || /* relaxed: 1 once it is known, for good */
        sbx_load_relaxed(&sbx_the_capture.quiet_groups) != 0) {   /* relaxed: a call more or less */
        return NULL;
    }
    return sbx_thread_clock_watch(&thread->clock) ? thread : NULL;
}

SBX_HOOK_SAFE static inline void sbx_prompt_end(struct sbx_thread *thread, int fd, uint8_t op, uint8_t group)
{
    if (SBX_UNLIKELY(!sbx_clock_word_is_ours(thread->clock.rseq_offset))) {
        sbx_prompt_was_left(thread, fd, group);
    }
    sbx_leaf(thread, SBX_RECORD_LEAF, op, group);
}

/* Something was read from a client, for the first time in this message; a client is about to be answered. */
SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_question(struct sbx_thread *thread);
SBX_HOOK_SAFE SBX_NOINLINE void sbx_prompt_answer(struct sbx_thread *thread);

SBX_HOOK_SAFE static inline void sbx_prompt_read_end(struct sbx_thread *thread, int fd, ssize_t result, uint8_t op,
                                                     uint8_t group)
{
    if (result > 0 && thread->loop.question_in != thread->entry->message) {
        sbx_prompt_question(thread);
    }
    sbx_prompt_end(thread, fd, op, group);
}

SBX_HOOK_SAFE static inline void sbx_prompt_write_begin(struct sbx_thread *thread)
{
    if (thread->loop.question_in == thread->entry->message && thread->entry->message_begin_ns != 0) {
        sbx_prompt_answer(thread);
    }
}

/* First in a hook whose call reads from `fd`, of which so much is `known` (known_fds.h), or writes to it: makes the call and returns when it is a prompt one. */
#define SBX_PROMPT_READ(type, fd, known, real, op, group)                                        \
    do {                                                                                         \
        struct sbx_thread *prompt = ((known)&SBX_FD_IS_PROMPT) != 0 ? sbx_prompt_begin() : NULL; \
        if (prompt != NULL) {                                                                    \
            type moved = real;                                                                   \
            sbx_prompt_read_end(prompt, fd, moved, op, group);                                   \
            return moved;                                                                        \
        }                                                                                        \
    } while (0)

#define SBX_PROMPT_WRITE(type, fd, known, real, op, group)                                       \
    do {                                                                                         \
        struct sbx_thread *prompt = ((known)&SBX_FD_IS_PROMPT) != 0 ? sbx_prompt_begin() : NULL; \
        if (prompt != NULL) {                                                                    \
            sbx_prompt_write_begin(prompt);                                                      \
            type moved = real;                                                                   \
            sbx_prompt_end(prompt, fd, op, group);                                               \
            return moved;                                                                        \
        }                                                                                        \
    } while (0)

#endif
