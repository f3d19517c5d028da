/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread_clock.c - the thread clock returns the kernel's times with every source, and gives way to the kernel
 * where it must.
 *
 * Which sources exist depends on the machine; the test of a missing source says so and is skipped. The program runs
 * itself again without rseq. No test measures the speed of the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "thread_clock.h"

enum {
    MS = 1000 * 1000,
    /* How far a reading may lie outside the kernel's own two readings around it. Stolen time can stay in a line for the
     * line's whole life. The value is generous, but far below the error of a missed sleep. */
    TOLERANCE_NS = 20 * MS,
    SLEEP_MS = 60,
    SLEEPS_IN_READINGS = 60
};

static enum sbx_clock_source best;

static void sleep_ms(int ms)
{
    struct timespec rest = {ms / 1000, ms % 1000 * MS};
    while (nanosleep(&rest, &rest) != 0) {
    }
}

/* CPU time; on a loaded machine that may take longer. */
static void spin_ms(int ms)
{
    for (uint64_t end = sbx_own_cpu_ns() + (uint64_t)ms * MS; sbx_own_cpu_ns() < end;) {
    }
}

static void need(enum sbx_clock_source source)
{
    if (best < source) {
        print_message("             needs %s, best here is %s\n", sbx_clock_source_name(source),
                      sbx_clock_source_name(best));
        skip();
    }
}

/* The rseq word of this thread; NULL without rseq. */
static struct sbx_rseq_area *own_area(void)
{
    int32_t offset = sbx_the_clock_scale.rseq_offset;
    return offset != 0 ? sbx_rseq_area(offset) : NULL;
}

static int find_best_source(void **state)
{
    (void)state;
    sbx_clock_start();
    assert_int_equal(sbx_clock_source(), SBX_CLOCK_KERNEL);
    for (int i = 0; i < 40 && best != SBX_CLOCK_RSEQ; i++) {
        sleep_ms(10);
        best = sbx_clock_calibrate();
    }
    print_message("best source here: %s\n", sbx_clock_source_name(best));
    return 0;
}

static int lift_limit(void **state)
{
    (void)state;
    sbx_clock_limit(SBX_CLOCK_RSEQ);
    if (own_area() != NULL) {
        sbx_store_relaxed(&own_area()->rseq_cs, 0);
    }
    return 0;
}

static void check_against_kernel(struct sbx_thread_clock *clock)
{
    uint64_t wall_before = sbx_now_ns();
    uint64_t cpu_before = sbx_own_cpu_ns();
    struct sbx_times times = sbx_thread_clock_read(clock);
    uint64_t wall_only = sbx_thread_clock_wall_ns(clock);
    uint64_t cpu_after = sbx_own_cpu_ns();
    uint64_t wall_after = sbx_now_ns();
    assert_in_range(times.wall_ns, wall_before - TOLERANCE_NS, wall_after + TOLERANCE_NS);
    assert_in_range(wall_only, times.wall_ns, wall_after + TOLERANCE_NS);
    assert_true(times.cpu_ns + TOLERANCE_NS >= cpu_before);
    assert_true(times.cpu_ns <= cpu_after + TOLERANCE_NS);
}

static void test_every_source_tells_the_kernels_times(void **state)
{
    (void)state;
    for (enum sbx_clock_source source = SBX_CLOCK_KERNEL; source <= best; source++) {
        struct sbx_thread_clock clock = {0};
        sbx_clock_limit(source);
        for (int i = 0; i < 300; i++) {
            check_against_kernel(&clock);
            if (i % 30 == 0) {
                spin_ms(1);
            } else if (i % 30 == 15) {
                sleep_ms(1);
            }
        }
    }
}

