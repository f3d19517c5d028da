/* SPDX-License-Identifier: Apache-2.0 */
/* thread_where.h - what the kernel says about a thread in /proc/self/task/TID/syscall: the call it sleeps in, its stack
 * pointer and program counter. Takes some 1 us; the thread is not stopped. */
#ifndef SBX_THREAD_WHERE_H
#define SBX_THREAD_WHERE_H

#include <stdbool.h>
#include <stdint.h>

struct sbx_where {
    bool is_blocked; /* false: it runs, or waits for a processor; then the other fields are not set */
    int64_t call;    /* system call number; -1: blocked outside a call (a page fault) */
    uint64_t arguments[2];
    uint64_t sp, pc;
};

/* Parse the file's text. Pure. False: it has nothing that can be used. */
bool sbx_where_parse(const char *text, struct sbx_where *where_out);

/* Read it for a thread of this process. False: the thread is gone, or the kernel does not say. Our own threads only. */
bool sbx_where_read(uint32_t tid, struct sbx_where *where_out);

#endif
