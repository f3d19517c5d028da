/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_door.c - PUT /v1/symbols over real sockets: what is accepted, what is refused, and the effect on other
 * requests. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "provider_map.h"
#include "sample_stall.h"
#include "snapshot_id.h"
#include "started_server.h"

static char *read_path(const char *path, size_t *bytes_out)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    char *bytes = malloc((size_t)status.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)status.st_size), status.st_size);
    bytes[status.st_size] = '\0';
    close(fd);
    *bytes_out = (size_t)status.st_size;
    return bytes;
}

static struct answer put_bytes(const char *path, const void *bytes, size_t count, const char *header)
{
    return ask(fixture.port, &(struct question){.method = "PUT",
                                                .path = path,
                                                .body = bytes,
                                                .body_bytes = count,
                                                .header = header ? header : "Content-Type: application/octet-stream",
                                                .other_header = "Accept: application/json"});
}

static struct answer put_path(const char *path)
{
    size_t count;
    char *bytes = read_path(path, &count);
    struct answer answer = put_bytes("/v1/symbols", bytes, count, NULL);
    free(bytes);
    return answer;
}

/* Expect this status, and this text in the answer. */
static void expect(struct answer answer, long status, const char *text)
{
    if (answer.status != status || !answer_has(&answer, text))
        fail_msg("%ld, not %ld with \"%s\": %.600s", answer.status, status, text,
                 answer.body.data ? answer.body.data : "");
    answer_finish(&answer);
}

static void expect_put(const char *path, long status, const char *text)
{
    expect(put_path(path), status, text);
}

/* Make a file from the sample in the data folder with a shell command, in which $1 is the sample and $2 the file. */
static const char *made(const char *name, const char *command)
{
    static char path[160];
    char whole[600];
    snprintf(path, sizeof(path), "%s/%s", fixture.data_dir, name);
    snprintf(whole, sizeof(whole), "set -- %s %s; %s", SAMPLE_FULL, path, command);
    assert_int_equal(system(whole), 0);
    return path;
}

static int is_missing(const char *build_id)
{
    struct answer answer = get(fixture.port, "/v1/symbols/missing");
    assert_int_equal(answer.status, 200);
    int is_there = answer_has(&answer, build_id);
    answer_finish(&answer);
    return is_there;
}

/* The number of stored symbol files. */
static int stored(void)
{
    struct answer answer = get(fixture.port, "/v1/symbols");
    int count = 0;
    assert_int_equal(answer.status, 200);
    for (const char *at = answer.body.data; (at = strstr(at, "\"build_id\"")) != NULL; at++)
        count++;
    answer_finish(&answer);
    return count;
}

/* Open a connection on which an upload of that many bytes has begun. */
static int begin_upload(size_t length)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(fixture.port)};
    char request[200];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(connection, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(request, sizeof(request),
             "PUT /v1/symbols HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n\x7f"
             "ELF",
             length);
    assert_int_equal(write(connection, request, strlen(request)), (ssize_t)strlen(request));
    return connection;
}

/* ---- what is taken ---- */

static void test_a_better_file_replaces_and_a_worse_one_does_not(void **state)
{
    (void)state;
    const char *symbols_only = made("symbols.so", "objcopy --strip-debug $1 $2");
    expect_put(symbols_only, 201, "\"result\":\"added\"");
    expect_put(symbols_only, 200, "\"result\":\"same\"");
    expect_put(SAMPLE_FULL, 200, "\"result\":\"replaced\"");
    expect_put(made("symbols.so", "objcopy --strip-debug $1 $2"), 200, "\"result\":\"kept\"");
    expect_put(SAMPLE_DEBUG, 200, "\"source\":\"dwarf\"");
    assert_int_equal(stored(), 1);
    struct answer answer = get(fixture.port, "/metrics");
    assert_true(answer_has(&answer, "stallbox_symbol_uploads_total{result=\"replaced\"} 1"));
    answer_finish(&answer);
}

