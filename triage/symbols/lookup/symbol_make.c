/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_make.c - reads the symbol files of one build-id completely, and writes an image of them. */
#include "symbol_make.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "symbol_file.h"

static const char *const no_memory = "it takes more memory than there is for it";

/* The best source of the names of any code. */
static enum sbx_symbol_source best_source(const struct sbx_places *places, const struct sbx_spans *spans)
{
    uint8_t best = SBX_SYMBOLS_SOURCES;
    for (size_t i = 0; i < spans->count; i++) {
        struct sbx_place place = sbx_places_get(places, spans->spans[i].place);
        uint8_t source = sbx_places_function(places, place.function).source;
        best = source != SBX_SYMBOLS_NONE && source < best ? source : best;
    }
    return best == SBX_SYMBOLS_SOURCES ? SBX_SYMBOLS_NONE : (enum sbx_symbol_source)best;
}

int sbx_symbol_make(const struct sbx_making *making, struct sbx_image_facts *facts_out, char *why, size_t why_bytes)
{
    struct sbx_image_facts facts = {.build_id_bytes = (uint32_t)making->build_id_bytes, .made_s = making->now_s};
    struct sbx_spans spans = {0};
    memcpy(facts.build_id, making->build_id, making->build_id_bytes);
    snprintf(facts.name, sizeof facts.name, "%s", making->name);
    struct sbx_symbol_file *file = sbx_symbol_file_open_descriptors(
        making->descriptors, making->descriptor_count, making->alternate, making->build_id, making->build_id_bytes);
    if (file == NULL) {
        bool lacks_memory = errno == ENOMEM;
        for (size_t i = 0; i < making->part_count; i++) {
            close(making->parts[i]);
        }
        snprintf(why, why_bytes, "%s", lacks_memory ? no_memory : "no ELF or Mach-O file with this build-id");
        return lacks_memory ? -ENOMEM : -EBADMSG;
    }
    facts.machine = sbx_symbol_file_machine(file);
    facts.kind = sbx_symbol_file_kind(file);
    facts.base = sbx_symbol_file_base(file);
    if (making->part_count > 0) {
        sbx_symbol_file_use_parts(file, making->parts, making->part_count);
    }
    int result = sbx_symbol_file_read_all(file, &spans, making->progress, making->context);
    const char *trouble = sbx_symbol_file_trouble(file);
    snprintf(why, why_bytes, "%s", trouble == NULL ? "" : trouble);
    if (result == 0) {
        facts.best = best_source(sbx_symbol_file_places(file), &spans);
        result = facts.best == SBX_SYMBOLS_NONE ? -ENODATA : 0;
    }
    if (result == 0) {
        result = sbx_symbol_image_write(making->out, &facts, sbx_symbol_file_places(file), spans.spans, spans.count);
    }
    if (result != 0 && (result != -ENODATA || trouble == NULL)) {
        snprintf(why, why_bytes, "%s",
                 result == -ENODATA  ? "it names no code: neither debug information nor symbols"
                 : result == -EFBIG  ? "it names more than 4 GiB of code"
                 : result == -ENOMEM ? no_memory
                 : result == -E2BIG  ? "its debug information leads to more work than its size explains"
                                     : strerror(-result));
    }
    sbx_spans_finish(&spans);
    sbx_symbol_file_close(file);
    *facts_out = facts;
    return result;
}
