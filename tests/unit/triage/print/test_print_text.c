/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_text.c - what the person on call sees; and no name reaches the terminal as a control sequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "print_text.h"
#include "stall_scene.h"

#define MS(ms) ((int64_t)(ms)*1000)

static char *text;
static size_t text_bytes;

static void print(struct sbx_stall_scene *scene, bool colour)
{
    FILE *out = open_memstream(&text, &text_bytes);
    assert_int_equal(sbx_print_text(sbx_scene_report(scene), out, colour), 0);
    fclose(out);
}

static void print_screen(struct sbx_stall_scene *scene)
{
    FILE *out = open_memstream(&text, &text_bytes);
    assert_int_equal(sbx_print_first_screen(sbx_scene_report(scene), out, false), 0);
    fclose(out);
}

static void assert_fits_a_screen(void)
{
    size_t lines = 0;
    for (const char *line = text; *line != '\0'; lines++) {
        size_t bytes = strcspn(line, "\n");
        if (bytes > 100) {
            fail_msg("%zu columns: %.*s", bytes, (int)bytes, line);
        }
        line += bytes + (line[bytes] == '\n');
    }
    if (lines > 24) {
        fail_msg("%zu lines:\n%s", lines, text);
    }
}

static void assert_contains(const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("no \"%s\" in:\n%s", part, text);
    }
}

static int free_text(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    return 0;
}

static void test_answer_comes_first_then_why_where_and_history(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "parse < handle < main", MS(-1000), MS(-800), MS(10), 1000);
    sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_SLEEP,
                                                      .op = SBX_OP_NANOSLEEP,
                                                      .message = 1,
                                                      .begin_us = MS(-800),
                                                      .end_us = MS(-10),
                                                      .cpu_us = 200000,
                                                      .stack = sbx_scene_stack(scene, "nap < handle < main")});
    sbx_scene_record(scene, (struct sbx_build_record){.thread = 1,
                                                      .kind = SBX_RECORD_BLOCKED,
                                                      .op = SBX_OP_COND_WAIT,
                                                      .flags = SBX_FLAG_AT_TRIGGER,
                                                      .stack = sbx_scene_stack(scene, "libc:pthread_cond_wait < run")});
    sbx_scene_payload(scene)->drops[SBX_DROP_TORN_CHUNK] = 2;
    print(scene, false);
    assert_int_equal(strncmp(text, "main thread slept 790 ms in nap (nanosleep)\n", 44), 0);
    const char *at = text;
    static const char *const order[] = {"application",
                                        "cause",
                                        "Why",
                                        "Where the time went",
                                        "Stacks at the trigger",
                                        "main thread\n",
                                        "thread 1 (worker)",
                                        "Before the trigger",
                                        "19 samples, every 10.0 ms",
                                        "parse < handle < main",
                                        "nanosleep, 790 ms",
                                        "torn_chunk",
                                        "More:"};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        at = strstr(at, order[i]);
        if (at == NULL) {
            fail_msg("no \"%s\" in its place in:\n%s", order[i], text);
        }
    }
    assert_null(strchr(text, '\33'));
    sbx_scene_destroy(scene);
}

static void test_lines_fit_the_page(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC,
                      "a_function_with_a_rather_long_name < another_function_with_a_long_name < main", MS(-1000), 0,
                      MS(10), 1000);
    print(scene, false);
    for (const char *line = text; *line != '\0';) {
        size_t bytes = strcspn(line, "\n");
        if (bytes > 140) { /* names are not broken into lines */
            fail_msg("%zu columns: %.*s", bytes, (int)bytes, line);
        }
        line += bytes + (line[bytes] == '\n');
    }
    sbx_scene_destroy(scene);
}

static void test_colour_only_when_asked_and_closed(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_ANR, 1000000);
    print(scene, true);
    assert_contains("\33[1;31m");
    size_t opened = 0, closed = 0;
    for (const char *at = text; (at = strchr(at, '\33')) != NULL; at++) {
        closed += strncmp(at, "\33[0m", 4) == 0;
        opened += strncmp(at, "\33[0m", 4) != 0;
    }
    assert_true(opened > 0 && closed >= 1);
    sbx_scene_destroy(scene);
}

