/* SPDX-License-Identifier: Apache-2.0 */
/* test_task.c - tasks that an application reports: what is recorded of them, in a real process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture_settings.h"
#include "recorded_process.h"
#include "stallbox/stallbox.h"

static uint64_t ids[8];

static __attribute__((noinline)) void queue_from_here(int which)
{
    ids[which] = stallbox_task_queued_in(&ids);
    KEEP_FRAME();
}

static const struct sbx_record *record_of(const struct sbx_snapshot *snapshot, uint8_t kind, uint32_t hop)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == kind && snapshot->records[i].op == SBX_OP_TASK &&
            (hop == 0 || snapshot->records[i].wait == hop)) {
            return &snapshot->records[i];
        }
    }
    return NULL;
}

static int count_records(const struct sbx_snapshot *snapshot, uint8_t kind)
{
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        count += snapshot->records[i].kind == kind && snapshot->records[i].op == SBX_OP_TASK;
    }
    return count;
}

/* ---- a task that changes hands ---- */

static void *run_two_tasks(void *unused)
{
    stallbox_task_begin(ids[0]);
    child_pause_ms(20);
    stallbox_task_end(ids[0]);
    stallbox_task_begin(ids[1]);
    child_pause_ms(10);
    stallbox_task_end(ids[1]);
    return unused;
}

static void child_hands_two_tasks_over(void)
{
    pthread_t thread;
    errno = EXDEV;
    queue_from_here(0);
    queue_from_here(1);
    child_expect(errno == EXDEV, "errno is kept");
    child_expect(ids[0] != 0 && ids[1] != 0 && ids[0] != ids[1], "both have an id");
    child_pause_ms(15);
    child_expect(pthread_create(&thread, NULL, run_two_tasks, NULL) == 0, "a thread starts");
    pthread_join(thread, NULL);
}

static void test_a_task_is_told_with_who_queued_it_how_long_it_lay_and_how_many_lay_before(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_hands_two_tasks_over);
    assert_int_equal(count_records(snapshot, SBX_RECORD_TASK), 2);
    uint64_t before = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *ran = &snapshot->records[i];
        if (ran->kind != SBX_RECORD_TASK || ran->op != SBX_OP_TASK) {
            continue;
        }
        const struct sbx_record *hop = record_of(snapshot, SBX_RECORD_HOP, ran->wait);
        assert_non_null(hop);
        assert_true(passes_through(snapshot, ran, (void *)queue_from_here));
        assert_int_equal(hop->thread, ran->thread);
        assert_int_equal(hop->peer, snapshot->header.pid); /* the main thread queued it */
        assert_int_not_equal(snapshot->threads[ran->thread].entry.tid, snapshot->header.pid);
        assert_int_equal(hop->end_ns, ran->begin_ns);
        assert_true(hop->end_ns - hop->begin_ns >= 15000000);
        assert_true(ran->end_ns - ran->begin_ns >= 9900000);
        assert_int_equal(hop->amount, before++);
        assert_int_equal(hop->op, SBX_OP_TASK);
    }
    assert_int_equal(snapshot->queue_count, 1);
    assert_int_equal(snapshot->queues[0].queued, 2);
    assert_int_equal(snapshot->queues[0].begun, 2);
    sbx_snapshot_destroy(snapshot);
}

/* ---- a thread that is started ---- */

static atomic_bool stays;

static void *stay(void *unused)
{
    stays = true;
    child_pause_ms(60000); /* the process ends before */
    return unused;
}

static __attribute__((noinline, aligned(512))) void start_here(void)
{
    pthread_t thread;
    child_expect(pthread_create(&thread, NULL, stay, NULL) == 0, "a thread starts");
    child_expect(pthread_detach(thread) == 0, "nobody joins it");
    KEEP_FRAME();
}

static void child_starts_a_thread(void)
{
    start_here();
    while (!stays) {
        child_pause_ms(1);
    }
}

