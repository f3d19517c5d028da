/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_definitions.c - which definition of a function is used: plugins with functions of their own; wrappers,
 * clocks and allocators that come before the C library's; and sanitizers, which come before all others. Each program
 * here ends with 0 without the recorder. */
#include "host_case.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "every_symbol.h"

/* Run `program`, alone or under `stallbox run`; its output goes into host_folder/said. `preload` is for the program.
 * Returns its exit status. */
static int run_program(bool is_recorded, const char *preload, const char *const *program)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const char *argv[16] = {HOST_TOOL, "run", "-q", "-s", host_spool, "--"};
        size_t count = is_recorded ? 6 : 0;
        char said[120];
        for (size_t i = 0; program[i] != NULL; i++) {
            argv[count++] = program[i];
        }
        argv[count] = NULL;
        snprintf(said, sizeof said, "%s/said", host_folder);
        int file = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0) {
            _exit(120);
        }
        setenv("HOST_FOLDER", host_folder, 1);
        if (preload != NULL) {
            setenv("LD_PRELOAD", preload, 1);
        }
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(121);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void read_said(char *text, size_t bytes)
{
    char path[120];
    snprintf(path, sizeof path, "%s/said", host_folder);
    FILE *file = fopen(path, "r");
    size_t got = file != NULL ? fread(text, 1, bytes - 1, file) : 0;
    text[got] = 0;
    if (file != NULL) {
        fclose(file);
    }
}

static void expect_as_alone(const char *preload, const char *const *program)
{
    int alone = run_program(false, preload, program), recorded = run_program(true, preload, program);
    if (alone != recorded || alone != 0) {
        char text[4000];
        read_said(text, sizeof text);
        fprintf(stderr, "%s: %d alone, %d recorded\n%s", program[0], alone, recorded, text);
    }
    assert_int_equal(alone, 0);
    assert_int_equal(recorded, 0);
}

/* ---- HOST-4 ---- */

static void host_04_a_plugins_own_functions_stay_its_own(void **state)
{
    (void)state;
    expect_as_alone(NULL, (const char *const[]){HOST_OWN_ALLOCATOR, HOST_PLUGIN_OWN_NOW, "now", NULL});
    expect_as_alone(NULL, (const char *const[]){HOST_OWN_ALLOCATOR, HOST_PLUGIN_OWN_LAZY, "lazy", NULL});
}

static void host_04_what_a_plugin_has_not_bound_yet_is_bound_in_its_own_scope(void **state)
{
    (void)state;
    expect_as_alone(NULL, (const char *const[]){HOST_OWN_ALLOCATOR, HOST_PLUGIN_LIBCS, "lazy", NULL});
    expect_as_alone(NULL, (const char *const[]){HOST_OWN_ALLOCATOR, HOST_PLUGIN_LIBCS, "now", NULL});
}

/* ---- HOST-7 ---- */

static void host_07_calls_with_a_stack_that_is_not_aligned_are_borne(void **state)
{
    (void)state;
#ifdef HOST_MISALIGNED
    expect_as_alone(NULL, (const char *const[]){HOST_MISALIGNED, NULL});
    expect_as_alone(NULL, (const char *const[]){HOST_AT_FULL_RATE, HOST_MISALIGNED, NULL});
#else
    host_skip("the program is in assembly of x86-64");
#endif
}

/* ---- HOST-20 ---- */

static void host_20_an_allocator_that_main_makes_ready_is_not_asked_before(void **state)
{
    char said[400];
    (void)state;
    expect_as_alone(NULL, (const char *const[]){HOST_LATE_ALLOCATOR, NULL});
    read_said(said, sizeof said);
    assert_null(strstr(said, "nothing is recorded")); /* the recorder began at its first poll() */
    expect_as_alone(NULL, (const char *const[]){"sh", "-c", HOST_LATE_ALLOCATOR " && true", NULL});
}

/* The emulator is this program's kernel: handlers are called with unaligned stacks, system calls are missing, threads
 * are not seen. */
static void host_20_a_program_in_an_emulator_runs_as_alone(void **state)
{
    (void)state;
#ifdef HOST_MISALIGNED
    if (system("qemu-x86_64 --version >/dev/null 2>&1") != 0) {
        host_skip("qemu-x86_64 is not here (package qemu-user)");
    }
    expect_as_alone(NULL, (const char *const[]){HOST_AT_FULL_RATE, "qemu-x86_64", HOST_LATE_ALLOCATOR, NULL});
#else
    host_skip("of x86-64");
#endif
}

