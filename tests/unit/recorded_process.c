/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_process.c - the child that is recorded, and what its snapshot contains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorded_process.h"

#include "control_order.h"
#include "live_recording.h"
#include "snapshot_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include "order.h"
#include "raw_syscall.h"
#include "stallbox/stallbox.h"

enum {
    CHILD_LASTS_S = 150, /* no test of a recorded process takes longer, unless it hangs */
    HOOKS_FOLLOW_MS = 10000,
    FRAMES_MAX = 600,
    ANSWERS_MAX = 64
};

static char folder[64], spool[96], raw[128], recordings[96], rows[96], files[96];
static struct sbx_recording_header *header;

/* ---- the parent ---- */

int recorded_process_set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/stallbox-test-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(spool, sizeof spool, "%s/spool", folder);
    snprintf(raw, sizeof raw, "%s/raw", spool);
    snprintf(recordings, sizeof recordings, "%s/recordings", folder);
    snprintf(files, sizeof files, "%s/files", folder);
    snprintf(rows, sizeof rows, "%s/cache/rows", folder); /* not the developer's own row cache */
    setenv("STALLBOX_ROWS", rows, 1);
    return mkdir(files, 0700);
}

int recorded_process_tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

const char *recorded_process_folder(void)
{
    return files;
}

const char *recorded_process_spool(void)
{
    return spool;
}

const char *recorded_process_raw(void)
{
    return raw;
}

const char *recorded_process_recordings(void)
{
    return recordings;
}

const char *recorded_process_rows(void)
{
    return rows;
}

int recorded_process_run(void (*body)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("STALLBOX_DISABLE");
        alarm(CHILD_LASTS_S);
        body();
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

int count_files(const char *where, const char *suffix)
{
    return (int)snapshot_folder_count(where, suffix);
}

struct sbx_snapshot *recorded_process_snapshot(void)
{
    char why[700] = "";
    struct sbx_snapshot *snapshot = snapshot_folder_read_only(raw, why, sizeof why);
    if (snapshot == NULL) {
        fail_msg("%s", why);
    }
    return snapshot;
}

static void (*recorded_body)(void);

static void start_and_finish(void)
{
    child_start();
    recorded_body();
    child_finish();
}

struct sbx_snapshot *run_recorded(void (*body)(void))
{
    assert_int_equal(recorded_process_set_up(NULL), 0);
    recorded_body = body;
    int status = recorded_process_run(start_and_finish);
    struct sbx_snapshot *snapshot = status == 0 ? recorded_process_snapshot() : NULL;
    assert_int_equal(recorded_process_tear_down(NULL), 0);
    assert_int_equal(status, 0);
    return snapshot;
}

static struct {
    void (*ask)(int *answers);
    int count;
    int answers[ANSWERS_MAX]; /* the parent's answers */
} questions;

static void ask_again(void)
{
    int answers[ANSWERS_MAX];
    questions.ask(answers);
    for (int i = 0; i < questions.count; i++) {
        if (answers[i] != questions.answers[i]) {
            char text[80];
            snprintf(text, sizeof text, "answer %d is %d and was %d", i, answers[i], questions.answers[i]);
            child_expect(false, text);
        }
    }
}

const int *expect_same_answers(void (*ask)(int *answers), int count)
{
    assert_in_range(count, 1, ANSWERS_MAX);
    questions.ask = ask;
    questions.count = count;
    ask(questions.answers);
    sbx_snapshot_destroy(run_recorded(ask_again));
    return questions.answers;
}

/* ---- the child ---- */

void child_expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "in the child: not so: %s (errno %d)\n", what, errno);
        _exit(1);
    }
}

void child_pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    syscall(SYS_nanosleep, &pause, NULL); /* passes no capture point */
}

void child_sleep_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&pause, NULL) != 0 && errno == EINTR) {
    }
}

static void map_recording(void)
{
    header = live_recording_map(recordings);
    child_expect(header != NULL, "the recording is there");
}

/* Is it the executable or the C library, through which the executable's calls go? */
static bool is_executable_or_libc(const struct sbx_module_entry *module)
{
    return (module->flags & SBX_MODULE_MAIN) != 0 || strstr(module->path, "/libc.so") != NULL ||
           strstr(module->path, "/ld-musl") != NULL;
}

