/* SPDX-License-Identifier: Apache-2.0 */
/* test_stack_replay.c - replay compared with a full walk of the same stack, millions of times: from every level of
 * random stacks, at every instruction, and where signals interrupt. All use one memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "code_map_fixture.h"
#include "stack_replay.h"
#include "order.h"
#include "registers.h"
#include "stack_maze.h"

enum {
    COMPARISONS = 1500000 / ROUNDS_DIVISOR, /* STALLBOX_REPLAY_COMPARISONS sets another number, as the soak does */
    STEPPED_INSTRUCTIONS = 150000 / ROUNDS_DIVISOR,
    ASYNC_SAMPLES = 3000,
};

static struct {
    struct code_map_fixture modules;
    struct frame_table_fixture table;
    struct sbx_walk_cache *cache, *other_cache;
    struct sbx_replay *replay;
    struct sbx_walk *scratch, *full;
    uint64_t stack_top;
    uint64_t comparisons, different, whole, partly, anew, not_kept, ended_early, overflown;
    atomic_int busy; /* the capture layer's `inside`: a handler does nothing during a replay */
} the;

static int setup(void **state)
{
    (void)state;
    code_map_fixture_init(&the.modules, 1);
    frame_table_fixture_init(&the.table, 1 << 16);
    the.cache = aligned_alloc(64, sizeof *the.cache);
    the.other_cache = aligned_alloc(64, sizeof *the.other_cache);
    the.replay = calloc(1, sizeof *the.replay);
    the.scratch = calloc(1, sizeof *the.scratch);
    the.full = calloc(1, sizeof *the.full);
    memset(the.cache, 0, sizeof *the.cache);
    memset(the.other_cache, 0, sizeof *the.other_cache);
    the.stack_top = own_stack_top();
    stack_maze_init();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    code_map_fixture_finish(&the.modules);
    frame_table_fixture_finish(&the.table);
    free(the.cache);
    free(the.other_cache);
    free(the.replay);
    free(the.scratch);
    free(the.full);
    return 0;
}

static void explain(uint32_t at)
{
    const struct sbx_replay *replay = the.replay;
    for (uint32_t i = at < 2 ? 0 : at - 2; i < at + 3 && i < the.full->count && i < replay->depth; i++) {
        const struct sbx_walk_frame *walked = &the.full->frames[i];
        const struct sbx_replay_frame *kept = &replay->frames[replay->depth - 1 - i];
        printf("frame %u: walked %lx sp %lx, replayed %lx sp %lx\n", i, walked->pc, walked->sp, kept->pc,
               replay->stack_high - (kept->sp_flags & ~7u));
    }
}

static void count_kind(void)
{
    const struct sbx_replay *replay = the.replay;
    the.ended_early += replay->end != SBX_WALK_COMPLETE;
    if (replay->depth == 0) {
        the.not_kept++;
    } else if (replay->changed_from == replay->depth) {
        the.whole++;
    } else if (replay->changed_from > 0) {
        the.partly++;
    } else {
        the.anew++;
    }
}

/* A frame is found by the slot of its return address exactly when that slot is remembered. */
static bool is_found_rightly(uint64_t slot, uint64_t pc)
{
    const struct sbx_replay *replay = the.replay;
    bool is_there = false;
    for (uint32_t i = 0; i < replay->frames[replay->depth - 1].checks; i++) {
        is_there |= replay->checks[i].address == slot && replay->checks[i].value == pc;
    }
    return sbx_replay_has_frame(replay, slot, pc) == is_there;
}

static bool finds_frames(void)
{
    bool right = true;
    for (uint32_t i = 0; i < the.full->count && the.replay->depth != 0; i++) {
        const struct sbx_walk_frame *walked = &the.full->frames[i];
        right = right && (walked->slot == 0 || (is_found_rightly(walked->slot, walked->pc) &&
                                                is_found_rightly(walked->slot, walked->pc + 1) &&
                                                is_found_rightly(walked->slot - 8, walked->pc)));
    }
    return right;
}

