/* SPDX-License-Identifier: Apache-2.0 */
/* held_thread.h - a thread of the host that its judge holds, as a machine without a processor for it would. By ptrace(). */
#ifndef HELD_THREAD_H
#define HELD_THREAD_H

#include <stdint.h>
#include <sys/types.h>

/* The thread of that name; 0: there is none. */
int held_thread_find(pid_t pid, const char *name);

/* Stop it, wherever it is; the others run on. Where ptrace() is not allowed the test is skipped, and the host `pid` ended. `begun`: what
 * host_begin() returned, which is the host or its companion. */
void held_thread_stop(pid_t tid, pid_t pid, pid_t begun);

/* Let it go on to where it enters a call of that number. */
void held_thread_go_on_to_call(pid_t tid, uint64_t number);

#endif
