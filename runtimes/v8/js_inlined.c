/* SPDX-License-Identifier: Apache-2.0 */
/* js_inlined.c - safepoint table -> number of a deoptimization exit -> the frames that this exit would create. */
#include "js_inlined.h"

enum {
    DATA_TRANSLATIONS = 0, /* indexes in the deoptimization data */
    DATA_LITERALS = 2,
    DATA_EXIT_BEGIN = 8,
    DATA_EAGER = 9,
    DATA_LAZY = 10,
    DATA_FIRST = 11,
    DATA_ENTRY = 3, /* indexes: bytecode, translation, instruction */
    EXIT_BYTES = 4,
    SAFEPOINTS_MAX = 1 << 14,
    TRANSLATION_STEPS = 4096,
    CHECK_BYTES = 1024, /* how far from pc a check is searched */
};

static bool read_number(struct js_pages *pages, uint64_t array, uint32_t index, int32_t *number_out)
{
    uint64_t at = array + JS_ARRAY_ITEMS + (uint64_t)index * 8;
    if (!js_can_read(pages, at, 8) || !js_is_number(js_word_at(at))) {
        return false;
    }
    *number_out = js_number(js_word_at(at));
    return true;
}

/* ---- safepoints ---- */

static uint32_t read_bytes(uint64_t at, uint32_t bytes)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        number |= js_byte_at(at + i) << (8 * i);
    }
    return number;
}

/* Returns the number of the exit of the call before `pc`; -1: none. */
static int32_t exit_of_call(struct js_pages *pages, const struct js_made_code *code, uint64_t pc)
{
    uint64_t table = code->begin + code->bytes;
    if (!js_can_read(pages, table, 8)) {
        return -1;
    }
    uint32_t count = js_half_at(table), shape = js_half_at(table + 4), offset = (uint32_t)(pc - code->begin);
    uint32_t register_bytes = shape >> 1 & 7, pc_bytes = shape >> 4 & 7, exit_bytes = shape >> 7 & 7;
    uint32_t entry_bytes = 2 * pc_bytes + exit_bytes + register_bytes;
    if ((shape & 1) == 0 || count > SAFEPOINTS_MAX || pc_bytes == 0 || pc_bytes > 4 || exit_bytes > 4) {
        return -1;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = table + 8 + (uint64_t)i * entry_bytes;
        if (!js_can_read(pages, at, entry_bytes)) {
            return -1;
        }
        uint32_t trampoline = read_bytes(at + pc_bytes + exit_bytes, pc_bytes);
        if (read_bytes(at, pc_bytes) == offset || (trampoline != 0 && trampoline - 1 == offset)) {
            return (int32_t)read_bytes(at + pc_bytes, exit_bytes) - 1;
        }
    }
    return -1;
}

/* Returns the number of the exit to which a conditional jump at `at` leads; -1: there is no such jump. */
static int32_t exit_of_jump(uint64_t at, uint64_t exits, uint32_t count)
{
    if (js_byte_at(at) != 0x0f || (js_byte_at(at + 1) & 0xf0) != 0x80) {
        return -1;
    }
    uint64_t behind = at + 6, target = behind + (uint64_t)(int64_t)(int32_t)js_half_at(at + 2) - exits;
    return target < (uint64_t)count * EXIT_BYTES && target % EXIT_BYTES == 0 ? (int32_t)(target / EXIT_BYTES) : -1;
}

/* Returns the exit of the check that is nearest to `pc`. Optimized code has many checks, and each has its own exit. */
static int32_t exit_of_check(struct js_pages *pages, const struct js_made_code *code, uint64_t data, uint64_t pc)
{
    int32_t begin, count;
    if (!read_number(pages, data, DATA_EXIT_BEGIN, &begin) || !read_number(pages, data, DATA_EAGER, &count) ||
        begin <= 0 || (uint32_t)begin > code->bytes || count <= 0 || count > SAFEPOINTS_MAX) {
        return -1;
    }
    uint64_t exits = code->begin + (uint32_t)begin;
    for (uint32_t i = 0; i < CHECK_BYTES; i++) {
        uint64_t ahead = pc + i, back = pc - i;
        int32_t number =
            ahead + 6 <= exits && js_can_read(pages, ahead, 6) ? exit_of_jump(ahead, exits, (uint32_t)count) : -1;
        if (number < 0 && i > 0 && back >= code->begin && js_can_read(pages, back, 6)) {
            number = exit_of_jump(back, exits, (uint32_t)count);
        }
        if (number >= 0) {
            return number;
        }
    }
    return -1;
}