static void test_a_thread_that_lives_is_told_with_who_started_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_starts_a_thread);
    const struct sbx_record *start = NULL;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_TASK && record->op == SBX_OP_PTHREAD_CREATE &&
            passes_through(snapshot, record, (void *)start_here)) {
            start = record;
        }
    }
    assert_non_null(start);
    assert_int_equal(start->flags, SBX_FLAG_OPEN);
    assert_int_not_equal(tid_of_record(snapshot, start), snapshot->header.pid);
    sbx_snapshot_destroy(snapshot);
}

/* ---- what is open ---- */

static void child_runs_one_and_leaves_one(void)
{
    queue_from_here(0);
    queue_from_here(1);
    queue_from_here(2);
    stallbox_task_cancelled(ids[2]);
    stallbox_task_begin(ids[0]);
    child_pause_ms(20);
}

static void test_what_runs_and_what_lies_there_at_the_snapshot_is_told(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_runs_one_and_leaves_one);
    const struct sbx_record *ran = record_of(snapshot, SBX_RECORD_TASK, 0);
    assert_non_null(ran);
    assert_int_equal(ran->flags, SBX_FLAG_OPEN);
    assert_true(passes_through(snapshot, ran, (void *)queue_from_here));
    int lying = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *hop = &snapshot->records[i];
        if (hop->kind == SBX_RECORD_HOP && (hop->flags & SBX_FLAG_OPEN) != 0) {
            lying++;
            assert_true(passes_through(snapshot, hop, (void *)queue_from_here));
            assert_true(hop->end_ns - hop->begin_ns >= 20000000);
        }
    }
    assert_int_equal(lying, 1);
    assert_int_equal(snapshot->queues[0].cancelled, 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- mistakes, and ends that do not come ---- */

static jmp_buf out;

static __attribute__((noinline)) void leave_by_a_jump(void)
{
    stallbox_task_begin(ids[1]);
    child_pause_ms(5);
    longjmp(out, 1);
}

static void *end_it_here(void *unused)
{
    stallbox_task_end(ids[4]);
    return unused;
}

static void child_makes_every_mistake(void)
{
    pthread_t thread;
    stallbox_task_begin(0);
    stallbox_task_end(0);
    stallbox_task_cancelled(0);
    const uint64_t wild[] = {
        1, 1 << 16, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) | 4711, UINT64_C(123456789) << 16};
    for (unsigned i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        stallbox_task_begin(wild[i]);
        stallbox_task_end(wild[i]);
        stallbox_task_cancelled(wild[i]);
    }
    queue_from_here(0);
    stallbox_task_end(ids[0]); /* not begun */
    stallbox_task_begin(ids[0]);
    stallbox_task_begin(ids[0]); /* twice */
    stallbox_task_cancelled(ids[0]);
    child_pause_ms(5);
    stallbox_task_end(ids[0]);
    stallbox_task_end(ids[0]);
    queue_from_here(1);
    if (setjmp(out) == 0) {
        leave_by_a_jump();
    }
    queue_from_here(2);
    stallbox_task_begin(ids[2]); /* the task that the jump left is over */
    child_pause_ms(5);
    queue_from_here(3);
    stallbox_task_begin(ids[3]); /* inside of it, at the same place: so that task is over too */
    child_pause_ms(5);
    stallbox_task_end(ids[3]);
    queue_from_here(4);
    stallbox_task_begin(ids[4]);
    child_expect(pthread_create(&thread, NULL, end_it_here, NULL) == 0, "a thread starts");
    pthread_join(thread, NULL);
    stallbox_task_end(ids[4]);
}

static void test_mistakes_do_no_harm_and_a_task_that_is_left_ends_with_the_next(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_makes_every_mistake);
    assert_int_equal(count_records(snapshot, SBX_RECORD_TASK), 4);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_int_equal(snapshot->records[i].flags & SBX_FLAG_OPEN, 0);
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- many ---- */

enum {
    MANY = 200000
};

static void child_queues_as_fast_as_it_can(void)
{
    for (int i = 0; i < MANY; i++) {
        uint64_t id = stallbox_task_queued();
        stallbox_task_begin(id);
        stallbox_task_end(id);
    }
}

