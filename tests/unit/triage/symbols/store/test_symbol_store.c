/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_store.c - a stored image stays unchanged until a better one is stored or it is no longer used. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol_store.h"

enum {
    DAY_S = 86400
};

static const uint8_t id[20] = {0xab, 0xcd, 1}, other_id[20] = {0xab, 0xcd, 2};
static const char id_file[] = "abcd010000000000000000000000000000000000.sym";
static char folder[64], versions[128];
static struct sbx_symbol_store *store;

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_symbol_store.XXXXXX");
    if (mkdtemp(folder) == NULL || sbx_symbol_store_open(folder, "default", true, &store) != 0) {
        return -1;
    }
    snprintf(versions, sizeof versions, "%s/default/v%d", folder, SBX_SYMBOL_PARSER_VERSION);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    sbx_symbol_store_close(store);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Write an image of one function with the name `name` to `fd`. */
static int write_image(int fd, const uint8_t *build_id, const char *name, enum sbx_symbol_source source)
{
    struct sbx_places *places = sbx_places_create();
    struct sbx_image_facts facts = {.build_id_bytes = 20, .best = source, .made_s = 1};
    memcpy(facts.build_id, build_id, 20);
    uint32_t text = sbx_places_add_text(places, name);
    uint32_t function = sbx_places_add_function(places, (struct sbx_function){text, (uint8_t)source, false});
    const struct sbx_span span = {0x1000, 0x3000, sbx_places_add(places, (struct sbx_place){.function = function})};
    int result = sbx_symbol_image_write(fd, &facts, places, &span, 1);
    sbx_places_destroy(places);
    return result;
}

static int put(const uint8_t *build_id, const char *name, enum sbx_symbol_source source,
               enum sbx_store_outcome *outcome)
{
    struct sbx_store_draft draft;
    int fd;
    int result = sbx_symbol_store_begin(store, &draft, &fd);
    if (result == 0) {
        result = write_image(fd, build_id, name, source);
        close(fd);
    }
    return result == 0 ? sbx_symbol_store_commit(store, &draft, build_id, 20, outcome, NULL) : result;
}

static enum sbx_store_outcome must_put(const char *name, enum sbx_symbol_source source)
{
    enum sbx_store_outcome outcome;
    assert_int_equal(put(id, name, source, &outcome), 0);
    return outcome;
}

/* The name at address 0x2000 of `build_id` in the store, asked at time `now_s`; "" for none. */
static const char *ask(const uint8_t *build_id, uint64_t now_s)
{
    static char name[64];
    struct sbx_symbol_image *image;
    struct sbx_code_frame frame;
    if (sbx_symbol_store_find(store, build_id, 20, now_s, 1 << 20, &image) != 0) {
        return "";
    }
    assert_int_equal(sbx_symbol_image_find(image, 0x2000, &frame, 1), 1);
    snprintf(name, sizeof name, "%s", frame.name);
    sbx_symbol_image_close(image);
    return name;
}

static uint64_t now_s(void)
{
    return (uint64_t)time(NULL);
}

/* How many file names in the store's folder begin with `prefix`. */
static size_t count_names(const char *prefix)
{
    DIR *listed = opendir(versions);
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(listed)) != NULL) {
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    closedir(listed);
    return count;
}

static void test_what_was_put_is_found_by_its_build_id_alone(void **state)
{
    (void)state;
    assert_string_equal(ask(id, now_s()), "");
    assert_int_equal(must_put("main", SBX_SYMBOLS_DWARF), SBX_STORE_ADDED);
    assert_string_equal(ask(id, now_s()), "main");
    assert_string_equal(ask(other_id, now_s()), "");
    assert_int_equal(count_names(".draft-"), 0);
    struct sbx_symbol_image *image;
    assert_int_equal(sbx_symbol_store_find(store, id, 19, now_s(), 0, &image), -ENOENT);
    assert_int_equal(sbx_symbol_store_find(store, id, 0, now_s(), 0, &image), -ENOENT);
    assert_int_equal(sbx_symbol_store_find(store, id, 4000, now_s(), 0, &image), -ENOENT);
}

