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
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recording_recover.h"
#include "snapshot.h"
#include "stallbox/stallbox.h"

static char folder[64], spool[96], recordings[96], rows[96];

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

/* Some 15 ms and more in which no capture point is passed: only the gap filler sees it. Here and not in libc, which may have no
 * unwind data. */
static inline void compute_without_a_call(void)
{
    for (volatile int i = 0; i < 40000000; i++) {
    }
}

__attribute__((noinline)) static void handler_that_computes(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        compute_without_a_call();
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

/* As in a container whose seccomp profile knows no process_vm_readv: the call fails, and nothing else does. */
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
        _exit(77); /* qemu-user: but there the call is missing anyway */
    }
    child_hangs_in_a_message();
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

static void child_takes_a_snapshot_with_rows(void)
{
    start(60000, 60000);
    pause_ms(500);
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

/* Bytes of the largest file of rows that is mapped. */
static size_t largest_rows_mapped(void)
{
    char line[600];
    size_t largest = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    expect(maps != NULL, "the maps can be read");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        if (strstr(line, ".rows\n") != NULL && sscanf(line, "%lx-%lx", &begin, &end) == 2 && end - begin > largest) {
            largest = end - begin;
        }
    }
    fclose(maps);
    return largest;
}

enum { LARGE_ROWS = 4 << 20 };

/* Wait until a large file of rows is mapped, or is not. Modules that come and go meanwhile keep the module thread
 * looking, and its parking lot moving. */
static bool wait_for_large_rows(bool is_wanted)
{
    for (int turn = 0; turn < 400; turn++) {
        if ((largest_rows_mapped() > LARGE_ROWS) == is_wanted) {
            return true;
        }
        void *module = dlopen(LATE_MODULE, RTLD_NOW);
        expect(module != NULL, "the module loads");
        pause_ms(20);
        expect(dlclose(module) == 0, "the module unloads");
        pause_ms(20);
    }
    return false;
}

