/* SPDX-License-Identifier: Apache-2.0 */
/* stack_reader.h - the stack of a sleeping thread, read from outside: the kernel gives its position, its stack is
 * copied, and the recorder's own walk runs over that copy. The thread is not stopped.
 *
 * The kernel gives sp and pc of a sleeping thread, and no other register. When a function needs its frame pointer to
 * find its caller, and no inner frame has saved it, it is searched for on the stack: a frame whose return address
 * follows a call of this very function, and from which the walk reaches the thread's first frame. Such a stack is
 * marked. */
#ifndef SBX_STACK_READER_H
#define SBX_STACK_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process_modules.h"
#include "thread_status.h"

enum {
    SBX_STACK_FRAMES_MAX = 512
};

struct sbx_stack_frame {
    uint64_t pc;
    uint32_t module; /* index, or UINT32_MAX: in none */
    bool is_exact;   /* pc itself; false: the address that the next inner frame returns to */
};

enum sbx_stack_condition {
    SBX_STACK_READ = 0,       /* as it was at one moment */
    SBX_STACK_RUNNING = 1,    /* the thread ran; its stack cannot be read from outside without stopping it */
    SBX_STACK_MOVED = 2,      /* it ran during each attempt; the last copy is shown */
    SBX_STACK_UNREADABLE = 3, /* its stack is not in its memory, or must not be read */
};

struct sbx_thread_stack {
    enum sbx_stack_condition condition;
    enum sbx_walk_end end; /* SBX_WALK_COMPLETE: it reached the thread's first frame */
    bool frame_pointer_was_searched;
    size_t count;
    uint32_t omitted; /* left-out frames of a very deep stack, after frame `omitted_at` */
    uint32_t omitted_at;
    struct sbx_stack_frame frames[SBX_STACK_FRAMES_MAX + 2]; /* leaf first */
};

struct sbx_stack_reader; /* memory for a walk: some 300 KiB; one thread at a time */

struct sbx_stack_reader *sbx_stack_reader_create(void); /* NULL without memory */
void sbx_stack_reader_destroy(struct sbx_stack_reader *reader);

/* Read the thread's position and its stack. Returns 0, -ESRCH (it has ended), or the error of the kernel (-EACCES,
 * -EPERM). */
int sbx_stack_reader_read(struct sbx_stack_reader *reader, struct sbx_process_modules *modules, pid_t tid,
                          struct sbx_thread_position *position_out, struct sbx_thread_stack *stack_out);

#endif