static void test_names_cannot_speak_to_the_terminal(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC,
                      "evil\33]0;owned\7 < evil2\xc2\x9b"
                      "31m < evil3\r < main",
                      MS(-1000), 0, MS(10), 1000);
    print(scene, false);
    for (size_t i = 0; i < text_bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        assert_true(c >= 0x20 || c == '\n');
        assert_false(c == 0xc2 && (unsigned char)text[i + 1] < 0xa0);
    }
    assert_contains("evil?]0;owned?");
    assert_contains("evil2?31m");
    sbx_scene_destroy(scene);
}

static void test_threads_with_one_stack_are_shown_once(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(30, SBX_TRIGGER_ANR, 1000000);
    for (uint32_t thread = 1; thread < 30; thread++) {
        sbx_scene_record(scene, (struct sbx_build_record){.thread = thread,
                                                          .kind = SBX_RECORD_BLOCKED,
                                                          .op = SBX_OP_COND_WAIT,
                                                          .stack = sbx_scene_stack(scene, "libc:wait < idle_worker")});
    }
    print(scene, false);
    assert_contains("thread 1 (worker) and 28 more with the same stack");
    const char *first = strstr(text, "idle_worker");
    assert_non_null(first);
    assert_null(strstr(first + 1, "idle_worker"));
    sbx_scene_destroy(scene);
}

static void test_deep_recursion_shows_both_ends(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    char stack[2048] = "leaf";
    for (int i = 0; i < 150; i++) {
        strcat(stack, " < recurse");
    }
    strcat(stack, " < outermost");
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, stack, MS(-1000), 0, MS(10), 1000);
    print(scene, false);
    assert_contains("   0  leaf");
    assert_contains("... 104 more ...");
    assert_contains(" 151  outermost");
    sbx_scene_destroy(scene);
}

static size_t count_lines_of(const char *from, const char *to)
{
    size_t lines = 0;
    for (const char *at = strstr(text, from); at != NULL && at < strstr(text, to); at++) {
        lines += *at == '\n';
    }
    return lines;
}

/* Symptom: a loop of two seconds printed two hundred pairs of lines. */
static void test_steps_that_take_turns_are_one_fold(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 2000000);
    for (int64_t at = -2000; at < 0; at += 20) {
        sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "parse < handle < main", MS(at), MS(at + 10), MS(10), 1000);
        sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "print < handle < main", MS(at + 10), MS(at + 20), MS(10), 1000);
    }
    print(scene, false);
    assert_contains(" steps of 2 kinds, in turn:\n    - 100 samples, 100 times");
    assert_true(count_lines_of("Before the trigger", "More:") < 10);
    sbx_scene_destroy(scene);
}

static void test_a_step_repeated_a_thousand_times_is_one_line_with_its_time(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 2000000);
    uint32_t stack = sbx_scene_stack(scene, "nap < handle < main");
    for (int i = 0; i < 1000; i++) {
        sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_SLEEP,
                                                          .op = SBX_OP_NANOSLEEP,
                                                          .message = 1 + (uint64_t)i, /* not neighbours from one call */
                                                          .begin_us = -2000000 + i * 2000,
                                                          .end_us = -2000000 + i * 2000 + 1900,
                                                          .stack = stack});
    }
    print(scene, false);
    assert_contains("nanosleep, 1000 times, 1.90 s in all");
    assert_true(count_lines_of("Before the trigger", "More:") < 10);
    sbx_scene_destroy(scene);
}

/* The single long wait among them must stay visible. */
static void test_what_came_once_stands_outside_of_a_fold(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 2000000);
    for (int64_t at = -2000; at < 0; at += 20) {
        if (at == -1000) {
            sbx_scene_record(scene, (struct sbx_build_record){.kind = SBX_RECORD_SYNC,
                                                              .op = SBX_OP_FSYNC,
                                                              .begin_us = MS(at),
                                                              .end_us = MS(at + 500),
                                                              .stack = sbx_scene_stack(scene, "save < main")});
            at += 500;
        }
        sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "parse < handle < main", MS(at), MS(at + 10), MS(10), 1000);
        sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "print < handle < main", MS(at + 10), MS(at + 20), MS(10), 1000);
    }
    print(scene, false);
    assert_contains(" steps of 2 kinds, in turn:\n");
    assert_contains("  fsync, 500 ms");
    sbx_scene_destroy(scene);
}

