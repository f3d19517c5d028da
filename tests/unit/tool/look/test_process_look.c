/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_look.c - looks at a real process whose threads wait in known ways (look_target.c), compiled with and
 * without frame pointers and optimization. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "look_watch.h"
#include "process_look.h"

enum {
    THREADS_MAX = 16,
    PATIENCE_S = 30
};

struct target {
    pid_t pid;
    struct {
        char name[32];
        pid_t tid;
    } threads[THREADS_MAX];
    size_t count;
};

static struct target target;
static struct sbx_process_view view;
static struct sbx_process_look look;

static void start(const char *program, const char *mode)
{
    int out[2];
    char line[128];
    assert_int_equal(pipe(out), 0);
    memset(&target, 0, sizeof target);
    target.pid = fork();
    if (target.pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        execl(program, program, mode, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *lines = fdopen(out[0], "r");
    while (fgets(line, sizeof line, lines) != NULL && strcmp(line, "ready\n") != 0) {
        int tid;
        assert_int_equal(sscanf(line, "%31s %d", target.threads[target.count].name, &tid), 2);
        target.threads[target.count++].tid = (pid_t)tid;
    }
    assert_string_equal(line, "ready\n");
    fclose(lines);
}

static void stop(void)
{
    kill(target.pid, SIGKILL);
    waitpid(target.pid, NULL, 0);
}

static pid_t tid_of(const char *name)
{
    for (size_t i = 0; i < target.count; i++) {
        if (strcmp(target.threads[i].name, name) == 0) {
            return target.threads[i].tid;
        }
    }
    fail_msg("the target has no thread %s", name);
    return 0;
}

static const struct sbx_look_thread *thread(const char *name)
{
    for (size_t i = 0; i < look.thread_count; i++) {
        if (look.threads[i].tid == tid_of(name)) {
            return &look.threads[i];
        }
    }
    fail_msg("the look has no thread %s", name);
    return NULL;
}

/* Do all threads wait where they should? The thread that computes never waits. */
static bool has_settled(void)
{
    unsigned waiting = 0;
    for (size_t i = 0; i < look.thread_count; i++) {
        const struct sbx_look_thread *seen = &look.threads[i];
        if (strcmp(seen->status.name, "running") == 0) {
            continue;
        }
        if (!seen->position.is_asleep || seen->stack->condition != SBX_STACK_READ) {
            return false;
        }
        waiting += seen->waits_for != SBX_LOOK_NOBODY;
    }
    return look.thread_count == target.count && waiting == 5 && strcmp(thread("input")->wait.call, "read") == 0 &&
           strcmp(thread("producer")->wait.call, "poll") == 0;
}

static void take_settled_look(const char *program, const char *mode)
{
    start(program, mode);
    assert_int_equal(sbx_process_view_open(&view, target.pid, NULL, NULL, 0), 0);
    for (unsigned i = 0; i < PATIENCE_S * 20; i++) {
        assert_int_equal(sbx_process_look_take(&view, &look), 0);
        if (has_settled()) {
            return;
        }
        sbx_process_look_release(&look);
        usleep(50000);
    }
    fail_msg("the target's threads have not settled in %d s", PATIENCE_S);
}

static void end_look(void)
{
    sbx_process_look_release(&look);
    sbx_process_view_close(&view);
    stop();
}

/* Does the stack, innermost function first, contain these functions in this order, with nothing between those joined by
 * '<'? */
static void expect_stack(const struct sbx_look_thread *seen, const char *const *functions)
{
    char all[8192] = "";
    const char *wanted = *functions;
    for (size_t i = 0; i < seen->stack->count; i++) {
        const struct sbx_frame_name *names;
        size_t count = sbx_frame_names_find(view.names, &view.modules, &seen->stack->frames[i], &names);
        for (size_t n = 0; n < count; n++) {
            const char *name = names[n].function != NULL ? names[n].function : "?";
            size_t length = strlen(all);
            snprintf(all + length, sizeof all - length, " < %s", name);
            if (wanted != NULL && strcmp(name, wanted) == 0) {
                wanted = *++functions;
            }
        }
    }
    if (wanted != NULL || seen->stack->end != SBX_WALK_COMPLETE) {
        fail_msg("%s: %s is missing, end %d, in:%s", seen->status.name, wanted, (int)seen->stack->end, all);
    }
}
#define EXPECT_STACK(seen, ...) expect_stack(seen, (const char *const[]){__VA_ARGS__, NULL})

static void expect_held_by(const char *waiter, const char *holder)
{
    const struct sbx_look_thread *seen = thread(waiter);
    if (seen->waits_for == SBX_LOOK_NOBODY || look.threads[seen->waits_for].tid != tid_of(holder)) {
        fail_msg("%s: '%s', not held by %s but by thread %d", waiter, seen->wait.text, holder, (int)seen->wait.holder);
    }
}

static void check_all(const char *program)
{
    take_settled_look(program, NULL);
    EXPECT_STACK(thread("holder"), "poll_for_ever", "hold", "start_thread");
    EXPECT_STACK(thread("waiter"), "wait_inner", "wait_with_alloca", "wait_outer", "wait_for_mutex", "start_thread");
    EXPECT_STACK(thread("left"), "lock_other", "take_left_then_right", "start_thread");
    EXPECT_STACK(thread("reader"), "read_table", "start_thread");
    EXPECT_STACK(thread("main"), "main", "_start");
    expect_held_by("waiter", "holder");
    expect_held_by("left", "right");
    expect_held_by("right", "left");
    expect_held_by("reader", "holder");
    expect_held_by("main", "holder");
    assert_int_equal(look.circle_count, 1);
    assert_int_equal(thread("left")->circle, 1);
    assert_int_equal(thread("right")->circle, 1);
    assert_int_equal(thread("waiter")->circle, 0);
    assert_int_equal(thread("consumer")->wait.holder_pid, 0);
    assert_non_null(strstr(thread("input")->wait.text, "for input of a pipe"));
    assert_string_equal(thread("input")->wait.call, "read");
    end_look();
}

static void test_an_optimized_program_is_told_whole(void **state)
{
    (void)state;
    check_all(LOOK_TARGET_OPTIMIZED);
}

static void test_an_unoptimized_program_is_told_whole_though_its_frame_pointer_is_unknown(void **state)
{
    (void)state;
    check_all(LOOK_TARGET_PLAIN);
}

static void test_a_thread_that_runs_is_told_to_run_and_has_no_stack(void **state)
{
    (void)state;
    take_settled_look(LOOK_TARGET_OPTIMIZED, "run");
    const struct sbx_look_thread *running = thread("running");
    assert_false(running->position.is_asleep);
    assert_int_equal(running->stack->condition, SBX_STACK_RUNNING);
    assert_int_equal(running->stack->count, 0);
    end_look();
}

/* Traces of a tracer: state 'T' or 't', or a TracerPid. */
static void test_nothing_is_stopped(void **state)
{
    (void)state;
    char path[64], line[256];
    take_settled_look(LOOK_TARGET_OPTIMIZED, NULL);
    uint64_t runs = sbx_thread_runs(target.pid, tid_of("waiter"));
    for (unsigned i = 0; i < 20; i++) {
        sbx_process_look_release(&look);
        assert_int_equal(sbx_process_look_take(&view, &look), 0);
        assert_int_equal(thread("waiter")->status.state, 'S');
    }
    /* A thread that is stopped and continued counts as having run. */
    assert_int_equal(sbx_thread_runs(target.pid, tid_of("waiter")), runs);
    snprintf(path, sizeof path, "/proc/%d/status", (int)target.pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "TracerPid:", 10) == 0) {
            assert_int_equal(strtol(line + 10, NULL, 10), 0);
        }
    }
    fclose(file);
    end_look();
}

