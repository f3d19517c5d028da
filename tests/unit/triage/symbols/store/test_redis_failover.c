/* SPDX-License-Identifier: Apache-2.0 */
/* test_redis_failover.c - a store in a Redis Cluster whose slots move and whose nodes die. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "redis_cluster.h"
#include "redis_keys.h"
#include "redis_servers.h"
#include "store_images.h"

enum {
    CHUNKS = 300, /* of an image: at five or more places of the cluster */
    BEFORE = 4,   /* images that exist before a node dies */
    DURING = 12,  /* images that are stored meanwhile */
    PATIENCE_S = 40
};

static struct redis_servers cluster;

static struct sbx_symbol_store *open_store(size_t seed)
{
    struct sbx_symbol_store *store = NULL;
    char where[100], why[200];
    snprintf(where, sizeof where, "redis+cluster://127.0.0.1:%u", cluster.servers[seed].port);
    assert_int_equal(sbx_symbol_store_open_at(where, "default", true, &store, why, sizeof why), 0);
    return store;
}

static int begin(void **state)
{
    (void)state;
    redis_servers_start(&cluster, true);
    return 0;
}

static int end(void **state)
{
    (void)state;
    redis_servers_stop(&cluster);
    return 0;
}

static int put(struct sbx_symbol_store *store, unsigned number)
{
    const uint8_t id[IMAGE_ID_BYTES] = {(uint8_t)number};
    enum sbx_store_outcome outcome;
    char name[16];
    snprintf(name, sizeof name, "i%u", number);
    int result = store_image_put(store, id, name, SBX_SYMBOLS_DWARF, CHUNKS, &outcome, NULL);
    return result != 0 ? result : outcome == SBX_STORE_ADDED ? 0 : -EEXIST;
}

static enum store_image_answer ask(struct sbx_symbol_store *store, unsigned number)
{
    const uint8_t id[IMAGE_ID_BYTES] = {(uint8_t)number};
    char name[16];
    snprintf(name, sizeof name, "i%u", number);
    return store_image_ask(store, id, name, CHUNKS);
}

/* ---- slots ---- */

static void test_slots_are_counted_as_the_servers_count_them(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int i = 0; i < 200; i++) {
        char key[40];
        size_t bytes = 0, wanted = (size_t)(random >> 33) % 38;
        while (bytes < wanted) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            key[bytes++] = "{}{}abc:0"[(random >> 40) % 9];
        }
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        assert_int_equal(sbx_redis_slot(key, bytes),
                         redis_server_number(&cluster.servers[0], "CLUSTER KEYSLOT %b", key, bytes));
    }
}

