/* SPDX-License-Identifier: Apache-2.0 */
/* test_redis_store.c - a store in a Redis server that forgets, lies, refuses, or is away. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "redis_keys.h"
#include "redis_servers.h"
#include "store_images.h"

enum {
    CHUNKS = 10,
    KEEP_S = SBX_STORE_KEEP_S,
    DAY_S = 86400
};

static struct redis_server server;
static struct sbx_symbol_store *store;
static char words[700];
static uint8_t id[IMAGE_ID_BYTES] = {0xab};
static char head_key[96], other_head_key[96], chunk_pattern[96]; /* contain the parser's version */

static void open_store(const char *user, const char *behind)
{
    char where[200], why[300] = "";
    snprintf(where, sizeof where, "redis://%s127.0.0.1:%u%s", user, server.port, behind);
    if (sbx_symbol_store_open_at(where, "default", true, &store, why, sizeof why) != 0) {
        fail_msg("%s: %s", where, why);
    }
}

static int begin(void **state)
{
    (void)state;
    snprintf(head_key, sizeof head_key, "sbx:default:v%d:{ab%038d}:head", SBX_SYMBOL_PARSER_VERSION, 0);
    snprintf(other_head_key, sizeof other_head_key, "sbx:default:v%d:{cd%038d}:head", SBX_SYMBOL_PARSER_VERSION, 0);
    snprintf(chunk_pattern, sizeof chunk_pattern, "sbx:default:v%d:{ab00*.*.0}:*", SBX_SYMBOL_PARSER_VERSION);
    redis_server_start(&server, false, NULL, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    redis_server_stop(&server);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    freeReplyObject(redis_server_ask(&server, "FLUSHALL"));
    freeReplyObject(redis_server_ask(&server, "CONFIG RESETSTAT"));
    open_store("", "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sbx_symbol_store_close(store);
    return 0;
}

static enum sbx_store_outcome must_put(const char *name)
{
    enum sbx_store_outcome outcome;
    assert_int_equal(store_image_put(store, id, name, SBX_SYMBOLS_DWARF, CHUNKS, &outcome, NULL), 0);
    return outcome;
}

static enum store_image_answer ask(void)
{
    return store_image_ask(store, id, "f", CHUNKS);
}

/* The message about the trouble; "" for none. */
static enum sbx_store_trouble trouble_kind;
static const char *trouble(void)
{
    trouble_kind = sbx_symbol_store_trouble(store, words, sizeof words);
    assert_int_equal(trouble_kind != SBX_STORE_IS_WELL, words[0] != '\0');
    return words;
}

/* All matching keys. Given (freeReplyObject). */
static redisReply *keys(const char *pattern)
{
    return redis_server_ask(&server, "KEYS %s", pattern);
}

/* ---- keys ---- */

static void test_keys_hold_tenant_version_build_id_and_chunk(void **state)
{
    (void)state;
    char hex[SBX_STORE_HEX_BYTES];
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    assert_int_equal(redis_server_number(&server, "EXISTS %s", head_key), 1);
    redisReply *chunks = keys(chunk_pattern);
    assert_int_equal(chunks->elements, CHUNKS);
    freeReplyObject(chunks);
    redisReply *all = keys("*");
    assert_int_equal(all->elements, CHUNKS + 1);
    freeReplyObject(all);
    assert_true(sbx_redis_head_hex("default", head_key, strlen(head_key), hex));
    assert_string_equal(hex, "ab00000000000000000000000000000000000000");
    assert_false(sbx_redis_head_hex("other", head_key, strlen(head_key), hex));
    assert_false(sbx_redis_head_hex("default", head_key, strlen(head_key) - 1, hex));
    char bad[96];
    static const char *const no_hex[] = {"", "zz", "abc", "AB", "ab{", "ab}"};
    for (size_t i = 0; i < sizeof no_hex / sizeof no_hex[0]; i++) {
        int bytes = snprintf(bad, sizeof bad, "sbx:default:v%d:{%s}:head", SBX_SYMBOL_PARSER_VERSION, no_hex[i]);
        assert_false(sbx_redis_head_hex("default", bad, (size_t)bytes, hex));
    }
}

static void test_what_is_removed_leaves_no_key(void **state)
{
    (void)state;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
}

static void test_chunks_of_a_refused_upload_do_not_stay(void **state)
{
    (void)state;
    enum sbx_store_outcome outcome;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    assert_int_equal(must_put("poisoned"), SBX_STORE_DIFFERENT);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), CHUNKS + 1);
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    assert_int_equal(store_image_put(store, id, "f", SBX_SYMBOLS_SYMTAB, CHUNKS, &outcome, NULL), 0);
    assert_int_equal(must_put("f"), SBX_STORE_REPLACED);
    /* The chunks of the replaced image stay for an hour. */
    redisReply *chunks = keys(chunk_pattern);
    assert_int_equal(chunks->elements, 2 * CHUNKS);
    size_t hourly = 0;
    for (size_t i = 0; i < chunks->elements; i++) {
        long long stays_s = redis_server_number(&server, "TTL %s", chunks->element[i]->str);
        hourly += stays_s > 0 && stays_s <= 3600;
    }
    assert_int_equal(hourly, CHUNKS);
    freeReplyObject(chunks);
}