static void test_a_program_whose_file_was_deleted_keeps_its_names(void **state)
{
    (void)state;
    char copy[] = "/tmp/look-target.XXXXXX", command[512];
    int file = mkstemp(copy);
    assert_true(file >= 0);
    close(file);
    snprintf(command, sizeof command, "cp %s %s && chmod 700 %s", LOOK_TARGET_OPTIMIZED, copy, copy);
    assert_int_equal(system(command), 0);
    start(copy, NULL);
    unlink(copy);
    assert_int_equal(sbx_process_view_open(&view, target.pid, NULL, NULL, 0), 0);
    assert_int_equal(sbx_process_look_take(&view, &look), 0);
    struct sbx_process_module *program = &view.modules.modules[view.modules.map->ranges[0].module];
    for (size_t i = 0; i < view.modules.count; i++) {
        if (strstr(view.modules.modules[i].path, copy) != NULL) {
            program = &view.modules.modules[i];
        }
    }
    bool has_names = sbx_process_module_symbols(&view.modules, program) != NULL;
    end_look();
    if (geteuid() != 0) {
        skip(); /* only root may read /proc/PID/map_files */
    }
    assert_true(has_names);
}

static unsigned count_rows(const char *folder)
{
    unsigned count = 0;
    DIR *listing = opendir(folder);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        count += strstr(entry->d_name, ".rows") != NULL;
    }
    closedir(listing);
    return count;
}

