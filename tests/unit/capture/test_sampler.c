/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler.c - threads that do not record themselves are seen, both running and asleep, and none of their calls is
 * interrupted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control_order.h"
#include "order.h"
#include "recorded_process.h"
#include "stallbox/stallbox.h"

enum {
    SAMPLES_MIN = 5,
    SPELL_MS = 25, /* of work, at least, before the CPU time is read again */
};

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* For 900 ms. On a busy machine, which gives the thread and the recorder little CPU time, it goes on until there are
 * some samples. */
__attribute__((noinline)) static void handler_that_computes(void)
{
    int64_t begin_ms = clock_ms(CLOCK_MONOTONIC), ms;
    do {
        compute_without_a_call();
        ms = clock_ms(CLOCK_MONOTONIC) - begin_ms;
    } while (ms < 900 || (ms < 20000 && sbx_load_relaxed(&child_header()->captures_async) < SAMPLES_MIN));
    KEEP_FRAME();
}

static void child_computes_in_a_message(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    child_run_loop(20, 10, handler_that_computes);
    stallbox_stop(5000);
}

/* Uses 900 ms of CPU time. The clock that it reads is a point, so it records itself all the time. It asks how much CPU
 * time it has used when that may be enough, and not all the time: see compute_ms() of test_sample_signal.c. */
__attribute__((noinline)) static void handler_that_reads_the_clock(void)
{
    int64_t end_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID) + 900, left_ms;
    while ((left_ms = end_ms - clock_ms(CLOCK_THREAD_CPUTIME_ID)) > 0) {
        int64_t until_ms = clock_ms(CLOCK_MONOTONIC) + (left_ms > SPELL_MS ? left_ms : SPELL_MS);
        while (clock_ms(CLOCK_MONOTONIC) < until_ms) {
        }
    }
    KEEP_FRAME();
}

static void child_reads_the_clock_with_wide_gaps(void)
{
    child_start_with(60000, 300);
    child_wait_for_rows();
    child_set_gap(40000);
    child_run_loop(20, 10, handler_that_reads_the_clock);
    stallbox_stop(5000);
}

enum {
    SHORT_MESSAGES = 12,
    SHORT_MS = 60, /* of CPU time */
};

/* Uses 60 ms of CPU time, and asks for that time only two or three times. It reads another clock all the while, which
 * is a point. What it records there itself is not counted. */
__attribute__((noinline)) static void handler_that_computes_for_60_ms(void)
{
    static double turns_a_ms = 0.1; /* measured in the first message */
    int64_t begin_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID), used_ms = 0, turns = 0;
    while (used_ms < SHORT_MS) {
        int64_t end = turns + (int64_t)((double)(SHORT_MS - used_ms) * turns_a_ms) + 1;
        for (; turns < end; turns++) {
            for (volatile int i = 0; i < 200000; i++) {
            }
            clock_ms(CLOCK_MONOTONIC);
        }
        used_ms = clock_ms(CLOCK_THREAD_CPUTIME_ID) - begin_ms;
        turns_a_ms = (double)turns / (double)(used_ms + 1);
    }
    KEEP_FRAME();
}

/* In the end ticks are 2 s apart, so that even a message that takes ten times as long on a busy machine lies between
 * two of them. */
static void child_computes_in_short_messages(void)
{
    child_start();
    for (int i = 0; i < 100 && sbx_load_relaxed(&child_header()->signal_place) == SBX_SIGNAL_PLACE_UNKNOWN; i++) {
        child_run_loop(20, 10, compute_without_a_call);
    }
    child_set_gap(500000);
    child_run_loop(300, 10, compute_without_a_call); /* until a message has set the question */
    for (int i = 0; i < SHORT_MESSAGES; i++) {
        child_run_loop(20, 10, handler_that_computes_for_60_ms);
    }
    child_finish();
}

/* Does process `pid` have a timer of timer_create()? -1: the kernel does not tell. */
static int has_timer(pid_t pid)
{
    char path[40], text[8];
    snprintf(path, sizeof path, "/proc/%d/timers", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof text) : -1;
    if (file >= 0) {
        close(file);
    }
    return got < 0 ? -1 : got > 0;
}

enum {
    SEES_NOTHING_YET,
    HAS_SEEN_ONE,
    CANNOT_SEE,
};

