/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_tenants.c - symbols that were sent with a token of one application name the stalls of that application
 * only. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "names.h"
#include "redis_servers.h"
#include "sample_stall.h"
#include "started_server.h"
#include "token_book.h"

enum {
    SHOP,
    MAIL,
    APPS,
    SOON_MS = 60000,
    LOOK_MS = 50
};
static const char *const app_names[APPS] = {"shop", "mail"};

/* Headers with a secret: for a pipeline of each application, for a reader of each, and for one user with all rights. */
static char pipelines[APPS][128], readers[APPS][128], root[128], book[128];

static void hold(unsigned rights, const char *app, char header_out[128])
{
    struct sbx_token token = {.rights = rights};
    char why[300], secret[SBX_TOKEN_SECRET_BYTES];
    if (app) {
        snprintf(token.app, sizeof(token.app), "%s", app);
        token.has_policy_id = true;
        memset(token.policy_id, app[0], sizeof(token.policy_id));
    }
    assert_int_equal(sbx_token_book_add(book, &token, secret, why, sizeof(why)), 0);
    snprintf(header_out, 128, "Authorization: Bearer %s", secret);
}

static int prepare(void **state)
{
    prepare_server(state);
    snprintf(book, sizeof(book), "%s/tokens", fixture.data_dir);
    for (int i = 0; i < APPS; i++) {
        hold(SBX_RIGHT_SYMBOLS, app_names[i], pipelines[i]);
        hold(SBX_RIGHT_READ, app_names[i], readers[i]);
    }
    hold(SBX_RIGHT_ALL, NULL, root);
    return 0;
}

static struct answer ask_as(const char *header, const char *method, const char *path, const void *body, size_t bytes)
{
    return ask(fixture.port, &(struct question){.method = method,
                                                .path = path,
                                                .body = body,
                                                .body_bytes = bytes,
                                                .header = header,
                                                .other_header = "Accept: application/json"});
}

/* Send the sample's symbols, changed by a shell command in which $1 is the sample and $2 the file; expect this
 * answer. */
static void expect_put(const char *header, const char *command, long status, const char *text)
{
    char path[160], whole[600];
    struct stat file;
    snprintf(path, sizeof(path), "%s/sent.so", fixture.data_dir);
    snprintf(whole, sizeof(whole), "set -- %s %s; %s", SAMPLE_FULL, path, command);
    assert_int_equal(system(whole), 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &file) == 0);
    char *bytes = malloc((size_t)file.st_size);
    assert_int_equal(read(fd, bytes, (size_t)file.st_size), file.st_size);
    close(fd);
    struct answer answer = ask_as(header, "PUT", "/v1/symbols", bytes, (size_t)file.st_size);
    if (answer.status != status || !answer_has(&answer, text))
        fail_msg("%ld, not %ld with \"%s\": %.600s", answer.status, status, text,
                 answer.body.data ? answer.body.data : "");
    answer_finish(&answer);
    free(bytes);
}

/* False names, one set for each application. A sender with the right for all applications changes the names for all. */
static const char first[] = "objcopy --strip-debug --redefine-sym sample_hidden=first_name $1 $2",
                  second[] = "objcopy --strip-debug --redefine-sym sample_hidden=second_name $1 $2",
                  third[] = "objcopy --strip-debug --redefine-sym sample_hidden=third_name $1 $2";

/* Post a stall of an application and wait for its verdict. */
static void post_sample(int app, uint64_t seed, char id_out[33])
{
    struct envelope envelope = sample_stall_of(seed, app_names[app]);
    char path[80];
    struct answer answer = ask_as(root, "POST", "/v1/snapshots", envelope.bytes, envelope.count);
    assert_int_equal(answer.status, 200);
    answer_finish(&answer);
    memcpy(id_out, envelope.id, 33);
    envelope_finish(&envelope);
    snprintf(path, sizeof(path), "/v1/snapshots/%s", id_out);
    for (int waited = 0, is_done = 0; !is_done; waited += LOOK_MS) {
        answer = ask_as(readers[app], NULL, path, NULL, 0);
        is_done = answer_has(&answer, "\"state\":\"triaged\"");
        answer_finish(&answer);
        assert_true(waited < SOON_MS);
        sleep_ms(is_done ? 0 : LOOK_MS);
    }
}

static int report_has(int app, const char *id, const char *text)
{
    char path[80];
    snprintf(path, sizeof(path), "/v1/snapshots/%s.json", id);
    struct answer answer = ask_as(readers[app], NULL, path, NULL, 0);
    assert_int_equal(answer.status, 200);
    int has = answer_has(&answer, text);
    answer_finish(&answer);
    return has;
}

static void wait_for_name(int app, const char *id, const char *name)
{
    for (int waited = 0; !report_has(app, id, name); waited += LOOK_MS) {
        if (waited > SOON_MS)
            fail_msg("no %s in %s", name, id);
        sleep_ms(LOOK_MS);
    }
}

