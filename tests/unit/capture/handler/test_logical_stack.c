/* SPDX-License-Identifier: Apache-2.0 */
/* test_logical_stack.c - a made-up runtime under the real recorder. What the runtime reports is recorded; where it must
 * not be asked, it is not asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "recorded_process.h"
#include "stallbox/stallbox.h"

enum {
    DEPTH_MAX = 400
};

/* The runtime of one thread: its functions are numbers, and their lines the same numbers. */
struct runtime {
    uint32_t depth;
    uint64_t first_function; /* of the leaf; the next is one more */
    volatile bool is_busy;   /* cannot be asked; volatile: the compiler knows that malloc() does not read it */
    atomic_int asked, asked_when_busy, wanted;
    uint64_t allocated;
};

static struct stallbox_provider *provider;

static size_t walk(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max)
{
    struct runtime *runtime = context;
    atomic_fetch_add(&runtime->asked, 1);
    if (runtime->is_busy) {
        atomic_fetch_add(&runtime->asked_when_busy, 1);
        return STALLBOX_PROVIDER_NOT_NOW;
    }
    for (size_t i = first; i < runtime->depth && i - first < max; i++) {
        functions[i - first] = runtime->first_function + i;
        lines[i - first] = (uint32_t)(runtime->first_function + i);
    }
    return runtime->depth;
}

static void want(void *context)
{
    atomic_fetch_add(&((struct runtime *)context)->wanted, 1);
}

static uint64_t allocated(void *context)
{
    return ((struct runtime *)context)->allocated;
}

static atomic_uint_least64_t frames_given_up;

static void deoptimized(uint64_t *frames_out, uint64_t *compilations_out)
{
    *frames_out = frames_given_up;
    *compilations_out = frames_given_up / 2;
}

static void start(uint32_t flags)
{
    const struct stallbox_provider_options options = {.sizeof_options = sizeof options,
                                                      .name = "test",
                                                      .walk = walk,
                                                      .want = want,
                                                      .flags = flags,
                                                      .allocated = allocated,
                                                      .deoptimized = deoptimized};
    child_expect(stallbox_provider_register(&options, &provider) == STALLBOX_OK, "it is registered");
    child_start();
}

/* A wait that is recorded. */
__attribute__((noinline)) static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* CPU time of the thread, because samples are taken of running threads and a busy machine gives little CPU time. */
static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool is_test(uint64_t word)
{
    return word >> SBX_FRAME_MODULE_SHIFT == SBX_MODULE_LOGICAL;
}

static uint64_t function_of(const struct sbx_snapshot *snapshot, uint64_t word)
{
    return snapshot->ids[sbx_logical_function(word)];
}

static uint32_t line_of(uint64_t word)
{
    return (uint32_t)word & ((1u << SBX_LOGICAL_LINE_BITS) - 1);
}

static struct sbx_snapshot *run(void (*body)(void))
{
    assert_int_equal(recorded_process_run(body), 0);
    return recorded_process_snapshot();
}

/* The frames of a record, and how many of them are logical: those come first, because the provider names no code. */
static size_t frames_of(const struct sbx_snapshot *snapshot, const struct sbx_record *record, uint64_t frames[700],
                        size_t *logical_out)
{
    size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 700);
    assert_true(count <= 700);
    *logical_out = 0;
    while (*logical_out < count &&
           (is_test(frames[*logical_out]) || (frames[*logical_out] >> SBX_FRAME_MODULE_SHIFT == SBX_MODULE_CUT &&
                                              *logical_out + 1 < count && is_test(frames[*logical_out + 1])))) {
        (*logical_out)++;
    }
    return count;
}

static const struct sbx_record *find_sleep(const struct sbx_snapshot *snapshot, unsigned number)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_SLEEP && number-- == 0) {
            return &snapshot->records[i];
        }
    }
    fail_msg("no sleep was recorded");
    return NULL;
}

/* ---- what is told is recorded ---- */

static void child_sleeps_in_three_functions(void)
{
    struct runtime runtime = {.depth = 3, .first_function = 100};
    start(0);
    sleep_ms(20); /* not in the runtime yet */
    void *former = stallbox_provider_enter(provider, &runtime);
    sleep_ms(20);
    runtime.first_function = 101;
    sleep_ms(20);
    stallbox_provider_leave(provider, former);
    sleep_ms(20);
    child_finish();
}

