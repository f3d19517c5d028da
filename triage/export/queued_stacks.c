/* SPDX-License-Identifier: Apache-2.0 */
/* queued_stacks.c - asynchronous stacks: the stacks that queued a task, under what a thread did in it. */
#include "queued_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "task_chain.h"

struct visit {
    const struct sbx_stall_task *tasks; /* the tasks that the thread ran, by begin */
    size_t task_count, begun;           /* begun: number of tasks that have begun at `at_ns` */
    const struct sbx_stall_task **open; /* tasks of these that may still run, the innermost last */
    size_t open_count;
    int64_t at_ns;
    const struct sbx_call_paths *paths;
    struct sbx_task_chain chain;
    sbx_piece_visitor visitor;
    void *context;
    struct sbx_path_frame path[SBX_CALL_PATH_MAX], submitter[SBX_CALL_PATH_MAX];
};

static int64_t end_of(const struct sbx_stall_task *task)
{
    return task->runs ? INT64_MAX : task->ended_ns;
}

/* The innermost task that runs at `at_ns`; NULL: none. *until_ns: the end of the time for which this answer holds.
 * Pieces come in time order, so all calls together are one walk over the tasks. */
static const struct sbx_stall_task *task_at(struct visit *visit, int64_t at_ns, int64_t *until_ns)
{
    if (at_ns < visit->at_ns) {
        visit->begun = visit->open_count = 0;
    }
    visit->at_ns = at_ns;
    while (visit->begun < visit->task_count && visit->tasks[visit->begun].begun_ns <= at_ns) {
        visit->open[visit->open_count++] = &visit->tasks[visit->begun++];
    }
    while (visit->open_count > 0 && end_of(visit->open[visit->open_count - 1]) <= at_ns) {
        visit->open_count--; /* an outer task that ended is removed when the inner one is */
    }
    const struct sbx_stall_task *found = visit->open_count > 0 ? visit->open[visit->open_count - 1] : NULL;
    *until_ns = found != NULL ? end_of(found) : INT64_MAX;
    if (visit->begun < visit->task_count && visit->tasks[visit->begun].begun_ns < *until_ns) {
        *until_ns = visit->tasks[visit->begun].begun_ns;
    }
    return found;
}

/* Put the submitter's stack under the piece's stack. If the submitter queued the task in a task of its own, put the
 * stack that queued that one under it, and so on. The path grows outwards, from the end of its buffer. */
static void put_under(struct visit *visit, const struct sbx_stall_task *task, struct sbx_piece *piece)
{
    size_t at = SBX_CALL_PATH_MAX - piece->path_count;
    memcpy(visit->path + at, piece->path, piece->path_count * sizeof *visit->path);
    for (int hop = 0; hop < SBX_TASK_HOPS_MAX && task != NULL && at > 1; hop++) {
        size_t count = sbx_call_path_read(visit->paths, task->stack, visit->submitter);
        size_t kept = count < at - 1 ? count : at - 1;
        if (count == 0) {
            break;
        }
        visit->path[--at] = sbx_call_path_queued(visit->paths, task->op);
        at -= kept;
        memcpy(visit->path + at, visit->submitter + (count - kept), kept * sizeof *visit->path);
        task = sbx_task_chain_outer(&visit->chain, task);
    }
    piece->path = visit->path + at;
    piece->path_count = SBX_CALL_PATH_MAX - at;
}

static int cut_piece(void *context, const struct sbx_piece *whole)
{
    struct visit *visit = context;
    struct sbx_piece part = *whole;
    int result;
    do {
        int64_t until_ns;
        const struct sbx_stall_task *task = task_at(visit, part.begin_ns, &until_ns);
        struct sbx_piece told = part;
        told.end_ns = until_ns < whole->end_ns ? until_ns : whole->end_ns;
        if (task != NULL && told.path_count > 0) {
            put_under(visit, task, &told);
        }
        result = visit->visitor(visit->context, &told);
        part.begin_ns = told.end_ns;
        part.is_evidence = false; /* counted with the first part */
        part.looks = 0;
    } while (result == 0 && part.begin_ns < whole->end_ns);
    return result;
}

int sbx_queued_pieces_visit(const struct sbx_report *report, uint32_t thread, const struct sbx_thread_spans *spans,
                            const struct sbx_call_paths *paths, sbx_piece_visitor visitor, void *context)
{
    const struct sbx_stall *stall = report->stall;
    struct visit *visit = calloc(1, sizeof *visit);
    if (visit == NULL) {
        return -ENOMEM;
    }
    visit->paths = paths;
    visit->visitor = visitor;
    visit->context = context;
    for (size_t i = 0; i < stall->task_count; i++) { /* by runner, then by begin */
        if (stall->tasks[i].runner == (int32_t)thread) {
            visit->tasks = visit->tasks == NULL ? &stall->tasks[i] : visit->tasks;
            visit->task_count++;
        }
    }
    visit->open = calloc(visit->task_count + 1, sizeof(const struct sbx_stall_task *));
    int result = visit->open != NULL ? sbx_task_chain_init(&visit->chain, stall) : -ENOMEM;
    if (result == 0) {
        result = sbx_span_pieces_visit(spans, paths, cut_piece, visit);
    }
    sbx_task_chain_finish(&visit->chain);
    free(visit->open);
    free(visit);
    return result;
}
