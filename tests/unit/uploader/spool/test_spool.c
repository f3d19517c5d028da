/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool.c - payloads that survive everything except a loss of the disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "envelope.h"
#include "spool.h"
#include "test_folder.h"

static int make_folder(void **state)
{
    *state = sbx_test_folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    sbx_test_folder_remove(*state);
    return 0;
}

static struct sbx_spool *open_spool(const char *path, const struct sbx_spool_limits *limits)
{
    struct sbx_spool *spool;
    char why[300] = "";
    int result = sbx_spool_open(path, limits, &spool, why, sizeof why);
    if (result != 0) {
        fail_msg("%d: %s", result, why);
    }
    return spool;
}

static void make_id(uint32_t number, uint8_t id[16])
{
    memset(id, 0, 16);
    id[0] = 0xab;
    memcpy(id + 12, &number, 4);
}

/* Make an envelope for `id` whose content is calculated from the id, of about `bytes` bytes. */
static uint8_t *make_envelope(const uint8_t id[16], size_t bytes, size_t *bytes_out)
{
    uint8_t *content = malloc(bytes), *envelope;
    uint64_t noise = 0;
    memcpy(&noise, id + 8, 8);
    for (size_t i = 0; i < bytes; i++) {
        noise = noise * UINT64_C(6364136223846793005) + 1;
        content[i] = (uint8_t)(noise >> 56);
    }
    assert_int_equal(sbx_envelope_write(id, content, bytes, &envelope, bytes_out), 0);
    free(content);
    return envelope;
}

static int put(struct sbx_spool *spool, uint32_t number, size_t bytes)
{
    uint8_t id[16];
    size_t envelope_bytes;
    make_id(number, id);
    uint8_t *envelope = make_envelope(id, bytes, &envelope_bytes);
    int result = sbx_spool_put(spool, id, envelope, envelope_bytes);
    free(envelope);
    return result;
}

struct seen {
    uint32_t numbers[2000];
    unsigned count;
};

/* Notes the number and checks that the file is complete and belongs to its name. */
static int see(void *context, const char *path, const uint8_t id[16])
{
    struct seen *seen = context;
    size_t bytes;
    uint8_t *envelope = sbx_test_read(path, &bytes);
    struct sbx_envelope header;
    assert_int_equal(sbx_envelope_read(envelope, bytes, &header, NULL, 0), 0);
    assert_memory_equal(header.id, id, 16);
    free(envelope);
    memcpy(&seen->numbers[seen->count++], id + 12, 4);
    return 0;
}

static void test_put_payloads_are_listed_oldest_first(void **state)
{
    struct sbx_spool *spool = open_spool(*state, NULL);
    struct seen seen = {.count = 0};
    for (uint32_t i = 5; i > 0; i--) {
        assert_int_equal(put(spool, i, 100), 0);
    }
    assert_int_equal(sbx_spool_each(spool, see, &seen), 0);
    assert_int_equal(seen.count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(seen.numbers[i], 5 - i);
    }
    assert_string_equal(sbx_spool_path(spool), *state);
    sbx_spool_close(spool);
}

static int stop_at_once(void *context, const char *path, const uint8_t id[16])
{
    (void)path;
    (void)id;
    ++*(int *)context;
    return 42;
}

static void test_listing_ends_when_it_is_told_to(void **state)
{
    struct sbx_spool *spool = open_spool(*state, NULL);
    int calls = 0;
    assert_int_equal(sbx_spool_each(spool, stop_at_once, &calls), 0);
    assert_int_equal(put(spool, 1, 10), 0);
    assert_int_equal(put(spool, 2, 10), 0);
    assert_int_equal(sbx_spool_each(spool, stop_at_once, &calls), 42);
    assert_int_equal(calls, 1);
    sbx_spool_close(spool);
}