static void test_a_compressed_file_is_taken_with_the_name_it_is_given(void **state)
{
    (void)state;
    size_t count;
    char *bytes = read_path(SAMPLE_FULL, &count), path[200];
    size_t room = ZSTD_compressBound(count);
    char *packed = malloc(room);
    size_t packed_bytes = ZSTD_compress(packed, room, bytes, count, 3);
    snprintf(path, sizeof(path), "/v1/symbols?build-id=%s&name=libsample.so.1%%2B2", sample_build_id());
    expect(put_bytes(path, packed, packed_bytes, "Content-Encoding: zstd"), 201, "\"name\":\"libsample.so.1+2\"");
    expect(put_bytes(path, packed, packed_bytes - 9, "Content-Encoding: zstd"), 400, "damaged");
    expect(put_bytes(path, bytes, count, "Content-Encoding: zstd"), 400, "damaged");
    expect(put_bytes(path, bytes, count, "Content-Encoding: gzip"), 415, "zstd");
    free(packed);
    free(bytes);
}

/* A line of text for the log of a build pipeline. */
static void test_who_wants_text_gets_a_line(void **state)
{
    (void)state;
    size_t count;
    char *bytes = read_path(SAMPLE_FULL, &count), wanted[200];
    struct answer answer = ask(fixture.port, &(struct question){.method = "PUT",
                                                                .path = "/v1/symbols?name=sample",
                                                                .body = bytes,
                                                                .body_bytes = count,
                                                                .is_chunked = 1,
                                                                .header = "Accept: text/plain"});
    snprintf(wanted, sizeof(wanted), "added %s sample: dwarf, ", sample_build_id());
    assert_int_equal(answer.status, 201);
    assert_memory_equal(answer.body.data, wanted, strlen(wanted));
    assert_ptr_equal(strchr(answer.body.data, '\n'), answer.body.data + answer.body.used - 1);
    answer_finish(&answer);
    free(bytes);
}

/* ---- what stalls have of it ---- */

static void test_a_stall_is_named_when_its_symbols_come(void **state)
{
    (void)state;
    struct envelope envelope = sample_stall(1), other = sample_stall(2);
    post_stored(fixture.port, &envelope);
    post_stored(fixture.port, &other);
    assert_true(wait_for_triage(fixture.port, envelope.id) && wait_for_triage(fixture.port, other.id));
    assert_true(is_missing(sample_build_id()));
    struct answer answer = get_of(fixture.port, "/v1/snapshots/", envelope.id, "");
    char old_issue[33];
    snprintf(old_issue, sizeof(old_issue), "%.32s", strstr(answer.body.data, "\"issue\":\"") + 9);
    answer_finish(&answer);

    expect_put(SAMPLE_DEBUG, 201, "\"stalls\":2");
    expect_metric("stallbox_triaged_anew_total", 2);
    assert_false(is_missing(sample_build_id()));
    expect(get_of(fixture.port, "/v1/snapshots/", other.id, ".json"), 200, "\"function\":\"sample_middle\"");
    expect(get_of(fixture.port, "/v1/snapshots/", envelope.id, ""), 200, old_issue); /* "was_in" */
    expect(get_of(fixture.port, "/stalls/", envelope.id, ""), 200, "until symbols came");
    answer = get_of(fixture.port, "/issues/", old_issue, "");
    assert_int_equal(answer.status, 302);
    assert_non_null(strstr(answer.headers.data, "Location: /issues/"));
    answer_finish(&answer);
    answer = get_of(fixture.port, "/v1/issues/", old_issue, "");
    assert_int_equal(answer.status, 302);
    assert_non_null(strstr(answer.headers.data, "Location: /v1/issues/"));
    answer_finish(&answer);
    assert_int_equal(status_of(fixture.port, "/issues/", "00112233445566778899aabbccddeeff", ""), 404);
    envelope_finish(&envelope);
    envelope_finish(&other);
}

