/* SPDX-License-Identifier: Apache-2.0 */
/* walk_machine.c - a simulated process, and the properties of every walk through it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "walk_machine.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS_BITS ((UINT64_C(1) << 48) - 1)

struct walk_machine *walk_machine_create(const uint32_t *rules, uint32_t count, uint64_t bias)
{
    struct walk_machine *machine = aligned_alloc(64, (sizeof *machine + 63) / 64 * 64);
    assert_non_null(machine);
    assert_in_range(count, 1, MACHINE_RULES_MAX);
    memset(machine, 0, sizeof *machine);
    memcpy(machine->rules, rules, count * sizeof *rules);
    for (uint32_t i = 0; i < count; i++) {
        machine->offsets[i] = i * 0x10;
    }
    machine->buckets[1] = count;
    machine->rows = (struct sbx_unwind_rows){
        .offsets = machine->offsets,
        .rules = machine->rules,
        .count = count,
        .base = PROGRAM - bias,
        .buckets = machine->buckets,
        .bucket_count = 1,
    };
    machine->map = calloc(1, sizeof *machine->map + MACHINE_RANGES_MAX * sizeof machine->map->ranges[0]);
    assert_non_null(machine->map);
    machine->map->generation = 1;
    walk_machine_add(machine, (struct sbx_code_range){PROGRAM, PROGRAM + MODULE_BYTES, bias, 3, 0, &machine->rows});
    machine->cache = aligned_alloc(_Alignof(struct sbx_walk_cache), sizeof *machine->cache);
    assert_non_null(machine->cache);
    memset(machine->cache, 0, sizeof *machine->cache);
    frame_table_fixture_init(&machine->table, 4096);
    machine->window = (struct sbx_stack_window){
        .lo = STACK,
        .hi = STACK + sizeof machine->stack,
        .delta = (int64_t)((uint64_t)(uintptr_t)machine->stack - STACK),
    };
    machine->start = (struct sbx_walk_registers){.sp = STACK, .pc_is_exact = true, .fp_known = true};
    return machine;
}

void walk_machine_destroy(struct walk_machine *machine)
{
    frame_table_fixture_finish(&machine->table);
    free(machine->cache);
    free(machine->map);
    free(machine);
}

void walk_machine_add(struct walk_machine *machine, struct sbx_code_range range)
{
    assert_in_range(machine->map->count, 0, MACHINE_RANGES_MAX - 1);
    machine->map->ranges[machine->map->count++] = range;
}

void walk(struct walk_machine *machine, uint64_t pc, uint32_t end, const uint64_t *pcs, uint32_t count)
{
    machine->start.pc = pc;
    sbx_walk_stack(machine->map, machine->cache, &machine->table.table, sbx_callstack_epoch(&machine->table.table),
                   &machine->window, &machine->start, &machine->walk);
    const struct sbx_walk *found = &machine->walk;
    assert_int_equal(found->end, end);
    assert_int_equal(found->count, count + (end != SBX_WALK_COMPLETE));
    for (uint32_t i = 0; i < count; i++) {
        assert_true(found->frames[i].pc == pcs[i]);
        assert_int_not_equal(found->frames[i].frame_id, 0);
        if (i + 1 < count) {
            uint64_t slot = found->frames[i + 1].slot;
            if (slot == 0 &&
                (SBX_HAS_LINK_REGISTER ||
                 (frame_table_word(&machine->table, found->frames[i].frame_id) & SBX_FRAME_OFFSET_MASK) - 1 <
                     SBX_PROVIDERS_MAX)) {
                continue; /* the return address was in the register, or a runtime gave it */
            }
            assert_true(slot >= STACK && slot < STACK + sizeof machine->stack);
            uint64_t word = machine->stack[(slot - STACK) / 8];
            assert_true((SBX_HAS_LINK_REGISTER ? word & ADDRESS_BITS : word) == pcs[i + 1]); /* it may be signed */
        }
    }
    if (end != SBX_WALK_COMPLETE) {
        assert_true(frame_table_word(&machine->table, found->frames[count].frame_id) ==
                    sbx_frame_word(SBX_MODULE_END, end, 0));
        assert_true(found->frames[count].pc == 0 && found->frames[count].slot == 0);
    }
    assert_true(found->frames[0].slot == 0);
}