static void test_of_many_tasks_some_are_followed_and_all_are_counted(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_queues_as_fast_as_it_can);
    assert_int_equal(snapshot->queue_count, 1);
    assert_int_equal(snapshot->queues[0].queued, MANY);
    assert_int_equal(snapshot->queues[0].begun, MANY);
    int told = count_records(snapshot, SBX_RECORD_TASK);
    assert_true(told < MANY / 10);
    sbx_snapshot_destroy(snapshot);
}

static void child_queues_more_than_there_is_room_for(void)
{
    for (int i = 0; i < 2 * SBX_TASKS_MAX; i++) {
        (void)stallbox_task_queued();
        if (i % 32 == 0) {
            child_pause_ms(1); /* otherwise the rate alone would limit them */
        }
    }
}

static void test_what_finds_no_room_is_counted_and_the_oldest_are_told(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_queues_more_than_there_is_room_for);
    assert_true(snapshot->drops[SBX_DROP_NO_TASK] != 0);
    assert_int_equal(snapshot->queues[0].queued, 2 * SBX_TASKS_MAX);
    int lying = count_records(snapshot, SBX_RECORD_HOP);
    assert_true(lying > 0 && lying <= 64);
    sbx_snapshot_destroy(snapshot);
}

/* ---- queues ---- */

enum {
    QUEUES = 100
};
static char queues[QUEUES];

static void child_has_too_many_queues(void)
{
    for (int i = 0; i < QUEUES; i++) {
        (void)stallbox_task_queued_in(&queues[i]);
    }
}

static void test_what_comes_into_a_queue_without_an_entry_is_counted_as_lost(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_too_many_queues);
    uint64_t queued = 0;
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        queued += snapshot->queues[i].queued;
    }
    assert_true(queued <= SBX_QUEUES_MAX);
    assert_int_equal(snapshot->drops[SBX_DROP_NO_QUEUE], QUEUES - queued);
    sbx_snapshot_destroy(snapshot);
}

static void child_uses_queues_one_after_another(void)
{
    for (int i = 0; i < QUEUES - 1; i++) {
        uint64_t id = stallbox_task_queued_in(&queues[i]);
        stallbox_task_begin(id);
        stallbox_task_end(id);
    }
    const struct sbx_recording_header *header = child_header();
    uint64_t lost = header->drops[SBX_DROP_NO_QUEUE];
    child_expect(lost != 0, "not all of them have an entry");
    child_pause_ms(1100); /* two windows: queues with nothing in them are reused */
    for (int i = 0; i < QUEUES - 1; i++) {
        (void)stallbox_task_queued_in(&queues[i % 32 + 64]);
    }
    child_expect(header->drops[SBX_DROP_NO_QUEUE] == lost, "queues that rest make room");
}

static void test_a_queue_that_rests_with_nothing_in_it_makes_room_for_another(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_uses_queues_one_after_another);
    uint64_t lying = 0;
    for (uint32_t i = 0; i < snapshot->queue_count; i++) {
        const struct sbx_queue_entry *queue = &snapshot->queues[i];
        assert_true(queue->queued >= queue->begun + queue->cancelled);
        lying += queue->queued - queue->begun - queue->cancelled;
    }
    assert_int_equal(lying, QUEUES - 1);
    sbx_snapshot_destroy(snapshot);
}

static void child_counts_for_two_windows(void)
{
    for (int i = 0; i < 3; i++) {
        (void)stallbox_task_queued_in(&queues[0]);
    }
    child_pause_ms(600); /* longer than a window */
    for (int i = 0; i < 5; i++) {
        uint64_t id = stallbox_task_queued_in(&queues[0]);
        if (i < 2) {
            stallbox_task_begin(id);
            stallbox_task_end(id);
        }
    }
}

