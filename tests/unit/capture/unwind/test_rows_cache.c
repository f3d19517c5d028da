/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows_cache.c - the folder of rows: files are stored, found and trimmed, and never trusted. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rows_cache.h"
#include "rows_sample.h"

enum {
    ROWS = 500
};

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/stallbox-rows-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

/* Calls `visit` for each file; returns how many there are. */
static unsigned for_each_file(void (*visit)(const char *path))
{
    unsigned count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        count++;
        if (visit != NULL) {
            visit(path);
        }
    }
    closedir(listing);
    return count;
}

static void take_away(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static int tear_down(void **state)
{
    (void)state;
    chmod(folder, 0700);
    for_each_file(take_away);
    return rmdir(folder);
}

static char only_path[512];

static void remember_path(const char *path)
{
    memcpy(only_path, path, strlen(path) + 1);
}

static const char *only_file(void)
{
    assert_int_equal(for_each_file(remember_path), 1);
    return only_path;
}

static struct sbx_rows_cache open_cache(void)
{
    struct sbx_rows_cache cache;
    assert_int_equal(sbx_rows_cache_open(&cache, folder), 0);
    return cache;
}

static void keep(struct sbx_rows_cache *cache, uint32_t seed, uint32_t count)
{
    struct sbx_rows_key key = sample_key(seed);
    struct sbx_unwind_rows rows = sample_rows(seed, count);
    assert_int_equal(sbx_rows_cache_put(cache, &key, &rows), 0);
    sbx_unwind_rows_release(&rows);
}

static bool has(struct sbx_rows_cache *cache, uint32_t seed)
{
    struct sbx_rows_key key = sample_key(seed);
    struct sbx_unwind_rows rows;
    int result = sbx_rows_cache_get(cache, &key, &rows);
    assert_true(result == 0 || result == -ENOENT);
    sbx_unwind_rows_release(&rows);
    return result == 0;
}

static void test_rows_that_were_put_are_found_by_the_next_process(void **state)
{
    (void)state;
    struct sbx_rows_cache first = open_cache(), second = open_cache();
    struct sbx_unwind_rows expected = sample_rows(7, ROWS), rows = sample_rows(7, ROWS), found;
    struct sbx_rows_key key = sample_key(7);
    assert_false(has(&first, 7));
    assert_int_equal(sbx_rows_cache_put(&first, &key, &rows), 0);
    assert_rows_equal(&rows, &expected); /* walks may be reading the rows */
    assert_int_equal(sbx_rows_cache_get(&second, &key, &found), 0);
    assert_rows_equal(&found, &expected);
    assert_int_equal(first.written, 1);
    assert_int_equal(second.found, 1);
    /* The file is complete, has the right name, and only its owner may read it. */
    struct stat status;
    assert_int_equal(stat(only_file(), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0400);
    /* The rows survive the deletion of the file. */
    assert_int_equal(unlink(only_path), 0);
    assert_rows_equal(&found, &expected);
    sbx_unwind_rows_release(&found);
    sbx_unwind_rows_release(&rows);
    sbx_unwind_rows_release(&expected);
    assert_false(has(&second, 7));
}

static void test_rows_found_cannot_be_written_by_a_stray_pointer(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    struct sbx_rows_key key = sample_key(7);
    struct sbx_unwind_rows found;
    keep(&cache, 7, ROWS);
    assert_int_equal(sbx_rows_cache_get(&cache, &key, &found), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGSEGV, SIG_DFL);
        *(volatile uint32_t *)(uintptr_t)found.rules = 1;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    sbx_unwind_rows_release(&found);
}

/* Does the mapping belong to a file? A fork does not copy the page tables of such a mapping. */
static bool is_of_a_file(const void *at)
{
    char line[512];
    bool is_it = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end, inode = 0;
        assert_true(sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode) >= 2);
        is_it |= begin <= (uintptr_t)at && (uintptr_t)at < end && inode != 0;
    }
    fclose(maps);
    return is_it;
}

