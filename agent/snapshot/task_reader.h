/* SPDX-License-Identifier: Apache-2.0 */
/* task_reader.h - tasks that were queued or ran when a recording was copied, as records. Private to the reader. */
#ifndef SBX_TASK_READER_H
#define SBX_TASK_READER_H

#include "snapshot.h"

#define SBX_START_HOPS UINT32_C(0xfff00000) /* numbers of hops that are the start of a thread */

enum {
    SBX_STARTS_MAX = 256,      /* threads of which it is told who started them */
    SBX_PENDING_TASKS_MAX = 64 /* of those that lie in queues the oldest are told: how many there are say the queues */
};

/* Add the tasks of the table at `tasks` and the queues at `queues` to a snapshot whose threads and records have been read. What runs becomes a
 * HOP and a TASK with SBX_FLAG_OPEN, what lies in a queue a HOP with it; what the records tell already is left out. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_tasks_read(struct sbx_snapshot *snapshot, const uint8_t *tasks, const uint8_t *queues);

#endif
