/* SPDX-License-Identifier: Apache-2.0 */
/* test_callstack_table.c - equal stacks get equal ids, different stacks different ids, and a full table is counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "callstack_table.h"

enum {
    FRAMES = 4096 /* both halves */,
    NODES = 1024 /* a half */,
    DEPTH = 24
};

struct fixture {
    struct sbx_recording_header header;
    uint64_t frames[FRAMES];
    uint64_t nodes[2 * NODES];
    struct sbx_callstack_table table;
};

static int make_table(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL) {
        return -1;
    }
    fixture->header.frames = (struct sbx_section){offsetof(struct fixture, frames), FRAMES, 8};
    fixture->header.nodes = (struct sbx_section){offsetof(struct fixture, nodes), 2 * NODES, 8};
    fixture->header.epoch = 1;
    fixture->header.heartbeat_ns = 1000;
    sbx_callstack_table_init(&fixture->table, &fixture->header);
    *state = fixture;
    return 0;
}

static int free_table(void **state)
{
    free(*state);
    return 0;
}

static uint64_t word(uint32_t number)
{
    return sbx_frame_word(number % 7, 0x1000 + (uint64_t)number * 5, 0);
}

/* The frame an id stands for, without its epoch's tag. */
static uint64_t frame_at(const struct fixture *fixture, uint32_t id)
{
    return fixture->frames[id] & ~SBX_FRAME_TAG_MASK;
}

/* Intern a stack of `depth` frames that is calculated from `seed`. */
static uint32_t intern_stack(struct sbx_callstack_table *table, uint32_t seed, uint32_t depth)
{
    uint32_t frame_ids[DEPTH];
    for (uint32_t i = 0; i < depth; i++) {
        frame_ids[i] = sbx_frame_intern(table, sbx_callstack_epoch(table), word(seed * 31 + i * i));
    }
    return sbx_callstack_intern(table, sbx_callstack_epoch(table), frame_ids, depth);
}

/* Follow an id in the table as a reader would; true when it gives the stack of `seed`. */
static bool spells(const struct fixture *fixture, uint32_t id, uint32_t epoch, uint32_t seed, uint32_t depth)
{
    const uint64_t *half = fixture->nodes + (epoch & 1) * NODES;
    uint32_t node = id & 0xffffff;
    for (uint32_t i = 0; i < depth; i++) {
        if (node == 0 || node >= NODES || half[node] >> SBX_NODE_TAG_SHIFT != (epoch & 0xffff) ||
            fixture->frames[half[node] & SBX_NODE_FRAME_MASK] !=
                (word(seed * 31 + i * i) | (uint64_t)(epoch & 0xff) << SBX_FRAME_TAG_SHIFT)) {
            return false;
        }
        node = (uint32_t)(half[node] >> SBX_NODE_PARENT_SHIFT) & SBX_NODE_FRAME_MASK;
    }
    return node == 0;
}

static void fill_over_three_quarters(struct fixture *fixture, uint32_t seed)
{
    uint32_t epoch = fixture->header.epoch;
    for (uint32_t i = 0; fixture->table.node_used[epoch & 1] <= NODES * 3 / 4; i++) {
        assert_int_not_equal(sbx_node_intern(&fixture->table, epoch, 0, 1 + (seed + i) % 65000), 0);
    }
}

static uint32_t intern_frame(struct fixture *fixture, uint64_t frame_word)
{
    return sbx_frame_intern(&fixture->table, fixture->header.epoch, frame_word);
}

static void test_equal_frames_get_equal_ids_and_others_do_not(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t epoch = 1; epoch <= 2; epoch++) { /* each in its own half */
        bool taken[FRAMES] = {false};
        fixture->header.epoch = epoch;
        uint32_t half_at = (epoch & 1) * FRAMES / 2;
        for (uint32_t i = 0; i < FRAMES / 4; i++) {
            uint32_t id = intern_frame(fixture, word(i));
            assert_in_range(id, half_at + 1, half_at + FRAMES / 2 - 1);
            assert_false(taken[id]);
            taken[id] = true;
            assert_int_equal(frame_at(fixture, id), word(i));
        }
        for (uint32_t i = 0; i < FRAMES / 4; i++) {
            assert_int_equal(frame_at(fixture, intern_frame(fixture, word(i))), word(i));
        }
        assert_int_not_equal(intern_frame(fixture, word(3)), intern_frame(fixture, word(3) | SBX_FRAME_EXACT));
        assert_int_equal(fixture->table.frame_used[epoch & 1], FRAMES / 4 + 1);
    }
}

