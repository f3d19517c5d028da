/* SPDX-License-Identifier: Apache-2.0 */
/* test_forked_child.c - what the recorder of a forked child takes over from its parent: real processes, linked with the
 * library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stalling_process.h"

enum {
    KIND_SAVE = 7,
    KIND_DRAW = 8,
    KIND_SEND = 9,
};

static void child_names_kinds_before_it_forks(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stallbox_message_name(KIND_SAVE, "save");
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        stallbox_message_name(KIND_SAVE, "not any more");
        stallbox_message_name(KIND_DRAW, "draw");
        enum stallbox_result result = stallbox_start(NULL);
        while (result == STALLBOX_TIMED_OUT) {
            result = stallbox_start(NULL);
        }
        stallbox_message_name(KIND_SEND, "send");
        exit((result != STALLBOX_OK && result != STALLBOX_ALREADY_RUNNING) || stallbox_snapshot(20000) != STALLBOX_OK);
    }
    stalling_expect(waitpid(pid, &status, 0) == pid && status == 0, "the child makes a snapshot");
    stallbox_stop(5000);
}

static void test_a_forked_child_knows_the_names_that_were_said_before(void **state)
{
    (void)state;
    stalling_process_run(child_names_kinds_before_it_forks);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.family.role, SBX_ROLE_WORKER);
    assert_string_equal(snapshot->kinds[KIND_SAVE].name, "save");
    assert_string_equal(snapshot->kinds[KIND_DRAW].name, "draw");
    assert_string_equal(snapshot->kinds[KIND_SEND].name, "send");
    sbx_snapshot_destroy(snapshot);
}

/* ---- polls that do not wait ---- */

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int count_threads_of(pid_t pid)
{
    int count = 0;
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *listing = opendir(path);
    stalling_expect(listing != NULL, "/proc is there");
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(listing);
    return count;
}

static int count_threads(void)
{
    return count_threads_of(getpid());
}

/* Expect that many threads and kill the child. The children do not end by themselves, so the threads appear sooner or
 * later. */
static void expect_threads_and_kill(pid_t pid, int least)
{
    int threads = 0;
    for (double begun_ms = now_ms(); threads < least && now_ms() - begun_ms < 20000;) {
        threads = count_threads_of(pid);
    }
    stalling_expect(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid, "the child ends");
    stalling_expect(threads >= least, "its recorder begins");
}

static void stop_with_snapshot(void)
{
    stalling_expect(stallbox_snapshot(20000) == STALLBOX_OK, "a snapshot");
    stallbox_stop(5000);
}

/* Poll without waiting, then with a wait. Returns 0: as expected; 1: not; 2: the machine was too slow to say. */
static int poll_without_waiting(const int ends[2], double forked_ms)
{
    struct pollfd ready = {.fd = ends[0], .events = POLLIN};
    struct epoll_event event;
    int silent = epoll_create1(EPOLL_CLOEXEC);
    stalling_expect(poll(NULL, 0, 0) == 0 && poll(&ready, 1, 0) == 1 && ready.revents == POLLIN, "polls");
    stalling_expect(epoll_wait(silent, &event, 1, 0) == 0, "waits of a set");
    int threads = count_threads();
    if (now_ms() - forked_ms >= 20) {
        return 2; /* the child is so old that every poll counts */
    }
    if (threads != 1) {
        return 1;
    }
    while (count_threads() == 1) {
        (void)poll(NULL, 0, 1);
    }
    return 0;
}

static void child_polls_without_waiting(void)
{
    struct stallbox_options options = stalling_options();
    int ends[2], status = -1;
    stalling_start(&options);
    stalling_expect(pipe(ends) == 0 && write(ends[1], "x", 1) == 1, "a pipe with something in it");
    do {
        double forked_ms = now_ms();
        pid_t pid = fork();
        if (pid == 0) {
            _exit(poll_without_waiting(ends, forked_ms));
        }
        stalling_expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child ends");
    } while (WEXITSTATUS(status) == 2);
    stalling_expect(WEXITSTATUS(status) == 0, "its recorder begins when it waits");
    stalling_expect(stallbox_snapshot(20000) == STALLBOX_OK, "a snapshot");
    stallbox_stop(5000);
}