static void test_a_capped_source_draws_no_lines_it_may_not_use(void **state)
{
    (void)state;
    struct sbx_thread_clock clock = {0};
    sbx_clock_limit(SBX_CLOCK_KERNEL);
    assert_int_equal(sbx_clock_source(), SBX_CLOCK_KERNEL);
    sbx_thread_clock_read(&clock);
    sbx_thread_clock_wall_ns(&clock);
    assert_true(clock.cpu_base == 0 && clock.wall_base == 0);

    need(SBX_CLOCK_CYCLES);
    sbx_clock_limit(SBX_CLOCK_CYCLES);
    assert_int_equal(sbx_clock_source(), SBX_CLOCK_CYCLES);
    for (int i = 0; i < 100 && clock.wall_base == 0; i++) { /* a line whose drawing was interrupted is not kept */
        sbx_thread_clock_read(&clock);
    }
    assert_true(clock.cpu_base == 0 && clock.wall_base != 0);
    if (own_area() != NULL) {
        assert_int_equal(sbx_load_relaxed(&own_area()->rseq_cs), 0);
    }
}

static void test_a_lowered_cap_ends_the_lines(void **state)
{
    (void)state;
    need(SBX_CLOCK_CYCLES);
    struct sbx_thread_clock clock = {0};
    struct sbx_times last = sbx_thread_clock_read(&clock);
    for (int source = best; source >= SBX_CLOCK_KERNEL; source--) {
        sbx_clock_limit((enum sbx_clock_source)source);
        sleep_ms(SBX_CLOCK_REBASE_NS / MS + 1);
        for (int i = 0; i < 100; i++) {
            struct sbx_times now = sbx_thread_clock_read(&clock);
            assert_true(now.wall_ns >= last.wall_ns && now.cpu_ns >= last.cpu_ns);
            last = now;
        }
        assert_true(source == SBX_CLOCK_RSEQ || clock.cpu_base == 0);
    }
    assert_int_equal(clock.wall_base, 0);
}

static void test_a_sleep_is_not_charged(void **state)
{
    (void)state;
    for (enum sbx_clock_source source = SBX_CLOCK_KERNEL; source <= best; source++) {
        struct sbx_thread_clock clock = {0};
        sbx_clock_limit(source);
        for (int i = 0; i < 3; i++) {
            struct sbx_times before = sbx_thread_clock_read(&clock);
            sbx_thread_clock_read(&clock);
            sleep_ms(SLEEP_MS);
            struct sbx_times after = sbx_thread_clock_read(&clock);
            assert_true(after.wall_ns - before.wall_ns >= (SLEEP_MS - 1) * MS);
            assert_true(after.cpu_ns - before.cpu_ns < SLEEP_MS / 2 * MS);
        }
    }
}

/* The sleep is shorter than the life of a line, so only the word can show it. */
static void test_a_sleep_shorter_than_a_line_is_seen_by_the_word(void **state)
{
    (void)state;
    need(SBX_CLOCK_RSEQ);
    struct sbx_thread_clock clock = {0};
    for (int i = 0; i < 50; i++) {
        sbx_thread_clock_read(&clock);
        assert_true(sbx_clock_word_is_ours(clock.rseq_offset) || sbx_load_relaxed(&own_area()->rseq_cs) == 0);
        sleep_ms(1);
        assert_false(sbx_clock_word_is_ours(clock.rseq_offset));
    }
}

static void test_a_disarmed_word_makes_the_next_reading_ask_the_kernel(void **state)
{
    (void)state;
    struct sbx_thread_clock clock = {0};
    sbx_thread_clock_disarm(&clock); /* a clock that has read nothing: nothing to disarm */
    need(SBX_CLOCK_RSEQ);
    for (int i = 0; i < 100; i++) {
        sbx_thread_clock_read(&clock);
        sbx_thread_clock_disarm(&clock);
        assert_int_equal(sbx_load_relaxed(&own_area()->rseq_cs), 0);
        uint32_t sequence = clock.sequence;
        sbx_thread_clock_read(&clock);
        assert_int_not_equal(clock.sequence, sequence);
    }
}

