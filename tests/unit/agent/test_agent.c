/* SPDX-License-Identifier: Apache-2.0 */
/* test_agent.c - the recorder in a real process: each case is a child of its own, linked with the library as an
 * application would be, whose recording or snapshots the parent reads afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recording_recover.h"
#include "snapshot.h"
#include "stallbox/stallbox.h"

static char folder[64], spool[96], recordings[96];

/* ---- what the children do ---- */

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&pause, NULL) != 0 && errno == EINTR) {
    }
}

static void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "in the child: not so: %s\n", what);
        _exit(1);
    }
}

static void start(uint32_t anr_ms, uint32_t slow_message_ms)
{
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = anr_ms,
                                       .slow_message_ms = slow_message_ms};
    enum stallbox_result result = stallbox_start(&options);
    if (result != STALLBOX_OK) {
        fprintf(stderr, "start: %s\n", stallbox_result_name(result));
        _exit(1);
    }
}

static int wake_fd = -1;

/* Last in a function: its last call is then no tail call, and its frame stays on the stack. */
#define KEEP_FRAME() __asm__ volatile("")

/* The loop's own function, so that its poll call has one place. */
__attribute__((noinline)) static void loop_once(void (*handle)(void))
{
    struct pollfd watched = {.fd = wake_fd, .events = POLLIN};
    poll(&watched, 1, 10);
    if (handle != NULL) {
        handle();
    }
    KEEP_FRAME();
}

/* The special turn is hidden from the compiler: it would peel the loop, and a loop has one place. */
static void run_loop(int turns, volatile int special_turn, void (*handle)(void))
{
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < turns; i++) {
        loop_once(i == special_turn ? handle : NULL);
    }
}

__attribute__((noinline)) static void handler_that_sleeps(void)
{
    pause_ms(400);
    KEEP_FRAME();
}

__attribute__((noinline)) static void handler_that_computes(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 900);
    KEEP_FRAME();
}

static void child_sleeps_in_a_message(void)
{
    start(60000, 300);
    run_loop(20, 10, handler_that_sleeps);
    stallbox_stop(5000);
}

static void child_computes_in_a_message(void)
{
    start(60000, 300);
    pause_ms(100); /* the unwind rows of the executable are compiled meanwhile */
    run_loop(20, 10, handler_that_computes);
    stallbox_stop(5000);
}

static void child_hangs_in_a_message(void)
{
    start(1000, 60000);
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 10; i++) {
        loop_once(NULL);
    }
    pause_ms(1500); /* the message is open all the while */
    stallbox_stop(5000);
}

static void child_never_loops(void)
{
    start(500, 500);
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 1);
    pause_ms(1500);
    stallbox_stop(5000);
}

/* A handler that polls by itself, as a modal dialog does. */
__attribute__((noinline)) static void handler_that_polls(void)
{
    struct pollfd none = {.fd = -1};
    for (int i = 0; i < 4; i++) {
        poll(&none, 1, 120);
    }
    KEEP_FRAME();
}

static void child_polls_in_a_message(void)
{
    start(60000, 300);
    pause_ms(100);
    run_loop(20, 10, handler_that_polls);
    stallbox_stop(5000);
}

__attribute__((noinline)) static void wait_for_work(void)
{
    struct pollfd watched = {.fd = wake_fd, .events = POLLIN};
    poll(&watched, 1, 10);
    KEEP_FRAME();
}

__attribute__((noinline)) static void dispatch(void (*handle)(void))
{
    void *volatile memory =
        malloc(100); /* a sample is due here: the recorder learns that wait_for_work() has returned */
    free(memory);
    if (handle != NULL) {
        handle();
    }
    KEEP_FRAME();
}

/* As GLib does it: the function that polls returns before anything is handled. */
__attribute__((noinline)) static void iterate(void (*handle)(void))
{
    wait_for_work();
    dispatch(handle);
    KEEP_FRAME();
}

static void child_polls_in_a_message_as_glib_does(void)
{
    start(60000, 300);
    pause_ms(100);
    wake_fd = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 60; i++) {
        volatile int turn = i; /* see run_loop() */
        iterate(turn == 50 ? handler_that_polls : NULL);
    }
    stallbox_stop(5000);
}

