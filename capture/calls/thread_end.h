/* SPDX-License-Identifier: Apache-2.0 */
/* thread_end.h - what is recorded when a thread ends: whoever joins it is let go, and its last run of samples is told.
 *
 * The registry finds out that a thread has ended and knows nothing of records, so it is handed these two at its start. */
#ifndef SBX_THREAD_END_H
#define SBX_THREAD_END_H

#include "thread_registry.h"

/* For sbx_thread_registry_start(). */
extern const struct sbx_thread_end sbx_thread_end;

#endif