static int ask_module(const char *name)
{
    int (*ask)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, name);
    host_expect(ask != NULL, "the module is there");
    return ask();
}

static void stores_where_it_may(void)
{
    void (*store)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "relro_store");
    host_expect(ask_module("relro_is_ready") != 0, "the module can write its own pages");
    host_pause_ms(200);
    host_expect(ask_module("relro_sleep") == 0, "its call is as it was");
    store();
    host_expect_snapshot();
    host_expect(host_api().stop(10000) == STALLBOX_OK, "the recorder stops");
    store();
    host_expect(ask_module("relro_sleep") == 0, "and its call is as it was");
}

static void host_04_pages_that_a_module_opened_for_itself_stay_open(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "stores_where_it_may", .preload_too = HOST_RELRO_OPENED});
}

static void calls_from_sealed_pages(void)
{
    if (ask_module("relro_is_ready") == 0) {
        host_tell("cannot_seal");
        return;
    }
    host_pause_ms(200);
    (void)ask_module("relro_sleep");
    host_expect_snapshot();
    host_expect(host_api().stop(10000) == STALLBOX_OK, "the recorder stops");
    host_expect(ask_module("relro_sleep") == 0, "its call is as it was");
}

static void host_04_slots_in_sealed_pages_are_left_alone_and_counted(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "calls_from_sealed_pages", .preload_too = HOST_RELRO_SEALED});
    char path[120];
    snprintf(path, sizeof path, "%s/cannot_seal", host_folder);
    if (access(path, F_OK) == 0) {
        host_skip("this kernel seals nothing (mseal(2), Linux 6.10)");
    }
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_true(snapshot->drops[SBX_DROP_FOREIGN_SLOT] > 0);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-20 ---- */

/* `stallbox run` puts our library first. A program that sets LD_PRELOAD for a program that it starts may put it
 * last. */
static void expect_both_orders(const char *wrapper, const char *kind)
{
    char order[300];
    expect_as_alone(wrapper, (const char *const[]){HOST_WRAPPED, kind, NULL});
    snprintf(order, sizeof order, "LD_PRELOAD=%s${LD_PRELOAD:+:$LD_PRELOAD} exec %s %s", wrapper, HOST_WRAPPED, kind);
    expect_as_alone(NULL, (const char *const[]){"sh", "-c", order, NULL});
}

static void host_20_a_wrapper_of_printf_sees_what_is_printed(void **state)
{
    (void)state;
    expect_both_orders(HOST_WRAPPER_FORMATS, "formats");
}

static void host_20_a_wrapper_of_vprintf_sees_no_printf(void **state)
{
    (void)state;
    expect_both_orders(HOST_WRAPPER_V_FORMS, "others");
}

static void host_20_a_wrapper_of_locks_sees_each_lock_before_its_unlock(void **state)
{
    (void)state;
    expect_both_orders(HOST_WRAPPER_FORMATS, "locks");
}

static void host_20_a_clock_that_takes_locks_is_borne(void **state)
{
    (void)state;
    if (run_program(false, NULL, (const char *const[]){"faketime", "-m", "-f", "+1d", "true", NULL}) != 0) {
        host_skip("faketime is not installed (scripts/install-deps test)");
    }
    expect_as_alone(NULL, (const char *const[]){"faketime", "-m", "-f", "+1d", HOST_CLOCK_READER, NULL});
}

#if defined(HOST_SANITIZED)
/* Each program is built with one compiler and one sanitizer. Those whose names end in _linked start the library
 * themselves. */
static void host_20_programs_with_sanitizers_run_clean(void **state)
{
    (void)state;
    char list[] = HOST_SANITIZED, *rest = NULL;
    unsigned ran = 0;
    for (char *path = strtok_r(list, "|", &rest); path != NULL; path = strtok_r(NULL, "|", &rest)) {
        const char *const program[] = {path, NULL};
        for (int turn = 0; turn < 3; turn++) { /* what they report depends on which thread is first */
            if (strstr(path, "_linked") != NULL) {
                int status = run_program(false, NULL, program);
                if (status != 0) {
                    char text[4000];
                    read_said(text, sizeof text);
                    fprintf(stderr, "%s: %d\n%s", path, status, text);
                }
                assert_int_equal(status, 0);
            } else {
                expect_as_alone(NULL, program);
            }
        }
        ran++;
        if (strstr(path, "_address") == NULL || strstr(path, "_linked") != NULL) {
            continue;
        }
        /* It reports the memory that the program leaked, once, and nothing of ours. */
        char text[8000];
        assert_int_not_equal(run_program(true, NULL, (const char *const[]){path, "forget", NULL}), 0);
        read_said(text, sizeof text);
        assert_non_null(strstr(text, "77 byte(s) leaked in 1 allocation(s)"));
        assert_null(strstr(text, "stallbox"));
    }
    assert_true(ran > 0);
}
#endif