__attribute__((noinline)) static void connect_to_something(void)
{
    struct pollfd none = {.fd = -1};
    for (int i = 0; i < 5; i++) {
        poll(&none, 1, 5);
    }
    KEEP_FRAME();
}

__attribute__((noinline)) static void deeper(int depth, void (*body)(void))
{
    volatile char ballast[256];
    ballast[0] = (char)depth;
    if (depth > 0) {
        deeper(depth - 1, body);
    } else {
        body();
    }
    ballast[1] = ballast[0];
}

static void loop_for_a_while(void)
{
    run_loop(150, -1, NULL);
}

/* First a loop at start-up, then the real one, further in: the first must not be waited for. */
static void child_changes_its_loop(void)
{
    start(600, 60000);
    pause_ms(100);
    connect_to_something();
    deeper(5, loop_for_a_while);
    stallbox_stop(5000);
}

static void child_asks_for_a_snapshot(void)
{
    start(60000, 60000);
    run_loop(5, -1, NULL);
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a manual snapshot is made");
    stallbox_stop(5000);
}

static void child_forks(void)
{
    start(60000, 60000);
    run_loop(5, -1, NULL);
    struct stallbox_counts before = {.sizeof_counts = sizeof before}, after = before;
    stallbox_read_counts(&before);
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 200; i++) { /* would record, slept and allocated, if it were not inert */
            void *volatile memory = malloc(100);
            free(memory);
            loop_once(NULL);
        }
        exit(0); /* runs the library's destructor: it must leave the parent's recording alone */
    }
    int status = 0;
    expect(waitpid(pid, &status, 0) == pid && status == 0, "the forked child ends in order");
    stallbox_read_counts(&after);
    expect(after.messages == before.messages, "a child's loop is not the parent's");
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "the parent still records after a fork");
    stallbox_stop(5000);
}

/* Right after the start the module thread is inside the loader much of the time. A child forked then must find the
 * loader's locks free. */
static void child_forks_while_modules_are_read(void)
{
    start(60000, 60000);
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            _exit(dlopen(LATE_MODULE, RTLD_NOW) != NULL ? 0 : 1);
        }
        int status = 0;
        expect(waitpid(pid, &status, 0) == pid && status == 0, "a forked child can load a module");
    }
    stallbox_stop(5000);
}

static void child_loads_a_module(void)
{
    start(60000, 60000);
    pause_ms(100);
    void *module = dlopen(LATE_MODULE, RTLD_NOW);
    expect(module != NULL, "the module loads");
    void (*late_sleep)(long) = (void (*)(long))dlsym(module, "late_module_sleep");
    expect(late_sleep != NULL, "the module has its function");
    pause_ms(300); /* the module thread looks within milliseconds */
    late_sleep(50);
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    expect(dlclose(module) == 0, "the module unloads");
    pause_ms(300);
    stallbox_stop(5000);
}

static volatile sig_atomic_t urgent_seen;

static void on_urgent(int number)
{
    (void)number;
    urgent_seen++;
}

static void child_has_the_signal(void)
{
    signal(SIGURG, on_urgent);
    start(60000, 300);
    pause_ms(100);
    run_loop(20, 10, handler_that_computes);
    expect(urgent_seen == 0, "the host's handler never runs for us");
    raise(SIGURG);
    expect(urgent_seen == 1, "the host's handler runs for the host");
    stallbox_stop(5000);
}

static _Atomic bool busy_goes_on = true;
static _Atomic long interruptions;

/* Calls that the kernel does not restart after a handler, in a loop, with computing between so that samples are due. */
static void *interruptible_calls(void *unused)
{
    (void)unused;
    while (busy_goes_on) {
        struct timespec begin, now, rest = {0, 300000};
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 7000000);
        struct pollfd none = {.fd = -1};
        if (nanosleep(&rest, NULL) != 0 && errno == EINTR) {
            interruptions++;
        }
        if (poll(&none, 1, 1) < 0 && errno == EINTR) {
            interruptions++;
        }
    }
    return NULL;
}