/* The case is about a poll that is ready at once, so the child may pass no other hook. */
static void child_polls_what_is_ready(void)
{
    struct stallbox_options options = stalling_options();
    int ends[2];
    stalling_start(&options);
    stalling_expect(pipe(ends) == 0 && write(ends[1], "x", 1) == 1, "a pipe with something in it");
    pid_t pid = fork();
    if (pid == 0) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        (void)poll(&ready, 1, -1);
        for (;;) {
            __asm__ volatile("");
        }
    }
    expect_threads_and_kill(pid, 2);
    stop_with_snapshot();
}

static void test_a_poll_that_is_ready_begins_the_recorder_of_a_child(void **state)
{
    (void)state;
    stalling_process_run(child_polls_what_is_ready);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* A server that forks its workers right after its first wait, while the state that they would inherit is still being
 * made. */
static void child_forks_while_its_recorder_begins(void)
{
    struct stallbox_options options = stalling_options();
    int ends[2], status = -1;
    stalling_start(&options);
    stalling_expect(pipe(ends) == 0 && write(ends[1], "x", 1) == 1, "a pipe with something in it");
    pid_t master = fork();
    if (master == 0) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        (void)poll(&ready, 1, -1);
        pid_t worker = fork();
        for (double begun_ms = now_ms(); worker == 0;) {
            (void)poll(NULL, 0, 1);
            if (count_threads() > 1 || now_ms() - begun_ms > 20000) {
                _exit(count_threads() == 1);
            }
        }
        int ended = -1;
        _exit(waitpid(worker, &ended, 0) != worker || ended != 0);
    }
    stalling_expect(waitpid(master, &status, 0) == master && status == 0, "the recorder of its child begins");
    stop_with_snapshot();
}

