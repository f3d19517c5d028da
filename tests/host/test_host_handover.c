/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_handover.c - programs that cannot write their snapshots, and their companion, which can. */
#include "host_case.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    NOT_TO_BE_HAD = 77,
    NOBODY = 65534,
    TEXT_BYTES = 65536
};

__attribute__((noinline)) static void computes_without_rights(void)
{
    host_compute_ms(700);
    HOST_KEEP_FRAME();
}

__attribute__((noinline)) static void sleeps_without_rights(void)
{
    host_pause_ms(700);
    HOST_KEEP_FRAME();
}

static void drop_rights(void)
{
    if (geteuid() != 0) {
        _exit(NOT_TO_BE_HAD);
    }
    host_expect(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0, "the host drops its rights");
}

/* Stall in the middle of a loop, and continue until there are `count` snapshots. Meanwhile the companion works and the
 * recording goes on. One call of host_loop(), so that it is one loop. */
static void stall_until(void (*stall)(void), uint64_t count)
{
    enum {
        AT = 10,
        LAST = 2000
    };
    int turn = 0;
    for (; turn <= AT || (turn < LAST && host_counts().snapshots < count); turn++) {
        host_loop(10, turn == AT ? stall : NULL);
    }
    if (turn == LAST) {
        struct stallbox_counts counts = host_counts();
        fprintf(stderr, "snapshots %llu of %llu, failed %llu; triggers dropped %llu\n",
                (unsigned long long)counts.snapshots, (unsigned long long)count,
                (unsigned long long)counts.snapshots_failed, (unsigned long long)counts.triggers_dropped);
    }
    host_expect(turn < LAST, "the snapshot is made");
    host_expect(host_counts().triggers_dropped == 0 && host_counts().snapshots_failed == 0, "none is lost");
}

/* ---- rights dropped ---- */

/* Stalls without rights, and a manual snapshot. Each snapshot exists when the call returns. */
static void stalls_without_rights(void)
{
    host_loop(50, NULL);
    drop_rights();
    host_expect(open(getenv("STALLBOX_SPOOL"), O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES,
                "the spool is not its own");
    stall_until(computes_without_rights, 1);
    host_expect_snapshot();
    host_pause_ms(1100); /* snapshots of one kind are at least a second apart */
    stall_until(sleeps_without_rights, 3);
}

static void host_13_what_a_daemon_without_rights_cannot_write_its_companion_writes(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    host_run_well(&(struct host_order){.body = "stalls_without_rights", .slow_message_ms = 500, .has_companion = true});
    host_report(text, sizeof text);
    assert_non_null(strstr(text, "computes_without_rights"));
    assert_non_null(strstr(text, "sleeps_without_rights"));
    assert_non_null(strstr(text, "manual"));
    host_companion_said(text, sizeof text);
    assert_non_null(strstr(text, "3 stalls recorded"));
    assert_null(strstr(text, "could not be"));
    assert_int_equal(host_count_files(host_recordings, SBX_RECORDING_SUFFIX), 0);
    assert_int_equal(host_count_files(host_raw, ""), 0);
}

/* As memcached does: before any other code of the program has run. */
static void has_no_rights_from_the_first(void)
{
    drop_rights();
    host_loop(10, NULL);
    host_expect_snapshot();
}

static void host_13_a_daemon_that_gives_up_its_rights_at_once_has_its_companion_by_then(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    host_run_well(&(struct host_order){.body = "has_no_rights_from_the_first", .has_companion = true});
    host_companion_said(text, sizeof text);
    assert_non_null(strstr(text, "1 stall recorded"));
    assert_null(strstr(text, "could not be"));
}

/* ---- another root ---- */

static void stalls_below_another_root(void)
{
    char root[128];
    snprintf(root, sizeof root, "%s/root", getenv("HOST_FOLDER"));
    host_loop(50, NULL);
    if (mkdir(root, 0755) != 0 || chroot(root) != 0 || chdir("/") != 0) {
        _exit(NOT_TO_BE_HAD);
    }
    drop_rights();
    stall_until(computes_without_rights, 1);
    DIR *listing = opendir("/");
    host_expect(listing != NULL, "the new root can be listed");
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        host_expect(entry->d_name[0] == '.', "nothing is made in the new root");
    }
    closedir(listing);
}

static void host_13_below_another_root_the_companion_writes_where_the_spool_is(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    host_run_well(
        &(struct host_order){.body = "stalls_below_another_root", .slow_message_ms = 500, .has_companion = true});
    host_report(text, sizeof text);
    assert_non_null(strstr(text, "computes_without_rights"));
    assert_int_equal(host_count_files(host_recordings, SBX_RECORDING_SUFFIX), 0);
}

/* ---- no file as large as a snapshot ---- */

static void may_write_small_files_only(void)
{
    const struct rlimit small = {65536, 65536};
    host_loop(50, NULL);
    host_expect(setrlimit(RLIMIT_FSIZE, &small) == 0, "a limit is set");
    host_expect_snapshot();
}

static void host_15_what_a_limit_keeps_a_program_from_writing_its_companion_writes(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    host_run_well(&(struct host_order){.body = "may_write_small_files_only", .has_companion = true});
    host_companion_said(text, sizeof text);
    assert_non_null(strstr(text, "1 stall recorded"));
}

/* ---- no files at all ---- */

static void opens_no_file_any_more(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = SBX_COUNT_OF(filter), .filter = filter};
    host_loop(50, NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        _exit(NOT_TO_BE_HAD);
    }
    stall_until(computes_without_rights, 1);
}

static void host_14_in_a_sandbox_without_files_the_companion_writes(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    host_run_well(
        &(struct host_order){.body = "opens_no_file_any_more", .slow_message_ms = 500, .has_companion = true});
    host_report(text, sizeof text);
    assert_non_null(strstr(text, "computes_without_rights"));
}

