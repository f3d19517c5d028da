/* SPDX-License-Identifier: Apache-2.0 */
/* test_frame_walker.c - each rule and each way in which a walk can end, on stacks that are laid out by hand; and random
 * stacks. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "generated_code.h"
#include "guarded_bytes.h"
#include "walk_machine.h"

/* Besides the program: a library without rows, one whose rows are pending, and our own code (with the program's
 * rules). */
enum {
    LIBRARY = 0x500000,
    PENDING = 0x600000,
    OURS = 0x700000,
    BIAS = 0x300000,
    RANDOM_STACKS = 200000,
};

enum code { /* index of a rule */
    CODE_NONE,
    CODE_LEAF,      /* sp + 8 */
    CODE_SP_32,     /* sp + 32 */
    CODE_SP_FP,     /* sp + 24, fp at CFA - 16 */
    CODE_FP,        /* fp + 16, fp at CFA - 16 */
    CODE_SP_LOST,   /* sp + 8, fp lost */
    CODE_REALIGNED, /* *(fp - 8), fp at *fp */
    CODE_SAVED_SP,  /* *(sp + 16) + 8 */
    CODE_PLT,       /* limit 11; the stub's own address decides */
    CODE_RBX,       /* rbx + 16 */
    CODE_SIGNAL,
    CODE_END,
    CODE_UNSUPPORTED,
    CODE_BACKWARDS, /* sp - 8 */
    CODE_COUNT
};

static int setup(void **state)
{
    const uint32_t rules[CODE_COUNT] = {
        [CODE_NONE] = SBX_RULE_NONE,
        [CODE_LEAF] = rule(SBX_RULE_FROM_SP, 8, 0),
        [CODE_SP_32] = rule(SBX_RULE_FROM_SP, 32, 0),
        [CODE_SP_FP] = rule(SBX_RULE_FROM_SP, 24, 2),
        [CODE_FP] = rule(SBX_RULE_FROM_FP, 16, 2),
        [CODE_SP_LOST] = rule(SBX_RULE_FROM_SP, 8, SBX_RULE_FP_LOST),
        [CODE_REALIGNED] = rule(SBX_RULE_AT_FP, -8, SBX_RULE_FP_AT_FP),
        [CODE_SAVED_SP] = 1u << 24 | rule(SBX_RULE_AT_SP, 16, 0),
        [CODE_PLT] = rule(SBX_RULE_PLT, 11 * 8, 0),
        [CODE_RBX] = 2u << 16 | 3u << SBX_RULE_VALUE_SHIFT | SBX_RULE_FROM_REGISTER,
        [CODE_SIGNAL] = SBX_RULE_SIGNAL,
        [CODE_END] = SBX_RULE_END,
        [CODE_UNSUPPORTED] = SBX_RULE_UNSUPPORTED,
        [CODE_BACKWARDS] = rule(SBX_RULE_FROM_SP, -8, 0),
    };
    struct walk_machine *machine = walk_machine_create(rules, CODE_COUNT, BIAS);
    walk_machine_add(machine, (struct sbx_code_range){LIBRARY, LIBRARY + MODULE_BYTES, LIBRARY, 4, 0, NULL});
    walk_machine_add(machine,
                     (struct sbx_code_range){PENDING, PENDING + MODULE_BYTES, PENDING, 5, SBX_CODE_ROWS_PENDING, NULL});
    walk_machine_add(machine, (struct sbx_code_range){OURS, OURS + MODULE_BYTES, OURS - PROGRAM + BIAS, 6,
                                                      SBX_CODE_SKIP, &machine->rows});
    *state = machine;
    return 0;
}

static int teardown(void **state)
{
    walk_machine_destroy(*state);
    return 0;
}

static uint64_t word_of_frame(const struct walk_machine *machine, uint32_t frame)
{
    return frame_table_word(&machine->table, machine->walk.frames[frame].frame_id);
}

/* ---- rules ---- */

static void test_frames_off_the_stack_pointer_are_walked_to_the_end(void **state)
{
    struct walk_machine *machine = *state;
    machine->stack[0] = code_at(CODE_SP_32);
    machine->stack[4] = code_at(CODE_END);
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_LEAF), code_at(CODE_SP_32), code_at(CODE_END)));
    assert_true(word_of_frame(machine, 0) == sbx_frame_word(3, code_at(CODE_LEAF) - BIAS, 1));
    assert_true(word_of_frame(machine, 1) == sbx_frame_word(3, code_at(CODE_SP_32) - BIAS, 0));
}

