/* SPDX-License-Identifier: Apache-2.0 */
/* task_reader.h - turns tasks that were queued or running when a recording was copied into records. Private to the
 * reader. */
#ifndef SBX_TASK_READER_H
#define SBX_TASK_READER_H

#include "snapshot.h"

#define SBX_START_HOPS UINT32_C(0xfff00000) /* numbers of hops that stand for the start of a thread */

enum {
    SBX_STARTS_MAX = 256,      /* threads whose starter is reported */
    SBX_PENDING_TASKS_MAX = 64 /* the oldest queued tasks are reported; the queues contain the total number */
};

/* Add the tasks of the table at `tasks` and the queues at `queues` to a snapshot whose threads and records have been
 * read. A running task becomes a HOP, and a TASK with SBX_FLAG_OPEN. A queued task becomes a HOP with SBX_FLAG_OPEN.
 * Tasks that are already in the records are left out. Returns 0 or -ENOMEM. */
SBX_MUST_CHECK int sbx_tasks_read(struct sbx_snapshot *snapshot, const uint8_t *tasks, const uint8_t *queues);

#endif
