/* SPDX-License-Identifier: Apache-2.0 */
/* test_show.c - what a person sees who is responsible for the data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "envelope.h"
#include "payload_fields.h"
#include "scene.h"
#include "show.h"
#include "test_folder.h"

static int make_folder(void **state)
{
    *state = sbx_test_folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    sbx_test_folder_remove(*state);
    return 0;
}

/* The path of the scene as an envelope or as a raw snapshot. */
static const char *scene_file(const char *folder, bool raw)
{
    struct sbx_recording_builder *builder = sbx_scene_create();
    const char *path = sbx_test_path(folder, raw ? "scene.raw" : "scene.sbx");
    if (raw) {
        sbx_recording_save(builder, path);
    } else {
        struct sbx_snapshot *snapshot = sbx_recording_read_back(builder);
        struct sbx_redaction redaction = sbx_scene_redaction(2);
        uint8_t *envelope;
        size_t bytes;
        assert_int_equal(sbx_encode(snapshot, &redaction, &envelope, &bytes, NULL, 0), 0);
        sbx_test_write(path, envelope, bytes);
        free(envelope);
        sbx_snapshot_destroy(snapshot);
    }
    sbx_recording_builder_destroy(builder);
    return path;
}

/* The printed text. Given: free. */
static char *show(const char *path, bool what_leaves, bool colour, int expected)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(sbx_show(out, path, NULL, what_leaves, colour), expected);
    fclose(out);
    return text;
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", words, text);
    }
}

static void test_the_tables_say_what_the_payload_says(void **state)
{
    char *text = show(scene_file(*state, false), false, false, 0);
    assert_says(text, "payload fefdfcfbfaf9f8f7f6f5f4f3f2f1f0ef\n");
    assert_says(text, "2023-11-14 (UTC day), process up for under an hour\n");
    assert_says(text, "slow_message: 2000.0 ms, limit 1000 ms, thread 0, message 2, over; history 3.00 s\n");
    assert_says(text, "  0  app     -                           ");
    assert_says(text, "  1  system  libc.so.6                   ");
    assert_says(text, "  2  other   -                           -\n");
    assert_says(text, "  0  main                  102  main loop");
    assert_says(
        text,
        "  1  bio_close_file          1              in pthread_mutex_lock (lock) for 50.0 ms, held by thread 0\n");
    assert_says(text, "  2  other                   1");
    assert_says(text, "alloc 100  blocked 1  lock 1  sleep 1  file 1");
    assert_says(text, "nested 3");
    assert_says(text, "1 modules folded into \"other\", 3 frames without offset, 1 thread names hidden, 2 objects made "
                      "ordinals, 1 records cut\n");
    assert_says(text, "privacy: passed, no strings, no addresses, no paths\n");
    assert_null(strchr(text, '\033'));
    free(text);
}

static void test_what_leaves_lists_every_field_and_adds_up(void **state)
{
    char *text = show(scene_file(*state, false), true, false, 0);
    unsigned long sum = 0, total = 0, fields = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char name[64];
        unsigned long bytes;
        double share;
        if (sscanf(line, "%63s %lu %lf%%", name, &bytes, &share) == 3) {
            if (strcmp(name, "total") == 0) {
                total = bytes;
                assert_true(share > 99.99);
            } else {
                sum += bytes;
                fields++;
            }
        }
        if (strstr(line, "privacy: ") == line) {
            assert_string_equal(line, "privacy: passed, no strings, no addresses, no paths");
        }
    }
    assert_int_equal(fields, sbx_payload_field_count);
    assert_true(total > 100);
    assert_int_equal(sum, total);
    free(text);
}

static void test_a_raw_snapshot_shows_what_would_leave(void **state)
{
    char *text = show(scene_file(*state, true), true, false, 0);
    assert_says(text, "a raw snapshot, which stays here");
    assert_says(text, "detail level 1: ");
    assert_says(text, "privacy: passed");
    for (size_t i = 0; i < 5; i++) {
        assert_null(strstr(text, sbx_scene_secrets[i])); /* not even here */
    }
    free(text);
}

static void test_a_payload_with_something_else_in_it_fails(void **state)
{
    size_t bytes, payload_bytes;
    uint8_t *envelope = sbx_test_read(scene_file(*state, false), &bytes), *payload;
    struct sbx_envelope header;
    assert_int_equal(sbx_envelope_read(envelope, bytes, &header, NULL, 0), 0);
    assert_int_equal(sbx_envelope_payload(&header, &payload, &payload_bytes, NULL, 0), 0);
    uint8_t *more = malloc(payload_bytes + 7);
    assert_non_null(more);
    memcpy(more, payload, payload_bytes);
    memcpy(more + payload_bytes,
           "\xa2\x06\x04"
           "anna",
           7);
    uint8_t *bad;
    assert_int_equal(sbx_envelope_write(header.id, more, payload_bytes + 7, &bad, &bytes), 0);
    const char *path = sbx_test_path(*state, "bad.sbx");
    sbx_test_write(path, bad, bytes);
    for (int what_leaves = 0; what_leaves < 2; what_leaves++) {
        char *text = show(path, what_leaves != 0, false, 1);
        assert_says(text, "privacy: FAILED: field payload.#100: is not in the list of what may leave\n");
        assert_says(text, "not accounted for                     7 bytes");
        assert_null(strstr(text, "anna"));
        free(text);
    }
    free(bad);
    /* An envelope whose id differs from that of its payload. */
    uint8_t other[16] = {9};
    assert_int_equal(sbx_envelope_write(other, payload, payload_bytes, &bad, &bytes), 0);
    sbx_test_write(path, bad, bytes);
    char *text = show(path, false, false, 1);
    assert_says(text, "privacy: FAILED: field payload.payload_id: differs");
    free(text);
    free(bad);
    free(more);
    free(payload);
    free(envelope);
}

static void test_files_that_are_none_are_refused(void **state)
{
    const char *path = sbx_test_path(*state, "file");
    const char *const contents[] = {"", "hello", "SBX1", "SBXREC\r\n and no more"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        sbx_test_write(path, contents[i], strlen(contents[i]));
        char *text = show(path, true, false, 1);
        assert_string_equal(text, "");
        free(text);
    }
    free(show(sbx_test_path(*state, "nothing"), false, false, 1));
    free(show(*state, false, false, 1));
}

static void test_colour_is_only_there_when_asked_for(void **state)
{
    const char *path = scene_file(*state, false);
    char *text = show(path, true, true, 0);
    assert_says(text, "\033[32mprivacy: passed");
    free(text);
    text = show(path, true, false, 0);
    assert_null(strchr(text, '\033'));
    free(text);
}

int main(void)
{
#define SHOW_TEST(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        SHOW_TEST(test_the_tables_say_what_the_payload_says),
        SHOW_TEST(test_what_leaves_lists_every_field_and_adds_up),
        SHOW_TEST(test_a_raw_snapshot_shows_what_would_leave),
        SHOW_TEST(test_a_payload_with_something_else_in_it_fails),
        SHOW_TEST(test_files_that_are_none_are_refused),
        SHOW_TEST(test_colour_is_only_there_when_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