static void test_return_address_zero_is_the_end(void **state)
{
    struct walk_machine *machine = *state;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF)));
}

static void test_return_address_is_looked_up_by_its_call(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t next_function = PROGRAM + CODE_SP_32 * 0x10; /* a call that never returns is the last of its function */
    machine->stack[0] = next_function;
    machine->stack[1] = code_at(CODE_END); /* as CODE_LEAF says; CODE_SP_32 would look at stack[4] */
    machine->stack[4] = code_at(CODE_UNSUPPORTED);
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF), next_function, code_at(CODE_END)));
    /* If the frame was interrupted there, the address is the next function's first instruction. The cache must not mix
     * the two up. */
    machine->stack[3] = code_at(CODE_END);
    walk(machine, next_function, SBX_WALK_COMPLETE, PCS(next_function, code_at(CODE_END)));
}

static void test_frame_pointer_is_restored_from_its_slot(void **state)
{
    struct walk_machine *machine = *state;
    machine->stack[1] = stack_at(10); /* the caller's fp */
    machine->stack[2] = code_at(CODE_FP);
    machine->stack[10] = 0xdead;
    machine->stack[11] = code_at(CODE_END);
    machine->start.fp_known = false; /* as for a thread seen from outside; becomes known here */
    walk(machine, code_at(CODE_SP_FP), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_SP_FP), code_at(CODE_FP), code_at(CODE_END)));
}

static void test_unknown_frame_pointer_is_not_used(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.fp = stack_at(10);
    machine->start.fp_known = false;
    machine->stack[11] = code_at(CODE_END);
    walk(machine, code_at(CODE_FP), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_FP)));
    walk(machine, code_at(CODE_REALIGNED), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_REALIGNED)));
    walk(machine, code_at(CODE_NONE), SBX_WALK_NO_ROW, PCS(code_at(CODE_NONE)));
    machine->start.fp_known = true;
    walk(machine, code_at(CODE_FP), SBX_WALK_COMPLETE, PCS(code_at(CODE_FP), code_at(CODE_END)));
    machine->stack[0] = code_at(CODE_FP); /* known, and then lost on the way */
    walk(machine, code_at(CODE_SP_LOST), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_SP_LOST), code_at(CODE_FP)));
}

static void test_frame_pointer_slot_outside_the_window_loses_it(void **state)
{
    struct walk_machine *machine = *state;
    machine->window.lo = stack_at(2); /* the slot lies below */
    machine->stack[2] = code_at(CODE_LEAF);
    machine->stack[3] = code_at(CODE_FP);
    machine->start.fp = stack_at(10);
    walk(machine, code_at(CODE_SP_FP), SBX_WALK_UNSUPPORTED,
         PCS(code_at(CODE_SP_FP), code_at(CODE_LEAF), code_at(CODE_FP)));
}

static void test_realigned_frame_is_left_by_its_saved_stack_pointer(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.fp = stack_at(20);
    machine->stack[19] = stack_at(40); /* the CFA */
    machine->stack[20] = stack_at(50); /* the caller's fp */
    machine->stack[39] = code_at(CODE_FP);
    machine->stack[51] = code_at(CODE_END);
    walk(machine, code_at(CODE_REALIGNED), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_REALIGNED), code_at(CODE_FP), code_at(CODE_END)));
}

/* gcc 12: after the pop in the epilogue of an aligned frame the rows still say "fp is saved where fp points", with CFA
 * = r10 and then CFA = sp + 8, but fp is already the caller's. libunwind and libdw then read the fp of the caller's
 * caller. */
static void test_frame_pointer_that_points_out_of_its_frame_was_popped_already(void **state)
{
    struct walk_machine *machine = *state;
    machine->rules[CODE_LEAF] = rule(SBX_RULE_FROM_SP, 8, SBX_RULE_FP_AT_FP);
    machine->stack[0] = code_at(CODE_FP);
    machine->start.fp = stack_at(10); /* of the frame of CODE_FP */
    machine->stack[10] = stack_at(2); /* the value that must not be taken for it */
    machine->stack[11] = code_at(CODE_END);
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF), code_at(CODE_FP), code_at(CODE_END)));
    assert_true(machine->walk.frames[1].fp == stack_at(10));
}

