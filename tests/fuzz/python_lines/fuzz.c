/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - line tables of Python's code objects, which are read in a signal handler.
 *
 * Properties: nothing is read beyond the table (its bytes end at an unreadable page), and neighbours in one unit of
 * code have the same line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "code_lines.h"
#include "fuzz_target.h"

enum {
    MOST = 1 << 16,
    PAGE = 4096
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t *pages;
    if (pages == NULL) {
        pages = mmap(NULL, MOST + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + MOST, PAGE, PROT_NONE) != 0) {
            abort();
        }
    }
    if (bytes < 3 || bytes - 3 > MOST) {
        return 0;
    }
    enum cpython_line_table kind = (enum cpython_line_table)(data[0] % 3);
    int64_t offset = data[1] | data[2] << 8;
    uint8_t *table = pages + MOST - (bytes - 3);
    memcpy(table, data + 3, bytes - 3);
    uint32_t line = cpython_line_of(kind, table, bytes - 3, 10, offset);
    if (kind == CPYTHON_LOCATIONS && cpython_line_of(kind, table, bytes - 3, 10, offset ^ 1) != line) {
        abort();
    }
    if (cpython_line_of(kind, table, bytes - 3, 10, -1) != 10) {
        abort();
    }
    return 0;
}
