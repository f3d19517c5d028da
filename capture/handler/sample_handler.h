/* SPDX-License-Identifier: Apache-2.0 */
/* sample_handler.h - the signal handler of the asynchronous gap filler. */
#ifndef SBX_SAMPLE_HANDLER_H
#define SBX_SAMPLE_HANDLER_H

#include <signal.h>
#include <stdint.h>

#include "marks.h"

/* What rt_tgsigqueueinfo carries, so that the handler knows our signal from the host's; the low 16 bits are the
 * thread's entry index. */
#define SBX_SAMPLE_COOKIE UINT64_C(0x5b0c0000)

SBX_SIGNAL_SAFE void sbx_on_sample_signal(int number, siginfo_t *info, void *context);

#endif