static void child_makes_interruptible_calls(void)
{
    pthread_t threads[3];
    start(60000, 60000);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, interruptible_calls, NULL);
    }
    pause_ms(2000);
    busy_goes_on = false;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    expect(stallbox_read_counts(&counts) == STALLBOX_OK, "counts are read");
    expect(counts.captures_async > 20, "there were samples to interrupt something");
    expect(interruptions == 0, "no call was interrupted by us");
    stallbox_stop(5000);
}

static void *short_life(void *unused)
{
    (void)unused;
    void *volatile memory = malloc(10);
    free(memory);
    return NULL;
}

static void child_has_many_short_threads(void)
{
    start(60000, 60000);
    for (int i = 0; i < 3000; i++) { /* more than there are entries: those of the dead are used again */
        pthread_t thread;
        expect(pthread_create(&thread, NULL, short_life, NULL) == 0, "a thread starts");
        pthread_join(thread, NULL);
    }
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

/* The address of malloc as this program sees it: a GOT slot like any other. The compiler takes it for a constant, so
 * it is read in a function that the compiler may not look into. */
__attribute__((noinline, noipa)) static void *address_of_malloc(void)
{
    void *(*volatile address)(size_t) = malloc;
    return (void *)address;
}

static void child_starts_twice(void)
{
    void *before = address_of_malloc();
    start(60000, 60000);
    expect(address_of_malloc() != before, "the hook is in");
    expect(stallbox_start(NULL) == STALLBOX_ALREADY_RUNNING, "a second start is refused");
    expect(stallbox_is_running(), "it still runs");
    expect(stallbox_stop(5000) == STALLBOX_OK, "it stops");
    expect(!stallbox_is_running(), "it does not run any more");
    expect(address_of_malloc() == before, "the hook is out");
    expect(stallbox_stop(5000) == STALLBOX_NOT_RUNNING, "a second stop is harmless");
    expect(stallbox_snapshot(100) == STALLBOX_NOT_RUNNING, "no snapshot without a recorder");
    run_loop(5, -1, NULL);
}

static void child_dies_in_a_message(void)
{
    start(60000, 60000);
    run_loop(10, 9, NULL);
    pause_ms(1200); /* note_ms is 500 by default */
    raise(SIGKILL);
}

static void child_exits(void)
{
    start(60000, 60000);
    run_loop(5, -1, NULL);
    exit(0);
}

/* ---- what the parent sees ---- */

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sbx-test-agent-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    return 0;
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static int run_child(void (*body)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("STALLBOX_DISABLE");
        alarm(50);
        body();
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int count_files(const char *path, const char *suffix)
{
    int count = 0;
    DIR *listing = opendir(path);
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        size_t length = strlen(entry->d_name), suffix_length = strlen(suffix);
        count += length > suffix_length && strcmp(entry->d_name + length - suffix_length, suffix) == 0;
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count;
}

static struct sbx_snapshot *read_only_snapshot(void)
{
    char raw[128], path[512] = "", why[200] = "";
    snprintf(raw, sizeof raw, "%s/raw", spool);
    assert_int_equal(count_files(raw, SBX_RAW_SUFFIX), 1);
    DIR *listing = opendir(raw);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strstr(entry->d_name, SBX_RAW_SUFFIX) != NULL) {
            snprintf(path, sizeof path, "%s/%s", raw, entry->d_name);
        }
    }
    closedir(listing);
    struct sbx_snapshot *snapshot = NULL;
    if (sbx_snapshot_read_file(path, &snapshot, why, sizeof why) != 0) {
        fail_msg("%s: %s", path, why);
    }
    return snapshot;
}

