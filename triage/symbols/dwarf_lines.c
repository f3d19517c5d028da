/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_lines.c - the line program of a unit (DWARF 2 to 5), run.
 *
 * Only what leads to rows is read of the header: where the program begins stands in it, and the tables of folders and
 * files before it are libdw's to read. Files may be damaged or made to do harm: each opcode takes a byte at least, and
 * the rows of a program have a limit. */
#include "dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "range_sweep.h"

enum {
    ROWS_MAX = 1 << 24 /* of one program */
};

/* Bytes to be read, front to back. Past the end everything is 0 and `ended` is set. */
struct bytes {
    const uint8_t *at, *end;
    bool ended;
};

struct row {
    uint64_t address;
    uint32_t file, line;
};

/* Rows up to an end_sequence. */
struct sequence {
    uint64_t end; /* address behind its last row */
    size_t first, count;
};

struct program {
    struct bytes bytes;
    unsigned address_bytes;
    uint8_t min_instruction_bytes, max_operations, line_range, opcode_base;
    int8_t line_base;
    const uint8_t *opcode_lengths; /* of standard opcode i at [i - 1] */
    struct row *rows;
    size_t row_count, row_room;
    struct sequence *sequences;
    size_t sequence_count, sequence_room;
    uint64_t text_begin, text_end;
};

/* ---- reading ---- */

static uint64_t read_fixed(struct bytes *bytes, unsigned size)
{
    uint64_t value = 0;
    if (size > 8 || (size_t)(bytes->end - bytes->at) < size) {
        bytes->ended = true;
        bytes->at = bytes->end;
        return 0;
    }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    memcpy((uint8_t *)&value + sizeof value - size, bytes->at, size);
#else
    memcpy(&value, bytes->at, size);
#endif
    bytes->at += size;
    return value;
}

static uint64_t read_leb(struct bytes *bytes, bool is_signed)
{
    uint64_t value = 0;
    for (unsigned shift = 0; bytes->at < bytes->end; shift += 7) {
        uint8_t byte = *bytes->at++;
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        if ((byte & 0x80) == 0) {
            if (is_signed && shift + 7 < 64 && (byte & 0x40) != 0) {
                value |= ~UINT64_C(0) << (shift + 7);
            }
            return value;
        }
    }
    bytes->ended = true;
    return 0;
}

static void skip(struct bytes *bytes, uint64_t count)
{
    if (count > (uint64_t)(bytes->end - bytes->at)) {
        bytes->ended = true;
        count = (uint64_t)(bytes->end - bytes->at);
    }
    bytes->at += count;
}

/* Read the header; afterwards `bytes` is the program. Returns false when it cannot be one. */
static bool read_header(struct program *program)
{
    struct bytes *bytes = &program->bytes;
    unsigned offset_bytes = 4;
    uint64_t length = read_fixed(bytes, 4);
    if (length == 0xffffffff) {
        offset_bytes = 8;
        length = read_fixed(bytes, 8);
    }
    if (length > (uint64_t)(bytes->end - bytes->at)) {
        return false;
    }
    bytes->end = bytes->at + length;
    unsigned version = (unsigned)read_fixed(bytes, 2);
    if (version < 2 || version > 5) {
        return false;
    }
    program->address_bytes = 8;
    if (version >= 5) {
        program->address_bytes = (unsigned)read_fixed(bytes, 1);
        skip(bytes, 1); /* the size of segment selectors */
    }
    uint64_t header_length = read_fixed(bytes, offset_bytes);
    if (bytes->ended || header_length > (uint64_t)(bytes->end - bytes->at)) {
        return false;
    }
    struct bytes header = {bytes->at, bytes->at + header_length, false};
    program->min_instruction_bytes = (uint8_t)read_fixed(&header, 1);
    program->max_operations = version >= 4 ? (uint8_t)read_fixed(&header, 1) : 1;
    skip(&header, 1); /* default_is_stmt: a statement's begin or not, the line is the same */
    program->line_base = (int8_t)read_fixed(&header, 1);
    program->line_range = (uint8_t)read_fixed(&header, 1);
    program->opcode_base = (uint8_t)read_fixed(&header, 1);
    program->opcode_lengths = header.at;
    skip(&header, program->opcode_base == 0 ? 0 : program->opcode_base - 1u);
    skip(bytes, header_length);
    return !header.ended && program->opcode_base != 0;
}

