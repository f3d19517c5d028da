/* SPDX-License-Identifier: Apache-2.0 */
/* test_module_map.c - modules that are loaded, unloaded and loaded again while the recorder runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "order.h"
#include "recorded_process.h"
#include "stallbox/stallbox.h"

/* Right after the start the module thread is inside the loader much of the time. A child that is forked then must find
 * the loader's locks free. */
static void child_forks_while_modules_are_read(void)
{
    child_start_with(60000, 60000);
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(10);
            _exit(dlopen(LATE_MODULE, RTLD_NOW) != NULL ? 0 : 1);
        }
        int status = 0;
        child_expect(waitpid(pid, &status, 0) == pid && status == 0, "a forked child can load a module");
    }
    stallbox_stop(5000);
}

static void child_loads_a_module(void)
{
    child_start_with(60000, 60000);
    child_sleep_ms(100);
    void *module = dlopen(LATE_MODULE, RTLD_NOW);
    child_expect(module != NULL, "the module loads");
    void (*late_sleep)(long) = (void (*)(long))dlsym(module, "late_module_sleep");
    child_expect(late_sleep != NULL, "the module has its function");
    child_sleep_ms(300); /* the module thread looks within milliseconds */
    late_sleep(50);
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    child_expect(dlclose(module) == 0, "the module unloads");
    child_sleep_ms(300);
    stallbox_stop(5000);
}

/* The module is unloaded and back at its old address before the recorder looks. It appears to be the same module, but
 * its slots are new. */
static void child_loads_a_module_again(void)
{
    child_start_with(60000, 60000);
    void *module = dlopen(LATE_MODULE, RTLD_NOW);
    child_expect(module != NULL, "the module loads");
    child_sleep_ms(300);
    for (int turn = 0; turn < 5; turn++) {
        child_expect(dlclose(module) == 0, "the module unloads");
        module = dlopen(LATE_MODULE, RTLD_NOW);
        child_expect(module != NULL, "the module loads again");
    }
    child_sleep_ms(300);
    void (*late_sleep)(long) = (void (*)(long))dlsym(module, "late_module_sleep");
    late_sleep(50);
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static _Atomic bool plugins_go_on = true;

/* Makes walks all the time, so that maps are replaced and freed while walks use them. */
static void *sleep_and_wake(void *unused)
{
    (void)unused;
    while (plugins_go_on) {
        child_sleep_ms(1);
    }
    return NULL;
}

static void child_has_a_plugin_that_comes_and_goes(void)
{
    pthread_t threads[3];
    child_start_with(60000, 60000);
    for (int i = 0; i < 3; i++) {
        child_expect(pthread_create(&threads[i], NULL, sleep_and_wake, NULL) == 0, "a thread starts");
    }
    for (int turn = 0; turn < 500; turn++) {
        void *module = dlopen(LATE_MODULE, RTLD_NOW);
        child_expect(module != NULL, "the plugin loads");
        void (*late_sleep)(long) = (void (*)(long))dlsym(module, "late_module_sleep");
        late_sleep(turn % 4);
        child_expect(dlclose(module) == 0, "the plugin unloads");
    }
    plugins_go_on = false;
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static void install(const char *from, const char *to)
{
    char command[800];
    snprintf(command, sizeof command, "cp '%s' '%s.new' && mv '%s.new' '%s'", from, to, to, to);
    child_expect(system(command) == 0, "the plugin is installed");
}

/* As a developer does: unload, build and load again, at the same path and mostly at the same address. */
static void child_reloads_a_plugin_built_anew(void)
{
    char plugin[128], next[160];
    snprintf(plugin, sizeof plugin, "%s/plugin.so", recorded_process_folder());
    snprintf(next, sizeof next, "%s/next.so", recorded_process_folder());
    install(LATE_MODULE, plugin);
    install(LATE_MODULE_REBUILT, next);
    child_start_with(60000, 60000);
    void *module = dlopen(plugin, RTLD_NOW);
    child_expect(module != NULL, "the plugin loads");
    child_sleep_ms(300);
    child_expect(dlclose(module) == 0 && rename(next, plugin) == 0, "the plugin is replaced");
    module = dlopen(plugin, RTLD_NOW);
    child_expect(module != NULL, "the new plugin loads");
    child_expect(*(const int *)dlsym(module, "late_module_version") == 2, "it is the new one");
    child_sleep_ms(300);
    child_expect(stallbox_snapshot(5000) == STALLBOX_OK, "a snapshot is made");
    stallbox_stop(5000);
}

static _Atomic bool is_looking, looks_go_on;

/* Reads the modules' flags all the time while a module is loaded, as other processes do. */
static void *look_whose_rows_are_there(void *unused)
{
    enum {
        MODULES = 64
    };
    const struct sbx_recording_header *header = child_header();
    const struct sbx_module_entry *modules =
        (const struct sbx_module_entry *)((const char *)header + header->modules.at);
    bool has_rows[MODULES] = {false};
    while (looks_go_on) {
        uint32_t count = sbx_load_acquire(&header->module_count);
        for (uint32_t i = 0; i < count && i < MODULES; i++) {
            bool is_pending = (sbx_load_relaxed(&modules[i].flags) & SBX_MODULE_ROWS_PENDING) != 0;
            child_expect(!is_pending || !has_rows[i], "what has its rows keeps them");
            has_rows[i] |= !is_pending;
        }
        is_looking = true;
    }
    return unused;
}

static void child_looks_while_a_module_comes(void)
{
    pthread_t thread;
    child_start();
    child_wait_for_all_rows();
    looks_go_on = true;
    child_expect(pthread_create(&thread, NULL, look_whose_rows_are_there, NULL) == 0, "a thread starts");
    while (!is_looking) {
        child_pause_ms(1);
    }
    child_expect(dlopen(LATE_MODULE, RTLD_NOW) != NULL, "the module loads");
    child_wait_for_all_rows();
    looks_go_on = false;
    pthread_join(thread, NULL);
    stallbox_stop(5000);
}

static void remove_snapshots(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", recorded_process_spool());
    assert_int_equal(system(command), 0);
}

static void test_a_forked_child_finds_the_loader_free(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(recorded_process_run(child_forks_while_modules_are_read), 0);
    }
}

static void expect_sleep_of_late_module(void)
{
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    bool is_seen = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint64_t frames[600];
        const struct sbx_record *record = &snapshot->records[i];
        size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, 600);
        if (record->kind == SBX_RECORD_SLEEP && count > 0) {
            uint32_t module = (uint32_t)(frames[0] >> SBX_FRAME_MODULE_SHIFT);
            is_seen |= module < snapshot->module_count &&
                       strstr(snapshot->modules[module].path, "late_module") != NULL &&
                       stack_is_whole(snapshot, record->stack);
        }
    }
    assert_true(is_seen);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_module_loaded_later_is_hooked_and_walked(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_loads_a_module), 0);
    expect_sleep_of_late_module();
}

