/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_modules.c - modules, allocators and runtimes in the same process; and the library itself as a module. */
#include "host_case.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void sleep_function(long ms);

static void *load_and_sleep(const char *path)
{
    void *module = dlopen(path, RTLD_NOW);
    host_expect(module != NULL, "a module loads");
    sleep_function *late_sleep = (sleep_function *)dlsym(module, "late_module_sleep");
    host_expect(late_sleep != NULL, "it has its function");
    host_pause_ms(900); /* the module thread looks within milliseconds, if the machine has time for it */
    late_sleep(30);
    return module;
}

/* ---- HOST-4 ---- */

static void *compute(void *goes_on)
{
    while (*(volatile bool *)goes_on) {
        host_compute_ms(2);
        void *volatile memory = malloc(10);
        free(memory);
    }
    return NULL;
}

static void copy_file(const char *from, int to)
{
    char bytes[65536];
    ssize_t got;
    int file = open(from, O_RDONLY | O_CLOEXEC);
    host_expect(file >= 0, "the module can be read");
    while ((got = read(file, bytes, sizeof bytes)) > 0) {
        host_expect(write(to, bytes, (size_t)got) == got, "and written");
    }
    close(file);
}

static void loads_from_everywhere(void)
{
    volatile bool goes_on = true;
    pthread_t thread;
    char path[200];
    pthread_create(&thread, NULL, compute, (void *)(uintptr_t)&goes_on);
    /* The same path again and again, sometimes at another address, while another module is at the old one. */
    for (int turn = 0; turn < 30; turn++) {
        void *module = dlopen(HOST_LATE_MODULE, RTLD_NOW);
        host_expect(module != NULL, "a module loads");
        ((sleep_function *)dlsym(module, "late_module_sleep"))(2);
        dlclose(module);
        if (turn % 3 == 0) {
            mmap(NULL, 4096 * 5, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        }
    }
    void *usual = load_and_sleep(HOST_LATE_MODULE);
    int memory_file = memfd_create("late", 0);
    copy_file(HOST_LATE_MODULE, memory_file);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_file);
    void *from_memory = load_and_sleep(path);
    snprintf(path, sizeof path, "%s/deleted_late.so", getenv("HOST_FOLDER"));
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    copy_file(HOST_LATE_MODULE, file);
    close(file);
    void *deleted = dlopen(path, RTLD_NOW);
    host_expect(deleted != NULL && unlink(path) == 0, "a module is deleted as soon as it is loaded");
    host_pause_ms(900);
    ((sleep_function *)dlsym(deleted, "late_module_sleep"))(30);
    goes_on = false;
    pthread_join(thread, NULL);
    host_expect_snapshot();
    dlclose(usual);
    dlclose(from_memory);
    dlclose(deleted);
}

static void host_04_a_module_from_memory_or_deleted_is_itself_or_nobody(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "loads_from_everywhere"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    const struct sbx_module_entry *known = NULL;
    for (uint32_t i = 0; i < snapshot->module_count; i++) {
        if (strcmp(snapshot->modules[i].path, HOST_LATE_MODULE) == 0) {
            known = &snapshot->modules[i];
        }
    }
    assert_non_null(known);
    assert_true(known->build_id_bytes != 0);
    unsigned slept = 0, elsewhere = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint64_t frames[64];
        size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 64);
        uint32_t module = count > 0 ? (uint32_t)(frames[0] >> SBX_FRAME_MODULE_SHIFT) : UINT32_MAX;
        if (record->kind != SBX_RECORD_SLEEP || module >= snapshot->module_count) {
            continue;
        }
        const struct sbx_module_entry *entry = &snapshot->modules[module];
        if (strstr(entry->path, "late") == NULL && strstr(entry->path, "/fd/") == NULL) {
            continue;
        }
        slept++;
        elsewhere += strcmp(entry->path, HOST_LATE_MODULE) != 0;
        /* Each is a copy of one file, so it has that file's build-id or none. */
        assert_true(entry->build_id_bytes == 0 ||
                    (entry->build_id_bytes == known->build_id_bytes &&
                     memcmp(entry->build_id, known->build_id, known->build_id_bytes) == 0));
    }
    assert_true(slept >= 3 && elsewhere >= 2);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-18 ---- */

static void *hold(void *unused)
{
    (void)unused;
    void (*hold_allocator)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "hold_allocator");
    host_expect(hold_allocator != NULL, "the allocator is the one with a lock");
    hold_allocator();
    host_tell("is_held");
    for (;;) {
        pause();
    }
    return NULL;
}

static void allocate_for_ever(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, hold, NULL);
    for (;;) {
        void *volatile memory = malloc(100);
        free(memory);
    }
}