static void test_frames_are_there_from_enter_to_leave(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_sleeps_in_three_functions);
    uint64_t frames[700];
    static const size_t expected[] = {0, 3, 3, 0};
    static const uint64_t leaf[] = {0, 100, 101, 0};
    for (unsigned i = 0; i < 4; i++) {
        size_t logical;
        size_t count = frames_of(snapshot, find_sleep(snapshot, i), frames, &logical);
        assert_int_equal(logical, expected[i]);
        assert_true(count > logical);
        for (size_t j = 0; j < logical; j++) {
            assert_int_equal(function_of(snapshot, frames[j]), leaf[i] + j);
            assert_int_equal(line_of(frames[j]), leaf[i] + j);
        }
    }
    assert_int_not_equal(find_sleep(snapshot, 1)->stack, find_sleep(snapshot, 2)->stack);
    assert_string_equal(snapshot->header.providers[0].name, "test");
    sbx_snapshot_destroy(snapshot);
}

static void child_goes_deep(void)
{
    struct runtime runtime = {.depth = DEPTH_MAX, .first_function = 1000};
    start(0);
    stallbox_provider_enter(provider, &runtime);
    sleep_ms(20);
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

static void test_of_a_deep_stack_both_ends_are_kept(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_goes_deep);
    uint64_t frames[700];
    size_t logical, mark = 0;
    frames_of(snapshot, find_sleep(snapshot, 0), frames, &logical);
    assert_int_equal(logical, 129); /* SBX_LOGICAL_MAX and the mark */
    while (is_test(frames[mark])) {
        assert_int_equal(function_of(snapshot, frames[mark]), 1000 + mark);
        mark++;
    }
    assert_int_equal(mark, 128 - 32);
    for (size_t i = mark + 1; i < logical; i++) {
        assert_int_equal(function_of(snapshot, frames[i]), 1000 + DEPTH_MAX - (logical - i));
    }
    assert_true(snapshot->drops[SBX_DROP_CUT] > 0);
    sbx_snapshot_destroy(snapshot);
}

/* Measured by the thread's own CPU clock, because a thread that gets little CPU time is sampled less. */
static void allocate_for(uint64_t ms)
{
    struct timespec used;
    uint64_t end_ms = UINT64_MAX, used_ms;
    do {
        void *volatile memory = malloc(100);
        free(memory);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        used_ms = (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
        end_ms = end_ms == UINT64_MAX ? used_ms + ms : end_ms;
    } while (used_ms < end_ms);
}

static void child_allocates_in_one_function(void)
{
    struct runtime runtime = {.depth = 2, .first_function = 50};
    start(0);
    stallbox_provider_enter(provider, &runtime);
    allocate_for(200);
    runtime.first_function = 60;
    allocate_for(200);
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

/* Equal samples are one run; the same native stack under another function is another run. */
static void test_runs_end_where_the_logical_stack_changes(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_allocates_in_one_function);
    unsigned repeats[2] = {0, 0};
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint64_t frames[700];
        size_t logical;
        if (record->kind != SBX_RECORD_LEAF && record->kind != SBX_RECORD_ALLOC) {
            continue;
        }
        frames_of(snapshot, record, frames, &logical);
        if (logical == 2) {
            uint64_t function = function_of(snapshot, frames[0]);
            assert_true(function == 50 || function == 60);
            repeats[function == 60] += record->repeats + 1;
        }
    }
    assert_true(repeats[0] >= 3 && repeats[1] >= 3); /* of some 40 each on a machine at rest */
    sbx_snapshot_destroy(snapshot);
}

/* ---- what its heap gave the thread ---- */

enum {
    MIB = 1 << 20
};

