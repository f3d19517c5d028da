/* SPDX-License-Identifier: Apache-2.0 */
/* test_changing_process.c - a process loads a library, or calls exec, between two looks of one view. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_look.h"

static struct {
    pid_t pid;
    int in, out;
} target;
static struct sbx_process_view view;

/* Returns when the program is about to wait. */
static void wait_until_ready(void)
{
    char line[7] = "";
    for (size_t got = 0; got < 6; got++) {
        assert_int_equal(read(target.out, line + got, 1), 1);
    }
    assert_string_equal(line, "ready\n");
}

static void start(const char *how)
{
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    target.pid = fork();
    if (target.pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(LOOK_CHANGING, LOOK_CHANGING, how, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    target.in = in[1];
    target.out = out[0];
    wait_until_ready();
    assert_int_equal(sbx_process_view_open(&view, target.pid, NULL, NULL, 0), 0);
}

static void change(void)
{
    assert_int_equal(write(target.in, "c", 1), 1);
    wait_until_ready();
}

static void stop(void)
{
    sbx_process_view_close(&view);
    kill(target.pid, SIGKILL);
    waitpid(target.pid, NULL, 0);
    close(target.in);
    close(target.out);
}

static bool is_on_stack(const struct sbx_thread_stack *stack, const char *function)
{
    for (size_t i = 0; i < stack->count; i++) {
        const struct sbx_frame_name *names;
        size_t count = sbx_frame_names_find(view.names, &view.modules, &stack->frames[i], &names);
        for (size_t n = 0; n < count; n++) {
            if (names[n].function != NULL && strcmp(names[n].function, function) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Look until the main thread is asleep in `function` and its stack is complete. Returns whether one of the looks
 * reported that the view began again. */
static bool look_until_in(const char *function)
{
    bool has_begun_anew = false;
    for (int i = 0; i < 1000; i++) {
        struct sbx_process_look look;
        assert_int_equal(sbx_process_look_take(&view, &look), 0);
        const struct sbx_thread_stack *stack = look.threads[0].stack;
        bool is_there = look.threads[0].position.is_asleep && stack->condition == SBX_STACK_READ &&
                        stack->end == SBX_WALK_COMPLETE && is_on_stack(stack, function) && is_on_stack(stack, "main");
        has_begun_anew |= look.has_begun_anew;
        sbx_process_look_release(&look);
        if (is_there) {
            return has_begun_anew;
        }
        usleep(10000);
    }
    fail_msg("it was never seen in %s", function);
    return false;
}

static void test_a_library_that_was_loaded_since_is_known_and_what_was_known_stays(void **state)
{
    (void)state;
    start(LOOK_LIBRARY);
    assert_false(look_until_in("before_change"));
    size_t modules = view.modules.count;
    struct sbx_frame_name before = {.function = NULL};
    struct sbx_process_look look;
    assert_int_equal(sbx_process_look_take(&view, &look), 0);
    struct sbx_stack_frame frame = look.threads[0].stack->frames[1];
    const struct sbx_frame_name *names;
    if (sbx_frame_names_find(view.names, &view.modules, &frame, &names) > 0) {
        before = names[0];
    }
    sbx_process_look_release(&look);
    change();
    assert_false(look_until_in("wait_in_library"));
    assert_true(view.modules.count > modules);
    assert_true(sbx_frame_names_find(view.names, &view.modules, &frame, &names) > 0);
    assert_ptr_equal(names[0].function, before.function); /* the same name object: its index is still valid */
    stop();
}

static void test_an_exec_is_noticed_and_the_new_program_is_told_whole(void **state)
{
    (void)state;
    start("exec");
    assert_false(look_until_in("before_change"));
    change();
    assert_true(look_until_in("after_change"));
    assert_false(look_until_in("after_change"));
    stop();
}

static void test_without_a_change_the_maps_are_read_once(void **state)
{
    (void)state;
    start("exec");
    (void)look_until_in("before_change");
    uint32_t generation = view.modules.map->generation;
    (void)look_until_in("before_change");
    (void)look_until_in("before_change");
    assert_int_equal(view.modules.map->generation, generation);
    stop();
}

static void test_the_text_of_a_process_is_read_around_any_name(void **state)
{
    (void)state;
    struct sbx_process_image image;
    assert_true(sbx_process_image_parse(
        "1 (a) b) (c) S 1 1 1 0 -1 4194560 9 9 9 9 9 9 9 9 20 0 1 0 777 4096 5 18 1000 2000 3000 0", &image));
    assert_int_equal(image.start_ticks, 777);
    assert_int_equal(image.code_begin, 1000);
    assert_int_equal(image.stack_begin, 3000);
    assert_false(sbx_process_image_parse("1 (a) S 1 1", &image));
    assert_false(sbx_process_image_parse("", &image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_library_that_was_loaded_since_is_known_and_what_was_known_stays),
        cmocka_unit_test(test_an_exec_is_noticed_and_the_new_program_is_told_whole),
        cmocka_unit_test(test_without_a_change_the_maps_are_read_once),
        cmocka_unit_test(test_the_text_of_a_process_is_read_around_any_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
