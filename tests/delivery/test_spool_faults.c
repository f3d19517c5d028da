/* SPDX-License-Identifier: Apache-2.0 */
/* test_spool_faults.c - the spool with disks and folders that fail in every way.
 *
 * Real file systems where possible (a tmpfs of a few pages, one mounted read-only). For failures that no file system
 * produces on request (an error from the n-th call, the same random number twice), the linker replaces libc's functions
 * by those below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "http_server.h"
#include "pack.h"
#include "payloads.h"
#include "scene.h"
#include "snapshot.h"
#include "spool_folders.h"
#include "test_folder.h"

/* ---- libc, with faults ---- */

static unsigned fault_at, calls; /* the fault_at-th call from now fails (0: none) */
static int fault;                /* with this error; SHORT_WRITE: half of it is written, then there is no room */
static unsigned fsync_sleep_ms;
static const uint32_t *randoms; /* the next results of getrandom(); NULL: real ones */
static size_t random_count;
enum {
    SHORT_WRITE = -1
};

static bool is_due(void)
{
    return fault_at != 0 && ++calls == fault_at;
}

int __real_openat(int folder, const char *path, int flags, ...);
int __real_fsync(int file);
int __real_renameat(int from, const char *old, int to, const char *name);
int __real_posix_fallocate(int file, off_t at, off_t bytes);
ssize_t __real_write(int file, const void *content, size_t bytes);
ssize_t __real_getrandom(void *out, size_t bytes, unsigned flags);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_fsync(int file);
int __wrap_renameat(int from, const char *old, int to, const char *name);
int __wrap_posix_fallocate(int file, off_t at, off_t bytes);
ssize_t __wrap_write(int file, const void *content, size_t bytes);
ssize_t __wrap_getrandom(void *out, size_t bytes, unsigned flags);

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    if ((flags & O_CREAT) != 0 && is_due()) {
        errno = fault == SHORT_WRITE ? ENOSPC : fault;
        return -1;
    }
    return __real_openat(folder, path, flags, mode);
}

int __wrap_fsync(int file)
{
    if (fsync_sleep_ms != 0) {
        nanosleep(&(struct timespec){.tv_sec = fsync_sleep_ms / 1000, .tv_nsec = fsync_sleep_ms % 1000 * 1000000L},
                  NULL);
    }
    if (is_due()) {
        errno = fault == SHORT_WRITE ? EIO : fault;
        return -1;
    }
    return __real_fsync(file);
}

int __wrap_renameat(int from, const char *old, int to, const char *name)
{
    if (is_due()) {
        errno = fault == SHORT_WRITE ? ENOSPC : fault;
        return -1;
    }
    return __real_renameat(from, old, to, name);
}

int __wrap_posix_fallocate(int file, off_t at, off_t bytes)
{
    return is_due() ? fault == SHORT_WRITE ? ENOSPC : fault : __real_posix_fallocate(file, at, bytes);
}

ssize_t __wrap_write(int file, const void *content, size_t bytes)
{
    if (is_due()) {
        if (fault == SHORT_WRITE) {
            fault_at++; /* and there is no room for the rest */
            fault = ENOSPC;
            return __real_write(file, content, bytes / 2);
        }
        errno = fault;
        return -1;
    }
    return __real_write(file, content, bytes);
}

ssize_t __wrap_getrandom(void *out, size_t bytes, unsigned flags)
{
    if (random_count > 0 && bytes == sizeof *randoms) {
        memcpy(out, randoms++, sizeof *randoms);
        random_count--;
        return (ssize_t)bytes;
    }
    return __real_getrandom(out, bytes, flags);
}

static void break_call(unsigned number, int error)
{
    fault_at = number;
    fault = error;
    calls = 0;
}

/* ---- places ---- */

static int make_folder(void **state)
{
    break_call(0, 0);
    random_count = 0;
    fsync_sleep_ms = 0;
    *state = sbx_test_folder_make();
    return 0;
}

static int remove_folder(void **state)
{
    break_call(0, 0);
    umount(*state);
    sbx_test_folder_remove(*state);
    return 0;
}

