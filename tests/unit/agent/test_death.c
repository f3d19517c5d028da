/* SPDX-License-Identifier: Apache-2.0 */
/* test_death.c - every way in which a process can end that is no fault, each by a real process that ends so, and what
 * is found afterwards (docs/DEATH.md has the table, test_crash.c has the faults). The deaths under `stallbox run` are
 * in tests/integration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dying_process.h"
#include "stallbox/stallbox.h"

static void child_stalls_and_is_killed(void)
{
    dying_start(false);
    dying_stall();
    raise(SIGKILL);
}

static void child_is_killed(void)
{
    dying_start(false);
    raise(SIGKILL);
}

static void child_stalls_and_is_terminated(void)
{
    dying_start(false);
    dying_stall();
    raise(SIGTERM);
}

static void child_quits_in_a_stall(void)
{
    dying_start(false);
    dying_stall();
    _exit(3);
}

static void child_quits(void)
{
    dying_start(false);
    _exit(3);
}

static void child_exits_in_a_stall(void)
{
    dying_start(false);
    dying_stall();
    exit(3);
}

static void *exit_from_here(void *unused)
{
    (void)unused;
    exit(3);
}

/* As a watchdog thread of the host does. */
static void child_exits_in_a_stall_on_another_thread(void)
{
    dying_start(false);
    dying_stall();
    pthread_t thread;
    pthread_create(&thread, NULL, exit_from_here, NULL);
    pthread_join(thread, NULL);
}

/* The process dies and leaves a child that lives on for a while, with all of its memory mapped. */
static void child_dies_before_its_child(void)
{
    dying_start(false);
    dying_stall();
    if (fork() == 0) {
        alarm(0);
        stalling_pause_ms(3000);
        _exit(0);
    }
    raise(SIGKILL);
}

/* ---- ends that are no faults ---- */

static void test_killed_in_a_stall_is_killed(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_stalls_and_is_killed), SIGKILL));
    dying_process_expect_killed();
}

static void test_killed_without_a_stall_is_nothing(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_is_killed), SIGKILL));
    dying_process_expect_nothing();
}

static void test_terminated_in_a_stall_is_killed(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_stalls_and_is_terminated), SIGTERM));
    dying_process_expect_killed();
}

static void test_quitting_without_exit_in_a_stall_is_killed(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_quits_in_a_stall), 3));
    dying_process_expect_killed();
}

static void test_quitting_without_exit_and_without_a_stall_is_nothing(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_quits), 3));
    dying_process_expect_nothing();
}

static void test_exit_on_the_thread_that_stalls_is_an_orderly_end(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_exits_in_a_stall), 3));
    assert_int_equal(dying_process_recordings_left(), 0);
    dying_process_expect_nothing();
}

static void test_exit_by_a_watchdog_of_the_host_is_killed(void **state)
{
    (void)state;
    assert_true(exited_with(dying_process_run(child_exits_in_a_stall_on_another_thread), 3));
    dying_process_expect_killed();
}

static char group[96]; /* a memory cgroup of our own */

static void write_text(const char *name, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        _exit(77);
    }
    close(fd);
}

static void child_runs_out_of_memory(void)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", getpid());
    write_text("memory.limit_in_bytes", "67108864");
    write_text("cgroup.procs", pid);
    dying_start(false);
    dying_stall();
    for (int i = 0; i < 4096; i++) {
        char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (memory == MAP_FAILED) {
            _exit(1);
        }
    }
}

static void test_killed_for_want_of_memory_in_a_stall_is_killed(void **state)
{
    (void)state;
    snprintf(group, sizeof group, "/sys/fs/cgroup/memory/stallbox-test-death-%d", getpid());
    if (mkdir(group, 0700) != 0) {
        print_message("no memory cgroup (v1) of our own can be made here: kill -9 stands for it\n");
        skip();
    }
    int status = dying_process_run(child_runs_out_of_memory);
    rmdir(group);
    if (exited_with(status, 77)) {
        print_message("the memory cgroup cannot be used here: kill -9 stands for it\n");
        skip();
    }
    assert_true(died_by(status, SIGKILL));
    dying_process_expect_killed();
}

/* ---- who is alive ---- */