static void child_allocates_in_the_runtimes_heap(void)
{
    struct runtime first = {.depth = 2, .first_function = 50, .allocated = 1 * MIB};
    struct runtime second = {.depth = 2, .first_function = 50, .allocated = 150 * MIB};
    start(0);
    void *former = stallbox_provider_enter(provider, &first);
    sleep_ms(20);
    first.allocated = 101 * MIB;
    sleep_ms(20);
    stallbox_provider_leave(provider, former);
    former = stallbox_provider_enter(provider, &second); /* as if another thread of the runtime ran here now */
    sleep_ms(20);
    second.allocated = 153 * MIB;
    sleep_ms(20);
    second.allocated = 152 * MIB; /* the value before was too high */
    sleep_ms(20);
    second.allocated = 155 * MIB;
    sleep_ms(20);
    second.allocated = 345 * MIB;
    sleep_ms(20);
    second.allocated = 2 * MIB; /* the context now belongs to another thread */
    sleep_ms(20);
    second.allocated = 3 * MIB;
    sleep_ms(20);
    stallbox_provider_leave(provider, former);
    child_finish();
}

static void test_what_the_runtimes_heap_gave_a_thread_counts_as_its_allocations(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_allocates_in_the_runtimes_heap);
    static const uint64_t grown_mib[] = {100, 0, 3, 0, 2, 190, 0, 1};
    for (unsigned i = 0; i < sizeof grown_mib / sizeof grown_mib[0]; i++) {
        uint64_t grown = find_sleep(snapshot, i + 1)->alloc_bytes - find_sleep(snapshot, i)->alloc_bytes;
        assert_true(grown <= grown_mib[i] * MIB + 4096 && grown >= grown_mib[i] * MIB / 16 * 15);
        assert_int_equal(find_sleep(snapshot, i + 1)->alloc_count,
                         find_sleep(snapshot, i)->alloc_count); /* of malloc() alone */
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- what it gave up ---- */

static void child_gives_code_up_in_a_message(void)
{
    frames_given_up = 5000;
    start(0);
    stallbox_message_begin(1);
    for (uint64_t end = now_ms() + 600; now_ms() < end;) {
        frames_given_up += 2;
        sleep_ms(1);
    }
    stallbox_message_end();
    child_finish();
}

static void test_what_the_runtime_gave_up_is_read_while_a_message_is_open(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_gives_code_up_in_a_message);
    uint64_t first = 0, last = 0, compilations = 0, readings = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_KERNEL && record->op == SBX_KERNEL_DEOPTIMIZED) {
            assert_true(record->amount >= last && record->amount >= 5000);
            first = readings++ == 0 ? record->amount : first;
            last = record->amount;
        } else if (record->kind == SBX_RECORD_KERNEL && record->op == SBX_KERNEL_COMPILED) {
            compilations = record->amount;
        }
    }
    assert_true(readings >= 2); /* one each 100 ms of the message, unless the watch thread loses its processor */
    assert_true(last > first);
    assert_true(compilations >= first / 2 && compilations <= last / 2 + 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- seen from outside ---- */

static void *sleep_in_the_runtime(void *unused)
{
    static struct runtime runtime = {.depth = 2, .first_function = 300};
    (void)unused;
    stallbox_provider_enter(provider, &runtime);
    sleep_ms(20000); /* the process ends before */
    runtime.first_function = 400;
    stallbox_provider_leave(provider, NULL);
    return NULL;
}

static void child_is_looked_at_while_it_sleeps(void)
{
    pthread_t thread;
    start(0);
    child_expect(pthread_create(&thread, NULL, sleep_in_the_runtime, NULL) == 0, "a thread starts");
    child_pause_ms(500);
    child_finish(); /* while it sleeps */
}

static void test_a_sleeper_is_seen_in_the_function_in_which_it_went_to_sleep(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_is_looked_at_while_it_sleeps);
    unsigned found = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint64_t frames[700];
        size_t logical;
        if (snapshot->records[i].kind == SBX_RECORD_BLOCKED && snapshot->records[i].op == SBX_OP_NANOSLEEP) {
            frames_of(snapshot, &snapshot->records[i], frames, &logical);
            assert_int_equal(logical, 2);
            assert_int_equal(function_of(snapshot, frames[0]), 300);
            found++;
        }
    }
    assert_true(found > 0);
    sbx_snapshot_destroy(snapshot);
}

static void *sleep_behind_calls_that_come_thick(void *unused)
{
    static struct runtime runtime = {.depth = 2, .first_function = 450};
    (void)unused;
    for (int i = 0; i < 5000; i++) {
        nanosleep(&(struct timespec){0, 1}, NULL);
    }
    child_pause_ms(2); /* more than an interval */
    say_about_to_wait();
    stallbox_provider_enter(provider, &runtime);
    sleep_ms(20000); /* the process ends before */
    return NULL;
}