/* Runs in a process that is not recorded, until its parent has had a timer and has none any more. */
static void watch_timers(pid_t parent, _Atomic int *seen)
{
    for (int waited_ms = 0; waited_ms < 60000; waited_ms += 50) {
        int has = has_timer(parent);
        if (has < 0) {
            *seen = CANNOT_SEE;
            _exit(0);
        }
        if (has == 0 && *seen == HAS_SEEN_ONE) {
            _exit(0);
        }
        if (has == 1 && *seen == SEES_NOTHING_YET) {
            sleep(1); /* a program that asks only once would be gone by then */
            *seen = has_timer(parent) == 1 ? HAS_SEEN_ONE : SEES_NOTHING_YET;
        }
        usleep(50000);
    }
    _exit(1);
}

/* Messages of 50 ms until the thread has a standing question, and then a wait without a limit in which the recorder
 * rests. */
static void child_rests_with_a_question_out(void)
{
    int ends[2], status = 0;
    char nothing = 0;
    pid_t parent = getpid();
    _Atomic int *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    child_expect(seen != MAP_FAILED && pipe(ends) == 0, "memory and a pipe are had");
    pid_t watcher = fork();
    if (watcher == 0) {
        close(ends[0]);
        watch_timers(parent, seen);
    }
    close(ends[1]);
    child_start();
    child_set_gap(500000);
    for (int64_t begin_ms = clock_ms(CLOCK_MONOTONIC);
         *seen == SEES_NOTHING_YET && clock_ms(CLOCK_MONOTONIC) - begin_ms < 20000;) {
        stallbox_message_begin(1);
        compute_without_a_call();
        compute_without_a_call();
        stallbox_message_end();
    }
    int has_seen = *seen;
    (void)!read(ends[0], &nothing, 1);
    child_expect(waitpid(watcher, &status, 0) == watcher, "the watcher ends");
    if (has_seen != HAS_SEEN_ONE) {
        _exit(77); /* where signals are made in calls there is none */
    }
    child_expect(status == 0, "no timer is out while the recorder rests");
    stallbox_stop(5000);
}

__attribute__((noinline)) static void child_hangs_in_a_message(void)
{
    child_start_with(1000, 60000);
    child_run_loop(10, -1, NULL);
    child_sleep_ms(1500); /* the message is open all the while */
    stallbox_stop(5000);
}

/* As in a container whose seccomp profile does not know process_vm_readv: the call fails, and nothing else does. */
static bool forbid_process_vm_readv(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void child_hangs_under_seccomp(void)
{
    if (!forbid_process_vm_readv()) {
        _exit(77); /* qemu-user, where the call is missing anyway */
    }
    child_hangs_in_a_message();
}

static volatile sig_atomic_t urgent_seen;

static void on_urgent(int number)
{
    (void)number;
    urgent_seen++;
}

static void child_has_the_signal(void)
{
    signal(SIGRTMAX - 2, on_urgent);
    child_start_with(60000, 300);
    child_wait_for_rows();
    child_run_loop(20, 10, handler_that_computes);
    child_expect(urgent_seen == 0, "the host's handler never runs for us");
    raise(SIGRTMAX - 2);
    child_expect(urgent_seen == 1, "the host's handler runs for the host");
    stallbox_stop(5000);
}

static _Atomic bool busy_goes_on = true;
static _Atomic long interruptions;

/* A loop of calls that the kernel does not restart after a handler, with computing in between so that samples are
 * due. */
static void *interruptible_calls(void *unused)
{
    (void)unused;
    while (busy_goes_on) {
        struct timespec rest = {0, 300000};
        compute_without_a_call();
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
    child_start_with(60000, 60000);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, interruptible_calls, NULL);
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    for (int i = 0; i < 10 && counts.captures_async <= 20; i++) { /* once, except in an emulator on a busy machine */
        child_sleep_ms(2000);
        child_expect(stallbox_read_counts(&counts) == STALLBOX_OK, "counts are read");
    }
    busy_goes_on = false;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    child_expect(counts.captures_async > 20, "there were samples to interrupt something");
    child_expect(interruptions == 0, "no call was interrupted by us");
    stallbox_stop(5000);
}

/* Computes for a second while it blocks the signal. */
static void *compute_deafly(void *unused)
{
    struct timespec begin, now;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGRTMAX - 2);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        compute_without_a_call();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 2);
    return unused;
}