static void test_saved_stack_pointer_off_the_stack_pointer_is_followed(void **state)
{
    struct walk_machine *machine = *state;
    machine->stack[2] = stack_at(30);
    machine->stack[30] = code_at(CODE_END);
    walk(machine, code_at(CODE_SAVED_SP), SBX_WALK_COMPLETE, PCS(code_at(CODE_SAVED_SP), code_at(CODE_END)));
}

static void test_plt_stub_has_pushed_from_its_limit_on(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t stub = PROGRAM + CODE_PLT * 0x10;
    machine->stack[0] = code_at(CODE_END);
    machine->stack[1] = code_at(CODE_END) + 1;
    walk(machine, stub + 10, SBX_WALK_COMPLETE, PCS(stub + 10, code_at(CODE_END)));
    walk(machine, stub + 11, SBX_WALK_COMPLETE, PCS(stub + 11, code_at(CODE_END) + 1));
}

static void test_other_registers_need_the_interrupted_context(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t context[SBX_CONTEXT_WORDS] = {0};
    machine->stack[21] = code_at(CODE_RBX); /* rbx + 16 - 8 */
    walk(machine, code_at(CODE_RBX), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_RBX)));
    context[sbx_context_word(3)] = stack_at(20);
    machine->start.context = context;
    /* The caller has such a rule too, but its rbx is not known. */
    walk(machine, code_at(CODE_RBX), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_RBX), code_at(CODE_RBX)));
}

static void test_signal_frame_gives_every_register(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t *gregs = &machine->stack[1 + SBX_CONTEXT_AT / 8];
    machine->stack[0] = code_at(CODE_SIGNAL);
    gregs[SBX_CONTEXT_PC] = code_at(CODE_RBX);
    gregs[SBX_CONTEXT_SP] = stack_at(100);
    gregs[SBX_CONTEXT_FP] = stack_at(120);
    gregs[sbx_context_word(3)] = stack_at(110);
    machine->stack[111] = code_at(CODE_FP);
    machine->stack[121] = code_at(CODE_END);
    machine->start.fp_known = false;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_LEAF), code_at(CODE_SIGNAL), code_at(CODE_RBX), code_at(CODE_FP), code_at(CODE_END)));
    assert_true(word_of_frame(machine, 2) & SBX_FRAME_EXACT);
    assert_false(word_of_frame(machine, 1) & SBX_FRAME_EXACT);
    assert_false(word_of_frame(machine, 3) & SBX_FRAME_EXACT);
}

static void test_interrupted_stack_elsewhere_ends_behind_the_interrupted_frame(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t *gregs = &machine->stack[SBX_CONTEXT_AT / 8];
    gregs[SBX_CONTEXT_PC] = code_at(CODE_FP);
    gregs[SBX_CONTEXT_SP] = STACK - 0x10000;
    gregs[SBX_CONTEXT_FP] = stack_at(100); /* by chance inside the stack: the walk must not go on because of it */
    machine->stack[101] = code_at(CODE_END);
    walk(machine, code_at(CODE_SIGNAL), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_SIGNAL), code_at(CODE_FP)));
}

static void test_signal_frame_that_is_cut_off_is_bad_memory(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.sp = stack_at(STACK_WORDS - SBX_CONTEXT_AT / 8 - SBX_CONTEXT_WORDS + 1);
    walk(machine, code_at(CODE_SIGNAL), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_SIGNAL)));
    machine->start.sp = UINT64_MAX - 7;
    walk(machine, code_at(CODE_SIGNAL), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_SIGNAL)));
}

/* ---- where rows end ---- */

static void test_code_without_rows_is_stepped_by_frame_pointer(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.fp = stack_at(10);
    machine->stack[10] = stack_at(20);
    machine->stack[11] = LIBRARY + 0x20;
    machine->stack[20] = 0x1234;
    machine->stack[21] = code_at(CODE_LEAF);
    machine->stack[22] = code_at(CODE_END);
    walk(machine, code_at(CODE_NONE), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_NONE), LIBRARY + 0x20, code_at(CODE_LEAF), code_at(CODE_END)));
}

static void test_implausible_frame_pointer_ends_as_no_row(void **state)
{
    struct walk_machine *machine = *state;
    const uint64_t implausible[] = {
        0, STACK - 8, stack_at(10) + 4, UINT64_MAX - 7, UINT64_MAX, stack_at(STACK_WORDS - 1), stack_at(STACK_WORDS)};
    for (size_t i = 0; i < SBX_COUNT_OF(implausible); i++) {
        machine->start.fp = implausible[i];
        walk(machine, LIBRARY + 8, SBX_WALK_NO_ROW, PCS(LIBRARY + 8));
    }
    machine->start.sp = stack_at(12);
    machine->start.fp = stack_at(10); /* inside, but further in than sp */
    machine->stack[11] = code_at(CODE_END);
    walk(machine, LIBRARY + 8, SBX_WALK_NO_ROW, PCS(LIBRARY + 8));
}

