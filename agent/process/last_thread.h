/* SPDX-License-Identifier: Apache-2.0 */
/* last_thread.h - have all threads ended except ours? */
#ifndef SBX_LAST_THREAD_H
#define SBX_LAST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* A process ends with its last thread, and main() may leave with pthread_exit(). Our threads would keep such a process
 * alive for ever, and only SIGKILL could end it, since they block all signals. So they check for this when the first
 * thread has ended, and end after the last application thread. The two arguments are the tids of our own threads. False
 * when /proc cannot be read. */
bool sbx_application_has_ended(uint32_t own_tid_1, uint32_t own_tid_2);

/* Has the first thread of the process ended? */
bool sbx_first_thread_has_ended(void);

#endif
