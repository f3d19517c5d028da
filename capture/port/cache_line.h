/* SPDX-License-Identifier: Apache-2.0 */
/* cache_line.h - prefetches a cache line before it is needed.
 *
 * A line that another processor wrote last takes some hundred nanoseconds to arrive. Several lines that are requested
 * together arrive in the time of one. A line that will be written is requested for writing, so that it is not requested
 * for reading first.
 *
 * Any address is allowed: an unmapped one does not fault. */
#ifndef SBX_CACHE_LINE_H
#define SBX_CACHE_LINE_H

#include "marks.h"

SBX_SIGNAL_SAFE static inline void sbx_line_to_write(const void *at)
{
#if defined(__x86_64__)
    /* The instruction is written by name, because a compiler that does not know the processor would prefetch for
     * reading. A processor without this instruction ignores it. */
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
