/* SPDX-License-Identifier: Apache-2.0 */
/* held_thread.h - a thread of the host that the test stops by ptrace(), as if the machine had no processor for it. */
#ifndef HELD_THREAD_H
#define HELD_THREAD_H

#include <stdint.h>
#include <sys/types.h>

/* The id of the thread with that name; 0: there is none. */
int held_thread_find(pid_t pid, const char *name);

/* Stop the thread, wherever it is; the others continue. If ptrace() is not allowed, the host `pid` is killed and the
 * test is skipped. `begun`: the result of host_begin(), which is the host or its companion. */
void held_thread_stop(pid_t tid, pid_t pid, pid_t begun);

/* Let the thread continue until it enters a system call of that number. */
void held_thread_go_on_to_call(pid_t tid, uint64_t number);

#endif