/* Open a spool on a small file system of its own. Skips the test where that is not allowed. */
static struct sbx_spool *open_small_spool(const char *path, const char *options, const struct sbx_spool_limits *limits)
{
    if (!sbx_test_mount(path, options)) {
        skip();
    }
    return sbx_test_spool(path, limits);
}

static int count_whole(void *context, const char *path, const uint8_t id[16])
{
    assert_true(sbx_test_is_whole(path, id));
    ++*(unsigned *)context;
    return 0;
}

/* How many payloads wait; each must be complete. */
static unsigned waiting(struct sbx_spool *spool)
{
    unsigned count = 0;
    assert_int_equal(sbx_spool_each(spool, count_whole, &count), 0);
    return count;
}

/* Put payloads 1, 2, ... until there is no room; returns how many fit. */
static uint32_t fill(struct sbx_spool *spool)
{
    uint32_t kept = 0;
    while (sbx_test_put(spool, kept + 1) == 0) {
        kept++;
        assert_true(kept < 100);
    }
    return kept;
}

/* ---- SPL-1 ---- */

static void test_spl_01_an_error_of_any_call_publishes_nothing_and_harms_nothing(void **state)
{
    static const int errors[] = {ENOSPC, EDQUOT, EIO, SHORT_WRITE};
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    uint32_t number = 1;
    unsigned kept = 1, failed = 0;
    assert_int_equal(sbx_test_put(spool, number++), 0);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        for (unsigned at = 1;; at++) {
            break_call(at, errors[i]);
            int result = sbx_test_put(spool, number);
            bool was_hit = calls >= at;
            unsigned made = calls;
            break_call(0, 0);
            assert_true(made < 20); /* it does not retry a failing disk without pause */
            assert_int_equal(sbx_test_count(*state, ".tmp"), 0);
            kept += result == 0;
            assert_int_equal(waiting(spool), kept);
            if (!was_hit) {
                assert_int_equal(result, 0);
                break;
            }
            failed += result != 0;
            number += result == 0;
            if (result != 0) {
                assert_int_equal(sbx_test_put(spool, number++), 0); /* the disk works again */
                kept++;
            }
        }
        number++;
    }
    assert_true(failed >= 5 * 4); /* create, reserve, write, sync, rename, sync the folder */
    sbx_spool_close(spool);
}

static void test_spl_01_a_full_file_system_publishes_nothing_and_loses_nothing(void **state)
{
    struct sbx_spool *spool = open_small_spool(*state, "size=64k,mode=0700", NULL);
    uint32_t kept = fill(spool);
    assert_true(kept >= 3);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(sbx_test_put(spool, 1000 + i), -ENOSPC);
        assert_int_equal(sbx_test_count(*state, ".tmp"), 0);
        assert_int_equal(waiting(spool), kept);
    }
    sbx_spool_close(spool);
}

static void test_spl_01_without_a_free_inode_nothing_is_lost_either(void **state)
{
    /* root, raw, sent and bad leave four inodes. */
    struct sbx_spool *spool = open_small_spool(*state, "size=1m,nr_inodes=8,mode=0700", NULL);
    uint32_t kept = fill(spool);
    assert_in_range(kept, 2, 4);
    assert_int_equal(waiting(spool), kept);
    sbx_spool_close(spool);
}

/* ---- SPL-2 ---- */

static void assert_refused(const char *path)
{
    struct sbx_spool *spool = NULL;
    char why[4500] = "";
    assert_true(sbx_spool_open(path, NULL, &spool, why, sizeof why) < 0);
    assert_null(spool);
    assert_ptr_equal(strstr(why, path), why); /* one reason, which begins with the path */
}