/* A stall in a function of a runtime called "toy". */
static struct envelope toy_stall(uint64_t seed)
{
    struct sbx_payload_builder *builder = sbx_payload_builder_create(seed);
    uint64_t number = sbx_provider_number("toy");
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (56 - 8 * i));
    int32_t module = sbx_builder_module(builder, 6, bytes, sizeof(bytes), NULL);
    const struct sbx_build_frame frames[] = {{module, 1 << 20 | 3, false}, /* its first function, at line 3 */
                                             {SBX_BUILD_END, SBX_WALK_COMPLETE, false}};
    sbx_builder_sleep(builder, frames, 2);
    static uint8_t id[] = {0xd1, 0x45, 0x0b, 0xc5, 0xfa, 0x9a, 0xf7, 0xe6};
    ProtobufCBinaryData column = {sizeof(id), id};
    Stallbox__V1__Functions functions = STALLBOX__V1__FUNCTIONS__INIT;
    functions.n_function_id = 1;
    functions.function_id = &column;
    struct envelope envelope;
    sbx_builder_columns(builder)->functions = &functions;
    sbx_builder_envelope(builder, &envelope.bytes, &envelope.count);
    sbx_builder_columns(builder)->functions = NULL; /* this test's own columns */
    sbx_payload_builder_destroy(builder);
    sbx_id_print(envelope.bytes + 16, envelope.id);
    return envelope;
}

static void test_names_of_a_runtime_reach_a_running_server(void **state)
{
    (void)state;
    static const char map[] = "stallbox-provider-map 1\ttoy\n"
                              "d1450bc5fa9af7e6\t3\ttoy.script\tspin_the_wheel\n";
    static const char more[] = "stallbox-provider-map 1\ttoy\n"
                               "d1450bc5fa9af7e6\t3\ttoy.script\tsomething_else\n"
                               "1111111111111111\t4\ttoy.script\tturn\n";
    struct envelope envelope = toy_stall(5);
    post_stored(fixture.port, &envelope);
    assert_true(wait_for_triage(fixture.port, envelope.id));
    expect(get(fixture.port, "/symbols"), 200, "provider-NAME.map");
    expect(put_bytes("/v1/symbols", map, strlen(map), NULL), 201, "\"stalls\":1");
    expect_metric("stallbox_triaged_anew_total", 1);
    expect(get_of(fixture.port, "/v1/snapshots/", envelope.id, ".json"), 200, "\"function\":\"spin_the_wheel\"");
    expect(put_bytes("/v1/symbols", map, strlen(map), NULL), 200, "\"result\":\"same\"");
    /* Existing names stay: no later upload can change the words in stacks. */
    expect(put_bytes("/v1/symbols", more, strlen(more), NULL), 201, "\"functions\":1,\"different\":1");
    fixture_stop(&fixture);
    fixture_start(&fixture);
    struct envelope later = toy_stall(6);
    post_stored(fixture.port, &later);
    assert_true(wait_for_triage(fixture.port, later.id));
    expect(get_of(fixture.port, "/v1/snapshots/", later.id, ".json"), 200, "\"function\":\"spin_the_wheel\"");
    envelope_finish(&envelope);
    envelope_finish(&later);
}

/* ---- what is refused ---- */

static void test_sym_01_claims_that_are_paths_or_no_build_ids_are_refused(void **state)
{
    (void)state;
    static const char *const claims[] = {
        "build-id=../../x",
        "build-id=..%2f..%2fx",
        "build-id=",
        "build-id=ab",
        "build-id=0011223344556677889900112233445566778899001122334455667788990011223344556677889900112233445566778899"
        "001122334455667788990011223344",
        "build-id=AABBCCDDEEFF00112233",
        "build-id=aabbccdd%00eeff",
        "build-id=0123456789012345678901234567890123456789%0a",
        "name=/etc/passwd",
        "name=a/../../b",
        "name=C:%5Cx",
        "name=..",
        "name=",
        "name=a%00b",
        "name=%1b%5b2J",
        "name=%3Cscript%3E",
        "name=a&name=b",
        "tenant=somebody",
    };
    char path[300];
    size_t count;
    char *bytes = read_path(SAMPLE_FULL, &count);
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        snprintf(path, sizeof(path), "/v1/symbols?%s", claims[i]);
        expect(put_bytes(path, bytes, count, NULL), 400, "\"result\":\"refused\"");
    }
    assert_int_equal(stored(), 0);
    /* A name in a map is also a file name. */
    static const char *const maps[] = {"stallbox-provider-map 1\t../../x\n", "stallbox-provider-map 1\t.hidden\n",
                                       "stallbox-provider-map 1\t\n", "stallbox-provider-map 1\ta/b\n",
                                       "stallbox-provider-map 1\taaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        expect(put_bytes("/v1/symbols", maps[i], strlen(maps[i]), NULL), 422, "\"result\":\"refused\"");
    free(bytes);
}

