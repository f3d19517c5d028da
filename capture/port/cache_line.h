/* SPDX-License-Identifier: Apache-2.0 */
/* cache_line.h - ask for a cache line before it is needed. A line that another processor has written last takes some hundred nanoseconds to come: asked for
 * at once, several come in the time of one; and a line that will be written comes to be written, instead of to be read first.
 *
 * Any address: what is not mapped does not fault. */
#ifndef SBX_CACHE_LINE_H
#define SBX_CACHE_LINE_H

#include "marks.h"

SBX_SIGNAL_SAFE static inline void sbx_line_to_write(const void *at)
{
#if defined(__x86_64__)
    /* By its name, because the compiler asks for a line to be read where the processor is not told: one without this instruction takes it for nothing. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

SBX_SIGNAL_SAFE static inline void sbx_line_to_read(const void *at)
{
    __builtin_prefetch(at, 0);
}

#endif