static void child_is_looked_at_behind_calls_that_come_thick(void)
{
    pthread_t thread;
    start(0);
    child_expect(pthread_create(&thread, NULL, sleep_behind_calls_that_come_thick, NULL) == 0, "a thread starts");
    let_them_wait(1);
    child_pause_ms(500);
    child_finish();
}

static unsigned count_blocked(const struct sbx_snapshot *snapshot, uint8_t op, size_t with_logical)
{
    unsigned count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint64_t frames[700];
        size_t logical;
        if (snapshot->records[i].kind == SBX_RECORD_BLOCKED && snapshot->records[i].op == op) {
            frames_of(snapshot, &snapshot->records[i], frames, &logical);
            count += logical == with_logical ? snapshot->records[i].repeats + 1 : 0; /* looks */
        }
    }
    return count;
}

static void test_calls_before_a_thread_entered_a_runtime_take_no_turn_from_those_behind(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_is_looked_at_behind_calls_that_come_thick);
    assert_true(count_blocked(snapshot, SBX_OP_NANOSLEEP, 2) > 0);
    sbx_snapshot_destroy(snapshot);
}

/* The main thread polls briefly and then waits elsewhere. The recorder asks the thread's stack whether it rests at that
 * place (rest_place.h). */
static void child_waits_elsewhere_than_it_polls(void)
{
    static struct runtime runtime = {.depth = 2, .first_function = 480};
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    start(0);
    child_wait_for_rows();
    stallbox_provider_enter(provider, &runtime);
    for (int i = 0; i < 16; i++) {
        poll(NULL, 0, 1);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

static void test_a_look_at_where_the_main_thread_rests_keeps_what_was_noted_of_its_runtime(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_waits_elsewhere_than_it_polls);
    unsigned with = count_blocked(snapshot, SBX_OP_COND_TIMEDWAIT, 2);
    unsigned without = count_blocked(snapshot, SBX_OP_COND_TIMEDWAIT, 0);
    /* A thread may wake during a look when the recorder loses its processor. Such a look records the native stack
     * alone. */
    assert_true(with > 0);
    assert_in_range(without, 0, 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- what it may cost to be seen so ---- */

/* How often the runtime is asked while bytes go through a pipe. */
static int asked_of_pipe(int flags)
{
    struct runtime runtime = {.depth = 2, .first_function = 700};
    int ends[2];
    char byte = 0;
    child_expect(pipe2(ends, flags) == 0, "there is a pipe");
    void *former = stallbox_provider_enter(provider, &runtime);
    for (int i = 0; i < 500; i++) {
        child_expect(write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1, "a byte goes through");
    }
    stallbox_provider_leave(provider, former);
    close(ends[0]);
    close(ends[1]);
    return runtime.asked;
}

static void child_calls_what_cannot_wait(void)
{
    start(0);
    child_set_interval(1000);
    child_pause_ms(300); /* long enough for a full allowance of questions */
    int prompt = asked_of_pipe(O_NONBLOCK);
    child_pause_ms(300);
    int other = asked_of_pipe(0);
    child_expect(other >= 256, "a call that may wait asks for the runtime's stack");
    child_expect(prompt < other / 2, "one on a pipe that keeps nobody waiting does not");
    child_finish();
}

static void test_a_call_that_cannot_wait_does_not_ask_the_runtime(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run(child_calls_what_cannot_wait));
}

static void child_waits_briefly_and_often(void)
{
    struct runtime runtime = {.depth = 2, .first_function = 800};
    start(0);
    child_set_interval(1000); /* the governor does not widen it */
    void *former = stallbox_provider_enter(provider, &runtime);
    uint64_t begin_us = wall_us();
    for (int i = 0; i < 3000 || wall_us() - begin_us < 200000; i++) {
        nanosleep(&(struct timespec){0, 1}, NULL);
    }
    uint64_t intervals = (wall_us() - begin_us) / 1000;
    stallbox_provider_leave(provider, former);
    /* The first 256 calls, then one in each interval, plus the thread's samples, of which there is one in each
     * interval. */
    child_expect((uint64_t)runtime.asked <= 256 + 2 * intervals + 64, "the runtime is asked once an interval");
    child_expect(runtime.asked >= 256, "and is asked of the first ones");
    child_finish();
}

static void test_of_calls_that_come_thick_the_runtime_is_asked_once_an_interval(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run(child_waits_briefly_and_often));
}

static void child_queues_from_the_runtime(void)
{
    struct runtime runtime = {.depth = 2, .first_function = 900};
    uint64_t followed = 0;
    start(0);
    child_set_interval(1000); /* the governor does not widen it */
    void *former = stallbox_provider_enter(provider, &runtime);
    uint64_t begin_us = wall_us();
    for (int i = 0; i < 5000; i++) {
        uint64_t id = stallbox_task_queued();
        followed += id != 0 && id >> 63 == 0; /* the others are only counted in their queue */
        stallbox_task_cancelled(id);
    }
    uint64_t took_us = wall_us() - begin_us;
    stallbox_provider_leave(provider, former);
    child_expect(followed <= 64 + took_us / 100 + 1, "one task in a tenth of a millisecond is followed");
    child_expect(followed >= 64, "and the first ones are");
    child_finish();
}

static void test_of_tasks_that_a_runtimes_function_queues_few_are_followed(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run(child_queues_from_the_runtime));
}