static void test_sym_02_a_file_of_another_build_id_or_of_none_is_refused(void **state)
{
    (void)state;
    size_t count;
    char *bytes = read_path(SAMPLE_FULL, &count);
    expect(put_bytes("/v1/symbols?build-id=00112233445566778899aabbccddeeff00112233", bytes, count, NULL), 422,
           "another build-id");
    expect_put(made("none.so", "objcopy --remove-section .note.gnu.build-id $1 $2"), 422, "build-id");
    expect(put_bytes("/v1/symbols", "", 0, NULL), 400, "no file");
    expect(put_bytes("/v1/symbols", bytes, 64, NULL), 422, "build-id");
    expect_put(made("zeros.so", "head -c 700 /dev/zero >$2"), 422, "neither");
    /* Cut at any place the request gets an answer, and the server goes on. */
    for (size_t part = 1; part < 8; part++) {
        struct answer answer = put_bytes("/v1/symbols", bytes, count * part / 8, NULL);
        assert_true(answer.status == 422 || answer.status == 201 || answer.status == 200 || answer.status == 409);
        answer_finish(&answer);
    }
    expect(get(fixture.port, "/healthz"), 200, "ok");
    free(bytes);
}

static void test_sym_03_other_symbols_of_a_build_id_do_not_replace_those_that_are_there(void **state)
{
    (void)state;
    expect_put(made("first.so", "objcopy --strip-debug $1 $2"), 201, "added");
    expect_put(made("second.so", "objcopy --strip-debug --redefine-sym sample_hidden=innocent $1 $2"), 409,
               "\"result\":\"different\"");
    assert_int_equal(stored(), 1);
}

static void test_sym_03_only_a_token_for_symbols_may_send_them(void **state)
{
    (void)state;
    static const char *const senders[] = {"of-a-sender"}, *const builders[] = {"of-a-pipeline"},
                             *const readers[] = {"of-a-reader"};
    size_t count;
    char *bytes = read_path(SAMPLE_FULL, &count);
    fixture.options.token = "of-an-admin";
    fixture.options.send_tokens = senders;
    fixture.options.symbols_tokens = builders;
    fixture.options.read_tokens = readers;
    fixture.options.send_token_count = fixture.options.symbols_token_count = fixture.options.read_token_count = 1;
    fixture_start(&fixture);
    expect(put_bytes("/v1/symbols", bytes, count, NULL), 401, "token");
    expect(put_bytes("/v1/symbols", bytes, count, "Authorization: Bearer of"), 401, "token");
    expect(put_bytes("/v1/symbols", bytes, count, "Authorization: Bearer of-a-sender"), 403, "something else");
    expect(put_bytes("/v1/symbols", bytes, count, "Authorization: Bearer of-a-reader"), 403, "something else");
    assert_int_equal(stored(), 0);
    expect(put_bytes("/v1/symbols", bytes, count, "Authorization: Bearer of-a-pipeline"), 201, "added");
    expect(put_bytes("/v1/symbols", bytes, count, "Authorization: Bearer of-an-admin"), 200, "same");
    /* And the token is good for nothing else. */
    struct envelope envelope = sample_stall(1);
    const struct question question = {.path = "/v1/snapshots",
                                      .body = envelope.bytes,
                                      .body_bytes = envelope.count,
                                      .header = "Authorization: Bearer of-a-pipeline"};
    expect(ask(fixture.port, &question), 403, "something else");
    expect(ask(fixture.port, &(struct question){.path = "/v1/snapshots",
                                                .body = envelope.bytes,
                                                .body_bytes = envelope.count,
                                                .header = "Authorization: Bearer of-a-sender"}),
           200, "STALLBOX-STORED");
    envelope_finish(&envelope);
    free(bytes);
}

