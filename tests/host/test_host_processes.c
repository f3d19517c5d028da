/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_processes.c - processes that fork, spawn, exec, end, and change their user. */
#include "host_case.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording_recover.h"

extern char **environ;

static volatile bool goes_on = true;

static void *compute(void *unused)
{
    (void)unused;
    while (goes_on) {
        host_compute_ms(5);
    }
    return NULL;
}

static void expect_status(pid_t pid, int wanted, const char *what)
{
    int status = 0;
    host_expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == wanted, what);
}

/* ---- HOST-1 ---- */

static void hang_a_little(void)
{
    host_pause_ms(700);
    HOST_KEEP_FRAME();
}

/* Until its first wait the child has no recorder; from then on it has its own. */
static void live_as_a_child(void)
{
    host_expect(host_thread_count() == 1, "a child that has not waited yet has no thread of ours");
    host_expect(!host_api().is_running(), "nor a recorder");
    host_expect(host_api().snapshot(1000) == STALLBOX_NOT_RUNNING, "and makes no snapshot");
    host_loop(1, NULL);
    for (int i = 0; i < 5000 && !host_api().is_running(); i++) {
        host_loop(1, NULL);
    }
    host_expect(host_api().is_running(), "one that waits is recorded");
    for (int i = 0; i < 500 && host_thread_count() > 3; i++) { /* the thread that started the others ends */
        host_pause_ms(10);
    }
    host_expect(host_thread_count() == 3, "by two threads");
    uint64_t end = host_now_ms() + (uint64_t)host_size(10000, 0);
    do {
        host_loop(50, NULL);
        host_loop(1, hang_a_little); /* a slow message */
        host_loop(1, NULL);
    } while (host_now_ms() < end);
    for (int i = 0; i < 5000 && host_counts().snapshots == 0; i++) {
        host_pause_ms(10);
    }
    host_expect(host_counts().snapshots > 0, "its stall is kept");
}

static void forks_and_the_child_forks_again(void)
{
    host_loop(50, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        live_as_a_child();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            live_as_a_child();
            host_expect(host_api().stop(10000) == STALLBOX_OK, "a child stops its own recorder");
            host_expect(host_thread_count() == 1, "and only that");
            exit(3);
        }
        expect_status(grandchild, 3 << 8, "the grandchild ends as it says");
        host_expect(host_api().is_running(), "its parent is still recorded");
        exit(5); /* runs the library's destructor */
    }
    for (int i = 0; i < 100; i++) { /* the parent works and is recorded meanwhile */
        host_loop(10, NULL);
    }
    expect_status(pid, 5 << 8, "the child ends as it says");
    host_expect(host_count_files(getenv("STALLBOX_RECORDINGS"), ".rec") == 1, "the parent's recording alone is there");
    host_expect_snapshot();
}

static void host_01_forked_children_are_recorded_by_themselves_and_leave_the_parent_alone(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_and_the_child_forks_again", .slow_message_ms = 500});
    assert_in_range(host_count_snapshots(), 3, 100); /* from the child, the grandchild and the parent */
    host_expect_recordings_closed();
}

/* Neither the process nor its worker ever computes for long enough to be asked for a sample. */
static void has_a_worker_and_rests(void)
{
    host_loop(50, NULL);
    pid_t pid = fork();
    for (int i = 0; i < 400; i++) {
        host_loop(10, NULL);
    }
    if (pid == 0) {
        _exit(0);
    }
    expect_status(pid, 0, "the worker ends");
    host_expect_snapshot();
}

static void host_01_a_parent_finds_out_for_its_workers_where_signals_are_made(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_a_worker_and_rests"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.family.role, SBX_ROLE_MAIN);
    assert_int_not_equal(snapshot->header.signal_place, SBX_SIGNAL_PLACE_UNKNOWN);
    sbx_snapshot_destroy(snapshot);
}