/* The rows may take some megabytes. */
static void test_rows_found_cost_a_fork_nothing_and_a_child_cannot_write_its_parents(void **state)
{
    (void)state;
    if (prctl(PR_GET_SECCOMP) != 0) { /* under a filter, or in an emulator that hides it, they are private pages */
        skip();
    }
    struct sbx_rows_cache cache = open_cache();
    struct sbx_rows_key key = sample_key(7);
    struct sbx_unwind_rows found;
    int status = -1;
    keep(&cache, 7, ROWS);
    assert_int_equal(sbx_rows_cache_get(&cache, &key, &found), 0);
    assert_true(is_of_a_file(found.rules));
    uint32_t *rule = (uint32_t *)(uintptr_t)found.rules, before = *rule;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* a child that may be another user by now, and attacked */
        bool may = mprotect(found.pages, found.pages_bytes, PROT_READ | PROT_WRITE) == 0;
        *(volatile uint32_t *)rule = before + 1;
        _exit(may ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(*(volatile uint32_t *)rule, before);
    sbx_unwind_rows_release(&found);
}

/* The cache may be deleted at any time. Rows in use keep their content, whatever happens to the file. */
static void test_rows_in_use_survive_the_truncation_of_their_file(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    struct sbx_rows_key key = sample_key(7);
    struct sbx_unwind_rows expected = sample_rows(7, ROWS), found;
    keep(&cache, 7, ROWS);
    assert_int_equal(sbx_rows_cache_get(&cache, &key, &found), 0);
    assert_int_equal(chmod(only_file(), 0600), 0);
    assert_int_equal(truncate(only_path, 0), 0);
    assert_rows_equal(&found, &expected);
    int file = open(only_path, O_WRONLY);
    for (off_t at = 0; at < 16384; at += 7) { /* the file comes back with another content */
        assert_int_equal(pwrite(file, "\xff\xff\xff\xff\xff\xff\xff", 7, at), 7);
    }
    close(file);
    assert_rows_equal(&found, &expected);
    sbx_unwind_rows_release(&found);
    sbx_unwind_rows_release(&expected);
}

static void test_without_a_folder_nothing_is_found_and_nothing_written(void **state)
{
    (void)state;
    struct sbx_rows_cache cache;
    struct sbx_rows_key key = sample_key(1);
    char too_long[2 * SBX_ROWS_FOLDER_MAX];
    memset(too_long, '/', sizeof too_long);
    too_long[sizeof too_long - 1] = 0;
    assert_int_equal(sbx_rows_cache_open(&cache, NULL), -ENOENT);
    assert_int_equal(sbx_rows_cache_open(&cache, ""), -ENOENT);
    assert_int_equal(sbx_rows_cache_open(&cache, "/nonexistent/rows"), -ENOENT);
    assert_int_equal(sbx_rows_cache_open(&cache, "rows"), -EINVAL);
    assert_int_equal(sbx_rows_cache_open(&cache, too_long), -ENAMETOOLONG);
    struct sbx_unwind_rows rows = sample_rows(1, ROWS);
    assert_int_equal(sbx_rows_cache_put(&cache, &key, &rows), -ENOENT);
    assert_false(has(&cache, 1));
    assert_int_equal(sbx_rows_cache_trim(&cache), 0);
    sbx_unwind_rows_release(&rows);
}

static void test_loc_17_a_folder_that_others_may_write_is_refused_at_any_time(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache(), other;
    keep(&cache, 1, ROWS);
    static const mode_t modes[] = {0777, 0720, 0702, 01777};
    for (unsigned i = 0; i < SBX_COUNT_OF(modes); i++) {
        assert_int_equal(chmod(folder, modes[i]), 0);
        assert_int_equal(sbx_rows_cache_open(&other, folder), -EPERM);
        assert_false(has(&cache, 1));
        struct sbx_rows_cache writer = cache;
        struct sbx_rows_key key = sample_key(2);
        struct sbx_unwind_rows rows = sample_rows(2, ROWS);
        assert_int_equal(sbx_rows_cache_put(&writer, &key, &rows), -EPERM);
        assert_false(writer.may_write);
        sbx_unwind_rows_release(&rows);
        assert_int_equal(sbx_rows_cache_trim(&cache), 0);
    }
    assert_int_equal(chmod(folder, 0700), 0);
    assert_true(has(&cache, 1));
}

static void test_loc_17_what_belongs_to_somebody_else_is_refused(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache(), other;
    if (geteuid() != 0) {
        skip(); /* only root can give a file away */
    }
    keep(&cache, 1, ROWS);
    assert_int_equal(chown(only_file(), 65534, 65534), 0);
    assert_false(has(&cache, 1));
    assert_int_equal(cache.refused, 1);
    assert_int_equal(chown(only_path, 0, 0), 0);
    assert_true(has(&cache, 1));
    assert_int_equal(chown(folder, 65534, 65534), 0);
    assert_int_equal(sbx_rows_cache_open(&other, folder), -EPERM);
    assert_false(has(&cache, 1));
    assert_int_equal(chown(folder, 0, 0), 0);
}

static void test_loc_17_a_file_that_others_may_write_or_that_is_no_file_is_refused(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    char moved[sizeof folder + 16];
    keep(&cache, 1, ROWS);
    assert_int_equal(chmod(only_file(), 0660), 0);
    assert_false(has(&cache, 1));
    assert_int_equal(chmod(only_path, 0400), 0);
    assert_true(has(&cache, 1));
    snprintf(moved, sizeof moved, "%s/moved", folder);
    assert_int_equal(rename(only_path, moved), 0);
    assert_int_equal(symlink(moved, only_path), 0);
    assert_false(has(&cache, 1));
    assert_int_equal(unlink(only_path), 0);
    assert_int_equal(mkfifo(only_path, 0600), 0); /* an ordinary open() would wait for ever */
    assert_false(has(&cache, 1));
    assert_int_equal(cache.refused, 3);
}

static void test_loc_17_a_symbolic_link_is_no_folder(void **state)
{
    (void)state;
    struct sbx_rows_cache cache;
    char link[sizeof folder + 16];
    snprintf(link, sizeof link, "%s.link", folder);
    assert_int_equal(symlink(folder, link), 0);
    assert_int_not_equal(sbx_rows_cache_open(&cache, link), 0);
    assert_int_equal(unlink(link), 0);
}

static void test_damaged_files_are_not_used_and_replaced_by_the_next_put(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    keep(&cache, 1, ROWS);
    struct stat whole;
    assert_int_equal(stat(only_file(), &whole), 0);
    uint32_t refused = 0;
    for (off_t size = 0; size < whole.st_size; size += 1 + whole.st_size / 37) {
        assert_int_equal(truncate(only_path, size), 0);
        assert_false(has(&cache, 1));
        assert_int_equal(cache.refused, ++refused);
        keep(&cache, 1, ROWS); /* replaces the damaged one */
        assert_true(has(&cache, 1));
    }
    assert_int_equal(chmod(only_path, 0600), 0);
    int file = open(only_path, O_WRONLY);
    assert_int_equal(pwrite(file, "x", 1, whole.st_size / 2), 1);
    close(file);
    assert_false(has(&cache, 1));
    keep(&cache, 1, ROWS);
    assert_true(has(&cache, 1));
}

static void test_no_name_is_made_of_a_build_id_too_short_to_be_one(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    struct sbx_unwind_rows rows = sample_rows(1, ROWS), found;
    struct sbx_rows_key key = sample_key(1);
    static const uint32_t lengths[] = {0, 1, SBX_ROWS_KEY_BYTES_MIN - 1, SBX_ROWS_KEY_BYTES + 1};
    for (unsigned i = 0; i < SBX_COUNT_OF(lengths); i++) {
        key.build_id_bytes = lengths[i];
        assert_int_equal(sbx_rows_cache_put(&cache, &key, &rows), -ENOENT);
        assert_int_equal(sbx_rows_cache_get(&cache, &key, &found), -ENOENT);
    }
    assert_int_equal(for_each_file(NULL), 0);
    key.build_id_bytes = SBX_ROWS_KEY_BYTES; /* gives the longest file name */
    assert_int_equal(sbx_rows_cache_put(&cache, &key, &rows), 0);
    assert_int_equal(sbx_rows_cache_get(&cache, &key, &found), 0);
    sbx_unwind_rows_release(&found);
    sbx_unwind_rows_release(&rows);
}

/* Runs in a child, because the limit would stay. SIGXFSZ would kill the child. */
static void test_a_file_size_limit_is_kept_without_a_signal(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct sbx_rows_cache cache;
        const struct rlimit limit = {1000, 1000};
        struct sbx_rows_key key = sample_key(1);
        struct sbx_unwind_rows rows = sample_rows(1, ROWS);
        bool is_right = sbx_rows_cache_open(&cache, folder) == 0 && setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                        sbx_rows_cache_put(&cache, &key, &rows) == -EFBIG;
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(for_each_file(NULL), 0);
}

static void test_a_write_that_fails_leaves_nothing_and_is_not_tried_again(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    struct sbx_rows_key key = sample_key(1);
    struct sbx_unwind_rows rows = sample_rows(1, ROWS);
    char name[sizeof folder];
    memcpy(name, folder, sizeof name);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(sbx_rows_cache_put(&cache, &key, &rows), -ENOENT);
    assert_int_equal(cache.last_error, -ENOENT);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(sbx_rows_cache_put(&cache, &key, &rows), -ENOENT);
    assert_int_equal(for_each_file(NULL), 0);
    /* A folder with that name cannot be replaced by rename. The temporary file must be deleted. */
    cache = open_cache();
    keep(&cache, 1, ROWS);
    only_file();
    assert_int_equal(unlink(only_path), 0);
    assert_int_equal(mkdir(only_path, 0700), 0);
    assert_true(sbx_rows_cache_put(&cache, &key, &rows) < 0);
    assert_false(has(&cache, 1));
    assert_int_equal(for_each_file(NULL), 1);
    assert_int_equal(rmdir(only_path), 0);
    sbx_unwind_rows_release(&rows);
}

static void set_age(const char *path, long seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* The path of a sample's file, by the rule of rows_cache.h. */
static void name_path(uint32_t seed, char *path, size_t bytes)
{
    struct sbx_rows_key key = sample_key(seed);
    int length = snprintf(path, bytes, "%s/", folder);
    for (uint32_t i = 0; i < key.build_id_bytes; i++) {
        length += snprintf(path + length, bytes - (size_t)length, "%02x", key.build_id[i]);
    }
    snprintf(path + length, bytes - (size_t)length, "-%08x.rows", (unsigned)sbx_rows_encoding());
}

static long next_age;

static void set_next_age(const char *path)
{
    set_age(path, next_age);
    next_age += 100000;
}

static void test_trim_takes_out_those_unused_for_longest(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    uint64_t one_file = 0;
    char paths[8][512];
    for (uint32_t seed = 0; seed < 8; seed++) {
        struct stat status;
        assert_false(has(&cache, seed));
        keep(&cache, seed, ROWS);
        char probe[512];
        name_path(seed, probe, sizeof probe);
        memcpy(paths[seed], probe, sizeof probe);
        assert_int_equal(stat(probe, &status), 0);
        one_file = (uint64_t)status.st_size;
        set_age(probe, 1000000 * (long)(8 - seed)); /* seed 0 is the oldest */
    }
    assert_true(has(&cache, 1));                      /* used now, so no longer old */
    assert_int_equal(sbx_rows_cache_trim(&cache), 0); /* far below the limit */
    cache.limit_bytes = 4 * one_file;
    assert_int_equal(sbx_rows_cache_trim(&cache), 4);
    for (uint32_t seed = 0; seed < 8; seed++) {
        assert_int_equal(access(paths[seed], F_OK) == 0, seed == 1 || seed >= 5);
    }
    cache.limit_bytes = 0;
    assert_int_equal(sbx_rows_cache_trim(&cache), 4);
    assert_int_equal(for_each_file(NULL), 0);
}

static void test_a_use_is_noted_once_a_day(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    struct stat before, after;
    keep(&cache, 1, ROWS);
    set_age(only_file(), 3600);
    assert_int_equal(stat(only_path, &before), 0);
    assert_true(has(&cache, 1));
    assert_int_equal(stat(only_path, &after), 0);
    assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    set_age(only_path, 3 * 24 * 3600);
    assert_true(has(&cache, 1));
    assert_int_equal(stat(only_path, &after), 0);
    assert_true(after.st_mtim.tv_sec > before.st_mtim.tv_sec);
}

static void test_trim_takes_out_what_dead_writers_left_and_nothing_of_others(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    static const char *const names[] = {".new-00112233445566778899aabb", ".new-young", "README", "x.rows.bak", ".rows"};
    for (unsigned i = 0; i < SBX_COUNT_OF(names); i++) {
        char path[sizeof folder + 64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        assert_true(file >= 0);
        close(file);
        set_age(path, i == 1 ? 10 : 100000);
    }
    cache.limit_bytes = 0;
    assert_int_equal(sbx_rows_cache_trim(&cache), 1);
    assert_int_equal(for_each_file(NULL), SBX_COUNT_OF(names) - 1);
}

static void test_trim_lists_folders_of_any_length(void **state)
{
    (void)state;
    struct sbx_rows_cache cache = open_cache();
    enum {
        FILES = 1500
    }; /* enough for several blocks of a listing */
    for (uint32_t i = 0; i < FILES; i++) {
        char path[sizeof folder + 64];
        snprintf(path, sizeof path, "%s/%040x-00000000.rows", folder, i);
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        assert_true(file >= 0);
        assert_int_equal(write(file, "1234567890", 10), 10);
        close(file);
    }
    next_age = 0;
    for_each_file(set_next_age);
    cache.limit_bytes = 10 * (FILES - 1000);
    assert_int_equal(sbx_rows_cache_trim(&cache), 1000);
    assert_int_equal(for_each_file(NULL), FILES - 1000);
}

/* Real processes write and read the same names at once. Each read finds complete rows or none. */
static void test_writers_and_readers_at_once_never_see_half_a_file(void **state)
{
    (void)state;
    enum {
        PROCESSES = 4,
        TURNS = 400,
        NAMES = 3
    };
    pid_t pids[PROCESSES];
    for (unsigned p = 0; p < PROCESSES; p++) {
        pids[p] = fork();
        assert_true(pids[p] >= 0);
        if (pids[p] != 0) {
            continue;
        }
        struct sbx_rows_cache cache = open_cache();
        for (unsigned turn = 0; turn < TURNS; turn++) {
            uint32_t seed = (turn + p) % NAMES;
            struct sbx_rows_key key = sample_key(seed);
            struct sbx_unwind_rows rows = sample_rows(seed, ROWS), found;
            int got = sbx_rows_cache_get(&cache, &key, &found);
            if (got == 0 && (found.count != ROWS || memcmp(found.rules, rows.rules, ROWS * sizeof(uint32_t)) != 0)) {
                _exit(2);
            }
            sbx_unwind_rows_release(&found);
            if (sbx_rows_cache_put(&cache, &key, &rows) != 0) {
                _exit(3);
            }
            sbx_unwind_rows_release(&rows);
        }
        _exit(cache.refused != 0 ? 4 : cache.found < TURNS / 2 ? 5 : 0);
    }
    for (unsigned p = 0; p < PROCESSES; p++) {
        int status = -1;
        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(for_each_file(NULL), NAMES); /* no temporary file is left */
}

/* Processes die while they write. Their unfinished files are never taken for rows. */
static void test_writers_killed_at_any_moment_leave_no_bad_rows(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 60; turn++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct sbx_rows_cache cache = open_cache();
            for (uint32_t seed = 0;; seed++) {
                keep(&cache, seed % 4, 20000);
            }
        }
        const struct timespec pause = {0, 1000000 + 97000 * (long)turn};
        nanosleep(&pause, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        struct sbx_rows_cache cache = open_cache();
        for (uint32_t seed = 0; seed < 4; seed++) {
            has(&cache, seed);
        }
        assert_int_equal(cache.refused, 0);
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_rows_that_were_put_are_found_by_the_next_process),
        CASE(test_rows_found_cannot_be_written_by_a_stray_pointer),
        CASE(test_rows_found_cost_a_fork_nothing_and_a_child_cannot_write_its_parents),
        CASE(test_rows_in_use_survive_the_truncation_of_their_file),
        CASE(test_without_a_folder_nothing_is_found_and_nothing_written),
        CASE(test_loc_17_a_folder_that_others_may_write_is_refused_at_any_time),
        CASE(test_loc_17_what_belongs_to_somebody_else_is_refused),
        CASE(test_loc_17_a_file_that_others_may_write_or_that_is_no_file_is_refused),
        CASE(test_loc_17_a_symbolic_link_is_no_folder),
        CASE(test_damaged_files_are_not_used_and_replaced_by_the_next_put),
        CASE(test_no_name_is_made_of_a_build_id_too_short_to_be_one),
        CASE(test_a_file_size_limit_is_kept_without_a_signal),
        CASE(test_a_write_that_fails_leaves_nothing_and_is_not_tried_again),
        CASE(test_trim_takes_out_those_unused_for_longest),
        CASE(test_a_use_is_noted_once_a_day),
        CASE(test_trim_takes_out_what_dead_writers_left_and_nothing_of_others),
        CASE(test_trim_lists_folders_of_any_length),
        CASE(test_writers_and_readers_at_once_never_see_half_a_file),
        CASE(test_writers_killed_at_any_moment_leave_no_bad_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
