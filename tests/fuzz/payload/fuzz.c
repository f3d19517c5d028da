/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - hostile payloads: decode, attribute, print.
 *
 * The input is tried twice: as an envelope, and as a protobuf body that this file compresses and puts into a valid
 * envelope, because a fuzzer does not get past a checksum and a compressor. A payload that decodes must also survive
 * everything that is done with a stall afterwards, and must hold what stall.h promises. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "attribute.h"
#include "envelope_format.h"
#include "fuzz_target.h"
#include "hot.h"
#include "print_json.h"
#include "print_text.h"
#include "report.h"
#include "stall_crc32c.h"

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

/* A payload with the end of a stall has nothing to report, and completes only its own stall. */
static void check_end(const struct sbx_stall *end)
{
    struct sbx_report *report;
    CHECK(end->end.how > SBX_END_NONE && end->end.how < SBX_END_KINDS && end->end.duration_ns >= 0);
    CHECK(end->thread_count == 0 && end->record_count == 0 && sbx_report_create(end, NULL, &report) != 0);
}

/* Every second stall is reported together with its end. */
static void complete(struct sbx_stall *stall)
{
    struct sbx_stall end = {
        .trigger = {.kind = SBX_TRIGGER_END},
        .end = {.how = 1 + stall->payload_id[1] % 3, .signal = 9, .duration_ns = INT64_C(9000000000)}};
    memcpy(end.completes, stall->payload_id, sizeof end.completes);
    memcpy(end.session_id, stall->session_id, sizeof end.session_id);
    bool is_taken = stall->payload_id[0] % 2 == 0 && sbx_stall_complete(stall, &end);
    CHECK(!is_taken || (stall->trigger.in_progress && sbx_stall_lasted_ns(stall) >= stall->trigger.duration_ns));
}

static void check_promises(const struct sbx_stall *stall)
{
    CHECK(stall->trigger.thread < stall->thread_count);
    for (uint32_t i = 0; i < stall->frame_count; i++) {
        CHECK(stall->frames[i].kind != SBX_FRAME_CODE || stall->frames[i].module < stall->module_count);
    }
    for (uint32_t id = 1; id <= stall->callstack_count; id++) {
        CHECK(stall->callstacks[id].frame < stall->frame_count && stall->callstacks[id].parent < id);
    }
    size_t row = 0;
    for (uint32_t i = 0; i < stall->thread_count; i++) {
        const struct sbx_stall_thread *thread = &stall->threads[i];
        CHECK(thread->name != NULL && thread->record_begin == row && thread->last_stack <= stall->callstack_count);
        CHECK(thread->call_peer < (int32_t)stall->thread_count);
        for (size_t end = row + thread->record_count; row < end; row++) {
            const struct sbx_stall_record *record = &stall->records[row];
            CHECK(record->thread == i && record->begin_ns <= record->end_ns && record->cpu_ns >= -1);
            CHECK(record->stack <= stall->callstack_count && record->peer < (int32_t)stall->thread_count);
            CHECK(row == thread->record_begin || record[-1].end_ns <= record->end_ns);
        }
    }
    CHECK(row == stall->record_count);
}

static void use(const struct sbx_stall *stall)
{
    static FILE *nowhere;
    struct sbx_report *report = NULL;
    if (nowhere == NULL) {
        nowhere = fopen("/dev/null", "w");
    }
    CHECK(nowhere != NULL && sbx_report_create(stall, NULL, &report) == 0 && sbx_attribute(report) == 0);
    const struct sbx_verdict *verdict = &report->verdict;
    CHECK(verdict->confidence >= 0 && verdict->confidence <= 1 && verdict->headline[0] != '\0');
    CHECK(verdict->location.function != NULL && verdict->culprit_function != NULL);
    CHECK(verdict->interval_begin_ns <= verdict->interval_end_ns && verdict->stack <= stall->callstack_count);
    CHECK(verdict->on_cpu_ms >= 0 && verdict->off_cpu_ms >= 0);
    struct sbx_hot hot[16];
    for (uint32_t thread = 0; thread < stall->thread_count && thread < 4; thread++) {
        size_t count = sbx_report_hot(report, thread, hot, 16);
        for (size_t i = 0; i < count; i++) {
            CHECK(hot[i].ms_min >= 0 && hot[i].ms_min <= hot[i].ms_max + 1e-6);
        }
    }
    CHECK(sbx_print_json(report, nowhere) == 0 && sbx_print_text(report, nowhere, true) == 0);
    CHECK(sbx_print_first_screen(report, nowhere, true) == 0);
    sbx_report_destroy(report);
}

static void decode(const uint8_t *envelope, size_t bytes)
{
    struct sbx_stall *stall = NULL;
    char why[128] = "";
    int result = sbx_stall_decode(envelope, bytes, &stall, why, sizeof why);
    if (result != 0) {
        CHECK(stall == NULL && why[0] != '\0');
        return;
    }
    if (sbx_stall_is_end(stall)) {
        check_end(stall);
    } else {
        complete(stall);
        check_promises(stall);
        use(stall);
    }
    sbx_stall_destroy(stall);
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Copy the payload id of the body, so that the envelope can have the same: field 2, 16 bytes. */
static void copy_id(const uint8_t *body, size_t bytes, uint8_t *id_out)
{
    for (size_t i = 0; i + 18 <= bytes; i++) {
        if (body[i] == 0x12 && body[i + 1] == 16) {
            memcpy(id_out, body + i + 2, 16);
            return;
        }
    }
}

static void decode_as_body(const uint8_t *body, size_t bytes)
{
    size_t room = ZSTD_compressBound(bytes);
    uint8_t *envelope = calloc(1, SBX_ENVELOPE_HEADER_BYTES + room);
    CHECK(envelope != NULL);
    size_t compressed = ZSTD_compress(envelope + SBX_ENVELOPE_HEADER_BYTES, room, body, bytes, 1);
    CHECK(!ZSTD_isError(compressed));
    memcpy(envelope, SBX_ENVELOPE_MAGIC, 4);
    envelope[4] = SBX_ENVELOPE_VERSION;
    copy_id(body, bytes, envelope + 16);
    put_u32(envelope + 32, (uint32_t)compressed);
    uint32_t crc = sbx_stall_crc32c(0, envelope, 36);
    put_u32(envelope + 36, sbx_stall_crc32c(crc, envelope + SBX_ENVELOPE_HEADER_BYTES, compressed));
    decode(envelope, SBX_ENVELOPE_HEADER_BYTES + compressed);
    free(envelope);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    decode(data, bytes);
    decode_as_body(data, bytes);
    return 0;
}