static void child_unloads_a_large_module(void)
{
    start(60000, 60000);
    for (int turn = 0; turn < 3; turn++) {
        void *module = dlopen(LARGE_MODULE, RTLD_NOW);
        expect(module != NULL, "the large module loads");
        expect(wait_for_large_rows(true), "its rows are there");
        expect(dlclose(module) == 0, "the large module unloads");
        expect(wait_for_large_rows(false), "its rows are given back");
    }
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static _Atomic bool plugins_go_on = true;

/* Walks all the while, so that maps are replaced and given back under walks. */
static void *sleep_and_wake(void *unused)
{
    (void)unused;
    while (plugins_go_on) {
        pause_ms(1);
    }
    return NULL;
}

static void child_has_a_plugin_that_comes_and_goes(void)
{
    pthread_t threads[3];
    start(60000, 60000);
    for (int i = 0; i < 3; i++) {
        expect(pthread_create(&threads[i], NULL, sleep_and_wake, NULL) == 0, "a thread starts");
    }
    for (int turn = 0; turn < 500; turn++) {
        void *module = dlopen(LATE_MODULE, RTLD_NOW);
        expect(module != NULL, "the plugin loads");
        void (*late_sleep)(long) = (void (*)(long))dlsym(module, "late_module_sleep");
        late_sleep(turn % 4);
        expect(dlclose(module) == 0, "the plugin unloads");
    }
    plugins_go_on = false;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static void install(const char *from, const char *to)
{
    char command[800];
    snprintf(command, sizeof command, "cp '%s' '%s.new' && mv '%s.new' '%s'", from, to, to, to);
    expect(system(command) == 0, "the plugin is installed");
}

/* As a developer does all day: unload, build, load again, at the same path and mostly at the same address. */
static void child_reloads_a_plugin_built_anew(void)
{
    char plugin[128], next[160];
    snprintf(plugin, sizeof plugin, "%s/plugin.so", folder);
    snprintf(next, sizeof next, "%s/next.so", folder);
    install(LATE_MODULE, plugin);
    install(LATE_MODULE_REBUILT, next);
    start(60000, 60000);
    void *module = dlopen(plugin, RTLD_NOW);
    expect(module != NULL, "the plugin loads");
    pause_ms(300);
    expect(dlclose(module) == 0 && rename(next, plugin) == 0, "the plugin is replaced");
    module = dlopen(plugin, RTLD_NOW);
    expect(module != NULL, "the new plugin loads");
    expect(*(const int *)dlsym(module, "late_module_version") == 2, "it is the new one");
    pause_ms(300);
    expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
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
    start(60000, 60000);
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, interruptible_calls, NULL);
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    for (int i = 0; i < 10 && counts.captures_async <= 20; i++) { /* once, but for an emulator on a busy machine */
        pause_ms(2000);
        expect(stallbox_read_counts(&counts) == STALLBOX_OK, "counts are read");
    }
    busy_goes_on = false;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
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
    snprintf(rows, sizeof rows, "%s/cache/rows", folder); /* not the developer's own */
    setenv("STALLBOX_ROWS", rows, 1);
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

/* Does a stack end where threads begin? musl has no unwind data: there main's caller is the last frame. */
static bool is_whole(const uint64_t *frames, size_t count)
{
    if (count == 0 || count > 600) {
        return false;
    }
#ifndef __GLIBC__
    if (frames[count - 1] == sbx_frame_word(SBX_MODULE_END, SBX_WALK_NO_ROW, 0)) {
        return true;
    }
#endif
    return frames[count - 1] >> SBX_FRAME_MODULE_SHIFT != SBX_MODULE_END;
}

/* Does the stack of `record` pass through `function` of this very executable, and end where threads begin? */
static bool passes_through(const struct sbx_snapshot *snapshot, const struct sbx_record *record, void *function,
                           bool *is_complete_out)
{
    uint64_t frames[600];
    size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 600);
    bool passes = false;
    *is_complete_out = is_whole(frames, count);
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
    /* 900 ms at one a tick of 5 ms would be 180; the machine may be busy, and equal samples make one record. */
    assert_true(snapshot->header.captures_async >= 20);
    assert_true(samples >= 5);
#ifdef __GLIBC__
    assert_int_equal(complete, samples);
#else
    assert_true(complete >= samples * 9 / 10); /* the others were interrupted in libc */
#endif
    sbx_snapshot_destroy(snapshot);
}

static void expect_anr_with_the_sleepers_stack(void)
{
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

static void test_an_open_message_fires_anr_while_it_lasts(void **state)
{
    (void)state;
    assert_int_equal(run_child(child_hangs_in_a_message), 0);
    expect_anr_with_the_sleepers_stack();
}

static void test_a_sleeper_is_seen_where_process_vm_readv_is_forbidden(void **state)
{
    (void)state;
    int status = run_child(child_hangs_under_seccomp);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(status, 0);
    expect_anr_with_the_sleepers_stack();
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
                       strstr(snapshot->modules[module].path, "late_module") != NULL && is_whole(frames, count);
        }
    }
    assert_true(is_seen);
    sbx_snapshot_destroy(snapshot);
}

/* Modules whose path holds `name`; *flags_out: the flags of the last of them. */
static unsigned find_modules(const struct sbx_snapshot *snapshot, const char *name, uint32_t *flags_out)
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

static void remove_snapshots(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", spool);
    assert_int_equal(system(command), 0);
}

/* What identifies the files of rows: a file written anew is another file. */
static uint64_t sum_of_inodes(void)
{
    uint64_t sum = 0;
    DIR *listing = opendir(rows);
    assert_non_null(listing);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        sum += entry->d_name[0] == '.' ? 0 : entry->d_ino;
    }
    closedir(listing);
    return sum;
}

/* Its libc has no unwind data, which these tests look for, and it never unloads a module. */
static void skip_with_musl(void)
{
#ifndef __GLIBC__
    skip();
#endif
}

static void test_rows_are_kept_and_found_by_the_next_start(void **state)
{
    (void)state;
    skip_with_musl();
    uint64_t inodes = 0;
    for (int start_number = 0; start_number < 3; start_number++) {
        uint32_t flags = 0;
        assert_int_equal(run_child(child_takes_a_snapshot_with_rows), 0);
        struct sbx_snapshot *snapshot = read_only_snapshot();
        assert_int_equal(find_modules(snapshot, "/test_agent", &flags), 1);
        assert_true(flags & SBX_MODULE_ROWS_CACHED);
        assert_int_equal(find_modules(snapshot, "/libc.so.6", &flags), 1);
        assert_true(flags & SBX_MODULE_ROWS_CACHED);
        assert_true(count_files(rows, ".rows") >= 3);
        assert_true(start_number == 0 || sum_of_inodes() == inodes);
        inodes = sum_of_inodes();
        sbx_snapshot_destroy(snapshot);
        remove_snapshots();
    }
}