static void test_a_module_that_went_and_came_back_unseen_is_hooked(void **state)
{
    (void)state;
    assert_int_equal(recorded_process_run(child_loads_a_module_again), 0);
    expect_sleep_of_late_module();
}

/* Symptom: a process that read a module's flags before the first map was ready read that the module had its rows. The
 * same happened for a moment whenever another module's rows came. */
static void test_a_module_is_said_to_have_its_rows_when_it_has_them(void **state)
{
    (void)state;
    for (int turn = 0; turn < 10; turn++) {
        char command[160];
        assert_int_equal(recorded_process_run(child_looks_while_a_module_comes), 0);
        snprintf(command, sizeof command, "rm -rf '%s'", recorded_process_rows()); /* they are built again */
        assert_int_equal(system(command), 0);
    }
}

static void test_a_plugin_that_comes_and_goes_keeps_its_entry(void **state)
{
    (void)state;
    uint32_t flags = 0;
    assert_int_equal(recorded_process_run(child_has_a_plugin_that_comes_and_goes), 0);
    struct sbx_snapshot *snapshot = recorded_process_snapshot();
    assert_int_equal(find_modules(snapshot, "late_module", &flags), 1);
    sbx_snapshot_destroy(snapshot);
}

static void test_a_plugin_built_anew_is_another_module(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        uint32_t flags = 0;
        assert_int_equal(recorded_process_run(child_reloads_a_plugin_built_anew), 0);
        struct sbx_snapshot *snapshot = recorded_process_snapshot();
        assert_int_equal(find_modules(snapshot, "/plugin.so", &flags), 2);
        assert_int_equal(flags & SBX_MODULE_UNLOADED, 0); /* the last one is the loaded one */
        sbx_snapshot_destroy(snapshot);
        remove_snapshots();
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, recorded_process_set_up, recorded_process_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_forked_child_finds_the_loader_free),
        CASE(test_a_module_loaded_later_is_hooked_and_walked),
        CASE(test_a_module_that_went_and_came_back_unseen_is_hooked),
        CASE(test_a_module_is_said_to_have_its_rows_when_it_has_them),
        CASE(test_a_plugin_that_comes_and_goes_keeps_its_entry),
        CASE(test_a_plugin_built_anew_is_another_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