/* ---- translations ---- */

/* The number of operands of each step. */
static const uint8_t operands_10_2[] = {2, 1, 0, 3, 1, 1, 3, 1, 3, 1, 1, 1, 1, 1,
                                        1, 1, 1, 1, 5, 3, 3, 4, 1, 1, 1, 1, 1, 2};
static const uint8_t operands_11_3[] = {1, 0, 3, 3, 1, 1, 3, 1, 3, 1, 1, 1, 1, 1, 2, 1, 1, 1,
                                        1, 1, 1, 1, 1, 5, 3, 3, 3, 4, 0, 1, 1, 1, 1, 1, 2, 1};
enum {
    BEGIN_10_2 = 3,
    FUNCTION_10_2 = 18,
    BEGIN_11_3 = 2, /* and the next value */
    FUNCTION_11_3 = 23,
    AS_BEFORE_11_3 = 35 /* repeats steps of an earlier translation */
};

/* Reads the steps of a translation. In 11.3, a translation may repeat a number of steps from an earlier one. */
struct steps {
    struct js_pages *pages;
    bool is_old, is_broken;
    uint64_t low, high; /* bytes of the table */
    uint64_t at;        /* the next byte of this translation */
    uint64_t earlier;   /* the next byte of the translation that is repeated */
    uint32_t repeats;   /* steps left to repeat, and one */
    uint32_t own;       /* steps since `earlier` was moved */
};

static uint32_t next_byte(struct steps *steps, uint64_t *at)
{
    if (*at < steps->low || *at >= steps->high || !js_can_read(steps->pages, *at, 1)) {
        steps->is_broken = true;
        return 0;
    }
    return js_byte_at((*at)++);
}

static uint32_t next_plain(struct steps *steps, uint64_t *at)
{
    uint32_t bits = 0, byte = 0x80;
    for (uint32_t shift = 0; shift < 35 && (byte & 0x80) != 0; shift += 7) {
        byte = next_byte(steps, at);
        bits |= shift < 32 ? (byte & 0x7f) << shift : 0;
    }
    return bits;
}

static int32_t next_signed(struct steps *steps, uint64_t *at)
{
    uint32_t bits = next_plain(steps, at);
    int32_t number = (int32_t)(bits >> 1);
    return (bits & 1) != 0 ? -number : number;
}

static uint32_t operand_count(struct steps *steps, uint32_t step)
{
    uint32_t known = steps->is_old ? sizeof operands_10_2 : sizeof operands_11_3;
    if (step >= known) {
        steps->is_broken = true;
        return 0;
    }
    return steps->is_old ? operands_10_2[step] : operands_11_3[step];
}

/* The position from which the operands of the current step are read. */
static uint64_t *source_of(struct steps *steps)
{
    return steps->repeats != 0 ? &steps->earlier : &steps->at;
}

static uint32_t next_step_11_3(struct steps *steps)
{
    if (steps->repeats != 0 && --steps->repeats != 0) {
        return next_byte(steps, &steps->earlier);
    }
    uint32_t step = next_byte(steps, &steps->at), repeats = 0;
    if (step >= sizeof operands_11_3) {
        repeats = step - (uint32_t)sizeof operands_11_3;
        step = AS_BEFORE_11_3;
    } else if (step == AS_BEFORE_11_3) {
        repeats = next_plain(steps, &steps->at);
    }
    if (step == BEGIN_11_3 || step == BEGIN_11_3 + 1) {
        uint64_t ahead = steps->at;
        uint32_t back = next_plain(steps, &ahead);
        steps->earlier = back != 0 ? steps->at - 1 - back : 0;
        steps->own = 1;
    } else if (step == AS_BEFORE_11_3) {
        for (uint32_t i = 0; i < steps->own && !steps->is_broken; i++) { /* skips the steps that were replaced */
            for (uint32_t left = operand_count(steps, next_byte(steps, &steps->earlier)); left > 0; left--) {
                (void)next_plain(steps, &steps->earlier);
            }
        }
        steps->own = 0;
        steps->repeats = repeats;
        step = next_byte(steps, &steps->earlier);
    } else {
        steps->own++;
    }
    return step;
}

static uint32_t next_step(struct steps *steps)
{
    return steps->is_old ? (uint32_t)next_signed(steps, &steps->at) : next_step_11_3(steps);
}

