/* SPDX-License-Identifier: Apache-2.0 */
/* triage_wire.h - what goes between the server and a triage worker: tasks one way, answers the other.
 *
 * Both sides are one program, forked, so numbers are as they lie in memory. But a worker reads what strangers sent: nothing that
 * it answers is believed before it was looked at. */
#ifndef SBX_TRIAGE_WIRE_H
#define SBX_TRIAGE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_buffer.h"
#include "renderings.h"
#include "store.h"

enum {
    SBX_ANSWER_BYTES_MAX = 8 << 20, /* of a verdict or a rendering; more is not made, and not taken */
    SBX_WORKER_ARRIVALS_MAX = 64,
};

/* Symbols that came: what a worker knows of this build-id is no longer so. */
struct sbx_arrival {
    uint8_t build_id[32];
    uint32_t bytes; /* 0: of anything, names of embedded runtimes too */
};

enum sbx_task_kind {
    SBX_TASK_VERDICT = 0,
    SBX_TASK_RENDERING = 1,
    SBX_TASK_PROBE = 2, /* ask the store of symbols anything: nothing comes back but how it is */
};

/* Why names are missing that may be had another time. */
enum sbx_lack {
    SBX_LACKS_NOTHING = 0,
    SBX_LACKS_MEMORY = 1,
    SBX_LACKS_STORE = 2, /* the store of symbols is away */
};

/* What a worker is to do. Behind it: `arrival_count` arrivals, then the envelope. */
struct sbx_task_head {
    uint32_t kind;          /* enum sbx_task_kind */
    uint32_t rendering;     /* enum sbx_rendering */
    struct sbx_end_row end; /* how the stall ended, where that was told apart from it */
    uint32_t arrival_count; /* SBX_WORKER_ARRIVALS_MAX at most */
    uint64_t envelope_bytes;
};

/* What came of it. Behind it: the body. */
struct sbx_answer_head {
    int32_t result;         /* 0; -EAGAIN: something was short that passes; else -errno */
    uint32_t lack;          /* enum sbx_lack, of a result of 0 */
    uint32_t store_trouble; /* enum sbx_store_trouble, that was met since the last answer */
    char why[200];          /* of a person's words, "" none */
    char store_words[400];  /* likewise, of that trouble */
    uint64_t body_bytes;
};

/* A verdict as the body of an answer; `out->failed` says when it did not fit. */
void sbx_verdict_pack(const struct sbx_verdict_row *row, struct sbx_byte_buffer *out);

/* What a verdict points to that is not in the bytes it came in. */
struct sbx_verdict_parts {
    struct sbx_gap_row *gaps;
    struct sbx_said_row *said;
};
/* The row that is in `bytes`, which it borrows, and its parts (given: sbx_verdict_parts_free). Returns 0, -EPROTO or -ENOMEM. */
int sbx_verdict_unpack(const char *bytes, size_t count, struct sbx_verdict_row *row_out,
                       struct sbx_verdict_parts *parts_out);
void sbx_verdict_parts_free(struct sbx_verdict_parts *parts);

#endif
