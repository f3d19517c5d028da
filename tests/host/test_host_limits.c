/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_limits.c - limited resources: resource limits, descriptors closed by the program, memory pressure. */
#include "host_case.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_group.h"
#include "recording_recover.h"

/* ---- HOST-15 ---- */

static int limit_kind;
static rlim_t limit_value;

static bool set_limit(void)
{
    struct rlimit limit = {limit_value, limit_value};
    if (limit_kind == RLIMIT_NPROC) { /* has no effect on root */
        char command[100];
        snprintf(command, sizeof command, "chmod -R 777 '%s'", host_folder);
        if (geteuid() != 0 || system(command) != 0 || setgid(65534) != 0 || setuid(65534) != 0) {
            return false;
        }
    }
    return setrlimit((__rlimit_resource_t)limit_kind, &limit) == 0;
}

static void run_limited(int kind, rlim_t value)
{
    limit_kind = kind;
    limit_value = value;
    assert_int_equal(host_run(&(struct host_order){.body = "host_work", .before_exec = set_limit}), 0);
}

static void host_15_tight_limits_end_no_program(void **state)
{
    (void)state;
    run_limited(RLIMIT_NOFILE, 16);
    run_limited(RLIMIT_NOFILE, 7);
    run_limited(RLIMIT_NOFILE, 5); /* with 4 the loader itself cannot open a library */
    run_limited(RLIMIT_FSIZE, 1 << 20);
    run_limited(RLIMIT_FSIZE, 0);
    run_limited(RLIMIT_AS, 64 << 20);
    run_limited(RLIMIT_AS, 24 << 20);
    run_limited(RLIMIT_MEMLOCK, 0);
    run_limited(RLIMIT_NPROC, 1);
}

static void uses_all_its_descriptors(void)
{
    struct rlimit limit = {16, 16};
    int files[16], count = 0;
    host_loop(20, NULL);
    host_expect(setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit is set");
    while (count < 16 && (files[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
    }
    host_expect(count == 13, "all of them are the host's"); /* 16 without stdin, stdout and stderr */
    host_expect_snapshot();                                 /* none are left for the host, but ours are separate */
    for (int i = 0; i < 2000; i++) {
        if (i % 500 == 0) {
            host_api().snapshot(0);
        }
        close(files[12]);
        files[12] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        host_expect(files[12] >= 0, "a descriptor that was given back is there again");
    }
}

static void host_15_a_host_that_uses_its_last_descriptor_never_misses_it(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "uses_all_its_descriptors"});
    assert_true(host_count_snapshots() >= 1);
}

/* ---- HOST-17 ---- */

static void closes_everything(void)
{
    static const char text[] = "the host's own words";
    char path[200], back[64];
    snprintf(path, sizeof path, "%s/words", getenv("HOST_FOLDER"));
    host_loop(20, NULL);
    uint64_t begin = host_now_ms();
    for (int turn = 0; turn < 500 || host_now_ms() - begin < 3000; turn++) {
        if (turn % 100 == 0) {
            host_api().snapshot(0);
        }
        for (int fd = 3; fd < 64; fd++) { /* closefrom(3) */
            close(fd);
        }
        int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        host_expect(file >= 0 && write(file, text, sizeof text) == (ssize_t)sizeof text, "the host writes its file");
        for (int fd = 4; fd < 20; fd++) {
            dup2(file, fd); /* over any descriptor that is there */
        }
        host_loop(1, NULL);
        struct stat status;
        host_expect(fstat(file, &status) == 0 && status.st_size == (off_t)sizeof text &&
                        pread(file, back, sizeof back, 0) == (ssize_t)sizeof text &&
                        memcmp(back, text, sizeof text) == 0,
                    "and finds in it what it wrote");
    }
    host_pause_ms(1100);
    host_expect_snapshot();
}

static void host_17_closing_and_replacing_every_descriptor_hits_nobody(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "closes_everything"});
    /* All snapshots are complete: none was written into another file, and none lost its descriptor on the way. */
    assert_true(host_count_snapshots() >= 2);
    char command[160];
    snprintf(command, sizeof command, "'%s' report '%s' >/dev/null", HOST_TOOL, host_spool);
    assert_int_equal(system(command), 0);
}

/* ---- HOST-21 ---- */