static bool has_rows_of_the_executable(void)
{
    const struct sbx_module_entry *modules = (const struct sbx_module_entry *)((char *)header + header->modules.at);
    uint32_t count = sbx_load_acquire(&header->module_count);
    uint32_t ready = 0;
    for (uint32_t i = 0; i < count; i++) {
        ready +=
            is_executable_or_libc(&modules[i]) && (sbx_load_relaxed(&modules[i].flags) & SBX_MODULE_ROWS_PENDING) == 0;
    }
    return ready >= 2;
}

static bool has_all_rows(void)
{
    const struct sbx_module_entry *modules = (const struct sbx_module_entry *)((char *)header + header->modules.at);
    uint32_t count = sbx_load_acquire(&header->module_count);
    for (uint32_t i = 0; i < count; i++) {
        if ((sbx_load_relaxed(&modules[i].flags) & SBX_MODULE_ROWS_PENDING) != 0) {
            return false;
        }
    }
    return count != 0;
}

static void wait_until(bool (*are_there)(void))
{
    if (header == NULL) {
        map_recording();
    }
    child_pause_ms(100);
    for (int waited_ms = 0; waited_ms < 20000 && !are_there(); waited_ms += 5) {
        child_pause_ms(5);
    }
}

void child_wait_for_rows(void)
{
    wait_until(has_rows_of_the_executable);
}

void child_wait_for_all_rows(void)
{
    wait_until(has_all_rows);
    child_expect(has_all_rows(), "every module has its rows");
}

void child_finish(void)
{
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

struct sbx_recording_header *child_header(void)
{
    if (header == NULL) {
        map_recording();
    }
    return header;
}

struct sbx_thread_entry *child_entry(void)
{
    struct sbx_thread_entry *entries = (struct sbx_thread_entry *)((char *)header + header->threads.at);
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < header->thread_count; i++) {
        if (entries[i].tid == tid && entries[i].state == SBX_THREAD_LIVE) {
            return &entries[i];
        }
    }
    return NULL;
}

static struct sbx_control_page *begin_order(void)
{
    if (header == NULL) {
        map_recording();
    }
    struct sbx_control_page *control = sbx_control_page_of(header);
    control->wanted = control->in_force;
    return control;
}

static void end_order(struct sbx_control_page *control)
{
    child_expect(live_recording_order(control, true, HOOKS_FOLLOW_MS), "the hooks follow the control page");
}

/* The tested code must be recorded. Without this, on a busy machine with cold caches, the governor would shed points of
 * a child that hardly computes. */
static void forget_budget(void)
{
    struct sbx_control_page *control = begin_order();
    control->wanted.max_cpu_permille = control->wanted.max_cpu_tenths = 0;
    end_order(control);
}

void child_start_with(uint32_t anr_ms, uint32_t slow_message_ms)
{
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = spool,
                                       .recording_path = recordings,
                                       .anr_ms = anr_ms,
                                       .slow_message_ms = slow_message_ms};
    enum stallbox_result result = stallbox_start(&options);
    child_expect(result == STALLBOX_OK, stallbox_result_name(result));
    forget_budget();
}

void child_start(void)
{
    child_start_with(60000, 60000);
    child_wait_for_rows();
}

static void set(bool enabled, uint64_t points)
{
    struct sbx_control_page *control = begin_order();
    control->wanted.enabled = enabled;
    control->wanted.points = points;
    end_order(control);
}

void child_set_gap(uint32_t gap_us)
{
    struct sbx_control_page *control = begin_order();
    control->wanted.gap_us = gap_us;
    end_order(control);
}

void child_set_interval(uint32_t interval_us)
{
    struct sbx_control_page *control = begin_order();
    control->wanted.interval_us = interval_us;
    end_order(control);
}

void child_set_wait_min(uint32_t wait_min_us)
{
    struct sbx_control_page *control = begin_order();
    control->wanted.wait_min_us = wait_min_us;
    end_order(control);
}