static void child_queues_while_the_interval_is_long(void)
{
    enum {
        INTERVAL_US = 32000,
        TASKS_AN_INTERVAL = 10
    };
    struct runtime runtime = {.depth = 2, .first_function = 900};
    uint64_t followed = 0;
    start(0);
    child_set_interval(INTERVAL_US);
    void *former = stallbox_provider_enter(provider, &runtime);
    uint64_t begin_us = wall_us();
    for (int i = 0; i < 5000 || wall_us() - begin_us < 5000; i++) {
        uint64_t id = stallbox_task_queued();
        followed += id != 0 && id >> 63 == 0;
        stallbox_task_cancelled(id);
    }
    uint64_t took_us = wall_us() - begin_us;
    stallbox_provider_leave(provider, former);
    child_expect(followed <= 64 + took_us * TASKS_AN_INTERVAL / INTERVAL_US + 1, "ten tasks an interval are followed");
    child_expect(followed >= 64, "and the first ones are");
    child_finish();
}

static void test_of_tasks_of_a_runtimes_function_fewer_are_followed_where_the_interval_was_made_longer(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run(child_queues_while_the_interval_is_long));
}

static void child_wakes_a_loop_from_the_runtime(void)
{
    enum {
        INTERVAL_US = 10000,
        LASTS_US = 200 /* shorter than a call that is recorded */
    };
    struct runtime runtime = {.depth = 2, .first_function = 950};
    uint64_t one = 1, read_back, lasted = 0;
    start(0);
    child_set_interval(INTERVAL_US);
    int counter = eventfd(0, EFD_NONBLOCK);
    child_expect(counter >= 0, "there is a counter");
    poll(&(struct pollfd){.fd = counter, .events = POLLIN}, 1, 0); /* so that the loop is known */
    void *former = stallbox_provider_enter(provider, &runtime);
    uint64_t begin_us = wall_us();
    for (int i = 0; i < 3000 || wall_us() - begin_us < 5000; i++) {
        uint64_t before_us = wall_us();
        child_expect(write(counter, &one, sizeof one) == sizeof one, "it is written to");
        uint64_t between_us = wall_us();
        child_expect(read(counter, &read_back, sizeof read_back) == sizeof read_back, "and read from");
        lasted += (between_us - before_us >= LASTS_US) + (wall_us() - between_us >= LASTS_US);
    }
    uint64_t intervals = (wall_us() - begin_us) / INTERVAL_US;
    stallbox_provider_leave(provider, former);
    /* The first 64 calls, then one in each interval, plus the thread's samples, of which there is one in each interval.
     * A call in which the thread loses its processor is recorded as a wait, and the runtime is asked again in the next
     * call. */
    child_expect((uint64_t)runtime.asked <= 64 + 2 * intervals + 8 + 2 * lasted,
                 "the runtime is asked once an interval");
    child_expect(runtime.asked >= 64, "and is asked of the first ones");
    close(counter);
    child_finish();
}

static void test_of_bytes_that_wake_a_loop_a_runtimes_thread_is_asked_once_an_interval(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run(child_wakes_a_loop_from_the_runtime));
}