#if defined(HOST_EVERY_SYMBOL)
static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;

static void *be_busy(void *unused)
{
    while (host_goes_on) {
        char text[100], *volatile memory = malloc(1000);
        pthread_mutex_lock(&busy_lock);
        snprintf(text, sizeof text, "%p", (void *)memory);
        FILE *file = fopen("/dev/null", "w");
        fprintf(file, "%s\n", text);
        fclose(file);
        pthread_mutex_unlock(&busy_lock);
        free(memory);
        void *module = dlopen(HOST_LATE_MODULE, RTLD_LAZY);
        dlclose(module);
        host_compute_ms(2);
    }
    return unused;
}

static void stall(void)
{
    host_compute_ms(400);
}

static void is_busy_below_every_symbol(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, be_busy, NULL);
    }
    host_loop(40, NULL);
    host_loop(10, stall);
    host_loop(200, NULL);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    host_expect_snapshot();
    host_goes_on = false;
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void host_20_no_call_of_ours_reaches_who_stands_before_libc(void **state)
{
    (void)state;
    char path[120];
    size_t bytes = EVERY_SYMBOLS_MAX * sizeof(struct every_symbol);
    snprintf(path, sizeof path, "%s/calls", host_folder);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, (off_t)bytes), 0);
    struct every_symbol *symbols = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
    assert_true(symbols != MAP_FAILED);
    setenv(EVERY_SYMBOL_FILE, path, 1);
    host_run_well(&(struct host_order){
        .body = "is_busy_below_every_symbol", .anr_ms = 200, .interval_us = 1000, .preload_too = HOST_EVERY_SYMBOL});
    unsetenv(EVERY_SYMBOL_FILE);
    unsigned called = 0, wrong = 0;
    for (int i = 0; i < EVERY_SYMBOLS_MAX; i++) {
        called += symbols[i].name[0] != 0;
        if (symbols[i].calls != 0) {
            fprintf(stderr, "%s: %llu calls of ours\n", symbols[i].name, (unsigned long long)symbols[i].calls);
            wrong++;
        }
    }
    if (called < 5) {
        fprintf(stderr, "%u called\n", called);
    }
    assert_true(called >= 5); /* the program itself calls them, so they do come before libc's */
    assert_int_equal(wrong, 0);
    assert_true(host_count_snapshots() >= 2);
    munmap(symbols, bytes);
    close(file);
}
#endif

int main(int argc, char **argv)
{
    static const struct host_body bodies[] = {
#if defined(HOST_EVERY_SYMBOL)
        HOST_BODY(is_busy_below_every_symbol),
#endif
        HOST_BODY(stores_where_it_may),
        HOST_BODY(calls_from_sealed_pages),
    };
    static const struct CMUnitTest tests[] = {
        HOST_TEST(host_04_a_plugins_own_functions_stay_its_own),
        HOST_TEST(host_04_what_a_plugin_has_not_bound_yet_is_bound_in_its_own_scope),
        HOST_TEST(host_04_pages_that_a_module_opened_for_itself_stay_open),
        HOST_TEST(host_04_slots_in_sealed_pages_are_left_alone_and_counted),
        HOST_TEST(host_07_calls_with_a_stack_that_is_not_aligned_are_borne),
        HOST_TEST(host_20_an_allocator_that_main_makes_ready_is_not_asked_before),
        HOST_TEST(host_20_a_program_in_an_emulator_runs_as_alone),
        HOST_TEST(host_20_a_wrapper_of_printf_sees_what_is_printed),
        HOST_TEST(host_20_a_wrapper_of_vprintf_sees_no_printf),
        HOST_TEST(host_20_a_wrapper_of_locks_sees_each_lock_before_its_unlock),
        HOST_TEST(host_20_a_clock_that_takes_locks_is_borne),
#if defined(HOST_SANITIZED)
        HOST_TEST(host_20_programs_with_sanitizers_run_clean),
#endif
#if defined(HOST_EVERY_SYMBOL)
        HOST_TEST(host_20_no_call_of_ours_reaches_who_stands_before_libc),
#endif
    };
    return host_main(argc, argv, bodies, sizeof bodies / sizeof bodies[0], tests, sizeof tests / sizeof tests[0]);
}