static bool is_locked(void)
{
    char path[512] = "";
    DIR *listing = opendir(stalling_process_recordings());
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        if (strstr(entry->d_name, SBX_RECORDING_SUFFIX) != NULL) {
            snprintf(path, sizeof path, "%s/%s", stalling_process_recordings(), entry->d_name);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false; /* not there yet, or already gone */
    }
    bool is_it = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return is_it;
}

static void child_closes_all_its_files(void)
{
    dying_start(false);
    syscall(SYS_close_range, 0u, ~0u, 0u);
    stalling_pause_ms(60000);
}

static void test_a_recording_is_its_process_s_until_that_is_gone_whatever_it_closes(void **state)
{
    (void)state;
    pid_t pid = dying_process_begin(child_closes_all_its_files);
    dying_process_wait_until(is_locked, "the recording is locked");
    stalling_pause_ms(700); /* the child closes the descriptors meanwhile */
    assert_true(is_locked());
    assert_int_equal(dying_process_recover().locked, 1);
    assert_int_equal(dying_process_recordings_left(), 1);
    kill(pid, SIGKILL);
    assert_true(died_by(dying_process_end(pid), SIGKILL));
    assert_int_equal(dying_process_recordings_left(), 1);
    assert_false(is_locked()); /* immediately: the lock is released before the parent is told of the death */
    dying_process_expect_nothing();
}

static void test_a_forked_child_does_not_keep_its_parent_alive(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_dies_before_its_child), SIGKILL));
    dying_process_expect_killed();
}

static void *stall_in_a_thread(void *unused)
{
    stalling_pause_ms(60000);
    return unused;
}

static void child_has_no_main_thread_any_more(void)
{
    dying_start(false);
    dying_stall(); /* the note stays open: the main thread never returns from this message */
    pthread_t thread;
    pthread_create(&thread, NULL, stall_in_a_thread, NULL);
    syscall(SYS_exit, 0); /* /proc/PID/stat says that it is a zombie now */
}

static pid_t child; /* the child whose state is waited for */

/* "NAME STATE" of the child's main thread. */
static bool is_now(const char *name_and_state)
{
    char path[64], text[256] = "", told[64], state;
    snprintf(path, sizeof path, "/proc/%d/stat", child);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0 || sscanf(text, "%*d (%31[^)]) %c", told, &state) != 2) {
        return false;
    }
    snprintf(told + strlen(told), 3, " %c", state);
    return strcmp(told, name_and_state) == 0;
}

static bool has_no_main_thread(void)
{
    return is_now("test_death Z");
}

static void test_a_process_without_its_main_thread_is_alive(void **state)
{
    (void)state;
    child = dying_process_begin(child_has_no_main_thread_any_more);
    dying_process_wait_until(has_no_main_thread, "its main thread has ended");
    assert_int_equal(dying_process_recover().locked, 1);
    assert_int_equal(dying_process_recordings_left(), 1);
    kill(child, SIGKILL);
    dying_process_end(child);
    dying_process_recover();
    assert_int_equal(dying_process_recordings_left(), 0);
}

static volatile bool *is_stalled; /* shared with the child */

static void child_waits(void)
{
    dying_start(false);
    dying_stall();
    *is_stalled = true;
    stalling_pause_ms(60000);
}

static bool has_stalled_or_cannot_be(void)
{
    siginfo_t ended = {.si_pid = 0};
    return *is_stalled || (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0);
}

static void test_a_process_in_another_pid_namespace_is_left_alone_while_it_lives(void **state)
{
    (void)state;
    is_stalled = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(is_stalled, MAP_FAILED);
    fflush(NULL);
    pid_t outer = child = fork();
    assert_true(outer >= 0);
    if (outer == 0) {
        if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
            _exit(77);
        }
        pid_t inner = dying_process_begin(child_waits); /* pid 1 in the new namespace */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int status = dying_process_end(inner);
        _exit(WIFSIGNALED(status) ? 0 : 1);
    }
    dying_process_wait_until(has_stalled_or_cannot_be, "the process over there stalls");
    int status;
    if (waitpid(outer, &status, WNOHANG) == outer) {
        assert_true(exited_with(status, 77));
        print_message("no pid namespace can be made here\n");
        skip();
    }
    assert_int_equal(dying_process_recordings_left(), 1);
    assert_int_equal(dying_process_recover().locked, 1);
    assert_int_equal(dying_process_snapshots_left(), 0);
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", outer, outer);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    kill((pid_t)atoi(text), SIGKILL);
    munmap((void *)is_stalled, 4096);
    assert_true(exited_with(dying_process_end(outer), 0));
    dying_process_expect_killed(); /* its pid was 1 in its namespace; the pid 1 of ours lives and is another process */
}