/* ---- where it must not be asked ---- */

static struct runtime interrupted = {.depth = 2, .first_function = 500};
static atomic_int asked_in_handler;

static void handler_that_sleeps(int number)
{
    (void)number;
    int before = interrupted.asked;
    sleep_ms(20);
    poll(NULL, 0, 20);
    atomic_store(&asked_in_handler, interrupted.asked - before);
}

static void child_sleeps_in_a_handler(void)
{
    start(0);
    signal(SIGUSR1, handler_that_sleeps);
    stallbox_provider_enter(provider, &interrupted);
    raise(SIGUSR1); /* as if the signal came at any instruction of the runtime */
    child_expect(asked_in_handler == 0, "it is not asked below a handler of the host");
    sleep_ms(20);
    child_expect(interrupted.asked > 0, "and is asked behind it");
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

static void test_a_runtime_is_not_asked_below_the_hosts_handlers(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_sleeps_in_a_handler);
    uint64_t frames[700];
    size_t logical;
    frames_of(snapshot, find_sleep(snapshot, 0), frames, &logical);
    assert_int_equal(logical, 0);
    frames_of(snapshot, find_sleep(snapshot, 1), frames, &logical);
    assert_int_equal(logical, 2);
    assert_true(snapshot->drops[SBX_DROP_LOGICAL_SKIPPED] > 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_meets_what_cannot_be_read(void)
{
    start(0);
    child_expect(stallbox_provider_can_read(&interrupted, sizeof interrupted) == 1, "its own can be read");
    for (int i = 0; i < 3; i++) {
        child_expect(stallbox_provider_can_read((const void *)(uintptr_t)4096, 8) == 0, "nothing is mapped there");
    }
    sleep_ms(20);
    child_finish();
}

static void test_what_a_runtime_could_not_read_is_counted(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_meets_what_cannot_be_read);
    assert_int_equal(snapshot->drops[SBX_DROP_UNREADABLE], 3);
    sbx_snapshot_destroy(snapshot);
}

enum {
    COMPUTE_MS = 500, /* of CPU time */
    SPELL_MS = 25,    /* of work, at least, before the CPU time is read again */
};

static struct runtime computing = {.depth = 2, .first_function = 700};

/* The only points here are clock reads, which keep the watch thread awake. All other records are requested by signal.
 * The CPU time is read when it may be enough, not all the time: see compute_ms() of test_sample_signal.c. */
__attribute__((noinline)) static void compute(bool polls)
{
    uint64_t begin_ms = now_ms(), used_ms = 0;
    child_set_points(SBX_POINT_BIT(SBX_GROUP_ASYNC) | SBX_POINT_BIT(SBX_GROUP_CLOCK));
    while (used_ms < COMPUTE_MS) {
        uint64_t left_ms = COMPUTE_MS - used_ms;
        uint64_t until_us = wall_us() + 1000 * (left_ms > SPELL_MS ? left_ms : SPELL_MS);
        while (wall_us() < until_us) {
            for (volatile int i = 0; i < 100000; i++) {
            }
            if (polls) {
                stallbox_provider_poll();
            }
        }
        used_ms = now_ms() - begin_ms;
    }
}

static void child_computes_with_safepoints(void)
{
    start(STALLBOX_PROVIDER_SAFEPOINTS);
    stallbox_provider_enter(provider, &computing);
    compute(true);
    child_expect(computing.wanted > 2, "safepoints were wanted");
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

static unsigned count_async(const struct sbx_snapshot *snapshot, size_t with_logical)
{
    unsigned count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint64_t frames[700];
        size_t logical;
        if (snapshot->records[i].kind == SBX_RECORD_ASYNC) {
            frames_of(snapshot, &snapshot->records[i], frames, &logical);
            count += logical == with_logical ? snapshot->records[i].repeats + 1 : 0;
        }
    }
    return count;
}

static void test_samples_of_a_running_thread_are_taken_at_safepoints(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_computes_with_safepoints);
    assert_true(count_async(snapshot, 2) > 2);
    sbx_snapshot_destroy(snapshot);
}