/* Reads the functions of one translation. */
static uint32_t read_frames(struct steps *steps, uint64_t literals, int32_t literal_count, struct js_inlined *list)
{
    uint32_t count = 0, step = next_step(steps);
    bool is_begin = steps->is_old ? step == BEGIN_10_2 : step == BEGIN_11_3 || step == BEGIN_11_3 + 1;
    /* 10.2: all frames, JavaScript functions, feedback. 11.3: distance back, frames, functions. */
    (void)next_plain(steps, &steps->at);
    int32_t second = next_signed(steps, &steps->at), third = next_signed(steps, &steps->at);
    int32_t wanted = !is_begin ? 0 : steps->is_old ? second : third;
    for (uint32_t i = 0; i < TRANSLATION_STEPS && (int32_t)count < wanted && !steps->is_broken; i++) {
        step = next_step(steps);
        uint32_t operands = operand_count(steps, step);
        bool is_function = steps->is_old ? step == FUNCTION_10_2 : step == FUNCTION_11_3 || step == FUNCTION_11_3 + 1;
        bool is_built_in = steps->is_old ? step == 19 || step == 20 : step == 25 || step == 26; /* also counted */
        if (is_function) {
            int32_t offset = next_signed(steps, source_of(steps)), literal = next_signed(steps, source_of(steps));
            uint64_t at = literals + JS_ARRAY_ITEMS + (uint64_t)(uint32_t)literal * 8;
            operands -= 2;
            if (literal < 0 || literal >= literal_count || count == JS_INLINED_MAX ||
                !js_can_read(steps->pages, at, 8)) {
                return 0;
            }
            list[count].shared = js_word_at(at) & ~UINT64_C(2); /* the reference may be weak */
            list[count++].offset = offset < 0 ? 0 : (uint32_t)offset;
        }
        wanted -= is_built_in;
        for (; operands > 0; operands--) {
            (void)next_plain(steps, source_of(steps));
        }
    }
    return steps->is_broken || (int32_t)count < wanted ? 0 : count;
}

uint32_t js_inlined_at(struct js_pages *pages, const struct js_layout *layout, const struct js_made_code *code,
                       uint64_t pc, bool is_exact, struct js_inlined *list)
{
    struct js_object data, table, literals;
    int32_t translation;
    if (!js_object_open(pages, code->data, JS_ARRAY_ITEMS + DATA_FIRST * 8, &data) || data.type != layout->type_array ||
        js_number(js_word_at(data.at + JS_ARRAY_LENGTH)) < DATA_FIRST) {
        return 0;
    }
    int32_t number = is_exact ? exit_of_check(pages, code, data.at, pc) : exit_of_call(pages, code, pc);
    int32_t items = js_number(js_word_at(data.at + JS_ARRAY_LENGTH));
    if (number < 0 || number >= (items - DATA_FIRST) / DATA_ENTRY ||
        !read_number(pages, data.at, DATA_FIRST + (uint32_t)number * DATA_ENTRY + 1, &translation) || translation < 0) {
        return 0;
    }
    if (!js_object_open(pages, js_word_at(data.at + JS_ARRAY_ITEMS + DATA_TRANSLATIONS * 8), JS_ARRAY_ITEMS, &table) ||
        table.type != layout->type_bytes ||
        !js_object_open(pages, js_word_at(data.at + JS_ARRAY_ITEMS + DATA_LITERALS * 8), JS_ARRAY_ITEMS, &literals)) {
        return 0;
    }
    int32_t bytes = js_number(js_word_at(table.at + JS_ARRAY_LENGTH));
    struct steps steps = {.pages = pages, .is_old = layout->minor == 2, .low = table.at + JS_ARRAY_ITEMS};
    steps.high = steps.low + (uint64_t)(bytes < 0 ? 0 : bytes);
    steps.at = steps.low + (uint64_t)translation;
    return read_frames(&steps, literals.at, js_number(js_word_at(literals.at + JS_ARRAY_LENGTH)), list);
}

uint64_t js_shared_positions(struct js_pages *pages, const struct js_layout *layout, uint64_t shared)
{
    struct js_object object;
    if (!js_object_open(pages, shared, JS_SHARED_BYTES, &object) || object.type != layout->type_shared) {
        return 0;
    }
    uint64_t word = js_word_at(object.at + JS_SHARED_DATA);
    for (int step = 0; step < 3; step++) {
        if (!js_object_open(pages, word, 48, &object)) {
            return 0;
        }
        if (object.type == layout->type_bytecodes) {
            return js_word_at(object.at + JS_BYTECODES_POSITIONS);
        }
        /* baseline code, or the interpreter's own copy */
        word = object.type == layout->type_code          ? js_word_at(object.at + 16)
               : object.type == layout->type_interpreter ? js_word_at(object.at + 8)
                                                         : 0;
    }
    return 0;
}
