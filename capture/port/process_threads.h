/* SPDX-License-Identifier: Apache-2.0 */
/* process_threads.h - how many threads the process has, according to the kernel. */
#ifndef SBX_PROCESS_THREADS_H
#define SBX_PROCESS_THREADS_H

#include <stdint.h>
#include <sys/stat.h>

#include "marks.h"
#include "raw_syscall.h"

enum {
    SBX_OWN_THREAD_COUNT = 2 /* the agent's, once the recorder has begun */
};

/* The number of threads of the calling process, including the agent's; 0: it is not known, because there is no /proc. A
 * folder of /proc has one link for each folder in it, and two of its own (proc(5)). About 1.5 us. */
SBX_SIGNAL_SAFE static inline uint32_t sbx_raw_thread_count(void)
{
    struct stat status;
    long result = sbx_raw_syscall(SYS_newfstatat, -100 /* AT_FDCWD */, (long)(uintptr_t) "/proc/self/task",
                                  (long)(uintptr_t)&status, 0, 0, 0);
    return result == 0 && status.st_nlink > 2 ? (uint32_t)status.st_nlink - 2 : 0;
}

#endif
