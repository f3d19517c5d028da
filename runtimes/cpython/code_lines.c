/* SPDX-License-Identifier: Apache-2.0 */
/* code_lines.c - the three line table formats. In each, an entry says how many bytes of code it covers and by how much
 * the line changes. */
#include "code_lines.h"

#include <stdbool.h>

struct reader {
    const uint8_t *at, *end;
};

static uint32_t positive(int64_t line)
{
    return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of bytes: instruction bytes (unsigned), change of line (signed). The change applies after the pair's
 * instruction bytes. */
static uint32_t find_in_lnotab(struct reader table, int64_t line, int64_t offset)
{
    int64_t at = 0;
    for (; table.end - table.at >= 2; table.at += 2) {
        at += table.at[0];
        if (at > offset) {
            break;
        }
        line += (int8_t)table.at[1];
    }
    return positive(line);
}

/* Pairs: instruction bytes, and the change of line from the pair before. -128: these instructions have no line. */
static uint32_t find_in_lines(struct reader table, int64_t line, int64_t offset)
{
    enum {
        NO_LINE = -128
    };
    int64_t at = 0;
    for (; table.end - table.at >= 2; table.at += 2) {
        int8_t delta = (int8_t)table.at[1];
        line += delta == NO_LINE ? 0 : delta;
        at += table.at[0];
        if (offset < at) {
            return delta == NO_LINE ? 0 : positive(line);
        }
    }
    return 0;
}

/* A number with six bits in each byte, the lowest bits first. Bit 6: more bytes follow. */
static uint64_t read_varint(struct reader *table)
{
    uint64_t value = 0;
    for (unsigned shift = 0; table->at < table->end; shift += 6) {
        uint8_t byte = *table->at++;
        value |= shift < 60 ? (uint64_t)(byte & 63) << shift : 0;
        if ((byte & 64) == 0) {
            break;
        }
    }
    return value;
}

static int64_t read_signed_varint(struct reader *table)
{
    uint64_t value = read_varint(table);
    return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Entries. The first byte has bit 7 set, four bits of kind, and three bits for the length - 1 in units of two bytes.
 * The kind says which bytes follow. */
static uint32_t find_in_locations(struct reader table, int64_t line, int64_t offset)
{
    enum {
        ONE_LINE_0 = 10,
        ONE_LINE_2 = 12,
        NO_COLUMNS = 13,
        LONG = 14,
        NO_LOCATION = 15,
        LINE_MAX = 1 << 30
    };
    int64_t at = 0;
    while (table.at < table.end) {
        uint8_t head = *table.at++;
        unsigned kind = head >> 3 & 15;
        if (kind == LONG || kind == NO_COLUMNS) {
            line += read_signed_varint(&table);
        } else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2) {
            line += kind - ONE_LINE_0;
        }
        if (line < -LINE_MAX || line > LINE_MAX) {
            return 0;
        }
        at += ((head & 7) + 1) * 2;
        if (offset < at) {
            return kind == NO_LOCATION ? 0 : positive(line);
        }
        while (table.at < table.end && (*table.at & 128) == 0) { /* skip to the next entry */
            table.at++;
        }
    }
    return 0;
}

uint32_t cpython_line_of(enum cpython_line_table kind, const uint8_t *table, size_t bytes, uint32_t first_line,
                         int64_t offset)
{
    struct reader reader = {table, table + bytes};
    if (offset < 0) {
        return first_line;
    }
    switch (kind) {
    case CPYTHON_LNOTAB:
        return find_in_lnotab(reader, first_line, offset);
    case CPYTHON_LINES:
        return find_in_lines(reader, first_line, offset);
    case CPYTHON_LOCATIONS:
    default:
        return find_in_locations(reader, first_line, offset);
    }
}