static void test_full_frame_half_counts_and_ends_the_stack(void **state)
{
    struct fixture *fixture = *state;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        refused += intern_frame(fixture, word(i)) == 0;
    }
    assert_true(refused >= FRAMES / 2 + 1); /* slot 0 is not an id */
    assert_int_equal(fixture->header.drops[SBX_DROP_FRAME_OVERFLOW], refused);
    uint32_t lost[] = {FRAMES / 2 + 1, 0, FRAMES / 2 + 2};
    assert_int_equal(sbx_callstack_intern(&fixture->table, sbx_callstack_epoch(&fixture->table), lost, 3),
                     SBX_STACK_OVERFLOW);
    assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 1); /* few nodes, but no room for frames */
    assert_int_not_equal(intern_frame(fixture, word(FRAMES)), 0);
    assert_int_equal(fixture->header.drops[SBX_DROP_FRAME_OVERFLOW], refused);
}

static void test_offset_without_room_is_code_of_no_module(void **state)
{
    (void)state;
    uint64_t most = (UINT64_C(1) << 39) - 1;
    assert_int_equal(sbx_frame_word(7, most, 1) & SBX_FRAME_OFFSET_MASK, most);
    assert_int_equal(sbx_frame_word(7, most, 1) >> SBX_FRAME_MODULE_SHIFT, 7);
    assert_int_equal(sbx_frame_word(7, most, 1) & SBX_FRAME_TAG_MASK, 0);
    assert_int_equal(sbx_frame_word(7, most + 1, 1), sbx_frame_word(SBX_MODULE_NONE, 0, 0));
}

static void test_equal_stacks_get_equal_ids_and_share_their_root(void **state)
{
    struct fixture *fixture = *state;
    uint32_t id = intern_stack(&fixture->table, 1, DEPTH);
    uint32_t used = fixture->table.node_used[1];
    assert_int_equal(used, DEPTH);
    assert_int_equal(intern_stack(&fixture->table, 1, DEPTH), id);
    assert_int_equal(fixture->table.node_used[1], used);
    assert_true(spells(fixture, id, 1, 1, DEPTH));
    uint32_t root = intern_frame(fixture, word(31 + (DEPTH - 1) * (DEPTH - 1)));
    assert_int_equal(sbx_callstack_intern(&fixture->table, sbx_callstack_epoch(&fixture->table), &root, 1) & 0xffffff,
                     sbx_node_intern(&fixture->table, 1, 0, root));
    assert_int_equal(fixture->table.node_used[1], used); /* the root's node was there already */
    assert_int_not_equal(intern_stack(&fixture->table, 2, DEPTH), id);
    assert_int_equal(sbx_callstack_intern(&fixture->table, sbx_callstack_epoch(&fixture->table), NULL, 0),
                     SBX_STACK_NONE);
}

static void test_full_node_half_gives_the_overflow_id_and_counts(void **state)
{
    struct fixture *fixture = *state;
    uint32_t seed = 0;
    while (intern_stack(&fixture->table, seed, 2) != SBX_STACK_OVERFLOW) {
        seed++;
        assert_true(seed < NODES * 2);
    }
    assert_true(fixture->table.node_used[1] > NODES * 3 / 4);
    assert_int_equal(fixture->header.drops[SBX_DROP_STACK_OVERFLOW], 1);
    assert_int_equal(fixture->header.drops[SBX_DROP_FRAME_OVERFLOW], 0);
    assert_true(spells(fixture, intern_stack(&fixture->table, 0, 2), 1, 0, 2)); /* stacks in it are still found */
}

static void test_epoch_turns_only_when_its_half_is_over_three_quarters_full(void **state)
{
    struct fixture *fixture = *state;
    intern_stack(&fixture->table, 1, DEPTH);
    assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 0);
    assert_int_equal(fixture->header.epoch, 1);
    fill_over_three_quarters(fixture, 0);
    fixture->header.heartbeat_ns = 777;
    assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 1);
    assert_int_equal(fixture->header.epoch, 2);
    assert_int_equal(fixture->header.epoch_begun_ns[0], 777);
    assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 0);
}