static void test_a_child_that_is_forked_while_its_parents_recorder_begins_is_recorded(void **state)
{
    (void)state;
    stalling_process_run(child_forks_while_its_recorder_begins);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

static void test_a_poll_with_no_time_to_wait_does_not_begin_the_recorder_of_a_young_child(void **state)
{
    (void)state;
    stalling_process_run(child_polls_without_waiting);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* ---- how it begins ---- */

/* The thread id of that thread of this process; 0: there is none. */
static int find_thread(const char *name)
{
    int found = 0;
    DIR *listing = opendir("/proc/self/task");
    stalling_expect(listing != NULL, "/proc is there");
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        char path[300], text[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
        if (file != NULL) {
            found = fgets(text, sizeof text, file) != NULL && strncmp(text, name, strlen(name)) == 0
                        ? atoi(entry->d_name)
                        : found;
            fclose(file);
        }
    }
    closedir(listing);
    return found;
}

/* Returns whether the first thread id after the child's process id belongs to the thread that follows its modules. */
static int see_who_begins(void)
{
    while (find_thread("sbx-watch") == 0) {
        (void)poll(NULL, 0, 1);
    }
    return find_thread("sbx-modules") == getpid() + 1;
}

static void child_sees_who_begins(void)
{
    struct stallbox_options options = stalling_options();
    int status = -1;
    stalling_start(&options);
    do { /* other processes take ids as well; sooner or later the next id is the child's */
        pid_t pid = fork();
        if (pid == 0) {
            _exit(see_who_begins());
        }
        stalling_expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child ends");
        stalling_pause_ms(50); /* at most 20 recorders begin in a second */
    } while (WEXITSTATUS(status) == 0);
    stalling_expect(stallbox_snapshot(20000) == STALLBOX_OK, "a snapshot");
    stallbox_stop(5000);
}

static void test_no_thread_begins_a_child_that_is_not_one_of_the_two_that_stay(void **state)
{
    (void)state;
    stalling_process_run(child_sees_who_begins);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

enum {
    SLEEPERS = 24 /* each thread has a chunk of its own */
};

static void *sleep_a_while(void *unused)
{
    stalling_pause_ms(20);
    return unused;
}

/* The header of this process's recording, which is found by the process id in its name. */
static struct sbx_recording_header own_header(void)
{
    struct sbx_recording_header header;
    char prefix[24], path[600] = "";
    snprintf(prefix, sizeof prefix, "%d-", (int)getpid());
    DIR *listing = opendir(stalling_process_recordings());
    stalling_expect(listing != NULL, "recordings");
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            snprintf(path, sizeof path, "%s/%s", stalling_process_recordings(), entry->d_name);
        }
    }
    closedir(listing);
    FILE *file = fopen(path, "re");
    stalling_expect(file != NULL && fread(&header, sizeof header, 1, file) == 1, "its own recording");
    fclose(file);
    return header;
}

/* Sleep in that many threads, until the ring has used all of its room. */
static int fill_ring(unsigned threads)
{
    pthread_t sleepers[SLEEPERS];
    enum stallbox_result result;
    while ((result = stallbox_start(NULL)) == STALLBOX_TIMED_OUT) {
    }
    stalling_expect(result == STALLBOX_OK || result == STALLBOX_ALREADY_RUNNING, "its recorder begins");
    struct sbx_recording_header header = own_header();
    uint32_t first = header.chunks.count;
    uint64_t room = (header.file_bytes - header.chunks.at) / sizeof(struct sbx_chunk);
    for (unsigned i = 0; i < threads; i++) {
        stalling_expect(pthread_create(&sleepers[i], NULL, sleep_a_while, NULL) == 0, "a thread");
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(sleepers[i], NULL);
    }
    while (threads != 0 && header.chunks.count == first) {
        (void)sleep_a_while(NULL);
        header = own_header();
    }
    return first >= room || header.chunks.count != (threads != 0 ? room : first) ||
           stallbox_snapshot(20000) != STALLBOX_OK;
}

static void children_fill_their_rings(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    for (unsigned threads = 0; threads <= SLEEPERS; threads += SLEEPERS) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            exit(fill_ring(threads));
        }
        stalling_expect(waitpid(pid, &status, 0) == pid && status == 0, "its ring is as long as it has to be");
    }
    stallbox_stop(5000);
}

static void test_the_ring_of_a_child_is_short_until_half_of_it_is_used(void **state)
{
    struct sbx_snapshot *snapshots[SNAPSHOTS_MAX];
    (void)state;
    stalling_process_run(children_fill_their_rings);
    stalling_process_snapshots(2, snapshots);
    assert_true(snapshots[0]->header.chunks.count < snapshots[1]->header.chunks.count);
    sbx_snapshot_destroy(snapshots[0]);
    sbx_snapshot_destroy(snapshots[1]);
}

/* ---- a family that has spent what it may on starts ---- */

static void start_with_no_start_lent(void)
{
    struct stallbox_options options = stalling_options();
    stalling_expect(setenv("STALLBOX_FAMILY_STARTS", "0", 1) == 0, "no start is lent");
    stalling_start(&options);
}

static int live_until_it_is_recorded(double forked_ms)
{
    while (find_thread("sbx-watch") == 0) {
        (void)poll(NULL, 0, 1);
    }
    return now_ms() - forked_ms < 100;
}

static void expect_end(pid_t pid, const char *what)
{
    int status = -1;
    stalling_expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, what);
}

static void child_is_put_off(void)
{
    start_with_no_start_lent();
    double forked_ms = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        _exit(live_until_it_is_recorded(forked_ms));
    }
    expect_end(pid, "it is recorded when it has lived for a while");
    stop_with_snapshot();
}