/* One capture, and a walk from the same place without any remembered frames. */
static void compare_from(const struct sbx_walk_registers *start)
{
    struct sbx_callstack_table *table = &the.table.table;
    struct sbx_stack_window window = {start->sp - SBX_RED_ZONE_BYTES, the.stack_top, 0};
    sbx_callstack_table_turn_if_full(table);
    uint32_t stack = sbx_replay_stack(the.replay, the.modules.map, the.cache, table, &window, start, the.scratch);
    uint32_t epoch = sbx_callstack_epoch(table);
    sbx_walk_stack(the.modules.map, the.other_cache, table, epoch, &window, start, the.full);
    uint32_t expected = sbx_walk_intern(the.full, table, epoch);
    the.comparisons++;
    count_kind();
    bool equal = stack == expected;
    the.overflown += stack == SBX_STACK_OVERFLOW; /* both had no place in the table: rare between two turns */
    if (the.replay->depth != 0) {                 /* what is remembered must be equal frame by frame, with registers */
        uint32_t depth = the.replay->depth;
        equal &= depth == the.full->count && the.replay->end == the.full->end;
        for (uint32_t i = 0; i < depth && equal; i++) {
            const struct sbx_walk_frame *walked = &the.full->frames[i];
            const struct sbx_replay_frame *kept = &the.replay->frames[depth - 1 - i];
            bool is_marker = walked->sp == 0;
            equal = kept->pc == walked->pc &&
                    (is_marker || the.replay->stack_high - (kept->sp_flags & ~7u) == walked->sp) &&
                    ((kept->sp_flags & SBX_REPLAY_FP_COUNTS) == 0 || (walked->flags & SBX_FRAME_FP_KNOWN) == 0 ||
                     kept->fp == walked->fp);
            if (!equal && the.different < 5) {
                explain(i);
            }
        }
    }
    if (!equal || (the.comparisons % 16 == 0 && !finds_frames())) {
        the.different++;
    }
}

static __attribute__((noinline)) void compare_here(void *context)
{
    (void)context;
    struct sbx_walk_registers start;
    sbx_registers_here(&start);
    atomic_store(&the.busy, 1);
    compare_from(&start);
    atomic_store(&the.busy, 0);
}

static void report(const char *what)
{
    print_message("%s: %lu captures: %lu replayed whole, %lu in part, %lu walked anew, %lu not kept; %lu ended early, "
                  "%lu without a place, %lu different\n",
                  what, the.comparisons, the.whole, the.partly, the.anew, the.not_kept, the.ended_early, the.overflown,
                  the.different);
}

static void forget_counts(void)
{
    the.comparisons = the.different = the.whole = the.partly = the.anew = the.not_kept = the.ended_early =
        the.overflown = 0;
}

static void test_replay_equals_a_full_walk_on_random_stacks(void **state)
{
    (void)state;
    const char *asked = getenv("STALLBOX_REPLAY_COMPARISONS");
    uint64_t wanted = asked != NULL ? strtoull(asked, NULL, 10) : COMPARISONS;
#ifdef __SANITIZE_ADDRESS__
    wanted /= 10;
#endif
    forget_counts();
    for (uint64_t seed = 1; the.comparisons < wanted; seed++) {
        struct stack_maze maze = {
            .random = (seed / 4 + 1) * UINT64_C(0x9e3779b97f4a7c15), /* the same stack four times */
            .depth = (uint32_t)(seed / 4 % 40),
            .signals = 2,
            .leaf = compare_here,
        };
        stack_maze_enter(&maze);
    }
    report("random stacks");
    assert_int_equal(the.different, 0);
    assert_true(the.overflown < wanted / 1000);
    assert_true(the.partly > wanted / 2);
    assert_true(the.anew > 0);
}

static uint32_t steps_left;

static void compare_interrupted(int number, siginfo_t *info, void *context)
{
    (void)info;
    ucontext_t *interrupted = context;
    int saved_errno = errno;
    struct sbx_walk_registers start;
    sbx_registers_interrupted(&start, interrupted);
    if (atomic_load(&the.busy) == 0) {
        compare_from(&start);
    }
#if defined(__x86_64__)
    if (number == SIGTRAP && steps_left > 0) {
        const greg_t trap_flag = 0x100;
        greg_t *flags = &interrupted->uc_mcontext.gregs[REG_EFL];
        *flags = --steps_left > 0 ? *flags | trap_flag : *flags & ~trap_flag;
    }
#else
    (void)number;
#endif
    errno = saved_errno;
}

