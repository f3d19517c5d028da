/* SPDX-License-Identifier: Apache-2.0 */
/* triage_process.h - one worker process as the server sees it: a task goes in, an answer comes out, in bounded time and
 * size. A worker that exceeds a bound is killed, and the next task gets a new one. One thread at a time. */
#ifndef SBX_TRIAGE_PROCESS_H
#define SBX_TRIAGE_PROCESS_H

#include <stdint.h>

#include "symbol_store.h"
#include "triage_nursery.h"
#include "triage_wire.h"
#include "triage_worker.h"

struct sbx_triage_process;

/* Arguments are borrowed until destroy. `greeting`: the first message to a worker (triage_worker.h). `cpu_ms`:
 * processor time per task. No process is made yet. Returns NULL without memory. */
struct sbx_triage_process *sbx_triage_process_create(struct sbx_triage_nursery *nursery,
                                                     const struct sbx_byte_buffer *greeting, uint32_t cpu_ms);
void sbx_triage_process_destroy(struct sbx_triage_process *process); /* kills it; NULL is fine */

struct sbx_triage_task {
    enum sbx_task_kind kind;
    enum sbx_rendering rendering; /* for a task of that kind */
    struct sbx_end_row end;
    const struct sbx_arrival *arrivals; /* arrivals since its last task; a new process needs none */
    uint32_t arrival_count;
    const struct sbx_byte_buffer *envelope;
};

enum sbx_process_outcome {
    SBX_PROCESS_ANSWERED, /* `result` and `body` come from the worker */
    SBX_PROCESS_SLOW,     /* it used more than its processor time and was killed */
    SBX_PROCESS_LARGE,    /* its answer was larger than allowed; it was killed */
    SBX_PROCESS_DIED,     /* it ended by itself */
    /* another process killed it, or it did not answer for long; probably not because of the payload */
    SBX_PROCESS_KILLED,
    SBX_PROCESS_NONE, /* no worker can be made now */
};

struct sbx_triage_answer {
    enum sbx_process_outcome outcome;
    int result;
    enum sbx_lack lack;
    enum sbx_store_trouble store_trouble;
    char why[200];               /* words for people; "": none */
    char store_words[400];       /* words about the trouble; "": none */
    struct sbx_byte_buffer body; /* given: sbx_byte_buffer_finish */
};

/* End the process, if there is one. The next task gets a new one. */
void sbx_triage_process_end(struct sbx_triage_process *process);

/* Have one task done. A process that lacked memory, or could not reach the symbol store, is ended, because it cannot
 * connect again. If it was not a new process, a new one then does the task. */
void sbx_triage_process_ask(struct sbx_triage_process *process, const struct sbx_triage_task *task,
                            struct sbx_triage_answer *answer_out);

#endif