static void test_a_child_of_a_family_that_makes_many_short_ones_is_recorded_when_it_lives_on(void **state)
{
    (void)state;
    stalling_process_run(child_is_put_off);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* One wait begins and does not end, and the child passes no other hook. */
static void child_hangs_at_once(void)
{
    start_with_no_start_lent();
    pid_t pid = fork();
    if (pid == 0) {
        (void)poll(NULL, 0, 600000);
        _exit(1);
    }
    expect_threads_and_kill(pid, 3); /* its own thread and our two; the helper thread that sleeps is not a recorder */
    stop_with_snapshot();
}

static void test_a_child_that_was_put_off_and_hangs_in_its_first_wait_is_recorded(void **state)
{
    (void)state;
    stalling_process_run(child_hangs_at_once);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* The thread exists before it has its name, because it names itself once it has a processor. */
static bool has_thread_soon(const char *name)
{
    int found = 0;
    for (double begun_ms = now_ms(); found == 0 && now_ms() - begun_ms < 20000;) {
        found = find_thread(name);
    }
    return found != 0;
}

static void children_that_were_put_off_end_fork_and_give_up_what_they_may(void)
{
    start_with_no_start_lent();
    pid_t pid = fork();
    if (pid == 0) { /* ends soon */
        (void)poll(NULL, 0, 1);
        exit(0);
    }
    expect_end(pid, "one ends before it is recorded");
    double forked_ms = now_ms();
    pid = fork();
    if (pid == 0) {
        (void)poll(NULL, 0, 1);
        pid = fork();
        if (pid == 0) {
            _exit(live_until_it_is_recorded(forked_ms));
        }
        expect_end(pid, "its child is recorded");
        _exit(0);
    }
    expect_end(pid, "one forks");
    pid = fork();
    if (pid == 0) {
        (void)poll(NULL, 0, 1);
        stalling_expect(setgid(getgid()) == 0, "rights are given up");
        _exit(find_thread("sbx-modules") == 0 || !has_thread_soon("sbx-watch"));
    }
    expect_end(pid, "one is recorded before it gives up rights");
    pid = fork();
    if (pid == 0) {
        (void)poll(NULL, 0, 1);
        bool was_early = find_thread("sbx-watch") == 0;
        stalling_expect(unshare(CLONE_NEWUSER) == 0 || errno == EPERM || errno == ENOSPC, "a name space of its own");
        _exit(was_early && count_threads() != 1);
    }
    expect_end(pid, "one goes where no thread of ours may be");
    stop_with_snapshot();
}

static void test_a_child_that_was_put_off_ends_forks_and_gives_up_rights_as_others_do(void **state)
{
    (void)state;
    stalling_process_run(children_that_were_put_off_end_fork_and_give_up_what_they_may);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* Returns whether the child got its recorder before the time until which other children are put off. */
static bool begins_at_once(int listener)
{
    double forked_ms = now_ms();
    bool has_threads = false;
    pid_t pid = fork();
    if (pid == 0) {
        (void)accept(listener, NULL, NULL);
        _exit(1);
    }
    while (!has_threads && now_ms() - forked_ms < 100) {
        has_threads = count_threads_of(pid) == 3; /* a child that is put off has two threads */
    }
    bool is_early = has_threads && now_ms() - forked_ms < 100;
    stalling_expect(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid, "the child ends");
    return is_early;
}

static void child_waits_for_connections(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), tries = 0;
    stalling_expect(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 5) == 0,
                    "a door");
    start_with_no_start_lent();
    while (tries < 200 && !begins_at_once(listener)) { /* on a busy machine only some do */
        stalling_pause_ms(60);                         /* at most 20 recorders begin in a second */
        tries++;
    }
    stalling_expect(tries < 200, "its recorder begins at once");
    stop_with_snapshot();
}

static void test_a_child_that_waits_for_connections_is_never_put_off(void **state)
{
    (void)state;
    stalling_process_run(child_waits_for_connections);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* ---- a child that computes ---- */

/* By a call that passes no hook. */
static uint64_t worked_ms(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *volatile allocated;

__attribute__((noinline)) static void allocate(int times)
{
    for (int i = 0; i < times; i++) {
        allocated = malloc(100);
        free(allocated);
    }
}

static void child_computes(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    pid_t pid = fork();
    while (pid == 0) {
        allocate(1);
    }
    expect_threads_and_kill(pid, 3);
    stop_with_snapshot();
}

static void read_a_clock(FILE *out)
{
    (void)out;
    (void)now_ms();
}

#ifdef __GLIBC__ /* musl's streams do not show whether only a buffer is moved */
static void print_a_number(FILE *out)
{
    fprintf(out, "%d\n", 7);
}
#endif

static void children_compute_otherwise(void)
{
    void (*const ways[])(FILE *) = {
        read_a_clock,
#ifdef __GLIBC__
        print_a_number,
#endif
    };
    struct stallbox_options options = stalling_options();
    FILE *out = fopen("/dev/null", "we");
    stalling_start(&options);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        pid_t pid = fork();
        while (pid == 0) {
            ways[i](out);
        }
        expect_threads_and_kill(pid, 3);
    }
    fclose(out);
    stop_with_snapshot();
}

static void test_a_child_that_reads_clocks_or_prints_is_recorded(void **state)
{
    (void)state;
    stalling_process_run(children_compute_otherwise);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

static void test_a_child_that_computes_and_allocates_is_recorded(void **state)
{
    (void)state;
    stalling_process_run(child_computes);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* It passes no hook except those of allocations and of the clock. */
__attribute__((noinline)) static void compute_too_long(void)
{
    for (double begun_ms = now_ms(); now_ms() - begun_ms < 1500;) {
        allocate(1000);
    }
}

/* Returns whether its snapshot is there soon. A message that begins in the moment in which the recorder begins is not
 * seen. */
static bool keeps_a_stall(void)
{
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    stallbox_message_begin(0);
    compute_too_long();
    stallbox_message_end();
    for (double begun_ms = now_ms(); counts.snapshots == 0 && now_ms() - begun_ms < 10000;) {
        allocate(1000);
        stallbox_read_counts(&counts);
    }
    return counts.snapshots != 0;
}

static void child_computes_in_a_message(void)
{
    struct stallbox_options options = stalling_options();
    options.slow_message_ms = 500;
    stalling_start(&options);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(120);
        while (!stallbox_is_running()) {
            allocate(1);
        }
        for (int again = 0; again < 10 && !keeps_a_stall(); again++) {
        }
        exit(0);
    }
    expect_end(pid, "the child ends");
    stallbox_stop(5000);
}

static void test_a_stall_of_a_child_that_never_waits_is_reported(void **state)
{
    (void)state;
    stalling_process_run(child_computes_in_a_message);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.family.role, SBX_ROLE_WORKER);
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    unsigned seen = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        uint32_t kind = snapshot->records[i].kind;
        seen += kind == SBX_RECORD_ALLOC || kind == SBX_RECORD_LEAF || kind == SBX_RECORD_ASYNC;
    }
    assert_true(seen > 0);
    sbx_snapshot_destroy(snapshot);
}

static void child_is_put_off_and_computes(void)
{
    start_with_no_start_lent();
    pid_t pid = fork();
    while (pid == 0) {
        allocate(1);
    }
    expect_threads_and_kill(pid, 3);
    stop_with_snapshot();
}

static void test_a_child_that_was_put_off_and_computes_is_recorded(void **state)
{
    (void)state;
    stalling_process_run(child_is_put_off_and_computes);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* The child becomes old in a sleep that no hook sees. Returns 0: as expected; 1: not; 2: the machine was too slow to
 * say. */
static int allocate_for_a_moment(void)
{
    const struct timespec pause = {0, 30000000};
    (void)syscall(SYS_nanosleep, &pause, NULL);
    allocate(2000);
    int threads = count_threads();
    return worked_ms() >= 5 ? 2 : threads != 1;
}

static void child_allocates_for_a_moment(void)
{
    struct stallbox_options options = stalling_options();
    int status = -1;
    stalling_start(&options);
    do {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(allocate_for_a_moment());
        }
        stalling_expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child ends");
    } while (WEXITSTATUS(status) == 2);
    stalling_expect(WEXITSTATUS(status) == 0, "its recorder has not begun");
    stop_with_snapshot();
}

static void test_a_child_that_has_hardly_computed_is_not_recorded_for_its_allocations(void **state)
{
    (void)state;
    stalling_process_run(child_allocates_for_a_moment);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* The C library may hold a lock of its own where it allocates. */
static void child_lets_the_c_library_allocate(void)
{
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        while (worked_ms() < 200) {
            allocated = strdup("a text");
            free(allocated);
        }
        int threads = count_threads();
        while (count_threads() == 1) {
            allocate(1);
        }
        _exit(threads != 1);
    }
    expect_end(pid, "its recorder begins when the program itself allocates");
    stop_with_snapshot();
}

static void test_no_recorder_begins_where_the_c_library_allocates(void **state)
{
    (void)state;
    stalling_process_run(child_lets_the_c_library_allocate);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

/* ---- below a handler ---- */

#if defined(__x86_64__)
/* Some runtimes set their handlers without the C library, and bring a restorer like this one. */
void own_restorer(void);
__asm__(".text\n.type own_restorer, @function\nown_restorer:\n mov $15, %eax\n syscall\n");

static void fork_and_wait(int number)
{
    (void)number;
    pid_t pid = fork();
    if (pid == 0) {
        (void)poll(NULL, 0, 20);
        (void)poll(NULL, 0, 20);
        while (worked_ms() < 1500) { /* each second it is asked again */
            allocate(1000);
            (void)now_ms();
        }
        _exit(count_threads() != 1);
    }
    expect_end(pid, "no thread is made where an allocation may have been interrupted");
}

/* The handler is set long after the recorder began, so nothing that the recorder has seen of handlers applies to it. */
static void child_forks_below_a_handler_of_its_own(void)
{
    const struct {
        void (*handler)(int);
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {fork_and_wait, 0x04000000 /* SA_RESTORER */, own_restorer, 0};
    struct stallbox_options options = stalling_options();
    stalling_start(&options);
    stalling_pause_ms(1200);
    stalling_expect(syscall(SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof action.mask) == 0, "a handler");
    stalling_expect(syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1) == 0, "which runs");
    stop_with_snapshot();
}

static void test_below_a_handler_that_returns_by_code_of_its_own_no_thread_is_made(void **state)
{
    (void)state;
    stalling_process_run(child_forks_below_a_handler_of_its_own);
    sbx_snapshot_destroy(stalling_process_snapshot());
}
#endif

/* ---- what a fork copies ---- */

#ifdef __GLIBC__
/* Count the C library's arenas. Each has a line of its own and two mappings. */
static int count_arenas(void)
{
    char *text = NULL;
    size_t bytes = 0;
    int count = 0;
    FILE *out = open_memstream(&text, &bytes);
    stalling_expect(out != NULL && malloc_info(0, out) == 0 && fclose(out) == 0, "malloc tells of itself");
    for (const char *at = text; (at = strstr(at, "<heap nr=")) != NULL; at++) {
        count++;
    }
    free(text);
    return count;
}

static void child_counts_arenas(void)
{
    struct stallbox_options options = stalling_options();
    int before = count_arenas();
    stalling_start(&options);
    stalling_pause_ms(300); /* wait for all one-time work of the start, or the test shows nothing */
    stalling_expect(stallbox_snapshot(20000) == STALLBOX_OK, "a snapshot");
    stallbox_stop(20000);
    stalling_expect(count_arenas() == before, "no thread of the recorder's has allocated");
}

static void test_no_thread_of_the_recorder_has_an_arena_that_forks_would_copy(void **state)
{
    (void)state;
    stalling_process_run(child_counts_arenas);
    sbx_snapshot_destroy(stalling_process_snapshot());
}
#endif

/* Count the pages of this process that a fork handles one by one: those that are present and belong neither to a file
 * nor to shared memory (the kernel's admin-guide/mm/pagemap.rst). */
static int count_pages_that_a_fork_copies(void)
{
    int count = 0;
    char line[512];
    const long page = sysconf(_SC_PAGESIZE);
    FILE *maps = fopen("/proc/self/maps", "re");
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    stalling_expect(maps != NULL && pagemap >= 0, "/proc tells");
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char flags[5];
        stalling_expect(sscanf(line, "%lx-%lx %4s", &begin, &end, flags) == 3, "a mapping");
        for (unsigned long at = begin; flags[3] == 'p' && at < end; at += (unsigned long)page) {
            uint64_t entry = 0;
            bool is_told = pread(pagemap, &entry, sizeof entry, (off_t)(at / (unsigned long)page * sizeof entry)) ==
                           (ssize_t)sizeof entry;
            count += is_told && (entry >> 63) != 0 && (entry >> 61 & 1) == 0;
        }
    }
    fclose(maps);
    close(pagemap);
    return count;
}

/* Most of the recorder's memory is rows. They are not among these pages, however many modules there are. */
static void child_counts_pages(void)
{
    enum {
        MOST = 110 /* measured: 80; with the rows 170 and more */
    };
    struct stallbox_options options = stalling_options();
    (void)count_pages_that_a_fork_copies(); /* let stdio allocate its buffers */
    int before = count_pages_that_a_fork_copies();
    stalling_start(&options);
    stalling_expect(stallbox_snapshot(20000) == STALLBOX_OK, "a snapshot");
    stalling_pause_ms(500); /* wait until the rows are made, or the test shows nothing */
    int more = count_pages_that_a_fork_copies() - before;
    for (int looks = 0; looks < 20 && more > MOST; looks++) { /* making rows takes memory for a while, too */
        stalling_pause_ms(250);
        more = count_pages_that_a_fork_copies() - before;
    }
    fprintf(stderr, "pages that a fork copies: %d more than without the recorder\n", more);
    stalling_expect(more <= MOST, "a fork copies few pages for the recorder");
    stallbox_stop(20000);
}

static void test_a_fork_copies_few_pages_for_the_recorder(void **state)
{
    (void)state;
    if (prctl(PR_GET_SECCOMP) != 0) { /* under a seccomp filter rows are private pages */
        skip();
    }
    stalling_process_run(child_counts_pages);
    sbx_snapshot_destroy(stalling_process_snapshot());
}

enum {
    CHILDREN = 100,
    AT_ONCE = 10
};

static enum stallbox_result again_while_it_takes_its_time(enum stallbox_result (*call)(void))
{
    enum stallbox_result result = call();
    while (result == STALLBOX_TIMED_OUT) {
        result = call();
    }
    return result;
}

static enum stallbox_result start_here(void)
{
    return stallbox_start(NULL);
}

static enum stallbox_result keep_a_snapshot(void)
{
    return stallbox_snapshot(20000);
}

static void forks_a_hundred(void)
{
    struct stallbox_options options = stalling_options();
    alarm(240);
    stalling_start(&options);
    for (int i = 0; i < CHILDREN; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++) {
            if (fork() == 0) {
                enum stallbox_result result = again_while_it_takes_its_time(start_here);
                exit((result != STALLBOX_OK && result != STALLBOX_ALREADY_RUNNING) ||
                     again_while_it_takes_its_time(keep_a_snapshot) != STALLBOX_OK);
            }
        }
        for (int k = 0; k < AT_ONCE; k++) {
            int status = -1;
            stalling_expect(wait(&status) > 0 && status == 0, "a child makes a snapshot");
        }
    }
    stallbox_stop(5000);
}