/* Children that call exec or end at once cost nothing and leave nothing. */
static void forks_many_that_do_not_stay(void)
{
    char *const no_environment[] = {NULL};
    host_loop(20, NULL);
    for (int i = 0; i < host_size(10000, 300); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (i % 2 == 0) {
                execle("/bin/true", "true", (char *)NULL, no_environment); /* no recorder in that program */
            }
            _exit(0);
        }
        expect_status(pid, 0, "it ends as it would");
    }
    host_expect(host_count_files(getenv("STALLBOX_RECORDINGS"), ".rec") == 1, "none of them has left a recording");
    host_expect_snapshot();
}

static void host_01_children_that_call_exec_or_end_at_once_leave_nothing(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_many_that_do_not_stay"});
    assert_int_equal(host_count_snapshots(), 1);
    host_expect_recordings_closed();
}

/* The child cannot reach the parent's recording: no part of it is mapped in the child. */
static void looks_for_its_parents_recording(void)
{
    host_loop(20, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char line[1024];
        FILE *maps = fopen("/proc/self/maps", "re");
        while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
            host_expect(strstr(line, ".rec") == NULL, "no recording is mapped in a child");
        }
        host_expect(maps != NULL && fclose(maps) == 0, "its maps can be read");
        _exit(0);
    }
    expect_status(pid, 0, "it sees nothing");
}

static void host_01_a_child_cannot_reach_its_parents_recording(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "looks_for_its_parents_recording"});
}

/* Threads of the program allocate, start threads and load libraries all the time, while another thread forks
 * workers. */
static void *return_at_once(void *unused)
{
    return unused;
}

static void *allocate(void *unused)
{
    while (goes_on) {
        void *block = malloc((size_t)(rand() % 4096) + 1);
        pthread_t thread;
        if (rand() % 64 == 0 && pthread_create(&thread, NULL, return_at_once, NULL) == 0) {
            pthread_join(thread, NULL);
        }
        free(block);
    }
    return unused;
}

static void *load(void *unused)
{
    while (goes_on) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        if (library != NULL) {
            dlclose(library);
        }
    }
    return unused;
}

static void forks_workers_beside_busy_threads(void)
{
    pthread_t threads[4];
    host_loop(20, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, i < 3 ? allocate : load, NULL);
    }
    for (int i = 0; i < host_size(1000, 40); i++) {
        pid_t pid = fork();
        if (pid == 0) { /* recorded by threads that were started while the parent's threads did anything */
            for (int turn = 0; turn < 500 && !host_api().is_running(); turn++) {
                host_loop(1, NULL);
            }
            free(malloc(100));
            _exit(host_api().is_running() ? 7 : 8); /* 8: perhaps more than twenty began in a second */
        }
        int status = 0;
        host_expect(waitpid(pid, &status, 0) == pid && (status == 7 << 8 || status == 8 << 8),
                    "a worker lives and ends as it says");
    }
    goes_on = false;
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    host_expect_snapshot();
}

static void host_01_workers_forked_beside_busy_threads_live(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_workers_beside_busy_threads"});
}

/* A thread that is not the first one forks a worker. It becomes the first thread of the child, with a stack of its
 * own. */
static void *fork_a_worker(void *unused)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (int turn = 0; turn < 500 && !host_api().is_running(); turn++) {
            host_loop(1, NULL);
        }
        host_loop(20, NULL);
        host_loop(1, hang_a_little);
        host_loop(1, NULL);
        for (int i = 0; i < 500 && host_counts().snapshots == 0; i++) {
            host_pause_ms(10);
        }
        exit(host_counts().snapshots > 0 ? 4 : 5);
    }
    expect_status(pid, 4 << 8, "a worker of another thread is recorded");
    return unused;
}

static void forks_in_another_thread(void)
{
    pthread_t thread;
    host_loop(20, NULL);
    pthread_create(&thread, NULL, fork_a_worker, NULL);
    pthread_join(thread, NULL);
}

