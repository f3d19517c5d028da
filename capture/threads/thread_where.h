/* SPDX-License-Identifier: Apache-2.0 */
/* thread_where.h - what the kernel says of a thread in /proc/self/task/TID/syscall: the call it sleeps in, its stack pointer and
 * program counter. Some 1 us; the thread is not stopped. */
#ifndef SBX_THREAD_WHERE_H
#define SBX_THREAD_WHERE_H

#include <stdbool.h>
#include <stdint.h>

struct sbx_where {
    bool is_blocked; /* false: it runs, or waits for a processor; then nothing else is told */
    int64_t call;    /* system call number; -1: blocked outside a call (a page fault) */
    uint64_t arguments[2];
    uint64_t sp, pc;
};

/* Pure: the file's text. False: it says nothing that can be used. */
bool sbx_where_parse(const char *text, struct sbx_where *where_out);

/* Of a thread of this process. False: it is gone, or the kernel does not tell. Our own threads only. */
bool sbx_where_read(uint32_t tid, struct sbx_where *where_out);

#endif