static void test_spl_02_folders_that_are_not_a_safe_place_are_refused_untouched(void **state)
{
    const char *read_only = sbx_test_path(*state, "read-only");
    assert_int_equal(mkdir(read_only, 0700), 0);
    sbx_test_write(sbx_test_path(*state, "file"), "mine", 4);
    assert_int_equal(mkdir(sbx_test_path(*state, "open"), 0700), 0);
    assert_int_equal(chmod(sbx_test_path(*state, "open"), 0777), 0);
    assert_int_equal(symlink("read-only", sbx_test_path(*state, "link")), 0);
    assert_refused(sbx_test_path(*state, "file"));
    assert_refused(sbx_test_path(*state, "file/below"));
    assert_refused(sbx_test_path(*state, "open"));
    assert_refused(sbx_test_path(*state, "link"));
    if (geteuid() == 0) {
        assert_int_equal(mkdir(sbx_test_path(*state, "foreign"), 0700), 0);
        assert_int_equal(chown(sbx_test_path(*state, "foreign"), 12345, 12345), 0);
        assert_refused(sbx_test_path(*state, "foreign"));
        assert_int_equal(rmdir(sbx_test_path(*state, "foreign")), 0); /* it is empty: nothing was made in it */
    }
    assert_int_equal(rmdir(sbx_test_path(*state, "open")), 0);
    assert_int_equal(sbx_test_count(*state, "file"), 1);
    if (!sbx_test_mount(read_only, "ro,size=64k,mode=0700")) {
        skip();
    }
    assert_refused(read_only);
    umount(read_only);
    struct sbx_spool *spool =
        sbx_test_spool(sbx_test_path(*state, "missing/and/deep"), NULL); /* missing folders are made */
    sbx_spool_close(spool);
}

