/* SPDX-License-Identifier: Apache-2.0 */
/* test_redis_cluster.c - slots as the servers calculate them, and all kinds of maps and redirects. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "redis_cluster.h"

static const struct sbx_redis_address asked = {"10.1.1.1", 7000};

/* The values that `redis-cli cluster keyslot` gives. */
static void test_a_slot_is_that_of_the_key_or_of_what_stands_in_its_first_braces(void **state)
{
    (void)state;
    assert_int_equal(sbx_redis_slot("123456789", 9), 12739);
    assert_int_equal(sbx_redis_slot("", 0), 0);
    assert_int_equal(sbx_redis_slot("foo{bar}zap", 11), sbx_redis_slot("bar", 3));
    assert_int_equal(sbx_redis_slot("foo{{bar}}zap", 13), sbx_redis_slot("{bar", 4));
    assert_int_equal(sbx_redis_slot("foo{bar}{zap}", 13), sbx_redis_slot("bar", 3));
    assert_int_equal(sbx_redis_slot("foo{}bar", 8), 14292); /* an empty pair does not count */
    assert_int_equal(sbx_redis_slot("foo{bar", 7), 15278);
}

/* Parse a reply as a server sends it. */
static redisReply *parse(const char *text)
{
    redisReply *reply = NULL;
    redisReader *reader = redisReaderCreate();
    assert_int_equal(redisReaderFeed(reader, text, strlen(text)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, (void **)&reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static int read_map(const char *text, struct sbx_redis_map *map)
{
    redisReply *reply = parse(text);
    int result = sbx_redis_map_read(reply, &asked, map);
    freeReplyObject(reply);
    return result;
}

static void test_a_map_says_who_has_which_slot_and_who_has_a_replica(void **state)
{
    (void)state;
    struct sbx_redis_map *map = malloc(sizeof *map);
    assert_int_equal(read_map("*3\r\n"
                              "*4\r\n:0\r\n:100\r\n*2\r\n$1\r\na\r\n:1\r\n*2\r\n$1\r\nb\r\n:2\r\n"
                              "*3\r\n:101\r\n:200\r\n*3\r\n$0\r\n\r\n:7001\r\n$2\r\nid\r\n"
                              "*3\r\n:16383\r\n:16383\r\n*2\r\n$1\r\na\r\n:1\r\n",
                              map),
                     0);
    assert_int_equal(map->node_count, 2);
    assert_int_equal(map->owners[0], 1);
    assert_int_equal(map->owners[100], 1);
    assert_int_equal(map->owners[101], 2);
    assert_int_equal(map->owners[201], 0);
    assert_int_equal(map->owners[16383], 1);
    assert_true(map->has_replica[0]);
    assert_false(map->has_replica[1]);
    assert_string_equal(map->nodes[1].host, "10.1.1.1"); /* without a host name: the server that was asked */
    assert_int_equal(map->nodes[1].port, 7001);
    free(map);
}

static void test_what_is_no_map_is_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"+OK\r\n",
                                      "*0\r\n",
                                      "*1\r\n:1\r\n",
                                      "*1\r\n*2\r\n:0\r\n:1\r\n",
                                      "*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
                                      "*1\r\n*3\r\n:-1\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
                                      "*1\r\n*3\r\n:5\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n",
                                      "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:70000\r\n",
                                      "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n:1\r\n:1\r\n",
                                      "*1\r\n*3\r\n:0\r\n:1\r\n*0\r\n",
                                      "*1\r\n*3\r\n$1\r\n0\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n"};
    struct sbx_redis_map *map = malloc(sizeof *map);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (read_map(bad[i], map) != -EPROTO) {
            fail_msg("%s was taken", bad[i]);
        }
    }
    free(map);
}

static void test_redirects_are_read_and_others_are_none(void **state)
{
    (void)state;
    static const char *const none[] = {"ERR no",          "MOVED",
                                       "MOVED x",         "MOVED 1",
                                       "MOVED 16384 h:1", "MOVED 1 h",
                                       "MOVED 1 h:0",     "MOVED 1 h:65536",
                                       "MOVED 1 h:1x",    "MOVED -1 h:1",
                                       "ASK 1",           "MOVED  h:1",
                                       "MOVED 1 h:",      "MOVED 99999999 h:1",
                                       "ASKING 1 h:1"};
    struct sbx_redis_address to;
    unsigned slot;
    assert_int_equal(sbx_redis_redirect_read("MOVED 3999 127.0.0.1:6381", &asked, &slot, &to), SBX_REDIS_MOVED);
    assert_int_equal(slot, 3999);
    assert_string_equal(to.host, "127.0.0.1");
    assert_int_equal(to.port, 6381);
    assert_int_equal(sbx_redis_redirect_read("ASK 1 ::1:9", &asked, &slot, &to), SBX_REDIS_ASK);
    assert_string_equal(to.host, "::1");
    assert_int_equal(sbx_redis_redirect_read("MOVED 1 :9", &asked, &slot, &to), SBX_REDIS_MOVED);
    assert_string_equal(to.host, "10.1.1.1");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        if (sbx_redis_redirect_read(none[i], &asked, &slot, &to) != SBX_REDIS_STAYS) {
            fail_msg("%s was taken", none[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slot_is_that_of_the_key_or_of_what_stands_in_its_first_braces),
        cmocka_unit_test(test_a_map_says_who_has_which_slot_and_who_has_a_replica),
        cmocka_unit_test(test_what_is_no_map_is_none),
        cmocka_unit_test(test_redirects_are_read_and_others_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
