/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a .debug_line section: its rows and its files. The first byte says where the program begins. */
#include <stdint.h>
#include <stdlib.h>

#include "dwarf_file_names.h"
#include "dwarf_lines.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_line_spans spans;
    if (bytes == 0) {
        return 0;
    }
    /* Texts that are referred to by offset are in the same bytes. */
    const struct sbx_dwarf_section all = {data + 1, bytes - 1};
    const struct sbx_dwarf_sections sections = {.line = all, .str = all, .line_str = all, .str_offsets = all};
    struct sbx_dwarf_budget budget = {1 << 20};
    struct sbx_dwarf_file_names names;
    MUST(sbx_dwarf_lines_read(&all, data[0], 0x1000, UINT64_MAX, &budget, &spans) == 0);
    for (size_t i = 0; i < spans.count; i++) {
        MUST(spans.spans[i].begin < spans.spans[i].end);
        MUST(i == 0 || spans.spans[i - 1].end <= spans.spans[i].begin);
    }
    sbx_line_spans_finish(&spans);
    struct sbx_places *places = sbx_places_create();
    MUST(places != NULL && sbx_dwarf_file_names_read(&sections, data[0], "folder", 8, &budget, &names) == 0);
    for (size_t i = 0; i < names.file_count + 2; i++) {
        uint32_t text = sbx_dwarf_file_names_text(&names, i, places);
        MUST(text == sbx_dwarf_file_names_text(&names, i, places));
        MUST((text == 0) == (sbx_places_text(places, text)[0] == '\0'));
    }
    sbx_dwarf_file_names_finish(&names);
    sbx_places_destroy(places);
    return 0;
}
