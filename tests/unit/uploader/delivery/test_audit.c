/* SPDX-License-Identifier: Apache-2.0 */
/* test_audit.c - the log of everything that leaves the machine, and what happens when it cannot be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit.h"
#include "deliver.h"
#include "http_server.h"
#include "pack.h"
#include "scene.h"
#include "spool_place.h"
#include "test_folder.h"

/* A payload that waits, made from a snapshot as the companion makes it. */
static void pack_one(struct place *place, uint8_t number)
{
    struct sbx_redaction redaction = sbx_scene_redaction(1);
    struct sbx_pack_counts counts;
    struct sbx_recording_builder *builder = sbx_scene_create();
    builder->header->snapshot_id[0] = number;
    sbx_recording_save(builder, sbx_test_path(place->path, "raw/one.raw"));
    sbx_recording_builder_destroy(builder);
    assert_int_equal(sbx_pack_raw_folder(place->spool, &redaction, NULL, NULL, &counts), 0);
    assert_int_equal(counts.packed, 1);
}

/* The n-th line of the log, without its end. */
static const char *line_of(const struct place *place, unsigned number)
{
    static char text[1 << 16];
    size_t bytes;
    uint8_t *content = sbx_test_read(sbx_test_path(place->path, "audit.log"), &bytes);
    assert_true(bytes < sizeof text);
    memcpy(text, content, bytes);
    text[bytes] = '\0';
    free(content);
    char *at = text;
    for (unsigned i = 0; i < number; i++) {
        at = strchr(at, '\n');
        if (at == NULL) {
            return "";
        }
        at++;
    }
    at[strcspn(at, "\n")] = '\0';
    return at;
}

static void assert_value(const char *line, const char *key, const char *value)
{
    char found[320];
    sbx_audit_value(line, key, found, sizeof found);
    assert_string_equal(found, value);
}