static long mapped_pages(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    host_expect(file != NULL && fscanf(file, "%ld", &pages) == 1, "the size can be read");
    fclose(file);
    return pages;
}

__attribute__((noinline)) static void go_deep(int depth)
{
    volatile char ballast[2048];
    ballast[0] = (char)depth;
    void *volatile memory = malloc(64);
    free(memory);
    if (depth > 0) {
        go_deep(depth - 1);
    } else {
        host_compute_ms(4);
    }
    ballast[1] = ballast[0];
}

/* Releases the unused part of its stack to the kernel, again and again: what was remembered of it reads as zero. */
static void *give_stack_back(void *unused)
{
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    (void)unused;
    host_expect(pthread_getattr_np(pthread_self(), &attributes) == 0, "a thread knows its stack");
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    while (host_goes_on) {
        go_deep(100);
        uintptr_t begin = ((uintptr_t)low + 4095) & ~(uintptr_t)4095;
        uintptr_t end = ((uintptr_t)__builtin_frame_address(0) - 16384) & ~(uintptr_t)4095;
        madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return NULL;
}

static void *short_life(void *unused)
{
    (void)unused;
    void *volatile memory = malloc(10);
    free(memory);
    return NULL;
}

static void does_a_lot(int lives)
{
    for (int i = 0; i < lives; i++) {
        pthread_t thread;
        host_expect(pthread_create(&thread, NULL, short_life, NULL) == 0, "a thread starts");
        pthread_join(thread, NULL);
        if (i % 200 == 0) {
            host_api().snapshot(0);
            host_loop(5, NULL);
        }
    }
}

static void runs_for_long(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, give_stack_back, NULL);
    does_a_lot(1200); /* more than there are entries, so that all memory that can be mapped is mapped */
    long before = mapped_pages();
    does_a_lot(3000);
    long grown = mapped_pages() - before;
    host_goes_on = false;
    pthread_join(thread, NULL);
    host_expect(grown * 4096 < 4 << 20, "memory does not grow with work");
    host_pause_ms(1100);
    host_expect_snapshot();
}

static void host_21_memory_is_bounded_and_stacks_may_be_given_back(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "runs_for_long"});
}

/* Computes until the test continues; the message is open meanwhile. */
static void wait_in_the_message(void)
{
    char path[160];
    host_tell("in_message");
    snprintf(path, sizeof path, "%s/go_on", getenv("HOST_FOLDER"));
    while (access(path, F_OK) != 0) {
        host_compute_ms(5);
    }
}

__attribute__((noinline)) static void take_memory_without_end(void)
{
    wait_in_the_message();
    for (;;) {
        enum {
            PIECE = 1 << 20
        };
        char *volatile memory = malloc(PIECE);
        host_expect(memory != NULL, "the kernel promises memory");
        memset(memory, 1, PIECE);
    }
}

static void takes_all_memory(void)
{
    host_loop(50, NULL);
    host_loop(1, take_memory_without_end);
}

/* Reads more through the page cache than the group may have, so that the recorder's own pages are evicted and read
 * again. */
static void lives_in_little_memory(void)
{
    static char block[1 << 20];
    char path[160];
    pthread_t thread;
    snprintf(path, sizeof path, "%s/large", getenv("HOST_FOLDER"));
    host_loop(50, wait_in_the_message);
    host_expect(pthread_create(&thread, NULL, host_keep_busy, NULL) == 0, "a thread starts");
    for (int turn = 0; turn < 2; turn++) {
        int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        host_expect(file >= 0, "a file is made");
        for (int i = 0; i < 80; i++) {
            memset(block, i, sizeof block);
            host_expect(write(file, block, sizeof block) == (ssize_t)sizeof block, "and written");
            host_loop(1, NULL);
        }
        close(file);
        host_expect_snapshot();
        host_pause_ms(1100); /* snapshots of one kind are at least a second apart */
    }
    host_goes_on = false;
    pthread_join(thread, NULL);
}

/* Start a body that waits in its message, and put it into the group. */
static pid_t begin_in_group(const char *body, const struct control_group *group)
{
    char path[160];
    pid_t pid = host_begin(&(struct host_order){.body = body});
    bool is_in = host_was_told("in_message") && control_group_enter(group, pid);
    host_pause_ms(1000); /* longer than it takes to make a note of an open message */
    snprintf(path, sizeof path, "%s/go_on", host_folder);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (!is_in || file < 0) {
        kill(pid, SIGKILL);
    }
    close(file);
    return pid;
}