static void test_the_counts_of_a_window_are_what_the_totals_grew_by_since_it_began(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_counts_for_two_windows);
    assert_int_equal(snapshot->queue_count, 1);
    const struct sbx_queue_entry *queue = &snapshot->queues[0];
    const struct sbx_queue_window *oldest = NULL, *newest = NULL;
    for (uint32_t i = 0; i < SBX_QUEUE_WINDOWS; i++) {
        const struct sbx_queue_window *window = &queue->windows[i];
        if (window->number != 0) {
            oldest = oldest == NULL || window->number < oldest->number ? window : oldest;
            newest = newest == NULL || window->number > newest->number ? window : newest;
        }
    }
    assert_non_null(oldest);
    assert_true(newest->number > oldest->number);
    assert_int_equal(queue->queued, 8);
    assert_int_equal(queue->begun, 2);
    assert_int_equal(queue->queued - oldest->queued, 8);
    assert_int_equal(queue->begun - oldest->begun, 2);
    assert_true(newest->queued >= 3 && newest->queued < 8); /* on a slow machine one more may begin in between */
    sbx_snapshot_destroy(snapshot);
}

/* ---- threads that cannot record ---- */

static pthread_key_t late_key;

static void begin_late(void *unused)
{
    (void)unused;
    stallbox_task_begin(ids[0]);
    stallbox_task_end(ids[0]);
}

static void *leave_a_task_for_the_end(void *value)
{
    child_expect(pthread_setspecific(late_key, value) == 0, "a value of the thread");
    stallbox_task_cancelled(0); /* the recorder knows the thread now */
    return NULL;
}

static void child_begins_a_task_where_the_thread_is_gone(void)
{
    pthread_t thread;
    child_expect(pthread_key_create(&late_key, begin_late) == 0, "a key, whose destructor comes after the recorder's");
    queue_from_here(0);
    child_expect(pthread_create(&thread, NULL, leave_a_task_for_the_end, ids) == 0, "a thread starts");
    pthread_join(thread, NULL);
}

static void test_a_task_that_begins_on_a_thread_without_a_seat_leaves_its_queue(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_begins_a_task_where_the_thread_is_gone);
    assert_int_equal(snapshot->queue_count, 1);
    assert_int_equal(snapshot->queues[0].queued, 1);
    assert_int_equal(snapshot->queues[0].begun, 1);
    assert_int_equal(count_records(snapshot, SBX_RECORD_HOP), 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_has_the_points_out(void)
{
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_TASK));
    queue_from_here(0);
    child_expect(ids[0] == 0, "nothing is followed");
    stallbox_task_begin(ids[0]);
    child_pause_ms(5);
    stallbox_task_end(ids[0]);
}

static void test_the_group_is_switched_by_itself(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_has_the_points_out);
    assert_int_equal(count_records(snapshot, SBX_RECORD_TASK), 0);
    assert_int_equal(snapshot->queue_count, 0);
    sbx_snapshot_destroy(snapshot);
}

/* Threads queue, begin, end and cancel the same few tasks at random. No entry may be lost, and none reported twice. */
enum {
    STORM_THREADS = 4,
    STORM_ROUNDS = 20000,
    STORM_SLOTS = 8
};
static _Atomic uint64_t storm[STORM_SLOTS];

static void *storm_about(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number + 1;
    for (int i = 0; i < STORM_ROUNDS; i++) {
        _Atomic uint64_t *slot = &storm[rand_r(&seed) % STORM_SLOTS];
        uint64_t id = *slot;
        switch (rand_r(&seed) % 4) {
        case 0:
            stallbox_task_cancelled(atomic_exchange(slot, stallbox_task_queued()));
            break;
        case 1:
            stallbox_task_begin(id);
            break;
        case 2:
            stallbox_task_end(id);
            break;
        default:
            stallbox_task_cancelled(id);
            break;
        }
    }
    return NULL;
}

static void child_storms(void)
{
    pthread_t threads[STORM_THREADS];
    for (uintptr_t i = 0; i < STORM_THREADS; i++) {
        child_expect(pthread_create(&threads[i], NULL, storm_about, (void *)i) == 0, "a thread starts");
    }
    for (int i = 0; i < STORM_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < STORM_SLOTS; i++) {
        stallbox_task_cancelled(storm[i]);
    }
}

