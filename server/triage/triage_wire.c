/* SPDX-License-Identifier: Apache-2.0 */
/* triage_wire.c - numbers, and texts with their length before them and a zero behind them. */
#include "triage_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stall_profile.h"

#define SAID_US_MAX INT64_C(1000000000000000) /* some thirty years, so that sums do not overflow */

enum {
    GAPS_MAX = 1 << 16, /* more than the modules of any payload */
    SAID_MAX = 1024,
    BUILD_ID_BYTES_MAX = 32
};

static void put_number(struct sbx_byte_buffer *out, uint64_t number)
{
    sbx_byte_buffer_append(out, &number, sizeof(number));
}

static void put_text(struct sbx_byte_buffer *out, const char *text)
{
    size_t bytes = strlen(text);
    put_number(out, bytes);
    sbx_byte_buffer_append(out, text, bytes + 1);
}

void sbx_verdict_pack(const struct sbx_verdict_row *row, struct sbx_byte_buffer *out)
{
    const char *const texts[] = {
        row->app, row->cause, row->class_, row->function, row->module, row->headline, row->path ? row->path : ""};
    uint64_t confidence;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        put_text(out, texts[i]);
    memcpy(&confidence, &row->confidence, sizeof(confidence));
    put_number(out, confidence);
    put_number(out, row->gap_count);
    for (size_t i = 0; i < row->gap_count; i++) {
        const struct sbx_gap_row *gap = &row->gaps[i];
        put_number(out, gap->build_id_bytes);
        sbx_byte_buffer_append(out, gap->build_id, gap->build_id_bytes);
        put_text(out, gap->name);
        put_number(out, gap->is_runtime);
        put_number(out, gap->unnamed);
    }
    sbx_byte_buffer_append(out, row->key, SBX_ID_BYTES);
    put_number(out, row->rules);
    put_number(out, row->tenant);
    put_number(out, row->said_count);
    for (size_t i = 0; i < row->said_count; i++) {
        put_number(out, (uint64_t)row->said[i].kind);
        put_text(out, row->said[i].word);
        put_number(out, (uint64_t)row->said[i].us);
    }
    put_text(out, row->profile ? row->profile : "");
}

struct reading {
    const char *at, *end;
    bool is_bad; /* sticky; reads return zero from then on */
};

static const char *take(struct reading *reading, uint64_t bytes)
{
    if (reading->is_bad || bytes > (uint64_t)(reading->end - reading->at)) {
        reading->is_bad = true;
        return NULL;
    }
    const char *taken = reading->at;
    reading->at += bytes;
    return taken;
}

static uint64_t take_number(struct reading *reading)
{
    uint64_t number = 0;
    const char *bytes = take(reading, sizeof(number));
    if (bytes)
        memcpy(&number, bytes, sizeof(number));
    return number;
}

static const char *take_text(struct reading *reading)
{
    uint64_t bytes = take_number(reading);
    const char *text = bytes < SBX_ANSWER_BYTES_MAX ? take(reading, bytes + 1) : NULL;
    if (!text || text[bytes] != '\0' || strlen(text) != bytes) {
        reading->is_bad = true;
        return "";
    }
    return text;
}

static int take_gaps(struct reading *reading, struct sbx_verdict_row *row, struct sbx_gap_row **gaps_out)
{
    uint64_t count = take_number(reading);
    if (reading->is_bad || count > GAPS_MAX)
        return -EPROTO;
    struct sbx_gap_row *gaps = calloc(count + 1, sizeof(*gaps));
    if (!gaps)
        return -ENOMEM;
    row->gaps = *gaps_out = gaps;
    row->gap_count = count;
    for (size_t i = 0; i < count && !reading->is_bad; i++) {
        gaps[i].build_id_bytes = take_number(reading);
        gaps[i].build_id = (const uint8_t *)take(reading, gaps[i].build_id_bytes);
        gaps[i].name = take_text(reading);
        gaps[i].is_runtime = take_number(reading) != 0;
        gaps[i].unnamed = (uint32_t)take_number(reading);
        reading->is_bad |= gaps[i].build_id_bytes > BUILD_ID_BYTES_MAX;
    }
    return reading->is_bad ? -EPROTO : 0;
}

static int take_said(struct reading *reading, struct sbx_verdict_row *row, struct sbx_said_row **said_out)
{
    uint64_t count = take_number(reading);
    if (reading->is_bad || count > SAID_MAX)
        return -EPROTO;
    struct sbx_said_row *said = calloc(count + 1, sizeof(*said));
    if (!said)
        return -ENOMEM;
    row->said = *said_out = said;
    row->said_count = count;
    for (size_t i = 0; i < count && !reading->is_bad; i++) {
        said[i].kind = (int)(take_number(reading) & 0xff);
        said[i].word = take_text(reading);
        said[i].us = (int64_t)take_number(reading);
        reading->is_bad |= said[i].us < 0 || said[i].us > SAID_US_MAX;
    }
    return reading->is_bad ? -EPROTO : 0;
}

int sbx_verdict_unpack(const char *bytes, size_t count, struct sbx_verdict_row *row_out,
                       struct sbx_verdict_parts *parts_out)
{
    struct reading reading = {.at = bytes, .end = bytes + count};
    const char **const texts[] = {&row_out->app,    &row_out->cause,    &row_out->class_, &row_out->function,
                                  &row_out->module, &row_out->headline, &row_out->path};
    *parts_out = (struct sbx_verdict_parts){NULL, NULL};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = take_text(&reading);
    uint64_t confidence = take_number(&reading);
    memcpy(&row_out->confidence, &confidence, sizeof(confidence));
    if (reading.is_bad || !(row_out->confidence >= 0 && row_out->confidence <= 1))
        return -EPROTO;
    int result = take_gaps(&reading, row_out, &parts_out->gaps);
    if (result == 0) {
        row_out->key = (const uint8_t *)take(&reading, SBX_ID_BYTES);
        row_out->rules = (uint32_t)take_number(&reading);
        row_out->tenant = take_number(&reading) & INT64_MAX;
        result = take_said(&reading, row_out, &parts_out->said);
    }
    if (result == 0) {
        row_out->profile = take_text(&reading);
        if (reading.is_bad || strlen(row_out->profile) > SBX_STALL_PROFILE_BYTES)
            result = -EPROTO;
    }
    if (result == 0 && reading.at != reading.end)
        result = -EPROTO;
    if (result < 0)
        sbx_verdict_parts_free(parts_out);
    return result;
}

void sbx_verdict_parts_free(struct sbx_verdict_parts *parts)
{
    free(parts->gaps);
    free(parts->said);
    *parts = (struct sbx_verdict_parts){NULL, NULL};
}