static void host_21_a_program_the_kernel_ends_for_its_memory_is_told_of(void **state)
{
    struct control_group group;
    struct sbx_recovery_counts counts;
    (void)state;
    control_group_make_with_memory("67108864", &group);
    pid_t pid = begin_in_group("takes_all_memory", &group);
    int status = host_end(pid);
    long kills = control_group_read(&group, group.version == 2 ? "memory.events" : "memory.oom_control", "oom_kill");
    control_group_remove(&group);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(kills, 1);
    assert_int_equal(sbx_recording_recover_folder(host_recordings, host_spool, NULL, NULL, &counts), 0);
    assert_int_equal(counts.killed, 1);
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_KILLED);
    bool is_there = false;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        is_there |= host_passes(snapshot, snapshot->records[i].stack, (void *)take_memory_without_end);
    }
    assert_true(is_there);
    sbx_snapshot_destroy(snapshot);
}

static void host_21_a_memory_limit_that_is_hit_all_the_time_is_borne(void **state)
{
    struct control_group group;
    (void)state;
    control_group_make_with_memory("41943040", &group);
    pid_t pid = begin_in_group("lives_in_little_memory", &group);
    int status = host_end(pid);
    /* Twice the limit was read. A process that uses nearly all of its memory was forced to release pages. */
    long most = control_group_read(&group, group.version == 2 ? "memory.peak" : "memory.max_usage_in_bytes", NULL);
    long hits = group.version == 2 ? control_group_read(&group, "memory.events", "max") : 0;
    control_group_remove(&group);
    assert_int_equal(status, 0);
    assert_true(hits > 0 || most > 41943040 / 20 * 19);
    assert_int_equal(host_count_snapshots(), 2);
}

/* Reads all memory that the list of mappings calls readable, as a scanning garbage collector or a memory test does. */
static bool can_read_what_is_listed(void)
{
    char line[PATH_MAX + 128], byte;
    bool can = true;
    FILE *maps = fopen("/proc/self/maps", "re");
    host_expect(maps != NULL, "mappings can be listed");
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t begin, end;
        char rights[5];
        host_expect(sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) == 3, "a line is one");
        bool is_listed =
            rights[0] == 'r' && strstr(line, "[v") == NULL; /* the kernel's own pages cannot be read by this call */
        for (uintptr_t page = begin; is_listed && can && page < end; page += (uintptr_t)sysconf(_SC_PAGESIZE)) {
            struct iovec here = {&byte, 1}, there = {(void *)page, 1};
            can = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
        }
    }
    fclose(maps);
    return can;
}

static void reads_all_its_memory(void)
{
    bool can = false;
    for (int turn = 0; turn < 5 && !can; turn++) { /* a mapping may be removed while it is read */
        host_loop(20, NULL);
        can = can_read_what_is_listed();
    }
    host_expect(can, "all memory that is listed as readable can be read");
}

static void host_21_all_memory_that_is_listed_as_readable_can_be_read(void **state)
{
    (void)state;
    assert_int_equal(host_run(&(struct host_order){.body = "reads_all_its_memory"}), 0);
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(host_work),
        HOST_BODY(uses_all_its_descriptors),
        HOST_BODY(closes_everything),
        HOST_BODY(runs_for_long),
        HOST_BODY(takes_all_memory),
        HOST_BODY(lives_in_little_memory),
        HOST_BODY(reads_all_its_memory),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_15_tight_limits_end_no_program),
        HOST_TEST(host_15_a_host_that_uses_its_last_descriptor_never_misses_it),
        HOST_TEST(host_17_closing_and_replacing_every_descriptor_hits_nobody),
        HOST_TEST(host_21_memory_is_bounded_and_stacks_may_be_given_back),
        HOST_TEST(host_21_a_program_the_kernel_ends_for_its_memory_is_told_of),
        HOST_TEST(host_21_a_memory_limit_that_is_hit_all_the_time_is_borne),
        HOST_TEST(host_21_all_memory_that_is_listed_as_readable_can_be_read),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