static void test_sym_03_a_different_upload_never_replaces_what_is_there(void **state)
{
    (void)state;
    assert_int_equal(must_put("main", SBX_SYMBOLS_DWARF), SBX_STORE_ADDED);
    assert_int_equal(must_put("main", SBX_SYMBOLS_DWARF), SBX_STORE_SAME);
    assert_int_equal(must_put("poisoned", SBX_SYMBOLS_DWARF), SBX_STORE_DIFFERENT);
    assert_string_equal(ask(id, now_s()), "main");
    assert_int_equal(sbx_symbol_store_remove(store, id, 20), 0);
    assert_int_equal(sbx_symbol_store_remove(store, id, 20), -ENOENT);
    assert_int_equal(must_put("other", SBX_SYMBOLS_DWARF), SBX_STORE_ADDED);
    assert_string_equal(ask(id, now_s()), "other");
}

static void test_what_is_better_replaces_and_what_is_worse_does_not(void **state)
{
    (void)state;
    assert_int_equal(must_put("exported", SBX_SYMBOLS_DYNSYM), SBX_STORE_ADDED);
    assert_int_equal(must_put("symbol", SBX_SYMBOLS_SYMTAB), SBX_STORE_REPLACED);
    assert_int_equal(must_put("exported", SBX_SYMBOLS_DYNSYM), SBX_STORE_KEPT);
    assert_int_equal(must_put("written", SBX_SYMBOLS_DWARF), SBX_STORE_REPLACED);
    assert_int_equal(must_put("symbol", SBX_SYMBOLS_SYMTAB), SBX_STORE_KEPT);
    assert_string_equal(ask(id, now_s()), "written");
}

static void test_a_damaged_image_is_listed_answers_nothing_and_is_replaced(void **state)
{
    (void)state;
    char path[256];
    struct sbx_store_entry *entries;
    size_t count;
    assert_int_equal(must_put("main", SBX_SYMBOLS_DWARF), SBX_STORE_ADDED);
    snprintf(path, sizeof path, "%s/%s", versions, id_file);
    assert_int_equal(truncate(path, 100), 0);
    assert_string_equal(ask(id, now_s()), "");
    assert_int_equal(sbx_symbol_store_list(store, &entries, &count), 0);
    assert_int_equal(count, 1);
    assert_true(entries[0].is_damaged);
    free(entries);
    assert_int_equal(must_put("main", SBX_SYMBOLS_SYMTAB), SBX_STORE_REPLACED);
    assert_string_equal(ask(id, now_s()), "main");
}

/* SYM-2: the build-id in the file must be the one that it is stored under. */
static void test_sym_02_a_draft_of_another_build_id_or_of_no_image_is_refused(void **state)
{
    (void)state;
    struct sbx_store_draft draft;
    enum sbx_store_outcome outcome;
    int fd;
    assert_int_equal(sbx_symbol_store_begin(store, &draft, &fd), 0);
    assert_int_equal(write_image(fd, other_id, "main", SBX_SYMBOLS_DWARF), 0);
    close(fd);
    assert_int_equal(sbx_symbol_store_commit(store, &draft, id, 20, &outcome, NULL), -EBADMSG);
    assert_int_equal(sbx_symbol_store_begin(store, &draft, &fd), 0);
    assert_int_equal(write(fd, "no image", 8), 8);
    close(fd);
    assert_int_equal(sbx_symbol_store_commit(store, &draft, id, 20, &outcome, NULL), -EBADMSG);
    assert_int_equal(sbx_symbol_store_begin(store, &draft, &fd), 0);
    assert_int_equal(write_image(fd, id, "main", SBX_SYMBOLS_DWARF), 0);
    assert_int_equal(pwrite(fd, "\xff\xff\xff", 3, 260), 3); /* inside of a chunk */
    close(fd);
    assert_int_equal(sbx_symbol_store_commit(store, &draft, id, 20, &outcome, NULL), -EBADMSG);
    assert_int_equal(count_names(".draft-"), 0);
    assert_int_equal(count_names("abcd"), 0);
}