/* Does the stack of `record` pass through `function` of this very executable, and end where threads begin? */
static bool passes_through(const struct sbx_snapshot *snapshot, const struct sbx_record *record, void *function,
                           bool *is_complete_out)
{
    uint64_t frames[600];
    size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 600);
    bool passes = false;
    *is_complete_out = count > 0 && count <= 600 && frames[count - 1] >> SBX_FRAME_MODULE_SHIFT != SBX_MODULE_END;
    for (size_t i = 0; i < count && i < 600; i++) {
        uint32_t module = (uint32_t)(frames[i] >> SBX_FRAME_MODULE_SHIFT);
        if (module < snapshot->module_count && (snapshot->modules[module].flags & SBX_MODULE_MAIN) != 0) {
            uint64_t address = (frames[i] & SBX_FRAME_OFFSET_MASK) + snapshot->modules[module].bias;
            passes |= address - (uint64_t)(uintptr_t)function < 512; /* the child is a fork: addresses are the same */
        }
    }
    return passes;
}

static void test_a_slow_message_is_kept_with_the_sleep_that_made_it_slow(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_sleeps_in_a_message), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= 400000000);
    int sleeps = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        bool is_complete = false;
        if (record->kind == SBX_RECORD_SLEEP && record->end_ns - record->begin_ns >= 390000000) {
            sleeps++;
            assert_int_equal(record->op, SBX_OP_NANOSLEEP);
            assert_int_equal(record->message, snapshot->header.trigger.message);
            assert_true(passes_through(snapshot, record, (void *)handler_that_sleeps, &is_complete));
            assert_true(is_complete);
        }
    }
    assert_int_equal(sleeps, 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_computing_message_is_sampled_every_few_milliseconds(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_computes_in_a_message), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    int samples = 0, complete = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        bool is_complete = false;
        /* Its clock reads are leaf points: the samples are theirs, and the gap filler's in between. */
        const struct sbx_record *record = &snapshot->records[i];
        if ((record->kind == SBX_RECORD_ASYNC || record->kind == SBX_RECORD_LEAF) &&
            passes_through(snapshot, record, (void *)handler_that_computes, &is_complete)) {
            samples += 1 + (int)record->repeats;
            complete += is_complete ? 1 + (int)record->repeats : 0;
        }
    }
    assert_true(samples >= 20); /* 900 ms at one a tick of 5 ms would be 180; the machine may be busy */
    assert_int_equal(complete, samples);
    sbx_snapshot_destroy(snapshot);
}

static void test_an_open_message_fires_anr_while_it_lasts(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_hangs_in_a_message), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    assert_int_equal(snapshot->header.trigger.in_progress, 1);
    bool was_asleep = false, has_stack = false;
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        was_asleep |=
            (snapshot->threads[i].entry.flags & 1) != 0 && snapshot->threads[i].entry.call_kind == SBX_RECORD_SLEEP;
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        bool is_complete = false;
        has_stack |= snapshot->records[i].kind == SBX_RECORD_BLOCKED &&
                     (snapshot->records[i].flags & SBX_FLAG_AT_TRIGGER) != 0 &&
                     passes_through(snapshot, &snapshot->records[i], (void *)child_hangs_in_a_message, &is_complete) &&
                     is_complete;
    }
    assert_true(was_asleep);
    assert_true(has_stack);
    sbx_snapshot_destroy(snapshot);
}

static void expect_one_message_of_four_polls(void (*child)(void))
{
    assert_int_equal(run_child(child), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= 480000000);
    int waits = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        bool is_complete = false;
        waits += snapshot->records[i].kind == SBX_RECORD_POLL &&
                 passes_through(snapshot, &snapshot->records[i], (void *)handler_that_polls, &is_complete) &&
                 is_complete;
    }
    assert_int_equal(waits, 4);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_handler_that_polls_is_part_of_its_message(void **state)
{
    (void)state;
    expect_one_message_of_four_polls(child_polls_in_a_message);
}

static void test_a_modal_poll_is_found_where_the_polling_function_returns(void **state)
{
    (void)state;
    expect_one_message_of_four_polls(child_polls_in_a_message_as_glib_does);
}

static void test_a_program_that_changes_its_loop_raises_no_alarm(void **state)
{
    char raw[128];
    (void)state;
    assert_int_equal(run_child(child_changes_its_loop), 0);
    snprintf(raw, sizeof raw, "%s/raw", spool);
    assert_int_equal(count_files(raw, SBX_RAW_SUFFIX), 0);
}