void child_follow_lightly(void)
{
    enum {
        WIDE_US = 64000,
        TICKS_MS = 300, /* some ticks */
        TRIES = 25,
    };
    /* The recorder finds out where signals are made while a thread works. Until then every call takes the longer
     * way. */
    for (int i = 0; i < TRIES && child_header()->signal_place == SBX_SIGNAL_PLACE_UNKNOWN; i++) {
        child_sleep_ms(1);
        compute_without_a_call();
    }
    struct sbx_control_page *control = begin_order();
    control->wanted.interval_us = WIDE_US;
    control->wanted.max_cpu_permille = 50;
    end_order(control);
    child_pause_ms(TICKS_MS);
}

uint64_t child_charged_ns(void)
{
    if (header == NULL) {
        map_recording();
    }
    const uint64_t *told_ns = &header->overhead.captures_ns;
    for (int window = 0; window < 2; window++) {
        uint64_t before_ns = sbx_load_relaxed(told_ns); /* relaxed, both: a number that the watch thread writes */
        for (int waited = 0; waited < 10000 && sbx_load_relaxed(told_ns) == before_ns; waited++) {
            child_sleep_ms(2); /* a capture, so that there is something to charge */
        }
        child_expect(sbx_load_relaxed(told_ns) != before_ns, "a window ends");
    }
    return sbx_load_relaxed(told_ns);
}

void child_set_points(uint64_t points)
{
    set(true, points);
}

void child_set_recording(bool enabled)
{
    struct sbx_control_page *control = sbx_control_page_of(header);
    set(enabled, control->in_force.points);
}

static atomic_int about_to_wait;

void say_about_to_wait(void)
{
    about_to_wait++;
}

static bool has_the_processor(uint32_t tid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%u/stat", tid);
    int file = (int)sbx_raw_open(path, O_RDONLY | O_CLOEXEC); /* past every point */
    if (file < 0) {
        return false; /* it has ended */
    }
    long bytes = sbx_raw_pread(file, text, sizeof text - 1, 0);
    sbx_raw_close(file);
    text[bytes > 0 ? bytes : 0] = 0;
    const char *state = strrchr(text, ')'); /* proc(5): "tid (name) state" */
    return state != NULL && state[1] == ' ' && state[2] == 'R';
}

/* On a busy machine a thread may lose its processor just before its wait, for longer than a pause lasts. */
static bool some_other_thread_runs(void)
{
    const struct sbx_recording_header *live = child_header();
    const struct sbx_thread_entry *threads = (const void *)((const char *)live + live->threads.at);
    for (uint32_t i = 0; i < live->thread_count; i++) {
        uint32_t tid = sbx_load_relaxed(&threads[i].tid);
        if (tid != 0 && tid != (uint32_t)syscall(SYS_gettid) && has_the_processor(tid)) {
            return true;
        }
    }
    return false;
}

void let_them_wait(int count)
{
    while (about_to_wait < count) {
        child_sleep_ms(1);
    }
    about_to_wait -= count;
    for (int i = 0; i < 1000 && some_other_thread_runs(); i++) { /* a test may have one that computes */
        child_sleep_ms(1);
    }
    child_sleep_ms(50);
}

struct timespec in_ten_seconds(clockid_t clock)
{
    struct timespec until;
    clock_gettime(clock, &until);
    until.tv_sec += 10;
    return until;
}

static int nothing_fd = -1;

/* The loop's own function, so that its poll call has one place. */
__attribute__((noinline)) static void loop_once(void (*handle)(void))
{
    struct pollfd watched = {.fd = nothing_fd, .events = POLLIN};
    poll(&watched, 1, 10);
    if (handle != NULL) {
        handle();
    }
    KEEP_FRAME();
}

/* The compiler must not know the special turn: it would peel the loop, and then there would be two polling places. */
void child_run_loop(int turns, volatile int special_turn, void (*handle)(void))
{
    if (nothing_fd < 0) {
        nothing_fd = eventfd(0, EFD_CLOEXEC);
    }
    for (int i = 0; i < turns; i++) {
        loop_once(i == special_turn ? handle : NULL);
    }
}

/* ---- what the snapshot tells ---- */

/* Frames of a stack, leaf first; 0 when there are none, or more than FRAMES_MAX. */
static size_t read_stack(const struct sbx_snapshot *snapshot, uint32_t stack, uint64_t *frames)
{
    size_t count = sbx_snapshot_stack(snapshot, stack, frames, FRAMES_MAX);
    return count <= FRAMES_MAX ? count : 0;
}

