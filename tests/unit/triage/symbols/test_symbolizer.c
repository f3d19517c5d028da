/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbolizer.c - files stay open while they are used, and are closed when others are needed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "build_id.h"
#include "payload_builder.h"
#include "symbol_make.h"
#include "symbolizer.h"

static uint8_t sample_id[32];

static int read_id(void **state)
{
    (void)state;
    int fd = open(SAMPLE_FULL, O_RDONLY | O_CLOEXEC);
    size_t bytes = sbx_build_id_read(fd, sample_id);
    close(fd);
    return bytes != 20;
}

static void test_file_is_opened_once_and_named_by_its_path(void **state)
{
    (void)state;
    const char *dirs[] = {SAMPLE_FOLDER}, *path;
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(dirs, 1);
    struct sbx_symbol_file *file = sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, &path);
    assert_non_null(file);
    assert_true(sbx_symbol_file_has_dwarf(file));
    assert_non_null(strstr(path, "symbol_sample"));
    assert_ptr_equal(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL), file);
    sbx_symbolizer_destroy(symbolizer);
}

static void test_many_modules_do_not_keep_many_files_open(void **state)
{
    (void)state;
    const char *dirs[] = {SAMPLE_FOLDER};
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(dirs, 1);
    uint8_t unknown[20] = {0xee};
    for (int round = 0; round < 3; round++) {
        assert_non_null(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL));
        for (int i = 0; i < 100; i++) { /* more than the limit, so that the sample is closed */
            unknown[1] = (uint8_t)i;
            assert_null(sbx_symbolizer_file(symbolizer, unknown, 20, NULL, NULL));
        }
    }
    sbx_symbolizer_destroy(symbolizer);
}

/* It reads only these folders. Another program on this machine may have loaded the sample and deleted its file since; a
 * symbolizer without this limit would look there too. */
static struct sbx_symbolizer *create_for(const char *const *dirs, size_t count)
{
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(dirs, count);
    assert_non_null(symbolizer);
    sbx_symbolizer_skip_local_files(symbolizer);
    return symbolizer;
}

static void test_new_index_brings_what_was_missing(void **state)
{
    (void)state;
    char index_path[] = "/tmp/test_symbolizer.XXXXXX", hex[65];
    struct sbx_symbolizer *symbolizer = create_for(NULL, 0);
    const char *path;
    assert_null(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, &path));
    assert_null(path);
    FILE *index = fdopen(mkstemp(index_path), "w");
    sbx_build_id_format(sample_id, 20, hex);
    fprintf(index, "%s %s\n", hex, SAMPLE_STRIPPED);
    assert_int_equal(fclose(index), 0);
    assert_int_equal(sbx_symbolizer_add_index(symbolizer, index_path), 0);
    assert_non_null(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, &path));
    assert_string_equal(path, SAMPLE_STRIPPED);
    assert_int_equal(sbx_symbolizer_add_index(symbolizer, "/no/such/index"), -ENOENT);
    unlink(index_path);
    sbx_symbolizer_destroy(symbolizer);
}

static time_t shown_s;

static time_t read_clock(void)
{
    return shown_s;
}

/* Copy a sample to FOLDER/NAME. */
static void put_file(const char *folder, const char *name, const char *sample)
{
    char command[600];
    snprintf(command, sizeof command, "cp %s %s/%s", sample, folder, name);
    assert_int_equal(system(command), 0);
}

static void test_what_was_not_found_is_looked_for_again_after_a_minute_and_not_before(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_symbolizer.XXXXXX", command[64];
    assert_non_null(mkdtemp(folder));
    const char *dirs[] = {folder};
    struct sbx_symbolizer *symbolizer = create_for(dirs, 1);
    shown_s = 1000;
    sbx_symbolizer_use_clock(symbolizer, read_clock);
    assert_null(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL));
    put_file(folder, "program", SAMPLE_STRIPPED);
    shown_s = 1059;
    assert_null(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL));
    shown_s = 1060;
    struct sbx_symbol_file *file = sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL);
    assert_non_null(file);
    assert_false(sbx_symbol_file_has_dwarf(file));

    put_file(folder, "program.debug", SAMPLE_DEBUG); /* this one is better */
    shown_s = 1119;
    assert_ptr_equal(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL), file);
    assert_false(sbx_symbol_file_has_dwarf(file));
    shown_s = 1120;
    file = sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL);
    assert_true(sbx_symbol_file_has_dwarf(file));

    snprintf(command, sizeof command, "rm -rf %s", folder); /* the best one that was found stays */
    assert_int_equal(system(command), 0);
    shown_s = 100000;
    assert_ptr_equal(sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL), file);
    sbx_symbolizer_destroy(symbolizer);
}

