/* SPDX-License-Identifier: Apache-2.0 */
/* merged_folded.c - a merged profile as lines of stacks, and as a document for speedscope, which has the same content
 * in JSON. */
#include "merged_printers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clean_text.h"
#include "text_table.h"

static int end_of(FILE *out)
{
    return fflush(out) != 0 ? -errno : ferror(out) ? -EIO : 0;
}

static long long own_us(const struct sbx_merged_profile *profile, uint32_t node)
{
    double us = profile->nodes[node].self_us[SBX_MERGED_HERE];
    return us < 9e18 ? (long long)us : INT64_MAX;
}

/* The nodes from the root's child to `node`. Returns their number. */
static uint32_t chain_of(const struct sbx_merged_profile *profile, uint32_t node, uint32_t chain[SBX_MERGED_DEPTH_MAX])
{
    uint32_t depth = profile->nodes[node].depth;
    for (uint32_t at = node, i = depth; i > 0; at = profile->nodes[at].parent) {
        chain[--i] = at;
    }
    return depth;
}

/* ---- folded ---- */

/* Frames are separated by semicolons, so a name has none. */
static void put_frame(const char *name, bool is_first, FILE *out)
{
    char clean[SBX_CLEAN_TEXT_BYTES];
    sbx_clean_text(name, clean, sizeof clean);
    for (char *at = clean; *at != '\0'; at++) {
        *at = *at == ';' ? ',' : *at;
    }
    fprintf(out, "%s%s", is_first ? "" : ";", clean);
}

int sbx_print_merged_folded(const struct sbx_merged_profile *profile, FILE *out)
{
    uint32_t chain[SBX_MERGED_DEPTH_MAX];
    for (uint32_t node = profile->nodes[0].first_child; node != 0;
         node = sbx_merged_profile_next(profile, 0, node, true)) {
        uint32_t depth = own_us(profile, node) > 0 ? chain_of(profile, node, chain) : 0;
        for (uint32_t i = 0; i < depth; i++) {
            put_frame(profile->nodes[chain[i]].name, i == 0, out);
        }
        if (depth > 0) {
            fprintf(out, " %lld\n", own_us(profile, node));
        }
    }
    if (own_us(profile, 0) > 0) {
        fprintf(out, "[no stack is known] %lld\n", own_us(profile, 0));
    }
    return end_of(out);
}

/* ---- speedscope ---- */

static void put_json(const char *text, FILE *out)
{
    char clean[SBX_CLEAN_TEXT_BYTES]; /* no control characters, valid UTF-8 */
    sbx_clean_text(text, clean, sizeof clean);
    fputc('"', out);
    for (const char *at = clean; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            fputc('\\', out);
        }
        fputc(*at, out);
    }
    fputc('"', out);
}

/* The number (from 0) of each node's function among the frames, which are written here. Returns 0 or -ENOMEM. */
static int put_frames(const struct sbx_merged_profile *profile, uint32_t *frame_of, FILE *out)
{
    struct sbx_text_table names;
    bool is_new = false, has_failed = false;
    sbx_text_table_init(&names);
    for (uint32_t node = 1; node < profile->count && !has_failed; node++) {
        uint32_t number = sbx_text_table_number(&names, profile->nodes[node].name, 0, 0, &is_new);
        has_failed = number == 0;
        frame_of[node] = number - 1;
        if (is_new) {
            fputs(number > 1 ? ",\n{\"name\":" : "{\"name\":", out);
            put_json(profile->nodes[node].name, out);
            fputc('}', out);
        }
    }
    sbx_text_table_finish(&names);
    return has_failed ? -ENOMEM : 0;
}

static void put_samples(const struct sbx_merged_profile *profile, const uint32_t *frame_of, bool weights, FILE *out)
{
    uint32_t chain[SBX_MERGED_DEPTH_MAX];
    bool is_first = true;
    for (uint32_t node = profile->nodes[0].first_child; node != 0;
         node = sbx_merged_profile_next(profile, 0, node, true)) {
        if (own_us(profile, node) <= 0) {
            continue;
        }
        fputs(is_first ? "" : ",", out);
        is_first = false;
        if (weights) {
            fprintf(out, "%lld", own_us(profile, node));
            continue;
        }
        uint32_t depth = chain_of(profile, node, chain);
        for (uint32_t i = 0; i < depth; i++) {
            fprintf(out, "%s%u", i == 0 ? "[" : ",", frame_of[chain[i]]);
        }
        fputs("]\n", out);
    }
}

int sbx_print_merged_speedscope(const struct sbx_merged_profile *profile, const char *name, FILE *out)
{
    uint32_t *frame_of = calloc(profile->count, sizeof *frame_of);
    if (frame_of == NULL) {
        return -ENOMEM;
    }
    double end_us = profile->nodes[0].total_us[SBX_MERGED_HERE] - profile->nodes[0].self_us[SBX_MERGED_HERE];
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"stallbox\",\"name\":",
          out);
    put_json(name, out);
    fputs(",\"activeProfileIndex\":0,\"shared\":{\"frames\":[", out);
    int result = put_frames(profile, frame_of, out);
    fputs("]},\"profiles\":[{\"type\":\"sampled\",\"unit\":\"microseconds\",\"startValue\":0,\"name\":", out);
    put_json(name, out);
    fprintf(out, ",\"endValue\":%.0f,\"samples\":[", end_us);
    put_samples(profile, frame_of, false, out);
    fputs("],\"weights\":[", out);
    put_samples(profile, frame_of, true, out);
    fputs("]}]}\n", out);
    free(frame_of);
    return result < 0 ? result : end_of(out);
}