static void test_a_list_is_whole_among_many_other_keys(void **state)
{
    (void)state;
    enum {
        IMAGES = 70
    };
    struct sbx_store_entry *entries;
    enum sbx_store_outcome outcome;
    size_t count;
    freeReplyObject(redis_server_ask(
        &server, "EVAL %s 0 %d",
        "for i = 1, 6000 do redis.call('SET', 'sbx:default:v' .. ARGV[1] .. ':{' .. i .. 'x}:head', 'x') "
        "redis.call('SET', 'sbx:other:v' .. ARGV[1] .. ':{' .. i .. '0}:head', 'x') end",
        SBX_SYMBOL_PARSER_VERSION));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 12000);
    for (uint8_t i = 0; i < IMAGES; i++) {
        const uint8_t other[IMAGE_ID_BYTES] = {0x11, i};
        assert_int_equal(store_image_put(store, other, "f", SBX_SYMBOLS_DWARF, 3, &outcome, NULL), 0);
    }
    assert_int_equal(sbx_symbol_store_list(store, &entries, &count), 0);
    assert_int_equal(count, IMAGES);
    for (size_t i = 0; i < count; i++) {
        char wanted[8];
        snprintf(wanted, sizeof wanted, "11%02x00", (unsigned)i & 0xff);
        assert_int_equal(strncmp(entries[i].build_id, wanted, 6), 0);
        assert_false(entries[i].is_damaged);
    }
    free(entries);
}

/* ---- how long ---- */

/* The shortest remaining time of all keys. */
static long long shortest_s(void)
{
    redisReply *all = keys("*");
    long long shortest = INT64_MAX;
    assert_true(all->elements > 0);
    for (size_t i = 0; i < all->elements; i++) {
        long long stays_s = redis_server_number(&server, "TTL %s", all->element[i]->str);
        shortest = stays_s < shortest ? stays_s : shortest;
    }
    freeReplyObject(all);
    return shortest;
}

static void expire_all(long long seconds)
{
    redisReply *all = keys("*");
    for (size_t i = 0; i < all->elements; i++) {
        assert_int_equal(redis_server_number(&server, "EXPIRE %s %lld", all->element[i]->str, seconds), 1);
    }
    freeReplyObject(all);
    freeReplyObject(redis_server_ask(&server, "CONFIG RESETSTAT"));
}

static void test_a_question_lets_all_of_an_image_stay_and_is_noted_once_a_day(void **state)
{
    (void)state;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    long long first_s = shortest_s();
    assert_true(first_s > KEEP_S - 60 && first_s <= KEEP_S);
    freeReplyObject(redis_server_ask(&server, "CONFIG RESETSTAT"));
    assert_int_equal(ask(), STORE_IMAGE_RIGHT);
    assert_int_equal(redis_server_info(&server, "commandstats", "cmdstat_expire:calls="), -1); /* it was made today */
    expire_all(100);
    assert_int_equal(ask(), STORE_IMAGE_RIGHT);
    assert_true(shortest_s() > KEEP_S - 60);
    assert_int_equal(redis_server_info(&server, "commandstats", "cmdstat_expire:calls="), CHUNKS + 1);
    assert_int_equal(ask(), STORE_IMAGE_RIGHT);
    assert_int_equal(redis_server_info(&server, "commandstats", "cmdstat_expire:calls="), CHUNKS + 1);
    assert_string_equal(trouble(), "");
}