static void test_a_question_keeps_an_image_and_is_noted_once_a_day(void **state)
{
    (void)state;
    char path[256];
    struct stat status;
    uint64_t begin = now_s();
    assert_int_equal(must_put("main", SBX_SYMBOLS_DWARF), SBX_STORE_ADDED);
    snprintf(path, sizeof path, "%s/%s", versions, id_file);
    assert_string_equal(ask(id, begin + DAY_S / 2), "main");
    assert_int_equal(stat(path, &status), 0);
    assert_true((uint64_t)status.st_mtime < begin + DAY_S / 2); /* the time is not updated again within the day */
    assert_string_equal(ask(id, begin + 40 * DAY_S), "main");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mtime, begin + 40 * DAY_S);
    assert_int_equal(sbx_symbol_store_sweep(store, begin + 80 * DAY_S), 0);
    assert_string_equal(ask(id, begin + 41 * DAY_S), "main");
    assert_int_equal(sbx_symbol_store_sweep(store, begin + 87 * DAY_S), 1);
    assert_string_equal(ask(id, begin + 87 * DAY_S), "");
}

/* Put a file into FOLDER/TENANT/VERSION that was last used at `used_s`. The second function: whether it still
 * exists. */
static void put_file(const char *tenant, const char *version, const char *name, uint64_t used_s)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, tenant);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/%s/%s", folder, tenant, version);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/%s/%s/%s", folder, tenant, version, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const struct timespec times[2] = {{.tv_sec = (time_t)used_s}, {.tv_sec = (time_t)used_s}};
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static bool is_there(const char *tenant, const char *version, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s/%s", folder, tenant, version, name);
    return access(path, F_OK) == 0;
}

/* After an upgrade the files of the earlier version are neither read nor written. */
static void test_what_other_versions_and_tenants_left_goes_by_age(void **state)
{
    (void)state;
    uint64_t now = now_s();
    put_file("default", "v1", id_file, now - 46 * DAY_S);
    put_file("default", "v1", ".draft-1", now - 2 * DAY_S);
    put_file("default", "v1", "notes.txt", now - 400 * DAY_S);
    put_file("default", "v99", id_file, now - 44 * DAY_S);
    put_file("default", "vivid", id_file, now - 400 * DAY_S);
    put_file("other", "v1", id_file, now - 46 * DAY_S);
    put_file("other", strrchr(versions, '/') + 1, id_file, now - 46 * DAY_S);
    assert_int_equal(must_put("main", SBX_SYMBOLS_DWARF), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_sweep(store, now), 3);
    assert_false(is_there("default", "v1", id_file));
    assert_false(is_there("default", "v1", ".draft-1"));
    assert_false(is_there("other", "v1", id_file));
    assert_false(is_there("other", strrchr(versions, '/') + 1, id_file));
    assert_true(is_there("default", "v1", "notes.txt"));
    assert_true(is_there("default", "v99", id_file));
    assert_true(is_there("default", "vivid", id_file));
    assert_string_equal(ask(id, now), "main");
}

/* Each tenant sees only its own files; names that would lead elsewhere are refused. */
static void test_sym_01_tenants_do_not_see_each_other(void **state)
{
    (void)state;
    static const char *const bad[] = {"", ".", "..", "../default", "a/b", ".hidden", "a b", "a\n"};
    struct sbx_symbol_store *mine = store, *theirs;
    assert_int_equal(must_put("main", SBX_SYMBOLS_DWARF), SBX_STORE_ADDED);
    assert_int_equal(sbx_symbol_store_open(folder, "another-tenant_1", false, &theirs), -ENOENT);
    assert_int_equal(sbx_symbol_store_open(folder, "another-tenant_1", true, &theirs), 0);
    store = theirs;
    assert_string_equal(ask(id, now_s()), "");
    store = mine;
    sbx_symbol_store_close(theirs);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(sbx_symbol_store_open(folder, bad[i], true, &theirs), -EINVAL);
    }
}

