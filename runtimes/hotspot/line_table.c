/* SPDX-License-Identifier: Apache-2.0 */
/* line_table.c - the line of a bytecode. Each pair is a difference from the one before. It is a byte with 5 bits of
 * bytecodes and 3 bits of lines, or 255 and two signed numbers. 0 ends the table. The pairs may be in any order, so all
 * of them are read. */
#include "line_table.h"

#include "packed_numbers.h"

enum {
    ESCAPE = 0xff,
    PAIRS_MAX = 1 << 16, /* the most bytecodes of a method */
    LINE_MAX_KNOWN = 0xffff
};

SBX_SIGNAL_SAFE uint32_t sbx_line_of(struct sbx_vm_bytes table, uint32_t excess, int32_t bci)
{
    struct sbx_packed_numbers numbers = {.bytes = table, .excess = excess};
    uint32_t at = 0, line = 0, best_at = 0, best = 0;
    for (uint32_t i = 0; i < PAIRS_MAX; i++) {
        int byte = sbx_vm_next_byte(&numbers.bytes);
        if (byte <= 0) {
            break;
        }
        if (byte == ESCAPE) {
            at += (uint32_t)sbx_packed_next_signed(&numbers);
            line += (uint32_t)sbx_packed_next_signed(&numbers);
            if (numbers.is_damaged) {
                break;
            }
        } else {
            at += (uint32_t)byte >> 3;
            line += byte & 7;
        }
        if (at <= (uint32_t)bci && at >= best_at && (int32_t)at >= 0) {
            if (at == (uint32_t)bci) { /* the first pair of a bytecode is used */
                best = line;
                break;
            }
            best_at = at;
            best = line;
        }
    }
    return bci < 0 || best > LINE_MAX_KNOWN ? 0 : best;
}
