/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.h - is somebody debugging this process? */
#ifndef SBX_TRACER_H
#define SBX_TRACER_H

#include <stdbool.h>

/* Is the process's first thread traced now (gdb, strace, a sanitizer's leak check)? Some 20 us, so it is asked only where
 * something is about to be called a stall, and a few times a second where threads are to be sampled by signal. False where /proc
 * cannot be read. Threads of ours only. */
bool sbx_tracer_is_attached(void);

#endif
