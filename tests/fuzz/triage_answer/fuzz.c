/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - answers of a triage worker that was taken over, in place of a verdict.
 *
 * Property: an accepted verdict has texts that end inside of the answer, a valid confidence, and times and build-ids
 * within their bounds; packed again it is the same verdict. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "triage_wire.h"

static void must_be_inside(const char *text, const char *bytes, size_t count)
{
    MUST(text >= bytes && text < bytes + count && strnlen(text, count) < (size_t)(bytes + count - text));
}

static void must_be_sound(const struct sbx_verdict_row *row, const char *bytes, size_t count)
{
    const char *const texts[] = {row->app,    row->cause,    row->class_, row->function,
                                 row->module, row->headline, row->path};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        must_be_inside(texts[i], bytes, count);
    MUST(row->confidence >= 0 && row->confidence <= 1);
    must_be_inside((const char *)row->key, bytes, count);
    for (size_t i = 0; i < row->gap_count; i++) {
        MUST(row->gaps[i].build_id_bytes <= 32);
        must_be_inside(row->gaps[i].name, bytes, count);
    }
    for (size_t i = 0; i < row->said_count; i++) {
        MUST(row->said[i].us >= 0);
        must_be_inside(row->said[i].word, bytes, count);
    }
    must_be_inside(row->profile, bytes, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_verdict_row row, again;
    struct sbx_verdict_parts parts, other;
    struct sbx_byte_buffer packed = {0};
    if (sbx_verdict_unpack((const char *)data, size, &row, &parts) != 0)
        return 0;
    must_be_sound(&row, (const char *)data, size);
    sbx_verdict_pack(&row, &packed);
    MUST(!packed.failed && sbx_verdict_unpack(packed.data, packed.used, &again, &other) == 0);
    MUST(strcmp(row.headline, again.headline) == 0 && row.gap_count == again.gap_count &&
         row.said_count == again.said_count && memcmp(row.key, again.key, SBX_ID_BYTES) == 0 &&
         strcmp(row.profile, again.profile) == 0);
    sbx_verdict_parts_free(&other);
    sbx_verdict_parts_free(&parts);
    sbx_byte_buffer_finish(&packed);
    return 0;
}