static void child_computes_without_safepoints(void)
{
    start(STALLBOX_PROVIDER_SAFEPOINTS);
    stallbox_provider_enter(provider, &computing);
    compute(false); /* samples are requested and never arrive */
    child_expect(computing.wanted >= 1, "a safepoint was wanted");
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

static void test_a_safepoint_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_computes_without_safepoints);
    assert_int_equal(count_async(snapshot, 2), 0);
    assert_true(count_async(snapshot, 0) > 2); /* as if there were no runtime */
    sbx_snapshot_destroy(snapshot);
}

static void child_computes_and_may_be_asked_anywhere(void)
{
    start(STALLBOX_PROVIDER_SIGNAL_SAFE);
    stallbox_provider_enter(provider, &computing);
    compute(false);
    child_expect(computing.wanted == 0, "nothing was wanted");
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

static void test_a_signal_safe_runtime_is_asked_in_the_handler(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_computes_and_may_be_asked_anywhere);
    assert_true(count_async(snapshot, 2) > 0); /* on a quiet machine some hundred */
    sbx_snapshot_destroy(snapshot);
}

static void child_is_busy_in_its_allocator(void)
{
    static struct runtime runtime = {.depth = 2, .first_function = 800};
    start(STALLBOX_PROVIDER_SAFEPOINTS);
    child_set_points(SBX_POINT_BIT(SBX_GROUP_ALLOC)); /* the clock below is a point of its own */
    stallbox_provider_enter(provider, &runtime);
    for (uint64_t end = now_ms() + 400; now_ms() < end;) {
        runtime.is_busy = true;
        void *volatile memory = malloc(100);
        free(memory);
        runtime.is_busy = false;
        stallbox_provider_poll();
    }
    child_expect(runtime.asked_when_busy > 2, "it was asked in its allocator");
    stallbox_provider_leave(provider, NULL);
    child_finish();
}

static void test_a_sample_in_a_busy_runtime_moves_to_the_next_safepoint(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run(child_is_busy_in_its_allocator);
    unsigned with = 0, without = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint64_t frames[700];
        size_t logical;
        if (snapshot->records[i].kind == SBX_RECORD_ALLOC) {
            frames_of(snapshot, &snapshot->records[i], frames, &logical);
            with += logical == 2 ? snapshot->records[i].repeats + 1 : 0;
            without += logical == 0;
        }
    }
    assert_true(with > 2);
    assert_true(without < with); /* before it was entered, and after */
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
#define CHILD_TEST(name) cmocka_unit_test_setup_teardown(name, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CHILD_TEST(test_frames_are_there_from_enter_to_leave),
        CHILD_TEST(test_of_a_deep_stack_both_ends_are_kept),
        CHILD_TEST(test_runs_end_where_the_logical_stack_changes),
        CHILD_TEST(test_what_the_runtimes_heap_gave_a_thread_counts_as_its_allocations),
        CHILD_TEST(test_what_the_runtime_gave_up_is_read_while_a_message_is_open),
        CHILD_TEST(test_a_sleeper_is_seen_in_the_function_in_which_it_went_to_sleep),
        CHILD_TEST(test_calls_before_a_thread_entered_a_runtime_take_no_turn_from_those_behind),
        CHILD_TEST(test_a_look_at_where_the_main_thread_rests_keeps_what_was_noted_of_its_runtime),
        CHILD_TEST(test_a_call_that_cannot_wait_does_not_ask_the_runtime),
        CHILD_TEST(test_of_calls_that_come_thick_the_runtime_is_asked_once_an_interval),
        CHILD_TEST(test_of_tasks_that_a_runtimes_function_queues_few_are_followed),
        CHILD_TEST(test_of_tasks_of_a_runtimes_function_fewer_are_followed_where_the_interval_was_made_longer),
        CHILD_TEST(test_of_bytes_that_wake_a_loop_a_runtimes_thread_is_asked_once_an_interval),
        CHILD_TEST(test_a_runtime_is_not_asked_below_the_hosts_handlers),
        cmocka_unit_test(test_what_a_runtime_could_not_read_is_counted),
        CHILD_TEST(test_samples_of_a_running_thread_are_taken_at_safepoints),
        CHILD_TEST(test_a_safepoint_that_does_not_come_is_not_waited_for),
        CHILD_TEST(test_a_signal_safe_runtime_is_asked_in_the_handler),
        CHILD_TEST(test_a_sample_in_a_busy_runtime_moves_to_the_next_safepoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
