/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_privileges.c - programs that do what only a single-threaded process may do, or what all threads must do
 * together. */
#include "host_case.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

enum {
    NOT_TO_BE_HAD = 77,
    NOBODY = 65534
};

/* Does this machine allow a program without the recorder to do it? Tried in the host, in a child that has no
 * recorder. */
static void ask_first(bool (*attempt)(void))
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(attempt() ? 0 : 1);
    }
    host_expect(waitpid(pid, &status, 0) == pid, "the child is waited for");
    if (status != 0) {
        _exit(NOT_TO_BE_HAD);
    }
}

/* ---- a user namespace ---- */

static bool unshare_user(void)
{
    return unshare(CLONE_NEWUSER) == 0;
}

static bool unshare_user_by_number(void)
{
    return syscall(SYS_unshare, (long)CLONE_NEWUSER) == 0;
}

static void enters_a_user_namespace(void)
{
    bool (*attempt)(void) = getenv("HOST_BY_NUMBER") != NULL ? unshare_user_by_number : unshare_user;
    host_loop(50, NULL);
    ask_first(attempt);
    host_expect(host_api().is_running(), "it is recorded until then");
    errno = 7;
    host_expect(attempt() && errno == 7, "the namespace is entered as without us");
    host_expect(!host_api().is_running() && host_thread_count() == 1, "the recorder has left");
    host_loop(50, NULL);
}

static void host_13_a_program_of_one_thread_enters_a_user_namespace(void **state)
{
    (void)state;
    unsetenv("HOST_BY_NUMBER");
    host_run_well(&(struct host_order){.body = "enters_a_user_namespace"});
    assert_int_equal(host_count_files(host_recordings, ""), 0);
    setenv("HOST_BY_NUMBER", "1", 1);
    host_run_well(&(struct host_order){.body = "enters_a_user_namespace"});
    unsetenv("HOST_BY_NUMBER");
}

static void *wait_for_the_end(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

/* The kernel refuses a program of two threads whether or not it is recorded, so the recorder need not leave. The same
 * for a namespace that any process may enter. */
static void has_threads_of_its_own(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, wait_for_the_end, &lock);
    host_loop(50, NULL);
    host_expect(unshare(CLONE_NEWUSER) == -1 && errno == EINVAL, "the kernel says no");
    (void)unshare(CLONE_NEWUTS);
    host_expect(setgid(getgid()) == 0, "it may be who it is");
    host_expect(host_api().is_running(), "the recorder stays");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

static void host_13_what_a_program_of_many_threads_is_refused_ends_no_recording(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_threads_of_its_own"});
}

/* ---- rights given up by a thread ---- */

/* Without the right to change groups, like a privileged helper that keeps one capability. */
static bool give_up_groups(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) != 0) {
        return false;
    }
    data[0].effective &= ~(UINT32_C(1) << CAP_SETGID);
    data[0].permitted &= ~(UINT32_C(1) << CAP_SETGID);
    return syscall(SYS_capset, &header, data) == 0;
}

static bool can_give_up_groups(void)
{
    return geteuid() == 0 && give_up_groups();
}

static void gives_up_a_right_and_then_its_user(void)
{
    gid_t none = NOBODY;
    host_loop(50, NULL);
    ask_first(can_give_up_groups);
    host_expect(setgroups(1, &none) == 0 && host_api().is_running(), "a daemon's usual way changes nothing");
    host_expect(give_up_groups(), "the right is given up");
    host_expect(setgid(NOBODY) == -1 && errno == EPERM, "and then missing, on all threads that there are");
    host_expect(!host_api().is_running() && host_thread_count() == 1, "the recorder has left");
    host_expect(setuid(NOBODY) == 0 && geteuid() == NOBODY, "the user is given up too");
    host_loop(50, NULL);
}

static void host_13_rights_given_up_by_one_thread_end_no_program(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "gives_up_a_right_and_then_its_user"});
}

/* ---- Landlock ---- */

static bool shut_in(void)
{
    uint64_t writing = 2; /* LANDLOCK_ACCESS_FS_WRITE_FILE: no writing from here on */
    long rules = syscall(SYS_landlock_create_ruleset, &writing, sizeof writing, 0L);
    bool is_in = rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                 syscall(SYS_landlock_restrict_self, rules, 0L) == 0;
    if (rules >= 0) {
        close((int)rules);
    }
    return is_in;
}

static void shuts_itself_in(void)
{
    host_loop(50, NULL);
    ask_first(shut_in);
    host_expect(shut_in(), "it is shut in");
    host_expect(!host_api().is_running() && host_thread_count() == 1, "no thread of ours is left outside");
    host_loop(50, NULL);
}

static void host_13_no_thread_of_ours_stays_outside_of_landlock(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "shuts_itself_in"});
}

/* ---- browsers ---- */

/* Chromium's zygote ends if it has more than one thread. */
static void is_started_as_a_zygote(void)
{
    if (getenv("HOST_IS_ZYGOTE") == NULL) {
        host_expect(host_thread_count() == 3, "a usual program has our two threads");
        setenv("HOST_IS_ZYGOTE", "1", 1);
        execl("/proc/self/exe", "browser", "--body", "is_started_as_a_zygote", "--type=zygote", (char *)NULL);
        _exit(1);
    }
    host_expect(host_thread_count() == 1 && !host_api().is_running(), "a zygote has its own thread only");
}

static void host_13_a_browsers_zygote_keeps_its_one_thread(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "is_started_as_a_zygote"});
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(enters_a_user_namespace),
        HOST_BODY(has_threads_of_its_own),
        HOST_BODY(gives_up_a_right_and_then_its_user),
        HOST_BODY(shuts_itself_in),
        HOST_BODY(is_started_as_a_zygote),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_13_a_program_of_one_thread_enters_a_user_namespace),
        HOST_TEST(host_13_what_a_program_of_many_threads_is_refused_ends_no_recording),
        HOST_TEST(host_13_rights_given_up_by_one_thread_end_no_program),
        HOST_TEST(host_13_no_thread_of_ours_stays_outside_of_landlock),
        HOST_TEST(host_13_a_browsers_zygote_keeps_its_one_thread),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
