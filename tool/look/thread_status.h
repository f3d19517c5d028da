/* SPDX-License-Identifier: Apache-2.0 */
/* thread_status.h - reads what the kernel tells about a thread of another process, from small files below
 * /proc/PID/task/TID. Reading them stops no thread. */
#ifndef SBX_THREAD_STATUS_H
#define SBX_THREAD_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SBX_CALL_ARGUMENTS = 6,
    SBX_CALL_NONE = -1 /* asleep outside of a call: usually while a page is read from a disk */
};

/* Where a thread sleeps: /proc/PID/task/TID/syscall. */
struct sbx_thread_position {
    bool is_asleep; /* false: it runs or waits for a processor, and the other members are unknown */
    int64_t call;   /* number of the system call, or SBX_CALL_NONE */
    uint64_t arguments[SBX_CALL_ARGUMENTS];
    uint64_t sp, pc;
};

/* Counts that the kernel keeps. Times are nanoseconds since the thread's start; -1: this kernel does not have them. */
struct sbx_thread_status {
    char name[32]; /* its comm */
    /* 'R' runs or waits for a processor, 'S' sleeps, 'D' sleeps and ignores signals, 'T' stopped, 't' traced, 'Z'
     * dead */
    char state;
    int64_t cpu_ns;      /* time that it ran */
    int64_t runnable_ns; /* time that it was ready and had no processor */
    uint64_t runs;       /* number of times it got a processor */
    int processor;       /* where it ran last */
    uint32_t inner_tid;  /* its number in its own pid namespace */
};

/* Pure: read the text of the file. False when it has nothing useful. */
bool sbx_thread_position_parse(const char *text, struct sbx_thread_position *position_out);

/* Pure: read /proc/PID/task/TID/stat; sets name, state and processor. */
bool sbx_thread_stat_parse(const char *text, struct sbx_thread_status *status_out);

/* Returns 0, -ESRCH (it has ended), or why it cannot be read: -EACCES and -EPERM mean that the caller may not trace
 * it. */
int sbx_thread_position_read(pid_t pid, pid_t tid, struct sbx_thread_position *position_out);
/* `has_other_numbers`: the process is in another pid namespace, so its threads' own numbers are read too. */
int sbx_thread_status_read(pid_t pid, pid_t tid, bool has_other_numbers, struct sbx_thread_status *status_out);

/* How often it got a processor. When this is equal before and after a look, the thread did not run meanwhile. 0:
 * unknown. */
uint64_t sbx_thread_runs(pid_t pid, pid_t tid);

#endif