static void hangs_in_the_allocator(void)
{
    host_loop(200, allocate_for_ever);
}

static void host_18_a_hang_in_the_allocators_lock_is_kept(void **state)
{
    (void)state;
    pid_t pid = host_begin(
        &(struct host_order){.body = "hangs_in_the_allocator", .anr_ms = 1000, .preload_too = HOST_LOCK_ALLOCATOR});
    bool is_held = host_was_told("is_held"), is_kept = is_held && host_wait_for_snapshots(1);
    kill(pid, SIGKILL);
    host_end(pid);
    assert_true(is_held);
    assert_true(is_kept);
    struct sbx_snapshot *snapshot = host_read_snapshot();
    bool is_there = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        is_there |= (snapshot->records[i].flags & SBX_FLAG_AT_TRIGGER) != 0 &&
                    host_passes(snapshot, snapshot->records[i].stack, (void *)allocate_for_ever);
    }
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    assert_true(is_there);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-19 ---- */

__attribute__((noinline)) static void load_a_slow_module(void)
{
    host_expect(dlopen(HOST_HANGING_MODULE, RTLD_NOW) != NULL, "the slow module loads in the end");
    HOST_KEEP_FRAME();
}

static void hangs_in_the_loader(void)
{
    host_loop(200, load_a_slow_module);
}

static void host_19_a_hang_under_the_loaders_lock_is_kept_while_it_lasts(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "hangs_in_the_loader", .anr_ms = 1000});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    bool is_there = false;
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_ANR);
    assert_int_equal(snapshot->header.trigger.in_progress, 1);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        is_there |= host_passes(snapshot, snapshot->records[i].stack, (void *)load_a_slow_module);
    }
    assert_true(is_there);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-20 ---- */

static void hang_a_while(void)
{
    host_pause_ms(2500); /* five times the limit: time in which the watch thread was late does not count */
    HOST_KEEP_FRAME();
}

static void is_an_ordinary_program(void)
{
    volatile bool goes_on = true;
    pthread_t thread;
    pthread_create(&thread, NULL, compute, (void *)(uintptr_t)&goes_on);
    uint64_t begin_ms = host_now_ms();
    bool has_hung = false;
    for (int turns = 0; turns < 20; turns += has_hung) { /* on a busy machine it is hooked late */
        bool is_due = !has_hung && host_now_ms() - begin_ms >= 3000;
        host_loop(1, is_due ? hang_a_while : NULL);
        has_hung |= is_due;
    }
    goes_on = false;
    pthread_join(thread, NULL);
}

static bool use_audit(void)
{
    return setenv("LD_AUDIT", HOST_AUDIT_MODULE, 1) == 0;
}

static void host_20_an_audit_library_and_an_allocator_of_the_hosts_are_borne(void **state)
{
    struct host_order order = {.body = "is_an_ordinary_program", .slow_message_ms = 500};
    (void)state;
    order.before_exec = use_audit;
    host_run_well(&order);
    assert_int_equal(host_count_snapshots(), 1);
    order.before_exec = NULL;
    order.preload_too = HOST_LOCK_ALLOCATOR;
    host_run_well(&order);
    assert_int_equal(host_count_snapshots(), 2);
}

static void host_20_a_program_with_the_address_sanitizer_runs_clean(void **state)
{
    (void)state;
#ifndef HOST_ASAN
    host_skip("this compiler has no address sanitizer");
#else
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("HOST_FOLDER", host_folder, 1);
        setenv("ASAN_OPTIONS", "detect_leaks=1:exitcode=44", 1);
        alarm(100);
        execl(HOST_ASAN, "host_asan", "snapshot", (char *)NULL);
        _exit(96);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(host_count_snapshots(), 1);
#endif
}

/* ---- HOST-24, HOST-25 ---- */

static struct stallbox_options options_of_the_host(void)
{
    return (struct stallbox_options){.sizeof_options = sizeof(struct stallbox_options),
                                     .spool_path = getenv("STALLBOX_SPOOL"),
                                     .recording_path = getenv("STALLBOX_RECORDINGS")};
}

