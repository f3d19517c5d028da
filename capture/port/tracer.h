/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.h - is this process being debugged? */
#ifndef SBX_TRACER_H
#define SBX_TRACER_H

#include <stdbool.h>

/* Is the process's first thread traced now (by gdb, strace, a sanitizer's leak check)? It takes some 20 us, so it is
 * only asked before something is reported as a stall, and a few times a second where threads are to be sampled by
 * signal. False where /proc cannot be read. Only for threads of the agent. */
bool sbx_tracer_is_attached(void);

#endif