static void host_01_a_worker_forked_by_another_thread_is_recorded_with_its_stack(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_in_another_thread", .slow_message_ms = 500});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->header.trigger.kind, SBX_TRIGGER_SLOW_MESSAGE);
    assert_int_equal(snapshot->header.family.role, SBX_ROLE_WORKER);
    sbx_snapshot_destroy(snapshot);
}

/* Children that compute, and sometimes do one more thing, from which each of them is recorded. */
static void lock_a_file(int turn)
{
    host_expect(flock(STDERR_FILENO, turn % 2 == 0 ? LOCK_SH : LOCK_UN) == 0, "a file can be locked");
}

static void flush_a_file(int turn)
{
    (void)turn;
    (void)fsync(STDERR_FILENO); /* may not be a file */
}

static void load_a_module(int turn)
{
    static void *library;
    if (turn % 2 == 0) {
        library = dlopen("libm.so.6", RTLD_NOW);
        host_expect(library != NULL, "a library can be loaded");
    } else {
        dlclose(library);
    }
}

/* By a call that passes no hook: a clock read may begin the recorder as well. */
static uint64_t own_cpu_ms(void)
{
    struct timespec used;
    syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

static void compute_unseen_ms(uint64_t ms)
{
    for (uint64_t begin_ms = own_cpu_ms(); own_cpu_ms() - begin_ms < ms;) {
    }
}

static void computes_in_children(void)
{
    void (*const things[])(int) = {lock_a_file, flush_a_file, load_a_module};
    host_loop(20, NULL);
    for (size_t i = 0; i < sizeof things / sizeof things[0]; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int turn = 0; turn < 500 && !host_api().is_running(); turn++) {
                compute_unseen_ms(6);
                things[i](turn);
            }
            _exit(host_api().is_running() ? 9 : (int)(20 + i));
        }
        expect_status(pid, 9 << 8, "a child that computes is recorded at what it does besides");
    }
}

static void host_01_children_that_compute_are_recorded_at_what_they_do_besides(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "computes_in_children"});
}

/* It sleeps once, when it has worked for some milliseconds and is younger than 20 ms. On a busy machine some children
 * are older by then. */
static void works_for_milliseconds_in_a_child(void)
{
    enum {
        IS_RECORDED = 9,
        WAS_TOO_OLD = 10,
        IS_NOT = 11
    };
    int status = WAS_TOO_OLD << 8;
    host_loop(20, NULL);
    for (int i = 0; i < 100 && status == WAS_TOO_OLD << 8; i++) {
        uint64_t begin_ms = host_now_ms();
        pid_t pid = fork();
        if (pid == 0) {
            while (own_cpu_ms() < 6) {
                compute_unseen_ms(1);
            }
            nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
            bool is_too_old = host_now_ms() - begin_ms > 17;
            for (int turn = 0; turn < 1000 && !host_api().is_running() && !is_too_old; turn++) {
                compute_unseen_ms(10);
            }
            _exit(is_too_old ? WAS_TOO_OLD : host_api().is_running() ? IS_RECORDED : IS_NOT);
        }
        host_expect(waitpid(pid, &status, 0) == pid, "a child ends");
    }
    host_expect(status != IS_NOT << 8, "a child is recorded that has worked for five milliseconds");
}

static void host_01_a_child_is_recorded_from_its_first_milliseconds_of_work(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "works_for_milliseconds_in_a_child"});
}

/* A handler that forks, in a program of one thread that forks: glibc takes no lock there, unless somebody makes threads beside it. So do the children
 * of such a program, which have threads of ours beside theirs once they wait. */
static volatile sig_atomic_t handled;

