/* SPDX-License-Identifier: Apache-2.0 */
/* task_chain.c - finds which task lies in which, by one walk over the tasks. These are sorted by runner and begin. */
#include "task_chain.h"

#include <errno.h>
#include <stdlib.h>

#include "origin.h"

static int64_t end_of(const struct sbx_stall_task *task)
{
    return task->runs ? INT64_MAX : task->ended_ns;
}

int sbx_task_chain_init(struct sbx_task_chain *chain, const struct sbx_stall *stall)
{
    *chain = (struct sbx_task_chain){.stall = stall, .around = calloc(stall->task_count + 1, sizeof *chain->around)};
    if (chain->around == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 1; i < stall->task_count; i++) {
        const struct sbx_stall_task *task = &stall->tasks[i];
        size_t at = stall->tasks[i - 1].runner == task->runner && task->runner >= 0 ? i : 0; /* the task before, + 1 */
        while (at != 0 && end_of(&stall->tasks[at - 1]) <= task->begun_ns) {
            at = chain->around[at - 1];
        }
        chain->around[i] = (uint32_t)at;
    }
    return 0;
}

void sbx_task_chain_finish(struct sbx_task_chain *chain)
{
    free(chain->around);
    chain->around = NULL;
}

/* How many tasks lie before the first that `runner` began after `at_ns`. */
static size_t begun_until(const struct sbx_stall *stall, int32_t runner, int64_t at_ns)
{
    size_t low = 0, high = stall->task_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct sbx_stall_task *task = &stall->tasks[middle];
        if (task->runner < runner || (task->runner == runner && task->begun_ns <= at_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct sbx_stall_task *sbx_task_chain_outer(const struct sbx_task_chain *chain, const struct sbx_stall_task *task)
{
    const struct sbx_stall *stall = chain->stall;
    if (task->from < 0) {
        return NULL;
    }
    size_t at = begun_until(stall, task->from, task->queued_ns);
    if (at == 0 || stall->tasks[at - 1].runner != task->from) {
        return NULL;
    }
    while (at != 0 && end_of(&stall->tasks[at - 1]) < task->queued_ns) {
        at = chain->around[at - 1];
    }
    return at != 0 && sbx_origin_leads_on(task, &stall->tasks[at - 1]) ? &stall->tasks[at - 1] : NULL;
}
