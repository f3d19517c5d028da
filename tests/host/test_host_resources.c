/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_resources.c - what a recorded program needs for itself: stacks, shared memory, locked memory, files that
 * are deleted. */
#include "host_case.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload.h"

extern char **environ;

/* ---- static TLS ---- */

static void becomes_one_with_much_tls(void)
{
    execl(getenv("HOST_PROGRAM"), "host_tls", (char *)NULL);
    _exit(77);
}

static void host_15_static_tls_of_any_size_leaves_our_threads_their_stack(void **state)
{
    static const char *const kib[] = {"0", "200", "242", "244", "246", "248", "250", "252", "260", "1024", "4096"};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(kib); i++) {
        char path[256];
        snprintf(path, sizeof path, "%s_%s", HOST_TLS, kib[i]);
        setenv("HOST_PROGRAM", path, 1);
        host_run_well(&(struct host_order){.body = "becomes_one_with_much_tls"});
    }
}

/* ---- locked memory ---- */

static void record_as_an_ordinary_user(const char *folder)
{
    const struct rlimit limit = {8 << 20, 8 << 20};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || setgid(65534) != 0 || setuid(65534) != 0) {
        _exit(77);
    }
    setenv("HOME", folder, 1);
    execl(HOST_TOOL, "stallbox", "run", "-q", "-s", folder, "--", HOST_MLOCK, (char *)NULL);
    _exit(errno == EACCES ? 77 : 99); /* the checkout is in a folder of root */
}

static void host_15_a_program_that_locks_all_its_memory_has_room_for_it(void **state)
{
    char folder[] = "/tmp/stallbox-locks-XXXXXX", command[64];
    int status = -1;
    (void)state;
    if (mkdtemp(folder) == NULL || chown(folder, 65534, 65534) != 0) {
        skip();
    }
    pid_t pid = fork();
    if (pid == 0) {
        record_as_an_ordinary_user(folder);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    if (status == 77 << 8) {
        skip();
    }
    assert_int_equal(status, 0);
}

/* ---- children of a recorded program ---- */

static void run_children(const char *const *bodies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "host", "--body", bodies[i], (char *)NULL);
            _exit(99);
        }
        host_expect(waitpid(pid, &status, 0) == pid && (status == 0 || status == 77 << 8), bodies[i]);
    }
}

static bool is_recorded(void)
{
    return host_api().is_running != NULL && host_api().is_running();
}

static bool is_recorded_within_seconds(void)
{
    for (int i = 0; i < 1000 && !is_recorded(); i++) {
        host_loop(1, NULL);
        host_pause_ms(10);
    }
    return is_recorded();
}

static void lives_for_nothing(void)
{
    host_expect(!is_recorded() && host_thread_count() == 1, "there is no thread of ours");
    host_compute_ms(30);
    host_pause_ms(1);
}

static void waits_in_a_loop(void)
{
    host_expect(!is_recorded(), "it is not recorded yet");
    host_expect(is_recorded_within_seconds(), "it is recorded from its first wait on");
    host_expect_snapshot();
}

static void forks_before_it_is_recorded(void)
{
    int status = -1;
    host_compute_ms(30);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(is_recorded_within_seconds() ? 0 : 1);
    }
    host_expect(waitpid(pid, &status, 0) == pid && status == 0, "a forked child is recorded");
    host_expect(is_recorded_within_seconds(), "so is its parent");
}

static void on_alarm(int number)
{
    (void)number;
    host_loop(1, NULL); /* poll() is async-signal-safe */
}

/* A handler that waits may have interrupted malloc. Starting a thread there would deadlock. */
static void waits_in_a_handler_of_malloc(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 4000}, {0, 4000}}, never = {{0, 0}, {0, 0}};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t end = host_now_ms() + 500;
    while (host_now_ms() < end) {
        void *volatile memory[64];
        for (size_t i = 0; i < SBX_COUNT_OF(memory); i++) {
            memory[i] = malloc(i * 1000 % 70001);
        }
        for (size_t i = 0; i < SBX_COUNT_OF(memory); i++) {
            free(memory[i]);
        }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    host_expect(is_recorded_within_seconds(), "it is recorded from an ordinary wait on");
}

/* A program may do what only a single-threaded process may do, although our thread is about to start the recorder. */
static void wants_to_be_alone(void)
{
    host_expect(dlopen("libm.so.6", RTLD_NOW) != NULL, "a module is loaded");
    if (unshare(CLONE_NEWUSER) != 0) {
        host_expect(errno != EINVAL, "a program of one thread is one");
        _exit(77);
    }
}

static void forbids_itself_nearly_everything(void)
{
    host_expect(dlopen("libm.so.6", RTLD_NOW) != NULL, "a module is loaded");
    host_expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "strict mode is entered");
    for (volatile int i = 0; i < 200000000; i++) { /* no clock: the time stamp counter is forbidden as well */
    }
    syscall(SYS_exit, 0); /* the calls that libc would make are forbidden */
}

static void starts_others(void)
{
    static const char *const bodies[] = {"lives_for_nothing",           "waits_in_a_loop",
                                         "forks_before_it_is_recorded", "waits_in_a_handler_of_malloc",
                                         "wants_to_be_alone",           "forbids_itself_nearly_everything"};
    host_expect(is_recorded(), "who is run is recorded at once");
    run_children(bodies, SBX_COUNT_OF(bodies));
}