/* A few KiB that decompress to 64 MiB, and a request whose own header states that size. */
static void test_sym_04_what_grows_without_measure_is_refused(void **state)
{
    (void)state;
    size_t plain_bytes = 64u << 20, room = ZSTD_compressBound(plain_bytes);
    char *plain = calloc(1, plain_bytes), *packed = malloc(room);
    assert_true(plain && packed);
    size_t packed_bytes = ZSTD_compress(packed, room, plain, plain_bytes, 1);
    fixture.options.symbol_bytes_max = 1 << 20;
    fixture_start(&fixture);
    expect(put_bytes("/v1/symbols", packed, packed_bytes, "Content-Encoding: zstd"), 413, "at most 1 MiB");
    char text[64] = ""; /* stated in the header: a client that sends the body all the same may not get the reason */
    int connection = begin_upload(64u << 20);
    assert_true(read(connection, text, sizeof(text) - 1) > 0);
    assert_memory_equal(text, "HTTP/1.1 413 ", 13);
    close(connection);
    struct answer answer =
        ask(fixture.port,
            &(struct question){
                .method = "PUT", .path = "/v1/symbols", .body = plain, .body_bytes = 2 << 20, .is_chunked = 1});
    expect(answer, 413, "at most 1 MiB");
    expect(get(fixture.port, "/healthz"), 200, "ok");
    free(packed);
    free(plain);
}

static void test_sym_08_archives_are_no_symbol_files(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
    } begins[] = {{"PK\x03\x04\x14\x00\x00\x00\x08\x00", 10},
                  {"\x1f\x8b\x08\x00\x00\x00\x00\x00", 8},
                  {"!<arch>\nlib.o/", 14},
                  {"\xfd"
                   "7zXZ\x00",
                   6},
                  {"\x28\xb5\x2f\xfd\x04\x00", 6},
                  {"ustar", 5}};
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        expect(put_bytes("/v1/symbols", begins[i].bytes, begins[i].count, NULL), 422, "\"result\":\"refused\"");
    assert_int_equal(stored(), 0);
}

static void test_sym_10_without_room_it_is_for_later_and_nothing_is_left(void **state)
{
    (void)state;
    fixture.options.disk_reserve_bytes = UINT64_MAX; /* more than any disk has */
    fixture_start(&fixture);
    struct answer answer = put_path(SAMPLE_FULL);
    assert_int_equal(answer.status, 503);
    assert_non_null(strstr(answer.headers.data, "Retry-After: 60"));
    assert_true(answer_has(&answer, "\"result\":\"later\""));
    answer_finish(&answer);
    assert_int_equal(stored(), 0);
    struct envelope envelope = sample_stall(1); /* payloads are still accepted */
    post_stored(fixture.port, &envelope);
    envelope_finish(&envelope);
}

/* ---- slow and broken ---- */

static void test_uploads_that_stand_still_keep_out_others_for_a_deadline_and_nobody_else(void **state)
{
    (void)state;
    enum {
        STILL = 8
    };
    int connections[STILL], cut = 0;
    fixture.options.request_deadline_ms = 3000;
    fixture_start(&fixture);
    for (int i = 0; i < STILL; i++)
        connections[i] = begin_upload(1 << 20);
    /* The server has places for four of them, which stay. The others are refused before any other request. */
    int turned_away = 0;
    for (int tries = 0; tries < 1000 && turned_away < STILL - 4; tries++) {
        struct pollfd answers[STILL];
        for (int i = 0; i < STILL; i++)
            answers[i] = (struct pollfd){.fd = connections[i], .events = POLLIN};
        turned_away = poll(answers, STILL, 0);
        sleep_ms(2);
    }
    long status = 0;
    for (int i = 0; i < 100 && status != 503; i++) {
        struct answer answer = put_bytes("/v1/symbols", "words", 5, NULL);
        status = answer.status;
        if (status == 503)
            assert_non_null(strstr(answer.headers.data, "Retry-After: 5"));
        answer_finish(&answer);
    }
    assert_int_equal(status, 503);
    expect(get(fixture.port, "/healthz"), 200, "ok");
    struct envelope envelope = sample_stall(1);
    post_stored(fixture.port, &envelope);
    for (int i = 0; i < STILL; i++) {
        char text[2048];
        ssize_t got = read(connections[i], text, sizeof(text));
        assert_true(got <= 0 || memcmp(text, "HTTP/1.1 503", 12) == 0); /* closed without an answer, or refused */
        cut += got <= 0;
        close(connections[i]);
    }
    assert_true(cut >= 1 && cut <= 4);
    for (int i = 0; i < 400 && status != 201; i++) {
        struct answer answer = put_path(SAMPLE_FULL);
        status = answer.status;
        answer_finish(&answer);
        if (status != 201)
            sleep_ms(50);
    }
    assert_int_equal(status, 201);
    expect_metric("stallbox_symbol_uploads_total{result=\"incomplete\"}", cut);
    envelope_finish(&envelope);
}

