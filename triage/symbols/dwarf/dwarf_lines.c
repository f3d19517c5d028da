/* SPDX-License-Identifier: Apache-2.0 */
/* dwarf_lines.c - runs the line program of a unit (DWARF 2 to 5).
 *
 * Files may be damaged or made to do harm. Each opcode takes at least one byte, and the rows of a program have a
 * limit. */
#include "dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf_line_header.h"
#include "range_sweep.h"

enum {
    ROWS_MAX = 1 << 24 /* of one program */
};

struct row {
    uint64_t address;
    uint32_t file, line;
};

/* Rows up to an end_sequence. */
struct sequence {
    uint64_t end; /* the address after the last row's code */
    size_t first, count;
};

struct program {
    struct sbx_dwarf_line_header header;
    struct row *rows;
    size_t row_count, row_room;
    struct sequence *sequences;
    size_t sequence_count, sequence_room;
    uint64_t text_begin, text_end;
};

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

/* End a sequence: the rows from `first` on, up to address `end`. Drop them if a linker discarded their code. */
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
        qsort(rows, count, sizeof *rows, by_address); /* no compiler makes unsorted rows; any order is fine */
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
    uint32_t operation; /* index within an instruction word */
};

static void advance(const struct program *program, struct registers *registers, uint64_t operations)
{
    if (program->header.max_operations <= 1) {
        registers->address += operations * program->header.min_instruction_bytes;
        return;
    }
    uint64_t whole = registers->operation + operations;
    registers->address += program->header.min_instruction_bytes * (whole / program->header.max_operations);
    registers->operation = (uint32_t)(whole % program->header.max_operations);
}

static uint64_t special_advance(const struct program *program, uint8_t opcode)
{
    return program->header.line_range == 0 ? 0 : (opcode - program->header.opcode_base) / program->header.line_range;
}

static const struct registers initial_registers = {.file = 1, .line = 1};

/* Add a row. Of several rows at one address the last counts. Returns false if memory runs out. */
static bool add_row(struct program *program, size_t first, const struct registers *now)
{
    const struct row row = {now->address, now->file > UINT32_MAX ? UINT32_MAX : (uint32_t)now->file, now->line};
    if (program->row_count > first && program->rows[program->row_count - 1].address == row.address) {
        program->rows[program->row_count - 1] = row;
        return true;
    }
    if (!grow((void **)&program->rows, &program->row_room, program->row_count, sizeof *program->rows)) {
        return false;
    }
    program->rows[program->row_count++] = row;
    return true;
}

/* Run to the end, or to damage. Returns false if memory runs out. */
static bool run(struct program *program)
{
    struct sbx_dwarf_bytes *bytes = &program->header.program;
    struct registers now = initial_registers;
    size_t first = 0; /* first row of the current sequence */
    while (bytes->at < bytes->end && !bytes->ended && program->row_count < ROWS_MAX) {
        uint8_t opcode = *bytes->at++;
        bool is_row = false;
        if (opcode >= program->header.opcode_base) {
            advance(program, &now, special_advance(program, opcode));
            unsigned step = program->header.line_range == 0
                                ? 0
                                : (opcode - program->header.opcode_base) % program->header.line_range;
            now.line += (uint32_t)(program->header.line_base + (int)step);
            is_row = true;
        } else if (opcode == 0) {
            uint64_t length = sbx_dwarf_leb(bytes);
            if (length == 0 || bytes->ended || length > (uint64_t)(bytes->end - bytes->at)) {
                return true;
            }
            struct sbx_dwarf_bytes extended = {bytes->at, bytes->at + length, false};
            sbx_dwarf_skip(bytes, length);
            uint8_t kind = (uint8_t)sbx_dwarf_fixed(&extended, 1);
            if (kind == DW_LNE_end_sequence) {
                if (!end_sequence(program, first, now.address)) {
                    return false;
                }
                first = program->row_count;
                now = initial_registers;
            } else if (kind == DW_LNE_set_address) {
                now.address = sbx_dwarf_fixed(&extended, length - 1 > 8 ? 8 : (unsigned)(length - 1));
                now.operation = 0;
            }
        } else {
            switch (opcode) {
            case DW_LNS_copy:
                is_row = true;
                break;
            case DW_LNS_advance_pc:
                advance(program, &now, sbx_dwarf_leb(bytes));
                break;
            case DW_LNS_advance_line:
                now.line += (uint32_t)sbx_dwarf_signed_leb(bytes);
                break;
            case DW_LNS_set_file:
                now.file = sbx_dwarf_leb(bytes);
                break;
            case DW_LNS_const_add_pc:
                advance(program, &now, special_advance(program, 255));
                break;
            case DW_LNS_fixed_advance_pc:
                now.address += sbx_dwarf_fixed(bytes, 2);
                now.operation = 0;
                break;
            default: /* column, statement, block, prologue, isa, and unknown opcodes: their operands are skipped */
                for (unsigned i = 0; i < program->header.opcode_lengths[opcode - 1]; i++) {
                    (void)sbx_dwarf_leb(bytes);
                }
            }
        }
        if (is_row) {
            if (!add_row(program, first, &now)) {
                return false;
            }
        }
    }
    return true; /* rows without an end_sequence have no known length: dropped */
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

/* Add the rows of a sequence that lie in [begin, end). */
static bool add_rows(struct sbx_line_spans *spans, const struct program *program, const struct sequence *sequence,
                     uint64_t begin, uint64_t end)
{
    const struct row *rows = program->rows + sequence->first;
    size_t low = 0, high = sequence->count; /* the first row after `begin` is in [low, high] */
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
        uint32_t rank = (uint32_t)(program->sequence_count - i); /* the sequence that ends first counts */
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

int sbx_dwarf_lines_read(const struct sbx_dwarf_section *section, uint64_t offset, uint64_t text_begin,
                         uint64_t text_end, struct sbx_dwarf_budget *budget, struct sbx_line_spans *spans_out)
{
    struct program program = {.text_begin = text_begin, .text_end = text_end};
    *spans_out = (struct sbx_line_spans){0};
    int result = 0;
    if (sbx_dwarf_line_header_read(section, offset, &program.header)) {
        if (!sbx_dwarf_spend(budget, sbx_dwarf_left(&program.header.program))) { /* a row takes at least one byte */
            return -E2BIG;
        }
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
