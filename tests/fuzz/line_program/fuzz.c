/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a .debug_line section, whose first byte says where the program begins. */
#include <stdint.h>
#include <stdlib.h>

#include "dwarf_lines.h"

#define MUST(condition)   \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_line_spans spans;
    if (bytes == 0) {
        return 0;
    }
    MUST(sbx_dwarf_lines_read(data + 1, bytes - 1, data[0], 0x1000, UINT64_MAX, &spans) == 0);
    for (size_t i = 0; i < spans.count; i++) {
        MUST(spans.spans[i].begin < spans.spans[i].end);
        MUST(i == 0 || spans.spans[i - 1].end <= spans.spans[i].begin);
    }
    sbx_line_spans_finish(&spans);
    return 0;
}