static void test_generated_code_is_crossed_by_frame_pointer(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.fp = stack_at(10);
    machine->stack[10] = stack_at(20);
    machine->stack[11] = 0x10000; /* generated code was called by generated code */
    machine->stack[20] = stack_at(30);
    machine->stack[21] = code_at(CODE_FP);
    machine->stack[31] = code_at(CODE_END);
    walk(machine, 0x20000, SBX_WALK_COMPLETE, PCS(0x20000, 0x10000, code_at(CODE_FP), code_at(CODE_END)));
    assert_true(word_of_frame(machine, 0) == sbx_frame_word(SBX_MODULE_NONE, 0, 0));
    assert_int_equal(machine->walk.frames[0].frame_id, machine->walk.frames[1].frame_id);
}

/* Its frames are four words with the return address in the last; it does not use fp. */
static bool step_four_words(struct sbx_code_frame *frame)
{
    uint64_t slot = frame->sp + 24;
    if (slot < frame->stack_low || slot + 8 > frame->stack_high) {
        return false;
    }
    frame->pc = *(const uint64_t *)(uintptr_t)(slot + (uint64_t)frame->stack_delta);
    frame->sp = slot + 8;
    return true;
}

static bool step_nowhere(struct sbx_code_frame *frame)
{
    frame->pc = code_at(CODE_END); /* sp stays the same */
    return true;
}

static void test_generated_code_is_stepped_through_by_the_runtime_that_made_it(void **state)
{
    struct walk_machine *machine = *state;
    assert_true(sbx_generated_add(&(struct sbx_generated_range){0x41000, 0x42000, step_four_words, 2}));
    assert_true(sbx_generated_add(&(struct sbx_generated_range){0x43000, 0x44000, step_nowhere, 3}));
    machine->start.fp = stack_at(100); /* leads nowhere */
    machine->stack[0] = 0x41100;       /* code with rows was called by generated code */
    machine->stack[4] = 0x42000;       /* it returns to the range's end, because its call was the last instruction */
    machine->stack[8] = code_at(CODE_LEAF);
    machine->stack[9] = code_at(CODE_END);
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_LEAF), 0x41100, 0x42000, code_at(CODE_LEAF), code_at(CODE_END)));
    assert_true(word_of_frame(machine, 1) == sbx_generated_word(2));
    assert_true(word_of_frame(machine, 2) == sbx_generated_word(2));
    assert_int_not_equal(machine->walk.frames[2].flags & SBX_FRAME_OPAQUE, 0); /* no slot says what the frame is */
    machine->stack[0] = 0x43100; /* a step that does not rise is refused, and so is this frame pointer */
    machine->start.fp = 0;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_NO_MODULE, PCS(code_at(CODE_LEAF), 0x43100));
    assert_true(word_of_frame(machine, 1) == sbx_generated_word(3));
}

static void test_links_that_lead_to_no_code_are_no_frames(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.fp = stack_at(10);
    machine->stack[10] = stack_at(20);
    machine->stack[11] = 0x10000;
    machine->stack[20] = stack_at(5); /* back to a lower address */
    machine->stack[21] = 0x30000;
    machine->stack[0] = 0x20000;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_NO_MODULE, PCS(code_at(CODE_LEAF), 0x20000));
    machine->stack[21] = 0;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_NO_MODULE, PCS(code_at(CODE_LEAF), 0x20000));
}

/* A thread that was just cloned is in code without a row, with the fp that its parent left. */
static void test_link_from_code_without_a_row_to_no_code_is_no_frame(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.fp = stack_at(10);
    machine->stack[10] = stack_at(10);
    machine->stack[11] = 0x20000;
    walk(machine, code_at(CODE_NONE), SBX_WALK_NO_ROW, PCS(code_at(CODE_NONE)));
    machine->stack[10] = stack_at(20); /* past a second frame without a row, and a frame of generated code */
    machine->stack[11] = LIBRARY + 0x20;
    machine->stack[20] = stack_at(30);
    machine->stack[21] = 0x20000;
    machine->stack[31] = 0x30000;
    walk(machine, code_at(CODE_NONE), SBX_WALK_NO_ROW, PCS(code_at(CODE_NONE)));
    machine->stack[31] = code_at(CODE_END); /* frames count when they lead to code */
    walk(machine, code_at(CODE_NONE), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_NONE), LIBRARY + 0x20, 0x20000, code_at(CODE_END)));
}

