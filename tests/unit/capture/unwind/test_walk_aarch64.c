/* SPDX-License-Identifier: Apache-2.0 */
/* test_walk_aarch64.c - aarch64's rules and the link register, on stacks that are laid out by hand; and random stacks.
 *
 * What walks have in common on both architectures is tested in test_frame_walker.c. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "stack_replay.h"
#include "walk_machine.h"

enum {
    OTHER = 0x500000,         /* a module without rows: frame pointers */
    SIGNAL_RETURN = 0x600000, /* in no module, as under qemu */
    RANDOM_STACKS = 100000,
};

enum code { /* index of a rule */
    CODE_NONE,
    CODE_LEAF,    /* sp + 0, return address in x30 */
    CODE_LEAF_32, /* sp + 32, in x30 */
    CODE_RECORD,  /* sp + 32, {x29, x30} at sp */
    CODE_UPPER,   /* sp + 48, {x29, x30} at sp + 16 */
    CODE_FP,      /* fp + 16, {x29, x30} at fp */
    CODE_ALONE,   /* sp + 32, x30 at sp, x29 as it is */
    CODE_FAR,     /* sp + 3200, {x29, x30} at sp + 8, named from below */
    CODE_X1,      /* x1 + 16, {x29, x30} at x1 */
    CODE_END,
    CODE_COUNT
};

static struct sbx_replay replay;

static int setup(void **state)
{
    const uint32_t rules[CODE_COUNT] = {
        [CODE_NONE] = SBX_RULE_NONE,
        [CODE_LEAF] = rule(SBX_RULE_FROM_SP, 0, 0),
        [CODE_LEAF_32] = rule(SBX_RULE_FROM_SP, 32, 0),
        [CODE_RECORD] = rule(SBX_RULE_FROM_SP, 32, 4),
        [CODE_UPPER] = rule(SBX_RULE_FROM_SP, 48, 4),
        [CODE_FP] = rule(SBX_RULE_FROM_FP, 16, 2),
        [CODE_ALONE] = 2u << SBX_RULE_APART_SHIFT | 4u << SBX_RULE_RETURN_SHIFT | (uint32_t)SBX_RULE_APART,
        [CODE_FAR] = rule(SBX_RULE_RECORD_AT_SP, 3200, 2),
        [CODE_X1] = 2u << SBX_RULE_REGISTER_OFFSET_SHIFT | 1u << SBX_RULE_VALUE_SHIFT | 2u << SBX_RULE_FP_SHIFT |
                    (uint32_t)SBX_RULE_FROM_REGISTER,
        [CODE_END] = SBX_RULE_END,
    };
    struct walk_machine *machine = walk_machine_create(rules, CODE_COUNT, 0);
    machine->map->signal_return = SIGNAL_RETURN;
    walk_machine_add(machine, (struct sbx_code_range){OTHER, OTHER + MODULE_BYTES, 0, 4, 0, NULL});
    memset(&replay, 0, sizeof replay);
    *state = machine;
    return 0;
}

static int teardown(void **state)
{
    walk_machine_destroy(*state);
    return 0;
}

/* {x29, x30} at a word of the stack. */
static void put_record(struct walk_machine *machine, uint32_t word, uint64_t fp, uint64_t return_address)
{
    machine->stack[word] = fp;
    machine->stack[word + 1] = return_address;
}

static void hold_link(struct walk_machine *machine, uint64_t link)
{
    machine->start.link = link;
    machine->start.link_known = true;
}

static void test_records_lead_to_the_root(void **state)
{
    struct walk_machine *machine = *state;
    put_record(machine, 0, stack_at(20), code_at(CODE_UPPER));  /* of CODE_RECORD, 4 words */
    put_record(machine, 4 + 2, stack_at(20), code_at(CODE_FP)); /* of CODE_UPPER, 6 words */
    put_record(machine, 20, 0, code_at(CODE_ALONE));            /* of CODE_FP, up to word 22 */
    machine->stack[22] = code_at(CODE_FAR);                     /* of CODE_ALONE, 4 words */
    put_record(machine, 26 + 1, 0, code_at(CODE_END));          /* of CODE_FAR */
    walk(machine, code_at(CODE_RECORD), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_RECORD), code_at(CODE_UPPER), code_at(CODE_FP), code_at(CODE_ALONE), code_at(CODE_FAR),
             code_at(CODE_END)));
    assert_int_equal(machine->walk.frames[1].slot, stack_at(1));
    assert_int_equal(machine->walk.frames[1].fp_slot, stack_at(0));
    assert_int_equal(machine->walk.frames[4].slot, stack_at(22));
    assert_int_equal(machine->walk.frames[5].sp, stack_at(26) + 3200);
}