static void test_folders_are_made_and_private(void **state)
{
    char path[200], why[300];
    snprintf(path, sizeof path, "%s/a/b/spool///", (const char *)*state);
    struct sbx_spool *spool;
    assert_int_equal(sbx_spool_open(path, NULL, &spool, why, sizeof why), 0);
    const char *const folders[] = {"a", "a/b", "a/b/spool", "a/b/spool/raw", "a/b/spool/sent", "a/b/spool/bad"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        struct stat status;
        assert_int_equal(stat(sbx_test_path(*state, folders[i]), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0700);
    }
    sbx_spool_close(spool);
}

static void assert_not_opened(const char *path, int expected, const char *reason)
{
    struct sbx_spool *spool;
    char why[300] = "";
    assert_int_equal(sbx_spool_open(path, NULL, &spool, why, sizeof why), expected);
    if (strstr(why, reason) == NULL || strstr(why, path) != why) {
        fail_msg("the reason is \"%s\", without \"%s: ... %s\"", why, path, reason);
    }
}

static void test_folders_others_could_change_are_refused(void **state)
{
    const char *open_path = sbx_test_path(*state, "open");
    assert_int_equal(mkdir(open_path, 0700), 0);
    assert_int_equal(chmod(open_path, 0777), 0);
    assert_not_opened(open_path, -EPERM, "others may write there");
    assert_int_equal(chmod(open_path, 0770), 0);
    assert_not_opened(open_path, -EPERM, "others may write there");
    const char *link_path = sbx_test_path(*state, "link");
    assert_int_equal(symlink("elsewhere", link_path), 0);
    assert_not_opened(link_path, -ENOTDIR, "symbolic link"); /* leads to no file */
    assert_int_equal(mkdir(sbx_test_path(*state, "elsewhere"), 0700), 0);
    assert_not_opened(link_path, -ENOTDIR, "symbolic link");
    const char *file_path = sbx_test_path(*state, "file");
    sbx_test_write(file_path, "x", 1);
    assert_not_opened(file_path, -ENOTDIR, "Not a directory");
    assert_not_opened("/proc/no-such-place/spool", -ENOENT, "cannot make the folder");
    assert_int_equal(sbx_spool_open("", NULL, &(struct sbx_spool *){NULL}, NULL, 0), -EINVAL);
    if (geteuid() == 0) {
        const char *foreign_path = sbx_test_path(*state, "foreign");
        assert_int_equal(mkdir(foreign_path, 0700), 0);
        assert_int_equal(chown(foreign_path, 12345, 12345), 0);
        assert_not_opened(foreign_path, -EPERM, "belongs to user 12345");
    }
    const char *inner = sbx_test_path(*state, "inner"), *raw = sbx_test_path(*state, "inner/raw");
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(symlink("/tmp", raw), 0);
    struct sbx_spool *spool;
    char why[300];
    assert_int_equal(sbx_spool_open(inner, NULL, &spool, why, sizeof why), -ENOTDIR);
    assert_non_null(strstr(why, "inner/raw"));
}

static void test_a_payload_known_already_is_not_put_again(void **state)
{
    struct sbx_spool *spool = open_spool(*state, NULL);
    uint8_t id[16];
    make_id(7, id);
    assert_int_equal(put(spool, 7, 100), 0);
    struct stat before, after;
    const char *path = sbx_test_path(*state, "ab000000000000000000000007000000.sbx");
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(put(spool, 7, 200), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(sbx_spool_mark_sent(spool, id), 0);
    assert_false(sbx_test_exists(path));
    assert_true(sbx_test_exists(sbx_test_path(*state, "sent/ab000000000000000000000007000000.sbx")));
    assert_int_equal(put(spool, 7, 100), 0);
    assert_false(sbx_test_exists(path)); /* it counts as sent */
    make_id(8, id);
    assert_int_equal(put(spool, 8, 100), 0);
    assert_int_equal(sbx_spool_mark_bad(spool, id), 0);
    assert_int_equal(put(spool, 8, 100), 0);
    assert_false(sbx_test_exists(sbx_test_path(*state, "ab000000000000000000000008000000.sbx")));
    assert_int_equal(sbx_spool_mark_sent(spool, id), -ENOENT);
    sbx_spool_close(spool);
}

static void test_over_its_bounds_the_oldest_go_and_are_counted(void **state)
{
    struct sbx_spool_limits limits = {.bytes_max = 50000, .files_max = 5, .sent_kept = 2};
    struct sbx_spool *spool = open_spool(*state, &limits);
    for (uint32_t i = 1; i <= 8; i++) {
        assert_int_equal(put(spool, i, 100), 0);
    }
    struct seen seen = {.count = 0};
    assert_int_equal(sbx_spool_each(spool, see, &seen), 0);
    assert_int_equal(seen.count, 5);
    assert_int_equal(seen.numbers[0], 4);
    assert_int_equal(sbx_spool_dropped(spool), 3);
    assert_int_equal(put(spool, 9, 30000), 0); /* 4 * ~140 bytes still fit beside it */
    assert_int_equal(put(spool, 10, 30000), 0);
    seen.count = 0;
    assert_int_equal(sbx_spool_each(spool, see, &seen), 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.numbers[0], 10);
    assert_int_equal(put(spool, 11, 60000), -EFBIG); /* more than the whole spool: nothing is deleted for it */
    seen.count = 0;
    assert_int_equal(sbx_spool_each(spool, see, &seen), 0);
    assert_int_equal(seen.count, 1);
    sbx_spool_close(spool);
}

static void test_with_the_clock_set_back_the_new_one_still_stays(void **state)
{
    struct sbx_spool_limits limits = {.files_max = 2};
    struct sbx_spool *spool = open_spool(*state, &limits);
    struct timespec next_year[2] = {{.tv_sec = time(NULL) + 365 * 86400}, {.tv_sec = time(NULL) + 365 * 86400}};
    const char *const names[] = {"ab000000000000000000000001000000.sbx", "ab000000000000000000000002000000.sbx"};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(put(spool, i + 1, 100), 0);
        assert_int_equal(utimensat(AT_FDCWD, sbx_test_path(*state, names[i]), next_year, 0), 0);
    }
    assert_int_equal(put(spool, 3, 100), 0); /* seems to be the oldest */
    assert_true(sbx_test_exists(sbx_test_path(*state, "ab000000000000000000000003000000.sbx")));
    assert_int_equal(sbx_test_count(*state, ".sbx"), 2);
    sbx_spool_close(spool);
}

static void test_the_newest_few_sent_are_kept(void **state)
{
    struct sbx_spool_limits limits = {.sent_kept = 3};
    struct sbx_spool *spool = open_spool(*state, &limits);
    for (uint32_t i = 1; i <= 6; i++) {
        uint8_t id[16];
        make_id(i, id);
        assert_int_equal(put(spool, i, 100), 0);
        assert_int_equal(sbx_spool_mark_sent(spool, id), 0);
    }
    assert_int_equal(sbx_test_count(sbx_test_path(*state, "sent"), ".sbx"), 3);
    assert_true(sbx_test_exists(sbx_test_path(*state, "sent/ab000000000000000000000006000000.sbx")));
    assert_true(sbx_test_exists(sbx_test_path(*state, "sent/ab000000000000000000000004000000.sbx")));
    sbx_spool_close(spool);
}

static void test_foreign_things_in_the_folder_are_left_alone(void **state)
{
    struct sbx_spool *spool = open_spool(*state, NULL);
    assert_int_equal(put(spool, 1, 100), 0);
    const char *names[] = {
        "ab0000000000000000000000000000ff.sbx.bak", "AB0000000000000000000000000000FF.sbx", "x.sbx", "a\nb.sbx", ".sbx",
        "ab0000000000000000000000000000fg.sbx"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sbx_test_write(sbx_test_path(*state, names[i]), "x", 1);
    }
    assert_int_equal(mkfifo(sbx_test_path(*state, "ab0000000000000000000000000000f1.sbx"), 0600), 0);
    assert_int_equal(mkdir(sbx_test_path(*state, "ab0000000000000000000000000000f2.sbx"), 0700), 0);
    assert_int_equal(symlink("/etc/passwd", sbx_test_path(*state, "ab0000000000000000000000000000f3.sbx")), 0);
    int sparse =
        open(sbx_test_path(*state, "ab0000000000000000000000000000f4.sbx"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(sparse >= 0);
    assert_int_equal(ftruncate(sparse, (off_t)4 << 30), 0);
    close(sparse);
    struct seen seen = {.count = 0};
    assert_int_equal(sbx_spool_each(spool, see, &seen), 0);
    assert_int_equal(seen.count, 1);
    sbx_spool_close(spool);
}

static void test_a_full_file_system_publishes_nothing_and_loses_nothing(void **state)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", *state, "tmpfs", 0, "size=256k,mode=0700") != 0) {
        print_message("skipped: a small tmpfs cannot be mounted here (%s)\n", strerror(errno));
        skip();
    }
    struct sbx_spool *spool = open_spool(*state, NULL);
    uint32_t kept = 0;
    int result = 0;
    while (result == 0 && kept < 100) { /* seven pages each: the last finds one free and could be written in part */
        result = put(spool, kept + 1, 27000);
        kept += result == 0;
    }
    assert_int_equal(result, -ENOSPC);
    assert_true(kept >= 3);
    for (int i = 0; i < 5; i++) { /* the disk stays full */
        assert_int_equal(put(spool, 1000, 27000), -ENOSPC);
    }
    struct seen seen = {.count = 0};
    assert_int_equal(sbx_spool_each(spool, see, &seen), 0); /* every file is complete */
    assert_int_equal(seen.count, kept);
    assert_int_equal(sbx_test_count(*state, ".tmp"), 0);
    uint8_t id[16];
    make_id(1, id);
    assert_int_equal(sbx_spool_mark_sent(spool, id), 0); /* a rename needs no room */
    assert_int_equal(unlink(sbx_test_path(*state, "sent/ab000000000000000000000001000000.sbx")), 0);
    assert_int_equal(put(spool, 1000, 27000), 0); /* there is room again */
    sbx_spool_close(spool);
    umount(*state);
}

/* Put payloads until killed, and report each one that is durable. */
static void put_until_killed(const char *path, uint32_t first, int told)
{
    struct sbx_spool_limits limits = {.files_max = 100000, .bytes_max = 1 << 30};
    struct sbx_spool *spool;
    if (sbx_spool_open(path, &limits, &spool, NULL, 0) != 0) {
        _exit(1);
    }
    for (uint32_t number = first;; number++) {
        if (put(spool, number, 200 + number % 5000) != 0 || write(told, &number, sizeof number) != sizeof number) {
            _exit(1);
        }
    }
}

static void test_killed_at_any_moment_nothing_reported_is_lost_and_nothing_is_torn(void **state)
{
    enum {
        ROUNDS = 200
    };
    struct seen *seen = calloc(1, sizeof *seen);
    bool *reported = calloc(ROUNDS * 1000 + 1, sizeof *reported);
    assert_true(seen != NULL && reported != NULL);
    unsigned reported_count = 0;
    uint64_t random = 12345;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        int pipe_ends[2];
        assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            put_until_killed(*state, round * 1000 + 1, pipe_ends[1]);
        }
        close(pipe_ends[1]);
        if (round % 4 == 3) { /* it got to put one; the others are killed whenever that may be */
            (void)poll(&(struct pollfd){.fd = pipe_ends[0], .events = POLLIN}, 1, 10000);
        }
        random = random * UINT64_C(6364136223846793005) + 1;
        nanosleep(&(struct timespec){.tv_nsec = (long)((random >> 33) % 12000000)}, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        int ended;
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL); /* not because of an error of its own */
        uint32_t number;
        while (read(pipe_ends[0], &number, sizeof number) == (ssize_t)sizeof number) {
            reported[number] = true;
            reported_count++;
        }
        close(pipe_ends[0]);
        if (round % 20 != 19) {
            continue;
        }
        struct sbx_spool_limits limits = {.files_max = 100000, .bytes_max = 1 << 30};
        struct sbx_spool *spool = open_spool(*state, &limits);
        assert_int_equal(sbx_test_count(*state, ".tmp"), 0); /* the unfinished files are gone */
        seen->count = 0;
        assert_int_equal(sbx_spool_each(spool, see, seen), 0); /* every file is complete */
        for (unsigned i = 0; i < seen->count; i++) {
            reported[seen->numbers[i]] = false;
        }
        for (uint32_t i = 0; i < ROUNDS * 1000; i++) {
            assert_false(reported[i]); /* every reported file exists */
        }
        for (unsigned i = 0; i < seen->count; i++) {
            char name[40];
            snprintf(name, sizeof name, "ab0000000000000000000000%02x%02x%02x%02x.sbx", seen->numbers[i] & 0xff,
                     seen->numbers[i] >> 8 & 0xff, seen->numbers[i] >> 16 & 0xff, seen->numbers[i] >> 24);
            assert_int_equal(unlink(sbx_test_path(*state, name)), 0);
        }
        sbx_spool_close(spool);
    }
    assert_true(reported_count > 20); /* it put some before the kill */
    free(reported);
    free(seen);
}