static void read_header(const char *folder, const char *name, struct sbx_recording_header *header_out)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fread(header_out, sizeof *header_out, 1, file), 1);
    fclose(file);
}

static void test_a_hundred_children_have_a_hundred_snapshots_and_sessions(void **state)
{
    static struct sbx_recording_header headers[CHILDREN];
    static const uint8_t zero[16];
    char folder[128];
    int count = 0;
    (void)state;
    stalling_process_run(forks_a_hundred);
    snprintf(folder, sizeof folder, "%s/raw", stalling_process_spool());
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (entry->d_name[0] != '.') {
            assert_true(count < CHILDREN);
            read_header(folder, entry->d_name, &headers[count++]);
        }
    }
    closedir(listing);
    assert_int_equal(count, CHILDREN); /* a child with the id of another would have replaced its file */
    for (int i = 0; i < count; i++) {
        assert_memory_not_equal(headers[i].snapshot_id, zero, sizeof zero);
        assert_memory_not_equal(headers[i].session_id, zero, sizeof zero);
        for (int k = 0; k < i; k++) {
            assert_memory_not_equal(headers[i].snapshot_id, headers[k].snapshot_id, sizeof zero);
            assert_memory_not_equal(headers[i].session_id, headers[k].session_id, sizeof zero);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef __GLIBC__
        cmocka_unit_test_setup_teardown(test_no_thread_of_the_recorder_has_an_arena_that_forks_would_copy,
                                        stalling_process_set_up, stalling_process_tear_down),
#endif
        cmocka_unit_test_setup_teardown(test_a_poll_that_is_ready_begins_the_recorder_of_a_child,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_is_forked_while_its_parents_recorder_begins_is_recorded,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_poll_with_no_time_to_wait_does_not_begin_the_recorder_of_a_young_child,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_no_thread_begins_a_child_that_is_not_one_of_the_two_that_stay,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_the_ring_of_a_child_is_short_until_half_of_it_is_used,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_child_of_a_family_that_makes_many_short_ones_is_recorded_when_it_lives_on, stalling_process_set_up,
            stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_was_put_off_and_hangs_in_its_first_wait_is_recorded,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_was_put_off_ends_forks_and_gives_up_rights_as_others_do,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_waits_for_connections_is_never_put_off,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_reads_clocks_or_prints_is_recorded, stalling_process_set_up,
                                        stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_computes_and_allocates_is_recorded, stalling_process_set_up,
                                        stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_stall_of_a_child_that_never_waits_is_reported, stalling_process_set_up,
                                        stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_was_put_off_and_computes_is_recorded, stalling_process_set_up,
                                        stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_that_has_hardly_computed_is_not_recorded_for_its_allocations,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_no_recorder_begins_where_the_c_library_allocates, stalling_process_set_up,
                                        stalling_process_tear_down),
#if defined(__x86_64__)
        cmocka_unit_test_setup_teardown(test_below_a_handler_that_returns_by_code_of_its_own_no_thread_is_made,
                                        stalling_process_set_up, stalling_process_tear_down),
#endif
        cmocka_unit_test_setup_teardown(test_a_fork_copies_few_pages_for_the_recorder, stalling_process_set_up,
                                        stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_forked_child_knows_the_names_that_were_said_before,
                                        stalling_process_set_up, stalling_process_tear_down),
        cmocka_unit_test_setup_teardown(test_a_hundred_children_have_a_hundred_snapshots_and_sessions,
                                        stalling_process_set_up, stalling_process_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