/* The recorder believes the mask that /proc shows. qemu-user hides the program's mask. */
static bool kernel_shows_masks(void)
{
    char text[4096];
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGRTMAX - 2);
    sigprocmask(SIG_BLOCK, &one, &before);
    FILE *file = fopen("/proc/self/status", "re");
    size_t got = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[got] = '\0';
    sigprocmask(SIG_SETMASK, &before, NULL);
    const char *mask = strstr(text, "\nSigBlk:");
    return mask != NULL && (strtoull(mask + 8, NULL, 16) >> (SIGRTMAX - 3) & 1) != 0;
}

static void child_has_a_deaf_thread(void)
{
    pthread_t thread;
    if (!kernel_shows_masks()) {
        _exit(77);
    }
    child_start();
    child_expect(pthread_create(&thread, NULL, compute_deafly, NULL) == 0, "a thread starts");
    pthread_join(thread, NULL);
    child_finish();
}

static struct sbx_thread_entry *sleeper;

static void *sleep_while_all_rests(void *unused)
{
    sbx_store_release(&sleeper, child_entry());
    child_sleep_ms(2000);
    return unused;
}

/* Ask for a look as another process of the family does (guest_look.h). */
static void ask_for_a_look(struct sbx_control_page *control)
{
    uint32_t request = sbx_add_acq_rel(&control->look_request, 1) + 1;
    sbx_control_ring(control);
    for (int i = 0; i < 1000 && sbx_load_acquire(&control->look_answer) != request; i++) {
        child_pause_ms(10);
    }
    child_expect(sbx_load_acquire(&control->look_answer) == request, "who asks is answered");
}

static void child_is_asked_to_look(void)
{
    pthread_t thread;
    child_start();
    child_wait_for_rows();
    child_expect(pthread_create(&thread, NULL, sleep_while_all_rests, NULL) == 0, "a thread starts");
    child_pause_ms(300);
    struct sbx_control_page *control = sbx_control_page_of(child_header());
    ask_for_a_look(control);
    const struct sbx_thread_entry *entry = sbx_load_acquire(&sleeper);
    child_expect(entry != NULL && entry->call_kind == SBX_RECORD_SLEEP, "the thread sleeps");
    child_expect(control->looked_ns > entry->call_begin_ns, "the look was after it went to sleep");
    child_expect(entry->observed.kind == SBX_RECORD_BLOCKED && entry->observed.end_ns >= control->looked_ns,
                 "and at it");
    child_expect(entry->observed.stack != SBX_STACK_NONE && entry->observed.stack == entry->last_stack,
                 "its newest stack is the one that was seen");
    pthread_join(thread, NULL);
    stallbox_stop(5000);
}

static void child_is_asked_to_look_and_records_nothing(void)
{
    child_start();
    child_set_recording(false);
    struct sbx_control_page *control = sbx_control_page_of(child_header());
    ask_for_a_look(control);
    child_expect(control->looked_ns == 0, "nobody has looked");
    stallbox_stop(5000);
}

static void test_a_computing_message_is_sampled_every_few_milliseconds(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_computes_in_a_message), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    int samples = 0, complete = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        /* Its clock reads are leaf points: samples are taken at them, and the gap filler's in between. */
        const struct sbx_record *record = &snapshot->records[i];
        if ((record->kind == SBX_RECORD_ASYNC || record->kind == SBX_RECORD_LEAF) &&
            stack_passes(snapshot, record->stack, (void *)handler_that_computes)) {
            samples += 1 + (int)record->repeats;
            complete += stack_is_whole(snapshot, record->stack) ? 1 + (int)record->repeats : 0;
        }
    }
    /* 900 ms with one in each tick of 4 to 10 ms would be 90 or more. On a busy machine the thread gets only a part of
     * that time, and equal samples make one record. */
    assert_true(snapshot->header.captures_async >= SAMPLES_MIN);
    assert_true(samples >= SAMPLES_MIN);
#ifdef __GLIBC__
    assert_int_equal(complete, samples);
#else
    assert_true(complete >= samples * 9 / 10); /* the others were interrupted in libc */
