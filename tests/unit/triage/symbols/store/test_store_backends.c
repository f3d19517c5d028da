/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_backends.c - properties of every store: the same tests with a folder, a Redis server, and a Redis
 * Cluster. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "redis_servers.h"
#include "store_images.h"

enum {
    WRITERS = 4
};

static struct redis_servers servers; /* of the tested backend: none, one, or three */
static char where[200], folder[64];
static struct sbx_symbol_store *store;
static uint8_t id[IMAGE_ID_BYTES]; /* another one in each test, because the servers keep running */

static struct sbx_symbol_store *open_store(const char *tenant)
{
    struct sbx_symbol_store *opened = NULL;
    char why[200];
    assert_int_equal(sbx_symbol_store_open_at(where, tenant, true, &opened, why, sizeof why), 0);
    return opened;
}

static int begin_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_store_backends.XXXXXX");
    assert_non_null(mkdtemp(folder));
    strcpy(where, folder);
    servers.count = 0;
    return 0;
}

static int begin_redis(void **state)
{
    (void)state;
    servers.count = 1;
    redis_server_start(&servers.servers[0], false, NULL, NULL);
    snprintf(where, sizeof where, "redis://127.0.0.1:%u/2", servers.servers[0].port);
    return 0;
}

static int begin_cluster(void **state)
{
    (void)state;
    redis_servers_start(&servers, false);
    snprintf(where, sizeof where, "redis+cluster://127.0.0.1:%u", servers.servers[1].port);
    return 0;
}

static int end_backend(void **state)
{
    (void)state;
    char command[128];
    redis_servers_stop(&servers);
    if (folder[0] != '\0') {
        snprintf(command, sizeof command, "rm -rf %s", folder);
        (void)!system(command);
        folder[0] = '\0';
    }
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    static uint8_t number;
    id[0] = ++number;
    store = open_store("default");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char words[700] = "";
    bool was_trouble = sbx_symbol_store_trouble(store, words, sizeof words);
    sbx_symbol_store_close(store);
    if (was_trouble) {
        print_error("%s\n", words);
    }
    return was_trouble ? -1 : 0; /* here the store itself works */
}

static enum sbx_store_outcome must_put(const char *name, enum sbx_symbol_source source, enum sbx_symbol_source *before)
{
    enum sbx_store_outcome outcome;
    assert_int_equal(store_image_put(store, id, name, source, IMAGE_CHUNKS, &outcome, before), 0);
    return outcome;
}

static enum store_image_answer ask(const char *name)
{
    return store_image_ask(store, id, name, IMAGE_CHUNKS);
}

/* The entry of `id`, if it exists. */
static bool list_has(struct sbx_store_entry *entry_out)
{
    struct sbx_store_entry *entries;
    size_t count;
    bool has = false;
    char first[3];
    snprintf(first, sizeof first, "%02x", id[0]);
    assert_int_equal(sbx_symbol_store_list(store, &entries, &count), 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || strcmp(entries[i - 1].build_id, entries[i].build_id) < 0); /* sorted, each only once */
        if (strncmp(entries[i].build_id, first, 2) == 0) {
            *entry_out = entries[i];
            has = true;
        }
    }
    free(entries);
    return has;
}