/* An index stores by build-id the name that a module had when it was recorded. The file may have been deleted or
 * replaced since. */
static void test_a_file_that_is_gone_or_replaced_keeps_its_name(void **state)
{
    (void)state;
    static const char *const paths[] = {"/no/such/folder/server", "/etc/passwd"};
    uint8_t id[20]; /* of no program, because a running program is found too, and the sample may run */
    for (size_t i = 0; i < sizeof id; i++) {
        id[i] = (uint8_t)~sample_id[i];
    }
    for (int i = 0; i < 2; i++) {
        char index_path[] = "/tmp/test_symbolizer.XXXXXX", hex[65];
        const char *path;
        struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(NULL, 0);
        FILE *index = fdopen(mkstemp(index_path), "w");
        sbx_build_id_format(id, sizeof id, hex);
        fprintf(index, "%s %s\n", hex, paths[i]);
        assert_int_equal(fclose(index), 0);
        assert_int_equal(sbx_symbolizer_add_index(symbolizer, index_path), 0);
        assert_null(sbx_symbolizer_file(symbolizer, id, sizeof id, NULL, &path));
        assert_non_null(path);
        assert_string_equal(path, paths[i]);
        unlink(index_path);
        sbx_symbolizer_destroy(symbolizer);
    }
}

static void test_nothing_is_looked_for_without_an_id(void **state)
{
    (void)state;
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(NULL, 0);
    assert_null(sbx_symbolizer_file(symbolizer, sample_id, 0, "libc.so.6", NULL));
    assert_null(sbx_symbolizer_file(NULL, sample_id, 20, NULL, NULL));
    sbx_symbolizer_destroy(symbolizer);
}

/* Store the file `path` under the sample's build-id, if it has that build-id. */
static void put(struct sbx_symbol_store *store, const char *path)
{
    struct sbx_store_draft draft;
    struct sbx_image_facts facts;
    enum sbx_store_outcome outcome;
    char why[128];
    int out, fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(sbx_symbol_store_begin(store, &draft, &out), 0);
    struct sbx_making making = {.descriptors = &fd,
                                .descriptor_count = 1,
                                .alternate = -1,
                                .build_id = sample_id,
                                .build_id_bytes = 20,
                                .name = "kept",
                                .out = out};
    assert_int_equal(sbx_symbol_make(&making, &facts, why, sizeof why), 0);
    close(out);
    assert_int_equal(sbx_symbol_store_commit(store, &draft, sample_id, 20, &outcome, NULL), 0);
}