/* ---- running ---- */

static bool grow(void **list, size_t *room, size_t count, size_t entry_bytes)
{
    if (count < *room) {
        return true;
    }
    size_t wanted = *room == 0 ? 256 : *room * 2;
    void *grown = realloc(*list, wanted * entry_bytes);
    if (grown == NULL) {
        return false;
    }
    *list = grown;
    *room = wanted;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The rows from `first` on are a sequence that ends at `end`; or nothing, when a linker threw its code away. */
static bool end_sequence(struct program *program, size_t first, uint64_t end)
{
    size_t count = program->row_count - first;
    if (count == 0) {
        return true;
    }
    struct row *rows = program->rows + first;
    bool is_sorted = true;
    for (size_t i = 1; i < count; i++) {
        is_sorted = is_sorted && rows[i - 1].address <= rows[i].address;
    }
    if (!is_sorted) {
        qsort(rows, count, sizeof *rows, by_address); /* no compiler makes such; any order will do */
    }
    if (rows[0].address < program->text_begin || rows[0].address >= program->text_end || end <= rows[0].address) {
        program->row_count = first;
        return true;
    }
    if (!grow((void **)&program->sequences, &program->sequence_room, program->sequence_count,
              sizeof *program->sequences)) {
        return false;
    }
    program->sequences[program->sequence_count++] = (struct sequence){end, first, count};
    return true;
}

struct registers {
    uint64_t address;
    uint64_t file;
    uint32_t line;
    uint32_t operation; /* within an instruction word */
};

static void advance(const struct program *program, struct registers *registers, uint64_t operations)
{
    if (program->max_operations <= 1) {
        registers->address += operations * program->min_instruction_bytes;
        return;
    }
    uint64_t whole = registers->operation + operations;
    registers->address += program->min_instruction_bytes * (whole / program->max_operations);
    registers->operation = (uint32_t)(whole % program->max_operations);
}

static uint64_t special_advance(const struct program *program, uint8_t opcode)
{
    return program->line_range == 0 ? 0 : (opcode - program->opcode_base) / program->line_range;
}

static const struct registers initial_registers = {.file = 1, .line = 1};

/* Run to the end or the damage. Returns false without memory. */
static bool run(struct program *program)
{
    struct bytes *bytes = &program->bytes;
    struct registers now = initial_registers;
    size_t first = 0; /* row of the sequence that runs */
    while (bytes->at < bytes->end && !bytes->ended && program->row_count < ROWS_MAX) {
        uint8_t opcode = *bytes->at++;
        bool is_row = false;
        if (opcode >= program->opcode_base) {
            advance(program, &now, special_advance(program, opcode));
            unsigned step = program->line_range == 0 ? 0 : (opcode - program->opcode_base) % program->line_range;
            now.line += (uint32_t)(program->line_base + (int)step);
            is_row = true;
        } else if (opcode == 0) {
            uint64_t length = read_leb(bytes, false);
            if (length == 0 || bytes->ended || length > (uint64_t)(bytes->end - bytes->at)) {
                return true;
            }
            struct bytes extended = {bytes->at, bytes->at + length, false};
            skip(bytes, length);
            uint8_t kind = (uint8_t)read_fixed(&extended, 1);
            if (kind == DW_LNE_end_sequence) {
                if (!end_sequence(program, first, now.address)) {
                    return false;
                }
                first = program->row_count;
                now = initial_registers;
            } else if (kind == DW_LNE_set_address) {
                now.address = read_fixed(&extended, length - 1 > 8 ? 8 : (unsigned)(length - 1));
                now.operation = 0;
            }
        } else {
            switch (opcode) {
            case DW_LNS_copy:
                is_row = true;
                break;
            case DW_LNS_advance_pc:
                advance(program, &now, read_leb(bytes, false));
                break;
            case DW_LNS_advance_line:
                now.line += (uint32_t)read_leb(bytes, true);
                break;
            case DW_LNS_set_file:
                now.file = read_leb(bytes, false);
                break;
            case DW_LNS_const_add_pc:
                advance(program, &now, special_advance(program, 255));
                break;
            case DW_LNS_fixed_advance_pc:
                now.address += read_fixed(bytes, 2);
                now.operation = 0;
                break;
            default: /* column, statement, block, prologue, isa, and what is not known: their operands are skipped */
                for (unsigned i = 0; i < program->opcode_lengths[opcode - 1]; i++) {
                    (void)read_leb(bytes, false);
                }
            }
        }
        if (is_row) {
            if (!grow((void **)&program->rows, &program->row_room, program->row_count, sizeof *program->rows)) {
                return false;
            }
            uint32_t file = now.file > UINT32_MAX ? UINT32_MAX : (uint32_t)now.file;
            program->rows[program->row_count++] = (struct row){now.address, file, now.line};
        }
    }
    return true; /* rows without an end_sequence are of no known length: left out */
}

/* ---- from rows to spans ---- */

static int by_end(const void *a, const void *b)
{
    const struct sequence *x = a, *y = b;
    if (x->end != y->end) {
        return x->end < y->end ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

static bool add_span(struct sbx_line_spans *spans, uint64_t begin, uint64_t end, const struct row *row)
{
    if (begin >= end) {
        return true;
    }
    if (spans->count > 0) {
        struct sbx_line_span *last = &spans->spans[spans->count - 1];
        if (last->end == begin && last->file == row->file && last->line == row->line) {
            last->end = end;
            return true;
        }
    }
    if (!grow((void **)&spans->spans, &spans->room, spans->count, sizeof *spans->spans)) {
        return false;
    }
    spans->spans[spans->count++] = (struct sbx_line_span){begin, end, row->file, row->line};
    return true;
}

/* The rows of a sequence, as far as they lie in [begin, end). */
static bool add_rows(struct sbx_line_spans *spans, const struct program *program, const struct sequence *sequence,
                     uint64_t begin, uint64_t end)
{
    const struct row *rows = program->rows + sequence->first;
    size_t low = 0, high = sequence->count; /* the first row behind `begin` is in [low, high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle].address <= begin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low == 0 ? 0 : low - 1; i < sequence->count && rows[i].address < end; i++) {
        uint64_t from = rows[i].address < begin ? begin : rows[i].address;
        uint64_t to = i + 1 < sequence->count ? rows[i + 1].address : sequence->end;
        if (!add_span(spans, from, to > end ? end : to, &rows[i])) {
            return false;
        }
    }
    return true;
}

static int collect_spans(struct program *program, struct sbx_line_spans *spans)
{
    struct sbx_ranges ranges = {0};
    int result = 0;
    if (program->sequence_count > 1) {
        qsort(program->sequences, program->sequence_count, sizeof *program->sequences, by_end);
    }
    for (size_t i = 0; i < program->sequence_count && result == 0; i++) {
        const struct sequence *sequence = &program->sequences[i];
        uint32_t rank = (uint32_t)(program->sequence_count - i); /* the one that ends first counts */
        result = sbx_ranges_add(
            &ranges, (struct sbx_range){program->rows[sequence->first].address, sequence->end, rank, (uint32_t)i});
    }
    result = result == 0 ? sbx_ranges_sweep(&ranges) : result;
    for (size_t i = 0; i < ranges.count && result == 0; i++) {
        const struct sbx_range *range = &ranges.ranges[i];
        if (!add_rows(spans, program, &program->sequences[range->tag], range->begin, range->end)) {
            result = -ENOMEM;
        }
    }
    sbx_ranges_finish(&ranges);
    return result;
}

int sbx_dwarf_lines_read(const uint8_t *section, size_t bytes, uint64_t offset, uint64_t text_begin, uint64_t text_end,
                         struct sbx_line_spans *spans_out)
{
    struct program program = {.text_begin = text_begin, .text_end = text_end};
    *spans_out = (struct sbx_line_spans){0};
    if (offset >= bytes) {
        return 0;
    }
    program.bytes = (struct bytes){section + offset, section + bytes, false};
    int result = 0;
    if (read_header(&program)) {
        result = run(&program) ? collect_spans(&program, spans_out) : -ENOMEM;
    }
    free(program.rows);
    free(program.sequences);
    if (result != 0) {
        sbx_line_spans_finish(spans_out);
    }
    return result;
}

void sbx_line_spans_finish(struct sbx_line_spans *spans)
{
    free(spans->spans);
    *spans = (struct sbx_line_spans){0};
}