static void test_the_url_says_how_long_and_the_list_when_it_was_used(void **state)
{
    (void)state;
    struct sbx_store_entry *entries;
    size_t count;
    sbx_symbol_store_close(store);
    open_store("", "?ttl=7");
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    long long stays_s = shortest_s();
    assert_true(stays_s > 7 * DAY_S - 60 && stays_s <= 7 * DAY_S);
    expire_all(5 * DAY_S);
    assert_int_equal(sbx_symbol_store_list(store, &entries, &count), 0);
    assert_int_equal(count, 1);
    uint64_t age_s = (uint64_t)time(NULL) - entries[0].used_s;
    assert_true(age_s > 2 * DAY_S - 60 && age_s < 2 * DAY_S + 60);
    free(entries);
    sbx_symbol_store_close(store);
    open_store("", "?ttl=1");
    expire_all(1000);
    assert_int_equal(ask(), STORE_IMAGE_RIGHT);
    assert_true(shortest_s() > DAY_S - 60);
}

/* ---- damage ---- */

/* The key of one of the current image's chunks. */
static void chunk_key(char key_out[SBX_REDIS_KEY_BYTES])
{
    struct sbx_redis_image_keys image = {.tenant = "default", .hex = "ab00000000000000000000000000000000000000"};
    uint64_t generation;
    redisReply *mark = redis_server_ask(&server, "GETRANGE %s 8 15", head_key);
    assert_int_equal(mark->len, sizeof generation);
    memcpy(&generation, mark->str, sizeof generation); /* both supported machines are little-endian */
    freeReplyObject(mark);
    (void)sbx_redis_chunk_key(&image, generation, 3, key_out);
    assert_int_equal(redis_server_number(&server, "EXISTS %s", key_out), 1);
}

static void test_a_chunk_that_is_gone_or_damaged_is_absent_is_said_and_is_mended(void **state)
{
    (void)state;
    static const char *const damages[] = {"DEL %s", "SETRANGE %s 20 damage", "APPEND %s more", "SET %s short"};
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        char key[SBX_REDIS_KEY_BYTES];
        chunk_key(key);
        redisReply *reply = redis_server_ask(&server, damages[i], key);
        assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
        freeReplyObject(reply);
        assert_int_equal(ask(), STORE_IMAGE_PART);
        assert_non_null(strstr(trouble(), "add it again"));
        assert_int_equal(trouble_kind, SBX_STORE_IS_DAMAGED);
        assert_non_null(strstr(words, "1 chunk is missing or damaged"));
        assert_non_null(strstr(words, "redis://127.0.0.1:"));
        assert_int_equal(must_put("f"), SBX_STORE_REPLACED);
        assert_int_equal(ask(), STORE_IMAGE_RIGHT);
        assert_string_equal(trouble(), "");
    }
}

static void test_a_head_that_is_damaged_is_listed_answers_nothing_and_is_replaced(void **state)
{
    (void)state;
    static const char *const damages[] = {"SETRANGE %s 20 damage",  "SETRANGE %s 100 damage", "SETRANGE %s 300 damage",
                                          "SET %s no-head-at-all!", "SET %s short",           "APPEND %s more"};
    struct sbx_store_entry *entries;
    size_t count;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    for (size_t i = 0; i < 8; i++) {
        if (i < 6) {
            freeReplyObject(redis_server_ask(&server, damages[i], head_key));
        } else if (i == 6) {
            freeReplyObject(redis_server_ask(&server, "DEL %s", head_key));
            freeReplyObject(redis_server_ask(&server, "LPUSH %s a b", head_key));
        } else { /* a complete head, but with another build-id */
            const uint8_t other[IMAGE_ID_BYTES] = {0xcd};
            enum sbx_store_outcome outcome;
            assert_int_equal(store_image_put(store, other, "f", SBX_SYMBOLS_DWARF, CHUNKS, &outcome, NULL), 0);
            freeReplyObject(redis_server_ask(&server, "RENAME %s %s", other_head_key, head_key));
        }
        assert_int_equal(ask(), STORE_IMAGE_NONE);
        assert_int_equal(sbx_symbol_store_list(store, &entries, &count), 0);
        assert_int_equal(count, 1);
        assert_true(entries[0].is_damaged || i == 7);
        free(entries);
        (void)trouble();
        assert_int_equal(must_put("f"), SBX_STORE_REPLACED);
        assert_int_equal(ask(), STORE_IMAGE_RIGHT);
        assert_string_equal(trouble(), "");
    }
    freeReplyObject(redis_server_ask(&server, "SET %s damaged", head_key));
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    assert_int_equal(redis_server_number(&server, "EXISTS %s", head_key), 0);
}

static void test_a_reader_of_chunks_that_went_takes_the_image_that_came(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    assert_int_equal(must_put("old"), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 1 << 20, &image), 0);
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    assert_int_equal(store_image_check(image, "f", CHUNKS), STORE_IMAGE_RIGHT);
    assert_false(sbx_symbol_image_is_troubled(image));
    sbx_symbol_image_close(image);
    assert_string_equal(trouble(), "");
}

