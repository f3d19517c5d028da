/* SPDX-License-Identifier: Apache-2.0 */
/* triage_process.h - one worker process as the server sees it: a task goes in, an answer comes out, in bounded time and size.
 *
 * Whoever is over a bound is killed, and the next task gets a new one. One thread at a time. */
#ifndef SBX_TRIAGE_PROCESS_H
#define SBX_TRIAGE_PROCESS_H

#include <stdint.h>

#include "symbol_store.h"
#include "triage_nursery.h"
#include "triage_wire.h"
#include "triage_worker.h"

struct sbx_triage_process;

/* All borrowed until destroy; `greeting` is what a worker hears first (triage_worker.h). `cpu_ms`: of processor time that a task may
 * take. No process is made yet. NULL without memory. */
struct sbx_triage_process *sbx_triage_process_create(struct sbx_triage_nursery *nursery,
                                                     const struct sbx_byte_buffer *greeting, uint32_t cpu_ms);
void sbx_triage_process_destroy(struct sbx_triage_process *process); /* kills it; NULL is fine */

struct sbx_triage_task {
    enum sbx_task_kind kind;
    enum sbx_rendering rendering; /* of a rendering */
    struct sbx_end_row end;
    const struct sbx_arrival *arrivals; /* since its last task; a new process needs none */
    uint32_t arrival_count;
    const struct sbx_byte_buffer *envelope;
};

enum sbx_process_outcome {
    SBX_PROCESS_ANSWERED, /* `result` and `body` are the worker's */
    SBX_PROCESS_SLOW,     /* more than its processor time: killed */
    SBX_PROCESS_LARGE,    /* more to say than may be: killed */
    SBX_PROCESS_DIED,     /* it ended by itself */
    SBX_PROCESS_KILLED, /* somebody else ended it, or nothing came of it for long: not the payload's fault, as it seems */
    SBX_PROCESS_NONE,   /* there is none to be had now */
};

struct sbx_triage_answer {
    enum sbx_process_outcome outcome;
    int result;
    enum sbx_lack lack;
    enum sbx_store_trouble store_trouble;
    char why[200];               /* of a person's words; "" none */
    char store_words[400];       /* likewise, of the trouble */
    struct sbx_byte_buffer body; /* given: sbx_byte_buffer_finish */
};

/* End its process, if there is one: the next task gets a new one. */
void sbx_triage_process_end(struct sbx_triage_process *process);

/* Have one task done. A process that lacked memory, or the store of symbols, is ended, because it cannot connect again; where it was not new
 * the task is done by a new one. */
void sbx_triage_process_ask(struct sbx_triage_process *process, const struct sbx_triage_task *task,
                            struct sbx_triage_answer *answer_out);

#endif
