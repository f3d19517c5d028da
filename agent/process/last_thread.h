/* SPDX-License-Identifier: Apache-2.0 */
/* last_thread.h - has the application no thread left but ours? */
#ifndef SBX_LAST_THREAD_H
#define SBX_LAST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* A process ends with its last thread, and main() may leave by pthread_exit(). Our threads would keep such a process
 * alive for ever, and out of reach of every signal but SIGKILL, since they block all: so they look, once the first thread
 * is gone, and go with the last. The two numbers are our own threads. False where /proc cannot be read. */
bool sbx_application_has_ended(uint32_t own_tid_1, uint32_t own_tid_2);

/* Has the first thread of the process ended? */
bool sbx_first_thread_has_ended(void);

#endif