static void test_turned_epoch_keeps_the_last_ones_stacks_and_drops_older(void **state)
{
    struct fixture *fixture = *state;
    uint32_t first = intern_stack(&fixture->table, 1, DEPTH);
    fill_over_three_quarters(fixture, 0);
    assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 1);
    uint32_t second = intern_stack(&fixture->table, 1, DEPTH);
    assert_int_not_equal(first, second);
    assert_true(spells(fixture, first, 1, 1, DEPTH)); /* in the other half, untouched */
    assert_true(spells(fixture, second, 2, 1, DEPTH));
    fill_over_three_quarters(fixture, 0);
    assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 1);
    fill_over_three_quarters(fixture, 0); /* epoch 3 takes the slots of epoch 1; they need no clearing */
    assert_int_equal(fixture->header.drops[SBX_DROP_STACK_OVERFLOW], 0);
    assert_true(spells(fixture, second, 2, 1, DEPTH));
    assert_true(spells(fixture, intern_stack(&fixture->table, 9, DEPTH), 3, 9, DEPTH));
}

static void test_writer_of_the_epoch_before_last_gives_up_and_changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    fixture->header.epoch = 3;
    fill_over_three_quarters(fixture, 0);
    uint64_t before[NODES];
    memcpy(before, fixture->nodes + NODES, sizeof before);
    for (uint32_t frame = 1; frame <= 500; frame++) {
        assert_int_equal(sbx_node_intern(&fixture->table, 1, 0, frame), 0);
        assert_int_equal(sbx_frame_intern(&fixture->table, 1, word(frame)), 0);
    }
    assert_int_equal(fixture->header.drops[SBX_DROP_STACK_OVERFLOW], 500);
    assert_int_equal(fixture->header.drops[SBX_DROP_FRAME_OVERFLOW], 500);
    assert_memory_equal(before, fixture->nodes + NODES, sizeof before);
    assert_int_not_equal(sbx_node_intern(&fixture->table, 2, 0, 1), 0); /* the last epoch still accepts it */
}

/* A thread read the epoch, was stopped, and makes its swap only now, as if its epoch were still current. */
static void test_late_word_takes_only_free_places_and_is_no_hindrance(void **state)
{
    struct fixture *fixture = *state;
    fixture->header.epoch = 3;
    fill_over_three_quarters(fixture, 0);
    uint64_t before[NODES];
    memcpy(before, fixture->nodes + NODES, sizeof before);
    fixture->header.epoch = 1;
    uint32_t late = 0;
    for (uint32_t frame = 70000; frame < 70500; frame++) {
        late += sbx_node_intern(&fixture->table, 1, 0, frame) != 0;
    }
    fixture->header.epoch = 3;
    assert_true(late > 0);
    for (uint32_t i = 0; i < NODES; i++) {
        if (before[i] != 0) {
            assert_int_equal(fixture->nodes[NODES + i], before[i]);
        }
    }
    uint64_t overflows = fixture->header.drops[SBX_DROP_STACK_OVERFLOW];
    for (uint32_t frame = 80000; fixture->table.node_used[1] < NODES * 7 / 8; frame++) { /* takes late words' places */
        assert_int_not_equal(sbx_node_intern(&fixture->table, 3, 0, frame), 0);
    }
    assert_int_equal(fixture->header.drops[SBX_DROP_STACK_OVERFLOW], overflows);
}

/* Node tags wrap at 65,536 epochs, those of frames and of ids at 256. */
static void test_epochs_go_on_when_their_tags_wrap(void **state)
{
    struct fixture *fixture = *state;
    fixture->header.epoch = 0xfffe;
    for (uint32_t epoch = 0xfffe; epoch < 0x10004; epoch++) {
        assert_int_equal(sbx_callstack_epoch(&fixture->table), epoch);
        uint32_t last = intern_stack(&fixture->table, 5, DEPTH);
        assert_true(spells(fixture, last, epoch, 5, DEPTH));
        fill_over_three_quarters(fixture, epoch);
        assert_int_equal(fixture->header.drops[SBX_DROP_STACK_OVERFLOW], 0);
        assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 1);
    }
}

static void turn(struct fixture *fixture)
{
    uint32_t epoch = fixture->header.epoch;
    fixture->table.node_used[epoch & 1] = NODES;
    assert_int_equal(sbx_callstack_table_turn_if_full(&fixture->table), 1);
    assert_int_equal(fixture->header.epoch, epoch + 1);
}