static void test_addresses_beyond_user_space_are_in_no_module(void **state)
{
    struct walk_machine *machine = *state;
    const uint64_t beyond[] = {0, UINT64_C(1) << 63 | PROGRAM, UINT64_MAX, UINT64_C(0xffffffffff600000)};
    for (size_t i = 0; i < SBX_COUNT_OF(beyond); i++) {
        walk(machine, beyond[i], SBX_WALK_NO_MODULE, PCS(beyond[i]));
    }
    machine->start.pc_is_exact = false;
    walk(machine, 0, SBX_WALK_NO_MODULE, PCS(0));
    walk(machine, UINT64_C(1) << 63 | code_at(CODE_LEAF), SBX_WALK_NO_MODULE,
         PCS(UINT64_C(1) << 63 | code_at(CODE_LEAF)));
}

static void test_pending_rows_end_the_walk_and_are_asked_for_again(void **state)
{
    struct walk_machine *machine = *state;
    machine->stack[0] = PENDING + 0x14;
    machine->stack[1] = code_at(CODE_END);
    walk(machine, code_at(CODE_LEAF), SBX_WALK_ROWS_PENDING, PCS(code_at(CODE_LEAF), PENDING + 0x14));
    struct sbx_unwind_rows rows = machine->rows; /* now the same code has rows */
    rows.base = 0;
    machine->map->ranges[2].rows = &rows;
    machine->map->ranges[2].flags = 0;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF), PENDING + 0x14, code_at(CODE_END)));
}

/* ---- ends ---- */

static void test_unsupported_rule_ends_the_walk(void **state)
{
    struct walk_machine *machine = *state;
    walk(machine, code_at(CODE_UNSUPPORTED), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_UNSUPPORTED)));
}

static void test_stack_that_does_not_grow_is_no_progress(void **state)
{
    struct walk_machine *machine = *state;
    walk(machine, code_at(CODE_BACKWARDS), SBX_WALK_NO_PROGRESS, PCS(code_at(CODE_BACKWARDS)));
    machine->start.sp = stack_at(12);
    machine->start.fp = stack_at(10);
    walk(machine, code_at(CODE_FP), SBX_WALK_NO_PROGRESS, PCS(code_at(CODE_FP)));
}

static void test_slots_outside_the_window_are_bad_memory(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.sp = stack_at(STACK_WORDS);
    walk(machine, code_at(CODE_LEAF), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_LEAF)));
    machine->start.sp = stack_at(STACK_WORDS - 3);
    walk(machine, code_at(CODE_SP_32), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_SP_32)));
    machine->start.sp = STACK - 8;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_LEAF)));
    machine->start.sp = STACK + 4; /* not at a word */
    walk(machine, code_at(CODE_LEAF), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_LEAF)));
    machine->start.sp = STACK;
    machine->start.fp = stack_at(3) + 1;
    walk(machine, code_at(CODE_FP), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_FP)));
    machine->window.hi = machine->window.lo; /* no memory may be read at all */
    walk(machine, code_at(CODE_LEAF), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_LEAF)));
    machine->window.hi = machine->window.lo - 8;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_BAD_MEMORY, PCS(code_at(CODE_LEAF)));
}

static void walk_deep(struct walk_machine *machine, const uint64_t *deep, size_t words)
{
    struct sbx_stack_window window = {STACK, STACK + words * 8, (int64_t)((uint64_t)(uintptr_t)deep - STACK)};
    machine->start.pc = code_at(CODE_LEAF);
    sbx_walk_stack(machine->map, machine->cache, &machine->table.table, sbx_callstack_epoch(&machine->table.table),
                   &window, &machine->start, &machine->walk);
}