static void test_threads_that_fight_for_tasks_leave_none_open_and_none_told_twice(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_storms);
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 0);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind != SBX_RECORD_HOP) {
            continue;
        }
        assert_int_equal(record->flags & SBX_FLAG_OPEN, 0);
        for (size_t k = i + 1; k < snapshot->record_count; k++) {
            assert_false(snapshot->records[k].kind == SBX_RECORD_HOP && snapshot->records[k].wait == record->wait);
        }
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- work that a runtime passes on ---- */

static uint64_t asked, passed_on, passed_on_elsewhere, passed_on_twice;

static __attribute__((noinline, aligned(512))) void ask_from_here(void)
{
    asked = stallbox_provider_work_queued(STALLBOX_WORK_CALL_SOON, NULL);
    KEEP_FRAME();
}

static void *pass_on(void *unused)
{
    passed_on_elsewhere = stallbox_provider_work_passed_on(STALLBOX_WORK_CREATE_TASK, asked);
    stallbox_task_begin(asked);
    errno = EXDEV;
    passed_on = stallbox_provider_work_passed_on(STALLBOX_WORK_CREATE_TASK, asked);
    child_expect(errno == EXDEV, "errno is kept");
    stallbox_task_end(asked);
    passed_on_twice = stallbox_provider_work_passed_on(STALLBOX_WORK_CREATE_TASK, asked);
    stallbox_task_begin(passed_on);
    child_pause_ms(20);
    stallbox_task_end(passed_on);
    return unused;
}

static void child_passes_work_on(void)
{
    pthread_t thread;
    ask_from_here();
    child_pause_ms(15);
    child_expect(pthread_create(&thread, NULL, pass_on, NULL) == 0, "a thread starts");
    pthread_join(thread, NULL);
    child_expect(passed_on != 0 && passed_on != asked, "it has an id of its own");
    child_expect(passed_on_elsewhere == 0 && passed_on_twice == 0, "by who runs the first alone");
    child_expect(stallbox_provider_work_queued((enum stallbox_work)0, NULL) == 0, "of a sort that is known");
}

static void test_work_that_is_passed_on_is_told_with_who_queued_what_passed_it_on(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_passes_work_on);
    const struct sbx_record *ran = NULL, *hop = NULL;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->op == SBX_OP_CREATE_TASK && record->kind == SBX_RECORD_TASK) {
            ran = record;
        } else if (record->op == SBX_OP_CREATE_TASK && record->kind == SBX_RECORD_HOP) {
            hop = record;
        }
    }
    assert_non_null(ran);
    assert_non_null(hop);
    assert_true(passes_through(snapshot, ran, (void *)ask_from_here));
    assert_int_equal(hop->peer, snapshot->header.pid);
    assert_true(hop->end_ns - hop->begin_ns >= 15000000); /* since ask_from_here() asked */
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_task_is_told_with_who_queued_it_how_long_it_lay_and_how_many_lay_before),
        cmocka_unit_test(test_a_thread_that_lives_is_told_with_who_started_it),
        cmocka_unit_test(test_what_runs_and_what_lies_there_at_the_snapshot_is_told),
        cmocka_unit_test(test_mistakes_do_no_harm_and_a_task_that_is_left_ends_with_the_next),
        cmocka_unit_test(test_of_many_tasks_some_are_followed_and_all_are_counted),
        cmocka_unit_test(test_what_finds_no_room_is_counted_and_the_oldest_are_told),
        cmocka_unit_test(test_what_comes_into_a_queue_without_an_entry_is_counted_as_lost),
        cmocka_unit_test(test_the_counts_of_a_window_are_what_the_totals_grew_by_since_it_began),
        cmocka_unit_test(test_a_queue_that_rests_with_nothing_in_it_makes_room_for_another),
        cmocka_unit_test(test_a_task_that_begins_on_a_thread_without_a_seat_leaves_its_queue),
        cmocka_unit_test(test_the_group_is_switched_by_itself),
        cmocka_unit_test(test_threads_that_fight_for_tasks_leave_none_open_and_none_told_twice),
        cmocka_unit_test(test_work_that_is_passed_on_is_told_with_who_queued_what_passed_it_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
