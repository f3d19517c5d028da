/* SPDX-License-Identifier: Apache-2.0 */
/* test_active_day.c - a machine-day is reported once, contains no more than it should, and is not sent where the user
 * said no. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "active_day.h"
#include "consent.h"
#include "http_server.h"
#include "spool_place.h"
#include "test_folder.h"

#define TAKEN   "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"
#define UNKNOWN "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
#define BUSY    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

static const uint32_t version[3] = {1, 2, 3}, no_version[3];
static struct sbx_http_server *server;

static void answer_with(const struct sbx_http_answer *answers, size_t count)
{
    server = sbx_http_server_start(0, answers, count);
}

static enum sbx_active_told tell(struct place *place, uint64_t app, const uint32_t told_version[3], uint64_t day)
{
    const struct sbx_active_place to = {.server_url = sbx_http_server_url(server), .token = "secret"};
    return sbx_active_day_tell(place->spool, &to, app, told_version, day, 5000);
}

static void test_a_day_is_told_once_for_each_application_and_version(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer taken = {.behaviour = SBX_HTTP_TEXT, .text = TAKEN};
    const struct sbx_http_answer answers[4] = {taken, taken, taken, taken};
    answer_with(answers, 4);
    assert_int_equal(tell(place, 0x0123456789, version, 20000), SBX_ACTIVE_TOLD);
    assert_int_equal(tell(place, 0x0123456789, version, 20000), SBX_ACTIVE_KNOWN);
    assert_int_equal(tell(place, 0x0123456789, no_version, 20000), SBX_ACTIVE_TOLD);
    assert_int_equal(tell(place, 0xab, version, 20000), SBX_ACTIVE_TOLD);
    assert_int_equal(tell(place, 0xab, version, 20000), SBX_ACTIVE_KNOWN);
    assert_int_equal(tell(place, 0x0123456789, version, 20001), SBX_ACTIVE_TOLD);
    assert_int_equal(sbx_http_server_request_count(server), 4);
    size_t bytes;
    char *text = (char *)sbx_test_read(sbx_test_path(place->path, SBX_ACTIVE_FILE), &bytes);
    const char *left = "20001 app=0123456789&version=1.2.3\n"; /* days that are over are not kept */
    assert_int_equal(bytes, strlen(left));
    assert_memory_equal(text, left, bytes);
    free(text);
    sbx_http_server_stop(server);
}

static void test_what_leaves_is_the_application_and_its_version(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer taken = {.behaviour = SBX_HTTP_TEXT, .text = TAKEN};
    answer_with(&taken, 1);
    assert_int_equal(tell(place, 0xabc, version, 20000), SBX_ACTIVE_TOLD);
    const struct sbx_http_request *request = sbx_http_server_request(server, 0);
    static const char body[] = "app=0000000abc&version=1.2.3";
    assert_ptr_equal(strstr(request->head, "POST /v1/active HTTP/1.1\r\n"), request->head);
    assert_int_equal(request->body_bytes, sizeof body - 1);
    assert_memory_equal(request->body, body, sizeof body - 1);
    assert_non_null(strstr(request->head, "Authorization: Bearer secret\r\n"));
    assert_null(strstr(request->head, "Cookie"));
    size_t bytes;
    char *log = (char *)sbx_test_read(sbx_test_path(place->path, "audit.log"), &bytes);
    log[bytes - 1] = '\0';
    assert_non_null(strstr(log, " active body=app=0000000abc&version=1.2.3 consent=not-asked to=http://127.0.0.1:"));
    free(log);
    sbx_http_server_stop(server);
}

static void test_a_no_a_full_log_and_another_process_keep_it_back(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer taken = {.behaviour = SBX_HTTP_TEXT, .text = TAKEN};
    answer_with(&taken, 1);
    assert_int_equal(sbx_consent_write(place->path, SBX_CONSENT_DENIED), 0);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_LATER);
    assert_int_equal(sbx_consent_write(place->path, SBX_CONSENT_GRANTED), 0);
    assert_int_equal(mkdir(sbx_test_path(place->path, "audit.log"), 0700), 0);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_LATER);
    assert_int_equal(rmdir(sbx_test_path(place->path, "audit.log")), 0);
    int file = open(sbx_test_path(place->path, SBX_ACTIVE_FILE), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(file, LOCK_EX), 0);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_LATER);
    close(file);
    assert_int_equal(tell(place, 0, version, 20000), SBX_ACTIVE_LATER); /* no application is named */
    assert_int_equal(sbx_http_server_connection_count(server), 0);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_TOLD);
    sbx_http_server_stop(server);
}

static void test_a_server_that_is_busy_is_asked_again_and_one_that_knows_no_days_is_not(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer answers[] = {{.behaviour = SBX_HTTP_TEXT, .text = BUSY},
                                              {.behaviour = SBX_HTTP_RESET},
                                              {.behaviour = SBX_HTTP_TEXT, .text = UNKNOWN}};
    answer_with(answers, 3);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_LATER);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_LATER);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_REFUSED);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_KNOWN);
    sbx_http_server_stop(server);
}

static void test_a_damaged_file_is_told_over_and_a_full_one_takes_no_more(void **state)
{
    struct place *place = *state;
    const struct sbx_http_answer taken = {.behaviour = SBX_HTTP_TEXT, .text = TAKEN};
    answer_with(&taken, 1);
    char text[8192];
    memset(text, 'x', sizeof text); /* longer than the file ever gets, without a line end */
    sbx_test_write(sbx_test_path(place->path, SBX_ACTIVE_FILE), text, sizeof text);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_TOLD);
    assert_int_equal(tell(place, 1, version, 20000), SBX_ACTIVE_KNOWN);
    size_t used = 0;
    for (unsigned app = 1; used < 4062; app++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "20000 app=%010x&version=1.2.3\n", app);
    }
    sbx_test_write(sbx_test_path(place->path, SBX_ACTIVE_FILE), text, used);
    assert_int_equal(tell(place, 0xfffff, version, 20000), SBX_ACTIVE_LATER);
    assert_int_equal(tell(place, 2, version, 20000), SBX_ACTIVE_KNOWN);
    assert_int_equal(sbx_http_server_request_count(server), 1);
    sbx_http_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_day_is_told_once_for_each_application_and_version, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(test_what_leaves_is_the_application_and_its_version, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_no_a_full_log_and_another_process_keep_it_back, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(test_a_server_that_is_busy_is_asked_again_and_one_that_knows_no_days_is_not,
                                        make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_damaged_file_is_told_over_and_a_full_one_takes_no_more, make_place,
                                        remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