#endif
    sbx_snapshot_destroy(snapshot);
}

/* At the governor's widest gap there are 22 gaps, each with a look. One look in four gaps would be five looks. */
static void test_a_long_message_is_looked_at_often_enough_however_wide_the_gap_is(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_reads_the_clock_with_wide_gaps), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    const struct sbx_trigger_entry *trigger = &snapshot->header.trigger;
    assert_int_equal(trigger->kind, SBX_TRIGGER_SLOW_MESSAGE);
    unsigned looks = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        bool is_of_it = record->thread == trigger->thread && record->end_ns > trigger->begin_ns &&
                        record->end_ns <= trigger->end_ns; /* not by its stack: musl has no unwind data */
        looks += is_of_it && record->kind == SBX_RECORD_ASYNC ? 1 + record->repeats : 0;
    }
    assert_true(looks >= 10);
    sbx_snapshot_destroy(snapshot);
}

/* Two or three ticks would find as many of them. */
static void test_a_message_that_computes_for_60_ms_is_looked_at_however_far_apart_ticks_are(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_computes_in_short_messages), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    uint64_t last = 0;
    unsigned seen = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_ASYNC && record->message != last &&
            stack_passes(snapshot, record->stack, (void *)handler_that_computes_for_60_ms)) {
            last = record->message;
            seen++;
        }
    }
    bool is_possible = snapshot->header.signal_place == SBX_SIGNAL_PLACE_OUTSIDE;
    sbx_snapshot_destroy(snapshot);
    if (!is_possible) {
        skip();
    }
    assert_in_range(seen, SHORT_MESSAGES - 2, SHORT_MESSAGES); /* a look that is requested at a tick delays the next */
}

/* While the recorder rests, nothing would check for a debugger, or whether the program has taken the signal. */
static void test_no_question_stands_while_the_recorder_rests(void **state)
{
    (void)state;
    int status = recorded_process_run(child_rests_with_a_question_out);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(status, 0);
}

/* The run-queue delay is read several times in 900 ms, and grows. Where the kernel does not count it there is no value.
 * An emulator shows the files of its own threads. */
static void test_the_kernels_count_of_delay_is_read_while_a_message_is_open(void **state)
{
    (void)state;
    if (access("/proc/self/schedstat", R_OK) != 0) {
        skip();
    }
    assert_int_equal(recorded_process_run(child_computes_in_a_message), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    uint64_t last = 0, last_ns = 0;
    int readings = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_KERNEL && record->op == SBX_KERNEL_RUN_DELAY &&
            record->thread == snapshot->header.main_thread) {
            assert_true(record->end_ns >= last_ns && record->amount >= last);
            assert_int_equal(record->stack, SBX_STACK_NONE);
            last = record->amount;
            last_ns = record->end_ns;
            readings++;
        }
    }
    assert_true(readings >= 2); /* soon after the message began, and at the trigger */
    assert_true(last_ns + 500000000u >= snapshot->header.trigger.end_ns);
    sbx_snapshot_destroy(snapshot);
}

static void expect_anr_with_the_sleepers_stack(void)
{
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    assert_int_equal(snapshot->header.trigger.in_progress, 1);
    bool was_asleep = false, has_stack = false;
    for (uint32_t i = 0; i < snapshot->thread_count; i++) {
        was_asleep |= (snapshot->threads[i].entry.flags & SBX_THREAD_FLAG_MAIN) != 0 &&
                      snapshot->threads[i].entry.call_kind == SBX_RECORD_SLEEP;
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        has_stack |= snapshot->records[i].kind == SBX_RECORD_BLOCKED &&
                     (snapshot->records[i].flags & SBX_FLAG_AT_TRIGGER) != 0 &&
                     passes_through(snapshot, &snapshot->records[i], (void *)child_hangs_in_a_message);
    }
    assert_true(was_asleep);
    assert_true(has_stack);
    sbx_snapshot_destroy(snapshot);
}

static void test_an_open_message_fires_anr_while_it_lasts(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_hangs_in_a_message), 0);
    expect_anr_with_the_sleepers_stack();
}