static void test_anothers_word_is_left_alone_and_counted(void **state)
{
    (void)state;
    need(SBX_CLOCK_RSEQ);
    static const uint32_t code[2] = {SBX_RSEQ_SIGNATURE, 0};
    static struct sbx_rseq_cs theirs;
    theirs =
        (struct sbx_rseq_cs){.start_ip = (uintptr_t)&theirs, .post_commit_offset = 1, .abort_ip = (uintptr_t)&code[1]};
    uint64_t word = (uint64_t)(uintptr_t)&theirs;
    struct sbx_rseq_area *area = own_area();
    struct sbx_thread_clock clock = {0};
    int kept = 0;
    for (int i = 0; i < 1000; i++) {
        sbx_thread_clock_read(&clock); /* our word is armed and lines are drawn */
        sbx_store_relaxed(&area->rseq_cs, word);
        uint64_t counted = sbx_clock_foreign_words();
        uint64_t before = sbx_own_cpu_ns();
        struct sbx_times times = sbx_thread_clock_read(&clock);
        uint64_t after = sbx_own_cpu_ns();
        sbx_thread_clock_disarm(&clock);
        uint64_t now = sbx_load_relaxed(&area->rseq_cs);
        assert_true(now == word || now == 0); /* 0: the thread was in the kernel in between */
        if (now == word) {
            kept++;
            assert_int_equal(sbx_clock_foreign_words(), counted + 1);
            assert_int_equal(clock.cpu_base, 0);
            assert_true(times.cpu_ns <= after + TOLERANCE_NS);
            assert_true(times.cpu_ns + TOLERANCE_NS >= before);
        }
        sbx_store_relaxed(&area->rseq_cs, 0);
    }
    assert_true(kept > 0);
}

static void test_a_word_lost_while_a_line_is_drawn_does_not_serve(void **state)
{
    (void)state;
    need(SBX_CLOCK_RSEQ);
    struct sbx_thread_clock clock = {0};
    /* A handler in the middle of a drawing finds an odd sequence. It gets the kernel's values, and writes and arms
     * nothing. */
    clock.sequence = 7;
    struct sbx_thread_clock before = clock;
    for (int i = 0; i < 10; i++) {
        check_against_kernel(&clock);
    }
    assert_memory_equal(&clock, &before, sizeof clock);
    assert_int_equal(sbx_load_relaxed(&own_area()->rseq_cs), 0);
}

static struct sbx_thread_clock signalled_clock;
static volatile uint64_t handled;
static volatile bool went_back;
static uint64_t last_wall_in_handler;

static void read_in_handler(int signal)
{
    (void)signal;
    uint64_t wall_ns =
        handled % 3 == 0 ? sbx_thread_clock_read(&signalled_clock).wall_ns : sbx_thread_clock_wall_ns(&signalled_clock);
    if (wall_ns < last_wall_in_handler) {
        went_back = true;
    }
    last_wall_in_handler = wall_ns;
    if (handled % 5 == 0) {
        sbx_thread_clock_disarm(&signalled_clock);
    }
    handled++;
}

/* Signals at every instruction of fast and slow readings alike. Under them the handler redraws, arms and disarms. */
static void test_a_handler_may_read_the_clock_it_interrupted(void **state)
{
    (void)state;
    for (enum sbx_clock_source source = SBX_CLOCK_KERNEL; source <= best; source++) {
        sbx_clock_limit(source);
        memset(&signalled_clock, 0, sizeof signalled_clock);
        handled = 0;
        last_wall_in_handler = 0;
        struct sigaction action = {.sa_handler = read_in_handler, .sa_flags = SA_RESTART};
        assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
        timer_t timer;
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
        assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
        struct itimerspec often = {{0, 50 * 1000}, {0, 50 * 1000}};
        assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
        uint64_t last_wall = 0;
        for (uint64_t i = 0, end = sbx_now_ns() + 300ull * MS; sbx_now_ns() < end; i++) {
            if (i % 7 == 0) {
                sbx_thread_clock_disarm(&signalled_clock);
            }
            uint64_t wall_before = sbx_now_ns();
            struct sbx_times times = sbx_thread_clock_read(&signalled_clock);
            assert_true(times.wall_ns >= last_wall);
            assert_true(times.wall_ns + TOLERANCE_NS >= wall_before);
            assert_true(times.wall_ns <= sbx_now_ns() + TOLERANCE_NS);
            assert_true(times.cpu_ns <= sbx_own_cpu_ns() + TOLERANCE_NS);
            last_wall = times.wall_ns;
        }
        timer_delete(timer);
        signal(SIGALRM, SIG_DFL);
        assert_true(handled > 10);
        assert_false(went_back);
        assert_int_equal(signalled_clock.sequence % 2, 0);
    }
}