static void await_name(pid_t pid, const char *wanted)
{
    char path[48], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    for (unsigned i = 0; i < PATIENCE_S * 100 && strcmp(name, wanted) != 0; i++) {
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            name[0] = '\0';
            (void)(fgets(name, sizeof name, file) != NULL);
            name[strcspn(name, "\n")] = '\0';
            fclose(file);
        }
        usleep(10000);
    }
}

/* The process's own memory names the build-id of its code. Another user's process must not decide how our own programs
 * are walked. */
static void test_loc_14_the_rows_of_another_user_s_process_are_not_kept(void **state)
{
    (void)state;
    static struct sbx_rows_cache cache;
    char folder[] = "/tmp/look-rows.XXXXXX", command[64];
    unsigned of_own, of_other;
    if (geteuid() != 0) {
        skip(); /* only root can start and look at another user's process */
    }
    assert_non_null(mkdtemp(folder));
    assert_int_equal(sbx_rows_cache_open(&cache, folder), 0);
    for (uid_t user = 65534;; user = 0) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (setresuid(user, user, user) != 0) {
                _exit(1);
            }
            execl("/bin/sleep", "sleep", "600", (char *)NULL);
            _exit(127);
        }
        await_name(pid, "sleep"); /* before that it is still this program and runs as this user */
        for (unsigned i = 0; i < PATIENCE_S * 20; i++) {
            assert_int_equal(sbx_process_view_open(&view, pid, &cache, NULL, 0), 0);
            assert_int_equal(sbx_process_look_take(&view, &look), 0);
            bool is_there = look.threads[0].position.is_asleep && look.threads[0].stack->end == SBX_WALK_COMPLETE &&
                            strcmp(look.name, "sleep") == 0;
            sbx_process_look_release(&look);
            sbx_process_view_close(&view);
            if (is_there) {
                break;
            }
            usleep(50000);
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        if (user == 0) {
            of_own = count_rows(folder);
            break;
        }
        of_other = count_rows(folder);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    assert_int_equal(of_other, 0);
    assert_true(of_own > 0);
}

static void test_a_process_that_is_not_there_is_refused(void **state)
{
    (void)state;
    assert_int_equal(sbx_process_view_open(&view, 0x7ffffffe, NULL, NULL, 0), -ESRCH);
}

static void test_a_process_that_ends_between_two_looks_is_refused_then(void **state)
{
    (void)state;
    take_settled_look(LOOK_TARGET_OPTIMIZED, NULL);
    sbx_process_look_release(&look);
    stop();
    assert_int_equal(sbx_process_look_take(&view, &look), -ESRCH);
    sbx_process_view_close(&view);
}

static void test_many_looks_count_where_threads_were_seen(void **state)
{
    (void)state;
    struct sbx_look_watch watch;
    take_settled_look(LOOK_TARGET_OPTIMIZED, NULL);
    sbx_look_watch_begin(&watch, target.pid);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(sbx_look_watch_add(&watch, &look, i), 0);
    }
    sbx_look_watch_sort(&watch);
    assert_int_equal(watch.looks, 5);
    assert_int_equal(watch.circle_looks, 5);
    assert_int_equal(watch.thread_count, look.thread_count);
    for (size_t i = 0; i < watch.thread_count; i++) {
        if (watch.threads[i].tid == tid_of("waiter")) {
            assert_int_equal(watch.threads[i].asleep_looks, 5);
            assert_int_equal(watch.threads[i].stack_count, 1);
            assert_int_equal(watch.threads[i].stacks[0].looks, 5);
        }
    }
    sbx_look_watch_release(&watch);
    end_look();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_optimized_program_is_told_whole),
        cmocka_unit_test(test_an_unoptimized_program_is_told_whole_though_its_frame_pointer_is_unknown),
        cmocka_unit_test(test_a_thread_that_runs_is_told_to_run_and_has_no_stack),
        cmocka_unit_test(test_nothing_is_stopped),
        cmocka_unit_test(test_a_program_whose_file_was_deleted_keeps_its_names),
        cmocka_unit_test(test_loc_14_the_rows_of_another_user_s_process_are_not_kept),
        cmocka_unit_test(test_a_process_that_is_not_there_is_refused),
        cmocka_unit_test(test_a_process_that_ends_between_two_looks_is_refused_then),
        cmocka_unit_test(test_many_looks_count_where_threads_were_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