static void test_a_sleeper_is_seen_where_process_vm_readv_is_forbidden(void **state)
{
    (void)state;
    int status = recorded_process_run(child_hangs_under_seccomp);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(status, 0);
    expect_anr_with_the_sleepers_stack();
}

static void test_a_sleeper_is_looked_at_when_another_process_asks_though_nothing_is_open(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_is_asked_to_look), 0);
}

static void test_who_records_nothing_answers_without_a_look(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_is_asked_to_look_and_records_nothing), 0);
}

static void test_a_host_that_has_our_signal_keeps_it_and_another_is_taken(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_has_the_signal), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->header.async_signal, SIGRTMAX - 3);
    assert_true(snapshot->header.captures_async > 0);
    sbx_snapshot_destroy(snapshot);
}

static void test_asynchronous_captures_interrupt_no_call(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_makes_interruptible_calls), 0);
}

static void test_a_thread_that_blocks_the_signal_is_counted_once(void **state)
{
    (void)state;
    int status = recorded_process_run(child_has_a_deaf_thread);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(status, 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(snapshot->drops[SBX_DROP_SIGNAL_DEAF], 1);
    sbx_snapshot_destroy(snapshot);
}

enum {
    LONGEST_MS = 20000
};

/* Other programs use up the user's limit of timers just when the recorder would find out where this kernel makes
 * signals. */
static void child_has_no_timer_for_a_while(void)
{
    struct rlimit some, none;
    child_expect(getrlimit(RLIMIT_SIGPENDING, &some) == 0, "the limit can be read");
    none = some;
    none.rlim_cur = 0;
    child_start_with(60000, 60000); /* it takes a share of the limit that applies now */
    child_expect(setrlimit(RLIMIT_SIGPENDING, &none) == 0, "no timer can be had");
    child_wait_for_rows();
    const struct sbx_recording_header *header = child_header();
    int64_t begin_ms = clock_ms(CLOCK_MONOTONIC);
    while (header->drops[SBX_DROP_SIGNAL_LATE] == 0 && header->signal_place == SBX_SIGNAL_PLACE_UNKNOWN &&
           clock_ms(CLOCK_MONOTONIC) - begin_ms < LONGEST_MS) {
        free(malloc(1)); /* the recorder knows only threads that make a call */
        compute_without_a_call();
    }
    child_expect(header->signal_place == SBX_SIGNAL_PLACE_UNKNOWN,
                 "a machine without a timer tells nothing of its kernel");
    child_expect(setrlimit(RLIMIT_SIGPENDING, &some) == 0, "timers can be had again");
    begin_ms = clock_ms(CLOCK_MONOTONIC);
    while (header->signal_place == SBX_SIGNAL_PLACE_UNKNOWN && clock_ms(CLOCK_MONOTONIC) - begin_ms < LONGEST_MS) {
        free(malloc(1)); /* the recorder knows only threads that make a call */
        compute_without_a_call();
    }
    child_expect(header->signal_place != SBX_SIGNAL_PLACE_UNKNOWN, "then it is found out");
    child_finish();
}

static void test_where_signals_are_made_is_not_concluded_from_a_machine_that_has_no_timer_just_now(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_has_no_timer_for_a_while), 0);
    sbx_snapshot_destroy(recorded_process_snapshot());
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_computing_message_is_sampled_every_few_milliseconds),
        CASE(test_a_long_message_is_looked_at_often_enough_however_wide_the_gap_is),
        CASE(test_a_message_that_computes_for_60_ms_is_looked_at_however_far_apart_ticks_are),
        CASE(test_no_question_stands_while_the_recorder_rests),
        CASE(test_an_open_message_fires_anr_while_it_lasts),
        CASE(test_the_kernels_count_of_delay_is_read_while_a_message_is_open),
        CASE(test_a_sleeper_is_seen_where_process_vm_readv_is_forbidden),
        CASE(test_a_sleeper_is_looked_at_when_another_process_asks_though_nothing_is_open),
        CASE(test_who_records_nothing_answers_without_a_look),
        CASE(test_a_host_that_has_our_signal_keeps_it_and_another_is_taken),
        CASE(test_asynchronous_captures_interrupt_no_call),
        CASE(test_a_thread_that_blocks_the_signal_is_counted_once),
        CASE(test_where_signals_are_made_is_not_concluded_from_a_machine_that_has_no_timer_just_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
