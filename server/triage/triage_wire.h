/* SPDX-License-Identifier: Apache-2.0 */
/* triage_wire.h - messages between the server and a triage worker: tasks one way, answers the other way. Both sides are
 * the same program, forked, so numbers have the format of memory. But a worker reads untrusted payloads, so the server
 * checks everything in its answers. */
#ifndef SBX_TRIAGE_WIRE_H
#define SBX_TRIAGE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "renderings.h"
#include "store.h"

enum {
    /* of a verdict or a rendering; a worker makes no more, and the server takes no more */
    SBX_ANSWER_BYTES_MAX = 8 << 20,
    SBX_WORKER_ARRIVALS_MAX = 64,
};

/* Symbols that came: a worker must forget what it knows of this build-id. */
struct sbx_arrival {
    uint8_t build_id[32];
    uint32_t bytes; /* 0: any build-id, and names of embedded runtimes */
};

enum sbx_task_kind {
    SBX_TASK_VERDICT = 0,
    SBX_TASK_RENDERING = 1,
    SBX_TASK_PROBE = 2, /* ask the symbol store anything, only to learn its state */
};

/* Why names are missing that may come later. */
enum sbx_lack {
    SBX_LACKS_NOTHING = 0,
    SBX_LACKS_MEMORY = 1,
    SBX_LACKS_STORE = 2, /* the symbol store is unreachable */
};

/* A task for a worker. Then follow `arrival_count` arrivals and the envelope. */
struct sbx_task_head {
    uint32_t kind;          /* enum sbx_task_kind */
    uint32_t rendering;     /* enum sbx_rendering */
    struct sbx_end_row end; /* how the stall ended, when that was reported separately */
    uint32_t arrival_count; /* at most SBX_WORKER_ARRIVALS_MAX */
    uint64_t envelope_bytes;
};

/* The result of a task. Then follows the body. */
struct sbx_answer_head {
    int32_t result;         /* 0; -EAGAIN: a temporary shortage; else -errno */
    uint32_t lack;          /* enum sbx_lack, when `result` is 0 */
    uint32_t store_trouble; /* enum sbx_store_trouble since the last answer */
    char why[200];          /* words for people; "": none */
    char store_words[400];  /* words about that trouble; "": none */
    uint64_t body_bytes;
};

/* Write a verdict as the body of an answer. `out->failed` tells when it did not fit. */
void sbx_verdict_pack(const struct sbx_verdict_row *row, struct sbx_byte_buffer *out);

/* Memory for what a verdict points to outside of its bytes. */
struct sbx_verdict_parts {
    struct sbx_gap_row *gaps;
    struct sbx_said_row *said;
};
/* Read the row in `bytes`, which it borrows, and its parts (given: sbx_verdict_parts_free). Returns 0, -EPROTO or
 * -ENOMEM. */
int sbx_verdict_unpack(const char *bytes, size_t count, struct sbx_verdict_row *row_out,
                       struct sbx_verdict_parts *parts_out);
void sbx_verdict_parts_free(struct sbx_verdict_parts *parts);

#endif