/* ---- what nobody can write ---- */

static void break_the_spool(void)
{
    char raw[128], aside[140];
    snprintf(raw, sizeof raw, "%s/raw", getenv("STALLBOX_SPOOL"));
    snprintf(aside, sizeof aside, "%s.aside", raw);
    host_expect(rename(raw, aside) == 0, "the folder is moved");
    int file = open(raw, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    host_expect(file >= 0, "and a file is there instead");
    close(file);
}

static void has_a_spool_that_nobody_can_write_to(void)
{
    host_loop(50, NULL);
    break_the_spool();
    host_expect(host_api().snapshot(30000) == STALLBOX_IO_FAILED, "there is no snapshot");
    host_expect(host_counts().snapshots_failed == 1, "and that is counted");
}

static void host_13_what_nobody_could_write_is_told_when_the_program_has_ended_well(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    host_run_well(&(struct host_order){.body = "has_a_spool_that_nobody_can_write_to", .has_companion = true});
    host_companion_said(text, sizeof text);
    assert_non_null(strstr(text, "1 snapshot could not be written: Not a directory"));
}

/* ---- a companion that is gone ---- */

/* How often the companion was asked: the number of the newest request in our recording. */
static uint32_t requests(void)
{
    const char *folder = getenv("STALLBOX_RECORDINGS");
    struct sbx_control_page control;
    char path[512] = "";
    DIR *listing = opendir(folder);
    host_expect(listing != NULL, "recordings can be listed");
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strstr(entry->d_name, SBX_RECORDING_SUFFIX) != NULL) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        }
    }
    closedir(listing);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    host_expect(file >= 0 && pread(file, &control, sizeof control, SBX_CONTROL_AT) == (ssize_t)sizeof control,
                "the control page can be read");
    close(file);
    return control.handover.request;
}

static void loses_its_companion(void)
{
    host_loop(50, NULL);
    pid_t companion = getppid();
    host_expect(kill(companion, SIGKILL) == 0, "the companion is killed");
    while (getppid() == companion) {
        host_pause_ms(5);
    }
    break_the_spool();
    host_expect(host_api().snapshot(30000) == STALLBOX_IO_FAILED, "nobody has made it");
    host_expect(requests() == 1, "it was asked for");
    host_pause_ms(1100);
    host_expect(host_api().snapshot(30000) == STALLBOX_IO_FAILED, "and nobody makes the next");
    host_expect(requests() == 1, "which nobody was asked for, and nobody waited for");
    host_expect(host_counts().snapshots_failed == 2, "both are counted");
    host_tell("gone on");
}

static void host_13_a_companion_that_was_killed_costs_one_wait(void **state)
{
    (void)state;
    assert_int_equal(host_run(&(struct host_order){.body = "loses_its_companion", .has_companion = true}), SIGKILL);
    assert_true(host_was_told("gone on"));
}

static bool is_stopped(pid_t pid)
{
    char path[40], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    host_expect(file != NULL && fgets(line, sizeof line, file) != NULL, "the companion's state can be read");
    fclose(file);
    return strstr(line, ") T ") != NULL;
}

/* A stopped companion answers too late, and is asked again when it continues. */
static void stops_its_companion(void)
{
    host_loop(50, NULL);
    host_expect(kill(getppid(), SIGSTOP) == 0, "the companion is stopped");
    while (!is_stopped(getppid())) {
        host_pause_ms(5);
    }
    drop_rights();
    host_expect(host_api().snapshot(30000) == STALLBOX_IO_FAILED, "nobody makes it in time");
    host_tell("stopped");
    host_pause_ms(1100);
    for (int tries = 0; host_api().snapshot(30000) != STALLBOX_OK; tries++) {
        host_expect(tries < 50, "a companion that goes on is asked again");
        host_pause_ms(1100);
    }
}

static void host_13_a_companion_that_was_stopped_is_asked_again(void **state)
{
    static char text[TEXT_BYTES];
    (void)state;
    if (geteuid() != 0) {
        host_skip("rights can be dropped by root only");
    }
    assert_int_equal(chmod(host_folder, 0777), 0); /* the body must be able to write its word there */
    pid_t pid = host_begin(&(struct host_order){.body = "stops_its_companion", .has_companion = true});
    assert_true(host_was_told("stopped"));
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(host_end(pid), 0);
    host_companion_said(text, sizeof text);
    assert_non_null(strstr(text, " could not be written: not in time"));
    assert_non_null(strstr(text, "1 stall recorded"));
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(stalls_without_rights),     HOST_BODY(has_no_rights_from_the_first),
        HOST_BODY(stalls_below_another_root), HOST_BODY(may_write_small_files_only),
        HOST_BODY(opens_no_file_any_more),    HOST_BODY(has_a_spool_that_nobody_can_write_to),
        HOST_BODY(loses_its_companion),       HOST_BODY(stops_its_companion),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_13_what_a_daemon_without_rights_cannot_write_its_companion_writes),
        HOST_TEST(host_13_a_daemon_that_gives_up_its_rights_at_once_has_its_companion_by_then),
        HOST_TEST(host_13_below_another_root_the_companion_writes_where_the_spool_is),
        HOST_TEST(host_15_what_a_limit_keeps_a_program_from_writing_its_companion_writes),
        HOST_TEST(host_14_in_a_sandbox_without_files_the_companion_writes),
        HOST_TEST(host_13_what_nobody_could_write_is_told_when_the_program_has_ended_well),
        HOST_TEST(host_13_a_companion_that_was_killed_costs_one_wait),
        HOST_TEST(host_13_a_companion_that_was_stopped_is_asked_again),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