static void test_two_processes_share_a_spool(void **state)
{
    enum {
        EACH = 60
    };
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct sbx_spool *spool;
            int result = sbx_spool_open(*state, NULL, &spool, NULL, 0);
            for (uint32_t number = 0; number < EACH && result == 0; number++) { /* half of them are the same */
                result = put(spool, number * 2 + (number % 2 == 0 ? 0 : (uint32_t)i), 500);
            }
            _exit(result == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < 2; i++) {
        int ended;
        assert_int_equal(waitpid(children[i], &ended, 0), children[i]);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    }
    struct sbx_spool *spool = open_spool(*state, NULL);
    struct seen seen = {.count = 0};
    assert_int_equal(sbx_spool_each(spool, see, &seen), 0);
    assert_int_equal(seen.count, EACH / 2 + EACH);
    assert_int_equal(sbx_test_count(*state, ".tmp"), 0);
    sbx_spool_close(spool);
}

static void test_where_modules_lie_is_merged(void **state)
{
    const uint8_t first[4] = {0xde, 0xad, 0xbe, 0xef}, second[4] = {0, 1, 2, 3};
    struct sbx_spool *one = open_spool(*state, NULL), *two = open_spool(*state, NULL);
    assert_int_equal(sbx_spool_save_modules(one), 0);
    assert_false(sbx_test_exists(sbx_test_path(*state, "modules")));
    assert_int_equal(sbx_spool_note_module(one, first, 4, "/usr/bin/redis-server"), 0);
    assert_int_equal(sbx_spool_note_module(one, first, 4, "/usr/bin/redis-server"), 0);
    assert_int_equal(sbx_spool_note_module(two, second, 4, "/opt/with a blank/x.so"), 0);
    assert_int_equal(sbx_spool_save_modules(one), 0);
    assert_int_equal(sbx_spool_save_modules(two), 0);
    assert_int_equal(sbx_spool_note_module(one, first, 4, "/usr/bin/redis-server"), 0); /* known */
    assert_int_equal(sbx_spool_note_module(one, second, 4, "/opt/b"), 0);               /* and new */
    assert_int_equal(sbx_spool_save_modules(one), 0);
    assert_int_equal(sbx_spool_note_module(one, first, 4, "/line\nbreak"), -EINVAL);
    assert_int_equal(sbx_spool_note_module(one, first, 4, "relative"), -EINVAL);
    assert_int_equal(sbx_spool_note_module(one, first, 0, "/x"), -EINVAL);
    assert_int_equal(sbx_spool_note_module(one, first, 33, "/x"), -EINVAL);
    size_t bytes;
    char *text = (char *)sbx_test_read(sbx_test_path(*state, "modules"), &bytes);
    assert_string_equal(text, "deadbeef /usr/bin/redis-server\n00010203 /opt/b\n00010203 /opt/with a blank/x.so\n");
    free(text);
    sbx_spool_close(one);
    sbx_spool_close(two);
}

int main(void)
{
#define SPOOL_TEST(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        SPOOL_TEST(test_put_payloads_are_listed_oldest_first),
        SPOOL_TEST(test_listing_ends_when_it_is_told_to),
        SPOOL_TEST(test_folders_are_made_and_private),
        SPOOL_TEST(test_folders_others_could_change_are_refused),
        SPOOL_TEST(test_a_payload_known_already_is_not_put_again),
        SPOOL_TEST(test_over_its_bounds_the_oldest_go_and_are_counted),
        SPOOL_TEST(test_with_the_clock_set_back_the_new_one_still_stays),
        SPOOL_TEST(test_the_newest_few_sent_are_kept),
        SPOOL_TEST(test_foreign_things_in_the_folder_are_left_alone),
        SPOOL_TEST(test_killed_at_any_moment_nothing_reported_is_lost_and_nothing_is_torn),
        SPOOL_TEST(test_two_processes_share_a_spool),
        SPOOL_TEST(test_where_modules_lie_is_merged),
        SPOOL_TEST(test_a_full_file_system_publishes_nothing_and_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