static void take_signal(int number)
{
    struct sigaction action = {.sa_sigaction = compare_interrupted, .sa_flags = SA_SIGINFO | SA_RESTART};
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

/* The interrupted work: libc's functions and the maze's frames, whose leaves capture as well. */
static void work(uint64_t seed)
{
    char text[512];
    struct stack_maze maze = {.random = seed, .depth = 8, .signals = 1, .leaf = compare_here};
    stack_maze_enter(&maze);
    int bytes = snprintf(text, sizeof text, "%s %d %f %lx", "words and numbers", (int)seed, (double)seed / 7, seed);
    char *copy = strdup(text);
    assert_non_null(copy);
    assert_int_equal(strlen(copy), bytes);
    free(copy);
}

static void test_replay_equals_a_full_walk_at_every_instruction(void **state)
{
    (void)state;
#if !defined(__x86_64__)
    skip(); /* a process cannot trap its own instructions there */
#endif
    forget_counts();
    take_signal(SIGTRAP);
    steps_left = STEPPED_INSTRUCTIONS;
    raise(SIGTRAP); /* its handler traps the next instruction, and so on */
    for (uint64_t seed = 1; steps_left > 0; seed++) {
        work(seed * 1000003);
    }
    signal(SIGTRAP, SIG_DFL);
    report("single steps");
    assert_int_equal(the.different, 0);
    assert_true(the.partly > the.comparisons / 2 && the.comparisons > STEPPED_INSTRUCTIONS / 10);
}

static atomic_int sender_is_done;

static void *send_signals(void *context)
{
    pthread_t target = *(pthread_t *)context;
    for (uint32_t i = 0; i < ASYNC_SAMPLES; i++) {
        struct timespec pause = {0, 20000 + (i * 7919) % 50000};
        nanosleep(&pause, NULL);
        pthread_kill(target, SIGUSR1);
    }
    atomic_store(&sender_is_done, 1);
    return NULL;
}

static void test_replay_equals_a_full_walk_where_signals_strike(void **state)
{
    (void)state;
    forget_counts();
    take_signal(SIGUSR1);
    pthread_t self = pthread_self(), sender;
    atomic_store(&sender_is_done, 0);
    assert_int_equal(pthread_create(&sender, NULL, send_signals, &self), 0);
    for (uint64_t seed = 1; !atomic_load(&sender_is_done); seed++) {
        work(seed * 7919);
    }
    assert_int_equal(pthread_join(sender, NULL), 0);
    signal(SIGUSR1, SIG_DFL);
    report("interruptions");
    assert_int_equal(the.different, 0);
    assert_true(the.comparisons > 0);
}

/* The stack is the same, byte for byte, except for one word that decided a frame. */
static __attribute__((noinline)) void test_a_changed_slot_is_noticed(void **state)
{
    (void)state;
    compare_here(NULL);
    struct sbx_replay before = *the.replay;
    assert_true(before.depth > 4);
    uint32_t checks = before.frames[before.depth - 1].checks;
    assert_true(checks > 4);
    for (uint32_t i = 0; i < checks; i++) {
        /* Change the remembered word and not the stack itself, because the code will return through the stack. */
        *the.replay = before;
        the.replay->checks[i].value ^= 8;
        forget_counts();
        compare_here(NULL);
        assert_int_equal(the.different, 0);
        uint32_t decided = 0; /* the frame that the word decided */
        while (before.frames[decided].checks <= i) {
            decided++;
        }
        assert_true(the.replay->changed_from <= decided + 1);
    }
}

static void test_another_generation_or_epoch_is_walked_anew(void **state)
{
    (void)state;
    compare_here(NULL);
    assert_true(the.replay->depth > 0);
    the.replay->generation++;
    compare_here(NULL);
    assert_int_equal(the.replay->changed_from, 0);
    the.replay->epoch--;
    compare_here(NULL);
    assert_int_equal(the.replay->changed_from, 0);
    compare_here(NULL);
    assert_true(the.replay->changed_from > 0);
}

static __attribute__((noinline, noclone, optimize("O1"))) void go_deep(uint32_t levels)
{
    volatile char here[16];
    here[0] = (char)levels;
    if (levels == 0) {
        compare_here(NULL);
    } else {
        go_deep(levels - 1);
    }
    here[1] = here[0];
}

static void test_deep_stacks_are_not_kept_and_stay_right(void **state)
{
    (void)state;
    forget_counts();
    for (uint32_t levels = SBX_WALK_MAX - 60; levels < SBX_WALK_MAX + 60; levels++) {
        go_deep(levels);
    }
    go_deep(10);
    report("deep stacks");
    assert_int_equal(the.different, 0);
    assert_true(the.not_kept > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay_equals_a_full_walk_on_random_stacks),
        cmocka_unit_test(test_replay_equals_a_full_walk_at_every_instruction),
        cmocka_unit_test(test_replay_equals_a_full_walk_where_signals_strike),
        cmocka_unit_test(test_a_changed_slot_is_noticed),
        cmocka_unit_test(test_another_generation_or_epoch_is_walked_anew),
        cmocka_unit_test(test_deep_stacks_are_not_kept_and_stay_right),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
