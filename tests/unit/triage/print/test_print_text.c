/* SPDX-License-Identifier: Apache-2.0 */
/* test_print_text.c - what the person on call sees, and that no name reaches the terminal as a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
        if (bytes > 140) { /* names are not broken */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_answer_comes_first_then_why_where_and_history, free_text),
        cmocka_unit_test_teardown(test_lines_fit_the_page, free_text),
        cmocka_unit_test_teardown(test_colour_only_when_asked_and_closed, free_text),
        cmocka_unit_test_teardown(test_names_cannot_speak_to_the_terminal, free_text),
        cmocka_unit_test_teardown(test_threads_with_one_stack_are_shown_once, free_text),
        cmocka_unit_test_teardown(test_deep_recursion_shows_both_ends, free_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