static void test_spl_02_a_spool_that_becomes_read_only_says_so_and_goes_on_later(void **state)
{
    struct sbx_spool *spool = open_small_spool(*state, "size=1m,mode=0700", NULL);
    assert_int_equal(sbx_test_put(spool, 1), 0);
    assert_int_equal(mount("none", *state, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_int_equal(sbx_test_put(spool, 2), -EROFS);
    struct sbx_http_server *server = sbx_http_server_start(0, NULL, 0);
    struct sbx_deliverer *deliverer = sbx_deliverer_create(spool, sbx_http_server_url(server), NULL);
    assert_true(sbx_deliverer_step(deliverer) > 0); /* what cannot be marked as sent is not sent for ever */
    assert_int_equal(sbx_http_server_request_count(server), 0);
    assert_non_null(strstr(sbx_deliverer_last_error(deliverer), "Read-only"));
    assert_int_equal(mount("none", *state, NULL, MS_REMOUNT, NULL), 0);
    assert_int_equal(sbx_test_put(spool, 2), 0);
    assert_true(sbx_test_deliver_all(deliverer, 10));
    assert_int_equal(sbx_http_server_request_count(server), 2);
    sbx_deliverer_destroy(deliverer);
    sbx_http_server_stop(server);
    sbx_spool_close(spool);
}

/* ---- SPL-4, SPL-5: what comes back from the disk is not what was put ---- */

struct scene {
    struct sbx_http_server *server;
    struct sbx_spool *spool;
    struct sbx_deliverer *deliverer;
};

static struct scene open_scene(const char *path)
{
    struct scene scene = {.server = sbx_http_server_start(0, NULL, 0), .spool = sbx_test_spool(path, NULL)};
    scene.deliverer = sbx_deliverer_create(scene.spool, sbx_http_server_url(scene.server), NULL);
    return scene;
}

static void close_scene(struct scene *scene)
{
    sbx_deliverer_destroy(scene->deliverer);
    sbx_http_server_stop(scene->server);
    sbx_spool_close(scene->spool);
}

static void test_spl_04_after_a_power_cut_torn_files_are_set_aside_and_counted(void **state)
{
    (void)sbx_test_mount(*state, "size=8m,mode=0700");
    struct scene scene = open_scene(*state);
    uint8_t id[16];
    size_t bytes;
    for (uint32_t i = 0; i < 30; i++) { /* the name survived, but the data did not or only in part */
        uint8_t *torn = sbx_test_payload(100 + i, id, &bytes);
        size_t whole = bytes * i / 30 / 512 * 512;
        memset(torn + whole, 0, bytes - whole);
        sbx_test_write(sbx_test_payload_path(*state, 100 + i), torn, bytes);
        free(torn);
    }
    sbx_test_write(sbx_test_payload_path(*state, 200), "", 0);
    assert_int_equal(sbx_test_put(scene.spool, 1), 0);
    assert_true(sbx_test_deliver_all(scene.deliverer, 10));
    assert_int_equal(sbx_http_server_request_count(scene.server), 1);
    assert_int_equal(sbx_test_counts(scene.deliverer).unreadable, 31);
    assert_int_equal(sbx_test_counts(scene.deliverer).sent, 1);
    assert_int_equal(sbx_test_count(sbx_test_path(*state, "bad"), ".sbx"),
                     20); /* the newest few are kept, the others are deleted */
    close_scene(&scene);
}

static void test_spl_05_no_changed_byte_no_added_one_and_no_swapped_name_gets_out(void **state)
{
    (void)sbx_test_mount(*state, "size=64m,mode=0700");
    struct scene scene = open_scene(*state);
    uint8_t id[16], other_id[16];
    size_t bytes, other_bytes;
    uint8_t *envelope = sbx_test_payload(7, id, &bytes), *other = sbx_test_payload(8, other_id, &other_bytes);
    unsigned tried = 0;
    for (size_t at = 0; at < bytes; at++) {
        uint8_t kept = envelope[at];
        envelope[at] ^= (uint8_t)(1u << at % 8);
        sbx_test_write(sbx_test_payload_path(*state, 7), envelope, bytes);
        envelope[at] = kept;
        assert_true(sbx_deliverer_step(scene.deliverer) == UINT64_MAX);
        assert_int_equal(sbx_test_counts(scene.deliverer).unreadable, ++tried);
    }
    for (size_t more = 1; more <= 4096; more *= 4) {
        uint8_t *longer = calloc(1, bytes + more);
        memcpy(longer, envelope, bytes);
        sbx_test_write(sbx_test_payload_path(*state, 7), longer, bytes + more);
        free(longer);
        assert_true(sbx_deliverer_step(scene.deliverer) == UINT64_MAX);
        assert_int_equal(sbx_test_counts(scene.deliverer).unreadable, ++tried);
    }
    sbx_test_write(sbx_test_payload_path(*state, 8), envelope, bytes);
    sbx_test_write(sbx_test_payload_path(*state, 7), other, other_bytes);
    assert_true(sbx_deliverer_step(scene.deliverer) == UINT64_MAX);
    assert_int_equal(sbx_test_counts(scene.deliverer).unreadable, tried + 2);
    assert_int_equal(sbx_http_server_connection_count(scene.server), 0);
    free(envelope);
    free(other);
    close_scene(&scene);
}

/* ---- SPL-6, SPL-7: what others put there ---- */

static void test_spl_06_among_ten_thousand_foreign_things_the_one_payload_goes(void **state)
{
    (void)sbx_test_mount(*state, "size=64m,mode=0700");
    struct scene scene = open_scene(*state);
    char name[64];
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "%s%05d%s", i % 3 == 0 ? ".x" : "x", i, i % 2 == 0 ? ".sbx" : ".tmp");
        sbx_test_write(sbx_test_path(*state, name), "x", 1);
    }
    sbx_test_write(sbx_test_path(*state, "a\nb.sbx"), "x", 1);
    assert_int_equal(mkfifo(sbx_test_payload_path(*state, 2), 0600), 0);
    int sparse = open(sbx_test_payload_path(*state, 3), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(sparse >= 0);
    assert_int_equal(ftruncate(sparse, (off_t)4 << 30), 0);
    close(sparse);
    assert_int_equal(symlink("/etc/passwd", sbx_test_payload_path(*state, 4)), 0);
    assert_int_equal(mkdir(sbx_test_payload_path(*state, 5), 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(mknod(sbx_test_payload_path(*state, 6), S_IFCHR | 0600, makedev(1, 5)), 0); /* /dev/zero */
    }
    assert_int_equal(sbx_test_put(scene.spool, 1), 0);
    assert_true(sbx_deliverer_step(scene.deliverer) == UINT64_MAX);
    assert_int_equal(sbx_http_server_request_count(scene.server), 1);
    assert_int_equal(sbx_test_counts(scene.deliverer).unreadable, 0);
    struct stat status;
    for (uint32_t i = 2; i <= (geteuid() == 0 ? 6u : 5u); i++) { /* files that are not ours stay */
        assert_int_equal(lstat(sbx_test_payload_path(*state, i), &status), 0);
    }
    assert_int_equal(sbx_test_count(*state, "9998.sbx"), 1);
    close_scene(&scene);
}

static void test_spl_07_what_is_planted_under_a_temporary_name_is_not_written_to(void **state)
{
    static const uint32_t known[3] = {0x11111111, 0x22222222, 0x33333333};
    struct sbx_spool *spool = sbx_test_spool(*state, NULL);
    const char *victims[2] = {sbx_test_path(*state, "victim"), sbx_test_path(*state, "other")};
    char name[100];
    sbx_test_write(victims[0], "untouched", 9);
    sbx_test_write(victims[1], "untouched", 9);
    const char *final = strrchr(sbx_test_payload_path(*state, 1), '/') + 1;
    snprintf(name, sizeof name, ".%s-%08x.%d.tmp", final, (unsigned)known[0], (int)getpid());
    assert_int_equal(symlink("victim", sbx_test_path(*state, name)), 0);
    snprintf(name, sizeof name, ".%s-%08x.%d.tmp", final, (unsigned)known[1], (int)getpid());
    assert_int_equal(link(victims[1], sbx_test_path(*state, name)), 0);
    randoms = known;
    random_count = 3;
    assert_int_equal(sbx_test_put(spool, 1), 0);
    assert_int_equal(random_count, 0); /* both names were tried, and a third one was used */
    assert_int_equal(waiting(spool), 1);
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        char *text = (char *)sbx_test_read(victims[i], &bytes);
        assert_string_equal(text, "untouched");
        free(text);
    }
    sbx_spool_close(spool);
}

/* ---- SPL-8: a day without room ---- */

static void put_raw(const char *folder, uint8_t number)
{
    struct sbx_recording_builder *builder = sbx_scene_create();
    char name[40];
    memset(builder->header->snapshot_id, 0x5a, 16);
    memset(builder->header->snapshot_id, 0, 3);
    builder->header->snapshot_id[3] = number;
    snprintf(name, sizeof name, "raw/%02x" SBX_RAW_SUFFIX, number);
    sbx_recording_save(builder, sbx_test_path(folder, name));
    sbx_recording_builder_destroy(builder);
}

static void test_spl_08_after_a_day_on_a_full_disk_it_goes_on_and_the_newest_are_kept(void **state)
{
    enum {
        SNAPSHOTS = 9,
        KEPT = 5
    };
    const struct sbx_spool_limits limits = {.files_max = KEPT};
    const struct sbx_redaction redaction = sbx_scene_redaction(1);
    struct sbx_pack_counts counts;
    struct sbx_spool *spool = open_small_spool(*state, "size=4m,mode=0700", &limits);
    for (uint8_t i = 1; i <= SNAPSHOTS; i++) {
        put_raw(*state, i);
    }
    int ballast = open(sbx_test_path(*state, "ballast"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    static const char zeroes[4096];
    while (__real_write(ballast, zeroes, sizeof zeroes) > 0) {
    }
    for (int minute = 0; minute < 24 * 60; minute += 60) { /* as often as `stallbox deliver` looks, but fewer */
        assert_int_equal(sbx_pack_raw_folder(spool, &redaction, NULL, NULL, &counts), 0);
        assert_int_equal(counts.packed, 0);
        assert_int_equal(counts.later, SNAPSHOTS);
        assert_int_equal(sbx_test_count(sbx_test_path(*state, "raw"), SBX_RAW_SUFFIX), SNAPSHOTS);
    }
    assert_int_equal(sbx_test_count(*state, ".tmp"), 0);
    assert_int_equal(sbx_test_count(sbx_test_path(*state, "bad"), ""), 0);
    assert_int_equal(ftruncate(ballast, 0), 0);
    close(ballast);
    assert_int_equal(sbx_pack_raw_folder(spool, &redaction, NULL, NULL, &counts), 0);
    assert_int_equal(counts.packed, SNAPSHOTS);
    assert_int_equal(sbx_test_count(*state, ".sbx"), KEPT);
    assert_int_equal(sbx_spool_dropped(spool), SNAPSHOTS - KEPT);
    sbx_spool_close(spool);
}

static void test_spl_08_on_a_full_disk_what_was_sent_makes_room_for_what_was_not(void **state)
{
    struct sbx_spool *spool = open_small_spool(*state, "size=64k,mode=0700", NULL);
    uint32_t kept = fill(spool);
    for (uint32_t i = 1; i <= 2; i++) {
        uint8_t id[16];
        size_t bytes;
        free(sbx_test_payload(i, id, &bytes));
        assert_int_equal(i == 1 ? sbx_spool_mark_sent(spool, id) : sbx_spool_mark_bad(spool, id), 0);
    }
    assert_int_equal(sbx_test_put(spool, 500), 0);
    assert_int_equal(sbx_test_put(spool, 501), 0);
    assert_int_equal(waiting(spool), kept);
    assert_int_equal(sbx_spool_dropped(spool), 0); /* no waiting payload was dropped */
    sbx_spool_close(spool);
}

/* ---- SPL-9: clocks ---- */

static void set_time(const char *path, time_t at)
{
    const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int note_number(void *context, const char *path, const uint8_t id[16])
{
    uint32_t **next = context;
    (void)path;
    *(*next)++ = id[3];
    return 0;
}

static void test_spl_09_times_of_the_future_make_nothing_immortal_and_delete_nothing(void **state)
{
    const struct sbx_spool_limits limits = {.files_max = 4};
    struct sbx_spool *spool = sbx_test_spool(*state, &limits);
    const time_t year = 31536000, now = time(NULL);
    uint32_t order[8] = {0}, *next = order;
    for (uint32_t i = 1; i <= 4; i++) { /* the clock is a year ahead, then corrected: two are put before, two after */
        assert_int_equal(sbx_test_put(spool, i), 0);
        set_time(sbx_test_payload_path(*state, i), i <= 2 ? now + year + i : now - 10 + i);
    }
    sbx_spool_close(spool);
    spool = sbx_test_spool(*state, &limits); /* opening deletes nothing */
    assert_int_equal(waiting(spool), 4);
    assert_int_equal(sbx_spool_each(spool, note_number, &next), 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(order[i], i + 1); /* the oldest first, whatever their file times are */
    }
    for (uint32_t i = 5; i <= 8; i++) { /* and the oldest are deleted first */
        assert_int_equal(sbx_test_put(spool, i), 0);
        assert_false(sbx_test_exists(sbx_test_payload_path(*state, i - 4)));
        assert_int_equal(waiting(spool), 4);
    }
    for (uint32_t i = 5; i <= 8; i++) { /* a year behind: all are still there, and new ones count as newer */
        set_time(sbx_test_payload_path(*state, i), now - year);
    }
    sbx_spool_close(spool);
    spool = sbx_test_spool(*state, &limits);
    assert_int_equal(waiting(spool), 4);
    sbx_spool_close(spool);
}

static void test_spl_09_a_temporary_file_of_the_future_is_swept(void **state)
{
    char name[64];
    snprintf(name, sizeof name, ".x.sbx-1.%d.tmp", (int)getpid());
    assert_int_equal(mkfifo(sbx_test_path(*state, name), 0600), 0); /* it has no lock, so its age decides */
    sbx_spool_close(sbx_test_spool(*state, NULL));
    assert_true(sbx_test_exists(sbx_test_path(*state, name)));
    set_time(sbx_test_path(*state, name), time(NULL) + 31536000);
    sbx_spool_close(sbx_test_spool(*state, NULL));
    assert_false(sbx_test_exists(sbx_test_path(*state, name)));
}

/* ---- SPL-10, SPL-12 ---- */

static void test_spl_10_errors_of_network_file_systems_and_a_slow_disk_cost_one_attempt(void **state)
{
    static const int errors[] = {ESTALE, ETXTBSY};
    struct scene scene = open_scene(*state);
    uint32_t number = 1;
    for (size_t i = 0; i < 2; i++) {
        for (unsigned at = 1; at <= 6; at++) {
            break_call(at, errors[i]);
            int result = sbx_test_put(scene.spool, number);
            break_call(0, 0);
            assert_true(result == 0 || result == -errors[i]);
            assert_int_equal(sbx_test_put(scene.spool, number), 0);
            number++;
        }
    }
    fsync_sleep_ms = 300;
    assert_int_equal(sbx_test_put(scene.spool, number++), 0);
    fsync_sleep_ms = 0;
    assert_int_equal(waiting(scene.spool), number - 1);
    for (unsigned at = 1; at <= 12; at++) { /* and in the middle of a delivery */
        break_call(at, ESTALE);
        (void)sbx_deliverer_step(scene.deliverer);
        break_call(0, 0);
    }
    sbx_deliverer_hurry(scene.deliverer);
    assert_true(sbx_test_deliver_all(scene.deliverer, 60));
    assert_int_equal(sbx_test_counts(scene.deliverer).unreadable, 0);
    for (uint32_t i = 1; i < number; i++) {
        uint8_t id[16];
        size_t bytes;
        unsigned arrived = 0;
        free(sbx_test_payload(i, id, &bytes));
        for (size_t j = 0; j < sbx_http_server_request_count(scene.server); j++) {
            arrived += memcmp(sbx_http_server_request(scene.server, j)->body + 16, id, 16) == 0;
        }
        assert_true(arrived >= 1); /* sent again where the move to sent/ failed; the server recognizes duplicates */
    }
    close_scene(&scene);
}

static void test_spl_12_a_request_for_deletion_is_never_pruned(void **state)
{
    static const char *const names[] = {
        "deletion-request", "identity.0123456789abcdef.erase", "identity", "consent", "modules", "audit.log"};
    const struct sbx_spool_limits limits = {.files_max = 2, .bytes_max = 8000, .sent_kept = 1};
    struct sbx_spool *spool = sbx_test_spool(*state, &limits);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sbx_test_write(sbx_test_path(*state, names[i]), "granted\n", 8);
        set_time(sbx_test_path(*state, names[i]), 1000);
    }
    for (uint32_t i = 1; i <= 20; i++) {
        assert_int_equal(sbx_test_put(spool, i), 0);
    }
    assert_true(sbx_spool_dropped(spool) >= 18);
    assert_int_equal(sbx_spool_empty(spool), 0); /* nor when all waiting payloads are deleted */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_true(sbx_test_exists(sbx_test_path(*state, names[i])));
    }
    sbx_spool_close(spool);
}

int main(void)
{
#define SPOOL_TEST(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        SPOOL_TEST(test_spl_01_an_error_of_any_call_publishes_nothing_and_harms_nothing),
        SPOOL_TEST(test_spl_01_a_full_file_system_publishes_nothing_and_loses_nothing),
        SPOOL_TEST(test_spl_01_without_a_free_inode_nothing_is_lost_either),
        SPOOL_TEST(test_spl_02_folders_that_are_not_a_safe_place_are_refused_untouched),
        SPOOL_TEST(test_spl_02_a_spool_that_becomes_read_only_says_so_and_goes_on_later),
        SPOOL_TEST(test_spl_04_after_a_power_cut_torn_files_are_set_aside_and_counted),
        SPOOL_TEST(test_spl_05_no_changed_byte_no_added_one_and_no_swapped_name_gets_out),
        SPOOL_TEST(test_spl_06_among_ten_thousand_foreign_things_the_one_payload_goes),
        SPOOL_TEST(test_spl_07_what_is_planted_under_a_temporary_name_is_not_written_to),
        SPOOL_TEST(test_spl_08_after_a_day_on_a_full_disk_it_goes_on_and_the_newest_are_kept),
        SPOOL_TEST(test_spl_08_on_a_full_disk_what_was_sent_makes_room_for_what_was_not),
        SPOOL_TEST(test_spl_09_times_of_the_future_make_nothing_immortal_and_delete_nothing),
        SPOOL_TEST(test_spl_09_a_temporary_file_of_the_future_is_swept),
        SPOOL_TEST(test_spl_10_errors_of_network_file_systems_and_a_slow_disk_cost_one_attempt),
        SPOOL_TEST(test_spl_12_a_request_for_deletion_is_never_pruned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