static void fork_and_wait(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

static void on_alarm(int number)
{
    int saved_errno = errno;
    (void)number;
    fork_and_wait();
    handled++;
    errno = saved_errno;
}

static void fork_under_alarms(void)
{
    const struct itimerval often = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
    handled = 0;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < host_size(5000, 400); i++) {
        fork_and_wait();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    host_expect(handled > 0, "handlers ran meanwhile");
}

static void forks_in_handlers_that_interrupt_forks(void)
{
    host_loop(20, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        host_loop(1, NULL);
        fork_under_alarms();
        _exit(6);
    }
    fork_under_alarms();
    expect_status(pid, 6 << 8, "a child that forks so as well ends");
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    host_expect(sigismember(&blocked, SIGALRM) == 0 && sigismember(&blocked, SIGUSR1) == 0, "no signal stays blocked");
    host_expect_snapshot();
}

/* A child that shuts itself in before it is recorded, and forks below its filter: no call of ours was judged there. */
static void forks_below_a_filter_before_it_is_recorded(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    host_loop(20, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        host_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
                    "a filter");
        for (int i = 0; i < 5; i++) {
            fork_and_wait();
        }
        _exit(5);
    }
    expect_status(pid, 5 << 8, "a child forks below its filter");
}

static void host_01_a_child_forks_below_a_filter_that_kills_before_it_is_recorded(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_below_a_filter_before_it_is_recorded"});
}

/* A child that computes is recorded from an allocation on, and a thread is made there. It must not be one that an allocator makes
 * while it holds its lock. */
static void *volatile allocated;

static void allocate_until(uint64_t end_ms)
{
    while (host_now_ms() < end_ms) {
        allocated = malloc(16);
    }
}

static void allocate_within(void)
{
    allocate_until(host_now_ms() + 1500); /* it is asked each second */
}

static void computes_within_an_allocator(void)
{
    void (*call_within_allocator)(void (*)(void)) =
        (void (*)(void (*)(void)))dlsym(RTLD_DEFAULT, "call_within_allocator");
    host_expect(call_within_allocator != NULL, "the allocator is the one with a lock");
    host_loop(20, NULL);
    alarm(60); /* a child that hangs there has all signals blocked */
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        call_within_allocator(allocate_within);
        host_expect(host_thread_count() == 1, "no recorder begins within the allocator");
        for (int i = 0; !host_api().is_running(); i++) {
            allocated = i % 100 == 0 ? calloc(1, 16) : malloc(16);
        }
        _exit(5);
    }
    expect_status(pid, 5 << 8, "it begins in an allocation of the kind that a thread needs");
}

static void host_01_no_recorder_begins_in_a_child_within_an_allocator(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "computes_within_an_allocator", .preload_too = HOST_LOCK_ALLOCATOR});
}

static void unblock_a_signal(void)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void forks_with_a_blocked_signal(void)
{
    sigset_t wanted, blocked;
    host_loop(20, NULL);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGUSR2);
    sigprocmask(SIG_SETMASK, &wanted, NULL);
    pthread_atfork(NULL, NULL, unblock_a_signal);
    pid_t pid = fork();
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    host_expect(sigismember(&blocked, SIGUSR2) == 1, "what was blocked stays blocked");
    host_expect(sigismember(&blocked, SIGUSR1) == (pid != 0), "what a fork handler unblocks in the child is unblocked");
    host_expect(sigismember(&blocked, SIGALRM) == 0, "and nothing else is blocked");
    if (pid == 0) {
        _exit(0);
    }
    expect_status(pid, 0, "the child finds its mask as well");
}

static void host_01_a_fork_leaves_the_signal_mask_as_it_would_be(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_with_a_blocked_signal"});
}

static void host_01_a_handler_that_forks_while_fork_runs_does_not_hang(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_in_handlers_that_interrupt_forks"});
}

/* With threads of the program's own nothing is held back: a handler of pthread_atfork() may wait for a thread that waits for this one's
 * answer to a signal, as collectors of garbage do that stop the world. */
static volatile sig_atomic_t answered;

static void answer(int number)
{
    (void)number;
    answered = 1;
}

static pthread_t first_thread;

static void *stop_the_first(void *unused)
{
    pthread_kill(first_thread, SIGUSR2);
    while (answered == 0) {
        sched_yield();
    }
    return unused;
}

