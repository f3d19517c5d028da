/* SPDX-License-Identifier: Apache-2.0 */
/* test_payload_list.c - the meaning of a PATH: folders, order, duplicates, and files that are no payload. */
#include <errno.h>
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

#include "envelope_format.h"
#include "payload_list.h"
#include "recording_format.h"
#include "run_tool.h"
#include "stall.h"

static char *spool;
static struct sbx_payload_list list;

static char *path_of(const char *name)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", spool, name) > 0);
    return path;
}

static void make_subfolder(const char *name)
{
    char *path = path_of(name);
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
}

static int set_up(void **state)
{
    (void)state;
    spool = make_folder();
    make_subfolder("raw");
    make_subfolder("sent");
    make_subfolder("bad");
    list = (struct sbx_payload_list){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sbx_payload_list_finish(&list);
    remove_folder(spool);
    return 0;
}

static void set_age(const char *path, int seconds)
{
    const struct timespec times[2] = {{.tv_sec = 1700000000 - seconds}, {.tv_sec = 1700000000 - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The head of an envelope: enough for the list, not enough to decode. */
static void put_payload(const char *name, uint8_t id, int age_s)
{
    uint8_t bytes[SBX_ENVELOPE_HEADER_BYTES] = {0};
    memcpy(bytes, SBX_ENVELOPE_MAGIC, 4);
    bytes[4] = SBX_ENVELOPE_VERSION;
    memset(bytes + 16, id, SBX_PAYLOAD_ID_BYTES);
    char *path = write_file(spool, name, bytes, sizeof bytes, 0600);
    set_age(path, age_s);
    free(path);
}

static void put_snapshot(const char *name, uint8_t id, int age_s)
{
    struct sbx_recording_header header = {.version = SBX_RECORDING_VERSION};
    memcpy(header.magic, SBX_RECORDING_MAGIC, sizeof header.magic);
    memset(header.snapshot_id, id, sizeof header.snapshot_id);
    char *path = write_file(spool, name, &header, sizeof header, 0600);
    set_age(path, age_s);
    free(path);
}

static void add(const char *name)
{
    char *path = name[0] == '\0' ? strdup(spool) : path_of(name);
    assert_non_null(path);
    assert_int_equal(sbx_payload_list_add(&list, "test", path), 0);
    free(path);
}

static void assert_entry(size_t index, const char *name, bool raw)
{
    char *path = path_of(name);
    assert_true(index < list.count);
    assert_string_equal(list.entries[index].path, path);
    assert_int_equal(list.entries[index].raw, raw);
    free(path);
}

static void test_a_spool_gives_raw_waiting_and_sent_oldest_first(void **state)
{
    (void)state;
    put_payload("cc.sbx", 0xcc, 20);
    put_payload("sent/aa.sbx", 0xaa, 40);
    put_snapshot("raw/dd.raw", 0xdd, 10);
    put_payload("bb.sbx", 0xbb, 30);
    put_payload("bad/ee.sbx", 0xee, 50); /* could not be read: not listed again */
    add("");
    assert_int_equal(list.count, 4);
    assert_entry(0, "sent/aa.sbx", false);
    assert_entry(1, "bb.sbx", false);
    assert_entry(2, "cc.sbx", false);
    assert_entry(3, "raw/dd.raw", true);
    assert_string_equal(list.entries[0].id, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(list.failures, 0);
}

/* A damaged copy must not hide an undamaged one. Both are listed, and known to claim the same payload. */
static void test_one_id_in_several_folders_and_paths_counts_as_one_payload(void **state)
{
    (void)state;
    put_snapshot("raw/aa.raw", 0xaa, 30);
    put_payload("aa.sbx", 0xaa, 20);
    put_payload("sent/aa.sbx", 0xaa, 10);
    add("");
    add("aa.sbx");
    assert_int_equal(list.count, 4);
    assert_int_equal(sbx_payload_list_distinct(&list), 1);
    put_payload("bb.sbx", 0xbb, 10);
    add("bb.sbx");
    assert_int_equal(sbx_payload_list_distinct(&list), 2);
    assert_int_equal(list.failures, 0);
}

static void test_what_a_file_is_shows_in_its_bytes_not_its_name(void **state)
{
    (void)state;
    put_snapshot("looks-like-a-payload.sbx", 0xaa, 10);
    put_payload("no-suffix", 0xbb, 10);
    add("looks-like-a-payload.sbx");
    add("no-suffix");
    assert_int_equal(list.count, 2);
    assert_entry(0, "looks-like-a-payload.sbx", true);
    assert_entry(1, "no-suffix", false);
}

static void test_live_recordings_have_no_id_and_do_not_hide_each_other(void **state)
{
    (void)state;
    put_snapshot("one.rec", 0, 10);
    put_snapshot("two.rec", 0, 10);
    add("one.rec");
    add("two.rec");
    assert_int_equal(list.count, 2);
    assert_int_equal(sbx_payload_list_distinct(&list), 2);
    assert_string_equal(list.entries[0].id, "");
}

static void test_files_being_written_and_foreign_files_are_passed_over(void **state)
{
    (void)state;
    put_payload(".aa.sbx.123.tmp", 0xaa, 10);
    put_payload(".hidden.sbx", 0xab, 10);
    free(write_file(spool, "modules", "00 /bin/true\n", 13, 0600));
    free(write_file(spool, "notes.txt", "hello", 5, 0600));
    put_payload("bb.sbx", 0xbb, 10);
    add("");
    assert_int_equal(list.count, 1);
    assert_entry(0, "bb.sbx", false);
    assert_int_equal(list.failures, 0);
}

static void test_an_empty_spool_a_missing_path_and_foreign_bytes_are_failures(void **state)
{
    (void)state;
    add("");
    assert_int_equal(list.failures, 1);
    add("missing.sbx");
    assert_int_equal(list.failures, 2);
    free(write_file(spool, "short.sbx", "SBX1", 4, 0600));
    add("short.sbx");
    assert_int_equal(list.failures, 3);
    free(write_file(spool, "empty.sbx", "", 0, 0600));
    add("empty.sbx");
    assert_int_equal(list.failures, 4);
    add("");
    assert_int_equal(list.failures, 6); /* both files, each by name; the folder does contain something */
    assert_int_equal(list.count, 0);
}

static void test_a_pipe_is_refused_without_waiting_for_a_writer(void **state)
{
    (void)state;
    char *path = path_of("pipe.sbx");
    assert_int_equal(mkfifo(path, 0600), 0);
    add("pipe.sbx");
    assert_int_equal(list.failures, 1);
    assert_int_equal(list.count, 0);
    free(path);
}

static void test_the_module_index_is_found_from_every_folder_of_a_spool(void **state)
{
    (void)state;
    put_payload("sent/aa.sbx", 0xaa, 10);
    put_snapshot("raw/bb.raw", 0xbb, 10);
    put_payload("cc.sbx", 0xcc, 10);
    add("");
    assert_int_equal(list.index_count, 0); /* there is no index yet */
    char *index = write_file(spool, "modules", "", 0, 0600);
    static const char *const paths[] = {"", "raw", "sent", "sent/aa.sbx", "raw/bb.raw", "cc.sbx"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        sbx_payload_list_finish(&list);
        add(paths[i]);
        assert_int_equal(list.index_count, 1);
        assert_string_equal(list.indexes[0], index);
    }
    add("");
    assert_int_equal(list.index_count, 1); /* and once only */
    free(index);
}

static void test_a_payload_that_moves_on_while_it_is_read_is_followed(void **state)
{
    (void)state;
    put_snapshot("raw/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.raw", 0xaa, 10);
    add("");
    assert_int_equal(list.count, 1);
    char *raw = path_of("raw/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.raw");
    assert_int_equal(unlink(raw), 0);
    free(raw);

    char why[200];
    struct sbx_stall *stall = NULL;
    assert_int_equal(sbx_payload_load(&list.entries[0], NULL, NULL, &stall, why, sizeof why), -ENOENT);
    put_payload("sent/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.sbx", 0xaa, 10);
    /* Found at its new place. The answer is about the bytes there, which are a head without a body. */
    assert_int_equal(sbx_payload_load(&list.entries[0], NULL, NULL, &stall, why, sizeof why), -EPROTO);
}

static void test_a_corrupt_payload_and_an_endless_one_are_refused_with_a_reason(void **state)
{
    (void)state;
    put_payload("aa.sbx", 0xaa, 10);
    put_payload("bb.sbx", 0xbb, 10);
    put_snapshot("raw/cc.raw", 0xcc, 10);
    char *large = path_of("bb.sbx");
    assert_int_equal(truncate(large, SBX_ENVELOPE_BYTES_MAX + 1), 0);
    set_age(large, 5);
    free(large);
    add("");
    assert_int_equal(list.count, 3);
    for (size_t i = 0; i < list.count; i++) {
        char why[200] = "";
        struct sbx_stall *stall = NULL;
        assert_true(sbx_payload_load(&list.entries[i], NULL, NULL, &stall, why, sizeof why) < 0);
        assert_null(stall);
        assert_true(strlen(why) > 0);
        if (list.entries[i].id[0] == 'b') {
            assert_non_null(strstr(why, "larger than a payload may be"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_spool_gives_raw_waiting_and_sent_oldest_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_id_in_several_folders_and_paths_counts_as_one_payload, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_a_file_is_shows_in_its_bytes_not_its_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_live_recordings_have_no_id_and_do_not_hide_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_being_written_and_foreign_files_are_passed_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_empty_spool_a_missing_path_and_foreign_bytes_are_failures, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_pipe_is_refused_without_waiting_for_a_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_module_index_is_found_from_every_folder_of_a_spool, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_payload_that_moves_on_while_it_is_read_is_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_corrupt_payload_and_an_endless_one_are_refused_with_a_reason, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