static void host_02_what_a_recorded_program_starts_is_recorded_once_it_waits(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "starts_others", .has_companion = true});
    assert_int_equal(host_count_files(host_spool, ".sbx"), 1);
}

/* Does the library prepare anything in a program that is started here and imports the function `name`? */
static bool is_prepared(const char *name)
{
    char path[256], *arguments[] = {path, NULL};
    pid_t pid = 0;
    int status = -1;
    snprintf(path, sizeof path, "%s_%s", HOST_PREPARED, name);
    host_expect(posix_spawn(&pid, path, NULL, NULL, arguments, environ) == 0, "a program is started");
    host_expect(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) <= 1, "it tells");
    return WEXITSTATUS(status) == 1;
}

static void starts_some_that_never_wait(void)
{
    host_expect(is_prepared("by_poll"), "who calls poll() may wait");
    host_expect(is_prepared("by_exec"), "who calls exec may become one that waits");
    host_expect(!is_prepared("never"), "who calls nothing that waits is left alone");
    host_expect(!is_prepared("not_by_flock"), "so is who calls what never begins a recorder");
}

static void host_02_a_program_in_which_nobody_can_wait_is_left_alone(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "starts_some_that_never_wait", .has_companion = true});
}

/* ---- shared memory ---- */

enum {
    WORKERS = 9,
    OWN_BYTES = 24 << 20
};

/* A /dev/shm as small as in containers. */
static bool has_little_shared_memory(void)
{
    setenv(SBX_ENV_RECORDINGS, "/dev/shm/stallbox-test", 1);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/dev/shm", "tmpfs", 0, "size=64m") == 0;
}

static void works_until_it_is_told(void)
{
    char byte;
    host_loop(20, NULL);
    host_expect(write(STDOUT_FILENO, "u", 1) == 1, "it says that it is up");
    host_expect(read(STDIN_FILENO, &byte, 1) == 0, "and ends with its parent's pipe");
}

static void has_workers_and_shared_memory(void)
{
    int up[2], end[2];
    pid_t workers[WORKERS];
    char byte;
    host_expect(pipe(up) == 0 && pipe(end) == 0, "pipes are made");
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        if (workers[i] == 0) {
            dup2(end[0], STDIN_FILENO);
            dup2(up[1], STDOUT_FILENO);
            close(end[0]);
            close(end[1]);
            execl("/proc/self/exe", "host", "--body", "works_until_it_is_told", (char *)NULL);
            _exit(99);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        host_expect(read(up[0], &byte, 1) == 1, "a worker is up");
    }
    int file = shm_open("/host-own", O_RDWR | O_CREAT, 0600);
    host_expect(file >= 0 && ftruncate(file, OWN_BYTES) == 0, "shared memory is made");
    char *own = mmap(NULL, OWN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    host_expect(own != MAP_FAILED, "and mapped");
    memset(own, 7, OWN_BYTES);
    host_work();
    close(end[1]);
    close(end[0]);
    for (int i = 0; i < WORKERS; i++) {
        int status = -1;
        host_expect(waitpid(workers[i], &status, 0) == workers[i] && status == 0, "a worker ends well");
    }
}

static void host_21_recordings_leave_the_host_its_share_of_a_small_shared_memory(void **state)
{
    (void)state;
    host_run_well(
        &(struct host_order){.body = "has_workers_and_shared_memory", .before_exec = has_little_shared_memory});
}

/* ---- clocks ---- */

#ifdef __x86_64__
static void forbids_the_counter(void)
{
    host_loop(20, NULL);
    host_expect(is_recorded(), "it is recorded");
    host_expect(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0, "the time stamp counter is forbidden");
    for (int i = 0; i < 200; i++) {
        struct pollfd none = {.fd = -1};
        poll(&none, 1, 1);
        void *volatile memory = malloc(1000);
        free(memory);
    }
    host_expect(!is_recorded(), "the recorder has left");
}

static void host_15_a_program_that_forbids_itself_the_counter_lives(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forbids_the_counter"});
}
#endif

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(becomes_one_with_much_tls),
        HOST_BODY(starts_others),
        HOST_BODY(starts_some_that_never_wait),
        HOST_BODY(lives_for_nothing),
        HOST_BODY(waits_in_a_loop),
        HOST_BODY(forks_before_it_is_recorded),
        HOST_BODY(waits_in_a_handler_of_malloc),
        HOST_BODY(wants_to_be_alone),
        HOST_BODY(forbids_itself_nearly_everything),
        HOST_BODY(works_until_it_is_told),
        HOST_BODY(has_workers_and_shared_memory),
#ifdef __x86_64__
        HOST_BODY(forbids_the_counter),
#endif
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_15_static_tls_of_any_size_leaves_our_threads_their_stack),
        HOST_TEST(host_15_a_program_that_locks_all_its_memory_has_room_for_it),
        HOST_TEST(host_02_what_a_recorded_program_starts_is_recorded_once_it_waits),
        HOST_TEST(host_02_a_program_in_which_nobody_can_wait_is_left_alone),
        HOST_TEST(host_21_recordings_leave_the_host_its_share_of_a_small_shared_memory),
#ifdef __x86_64__
        HOST_TEST(host_15_a_program_that_forbids_itself_the_counter_lives),
#endif
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