static void test_deep_stack_keeps_both_ends_around_a_marker(void **state)
{
    struct walk_machine *machine = *state;
    static uint64_t deep[3 * SBX_WALK_MAX];
    const uint32_t leaf_max = SBX_WALK_MAX - SBX_WALK_ROOT;
    for (uint32_t frames = SBX_WALK_MAX - 1; frames < SBX_WALK_MAX + 2 * SBX_WALK_ROOT + 3; frames++) {
        for (uint32_t i = 0; i + 2 < frames; i++) {
            deep[i] = code_at(CODE_LEAF);
        }
        deep[frames - 2] = code_at(CODE_END); /* the outermost frame; the leaf is in no slot */
        walk_deep(machine, deep, SBX_COUNT_OF(deep));
        const struct sbx_walk *walked = &machine->walk;
        assert_int_equal(walked->end, SBX_WALK_COMPLETE);
        uint32_t omitted = frames > SBX_WALK_MAX ? frames - SBX_WALK_MAX : 0;
        assert_int_equal(walked->omitted, omitted);
        assert_int_equal(walked->count, frames - omitted + (omitted != 0));
        for (uint32_t i = 0; i < walked->count; i++) {
            if (omitted != 0 && i == leaf_max) {
                assert_true(word_of_frame(machine, i) == sbx_frame_word(SBX_MODULE_CUT, 0, 0));
                continue;
            }
            uint32_t depth = omitted != 0 && i > leaf_max ? i - 1 + omitted : i;
            assert_true(walked->frames[i].sp == STACK + depth * 8);
            assert_true(walked->frames[i].pc == (depth == frames - 1 ? code_at(CODE_END) : code_at(CODE_LEAF)));
        }
    }
}

static void test_endless_stack_is_given_up_with_both_ends_and_the_reason(void **state)
{
    struct walk_machine *machine = *state;
    static uint64_t deep[SBX_WALK_STEPS + 64];
    for (size_t i = 0; i < SBX_COUNT_OF(deep); i++) {
        deep[i] = code_at(CODE_LEAF);
    }
    walk_deep(machine, deep, SBX_COUNT_OF(deep));
    assert_int_equal(machine->walk.end, SBX_WALK_TOO_DEEP);
    assert_int_equal(machine->walk.count, SBX_WALK_MAX + 2);
    assert_int_equal(machine->walk.omitted, SBX_WALK_STEPS - SBX_WALK_MAX);
    assert_true(word_of_frame(machine, SBX_WALK_MAX + 1) == sbx_frame_word(SBX_MODULE_END, SBX_WALK_TOO_DEEP, 0));
}

static void test_full_frame_table_leaves_id_zero_last(void **state)
{
    struct walk_machine *machine = *state;
    struct frame_table_fixture small;
    frame_table_fixture_init(&small, 64);
    uint32_t id = 1;
    for (uint64_t word = 1; id != 0; word++) {
        id = sbx_frame_intern(&small.table, sbx_callstack_epoch(&small.table), sbx_frame_word(9, word, 0));
    }
    uint64_t drops = small.header->drops[SBX_DROP_FRAME_OVERFLOW];
    machine->stack[0] = code_at(CODE_END);
    machine->start.pc = code_at(CODE_LEAF);
    for (int twice = 0; twice < 2; twice++) { /* the failure must not be remembered as an id */
        sbx_walk_stack(machine->map, machine->cache, &small.table, sbx_callstack_epoch(&small.table), &machine->window,
                       &machine->start, &machine->walk);
        assert_int_equal(machine->walk.frames[machine->walk.count - 1].frame_id, 0);
        assert_int_equal(machine->walk.end, SBX_WALK_TOO_DEEP);
    }
    assert_true(small.header->drops[SBX_DROP_FRAME_OVERFLOW] >= drops + 2);
    frame_table_fixture_finish(&small);
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF), code_at(CODE_END)));
}

/* ---- what is left out, and what is remembered ---- */

static void test_frames_of_our_library_are_walked_and_left_out_of_the_callstack(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t ours = OURS + CODE_LEAF * 0x10 + 4;
    machine->stack[0] = ours;
    machine->stack[1] = code_at(CODE_LEAF);
    machine->stack[2] = ours; /* our hook called the program's callback */
    machine->stack[3] = code_at(CODE_END);
    for (int twice = 0; twice < 2; twice++) { /* first looked up, then from the cache */
        walk(machine, ours, SBX_WALK_COMPLETE, PCS(ours, ours, code_at(CODE_LEAF), ours, code_at(CODE_END)));
        for (uint32_t i = 0; i < 5; i++) {
            bool is_ours = machine->walk.frames[i].pc == ours;
            assert_int_equal((machine->walk.frames[i].flags & SBX_FRAME_SKIPPED) != 0, is_ours);
        }
    }
    uint32_t epoch = sbx_callstack_epoch(&machine->table.table);
    uint32_t kept[] = {machine->walk.frames[2].frame_id, machine->walk.frames[4].frame_id};
    assert_int_equal(sbx_walk_intern(&machine->walk, &machine->table.table, epoch),
                     sbx_callstack_intern(&machine->table.table, epoch, kept, 2));
}