static void test_first_screen_holds_verdict_evidence_time_and_stack(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    char stack[2048] =
        "a_function_with_a_long_name_of_some_hundred_columns_that_goes_on_and_on_and_on_without_any_end_x";
    for (int i = 0; i < 30; i++) {
        strcat(stack, " < ns::Thing<std::pair<int, int> >::recurse(int)");
    }
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, stack, MS(-1000), 0, MS(10), 900);
    print_screen(scene);
    assert_fits_a_screen();
    assert_int_equal(strncmp(text, "main thread computed ", 21), 0);
    assert_contains("confidence");
    assert_contains("\n  samples ");
    assert_contains("\n  time         on CPU ");
    assert_contains("\n     0  a_function");
    assert_contains(" more\n");
    assert_contains("More: --all");
    assert_null(strstr(text, "Before the trigger"));
    sbx_scene_destroy(scene);
}

static void test_first_screen_has_the_blamed_function_however_far_out_it_is(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    char stack[1024] = "clock_read";
    for (int i = 0; i < 30; i++) {
        strcat(stack, " < now_ms");
    }
    strcat(stack, " < spin < handle < main");
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, stack, MS(-1000), 0, MS(10), 900);
    print_screen(scene);
    assert_fits_a_screen();
    assert_contains(" in spin");
    assert_contains("\n     1  now_ms");
    assert_contains("\n        ... 29 more\n    31  spin ");
    assert_contains("\n    32  handle ");
    sbx_scene_destroy(scene);
}

static void test_first_screen_tells_who_held_the_lock(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(2, SBX_TRIGGER_ANR, 1000000);
    sbx_scene_samples(scene, 1, SBX_RECORD_ASYNC, "encode < run", MS(-990), MS(-10), MS(10), 1000);
    sbx_scene_call(scene, 0, (struct sbx_build_call){SBX_RECORD_LOCK, SBX_OP_MUTEX_LOCK, 2, 1, 950000});
    print_screen(scene);
    assert_fits_a_screen();
    assert_contains("\n  holder       thread 1 (worker) held it");
    sbx_scene_destroy(scene);
}

static void test_a_stripped_program_is_told_once_how_to_get_names(void **state)
{
    (void)state;
    struct sbx_stall_scene *scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "? < ? < main", MS(-1000), 0, MS(10), 1000);
    print(scene, false);
    assert_contains("\n  names        2 of 3 are missing: a -dbgsym package, debuginfod-find or --symbols DIR");
    assert_null(strstr(strstr(text, "-dbgsym") + 1, "-dbgsym"));
    free(text);
    print_screen(scene);
    assert_contains("-dbgsym");
    assert_fits_a_screen();
    sbx_scene_destroy(scene);
    scene = sbx_scene_create(1, SBX_TRIGGER_SLOW_MESSAGE, 1000000);
    sbx_scene_samples(scene, 0, SBX_RECORD_ASYNC, "work < main", MS(-1000), 0, MS(10), 1000);
    free(text);
    print(scene, false);
    assert_null(strstr(text, "-dbgsym"));
    sbx_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_answer_comes_first_then_why_where_and_history, free_text),
        cmocka_unit_test_teardown(test_lines_fit_the_page, free_text),
        cmocka_unit_test_teardown(test_colour_only_when_asked_and_closed, free_text),
        cmocka_unit_test_teardown(test_names_cannot_speak_to_the_terminal, free_text),
        cmocka_unit_test_teardown(test_threads_with_one_stack_are_shown_once, free_text),
        cmocka_unit_test_teardown(test_steps_that_take_turns_are_one_fold, free_text),
        cmocka_unit_test_teardown(test_a_step_repeated_a_thousand_times_is_one_line_with_its_time, free_text),
        cmocka_unit_test_teardown(test_what_came_once_stands_outside_of_a_fold, free_text),
        cmocka_unit_test_teardown(test_first_screen_holds_verdict_evidence_time_and_stack, free_text),
        cmocka_unit_test_teardown(test_first_screen_has_the_blamed_function_however_far_out_it_is, free_text),
        cmocka_unit_test_teardown(test_first_screen_tells_who_held_the_lock, free_text),
        cmocka_unit_test_teardown(test_a_stripped_program_is_told_once_how_to_get_names, free_text),
        cmocka_unit_test_teardown(test_deep_recursion_shows_both_ends, free_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