/* A frame that is not used for 256 epochs must not reappear when its tag value comes again. */
static void test_turning_sweeps_out_what_is_older_than_the_epoch_before_last(void **state)
{
    struct fixture *fixture = *state;
    uint32_t first = intern_stack(&fixture->table, 1, DEPTH);
    turn(fixture);
    turn(fixture); /* into 3: epoch 1 could still be read until now */
    assert_true(spells(fixture, first, 1, 1, DEPTH));
    intern_stack(&fixture->table, 2, 1);
    turn(fixture);
    turn(fixture); /* into 5 */
    for (uint32_t i = 0; i < FRAMES / 2; i++) {
        uint64_t frame = fixture->frames[FRAMES / 2 + i];
        assert_true(frame == 0 || (frame & SBX_FRAME_TAG_MASK) >> SBX_FRAME_TAG_SHIFT == 3);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(fixture->nodes[NODES + i] == 0 || fixture->nodes[NODES + i] >> SBX_NODE_TAG_SHIFT == 3);
    }
    while (fixture->header.epoch < 1 + 3 * 256) {
        uint32_t epoch = fixture->header.epoch;
        assert_true(spells(fixture, intern_stack(&fixture->table, epoch, DEPTH), epoch, epoch, DEPTH));
        turn(fixture);
    }
    uint32_t words = 0;
    for (uint32_t i = 0; i < FRAMES; i++) {
        words += fixture->frames[i] != 0;
    }
    assert_in_range(words, 1, 4 * DEPTH);
    assert_int_equal(fixture->header.drops[SBX_DROP_FRAME_OVERFLOW], 0);
}

static void test_turning_leaves_a_half_that_was_never_used_alone(void **state)
{
    struct fixture *fixture = *state;
    fixture->nodes[5] = UINT64_C(0x1234) << SBX_NODE_TAG_SHIFT | 1; /* no insertion stores there */
    turn(fixture);
    assert_int_equal(fixture->nodes[5], UINT64_C(0x1234) << SBX_NODE_TAG_SHIFT | 1);
}

/* ---- carrying over ---- */

static void test_stack_carried_over_spells_the_same_in_the_new_epoch(void **state)
{
    struct fixture *fixture = *state;
    uint32_t stack = intern_stack(&fixture->table, 7, DEPTH);
    for (uint32_t epoch = 1; epoch < 600; epoch++) { /* it sleeps all the time */
        turn(fixture);
        uint32_t carried = sbx_callstack_carry(&fixture->table, epoch, epoch + 1, stack);
        assert_true(spells(fixture, carried, epoch + 1, 7, DEPTH));
        assert_true(spells(fixture, stack, epoch, 7, DEPTH));
        assert_int_equal(sbx_callstack_carry(&fixture->table, epoch, epoch + 1, carried), carried);
        assert_int_equal(carried, intern_stack(&fixture->table, 7, DEPTH));
        stack = carried;
    }
}

static void test_what_leads_nowhere_is_not_carried_over(void **state)
{
    struct fixture *fixture = *state;
    uint32_t stack = intern_stack(&fixture->table, 7, DEPTH);
    turn(fixture);
    struct sbx_callstack_table *table = &fixture->table;
    assert_int_equal(sbx_callstack_carry(table, 1, 2, SBX_STACK_NONE), SBX_STACK_NONE);
    assert_int_equal(sbx_callstack_carry(table, 1, 2, SBX_STACK_OVERFLOW), SBX_STACK_OVERFLOW);
    assert_int_equal(sbx_callstack_carry(table, 1, 2, sbx_callstack_id(1, NODES)), SBX_STACK_NONE);
    assert_int_equal(sbx_callstack_carry(table, 1, 2, sbx_callstack_id(200, stack & 0xffffff)), SBX_STACK_NONE);
    uint32_t unused = 1;
    while (fixture->nodes[NODES + unused] != 0) {
        unused++;
    }
    assert_int_equal(sbx_callstack_carry(table, 1, 2, sbx_callstack_id(1, unused)), SBX_STACK_NONE);
    turn(fixture);
    assert_int_equal(sbx_callstack_carry(table, 2, 3, stack), SBX_STACK_NONE); /* of the epoch before last */
    /* A circle, which only damage can make, must end. */
    fixture->nodes[9] =
        UINT64_C(2) << SBX_NODE_TAG_SHIFT | UINT64_C(9) << SBX_NODE_PARENT_SHIFT | sbx_frame_intern(table, 2, word(1));
    assert_int_equal(sbx_callstack_carry(table, 2, 3, sbx_callstack_id(2, 9)), SBX_STACK_NONE);
}

