/* SPDX-License-Identifier: Apache-2.0 */
/* descriptor_hooks.h - hooks of calls that read from descriptor `fd` or write to it, when it may be a client's.
 *
 * Such a hook looks up what is known of the descriptor (known_fds.h), and jumps to a function for that kind:
 *
 *   NAME_promptly()   a client's connection that does not block, by the thread with the loop (prompt_call.h)
 *   NAME_of_client()  another call on a client's connection (client_message.h)
 *   NAME_otherwise()  everything else
 *
 * So each kind of call saves the registers that it needs itself, and asks nothing that the others must know. The
 * function that was jumped to has the frame that other threads see as the place of the call.
 *
 * `group` is FILE or SOCKET: SBX_GROUP_FILE and SBX_RECORD_FILE, or SBX_GROUP_SOCKET and SBX_RECORD_SOCKET. These are
 * macros because the place of the call must be in the hook, and not in a function that it calls. */
#ifndef SBX_DESCRIPTOR_HOOKS_H
#define SBX_DESCRIPTOR_HOOKS_H

#include "client_message.h"
#include "point.h"
#include "prompt_call.h"

/* A function for calls of which so much is `known`: the rest of the arguments makes the call and returns. */
#define SBX_CALL_OF(function, parameters, what_is_known, ...) \
    SBX_NOINLINE static ssize_t function parameters           \
    {                                                         \
        const uint32_t known = what_is_known;                 \
        __VA_ARGS__;                                          \
    }

/* `begin` and `end` are made before and after the prompt call of thread `prompt`. The rest makes any other call. */
#define SBX_PROMPT_HOOK(name, parameters, arguments, begin, end, ...)                                            \
    static ssize_t(*real_##name) parameters;                                                                     \
    SBX_CALL_OF(name##_of_client, parameters, SBX_FD_IS_CLIENT, __VA_ARGS__)                                     \
    SBX_CALL_OF(name##_otherwise, parameters, sbx_fd_known(fd) & ~SBX_FD_IS_CLIENT, __VA_ARGS__)                 \
    SBX_NOINLINE static ssize_t name##_promptly parameters                                                       \
    {                                                                                                            \
        struct sbx_thread *prompt = sbx_prompt_begin();                                                          \
        if (SBX_UNLIKELY(prompt == NULL)) {                                                                      \
            return name##_of_client arguments;                                                                   \
        }                                                                                                        \
        begin;                                                                                                   \
        ssize_t moved = real_##name arguments;                                                                   \
        end;                                                                                                     \
        return moved;                                                                                            \
    }                                                                                                            \
    static ssize_t hook_##name parameters                                                                        \
    {                                                                                                            \
        uint32_t known = sbx_fd_known(fd);                                                                       \
        if ((known & SBX_FD_IS_CLIENT) == 0) {                                                                   \
            return name##_otherwise arguments;                                                                   \
        }                                                                                                        \
        return (known & SBX_FD_IS_PROMPT) != 0 && sbx_makes_prompt_calls(sbx_self) ? name##_promptly arguments   \
                                                                                   : name##_of_client arguments; \
    }

#define SBX_PROMPT_READ_HOOK(name, parameters, arguments, group, op, ...) \
    SBX_PROMPT_HOOK(name, parameters, arguments, (void)0,                 \
                    sbx_prompt_read_end(prompt, fd, moved, op, SBX_GROUP_##group), __VA_ARGS__)
#define SBX_PROMPT_WRITE_HOOK(name, parameters, arguments, group, op, ...)       \
    SBX_PROMPT_HOOK(name, parameters, arguments, sbx_prompt_write_begin(prompt), \
                    sbx_prompt_end(prompt, fd, op, SBX_GROUP_##group), __VA_ARGS__)

/* A read of at most `asked` bytes. */
#define SBX_READ_HOOK(name, parameters, arguments, group, op, asked)                                             \
    SBX_PROMPT_READ_HOOK(                                                                                        \
        name, parameters, arguments, group, op,                                                                  \
        SBX_READ_BODY(ssize_t, fd, known, SBX_CALL_WHAT(SBX_RECORD_##group, op, SBX_GROUP_##group),              \
                      sbx_blocking_begin(&call, SBX_GROUP_##group, SBX_RECORD_##group, op, (uint64_t)fd + 1, 0), \
                      asked, real_##name arguments))

/* A write. `seen` runs when bytes were written. */
#define SBX_WRITE(name, arguments, group, op, seen)                                              \
    if (SBX_UNLIKELY((known & SBX_FD_IS_END) != 0)) {                                            \
        sbx_self_pipe_write(fd, op);                                                             \
    }                                                                                            \
    SBX_WRITE_BODY(ssize_t, fd, known, SBX_CALL_WHAT(SBX_RECORD_##group, op, SBX_GROUP_##group), \
                   real_##name arguments, seen)
#define SBX_WRITE_HOOK(name, parameters, arguments, group, op, seen) \
    SBX_PROMPT_WRITE_HOOK(name, parameters, arguments, group, op, SBX_WRITE(name, arguments, group, op, seen))

/* A write that is never made as a prompt call. */
#define SBX_SLOW_WRITE_HOOK(name, parameters, arguments, group, op, seen) \
    static ssize_t(*real_##name) parameters;                              \
    static ssize_t hook_##name parameters                                 \
    {                                                                     \
        uint32_t known = sbx_fd_known(fd);                                \
        SBX_WRITE(name, arguments, group, op, seen);                      \
    }

#endif
