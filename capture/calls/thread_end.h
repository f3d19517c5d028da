/* SPDX-License-Identifier: Apache-2.0 */
/* thread_end.h - what is recorded when a thread ends: threads that join it are released, and its last run of samples is
 * recorded.
 *
 * The registry finds out that a thread has ended but knows nothing of records. So it gets these two functions when it
 * starts. */
#ifndef SBX_THREAD_END_H
#define SBX_THREAD_END_H

#include "thread_registry.h"

/* For sbx_thread_registry_start(). */
extern const struct sbx_thread_end sbx_thread_end;

#endif
