/* SPDX-License-Identifier: Apache-2.0 */
/* sample_handler.h - the signal handler of asynchronous samples, which fill the gaps between the others. */
#ifndef SBX_SAMPLE_HANDLER_H
#define SBX_SAMPLE_HANDLER_H

#include <signal.h>
#include <stdint.h>

#include "marks.h"

/* The value that the agent's timers carry, by which the handler tells the sample signal from signals of the program.
 * The upper half is this cookie. The low 16 bits are the thread's entry index, or one of the two values below. The bits
 * between them say which of the thread's questions it is, and whether the question stays valid (SBX_QUESTION_AHEAD).
 * The timer's number is not used, because an emulator may number timers by itself; qemu-user does. */
#define SBX_SAMPLE_COOKIE UINT64_C(0x5b0ca57e00000000)
enum {
    SBX_SAMPLE_NOBODY = 0xfffe, /* queued, not by a timer: only shows where handlers return to */
    SBX_SAMPLE_PROBE = 0xffff,  /* for the watch thread itself: shows where signals are made */
};

/* Where the last signal of the probe arrived. */
enum sbx_probe_hit {
    SBX_PROBE_NONE,
    SBX_PROBE_BEHIND_CALL, /* the instruction behind a system call */
    SBX_PROBE_ELSEWHERE,
};
extern uint32_t sbx_sample_probe_hit;

SBX_SIGNAL_SAFE static inline uint64_t sbx_sample_value(uint32_t index, uint16_t question)
{
    return SBX_SAMPLE_COOKIE | (uint64_t)question << 16 | index;
}

SBX_SIGNAL_SAFE void sbx_on_sample_signal(int number, siginfo_t *info, void *context);

#endif