static void sleep_and_read_in_handler(int signal)
{
    (void)signal;
    struct timespec rest = {0, 6 * MS};
    nanosleep(&rest, NULL);
    sbx_thread_clock_read(&signalled_clock);
    handled++;
}

/* The thread sleeps in a handler, and the handler's own reading arms the word again. The interrupted reading has values
 * from before the sleep: a line that it was drawing (I3) or one that it was reading by (I2). It must not believe them
 * because the word is armed. */
static void sleep_in_readings(bool draw)
{
    memset(&signalled_clock, 0, sizeof signalled_clock);
    handled = 0;
    struct sigaction action = {.sa_handler = sleep_and_read_in_handler, .sa_flags = SA_RESTART};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec often = {{0, 7 * MS}, {0, 7 * MS}};
    assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
    int ahead = 0;
    while (handled < SLEEPS_IN_READINGS) {
        uint64_t handled_before = handled;
        if (draw) {
            sbx_thread_clock_disarm(&signalled_clock);
            sbx_thread_clock_read(&signalled_clock);
        }
        struct sbx_times times = sbx_thread_clock_read(&signalled_clock);
        if (handled != handled_before) {
            ahead += times.cpu_ns > sbx_own_cpu_ns() + 3 * MS;
        }
    }
    timer_delete(timer);
    signal(SIGALRM, SIG_DFL);
    assert_true(ahead * 10 < SLEEPS_IN_READINGS); /* not 0, because stolen time looks the same */
}

static void test_a_drawing_that_a_handler_overtook_is_thrown_away(void **state)
{
    (void)state;
    need(SBX_CLOCK_RSEQ);
    sleep_in_readings(true);
}

static void test_a_reading_that_a_handler_overtook_is_done_again(void **state)
{
    (void)state;
    need(SBX_CLOCK_RSEQ);
    sleep_in_readings(false);
}

static void *read_never_backwards(void *argument)
{
    (void)argument;
    struct sbx_thread_clock clock = {0};
    struct sbx_times last = {0, 0};
    uint64_t cpu_at_birth = sbx_own_cpu_ns();
    for (uint64_t end = sbx_now_ns() + 300ull * MS; last.wall_ns < end;) {
        struct sbx_times now = sbx_thread_clock_read(&clock);
        uint64_t wall_ns = sbx_thread_clock_wall_ns(&clock);
        if (now.wall_ns < last.wall_ns || now.cpu_ns < last.cpu_ns || wall_ns < now.wall_ns) {
            return "backwards";
        }
        now.wall_ns = wall_ns;
        last = now;
    }
    return last.cpu_ns + TOLERANCE_NS < cpu_at_birth ? "behind" : NULL;
}

static void test_no_reading_of_a_thread_is_before_its_last(void **state)
{
    (void)state;
    for (enum sbx_clock_source source = SBX_CLOCK_KERNEL; source <= best; source++) {
        sbx_clock_limit(source);
        pthread_t threads[6];
        for (size_t i = 0; i < SBX_COUNT_OF(threads); i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, read_never_backwards, NULL), 0);
        }
        for (size_t i = 0; i < SBX_COUNT_OF(threads); i++) {
            void *wrong = NULL;
            assert_int_equal(pthread_join(threads[i], &wrong), 0);
            assert_null(wrong);
        }
    }
}