static void set_slot(size_t server, unsigned slot, const char *what, const char *node)
{
    redisReply *reply = redis_server_ask(&cluster.servers[server], "CLUSTER SETSLOT %u %s %s", slot, what, node);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void node_id(size_t server, char id_out[64])
{
    redisReply *reply = redis_server_ask(&cluster.servers[server], "CLUSTER MYID");
    snprintf(id_out, 64, "%s", reply->str);
    freeReplyObject(reply);
}

static void test_who_connects_once_reaches_all_masters(void **state)
{
    (void)state;
    struct sbx_symbol_store *store = open_store(0);
    const uint8_t id[IMAGE_ID_BYTES] = {0xc0};
    enum sbx_store_outcome outcome;
    char words[700];
    assert_int_equal(store_image_put(store, id, "once", SBX_SYMBOLS_DWARF, IMAGE_CHUNKS, &outcome, NULL), 0);
    sbx_symbol_store_close(store);
    store = open_store(0);
    assert_int_equal(sbx_symbol_store_connect_once(store), 0);
    assert_int_equal(store_image_ask(store, id, "once", IMAGE_CHUNKS), STORE_IMAGE_RIGHT);
    assert_int_equal(sbx_symbol_store_trouble(store, words, sizeof words), SBX_STORE_IS_WELL);
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    sbx_symbol_store_close(store);
}

static void test_a_slot_that_moves_is_followed_while_it_moves_and_after(void **state)
{
    (void)state;
    enum {
        NUMBER = 200
    };
    const uint8_t id[IMAGE_ID_BYTES] = {NUMBER};
    struct sbx_redis_image_keys keys = {.tenant = "default"};
    struct sbx_symbol_store *store = open_store(0);
    char key[SBX_REDIS_KEY_BYTES], from_id[64], to_id[64], words[700];
    assert_int_equal(put(store, NUMBER), 0);
    assert_true(sbx_store_hex(id, IMAGE_ID_BYTES, keys.hex));
    size_t bytes = sbx_redis_head_key(&keys, key), from = 0;
    while (redis_server_number(&cluster.servers[from], "EXISTS %s", key) != 1) { /* other nodes answer MOVED */
        from++;
        assert_true(from < 3);
    }
    size_t to = (from + 1) % 3;
    unsigned slot = sbx_redis_slot(key, bytes);
    node_id(from, from_id);
    node_id(to, to_id);
    set_slot(to, slot, "IMPORTING", from_id);
    set_slot(from, slot, "MIGRATING", to_id);
    assert_int_equal(ask(store, NUMBER), STORE_IMAGE_RIGHT);
    redisReply *reply =
        redis_server_ask(&cluster.servers[from], "MIGRATE 127.0.0.1 %u %s 0 5000", cluster.servers[to].port, key);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    reply = redis_server_ask(&cluster.servers[from], "GET %s", key);
    assert_int_equal(strncmp(reply->str, "ASK ", 4), 0); /* the node answers what this test needs */
    freeReplyObject(reply);
    assert_int_equal(ask(store, NUMBER), STORE_IMAGE_RIGHT);
    set_slot(to, slot, "NODE", to_id);
    set_slot(from, slot, "NODE", to_id);
    assert_int_equal(ask(store, NUMBER), STORE_IMAGE_RIGHT);
    assert_int_equal(put(store, NUMBER), -EEXIST);
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    assert_false(sbx_symbol_store_trouble(store, words, sizeof words));
    sbx_symbol_store_close(store);
}

/* ---- death ---- */

struct asking {
    struct sbx_symbol_store *store;
    atomic_bool is_over;
    atomic_uint right, missing, wrong;
};

static void *ask_on(void *context)
{
    struct asking *asking = context;
    for (unsigned i = 0; !atomic_load(&asking->is_over); i++) {
        enum store_image_answer answer = ask(asking->store, 1 + i % BEFORE);
        atomic_fetch_add(answer == STORE_IMAGE_RIGHT   ? &asking->right
                         : answer == STORE_IMAGE_WRONG ? &asking->wrong
                                                       : &asking->missing,
                         1);
    }
    return NULL;
}

struct putting {
    struct sbx_symbol_store *store;
    atomic_uint put;
    atomic_int result;
};

static void *put_on(void *context)
{
    struct putting *putting = context;
    for (unsigned i = 0; i < DURING && atomic_load(&putting->result) == 0; i++) {
        atomic_store(&putting->result, put(putting->store, 1 + BEFORE + i));
        atomic_fetch_add(&putting->put, 1);
    }
    return NULL;
}

static void test_a_master_that_dies_in_the_middle_loses_nothing_and_makes_nothing_wrong(void **state)
{
    (void)state;
    struct asking asking = {.store = open_store(0)};
    struct putting putting = {.store = open_store(2)};
    pthread_t asker, putter;
    char words[700];
    for (unsigned i = 1; i <= BEFORE; i++) {
        assert_int_equal(put(putting.store, i), 0);
    }
    assert_int_equal(pthread_create(&asker, NULL, ask_on, &asking), 0);
    assert_int_equal(pthread_create(&putter, NULL, put_on, &putting), 0);
    while (atomic_load(&putting.put) < 2 || atomic_load(&asking.right) < 2) {
        usleep(1000);
    }
    redis_server_kill(&cluster.servers[1]);
    pthread_join(putter, NULL);
    if (atomic_load(&putting.result) != 0) {
        (void)sbx_symbol_store_trouble(putting.store, words, sizeof words);
        fail_msg("image %u: %s: %s", atomic_load(&putting.put), strerror(-atomic_load(&putting.result)), words);
    }
    assert_int_equal(atomic_load(&putting.put), DURING);
    time_t until = time(NULL) + PATIENCE_S;
    for (unsigned i = 1; i <= BEFORE + DURING; i++) {
        enum store_image_answer answer;
        while ((answer = ask(putting.store, i)) != STORE_IMAGE_RIGHT && time(NULL) < until) {
            assert_int_not_equal(answer, STORE_IMAGE_WRONG);
            usleep(50000);
        }
        assert_int_equal(answer, STORE_IMAGE_RIGHT);
    }
    unsigned right = atomic_load(&asking.right);
    while (atomic_load(&asking.right) < right + 2 * BEFORE &&
           time(NULL) < until) { /* until the reader has found the new one too */
        usleep(10000);
    }
    atomic_store(&asking.is_over, true);
    pthread_join(asker, NULL);
    assert_true(atomic_load(&asking.right) >= right + 2 * BEFORE);
    assert_int_equal(atomic_load(&asking.wrong), 0);
    print_message("while a master died: %u answers right, %u missing, %u wrong\n", atomic_load(&asking.right),
                  atomic_load(&asking.missing), atomic_load(&asking.wrong));
    struct sbx_store_entry *entries;
    size_t count;
    assert_int_equal(sbx_symbol_store_list(putting.store, &entries, &count), 0);
    assert_int_equal(count, BEFORE + DURING);
    free(entries);
    sbx_symbol_store_close(asking.store);
    sbx_symbol_store_close(putting.store);
}

static void test_a_cluster_that_is_gone_ends_in_words(void **state)
{
    (void)state;
    struct sbx_symbol_store *store = open_store(0);
    struct sbx_symbol_image *image;
    const uint8_t id[IMAGE_ID_BYTES] = {1};
    char words[700];
    for (size_t i = 0; i < cluster.count; i++) {
        redis_server_kill(&cluster.servers[i]);
    }
    time_t begin_s = time(NULL);
    assert_true(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 0, &image) < 0);
    assert_true(time(NULL) - begin_s < PATIENCE_S);
    assert_true(sbx_symbol_store_trouble(store, words, sizeof words));
    assert_non_null(strstr(words, "Connection refused"));
    sbx_symbol_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots_are_counted_as_the_servers_count_them),
        cmocka_unit_test(test_who_connects_once_reaches_all_masters),
        cmocka_unit_test(test_a_slot_that_moves_is_followed_while_it_moves_and_after),
        cmocka_unit_test(test_a_master_that_dies_in_the_middle_loses_nothing_and_makes_nothing_wrong),
        cmocka_unit_test(test_a_cluster_that_is_gone_ends_in_words),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
