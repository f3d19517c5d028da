/* SPDX-License-Identifier: Apache-2.0 */
/* signal_frame.h - how much the kernel puts on a stack to call a signal handler, and what the signal interrupted.
 *
 * Each architecture's file defines
 *   sbx_signal_frame_bytes()   how much the kernel may put there now, for this process
 *   sbx_was_call_cut()         did the system call before the interrupted instruction return EINTR
 *   sbx_is_in_frame()          does a place of a stack have the words that every frame has
 *   sbx_frame_words()          where a frame has these words
 *   SBX_CALL_INSTRUCTION       the bytes of a system call instruction, SBX_CALL_BYTES of them */
#ifndef SBX_SIGNAL_FRAME_H
#define SBX_SIGNAL_FRAME_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "marks.h"
#include "raw_syscall.h"

/* The most that the kernel ever puts there on this machine (AT_MINSIGSTKSZ, Linux 5.14). For older kernels it is a size
 * that was enough for all machines then. */
static inline uint64_t sbx_signal_frame_most(void)
{
    enum {
        MINIMUM = 51, /* AT_MINSIGSTKSZ */
        OLD_MOST = 5120,
    };
    uint64_t most = getauxval(MINIMUM);
    return most != 0 ? most : OLD_MOST;
}

#define SBX_READS_FOREIGN_STACKS __attribute__((no_sanitize("address", "thread")))

#if defined(__x86_64__)
#include "signal_frame_x86_64.h"
#elif defined(__aarch64__)
#include "signal_frame_aarch64.h"
#else
#error "signal frames of this architecture are not known"
#endif

#endif