static void test_the_store_is_asked_first_unless_a_file_knows_better(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_symbolizer.XXXXXX", command[64];
    const char *dirs[] = {SAMPLE_FOLDER}, *path;
    struct sbx_symbol_store *store;
    enum sbx_symbol_source source;
    static struct sbx_symbol_frame frames[4];
    uint64_t hidden = sbx_build_symbol(SAMPLE_FULL, "sample_hidden");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(sbx_symbol_store_open(folder, "default", true, &store), 0);
    put(store, SAMPLE_STRIPPED); /* exported symbols only */

    struct sbx_symbolizer *alone = create_for(NULL, 0), *beside = sbx_symbolizer_create(dirs, 1);
    sbx_symbolizer_use_store(alone, store);
    sbx_symbolizer_use_store(beside, store);
    struct sbx_symbol_file *file = sbx_symbolizer_file(alone, sample_id, 20, NULL, &path);
    assert_non_null(file);
    assert_string_equal(path, "kept");
    assert_int_equal(sbx_symbol_file_find(file, hidden, frames, 4, &source), 0);
    assert_int_equal(sbx_symbol_file_find(file, sbx_build_symbol(SAMPLE_FULL, "sample_last"), frames, 4, &source), 1);
    assert_int_equal(source, SBX_SYMBOLS_DYNSYM);
    file = sbx_symbolizer_file(beside, sample_id, 20, NULL, NULL);
    assert_int_equal(sbx_symbol_file_find(file, hidden, frames, 4, &source), 1);
    assert_int_equal(source, SBX_SYMBOLS_DWARF);
    sbx_symbolizer_destroy(alone);
    sbx_symbolizer_destroy(beside);

    put(store, SAMPLE_DEBUG); /* better, so it replaces the first */
    alone = create_for(NULL, 0);
    sbx_symbolizer_use_store(alone, store);
    file = sbx_symbolizer_file(alone, sample_id, 20, NULL, NULL);
    assert_int_equal(sbx_symbol_file_find(file, hidden, frames, 4, &source), 1);
    assert_int_equal(source, SBX_SYMBOLS_DWARF);
    assert_string_equal(frames[0].function, "sample_hidden");
    assert_in_range(frames[0].line, 400, 404);
    sbx_symbolizer_destroy(alone);
    sbx_symbol_store_close(store);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* Each owner gets its own answers, although all are stored in one place. */
static void test_an_owners_store_is_asked_before_that_of_all(void **state)
{
    (void)state;
    char folder[] = "/tmp/test_symbolizer.XXXXXX", command[64];
    struct sbx_symbol_store *common, *own[2];
    enum sbx_symbol_source source;
    static struct sbx_symbol_frame frames[4];
    uint64_t hidden = sbx_build_symbol(SAMPLE_FULL, "sample_hidden");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(sbx_symbol_store_open(folder, "default", true, &common), 0);
    assert_int_equal(sbx_symbol_store_of_tenant(common, "app-1", true, &own[0]), 0);
    assert_int_equal(sbx_symbol_store_of_tenant(common, "app-2", true, &own[1]), 0);
    put(own[0], SAMPLE_DEBUG);
    put(common, SAMPLE_STRIPPED); /* exported symbols only: no sample_hidden */

    struct sbx_symbolizer *symbolizer = create_for(NULL, 0);
    sbx_symbolizer_use_store(symbolizer, common);
    for (int round = 0; round < 2; round++) {
        static const enum sbx_symbol_source wanted[] = {SBX_SYMBOLS_DWARF, SBX_SYMBOLS_NONE, SBX_SYMBOLS_NONE};
        for (size_t i = 0; i < 3; i++) { /* the third owner has no store */
            sbx_symbolizer_use_own_store(symbolizer, i < 2 ? own[i] : NULL, i + 1);
            struct sbx_symbol_file *file = sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL);
            assert_non_null(file);
            assert_int_equal(sbx_symbol_file_find(file, hidden, frames, 4, &source), wanted[i] == SBX_SYMBOLS_DWARF);
            assert_int_equal(source, wanted[i]);
        }
    }
    put(own[1], SAMPLE_DEBUG);
    sbx_symbolizer_forget(symbolizer, sample_id, 20);
    sbx_symbolizer_use_own_store(symbolizer, own[1], 2);
    struct sbx_symbol_file *file = sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL);
    assert_int_equal(sbx_symbol_file_find(file, hidden, frames, 4, &source), 1);

    put(common, SAMPLE_DEBUG); /* full debug information is preferred to an owner's exported symbols */
    assert_int_equal(sbx_symbol_store_remove(own[1], sample_id, 20), 0);
    put(own[1], SAMPLE_STRIPPED);
    sbx_symbolizer_forget(symbolizer, sample_id, 20);
    file = sbx_symbolizer_file(symbolizer, sample_id, 20, NULL, NULL);
    assert_int_equal(sbx_symbol_file_find(file, hidden, frames, 4, &source), 1);
    assert_int_equal(source, SBX_SYMBOLS_DWARF);
    sbx_symbolizer_destroy(symbolizer);
    sbx_symbol_store_close(own[0]);
    sbx_symbol_store_close(own[1]);
    sbx_symbol_store_close(common);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_is_opened_once_and_named_by_its_path),
        cmocka_unit_test(test_many_modules_do_not_keep_many_files_open),
        cmocka_unit_test(test_new_index_brings_what_was_missing),
        cmocka_unit_test(test_what_was_not_found_is_looked_for_again_after_a_minute_and_not_before),
        cmocka_unit_test(test_a_file_that_is_gone_or_replaced_keeps_its_name),
        cmocka_unit_test(test_nothing_is_looked_for_without_an_id),
        cmocka_unit_test(test_the_store_is_asked_first_unless_a_file_knows_better),
        cmocka_unit_test(test_an_owners_store_is_asked_before_that_of_all),
    };
    return cmocka_run_group_tests(tests, read_id, NULL);
}