/* An upload in the queue and one that is half sent, when the server is told to stop. */
static void test_a_server_stops_with_uploads_under_way(void **state)
{
    (void)state;
    size_t count;
    char *bytes = read_path(SAMPLE_FULL, &count), request[200];
    int half = begin_upload(1 << 20), whole = begin_upload(count);
    assert_int_equal(write(whole, bytes + 4, count - 4), (ssize_t)(count - 4));
    fixture_stop(&fixture);
    ssize_t got = read(whole, request, sizeof(request) - 1); /* an answer, or the end of the connection */
    request[got > 0 ? got : 0] = '\0';
    assert_true(got <= 0 || strncmp(request, "HTTP/1.1 201", 12) == 0 || strncmp(request, "HTTP/1.1 503", 12) == 0);
    close(half);
    close(whole);
    fixture_start(&fixture);
    assert_true(stored() <= 1);
    struct answer answer = put_path(SAMPLE_FULL);
    assert_true(answer.status == 201 || answer.status == 200);
    answer_finish(&answer);
    free(bytes);
}

/* ---- two servers ---- */

static void test_symbols_that_one_server_took_name_what_another_of_the_database_triaged(void **state)
{
    (void)state;
    char symbols[120];
    if (!fixture.options.database)
        skip(); /* only with a shared store are there other servers: tests/integration/database */
    snprintf(symbols, sizeof(symbols), "%s/shared", fixture.data_dir);
    fixture.options.symbol_store = symbols;
    fixture_start(&fixture);
    struct server_fixture other = {.options = fixture.options};
    snprintf(other.data_dir, sizeof(other.data_dir), "/tmp/sbx_server_test.XXXXXX");
    assert_non_null(mkdtemp(other.data_dir));
    other.options.data_dir = other.data_dir;
    fixture_start(&other);
    for (unsigned i = 0; i < 6; i++) { /* each server has looked for these symbols in vain and remembers that */
        uint16_t port = i % 2 ? other.port : fixture.port;
        struct envelope envelope = sample_stall(300 + i);
        post_stored(port, &envelope);
        assert_int_equal(wait_for_triage(port, envelope.id), 1);
        envelope_finish(&envelope);
    }
    assert_true(is_missing(sample_build_id()));
    expect_put(SAMPLE_FULL, 201, "\"result\":\"added\"");
    for (int waited = 0; is_missing(sample_build_id()) && waited < 3000; waited++)
        sleep_ms(20);
    assert_false(is_missing(sample_build_id()));
    fixture_finish(&other);
}

int main(void)
{
#define STARTED(name)  cmocka_unit_test_setup_teardown(name, start_server, remove_server)
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare_server, remove_server)
    const struct CMUnitTest tests[] = {
        PREPARED(test_symbols_that_one_server_took_name_what_another_of_the_database_triaged),
        STARTED(test_a_better_file_replaces_and_a_worse_one_does_not),
        STARTED(test_a_compressed_file_is_taken_with_the_name_it_is_given),
        STARTED(test_who_wants_text_gets_a_line),
        STARTED(test_a_stall_is_named_when_its_symbols_come),
        STARTED(test_names_of_a_runtime_reach_a_running_server),
        STARTED(test_sym_01_claims_that_are_paths_or_no_build_ids_are_refused),
        STARTED(test_sym_02_a_file_of_another_build_id_or_of_none_is_refused),
        STARTED(test_sym_03_other_symbols_of_a_build_id_do_not_replace_those_that_are_there),
        PREPARED(test_sym_03_only_a_token_for_symbols_may_send_them),
        PREPARED(test_sym_04_what_grows_without_measure_is_refused),
        STARTED(test_sym_08_archives_are_no_symbol_files),
        PREPARED(test_sym_10_without_room_it_is_for_later_and_nothing_is_left),
        PREPARED(test_uploads_that_stand_still_keep_out_others_for_a_deadline_and_nobody_else),
        STARTED(test_a_server_stops_with_uploads_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