static pthread_t stopper;

static void wait_for_the_stopper(void)
{
    answered = 0;
    pthread_create(&stopper, NULL, stop_the_first, NULL);
    pthread_join(stopper, NULL);
}

static void forks_where_another_thread_wants_an_answer(void)
{
    pthread_t other;
    host_loop(20, NULL);
    first_thread = pthread_self();
    signal(SIGUSR2, answer);
    fork_and_wait(); /* what is known from this fork, of a program of one thread, holds no longer at the next ones */
    pthread_create(&other, NULL, compute, NULL);
    pthread_atfork(wait_for_the_stopper, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        fork_and_wait();
    }
    goes_on = false;
    pthread_join(other, NULL);
    host_expect_snapshot();
}

static void host_01_a_fork_handler_may_wait_for_a_thread_that_wants_an_answer_by_signal(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forks_where_another_thread_wants_an_answer"});
}

/* ---- HOST-2 ---- */

/* What a spawned program sees: no descriptors except the usual ones, and unchanged signals. */
static void spawned(void)
{
    int open_descriptors = 0;
    DIR *listing = opendir("/proc/self/fd");
    host_expect(listing != NULL, "descriptors can be listed");
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        open_descriptors += entry->d_name[0] != '.' && atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(listing);
    }
    closedir(listing);
    host_expect(open_descriptors == 0, "a spawned program inherits no descriptor of ours");
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    host_expect(sigismember(&blocked, SIGRTMAX - 2) == 0, "nor a mask of ours");
    _exit(0);
}

static void spawns_all_the_time(void)
{
    pthread_t thread;
    char *arguments[] = {"host", "--body", "spawned", NULL}, *nothing[] = {NULL};
    char exe[256];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    host_expect(length > 0, "this program knows its path");
    exe[length] = 0;
    pthread_create(&thread, NULL, compute, NULL);
    long spawns = host_size(10000, 400);
    uint64_t begin = host_now_ms();
    for (int i = 0; i < spawns; i++) {
        int status = 0;
        pid_t pid = 0;
        if (i % 2 == 0) {
            host_expect(posix_spawn(&pid, exe, NULL, NULL, arguments, nothing) == 0, "a program is spawned");
        } else {
            pid = vfork();
            if (pid == 0) {
                execve(exe, arguments, nothing);
                _exit(99);
            }
        }
        if (i % 50 == 0 && host_api().snapshot != NULL) {
            host_api().snapshot(0); /* opens files of its own */
        }
        host_expect(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0,
                    "the spawned program found all in order");
    }
    uint64_t spawned = host_now_ms();
    if (host_api().snapshot != NULL) { /* on a busy machine the thread that computes may have had no processor yet */
        for (int i = 0; i < 1000 && host_counts().captures_async <= 5; i++) {
            host_pause_ms(10);
        }
    }
    goes_on = false;
    pthread_join(thread, NULL);
    fprintf(stderr, "%ld programs spawned %s, %.3f ms each\n", spawns,
            host_api().snapshot != NULL ? "while recorded" : "without a recorder",
            (double)(spawned - begin) / (double)spawns);
    if (host_api().snapshot != NULL) {
        host_expect(host_counts().captures_async > 5, "samples were taken meanwhile");
        host_pause_ms(1100); /* snapshots of one kind are at least a second apart */
        host_expect_snapshot();
    }
}

static void host_02_a_storm_of_vfork_and_posix_spawn_inherits_nothing(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "spawns_all_the_time"});
    if (host_size(1, 0) != 0) { /* for comparison; bench/ measures the ratio */
        host_run_well(&(struct host_order){.body = "spawns_all_the_time", .has_no_agent = true});
    }
}

/* ---- HOST-3 ---- */