static void test_new_generation_forgets_what_was_cached(void **state)
{
    struct walk_machine *machine = *state;
    machine->stack[0] = code_at(CODE_END);
    machine->stack[3] = code_at(CODE_END) + 1;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF), code_at(CODE_END)));
    machine->rules[CODE_LEAF] = machine->rules[CODE_SP_32]; /* another module lies there now */
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF), code_at(CODE_END)));
    machine->map->generation++;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE, PCS(code_at(CODE_LEAF), code_at(CODE_END) + 1));
}

static void test_addresses_that_share_a_set_stay_apart(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t first = LIBRARY + 1, second = first + SBX_WALK_CACHE_SLOTS / 2, third = second + SBX_WALK_CACHE_SLOTS / 2;
    for (int round = 0; round < 3; round++) {
        walk(machine, first, SBX_WALK_NO_ROW, PCS(first));
        walk(machine, second, SBX_WALK_NO_ROW, PCS(second));
        walk(machine, third, SBX_WALK_NO_ROW, PCS(third));
        assert_true(word_of_frame(machine, 0) == sbx_frame_word(4, third - LIBRARY, 1));
    }
}

static void test_map_finds_the_range_of_an_address(void **state)
{
    struct walk_machine *machine = *state;
    const struct sbx_code_map *map = machine->map;
    assert_null(sbx_code_map_find(map, 0));
    assert_null(sbx_code_map_find(map, PROGRAM - 1));
    assert_ptr_equal(sbx_code_map_find(map, PROGRAM), &map->ranges[0]);
    assert_ptr_equal(sbx_code_map_find(map, PROGRAM + MODULE_BYTES - 1), &map->ranges[0]);
    assert_null(sbx_code_map_find(map, PROGRAM + MODULE_BYTES));
    assert_ptr_equal(sbx_code_map_find(map, OURS + 1), &map->ranges[3]);
    assert_null(sbx_code_map_find(map, OURS + MODULE_BYTES));
    assert_null(sbx_code_map_find(map, UINT64_MAX));
    struct sbx_code_map empty = {0};
    assert_null(sbx_code_map_find(&empty, PROGRAM));
}

/* ---- rubbish ---- */

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* A word that misleads the walker as much as possible. */
static uint64_t misleading_word(uint64_t *random, uint64_t lo, uint64_t bytes)
{
    uint64_t value = next_random(random);
    uint64_t choice = value >> 8;
    switch (value % 32) {
    case 0:
        return value;
    case 1:
        return 0;
    case 2:
        return LIBRARY + choice % 0x100;
    case 3:
        return lo + choice % bytes; /* unaligned */
    case 4:
    case 5:
    case 6:
        return lo + choice % (bytes + 64) / 8 * 8 - 32;
    case 7:
        return PROGRAM + choice % (CODE_COUNT * 0x10);
    case 8:
    case 9:
        return PROGRAM + CODE_LEAF * 0x10 + choice % ((CODE_PLT + 1 - CODE_LEAF) * 0x10);
    default: /* code whose rule nearly always leads to another frame */
        return PROGRAM + CODE_LEAF * 0x10 + choice % ((CODE_SP_FP + 1 - CODE_LEAF) * 0x10);
    }
}