static void test_a_folder_that_others_may_write_to_is_not_used(void **state)
{
    (void)state;
    struct sbx_symbol_store *opened;
    assert_int_equal(chmod(versions, 0777), 0);
    assert_int_equal(sbx_symbol_store_open(folder, "default", true, &opened), -EPERM);
    assert_int_equal(chmod(versions, 0700), 0);
    assert_int_equal(chmod(folder, 0775), 0);
    assert_int_equal(sbx_symbol_store_open(folder, "default", false, &opened), -EPERM);
}

static void test_a_link_in_an_images_place_is_not_followed(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", versions, id_file);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_string_equal(ask(id, now_s()), "");
    assert_int_equal(unlink(path), 0);
}

/* SYM-10: writers that are killed at any moment leave the old image or the complete new one. */
static void test_sym_10_a_writer_killed_anywhere_leaves_something_whole(void **state)
{
    (void)state;
    uint64_t random = 77;
    for (int round = 0; round < 40; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (;;) { /* it is stored, replaced, removed */
                enum sbx_store_outcome outcome;
                if (put(id, "main", SBX_SYMBOLS_SYMTAB, &outcome) != 0 ||
                    put(id, "main", SBX_SYMBOLS_DWARF, &outcome) != 0 || sbx_symbol_store_remove(store, id, 20) != 0) {
                    _exit(1);
                }
            }
        }
        random = random * UINT64_C(6364136223846793005) + 1;
        usleep(500 + (random >> 40) % 8000);
        kill(pid, SIGKILL);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        const char *name = ask(id, now_s());
        assert_true(name[0] == '\0' || strcmp(name, "main") == 0);
        assert_true(count_names("abcd") == 0 || name[0] != '\0'); /* an existing file holds a complete image */
    }
    enum sbx_store_outcome outcome;
    assert_int_equal(put(id, "main", SBX_SYMBOLS_DWARF, &outcome), 0); /* no lock was left behind */
    assert_true(sbx_symbol_store_sweep(store, now_s() + 2 * DAY_S) >= 0);
    assert_int_equal(count_names(".draft-"), 0);
    assert_string_equal(ask(id, now_s()), "main");
}

static void test_the_list_is_sorted_and_holds_images_only(void **state)
{
    (void)state;
    struct sbx_store_entry *entries;
    enum sbx_store_outcome outcome;
    char path[256];
    size_t count;
    assert_int_equal(put(other_id, "b", SBX_SYMBOLS_SYMTAB, &outcome), 0);
    assert_int_equal(put(id, "a", SBX_SYMBOLS_DWARF, &outcome), 0);
    snprintf(path, sizeof path, "%s/notes.txt", versions);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(sbx_symbol_store_list(store, &entries, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(strncmp(entries[0].build_id, "abcd01", 6), 0);
    assert_int_equal(entries[0].facts.best, SBX_SYMBOLS_DWARF);
    assert_int_equal(entries[1].facts.best, SBX_SYMBOLS_SYMTAB);
    assert_int_equal(entries[1].facts.code_bytes, 0x2000);
    assert_true(entries[0].file_bytes > 200 && entries[0].used_s > 0);
    free(entries);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_what_was_put_is_found_by_its_build_id_alone),
        TEST(test_sym_03_a_different_upload_never_replaces_what_is_there),
        TEST(test_what_is_better_replaces_and_what_is_worse_does_not),
        TEST(test_a_damaged_image_is_listed_answers_nothing_and_is_replaced),
        TEST(test_sym_02_a_draft_of_another_build_id_or_of_no_image_is_refused),
        TEST(test_a_question_keeps_an_image_and_is_noted_once_a_day),
        TEST(test_what_other_versions_and_tenants_left_goes_by_age),
        TEST(test_sym_01_tenants_do_not_see_each_other),
        TEST(test_a_folder_that_others_may_write_to_is_not_used),
        TEST(test_a_link_in_an_images_place_is_not_followed),
        TEST(test_sym_10_a_writer_killed_anywhere_leaves_something_whole),
        TEST(test_the_list_is_sorted_and_holds_images_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