static void execs_again_and_again(void)
{
    const char *text = getenv("HOST_TURNS");
    int turns = text != NULL ? atoi(text) : 0;
    sigset_t blocked;
    struct sigaction action;
    struct itimerval timer;
    if (turns > 0) {
        sigprocmask(SIG_SETMASK, NULL, &blocked);
        host_expect(sigismember(&blocked, SIGUSR2) == 1 && sigismember(&blocked, SIGRTMAX - 2) == 0,
                    "the mask is the host's");
        sigaction(SIGUSR1, NULL, &action);
        host_expect(action.sa_handler == SIG_IGN, "what was ignored is");
        sigaction(SIGPROF, NULL, &action);
        host_expect(action.sa_handler == SIG_DFL, "what was not is not");
        for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
            host_expect(getitimer((__itimer_which_t)which, &timer) == 0 &&
                            (which == ITIMER_REAL || (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)),
                        "no timer runs but the test's alarm");
        }
    }
    if (turns == 20) {
        host_expect(host_count_files(getenv("STALLBOX_RECORDINGS"), ".rec") == 1, "exec leaves no recording behind");
        host_expect_snapshot();
        return;
    }
    signal(SIGUSR1, SIG_IGN);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        host_expect(pthread_create(&thread, NULL, compute, NULL) == 0, "a thread starts");
    }
    host_pause_ms(30); /* signals are under way to all of the threads */
    char next[16];
    snprintf(next, sizeof next, "%d", turns + 1);
    setenv("HOST_TURNS", next, 1);
    execl("/proc/self/exe", "host", "--body", "execs_again_and_again", (char *)NULL);
    _exit(98);
}

static void host_03_exec_while_sampled_kills_nothing_and_hands_on_nothing(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "execs_again_and_again"});
    host_expect_recordings_closed();
}

/* ---- HOST-13 ---- */

static bool copy_as_set_user_id(void)
{
    char command[800], copy[128], exe[256];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (geteuid() != 0 || length <= 0) {
        return false;
    }
    exe[length] = 0;
    snprintf(copy, sizeof copy, "%s/setuid_host", host_folder);
    snprintf(command, sizeof command, "chmod 755 '%s' && cp '%s' '%s' && chown 65533 '%s' && chmod 4755 '%s'",
             host_folder, HOST_LINKED, copy, copy, copy);
    return system(command) == 0;
}

static void host_13_a_set_user_id_program_is_left_alone(void **state)
{
    char copy[128];
    int status = 0;
    (void)state;
    if (!copy_as_set_user_id()) {
        host_skip("a set-user-id program can be made by root only");
    }
    snprintf(copy, sizeof copy, "%s/setuid_host", host_folder);
    for (int is_set_user_id = 0; is_set_user_id < 2; is_set_user_id++) {
        /* The same program in both rounds: it starts the recorder itself, and exits with the result. */
        pid_t pid = fork();
        if (pid == 0) {
            setenv("HOST_FOLDER", host_folder, 1);
            setenv("LD_PRELOAD", HOST_LIBRARY, 1);
            setenv("STALLBOX_AUTOSTART", "1", 1);
            setenv("STALLBOX_SPOOL", host_spool, 1);
            setenv("STALLBOX_RECORDINGS", host_recordings, 1);
            if (is_set_user_id != 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
                _exit(97);
            }
            if (is_set_user_id == 0) {
                unsetenv("LD_PRELOAD");
                unsetenv("STALLBOX_AUTOSTART");
                execl(HOST_LINKED, "host_linked", (char *)NULL);
            }
            execl(copy, "setuid_host", (char *)NULL);
            _exit(96);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        if (is_set_user_id != 0 && WEXITSTATUS(status) == 95) {
            host_skip("the file system of /tmp does not honour set-user-id");
        }
        assert_int_equal(WEXITSTATUS(status), is_set_user_id != 0 ? STALLBOX_DECLINED : STALLBOX_OK);
    }
    assert_int_equal(host_count_files(host_recordings, SBX_RECORDING_SUFFIX), 0);
}

static void drops_its_rights(void)
{
    host_loop(50, NULL);
    if (geteuid() != 0) {
        _exit(77);
    }
    host_expect(setgid(65534) == 0 && setuid(65534) == 0,
                "the host drops its rights"); /* all threads take part in it */
    host_expect(host_api().snapshot(30000) == STALLBOX_IO_FAILED, "the spool is not ours any more");
    host_expect(host_counts().dropped > 0, "and that is counted");
    host_loop(50, NULL);
}

static void host_13_a_daemon_that_drops_its_rights_goes_on(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "drops_its_rights"});
    assert_int_equal(host_count_snapshots(), 0);
}

