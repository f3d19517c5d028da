/* SPDX-License-Identifier: Apache-2.0 */
/* thread_status.h - what the kernel tells about a thread of another process, in small files below /proc/PID/task/TID. Reading them
 * stops nobody. */
#ifndef SBX_THREAD_STATUS_H
#define SBX_THREAD_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SBX_CALL_ARGUMENTS = 6,
    SBX_CALL_NONE = -1 /* asleep outside of a call: mostly a page that is being read from a disk */
};

/* Where it sleeps: /proc/PID/task/TID/syscall. */
struct sbx_thread_position {
    bool is_asleep; /* false: it runs or waits for a processor, and nothing else is told */
    int64_t call;   /* number of the system call, or SBX_CALL_NONE */
    uint64_t arguments[SBX_CALL_ARGUMENTS];
    uint64_t sp, pc;
};

/* What of it the kernel keeps count of. Times are nanoseconds since the thread's start; -1: not told by this kernel. */
struct sbx_thread_status {
    char name[32]; /* its comm */
    char
        state; /* 'R' runs or waits for a processor, 'S' sleeps, 'D' sleeps and takes no signal, 'T' stopped, 't' traced, 'Z' dead */
    int64_t cpu_ns;      /* it has run */
    int64_t runnable_ns; /* it was ready and had no processor */
    uint64_t runs;       /* how often it was given one */
    int processor;       /* where it ran last */
    uint32_t inner_tid;  /* its number inside of its own pid namespace */
};

/* Pure: the text of the file. False when it says nothing that can be used. */
bool sbx_thread_position_parse(const char *text, struct sbx_thread_position *position_out);

/* Pure: of /proc/PID/task/TID/stat; fills name, state and processor. */
bool sbx_thread_stat_parse(const char *text, struct sbx_thread_status *status_out);

/* Returns 0, -ESRCH (it is gone), or why it cannot be read: -EACCES and -EPERM mean that the caller may not trace it. */
int sbx_thread_position_read(pid_t pid, pid_t tid, struct sbx_thread_position *position_out);
/* `has_other_numbers`: the process lives in another pid namespace, so that its threads' own numbers have to be asked for. */
int sbx_thread_status_read(pid_t pid, pid_t tid, bool has_other_numbers, struct sbx_thread_status *status_out);

/* How often it was given a processor: equal before and after a look, it did not run in between. 0: not known. */
uint64_t sbx_thread_runs(pid_t pid, pid_t tid);

#endif