static void test_what_was_put_is_found_by_its_build_id_alone(void **state)
{
    (void)state;
    const uint8_t other[IMAGE_ID_BYTES] = {0xff, 0xff};
    struct sbx_symbol_image *image;
    assert_int_equal(ask("f"), STORE_IMAGE_NONE);
    assert_int_equal(must_put("f", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    assert_int_equal(ask("f"), STORE_IMAGE_RIGHT);
    assert_int_equal(store_image_ask(store, other, "f", IMAGE_CHUNKS), STORE_IMAGE_NONE);
    assert_int_equal(sbx_symbol_store_find(store, id, 19, 1, 0, &image), -ENOENT);
    assert_int_equal(sbx_symbol_store_find(store, id, 0, 1, 0, &image), -ENOENT);
    assert_int_equal(sbx_symbol_store_find(store, id, 4000, 1, 0, &image), -ENOENT);
}

static void test_a_different_upload_never_replaces_what_is_there(void **state)
{
    (void)state;
    assert_int_equal(must_put("f", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    assert_int_equal(must_put("f", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_SAME);
    assert_int_equal(must_put("poisoned", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_DIFFERENT);
    assert_int_equal(ask("f"), STORE_IMAGE_RIGHT);
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), -ENOENT);
    assert_int_equal(ask("f"), STORE_IMAGE_NONE);
    assert_int_equal(must_put("other", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    assert_int_equal(ask("other"), STORE_IMAGE_RIGHT);
}

static void test_what_is_better_replaces_and_says_what_was_there(void **state)
{
    (void)state;
    enum sbx_symbol_source before;
    assert_int_equal(must_put("exported", SBX_SYMBOLS_DYNSYM, NULL), SBX_STORE_ADDED);
    assert_int_equal(must_put("symbol", SBX_SYMBOLS_SYMTAB, &before), SBX_STORE_REPLACED);
    assert_int_equal(before, SBX_SYMBOLS_DYNSYM);
    assert_int_equal(must_put("exported", SBX_SYMBOLS_DYNSYM, &before), SBX_STORE_KEPT);
    assert_int_equal(before, SBX_SYMBOLS_SYMTAB);
    assert_int_equal(must_put("written", SBX_SYMBOLS_DWARF, &before), SBX_STORE_REPLACED);
    assert_int_equal(must_put("symbol", SBX_SYMBOLS_SYMTAB, &before), SBX_STORE_KEPT);
    assert_int_equal(before, SBX_SYMBOLS_DWARF);
    assert_int_equal(ask("written"), STORE_IMAGE_RIGHT);
}

static void test_a_reader_goes_on_while_its_image_is_replaced(void **state)
{
    (void)state;
    struct sbx_symbol_image *image, *half;
    struct sbx_code_frame frame;
    assert_int_equal(must_put("symbol", SBX_SYMBOLS_SYMTAB, NULL), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 1 << 20, &image), 0);
    assert_int_equal(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 1 << 20, &half), 0);
    assert_int_equal(sbx_symbol_image_find(half, IMAGE_BEGIN + 0x1000, &frame, 1), 1);
    assert_int_equal(must_put("written", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_REPLACED);
    assert_int_equal(store_image_check(image, "symbol", IMAGE_CHUNKS), STORE_IMAGE_RIGHT);
    assert_int_equal(store_image_check(half, "symbol", IMAGE_CHUNKS), STORE_IMAGE_RIGHT);
    sbx_symbol_image_close(half);
    sbx_symbol_image_close(image);
}

static void test_fetching_many_at_once_answers_the_same(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    uint64_t addresses[300];
    assert_int_equal(must_put("f", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 1 << 20, &image), 0);
    for (size_t i = 0; i < 300; i++) { /* also code without names, and each twice */
        addresses[i] = i * 0x1000 * 17 % ((IMAGE_CHUNKS + 20) * 0x1000);
    }
    assert_int_equal(sbx_symbol_image_prefetch(image, addresses, 300), 0);
    assert_int_equal(store_image_check(image, "f", IMAGE_CHUNKS), STORE_IMAGE_RIGHT);
    sbx_symbol_image_close(image);
    /* A tiny cache must not change the answers. */
    assert_int_equal(sbx_symbol_store_find(store, id, IMAGE_ID_BYTES, 1, 10, &image), 0);
    assert_int_equal(sbx_symbol_image_prefetch(image, addresses, 300), 0);
    assert_int_equal(store_image_check(image, "f", IMAGE_CHUNKS), STORE_IMAGE_RIGHT);
    assert_false(sbx_symbol_image_is_troubled(image));
    sbx_symbol_image_close(image);
}

static void test_an_image_outlives_the_store_it_is_of(void **state)
{
    (void)state;
    struct sbx_symbol_image *image;
    struct sbx_symbol_store *other = open_store("default");
    assert_int_equal(must_put("f", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_find(other, id, IMAGE_ID_BYTES, 1, 1 << 20, &image), 0);
    sbx_symbol_store_close(other);
    assert_int_equal(store_image_check(image, "f", IMAGE_CHUNKS), STORE_IMAGE_RIGHT);
    sbx_symbol_image_close(image);
}

/* SYM-2: the build-id in the file must be the one that it is stored under. */
static void test_a_draft_of_another_build_id_or_of_no_image_is_refused(void **state)
{
    (void)state;
    struct sbx_store_draft draft;
    enum sbx_store_outcome outcome;
    uint8_t other[IMAGE_ID_BYTES] = {0};
    int fd;
    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(sbx_symbol_store_begin(store, &draft, &fd), 0);
        if (kind == 1) {
            assert_int_equal(write(fd, "no image", 8), 8);
        } else {
            assert_int_equal(store_image_write(fd, kind == 0 ? other : id, "f", SBX_SYMBOLS_DWARF, 4), 0);
        }
        if (kind == 2) {
            assert_int_equal(pwrite(fd, "\xff\xff\xff", 3, 400), 3); /* inside of a chunk */
        }
        close(fd);
        assert_int_equal(sbx_symbol_store_commit(store, &draft, id, IMAGE_ID_BYTES, &outcome, NULL), -EBADMSG);
    }
    assert_int_equal(sbx_symbol_store_begin(store, &draft, &fd), 0);
    close(fd);
    sbx_symbol_store_abandon(store, &draft);
    assert_int_equal(ask("f"), STORE_IMAGE_NONE);
}

static void test_the_list_says_what_is_there(void **state)
{
    (void)state;
    struct sbx_store_entry entry;
    assert_false(list_has(&entry));
    assert_int_equal(must_put("f", SBX_SYMBOLS_SYMTAB, NULL), SBX_STORE_ADDED);
    assert_true(list_has(&entry));
    assert_false(entry.is_damaged);
    assert_int_equal(strlen(entry.build_id), 2 * IMAGE_ID_BYTES);
    assert_int_equal(entry.facts.best, SBX_SYMBOLS_SYMTAB);
    assert_int_equal(entry.facts.function_count, IMAGE_CHUNKS - 1);
    assert_int_equal(entry.facts.code_bytes, (IMAGE_CHUNKS - 1) * 0x1000);
    assert_true(entry.file_bytes > IMAGE_CHUNKS * 32);
    assert_true(entry.used_s + 60 > (uint64_t)time(NULL) && entry.used_s <= (uint64_t)time(NULL));
    assert_true(sbx_symbol_store_sweep(store, (uint64_t)time(NULL)) >= 0);
    assert_true(list_has(&entry));
    assert_int_equal(sbx_symbol_store_remove(store, id, IMAGE_ID_BYTES), 0);
    assert_false(list_has(&entry));
}

static void test_tenants_do_not_see_each_other(void **state)
{
    (void)state;
    static const char *const bad[] = {"", ".", "..", "../default", "a/b", ".hidden", "a b", "a\n", "a*", "{a}"};
    struct sbx_symbol_store *mine = store, *theirs = open_store("another-tenant_1");
    struct sbx_store_entry entry;
    char why[200];
    assert_int_equal(must_put("f", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    store = theirs;
    assert_int_equal(ask("f"), STORE_IMAGE_NONE);
    assert_false(list_has(&entry));
    assert_int_equal(must_put("g", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    store = mine;
    assert_int_equal(ask("f"), STORE_IMAGE_RIGHT);
    sbx_symbol_store_close(theirs);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(sbx_symbol_store_open_at(where, bad[i], true, &theirs, why, sizeof why), -EINVAL);
    }
}

static void test_a_tenant_is_opened_by_another_and_outlives_it(void **state)
{
    (void)state;
    struct sbx_symbol_store *mine = store, *theirs, *again;
    assert_int_equal(sbx_symbol_store_of_tenant(mine, "../default", true, &theirs), -EINVAL);
    assert_int_equal(sbx_symbol_store_of_tenant(mine, "a-third", true, &theirs), 0);
    store = theirs;
    assert_int_equal(must_put("g", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_of_tenant(theirs, "default", false, &again), 0);
    sbx_symbol_store_close(theirs);
    store = again;
    assert_int_equal(ask("g"), STORE_IMAGE_NONE);
    assert_int_equal(sbx_symbol_store_of_tenant(again, "a-third", false, &theirs), 0);
    sbx_symbol_store_close(again);
    store = theirs;
    assert_int_equal(ask("g"), STORE_IMAGE_RIGHT);
    assert_int_equal(sbx_symbol_store_remove(theirs, id, IMAGE_ID_BYTES), 0);
    sbx_symbol_store_close(theirs);
    store = mine;
}

/* One of several processes that share the store; each has its own images. */
static void *ask_often(void *context)
{
    unsigned *wrong = context;
    for (int i = 0; i < 20; i++) {
        *wrong += ask("f") != STORE_IMAGE_RIGHT;
    }
    return NULL;
}

static void test_several_threads_share_a_store(void **state)
{
    (void)state;
    pthread_t threads[WRITERS];
    unsigned wrong[WRITERS] = {0};
    assert_int_equal(must_put("f", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_ADDED);
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &wrong[i]), 0);
    }
    for (int i = 0; i < 5; i++) {
        assert_int_equal(must_put("other", SBX_SYMBOLS_DWARF, NULL), SBX_STORE_DIFFERENT);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
}

/* All of them store their own names at the same time. One of them is first, and its image is complete. */
static void test_of_writers_at_the_same_moment_one_is_first(void **state)
{
    (void)state;
    pid_t pids[WRITERS];
    int ready[2], added = 0;
    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct sbx_symbol_store *own = open_store("default"); /* a connection must not be inherited */
            enum sbx_store_outcome outcome;
            char name[16], byte;
            close(ready[1]);
            (void)!read(ready[0], &byte, 1); /* until all processes are ready */
            snprintf(name, sizeof name, "w%d", i);
            int result = store_image_put(own, id, name, SBX_SYMBOLS_DWARF, IMAGE_CHUNKS, &outcome, NULL);
            _exit(result != 0 ? 100 : outcome == SBX_STORE_ADDED ? 1 : outcome == SBX_STORE_DIFFERENT ? 2 : 101);
        }
    }
    close(ready[0]);
    close(ready[1]);
    char first[16] = "";
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 2);
        if (WEXITSTATUS(status) == 1) {
            added++;
            snprintf(first, sizeof first, "w%d", i);
        }
    }
    assert_int_equal(added, 1);
    assert_int_equal(ask(first), STORE_IMAGE_RIGHT);
}

/* SYM-10: writers that are killed at any moment leave the old image or the complete new one. */
static void test_a_writer_killed_anywhere_leaves_something_whole(void **state)
{
    (void)state;
    uint64_t random = 77;
    unsigned whole = 0;
    /* On a slow machine nothing may be stored yet when the writer is killed; then it gets more time. */
    for (unsigned round = 0; round < 15 || (whole == 0 && round < 80); round++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct sbx_symbol_store *own = open_store("default");
            for (;;) { /* it is stored, replaced, removed */
                enum sbx_store_outcome outcome;
                if (store_image_put(own, id, "f", SBX_SYMBOLS_SYMTAB, IMAGE_CHUNKS, &outcome, NULL) != 0 ||
                    store_image_put(own, id, "f", SBX_SYMBOLS_DWARF, IMAGE_CHUNKS, &outcome, NULL) != 0 ||
                    sbx_symbol_store_remove(own, id, IMAGE_ID_BYTES) != 0) {
                    _exit(1);
                }
            }
        }
        random = random * UINT64_C(6364136223846793005) + 1;
        usleep(1000 + (unsigned)(random >> 40) % (30000 << (round / 16)));
        kill(pid, SIGKILL);
        int status;
        struct sbx_store_entry entry;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        bool is_listed = list_has(&entry);
        enum store_image_answer answer = ask("f");
        assert_int_equal(answer, is_listed ? STORE_IMAGE_RIGHT : STORE_IMAGE_NONE);
        whole += answer == STORE_IMAGE_RIGHT;
    }
    assert_true(whole > 0); /* otherwise nothing was tested */
    enum sbx_store_outcome outcome;
    assert_int_equal(store_image_put(store, id, "f", SBX_SYMBOLS_DWARF, IMAGE_CHUNKS, &outcome, NULL), 0);
    assert_int_equal(ask("f"), STORE_IMAGE_RIGHT);
}

int main(void)
{
#define IN_A_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_A_STORE(test_what_was_put_is_found_by_its_build_id_alone),
        IN_A_STORE(test_a_different_upload_never_replaces_what_is_there),
        IN_A_STORE(test_what_is_better_replaces_and_says_what_was_there),
        IN_A_STORE(test_a_reader_goes_on_while_its_image_is_replaced),
        IN_A_STORE(test_fetching_many_at_once_answers_the_same),
        IN_A_STORE(test_an_image_outlives_the_store_it_is_of),
        IN_A_STORE(test_a_draft_of_another_build_id_or_of_no_image_is_refused),
        IN_A_STORE(test_the_list_says_what_is_there),
        IN_A_STORE(test_tenants_do_not_see_each_other),
        IN_A_STORE(test_a_tenant_is_opened_by_another_and_outlives_it),
        IN_A_STORE(test_several_threads_share_a_store),
        IN_A_STORE(test_of_writers_at_the_same_moment_one_is_first),
        IN_A_STORE(test_a_writer_killed_anywhere_leaves_something_whole),
    };
    return cmocka_run_group_tests_name("a folder", tests, begin_folder, end_backend) +
           cmocka_run_group_tests_name("a Redis server", tests, begin_redis, end_backend) +
           cmocka_run_group_tests_name("a Redis Cluster", tests, begin_cluster, end_backend);
}