static void changes_its_root(void)
{
    char root[128];
    snprintf(root, sizeof root, "%s/root", getenv("HOST_FOLDER"));
    host_loop(50, NULL);
    if (mkdir(root, 0755) != 0 || chroot(root) != 0 || chdir("/") != 0) {
        _exit(77);
    }
    host_expect(host_api().snapshot(30000) == STALLBOX_IO_FAILED, "the spool cannot be reached");
    host_pause_ms(200);
    DIR *listing = opendir("/");
    host_expect(listing != NULL, "the new root can be listed");
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        host_expect(entry->d_name[0] == '.', "nothing is made in the new root");
    }
    closedir(listing);
    host_loop(50, NULL);
}

static void host_13_nothing_is_written_below_a_changed_root(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "changes_its_root"});
    assert_int_equal(host_count_snapshots(), 0);
}

static void makes_a_namespace_of_pids(void)
{
    host_loop(20, NULL);
    if (unshare(CLONE_NEWPID) != 0) {
        _exit(77);
    }
    pid_t pid = fork();
    if (pid == 0) {
        host_expect(getpid() == 1, "the child is the first of its namespace");
        live_as_a_child();
        exit(6);
    }
    expect_status(pid, 6 << 8, "a child in a namespace of its own lives");
    host_expect_snapshot();
}

static void host_13_a_child_in_a_namespace_of_pids_is_recorded(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "makes_a_namespace_of_pids", .slow_message_ms = 500});
    assert_in_range(host_count_snapshots(), 2, 100);
}

/* ---- HOST-16 ---- */

static const char *way_out;

static void destructor_of_the_host(void)
{
    for (int i = 0; i < 100; i++) {
        void *volatile memory = malloc(1000);
        free(memory);
    }
    host_pause_ms(20);
}

__attribute__((destructor)) static void static_destructor(void)
{
    if (way_out != NULL) {
        destructor_of_the_host();
    }
}

static void end_now(void)
{
    if (strcmp(way_out, "exit") == 0) {
        exit(11);
    } else if (strcmp(way_out, "_exit") == 0) {
        _exit(11);
    } else if (strcmp(way_out, "quick_exit") == 0) {
        quick_exit(11);
    } else if (strcmp(way_out, "abort") == 0) {
        abort();
    } else if (strcmp(way_out, "pthread_exit") == 0) {
        goes_on = false;
        pthread_exit(NULL);
    }
}

static void ends_in_a_snapshot(void)
{
    pthread_t thread;
    way_out = getenv("HOST_WAY_OUT");
    atexit(destructor_of_the_host);
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, compute, NULL);
    }
    host_loop(20, NULL);
    host_pause_ms(atoi(getenv("HOST_PAUSE")));
    host_api().snapshot(0); /* requests it and returns while it is being made */
    host_compute_ms(atoi(getenv("HOST_PAUSE")) / 10);
    end_now();
}