bool stack_is_whole(const struct sbx_snapshot *snapshot, uint32_t stack)
{
    uint64_t frames[FRAMES_MAX];
    size_t count = read_stack(snapshot, stack, frames);
    if (count == 0) {
        return false;
    }
#ifndef __GLIBC__
    if (frames[count - 1] == sbx_frame_word(SBX_MODULE_END, SBX_WALK_NO_ROW, 0)) {
        return true;
    }
#endif
    return frames[count - 1] >> SBX_FRAME_MODULE_SHIFT != SBX_MODULE_END;
}

/* Uses the function's description for unwinders: static functions have one too, and a neighbour is another function.
 * Debian's compiler has an unwinder only for glibc. With musl a function is taken to be 512 bytes long. */
static bool lies_in(uint64_t address, void *function)
{
#ifndef __GLIBC__
    return address - (uint64_t)(uintptr_t)function < 512;
#else
    void *before = (void *)(uintptr_t)(address - 1); /* a call may be the last instruction of a function */
    return address == (uint64_t)(uintptr_t)function || _Unwind_FindEnclosingFunction(before) == function;
#endif
}

bool stack_passes(const struct sbx_snapshot *snapshot, uint32_t stack, void *function)
{
    uint64_t frames[FRAMES_MAX];
    size_t count = read_stack(snapshot, stack, frames);
    for (size_t i = 0; i < count; i++) {
        uint32_t module = (uint32_t)(frames[i] >> SBX_FRAME_MODULE_SHIFT);
        if (module < snapshot->module_count && (snapshot->modules[module].flags & SBX_MODULE_MAIN) != 0) {
            uint64_t address = (frames[i] & SBX_FRAME_OFFSET_MASK) + snapshot->modules[module].bias;
            if (lies_in(address, function)) { /* the child is a fork: addresses are the same */
                return true;
            }
        }
    }
    return false;
}

bool passes_through(const struct sbx_snapshot *snapshot, const struct sbx_record *record, void *function)
{
    return stack_passes(snapshot, record->stack, function) && stack_is_whole(snapshot, record->stack);
}

unsigned find_modules(const struct sbx_snapshot *snapshot, const char *name, uint32_t *flags_out)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        if (strstr(snapshot->modules[i].path, name) != NULL) {
            *flags_out = snapshot->modules[i].flags;
            found++;
        }
    }
    return found;
}

uint32_t tid_of_record(const struct sbx_snapshot *snapshot, const struct sbx_record *record)
{
    return snapshot->threads[record->thread].entry.tid;
}

int count_pairs(const struct sbx_snapshot *snapshot, const struct expected_wait *expected)
{
    int pairs = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *wait = &snapshot->records[i];
        if (wait->kind != expected->kind || wait->op != expected->op ||
            !passes_through(snapshot, wait, expected->waiter)) {
            continue;
        }
        assert_true(wait->begin_ns < wait->end_ns);
        assert_int_not_equal(wait->wait, 0);
        for (size_t j = 0; j < snapshot->record_count; j++) {
            const struct sbx_record *wake = &snapshot->records[j];
            if (wake->kind != SBX_RECORD_WAKE || wake->wait != wait->wait || wake->op != expected->wake_op) {
                continue;
            }
            assert_int_equal(wake->object, wait->object);
            assert_int_equal(wake->peer, tid_of_record(snapshot, wait));
            assert_int_not_equal(wake->thread, wait->thread);
            assert_true(wake->amount >= 1);
            if (expected->kind != SBX_RECORD_LOCK) {
                assert_int_equal(wait->peer, tid_of_record(snapshot, wake));
            }
            if (expected->waker == NULL || passes_through(snapshot, wake, expected->waker)) {
                pairs++;
                break;
            }
        }
    }
    return pairs;
}

const struct sbx_record *only_record(const struct sbx_snapshot *snapshot, uint8_t kind, uint8_t op, void *function)
{
    const struct sbx_record *found = NULL;
    int count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == kind && record->op == op && passes_through(snapshot, record, function)) {
            found = record;
            count++;
        }
    }
    assert_int_equal(count, 1);
    return found;
}