/* The window ends where an unreadable page begins, or begins where one ends. */
static void test_rubbish_is_never_read_beyond_the_window(void **state)
{
    struct walk_machine *machine = *state;
    struct guarded_bytes stack;
    uint64_t random = 88172645463325252u, ends[SBX_WALK_ROWS_PENDING + 1] = {0}, frames = 0;
    enum {
        BYTES = 4096
    };
    guarded_bytes_init(&stack, BYTES);
    uint64_t lo = (uint64_t)(uintptr_t)stack.at;
    for (uint32_t i = 0; i < RANDOM_STACKS; i++) {
        for (uint32_t word = 0; word < 64; word++) { /* a part is new each time */
            uint64_t at = next_random(&random) % (BYTES / 8);
            ((uint64_t *)(void *)stack.at)[at] = misleading_word(&random, lo, BYTES);
        }
        struct sbx_stack_window window = {lo, lo + BYTES, 0};
        struct sbx_walk_registers start = {
            .pc = code_at((enum code)(next_random(&random) % CODE_COUNT)),
            .sp = lo + next_random(&random) % (BYTES / 8) * 8,
            .fp = misleading_word(&random, lo, BYTES),
            .pc_is_exact = next_random(&random) & 1,
            .fp_known = next_random(&random) & 1,
        };
        sbx_walk_stack(machine->map, machine->cache, &machine->table.table, sbx_callstack_epoch(&machine->table.table),
                       &window, &start, &machine->walk);
        assert_true(machine->walk.count >= 1 && machine->walk.count <= SBX_WALK_MAX + 2);
        assert_true(machine->walk.end <= SBX_WALK_ROWS_PENDING);
        for (uint32_t f = 0; f < machine->walk.count; f++) {
            assert_int_not_equal(machine->walk.frames[f].frame_id, 0);
            assert_true(machine->walk.frames[f].slot == 0 ||
                        (machine->walk.frames[f].slot >= lo && machine->walk.frames[f].slot <= lo + BYTES - 8));
        }
        ends[machine->walk.end]++;
        frames += machine->walk.count;
    }
    print_message("%u stacks, %lu frames\n", (unsigned)RANDOM_STACKS, frames);
    assert_true(frames > 3 * RANDOM_STACKS); /* the stacks do lead on */
    assert_true(ends[SBX_WALK_BAD_MEMORY] > 0 && ends[SBX_WALK_NO_MODULE] > 0 && ends[SBX_WALK_NO_PROGRESS] > 0);
    assert_true(ends[SBX_WALK_NO_ROW] > 0 && ends[SBX_WALK_UNSUPPORTED] > 0 && ends[SBX_WALK_COMPLETE] > 0);
    guarded_bytes_finish(&stack);
}

#define WALK_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WALK_TEST(test_frames_off_the_stack_pointer_are_walked_to_the_end),
        WALK_TEST(test_return_address_zero_is_the_end),
        WALK_TEST(test_return_address_is_looked_up_by_its_call),
        WALK_TEST(test_frame_pointer_is_restored_from_its_slot),
        WALK_TEST(test_unknown_frame_pointer_is_not_used),
        WALK_TEST(test_frame_pointer_slot_outside_the_window_loses_it),
        WALK_TEST(test_realigned_frame_is_left_by_its_saved_stack_pointer),
        WALK_TEST(test_frame_pointer_that_points_out_of_its_frame_was_popped_already),
        WALK_TEST(test_saved_stack_pointer_off_the_stack_pointer_is_followed),
        WALK_TEST(test_plt_stub_has_pushed_from_its_limit_on),
        WALK_TEST(test_other_registers_need_the_interrupted_context),
        WALK_TEST(test_signal_frame_gives_every_register),
        WALK_TEST(test_interrupted_stack_elsewhere_ends_behind_the_interrupted_frame),
        WALK_TEST(test_signal_frame_that_is_cut_off_is_bad_memory),
        WALK_TEST(test_code_without_rows_is_stepped_by_frame_pointer),
        WALK_TEST(test_implausible_frame_pointer_ends_as_no_row),
        WALK_TEST(test_generated_code_is_crossed_by_frame_pointer),
        WALK_TEST(test_generated_code_is_stepped_through_by_the_runtime_that_made_it),
        WALK_TEST(test_links_that_lead_to_no_code_are_no_frames),
        WALK_TEST(test_link_from_code_without_a_row_to_no_code_is_no_frame),
        WALK_TEST(test_addresses_beyond_user_space_are_in_no_module),
        WALK_TEST(test_pending_rows_end_the_walk_and_are_asked_for_again),
        WALK_TEST(test_unsupported_rule_ends_the_walk),
        WALK_TEST(test_stack_that_does_not_grow_is_no_progress),
        WALK_TEST(test_slots_outside_the_window_are_bad_memory),
        WALK_TEST(test_deep_stack_keeps_both_ends_around_a_marker),
        WALK_TEST(test_endless_stack_is_given_up_with_both_ends_and_the_reason),
        WALK_TEST(test_full_frame_table_leaves_id_zero_last),
        WALK_TEST(test_frames_of_our_library_are_walked_and_left_out_of_the_callstack),
        WALK_TEST(test_new_generation_forgets_what_was_cached),
        WALK_TEST(test_addresses_that_share_a_set_stay_apart),
        WALK_TEST(test_map_finds_the_range_of_an_address),
        WALK_TEST(test_rubbish_is_never_read_beyond_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