static void test_a_program_that_never_loops_is_never_judged(void **state)
{
    char raw[128];
    (void)state;
    assert_int_equal(run_child(child_never_loops), 0);
    snprintf(raw, sizeof raw, "%s/raw", spool);
    assert_int_equal(count_files(raw, SBX_RAW_SUFFIX), 0);
}

static void test_a_manual_snapshot_is_durable_when_the_call_returns(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_asks_for_a_snapshot), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_MANUAL);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_forked_child_is_inert(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_forks), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    sbx_snapshot_destroy(snapshot);
}

static void test_a_forked_child_finds_the_loader_free(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(run_child(child_forks_while_modules_are_read), 0);
    }
}

static void test_a_module_loaded_later_is_hooked_and_walked(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_loads_a_module), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    bool is_seen = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint64_t frames[600];
        const struct sbx_record *record = &snapshot->records[i];
        size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 600);
        if (record->kind == SBX_RECORD_SLEEP && count > 0) {
            uint32_t module = (uint32_t)(frames[0] >> SBX_FRAME_MODULE_SHIFT);
            is_seen |= module < snapshot->module_count &&
                       strstr(snapshot->modules[module].path, "late_module") != NULL &&
                       frames[count - 1] >> SBX_FRAME_MODULE_SHIFT != SBX_MODULE_END;
        }
    }
    assert_true(is_seen);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_host_that_has_our_signal_keeps_it(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_has_the_signal), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(snapshot->header.async_signal, 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_asynchronous_captures_interrupt_no_call(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_makes_interruptible_calls), 0);
}

static void test_thread_entries_are_used_again(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_has_many_short_threads), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(snapshot->drops[SBX_DROP_NO_THREAD], 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_starting_and_stopping_twice_is_harmless(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_starts_twice), 0);
    assert_int_equal(count_files(recordings, SBX_RECORDING_SUFFIX), 0);
}

static void test_death_in_a_message_leaves_a_killed_snapshot_to_be_recovered(void **state)
{
    (void)state;
    int status = run_child(child_dies_in_a_message);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(count_files(recordings, SBX_RECORDING_SUFFIX), 1);
    struct sbx_recovery_counts counts;
    assert_int_equal(sbx_recording_recover_folder(recordings, spool, NULL, NULL, &counts), 0);
    assert_int_equal(counts.killed, 1);
    assert_int_equal(count_files(recordings, SBX_RECORDING_SUFFIX), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_KILLED);
    assert_true(snapshot->header.trigger.end_ns - snapshot->header.trigger.begin_ns >= 500000000);
    sbx_snapshot_destroy(snapshot);
}

static void test_an_orderly_exit_leaves_no_recording(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_exits), 0);
    assert_int_equal(count_files(recordings, SBX_RECORDING_SUFFIX), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_slow_message_is_kept_with_the_sleep_that_made_it_slow),
        CASE(test_a_computing_message_is_sampled_every_few_milliseconds),
        CASE(test_an_open_message_fires_anr_while_it_lasts),
        CASE(test_a_handler_that_polls_is_part_of_its_message),
        CASE(test_a_modal_poll_is_found_where_the_polling_function_returns),
        CASE(test_a_program_that_changes_its_loop_raises_no_alarm),
        CASE(test_a_program_that_never_loops_is_never_judged),
        CASE(test_a_manual_snapshot_is_durable_when_the_call_returns),
        CASE(test_a_forked_child_is_inert),
        CASE(test_a_forked_child_finds_the_loader_free),
        CASE(test_a_module_loaded_later_is_hooked_and_walked),
        CASE(test_a_host_that_has_our_signal_keeps_it),
        CASE(test_asynchronous_captures_interrupt_no_call),
        CASE(test_thread_entries_are_used_again),
        CASE(test_starting_and_stopping_twice_is_harmless),
        CASE(test_death_in_a_message_leaves_a_killed_snapshot_to_be_recovered),
        CASE(test_an_orderly_exit_leaves_no_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