static void test_a_server_whose_memory_is_full_takes_nothing_half(void **state)
{
    (void)state;
    enum {
        LARGE = 4000
    };
    enum sbx_store_outcome outcome;
    unsigned full = 0, part = 0;
    for (long long room = -1000000; room < 3000000; room += 250000) { /* for nothing, for some chunks, for all */
        long long used = redis_server_info(&server, "memory", "used_memory:");
        freeReplyObject(redis_server_ask(&server, "CONFIG SET maxmemory %lld", used + room));
        freeReplyObject(redis_server_ask(&server, "CONFIG RESETSTAT"));
        int result = store_image_put(store, id, "f", SBX_SYMBOLS_DWARF, LARGE, &outcome, NULL);
        freeReplyObject(redis_server_ask(&server, "CONFIG SET maxmemory 0"));
        part += result < 0 && redis_server_info(&server, "commandstats", "cmdstat_set:calls=") > 0;
        if (result == 0) {
            assert_int_equal(store_image_ask(store, id, "f", LARGE), STORE_IMAGE_RIGHT);
            assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
        } else {
            full++;
            assert_non_null(strstr(trouble(), "OOM"));
        }
        assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
    }
    assert_true(full > 0 && part > 0); /* otherwise nothing was tested */
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
}

/* ---- away ---- */

static void test_a_server_started_anew_is_connected_to_again(void **state)
{
    (void)state;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    redis_server_kill(&server);
    redis_server_restart(&server, NULL, NULL);
    assert_int_equal(ask(), STORE_IMAGE_NONE); /* the server forgot, and the answer says so */
    assert_string_equal(trouble(), "");
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    assert_int_equal(ask(), STORE_IMAGE_RIGHT);
}

static void test_a_server_that_is_away_is_said_once_and_not_waited_for_again(void **state)
{
    (void)state;
    struct sbx_store_entry *entries;
    struct sbx_symbol_image *image, *other;
    enum sbx_store_outcome outcome;
    size_t count;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 1 << 20, &image), 0);
    redis_server_kill(&server);
    assert_int_equal(store_image_check(image, "f", CHUNKS), STORE_IMAGE_NONE);
    assert_true(sbx_symbol_image_is_troubled(image));
    assert_non_null(strstr(trouble(), "Connection refused"));
    assert_int_equal(trouble_kind, SBX_STORE_IS_AWAY);
    assert_int_equal(strncmp(words, "redis://127.0.0.1:", 18), 0);
    assert_null(strchr(words, '\n'));
    assert_true(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 1 << 20, &other) < 0);
    assert_true(sbx_symbol_store_list(store, &entries, &count) < 0);
    assert_true(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES) < 0);
    assert_true(store_image_put(store, id, "f", SBX_SYMBOLS_DWARF, CHUNKS, &outcome, NULL) < 0);
    assert_non_null(strstr(trouble(), "Connection refused"));
    sbx_symbol_image_close(image);
    redis_server_restart(&server, NULL, NULL);
}

/* A process behind a system call filter cannot connect, and must not wait for a connection that it cannot get. */
static void test_who_connects_once_never_connects_again(void **state)
{
    (void)state;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    sbx_symbol_store_close(store);
    open_store("", "");
    assert_int_equal(sbx_symbol_store_connect_once(store), 0);
    long long before = redis_server_info(&server, "stats", "total_connections_received:");
    assert_int_equal(ask(), STORE_IMAGE_RIGHT);
    assert_string_equal(trouble(), "");
    /* This question is itself a connection. */
    assert_int_equal(redis_server_info(&server, "stats", "total_connections_received:"), before + 1);
    freeReplyObject(redis_server_ask(&server, "CLIENT KILL TYPE normal"));
    assert_int_equal(ask(), STORE_IMAGE_NONE);
    assert_non_null(strstr(trouble(), "closed"));
    assert_int_equal(trouble_kind, SBX_STORE_IS_AWAY);
    sbx_symbol_store_close(store);
    redis_server_kill(&server);
    open_store("", "");
    assert_true(sbx_symbol_store_connect_once(store) < 0);
    redis_server_restart(&server, NULL, NULL);
    assert_int_equal(ask(), STORE_IMAGE_NONE);
    assert_non_null(strstr(trouble(), "Connection refused"));
    assert_int_equal(trouble_kind, SBX_STORE_IS_AWAY);
}