static void test_an_interrupted_leaf_returns_by_its_link_register(void **state)
{
    struct walk_machine *machine = *state;
    put_record(machine, 0, 0, code_at(CODE_END));
    hold_link(machine, code_at(CODE_RECORD));
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_LEAF), code_at(CODE_RECORD), code_at(CODE_END)));
    assert_int_equal(machine->walk.frames[1].slot, 0);
    put_record(machine, 4, 0, code_at(CODE_END));
    walk(machine, code_at(CODE_LEAF_32), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_LEAF_32), code_at(CODE_RECORD), code_at(CODE_END)));
}

static void test_the_link_register_counts_once(void **state)
{
    struct walk_machine *machine = *state;
    hold_link(machine, code_at(CODE_LEAF)); /* a caller cannot be a leaf, so the rule does not belong to this address */
    walk(machine, code_at(CODE_LEAF), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_LEAF), code_at(CODE_LEAF)));
}

static void test_a_leaf_whose_registers_are_unknown_ends_the_walk(void **state)
{
    struct walk_machine *machine = *state;
    put_record(machine, 0, 0, code_at(CODE_END));
    machine->start.fp_known = false;
    walk(machine, code_at(CODE_LEAF), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_LEAF)));
}

static void test_signed_return_addresses_are_followed(void **state)
{
    struct walk_machine *machine = *state;
    put_record(machine, 0, 0, code_at(CODE_RECORD) | UINT64_C(0x003d000000000000));
    put_record(machine, 4, 0, code_at(CODE_END) | UINT64_C(0xb51a000000000000));
    hold_link(machine, code_at(CODE_RECORD) | UINT64_C(0x0055000000000000));
    walk(machine, code_at(CODE_LEAF), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_LEAF), code_at(CODE_RECORD), code_at(CODE_RECORD), code_at(CODE_END)));
}

static void test_signal_return_leads_to_the_interrupted_registers(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t *registers = &machine->stack[4 + SBX_CONTEXT_AT / 8];
    put_record(machine, 0, stack_at(100), SIGNAL_RETURN); /* the handler's */
    registers[SBX_CONTEXT_PC] = code_at(CODE_LEAF);
    registers[SBX_CONTEXT_SP] = stack_at(200);
    registers[SBX_CONTEXT_FP] = stack_at(300);
    registers[SBX_CONTEXT_LINK] = code_at(CODE_FP);
    put_record(machine, 300, 0, code_at(CODE_END));
    walk(machine, code_at(CODE_RECORD), SBX_WALK_COMPLETE,
         PCS(code_at(CODE_RECORD), SIGNAL_RETURN, code_at(CODE_LEAF), code_at(CODE_FP), code_at(CODE_END)));
    assert_int_equal(machine->walk.frames[2].flags & SBX_FRAME_IS_EXACT, SBX_FRAME_IS_EXACT);
    /* Interrupted in the trampoline itself, at each of its instructions, and by another signal. */
    memmove(&machine->stack[0], &machine->stack[4], 80 * sizeof(uint64_t));
    for (uint64_t at = SIGNAL_RETURN; at < SIGNAL_RETURN + 8; at += 4) {
        walk(machine, at, SBX_WALK_COMPLETE, PCS(at, code_at(CODE_LEAF), code_at(CODE_FP), code_at(CODE_END)));
    }
}

static void test_a_register_of_the_context_may_hold_the_cfa(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t context[SBX_CONTEXT_WORDS] = {[1] = stack_at(50)};
    put_record(machine, 50, 0, code_at(CODE_END));
    machine->start.context = context;
    walk(machine, code_at(CODE_X1), SBX_WALK_COMPLETE, PCS(code_at(CODE_X1), code_at(CODE_END)));
    machine->start.context = NULL;
    walk(machine, code_at(CODE_X1), SBX_WALK_UNSUPPORTED, PCS(code_at(CODE_X1)));
}

static void test_code_without_rows_is_stepped_by_frame_pointer_and_tells_no_sp(void **state)
{
    struct walk_machine *machine = *state;
    machine->start.fp = stack_at(10);
    put_record(machine, 10, stack_at(20), code_at(CODE_RECORD)); /* sp of that frame lies anywhere from word 12 on */
    put_record(machine, 20, stack_at(30), code_at(CODE_FP));     /* but it has a record where its fp points */
    put_record(machine, 30, 0, code_at(CODE_RECORD));            /* and this one tells its sp: word 32 */
    put_record(machine, 32, 0, code_at(CODE_END));
    walk(machine, OTHER + 0x40, SBX_WALK_COMPLETE,
         PCS(OTHER + 0x40, code_at(CODE_RECORD), code_at(CODE_FP), code_at(CODE_RECORD), code_at(CODE_END)));
    put_record(machine, 10, stack_at(20), code_at(CODE_ALONE)); /* has no record: fp points at that of another frame */
    walk(machine, OTHER + 0x40, SBX_WALK_UNSUPPORTED, PCS(OTHER + 0x40, code_at(CODE_ALONE)));
}