static void test_a_payload_that_leaves_has_its_three_lines(void **state)
{
    struct place *place = *state;
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    pack_one(place, 1);
    assert_true(sbx_deliverer_step(deliverer) == UINT64_MAX);
    const char *packed = strdup(line_of(place, 0)), *leaving = strdup(line_of(place, 1)),
               *answer = strdup(line_of(place, 2));
    assert_string_equal(line_of(place, 3), "");
    assert_int_equal(strlen(packed) > 20 && packed[10] == 'T' && packed[19] == 'Z', 1);
    assert_non_null(strstr(packed, "Z packed "));
    assert_value(packed, "id", "01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef");
    assert_value(packed, "trigger", "slow_message");
    assert_value(packed, "sealed_to", "none");
    assert_value(packed, "modules_hidden", "1");
    assert_value(packed, "detail", "1");
    assert_value(packed, "consent", "not-asked");
    assert_non_null(strstr(leaving, "Z leaving "));
    assert_value(leaving, "id", "01fdfcfbfaf9f8f7f6f5f4f3f2f1f0ef");
    assert_value(leaving, "to", sbx_http_server_url(server));
    assert_non_null(strstr(answer, "Z answer "));
    assert_value(answer, "answer", "stored");
    assert_value(answer, "http", "200");
    /* The logged digest is that of the bytes that the server received. */
    char command[400], expected[65] = "", digest[65];
    const struct sbx_http_request *request = sbx_http_server_request(server, 0);
    sbx_test_write(sbx_test_path(place->path, "arrived"), request->body, request->body_bytes);
    snprintf(command, sizeof command, "sha256sum %s", sbx_test_path(place->path, "arrived"));
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%64s", expected), 1);
    pclose(pipe);
    sbx_audit_value(leaving, "sha256", digest, sizeof digest);
    assert_string_equal(digest, expected);
    sbx_audit_value(packed, "sha256", digest, sizeof digest);
    assert_string_equal(digest, expected);
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%zu", request->body_bytes);
    assert_value(leaving, "bytes", bytes);
    for (int i = 0; sbx_scene_secrets[i] != NULL; i++) {
        assert_null(strstr(packed, sbx_scene_secrets[i]));
    }
    struct stat status;
    assert_int_equal(stat(sbx_test_path(place->path, "audit.log"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    free((void *)(uintptr_t)packed);
    free((void *)(uintptr_t)leaving);
    free((void *)(uintptr_t)answer);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_what_cannot_be_written_down_does_not_leave(void **state)
{
    struct place *place = *state;
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    pack_one(place, 1);
    assert_int_equal(unlink(sbx_test_path(place->path, "audit.log")), 0);
    assert_int_equal(mkdir(sbx_test_path(place->path, "audit.log"), 0700), 0);
    assert_true(sbx_deliverer_step(deliverer) > 0);
    assert_int_equal(sbx_http_server_request_count(server), 0);
    assert_non_null(strstr(sbx_deliverer_last_error(deliverer), "audit log"));
    assert_int_equal(sbx_test_count(place->path, ".sbx"), 1);
    /* A link is not followed, so nothing is appended to its target. */
    assert_int_equal(rmdir(sbx_test_path(place->path, "audit.log")), 0);
    sbx_test_write(sbx_test_path(place->path, "victim"), "x", 1);
    assert_int_equal(symlink("victim", sbx_test_path(place->path, "audit.log")), 0);
    assert_true(sbx_audit_answer(place->spool, (const uint8_t[16]){1}, "stored", 200, "") < 0);
    size_t bytes;
    free(sbx_test_read(sbx_test_path(place->path, "victim"), &bytes));
    assert_int_equal(bytes, 1);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

/* The disk fills up after the first line. The lines for waiting payloads can still be written, so these payloads can
 * leave. */
static void test_on_a_full_disk_there_is_room_for_the_lines_of_what_waits(void **state)
{
    struct place *place = *state;
    struct stat status;
    assert_int_equal(sbx_audit_answer(place->spool, (const uint8_t[16]){1}, "later", 503, ""), 0);
    assert_int_equal(stat(sbx_test_path(place->path, "audit.log"), &status), 0);
    assert_true(status.st_size < 200);
    if (status.st_blocks * 512 <= 4096) {
        skip(); /* the file system reserves no space */
    }
    assert_true(status.st_blocks * 512 >= 16384);
}

static void test_tries_with_the_same_answer_fill_no_log(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer no = {.behaviour = SBX_HTTP_TEXT,
                                       .text = "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"};
    const struct sbx_http_answer answers[] = {no, no, no};
    struct sbx_http_server *server = sbx_http_server_start(0, answers, 3);
    pack_one(place, 1);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(place->spool, sbx_http_server_url(server), NULL);
    for (uint64_t due_ms = 0; due_ms != UINT64_MAX; due_ms = sbx_deliverer_step(deliverer)) {
        usleep((useconds_t)(due_ms * 1000));
    }
    assert_int_equal(sbx_http_server_request_count(server), 4);
    assert_value(line_of(place, 2), "answer", "later");
    assert_value(line_of(place, 2), "http", "503");
    assert_value(line_of(place, 3), "answer", "stored");
    assert_string_equal(line_of(place, 4), "");
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
}

static void test_the_log_is_bounded_and_lines_of_many_writers_stay_whole(void **state)
{
    enum {
        WRITERS = 4,
        LINES = 2500
    };
    struct place *place = *state;
    char filler[201];
    memset(filler, 'w', 200);
    filler[200] = '\0';
    sbx_test_write(sbx_test_path(place->path, "audit.log"), "", 0);
    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            for (int k = 0; k < LINES; k++) {
                if (sbx_audit_answer(place->spool, (const uint8_t[16]){(uint8_t)i}, "later", 503, filler) != 0) {
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    static const char *const names[] = {"audit.log", "audit.log.1"};
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        char *text = (char *)sbx_test_read(sbx_test_path(place->path, names[i]), &bytes);
        assert_true(bytes <= SBX_AUDIT_BYTES_MAX);
        assert_true(bytes > 0 && text[bytes - 1] == '\n');
        for (size_t at = 0; at < bytes;) {
            size_t end = at;
            while (text[end] != '\n') {
                end++;
            }
            assert_memory_equal(text + end - 200, filler, 200);
            assert_int_equal(text[at + 19], 'Z');
            at = end + 1;
        }
        free(text);
    }
}

static void test_a_reason_cannot_forge_a_line(void **state)
{
    struct place *place = *state;
    assert_int_equal(
        sbx_audit_answer(place->spool, (const uint8_t[16]){1}, "later", 0, "x\n2026 answer id=00 answer=stored\033[2J"),
        0);
    assert_string_equal(line_of(place, 1), "");
    assert_value(line_of(place, 0), "answer", "later");
    assert_null(strchr(line_of(place, 0), '\033'));
    assert_value("T answer id=5 why=a b c", "why", "a b c");
    assert_value("T answer xid=5 id=6", "id", "6");
    assert_value("id", "id", "");
    assert_value("", "id", "");
}

int main(void)
{
#define AUDIT_TEST(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        AUDIT_TEST(test_a_payload_that_leaves_has_its_three_lines),
        AUDIT_TEST(test_what_cannot_be_written_down_does_not_leave),
        AUDIT_TEST(test_on_a_full_disk_there_is_room_for_the_lines_of_what_waits),
        AUDIT_TEST(test_tries_with_the_same_answer_fill_no_log),
        AUDIT_TEST(test_the_log_is_bounded_and_lines_of_many_writers_stay_whole),
        AUDIT_TEST(test_a_reason_cannot_forge_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
