/* SPDX-License-Identifier: Apache-2.0 */
/* task_chain.h - the task in which a task was queued, and so on from queue to queue. Pure.
 *
 * sbx_origin_at() answers the same question for one moment, in time that grows with the number of tasks. Exporters ask
 * it for every task, so they use this index. */
#ifndef SBX_TASK_CHAIN_H
#define SBX_TASK_CHAIN_H

#include "stall.h"

enum {
    SBX_TASK_HOPS_MAX = 4 /* at most this many submitters' stacks lie under the runner's */
};

struct sbx_task_chain {
    const struct sbx_stall *stall; /* borrowed */
    uint32_t *around;              /* by task: index + 1 of the innermost task in which it began; 0 none */
};

/* Returns 0 or -ENOMEM. Finish releases; a zeroed value is fine. */
int sbx_task_chain_init(struct sbx_task_chain *chain, const struct sbx_stall *stall);
void sbx_task_chain_finish(struct sbx_task_chain *chain);

/* The task, one of the stall's, that the submitter of `task` ran when it queued `task`. NULL: none is known, or it does
 * not help to follow it (sbx_origin_leads_on()). */
const struct sbx_stall_task *sbx_task_chain_outer(const struct sbx_task_chain *chain,
                                                  const struct sbx_stall_task *task);

#endif