static void test_without_a_place_for_rows_they_are_built_in_memory(void **state)
{
    (void)state;
    skip_with_musl();
    static const char *const places[] = {"", "/proc/none/rows", "relative"};
    for (size_t i = 0; i < SBX_COUNT_OF(places); i++) {
        uint32_t flags = 0;
        setenv("STALLBOX_ROWS", places[i], 1);
        assert_int_equal(run_child(child_takes_a_snapshot_with_rows), 0);
        struct sbx_snapshot *snapshot = read_only_snapshot();
        assert_int_equal(find_modules(snapshot, "/libc.so.6", &flags), 1);
        assert_int_equal(flags & (SBX_MODULE_ROWS_CACHED | SBX_MODULE_NO_ROWS), 0);
        uint64_t frames[600];
        bool is_whole = false;
        for (size_t r = 0; r < snapshot->record_count; r++) {
            size_t count = sbx_snapshot_stack(snapshot, snapshot->records[r].stack, frames, 600);
            is_whole |= count > 2 && frames[count - 1] >> SBX_FRAME_MODULE_SHIFT != SBX_MODULE_END;
        }
        assert_true(is_whole); /* walked to the end through libc and the executable */
        sbx_snapshot_destroy(snapshot);
        remove_snapshots();
    }
}

static void test_rows_of_a_large_module_that_went_are_given_back(void **state)
{
    (void)state;
    skip_with_musl();
    uint32_t flags = 0;
    assert_int_equal(run_child(child_unloads_a_large_module), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(find_modules(snapshot, "large_module", &flags), 1); /* the same entry, three times */
    assert_true(flags & SBX_MODULE_UNLOADED);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_plugin_that_comes_and_goes_keeps_its_entry(void **state)
{
    (void)state;
    uint32_t flags = 0;
    assert_int_equal(run_child(child_has_a_plugin_that_comes_and_goes), 0);
    struct sbx_snapshot *snapshot = read_only_snapshot();
    assert_int_equal(find_modules(snapshot, "late_module", &flags), 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_plugin_built_anew_is_another_module(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        uint32_t flags = 0;
        assert_int_equal(run_child(child_reloads_a_plugin_built_anew), 0);
        struct sbx_snapshot *snapshot = read_only_snapshot();
        assert_int_equal(find_modules(snapshot, "/plugin.so", &flags), 2);
        assert_int_equal(flags & SBX_MODULE_UNLOADED, 0); /* the last is the one that is there */
        sbx_snapshot_destroy(snapshot);
        remove_snapshots();
    }
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
        CASE(test_a_sleeper_is_seen_where_process_vm_readv_is_forbidden),
        CASE(test_a_handler_that_polls_is_part_of_its_message),
        CASE(test_a_modal_poll_is_found_where_the_polling_function_returns),
        CASE(test_a_program_that_changes_its_loop_raises_no_alarm),
        CASE(test_a_program_that_never_loops_is_never_judged),
        CASE(test_a_manual_snapshot_is_durable_when_the_call_returns),
        CASE(test_a_forked_child_is_inert),
        CASE(test_a_forked_child_finds_the_loader_free),
        CASE(test_a_module_loaded_later_is_hooked_and_walked),
        CASE(test_rows_are_kept_and_found_by_the_next_start),
        CASE(test_without_a_place_for_rows_they_are_built_in_memory),
        CASE(test_rows_of_a_large_module_that_went_are_given_back),
        CASE(test_a_plugin_that_comes_and_goes_keeps_its_entry),
        CASE(test_a_plugin_built_anew_is_another_module),
        CASE(test_a_host_that_has_our_signal_keeps_it),
        CASE(test_asynchronous_captures_interrupt_no_call),
        CASE(test_thread_entries_are_used_again),
        CASE(test_starting_and_stopping_twice_is_harmless),
        CASE(test_death_in_a_message_leaves_a_killed_snapshot_to_be_recovered),
        CASE(test_an_orderly_exit_leaves_no_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
