/* SPDX-License-Identifier: Apache-2.0 */
/* walk_machine.h - a simulated process whose stacks are laid out by hand, and one walk through it.
 *
 * The program at PROGRAM has a rule every 0x10 bytes. A test adds everything else (libraries, our own code) as
 * ranges. */
#ifndef SBX_TEST_WALK_MACHINE_H
#define SBX_TEST_WALK_MACHINE_H

#include <stdint.h>

#include "code_map_fixture.h"
#include "frame_walker.h"

enum {
    PROGRAM = 0x400000,
    MODULE_BYTES = 0x10000,
    STACK = 0x7fff0000,
    STACK_WORDS = 512,
    MACHINE_RULES_MAX = 16,
    MACHINE_RANGES_MAX = 4
};

struct walk_machine {
    struct sbx_code_map *map;
    struct sbx_unwind_rows rows;
    uint32_t offsets[MACHINE_RULES_MAX], rules[MACHINE_RULES_MAX], buckets[2];
    struct frame_table_fixture table;
    struct sbx_walk_cache *cache;
    uint64_t stack[STACK_WORDS];
    struct sbx_stack_window window;
    struct sbx_walk_registers start;
    struct sbx_walk walk;
};

/* A machine whose program (module 3, loaded `bias` above its own numbering) has these rules. Given:
 * walk_machine_destroy(). */
struct walk_machine *walk_machine_create(const uint32_t *rules, uint32_t count, uint64_t bias);
void walk_machine_destroy(struct walk_machine *machine);

/* Add MODULE_BYTES of code, at a higher address than all earlier code. */
void walk_machine_add(struct walk_machine *machine, struct sbx_code_range range);

/* A pc inside the code with the rule of that index, and the address of a word of the stack. */
static inline uint64_t code_at(uint32_t index)
{
    return PROGRAM + (uint64_t)index * 0x10 + 4;
}

static inline uint64_t stack_at(uint32_t word)
{
    return STACK + 8 * (uint64_t)word;
}

/* A rule of a kind that has a value and a place of the frame pointer. */
static inline uint32_t rule(uint32_t kind, int64_t offset, uint32_t fp)
{
    return (uint32_t)(offset / 8) << SBX_RULE_VALUE_SHIFT | fp << SBX_RULE_FP_SHIFT | kind;
}

/* Walk from `pc` and the machine's start registers, and expect these pcs and that end. */
void walk(struct walk_machine *machine, uint64_t pc, uint32_t end, const uint64_t *pcs, uint32_t count);

#define PCS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

#endif