static void host_16_every_way_out_during_a_snapshot_ends_as_the_host_said(void **state)
{
    static const struct {
        const char *name;
        int status;
    } ways[] = {
        {"exit", 11 << 8}, {"_exit", 11 << 8}, {"quick_exit", 11 << 8}, {"abort", SIGABRT}, {"pthread_exit", 0}};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(ways); i++) {
        for (int pause = 0; pause < 60; pause += 20) {
            char text[8];
            snprintf(text, sizeof text, "%d", pause);
            setenv("HOST_WAY_OUT", ways[i].name, 1);
            setenv("HOST_PAUSE", text, 1);
            int status = host_run(&(struct host_order){.body = "ends_in_a_snapshot"});
            assert_int_equal(status & ~0x80, ways[i].status); /* 0x80: a core dump was written */
        }
    }
    unsetenv("HOST_WAY_OUT");
    /* Any recording that was left, complete or not, is found again, and is no snapshot of a stall, because there was
     * none. */
    struct sbx_recovery_counts counts;
    assert_int_equal(sbx_recording_recover_folder(host_recordings, host_spool, NULL, NULL, &counts), 0);
    assert_int_equal(counts.killed, 0);
    assert_int_equal(host_count_files(host_recordings, SBX_RECORDING_SUFFIX), 0);
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(forks_and_the_child_forks_again),
        HOST_BODY(has_a_worker_and_rests),
        HOST_BODY(forks_many_that_do_not_stay),
        HOST_BODY(looks_for_its_parents_recording),
        HOST_BODY(forks_workers_beside_busy_threads),
        HOST_BODY(forks_in_another_thread),
        HOST_BODY(computes_in_children),
        HOST_BODY(works_for_milliseconds_in_a_child),
        HOST_BODY(forks_in_handlers_that_interrupt_forks),
        HOST_BODY(forks_with_a_blocked_signal),
        HOST_BODY(forks_below_a_filter_before_it_is_recorded),
        HOST_BODY(computes_within_an_allocator),
        HOST_BODY(forks_where_another_thread_wants_an_answer),
        HOST_BODY(spawned),
        HOST_BODY(spawns_all_the_time),
        HOST_BODY(execs_again_and_again),
        HOST_BODY(drops_its_rights),
        HOST_BODY(changes_its_root),
        HOST_BODY(makes_a_namespace_of_pids),
        HOST_BODY(ends_in_a_snapshot),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_01_forked_children_are_recorded_by_themselves_and_leave_the_parent_alone),
        HOST_TEST(host_01_a_parent_finds_out_for_its_workers_where_signals_are_made),
        HOST_TEST(host_01_children_that_call_exec_or_end_at_once_leave_nothing),
        HOST_TEST(host_01_a_child_cannot_reach_its_parents_recording),
        HOST_TEST(host_01_a_child_is_recorded_from_its_first_milliseconds_of_work),
        HOST_TEST(host_01_a_handler_that_forks_while_fork_runs_does_not_hang),
        HOST_TEST(host_01_a_fork_leaves_the_signal_mask_as_it_would_be),
        HOST_TEST(host_01_a_child_forks_below_a_filter_that_kills_before_it_is_recorded),
        HOST_TEST(host_01_no_recorder_begins_in_a_child_within_an_allocator),
        HOST_TEST(host_01_a_fork_handler_may_wait_for_a_thread_that_wants_an_answer_by_signal),
        HOST_TEST(host_01_children_that_compute_are_recorded_at_what_they_do_besides),
        HOST_TEST(host_01_workers_forked_beside_busy_threads_live),
        HOST_TEST(host_01_a_worker_forked_by_another_thread_is_recorded_with_its_stack),
        HOST_TEST(host_02_a_storm_of_vfork_and_posix_spawn_inherits_nothing),
        HOST_TEST(host_03_exec_while_sampled_kills_nothing_and_hands_on_nothing),
        HOST_TEST(host_13_a_set_user_id_program_is_left_alone),
        HOST_TEST(host_13_a_daemon_that_drops_its_rights_goes_on),
        HOST_TEST(host_13_nothing_is_written_below_a_changed_root),
        HOST_TEST(host_13_a_child_in_a_namespace_of_pids_is_recorded),
        HOST_TEST(host_16_every_way_out_during_a_snapshot_ends_as_the_host_said),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
