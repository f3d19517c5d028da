/* SPDX-License-Identifier: Apache-2.0 */
/* sample_handler.h - the signal handler of the asynchronous gap filler. */
#ifndef SBX_SAMPLE_HANDLER_H
#define SBX_SAMPLE_HANDLER_H

#include <signal.h>
#include <stdint.h>

#include "marks.h"

/* What our timers carry, so that the handler knows our signal from the host's: the upper half is this, the low 16 bits are the
 * thread's entry index, or one of the two below, and those between them which of the thread's questions it is, and whether that stands
 * (SBX_QUESTION_AHEAD). (Not the timer's number: an emulator may number timers by itself, qemu-user does.) */
#define SBX_SAMPLE_COOKIE UINT64_C(0x5b0ca57e00000000)
enum {
    SBX_SAMPLE_NOBODY = 0xfffe, /* queued, not by a timer: only to see where handlers return to */
    SBX_SAMPLE_PROBE = 0xffff,  /* the watch thread's own: where are signals made */
};

/* What the last signal of the probe met. */
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