static void child_becomes_another_program(void)
{
    dying_start(false);
    dying_stall();
    execl("/bin/sleep", "sleep", "60", (char *)NULL);
}

static bool is_another_program(void)
{
    return is_now("sleep S");
}

static void test_a_process_that_became_another_program_was_not_killed(void **state)
{
    (void)state;
    child = dying_process_begin(child_becomes_another_program);
    dying_process_wait_until(is_another_program, "it has become another program");
    assert_int_equal(dying_process_recover().quiet, 1);
    kill(child, SIGKILL);
    dying_process_end(child);
    dying_process_expect_nothing();
}

/* ---- who recovers ---- */

static void child_starts_and_looks_around(void)
{
    dying_start(false);
    for (int i = 0; i < 100 && dying_process_recordings_left() > 1; i++) {
        stalling_pause_ms(50);
    }
    stallbox_stop(5000);
}

static void test_the_next_start_of_an_agent_makes_the_snapshot(void **state)
{
    (void)state;
    assert_true(died_by(dying_process_run(child_stalls_and_is_killed), SIGKILL));
    assert_int_equal(dying_process_run(child_starts_and_looks_around), 0);
    assert_int_equal(dying_process_recordings_left(), 0);
    struct sbx_snapshot *snapshot = stalling_process_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_KILLED);
    sbx_snapshot_destroy(snapshot);
}

static void test_agents_that_start_at_one_moment_make_one_snapshot_a_death(void **state)
{
    enum {
        DEATHS = 3,
        STARTS = 6
    };
    pid_t pids[STARTS];
    (void)state;
    for (int i = 0; i < DEATHS; i++) {
        pids[i] = dying_process_begin(child_stalls_and_is_killed);
    }
    for (int i = 0; i < DEATHS; i++) {
        assert_true(died_by(dying_process_end(pids[i]), SIGKILL));
    }
    assert_int_equal(dying_process_recordings_left(), DEATHS);
    for (int i = 0; i < STARTS; i++) {
        pids[i] = dying_process_begin(child_starts_and_looks_around);
    }
    for (int i = 0; i < STARTS; i++) {
        assert_int_equal(dying_process_end(pids[i]), 0);
    }
    assert_int_equal(dying_process_recordings_left(), 0);
    assert_int_equal(dying_process_snapshots_left(), DEATHS);
    assert_int_equal(dying_process_snapshots_of(".tmp"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DYING_PROCESS_TEST(test_killed_in_a_stall_is_killed),
        DYING_PROCESS_TEST(test_killed_without_a_stall_is_nothing),
        DYING_PROCESS_TEST(test_terminated_in_a_stall_is_killed),
        DYING_PROCESS_TEST(test_quitting_without_exit_in_a_stall_is_killed),
        DYING_PROCESS_TEST(test_quitting_without_exit_and_without_a_stall_is_nothing),
        DYING_PROCESS_TEST(test_exit_on_the_thread_that_stalls_is_an_orderly_end),
        DYING_PROCESS_TEST(test_exit_by_a_watchdog_of_the_host_is_killed),
        DYING_PROCESS_TEST(test_killed_for_want_of_memory_in_a_stall_is_killed),
        DYING_PROCESS_TEST(test_a_recording_is_its_process_s_until_that_is_gone_whatever_it_closes),
        DYING_PROCESS_TEST(test_a_forked_child_does_not_keep_its_parent_alive),
        DYING_PROCESS_TEST(test_a_process_without_its_main_thread_is_alive),
        DYING_PROCESS_TEST(test_a_process_in_another_pid_namespace_is_left_alone_while_it_lives),
        DYING_PROCESS_TEST(test_a_process_that_became_another_program_was_not_killed),
        DYING_PROCESS_TEST(test_the_next_start_of_an_agent_makes_the_snapshot),
        DYING_PROCESS_TEST(test_agents_that_start_at_one_moment_make_one_snapshot_a_death),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