/* A leaf is called by one function and then, with the same stack pointer, by another. */
static void test_replay_asks_the_link_register_again(void **state)
{
    struct walk_machine *machine = *state;
    struct sbx_stack_window window = machine->window;
    struct sbx_walk_registers start = machine->start;
    uint64_t at = (uint64_t)(uintptr_t)machine->stack; /* replay reads in place */
    window.lo = at;
    window.hi = at + sizeof machine->stack;
    window.delta = 0;
    start.sp = at;
    start.pc = code_at(CODE_LEAF);
    start.link_known = true;
    put_record(machine, 0, 0, code_at(CODE_RECORD));
    put_record(machine, 4, 0, code_at(CODE_END));
    put_record(machine, 2, 0, code_at(CODE_RECORD)); /* of CODE_UPPER, whose caller is at word 6 */
    put_record(machine, 6, 0, code_at(CODE_END));
    uint32_t stacks[2];
    for (unsigned round = 0; round < 6; round++) {
        start.link = code_at(round % 2 == 0 ? CODE_RECORD : CODE_UPPER);
        uint32_t stack = sbx_replay_stack(&replay, machine->map, machine->cache, &machine->table.table, &window, &start,
                                          &machine->walk);
        assert_int_equal(replay.end, SBX_WALK_COMPLETE);
        assert_int_equal(replay.depth, 4);
        assert_int_equal(replay.frames[2].pc, start.link);
        assert_true(sbx_replay_has_frame(&replay, at + (round % 2 == 0 ? 8 : 24), code_at(CODE_RECORD)));
        assert_true(sbx_replay_has_frame(&replay, at + (round % 2 == 0 ? 40 : 56), code_at(CODE_END)));
        if (round < 2) {
            stacks[round] = stack;
        }
        assert_int_equal(stack, stacks[round % 2]);
    }
    assert_int_not_equal(stacks[0], stacks[1]);
}

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void test_stacks_of_rubbish_end(void **state)
{
    struct walk_machine *machine = *state;
    uint64_t random = 0x9e3779b97f4a7c15;
    uint32_t longest = 0;
    for (uint32_t round = 0; round < RANDOM_STACKS; round++) {
        for (uint32_t i = 0; i < 96; i++) {
            uint64_t word = next_random(&random);
            machine->stack[i] = word % 4 == 0   ? code_at((enum code)(word >> 8) % CODE_COUNT)
                                : word % 4 == 1 ? stack_at((uint32_t)(word >> 8) % STACK_WORDS)
                                : word % 4 == 2 ? (word & 256 ? SIGNAL_RETURN : OTHER + 8)
                                                : word;
        }
        machine->start.pc = code_at((enum code)next_random(&random) % CODE_COUNT);
        machine->start.fp = next_random(&random) % 2 ? stack_at(next_random(&random) % 96) : next_random(&random);
        machine->start.link = code_at((enum code)next_random(&random) % CODE_COUNT);
        machine->start.link_known = next_random(&random) % 2 != 0;
        sbx_walk_stack(machine->map, machine->cache, &machine->table.table, sbx_callstack_epoch(&machine->table.table),
                       &machine->window, &machine->start, &machine->walk);
        assert_true(machine->walk.count >= 1 && machine->walk.count <= SBX_WALK_MAX + 2);
        longest = machine->walk.count > longest ? machine->walk.count : longest;
    }
    assert_true(longest >= 6);
}

#define WALK_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WALK_TEST(test_records_lead_to_the_root),
        WALK_TEST(test_an_interrupted_leaf_returns_by_its_link_register),
        WALK_TEST(test_the_link_register_counts_once),
        WALK_TEST(test_a_leaf_whose_registers_are_unknown_ends_the_walk),
        WALK_TEST(test_signed_return_addresses_are_followed),
        WALK_TEST(test_signal_return_leads_to_the_interrupted_registers),
        WALK_TEST(test_a_register_of_the_context_may_hold_the_cfa),
        WALK_TEST(test_code_without_rows_is_stepped_by_frame_pointer_and_tells_no_sp),
        WALK_TEST(test_replay_asks_the_link_register_again),
        WALK_TEST(test_stacks_of_rubbish_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