/* A line that ran ahead, because of a wrong rate or stolen time, is held until the kernel's clocks have caught up. */
static void test_a_line_that_ran_ahead_is_held_not_taken_back(void **state)
{
    (void)state;
    need(SBX_CLOCK_RSEQ);
    struct sbx_thread_clock clock = {0};
    for (int i = 0; i < 100 && clock.cpu_base == 0; i++) {
        sbx_thread_clock_read(&clock);
    }
    assert_int_not_equal(clock.cpu_base, 0);
    clock.wall_offset += 30 * MS;
    clock.cpu_offset += 30 * MS;
    struct sbx_times ahead = sbx_thread_clock_read(&clock);
    sbx_thread_clock_disarm(&clock);
    struct sbx_times held = sbx_thread_clock_read(&clock);
    assert_true(held.wall_ns >= ahead.wall_ns && held.cpu_ns >= ahead.cpu_ns);
    spin_ms(50);
    check_against_kernel(&clock);
    assert_true(sbx_thread_clock_read(&clock).wall_ns > held.wall_ns);
}

static void test_a_look_whether_a_time_is_over_needs_a_line_and_moves_no_floor(void **state)
{
    (void)state;
    need(SBX_CLOCK_CYCLES);
    struct sbx_thread_clock clock = {0};
    assert_false(sbx_thread_clock_is_within(&clock, sbx_now_ns(), UINT64_MAX)); /* there is no line yet */
    uint64_t now_ns = sbx_thread_clock_wall_ns(&clock);
    assert_true(sbx_thread_clock_is_within(&clock, now_ns, 1000 * MS));
    assert_false(sbx_thread_clock_is_within(&clock, now_ns - 1000 * MS, 1000 * MS));
    assert_false(sbx_thread_clock_is_within(&clock, now_ns + 2000 * MS, 1000 * MS)); /* it is yet to come */
    assert_int_equal(clock.wall_floor, now_ns);
}

static void test_a_counter_that_went_back_is_not_believed(void **state)
{
    (void)state;
    need(SBX_CLOCK_CYCLES);
    struct sbx_thread_clock clock = {0};
    sbx_thread_clock_read(&clock);
    uint64_t day = 86400ull * 1000 * MS;
    clock.wall_base += day; /* as if the lines had been drawn a day ahead of the counter */
    clock.wall_offset -= day;
    if (clock.cpu_base != 0) {
        clock.cpu_base += day;
        clock.cpu_offset -= day;
    }
    check_against_kernel(&clock);
    sleep_ms(SBX_CLOCK_REBASE_NS / MS + 1);
    check_against_kernel(&clock);
}

static void test_calibrating_on_keeps_the_source_and_moves_the_rate_little(void **state)
{
    (void)state;
    need(SBX_CLOCK_CYCLES);
    uint64_t first = sbx_the_clock_scale.multiplier;
    for (int i = 0; i < 150; i++) { /* past the first slide of the window */
        sleep_ms(10);
        assert_int_equal(sbx_clock_calibrate(), best);
        uint64_t now = sbx_the_clock_scale.multiplier;
        uint64_t distance = now > first ? now - first : first - now;
        assert_true(distance < first / 1000);
    }
}

static void test_sources_have_names(void **state)
{
    (void)state;
    assert_string_equal(sbx_clock_source_name(SBX_CLOCK_KERNEL), "kernel");
    assert_string_equal(sbx_clock_source_name(SBX_CLOCK_CYCLES), "cycles");
    assert_string_equal(sbx_clock_source_name(SBX_CLOCK_RSEQ), "rseq");
    assert_string_equal(sbx_clock_source_name(77), "unknown");
}