static void test_stack_without_room_in_the_new_epoch_becomes_the_overflow_id(void **state)
{
    struct fixture *fixture = *state;
    uint32_t stack = intern_stack(&fixture->table, 7, DEPTH);
    turn(fixture);
    for (uint32_t i = 0; i < FRAMES; i++) {
        intern_frame(fixture, word(1000000 + i));
    }
    assert_int_equal(sbx_callstack_carry(&fixture->table, 1, 2, stack), SBX_STACK_OVERFLOW);
}

/* ---- many threads, the same stacks ---- */

enum {
    CROWD = 8,
    CROWD_STACKS = 30
};

struct crowd_member {
    struct fixture *fixture;
    pthread_barrier_t *start;
    uint32_t ids[CROWD_STACKS];
};

static void *intern_in_the_crowd(void *argument)
{
    struct crowd_member *member = argument;
    pthread_barrier_wait(member->start); /* all begin at once */
    for (uint32_t i = 0; i < CROWD_STACKS; i++) {
        member->ids[i] = intern_stack(&member->fixture->table, i, DEPTH);
    }
    return NULL;
}

static void test_many_threads_agree_on_the_ids_of_the_same_stacks(void **state)
{
    struct fixture *fixture = *state;
    for (int round = 0; round < 100; round++) {
        struct crowd_member members[CROWD];
        pthread_t threads[CROWD];
        pthread_barrier_t start;
        assert_int_equal(pthread_barrier_init(&start, NULL, CROWD), 0);
        memset(fixture->frames, 0, sizeof fixture->frames);
        memset(fixture->nodes, 0, sizeof fixture->nodes);
        fixture->table.node_used[1] = 0;
        for (int i = 0; i < CROWD; i++) {
            members[i] = (struct crowd_member){.fixture = fixture, .start = &start};
            assert_int_equal(pthread_create(&threads[i], NULL, intern_in_the_crowd, &members[i]), 0);
        }
        for (int i = 0; i < CROWD; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
        pthread_barrier_destroy(&start);
        uint32_t occupied = 0;
        for (uint32_t i = 0; i < NODES; i++) {
            occupied += fixture->nodes[NODES + i] != 0;
        }
        assert_int_equal(occupied, fixture->table.node_used[1]); /* no insertion was lost */
        for (uint32_t i = 0; i < CROWD_STACKS; i++) {
            assert_true(spells(fixture, members[0].ids[i], 1, i, DEPTH));
            for (int j = 1; j < CROWD; j++) {
                assert_int_equal(members[j].ids[i], members[0].ids[i]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_equal_frames_get_equal_ids_and_others_do_not, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_full_frame_half_counts_and_ends_the_stack, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_equal_stacks_get_equal_ids_and_share_their_root, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_full_node_half_gives_the_overflow_id_and_counts, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_epoch_turns_only_when_its_half_is_over_three_quarters_full, make_table,
                                        free_table),
        cmocka_unit_test_setup_teardown(test_turned_epoch_keeps_the_last_ones_stacks_and_drops_older, make_table,
                                        free_table),
        cmocka_unit_test_setup_teardown(test_offset_without_room_is_code_of_no_module, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_writer_of_the_epoch_before_last_gives_up_and_changes_nothing, make_table,
                                        free_table),
        cmocka_unit_test_setup_teardown(test_late_word_takes_only_free_places_and_is_no_hindrance, make_table,
                                        free_table),
        cmocka_unit_test_setup_teardown(test_epochs_go_on_when_their_tags_wrap, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_turning_sweeps_out_what_is_older_than_the_epoch_before_last, make_table,
                                        free_table),
        cmocka_unit_test_setup_teardown(test_turning_leaves_a_half_that_was_never_used_alone, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_stack_carried_over_spells_the_same_in_the_new_epoch, make_table,
                                        free_table),
        cmocka_unit_test_setup_teardown(test_what_leads_nowhere_is_not_carried_over, make_table, free_table),
        cmocka_unit_test_setup_teardown(test_stack_without_room_in_the_new_epoch_becomes_the_overflow_id, make_table,
                                        free_table),
        cmocka_unit_test_setup_teardown(test_many_threads_agree_on_the_ids_of_the_same_stacks, make_table, free_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