static void loads_and_unloads_the_library(void)
{
    volatile bool goes_on = true;
    pthread_t thread;
    struct stallbox_options options = options_of_the_host();
    void *first = dlopen(HOST_LIBRARY, RTLD_NOW), *second = dlopen(HOST_LIBRARY, RTLD_NOW);
    host_expect(first != NULL && first == second, "the library is loaded twice, and is one");
    enum stallbox_result (*start)(const struct stallbox_options *) =
        (enum stallbox_result(*)(const struct stallbox_options *))dlsym(first, "stallbox_start");
    enum stallbox_result (*snapshot)(uint32_t) = (enum stallbox_result(*)(uint32_t))dlsym(first, "stallbox_snapshot");
    enum stallbox_result (*stop)(uint32_t) = (enum stallbox_result(*)(uint32_t))dlsym(first, "stallbox_stop");
    host_expect(start(&options) == STALLBOX_OK, "it starts");
    pthread_create(&thread, NULL, compute, (void *)(uintptr_t)&goes_on);
    host_loop(50, NULL);
    dlclose(first);
    dlclose(second);
    host_loop(200, NULL); /* hooks, signals and our threads run code that must still be mapped */
    host_expect(dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_NOLOAD) != NULL, "the library stays");
    host_expect(snapshot(30000) == STALLBOX_OK, "and records");
    goes_on = false;
    pthread_join(thread, NULL);
    host_expect(stop(10000) == STALLBOX_OK, "and stops");
}

static void host_24_a_library_that_is_unloaded_with_threads_alive_stays(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "loads_and_unloads_the_library", .has_no_agent = true});
    assert_int_equal(host_count_snapshots(), 1);
}

enum {
    STARTERS = 8
};
static pthread_barrier_t together;
static _Atomic int started, refused;

static void *start_once(void *start)
{
    struct stallbox_options options = options_of_the_host();
    pthread_barrier_wait(&together);
    enum stallbox_result result = ((enum stallbox_result(*)(const struct stallbox_options *))start)(&options);
    started += result == STALLBOX_OK;
    refused += result == STALLBOX_ALREADY_RUNNING;
    return NULL;
}

static void starts_in_many_threads(void)
{
    pthread_t threads[STARTERS];
    void *library = dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    host_expect(library != NULL, "the library loads");
    pthread_barrier_init(&together, NULL, STARTERS);
    for (int i = 0; i < STARTERS; i++) {
        pthread_create(&threads[i], NULL, start_once, dlsym(library, "stallbox_start"));
    }
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    host_expect(started == 1 && refused == STARTERS - 1, "one of many starts is the start");
    host_expect(host_thread_count() == 3, "there are two threads of ours");
    host_loop(50, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct stallbox_options options = options_of_the_host();
        host_expect(host_api().stop(1000) == STALLBOX_NOT_RUNNING, "a forked child has nothing to stop yet");
        host_expect(host_api().start(&options) == STALLBOX_OK, "it can start at once");
        host_expect(host_api().start(&options) == STALLBOX_ALREADY_RUNNING, "and not twice");
        host_expect(host_api().stop(10000) == STALLBOX_OK, "then it stops");
        host_expect(host_api().start(&options) == STALLBOX_UNSUPPORTED, "for good");
        _exit(9);
    }
    int status = 0;
    host_expect(waitpid(pid, &status, 0) == pid && status == 9 << 8, "the child is told so");
    host_expect_snapshot();
    host_expect(host_api().stop(10000) == STALLBOX_OK, "it stops");
}

static void starts_again_when_preloaded(void)
{
    struct stallbox_options options = options_of_the_host();
    host_expect(host_api().is_running(), "it was started before main");
    host_expect(host_api().start(&options) == STALLBOX_ALREADY_RUNNING, "a second start is refused");
    host_expect(host_api().start(NULL) == STALLBOX_ALREADY_RUNNING, "and a third");
    host_loop(20, NULL);
    host_expect_snapshot();
}

static void host_25_of_many_starts_one_counts(void **state)
{
    (void)state;
    for (int turn = 0; turn < 5; turn++) {
        host_run_well(&(struct host_order){.body = "starts_in_many_threads", .has_no_agent = true});
    }
    host_run_well(&(struct host_order){.body = "starts_again_when_preloaded"});
    assert_int_equal(host_count_snapshots(), 6);
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(loads_from_everywhere),         HOST_BODY(hangs_in_the_allocator),
        HOST_BODY(hangs_in_the_loader),           HOST_BODY(is_an_ordinary_program),
        HOST_BODY(loads_and_unloads_the_library), HOST_BODY(starts_in_many_threads),
        HOST_BODY(starts_again_when_preloaded),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_04_a_module_from_memory_or_deleted_is_itself_or_nobody),
        HOST_TEST(host_18_a_hang_in_the_allocators_lock_is_kept),
        HOST_TEST(host_19_a_hang_under_the_loaders_lock_is_kept_while_it_lasts),
        HOST_TEST(host_20_an_audit_library_and_an_allocator_of_the_hosts_are_borne),
        HOST_TEST(host_20_a_program_with_the_address_sanitizer_runs_clean),
        HOST_TEST(host_24_a_library_that_is_unloaded_with_threads_alive_stays),
        HOST_TEST(host_25_of_many_starts_one_counts),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