/* How often the sample is in a list that the holder of the token sees. */
static int listed(const char *header, const char *path)
{
    struct answer answer = ask_as(header, NULL, path, NULL, 0);
    int count = 0;
    assert_int_equal(answer.status, 200);
    for (const char *at = answer.body.data; at && (at = strstr(at, sample_build_id())) != NULL; at++)
        count++;
    answer_finish(&answer);
    return count;
}

static void expect_apart(void)
{
    char shop[33], mail[33];
    fixture_start(&fixture);
    post_sample(SHOP, 1, shop);
    post_sample(MAIL, 2, mail);

    expect_put(pipelines[SHOP], first, 201, "\"stalls\":1");
    wait_for_name(SHOP, shop, "first_name");
    assert_false(report_has(MAIL, mail, "_name\""));
    assert_int_equal(listed(readers[SHOP], "/v1/symbols"), 1);
    assert_int_equal(listed(readers[MAIL], "/v1/symbols"), 0);
    assert_int_equal(listed(root, "/v1/symbols"), 0);
    assert_int_equal(listed(readers[MAIL], "/v1/symbols/missing"), 1);

    /* A sender of other names for another application learns nothing about the first application's. */
    expect_put(pipelines[MAIL], second, 201, "\"stalls\":1");
    wait_for_name(MAIL, mail, "second_name");
    expect_put(pipelines[SHOP], first, 200, "\"result\":\"same\"");
    expect_put(pipelines[SHOP], second, 409, "--tenant app-");
    assert_true(report_has(SHOP, shop, "first_name"));

    /* Symbols sent for all applications are used after an application's own. */
    expect_put(root, third, 201, "\"result\":\"added\"");
    post_sample(SHOP, 3, shop);
    post_sample(MAIL, 4, mail);
    assert_true(report_has(SHOP, shop, "first_name"));
    assert_true(report_has(MAIL, mail, "second_name"));
    assert_int_equal(listed(readers[SHOP], "/v1/symbols"), 1);
    assert_int_equal(listed(root, "/v1/symbols"), 1);
}

static void test_sym_03_applications_have_symbols_of_their_own(void **state)
{
    (void)state;
    expect_apart();
}

static void test_sym_03_applications_have_symbols_of_their_own_in_redis_too(void **state)
{
    (void)state;
    static struct redis_server redis;
    static char where[64];
    redis_server_start(&redis, false, NULL, NULL);
    snprintf(where, sizeof(where), "redis://127.0.0.1:%u", redis.port);
    fixture.options.symbol_store = where;
    expect_apart();
    fixture_stop(&fixture);
    redis_server_stop(&redis);
}

/* Debug information for all is preferred to an application's own symbol table. */
static void test_what_all_have_is_used_where_an_application_has_worse_or_nothing(void **state)
{
    (void)state;
    char shop[33], mail[33];
    fixture_start(&fixture);
    expect_put(pipelines[SHOP], first, 201, "symtab");
    expect_put(root, "cp $1 $2", 201, "dwarf");
    post_sample(SHOP, 1, shop);
    post_sample(MAIL, 2, mail);
    assert_true(report_has(SHOP, shop, "\"function\":\"sample_middle\""));
    assert_true(report_has(MAIL, mail, "\"function\":\"sample_middle\""));
}

/* Symbols that came while no server ran are found at the next start, an application's own as well as those for all. */
static void test_an_applications_symbols_are_found_at_the_next_start(void **state)
{
    (void)state;
    char shop[33], command[400];
    fixture_start(&fixture);
    expect_put(pipelines[SHOP], first, 201, "added");
    fixture_stop(&fixture);
    snprintf(command, sizeof(command), "mv %s/symbols %s/elsewhere", fixture.data_dir, fixture.data_dir);
    assert_int_equal(system(command), 0);
    fixture_start(&fixture);
    post_sample(SHOP, 1, shop);
    assert_false(report_has(SHOP, shop, "first_name"));
    fixture_stop(&fixture);
    snprintf(command, sizeof(command), "rm -r %s/symbols; mv %s/elsewhere %s/symbols", fixture.data_dir,
             fixture.data_dir, fixture.data_dir);
    assert_int_equal(system(command), 0);
    fixture_start(&fixture);
    wait_for_name(SHOP, shop, "first_name");
    for (int waited = 0; listed(readers[SHOP], "/v1/symbols/missing") > 0; waited += LOOK_MS) {
        assert_true(waited < SOON_MS);
        sleep_ms(LOOK_MS);
    }
}

int main(void)
{
#define PREPARED(name) cmocka_unit_test_setup_teardown(name, prepare, remove_server)
    const struct CMUnitTest tests[] = {
        PREPARED(test_sym_03_applications_have_symbols_of_their_own),
        PREPARED(test_sym_03_applications_have_symbols_of_their_own_in_redis_too),
        PREPARED(test_what_all_have_is_used_where_an_application_has_worse_or_nothing),
        PREPARED(test_an_applications_symbols_are_found_at_the_next_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
