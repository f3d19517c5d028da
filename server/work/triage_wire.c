/* SPDX-License-Identifier: Apache-2.0 */
/* triage_wire.c - numbers, and texts with their length in front and a zero behind. */
#include "triage_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    GAPS_MAX = 1 << 16, /* a payload has fewer modules */
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
    const char *const texts[] = {row->app, row->cause, row->class_, row->function, row->module, row->headline};
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
}

struct reading {
    const char *at, *end;
    bool is_bad; /* sticky; what is read then is zero */
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

int sbx_verdict_unpack(const char *bytes, size_t count, struct sbx_verdict_row *row_out, struct sbx_gap_row **gaps_out)
{
    struct reading reading = {.at = bytes, .end = bytes + count};
    const char **const texts[] = {&row_out->app,      &row_out->cause,  &row_out->class_,
                                  &row_out->function, &row_out->module, &row_out->headline};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = take_text(&reading);
    uint64_t confidence = take_number(&reading);
    memcpy(&row_out->confidence, &confidence, sizeof(confidence));
    uint64_t gap_count = take_number(&reading);
    if (reading.is_bad || gap_count > GAPS_MAX || !(row_out->confidence >= 0 && row_out->confidence <= 1))
        return -EPROTO;
    struct sbx_gap_row *gaps = calloc(gap_count + 1, sizeof(*gaps));
    if (!gaps)
        return -ENOMEM;
    for (size_t i = 0; i < gap_count && !reading.is_bad; i++) {
        gaps[i].build_id_bytes = take_number(&reading);
        gaps[i].build_id = (const uint8_t *)take(&reading, gaps[i].build_id_bytes);
        gaps[i].name = take_text(&reading);
        gaps[i].is_runtime = take_number(&reading) != 0;
        gaps[i].unnamed = (uint32_t)take_number(&reading);
        reading.is_bad |= gaps[i].build_id_bytes > BUILD_ID_BYTES_MAX;
    }
    if (reading.is_bad || reading.at != reading.end) {
        free(gaps);
        return -EPROTO;
    }
    row_out->gaps = gaps;
    row_out->gap_count = gap_count;
    *gaps_out = gaps;
    return 0;
}