/* Run this program again with its argument `mode` and `tunable` for its glibc. */
static int run_again(const char *mode, const char *tunable)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (tunable != NULL) {
            setenv("GLIBC_TUNABLES", tunable, 1);
        }
        execl("/proc/self/exe", "test_thread_clock", mode, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_without_rseq_the_counter_serves_alone(void **state)
{
    (void)state;
    int found = run_again("source", "glibc.pthread.rseq=0");
    assert_int_equal(found, best < SBX_CLOCK_CYCLES ? best : SBX_CLOCK_CYCLES);
}

static void test_a_thread_that_may_not_read_the_counter_does_not_die_of_it(void **state)
{
    (void)state;
#if defined(PR_SET_TSC) && !defined(__SANITIZE_THREAD__) /* its runtime reads the time by itself */
    assert_int_equal(run_again("forbidden", NULL), SBX_CLOCK_KERNEL);
#else
    skip();
#endif
}

/* What the program does when it is run again: it finds its source, reads a few times, and exits with the source's
 * number. */
static int find_source_and_read(const char *mode)
{
    bool forbidden = false;
#ifdef PR_SET_TSC
    if (strcmp(mode, "forbidden") == 0) {
        forbidden = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0;
        if (!forbidden) {
            return SBX_CLOCK_KERNEL; /* the kernel cannot do it */
        }
    }
#else
    (void)mode;
#endif
    sbx_clock_start();
    for (int i = 0; i < 40 && sbx_clock_source() != SBX_CLOCK_RSEQ; i++) {
        sleep_ms(5);
        sbx_clock_calibrate();
    }
#ifdef PR_SET_TSC
    if (forbidden && prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0) != 0) { /* the vdso and exit() need the counter too */
        return 127;
    }
#endif
    struct sbx_thread_clock clock = {0};
    for (int i = 0; i < 100; i++) {
        sbx_thread_clock_read(&clock);
    }
    return sbx_clock_source();
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return find_source_and_read(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_every_source_tells_the_kernels_times, lift_limit),
        cmocka_unit_test_teardown(test_a_capped_source_draws_no_lines_it_may_not_use, lift_limit),
        cmocka_unit_test_teardown(test_a_lowered_cap_ends_the_lines, lift_limit),
        cmocka_unit_test_teardown(test_a_sleep_is_not_charged, lift_limit),
        cmocka_unit_test_teardown(test_a_sleep_shorter_than_a_line_is_seen_by_the_word, lift_limit),
        cmocka_unit_test_teardown(test_a_disarmed_word_makes_the_next_reading_ask_the_kernel, lift_limit),
        cmocka_unit_test_teardown(test_anothers_word_is_left_alone_and_counted, lift_limit),
        cmocka_unit_test_teardown(test_a_word_lost_while_a_line_is_drawn_does_not_serve, lift_limit),
        cmocka_unit_test_teardown(test_a_handler_may_read_the_clock_it_interrupted, lift_limit),
        cmocka_unit_test_teardown(test_a_drawing_that_a_handler_overtook_is_thrown_away, lift_limit),
        cmocka_unit_test_teardown(test_a_reading_that_a_handler_overtook_is_done_again, lift_limit),
        cmocka_unit_test_teardown(test_no_reading_of_a_thread_is_before_its_last, lift_limit),
        cmocka_unit_test_teardown(test_a_line_that_ran_ahead_is_held_not_taken_back, lift_limit),
        cmocka_unit_test_teardown(test_a_look_whether_a_time_is_over_needs_a_line_and_moves_no_floor, lift_limit),
        cmocka_unit_test_teardown(test_a_counter_that_went_back_is_not_believed, lift_limit),
        cmocka_unit_test_teardown(test_calibrating_on_keeps_the_source_and_moves_the_rate_little, lift_limit),
        cmocka_unit_test(test_sources_have_names),
        cmocka_unit_test(test_without_rseq_the_counter_serves_alone),
        cmocka_unit_test(test_a_thread_that_may_not_read_the_counter_does_not_die_of_it),
    };
    return cmocka_run_group_tests(tests, find_best_source, NULL);
}
