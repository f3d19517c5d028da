/* SPDX-License-Identifier: Apache-2.0 */
/* random_report.c - makes a report of arbitrary bytes. */
#include "random_report.h"

#include "record_kinds.h"

#include <stdlib.h>
#include <string.h>

enum {
    RECORD_BYTES = 10,
    THREADS = 3,
    HEAD_BYTES = 6
};

/* Functions called at two places, inlined calls, a wait's own frames, a walk that ended early, hostile names. */
static const char *const stacks[] = {
    "",
    "main@1;loop@2",
    "main@1;loop@2;f@3",
    "main@1;loop@2;f@4",
    "main@1;loop@2;f@3;g@5",
    "main@1;loop@9;f@3;g@5",
    "main@1;loop@2;f@3>inner@7;g@5",
    "main@1;loop@2;f@3>inner@8;g@5",
    "main@1;loop@2;libc.so.6!nanosleep@1;libc.so.6!clock_nanosleep@2",
    "main@1;r@2;r@2;r@2;r@2",
    "main@1;r@2;r@2",
    "[end:2];lost@1",
    "main@1;<&\"'\x01\xff\xc3]]>@6",
    "main@1;loop@2;operator;a b\n@2",
};

static uint32_t take(const uint8_t **bytes, size_t *count, unsigned width)
{
    uint32_t value = 0;
    for (unsigned i = 0; i<width && * count> 0; i++, (*count)--) {
        value = value << 8 | *(*bytes)++;
    }
    return value;
}

static void put_head(struct report_fixture *fixture, const uint8_t **bytes, size_t *count)
{
    struct sbx_stall *stall = report_fixture_stall(fixture);
    struct sbx_verdict *verdict = report_fixture_verdict(fixture);
    uint32_t shape = take(bytes, count, 1);
    stall->trigger.kind = shape % SBX_TRIGGER_KINDS;
    stall->trigger.thread = shape % THREADS;
    stall->trigger.in_progress = shape & 64;
    stall->trigger.message = take(bytes, count, 1) & 7;
    stall->trigger.duration_ns = (int64_t)take(bytes, count, 2) * 100000;
    verdict->interval_begin_ns = -stall->trigger.duration_ns;
    verdict->interval_end_ns = shape & 32 ? 0 : verdict->interval_begin_ns;
    verdict->culprit_thread = (int32_t)(shape % (THREADS + 1)) - 1;
    uint32_t call = take(bytes, count, 2);
    struct sbx_stall_thread *thread = report_fixture_thread_at(fixture, call % THREADS);
    thread->call_kind = call >> 2 & 15;
    thread->call_op = call >> 6 & 63;
    thread->call_ns = (int64_t)call * 100000;
    thread->call_peer = (int32_t)(call % (THREADS + 1)) - 1;
}

struct report_fixture *random_report_create(const uint8_t *bytes, size_t count)
{
    struct report_fixture *fixture = report_fixture_create();
    int64_t ends_ns[THREADS];
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        report_fixture_thread(fixture, thread == 1 ? "<worker>" : "other", thread == 0);
        ends_ns[thread] = -(int64_t)(count / RECORD_BYTES) * 3000000;
    }
    put_head(fixture, &bytes, &count);
    while (count >= RECORD_BYTES) {
        struct sbx_stall_record record = {.thread = take(&bytes, &count, 1) % THREADS};
        uint32_t step_us = take(&bytes, &count, 2), length_us = take(&bytes, &count, 2), bits = take(&bytes, &count, 2);
        ends_ns[record.thread] += (int64_t)(bits & 1 ? step_us % 4 : step_us) * 1000;
        record.end_ns = ends_ns[record.thread];
        record.begin_ns = record.end_ns - (int64_t)(bits & 2 ? length_us : 0) * 1000;
        record.cpu_ns = bits & 4 ? (int64_t)(bits >> 8) * 1000000 : -1;
        record.message = bits & 8 ? bits >> 12 & 7 : 1;
        record.stack_lost = (bits & 0xf0) == 0xf0;
        record.kind = (uint8_t)(take(&bytes, &count, 1) % (SBX_RECORD_KINDS + 1));
        record.op = (uint8_t)(take(&bytes, &count, 1) % (SBX_OP_MAX + 2));
        uint32_t rest = take(&bytes, &count, 1);
        record.stack = report_fixture_stack(fixture, stacks[rest % (sizeof stacks / sizeof stacks[0])]);
        record.peer = (int32_t)(rest % (THREADS + 1)) - 1;
        record.object = rest & 3;
        record.amount = rest;
        record.repeats = sbx_kind_is_sample(record.kind) && bits & 2 ? rest : 0;
        record.wait = rest & 7;
        record.fd_class = rest & 7;
        record.alloc_bytes = rest * 16;
        report_fixture_record(fixture, record);
    }
    return fixture;
}

struct report_fixture *random_report_from_seed(uint64_t seed, size_t records)
{
    size_t count = HEAD_BYTES + records * RECORD_BYTES;
    uint8_t *bytes = malloc(count);
    if (bytes == NULL) {
        abort();
    }
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < count; i++) { /* xorshift64* */
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        bytes[i] = (uint8_t)((state * UINT64_C(0x2545f4914f6cdd1d)) >> 56);
    }
    struct report_fixture *fixture = random_report_create(bytes, count);
    free(bytes);
    return fixture;
}