static void test_a_password_is_given_and_a_wrong_one_is_said(void **state)
{
    (void)state;
    struct redis_server locked;
    char where[100], why[200], path[] = "/tmp/test_redis_store.XXXXXX";
    struct sbx_symbol_store *opened;
    enum sbx_store_outcome outcome;
    redis_server_start(&locked, false, "--requirepass", "open sesame");
    snprintf(where, sizeof where, "redis://127.0.0.1:%u/1", locked.port);
    for (int kind = 0; kind < 3; kind++) { /* no password, a wrong one, the right one */
        if (kind > 0) {
            setenv("STALLBOX_REDIS_PASSWORD", kind == 1 ? "close sesame" : "open sesame", 1);
        }
        assert_int_equal(sbx_symbol_store_open_at(where, "default", true, &opened, why, sizeof why), 0);
        int result = store_image_put(opened, id, "f", SBX_SYMBOLS_DWARF, CHUNKS, &outcome, NULL);
        bool was = sbx_symbol_store_trouble(opened, words, sizeof words);
        assert_int_equal(result == 0, kind == 2);
        assert_int_equal(was, kind != 2);
        assert_non_null(strstr(words, kind == 0 ? "NOAUTH" : kind == 1 ? "WRONGPASS" : ""));
        assert_null(strstr(words, "sesame"));
        assert_int_equal(store_image_ask(opened, id, "f", CHUNKS), kind == 2 ? STORE_IMAGE_RIGHT : STORE_IMAGE_NONE);
        sbx_symbol_store_close(opened);
    }
    unsetenv("STALLBOX_REDIS_PASSWORD");
    int fd = mkstemp(path);
    assert_int_equal(fchmod(fd, 0604), 0);
    setenv("STALLBOX_REDIS_PASSWORD_FILE", path, 1);
    assert_int_equal(sbx_symbol_store_open_at(where, "default", true, &opened, why, sizeof why), -EKEYREJECTED);
    assert_non_null(strstr(why, "chmod 600"));
    unsetenv("STALLBOX_REDIS_PASSWORD_FILE");
    close(fd);
    unlink(path);
    redis_server_stop(&locked);
}

/* A user with read-only rights can look up names. The time of use is then not updated. */
static void test_a_user_who_may_only_read_reads(void **state)
{
    (void)state;
    enum sbx_store_outcome outcome;
    assert_int_equal(must_put("f"), SBX_STORE_ADDED);
    expire_all(1000);
    freeReplyObject(redis_server_ask(&server, "ACL SETUSER reader on >word ~sbx:* -@all +get +ttl +ping"));
    sbx_symbol_store_close(store);
    setenv("STALLBOX_REDIS_PASSWORD", "word", 1);
    open_store("reader@", "");
    unsetenv("STALLBOX_REDIS_PASSWORD");
    assert_int_equal(ask(), STORE_IMAGE_RIGHT);
    assert_string_equal(trouble(), "");
    assert_true(store_image_put(store, id, "f", SBX_SYMBOLS_DWARF, CHUNKS, &outcome, NULL) < 0);
    assert_non_null(strstr(trouble(), "NOPERM"));
}

int main(void)
{
#define IN_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_A_STORE(test_keys_hold_tenant_version_build_id_and_chunk),
        IN_A_STORE(test_what_is_removed_leaves_no_key),
        IN_A_STORE(test_chunks_of_a_refused_upload_do_not_stay),
        IN_A_STORE(test_a_list_is_whole_among_many_other_keys),
        IN_A_STORE(test_a_question_lets_all_of_an_image_stay_and_is_noted_once_a_day),
        IN_A_STORE(test_the_url_says_how_long_and_the_list_when_it_was_used),
        IN_A_STORE(test_a_chunk_that_is_gone_or_damaged_is_absent_is_said_and_is_mended),
        IN_A_STORE(test_a_head_that_is_damaged_is_listed_answers_nothing_and_is_replaced),
        IN_A_STORE(test_a_reader_of_chunks_that_went_takes_the_image_that_came),
        IN_A_STORE(test_a_server_whose_memory_is_full_takes_nothing_half),
        IN_A_STORE(test_a_server_started_anew_is_connected_to_again),
        IN_A_STORE(test_a_server_that_is_away_is_said_once_and_not_waited_for_again),
        IN_A_STORE(test_who_connects_once_never_connects_again),
        IN_A_STORE(test_a_password_is_given_and_a_wrong_one_is_said),
        IN_A_STORE(test_a_user_who_may_only_read_reads),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
