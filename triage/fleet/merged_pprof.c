/* SPDX-License-Identifier: Apache-2.0 */
/* merged_pprof.c - a merged profile as profile.proto, gzip: what pprof, Parca and Pyroscope read.
 *
 * Functions have names, but no files or addresses, because they come from many builds. A location is a function. */
#include "merged_printers.h"

#include <errno.h>
#include <string.h>

#include "gzip_stream.h"
#include "proto_writer.h"
#include "text_table.h"
#include "thread_spans.h"

enum { /* field numbers of profile.proto */
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_TYPE = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
};

struct writing {
    const struct sbx_merged_profile *profile;
    struct sbx_proto_writer out;
    struct sbx_text_table strings, functions; /* number i is string i - 1 */
    bool has_failed;
};

static uint64_t string_of(struct writing *writing, const char *text)
{
    bool is_new;
    uint32_t number = sbx_text_table_number(&writing->strings, text, 0, 0, &is_new);
    writing->has_failed |= number == 0;
    return number == 0 ? 0 : number - 1;
}

static void put_type(struct writing *writing, const char *type, const char *unit)
{
    uint64_t type_string = string_of(writing, type), unit_string = string_of(writing, unit);
    size_t mark = sbx_proto_message_begin(&writing->out, PROFILE_SAMPLE_TYPE);
    sbx_proto_put_varint(&writing->out, TYPE_TYPE, type_string);
    sbx_proto_put_varint(&writing->out, TYPE_UNIT, unit_string);
    sbx_proto_message_end(&writing->out, mark);
}

/* Write a function, and the location that stands for it. */
static uint32_t function_of(struct writing *writing, const char *name)
{
    bool is_new = false;
    uint32_t id = sbx_text_table_number(&writing->functions, name, 0, 0, &is_new);
    writing->has_failed |= id == 0;
    if (is_new) {
        uint64_t string = string_of(writing, name);
        size_t mark = sbx_proto_message_begin(&writing->out, PROFILE_FUNCTION);
        sbx_proto_put_varint(&writing->out, FUNCTION_ID, id);
        sbx_proto_put_varint(&writing->out, FUNCTION_NAME, string);
        sbx_proto_message_end(&writing->out, mark);
        mark = sbx_proto_message_begin(&writing->out, PROFILE_LOCATION);
        sbx_proto_put_varint(&writing->out, LOCATION_ID, id);
        size_t line = sbx_proto_message_begin(&writing->out, LOCATION_LINE);
        sbx_proto_put_varint(&writing->out, LINE_FUNCTION, id);
        sbx_proto_message_end(&writing->out, line);
        sbx_proto_message_end(&writing->out, mark);
    }
    return id;
}

/* The node's own time: on the CPU, and all other known time. */
static void own_times(const struct sbx_merged_profile *profile, uint32_t node, uint64_t *on_out, uint64_t *off_out)
{
    const struct sbx_merged_node *self = &profile->nodes[node];
    double on = self->by_state_us[SBX_SPAN_ON_CPU], off = self->self_us[SBX_MERGED_HERE];
    for (uint32_t child = self->first_child; child != 0; child = profile->nodes[child].next_sibling) {
        on -= profile->nodes[child].by_state_us[SBX_SPAN_ON_CPU];
    }
    on = on > 0 ? on : 0;
    off = off > on ? off - on : 0;
    *on_out = on < 9e18 ? (uint64_t)(on + 0.5) : 0;
    *off_out = off < 9e18 ? (uint64_t)(off + 0.5) : 0;
}

static void put_sample(struct writing *writing, uint32_t node)
{
    const struct sbx_merged_node *nodes = writing->profile->nodes;
    uint32_t ids[SBX_MERGED_DEPTH_MAX], count = 0;
    uint64_t on, off;
    own_times(writing->profile, node, &on, &off);
    if (on + off == 0) {
        return;
    }
    for (uint32_t at = node; at != 0; at = nodes[at].parent) { /* leaf first, as the format wants it */
        ids[count++] = function_of(writing, nodes[at].name);
    }
    size_t mark = sbx_proto_message_begin(&writing->out, PROFILE_SAMPLE);
    size_t packed = sbx_proto_message_begin(&writing->out, SAMPLE_LOCATION);
    for (uint32_t i = 0; i < count; i++) {
        sbx_proto_put_packed(&writing->out, ids[i]);
    }
    sbx_proto_message_end(&writing->out, packed);
    packed = sbx_proto_message_begin(&writing->out, SAMPLE_VALUE);
    sbx_proto_put_packed(&writing->out, nodes[node].stalls[SBX_MERGED_HERE]);
    sbx_proto_put_packed(&writing->out, on);
    sbx_proto_put_packed(&writing->out, off);
    sbx_proto_message_end(&writing->out, packed);
    sbx_proto_message_end(&writing->out, mark);
}

int sbx_print_merged_pprof(const struct sbx_merged_profile *profile, const char *comment, FILE *out)
{
    struct writing writing = {.profile = profile};
    sbx_proto_writer_init(&writing.out);
    sbx_text_table_init(&writing.strings);
    sbx_text_table_init(&writing.functions);
    string_of(&writing, ""); /* index 0 must be the empty string */
    put_type(&writing, "stalls", "count");
    put_type(&writing, "on_cpu", "microseconds");
    put_type(&writing, "off_cpu", "microseconds");
    for (uint32_t node = profile->nodes[0].first_child; node != 0;
         node = sbx_merged_profile_next(profile, 0, node, true)) {
        put_sample(&writing, node);
    }
    sbx_proto_put_varint(&writing.out, PROFILE_COMMENT, string_of(&writing, comment));
    sbx_proto_put_varint(&writing.out, PROFILE_DEFAULT_TYPE, string_of(&writing, "off_cpu"));
    for (uint32_t i = 0; i < writing.strings.count; i++) {
        sbx_proto_put_text(&writing.out, PROFILE_STRING, writing.strings.entries[i].text);
    }
    int result =
        writing.has_failed || writing.out.failed ? -ENOMEM : sbx_gzip_write(writing.out.bytes, writing.out.count, out);
    sbx_proto_writer_finish(&writing.out);
    sbx_text_table_finish(&writing.strings);
    sbx_text_table_finish(&writing.functions);
    return result == 0 && fflush(out) != 0 ? -errno : result;
}
