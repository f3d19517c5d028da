/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_sandbox.c - programs that forbid themselves system calls: the call fails, or kills the program. */
#include "host_case.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox_filter.h"

/* ---- HOST-14: filters that refuse ---- */

static const long *forbidden;
static size_t forbidden_count;

static bool forbid(const long *numbers, size_t count)
{
    struct sock_filter filter[40] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned used = 1;
    for (size_t i = 0; i < count; i++) {
        filter[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)used, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool forbid_before_exec(void)
{
    return forbid(forbidden, forbidden_count);
}

static const long all_forbidden[] = {
    SYS_getrandom,   SYS_timer_create,      SYS_timer_settime, SYS_timer_delete, SYS_sigaltstack,
    SYS_tgkill,      SYS_rt_tgsigqueueinfo, SYS_prctl,         SYS_madvise,      SYS_getrusage,
    SYS_clone3,      SYS_process_vm_readv,  SYS_socket,        SYS_getdents64,   SYS_fallocate,
    SYS_close_range, SYS_ftruncate};

static void host_14_a_filter_that_refuses_calls_harms_nobody(void **state)
{
    (void)state;
    struct host_order order = {.body = "host_work", .before_exec = forbid_before_exec};
    for (size_t i = 0; i <= SBX_COUNT_OF(all_forbidden); i++) { /* each one alone, and all of them together */
        forbidden = i < SBX_COUNT_OF(all_forbidden) ? &all_forbidden[i] : all_forbidden;
        forbidden_count = i < SBX_COUNT_OF(all_forbidden) ? 1 : SBX_COUNT_OF(all_forbidden);
        assert_int_equal(host_run(&order), 0);
    }
}

static void forbids_later(void)
{
    static const long later[] = {SYS_openat, SYS_getrandom, SYS_timer_create, SYS_process_vm_readv, SYS_prctl};
    host_loop(50, NULL);
    /* For all threads, including ours, as a sandbox does it. */
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)later[0], 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)later[1], 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)later[2], 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)later[3], 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
    };
    struct sock_fprog program = {.len = SBX_COUNT_OF(filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        _exit(77);
    }
    host_expect(host_api().snapshot(20000) != STALLBOX_OK, "no snapshot can be written");
    host_expect(host_counts().dropped > 0, "and that is counted");
    host_work();
}

static void host_14_a_sandbox_entered_later_costs_the_snapshots_only(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "forbids_later"});
    assert_int_equal(host_count_snapshots(), 0);
}

/* ---- HOST-14: filters that kill ---- */

/* The calls of this program itself inside of its sandbox. */
static const long own_calls[] = {
    SYS_poll,          SYS_futex,   SYS_clock_nanosleep, SYS_nanosleep, SYS_brk,        SYS_mmap,         SYS_munmap,
    SYS_mprotect,      SYS_madvise, SYS_write,           SYS_exit,      SYS_exit_group, SYS_rt_sigreturn, SYS_close,
    SYS_clock_gettime, SYS_prctl,   SYS_rt_sigprocmask,  SYS_wait4,     SYS_gettid,     SYS_accept,       SYS_recvfrom};

struct allow_list {
    struct sock_filter code[256];
    unsigned short length;
};

static void allow(struct allow_list *list, uint32_t call)
{
    list->code[list->length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    list->code[list->length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
}

static bool samples_are_forbidden;

static bool is_for_one_thread(void)
{
    return strcmp(getenv("HOST_WAY"), "prctl") == 0;
}

/* Allow the program's calls, and those of `ours` that are made under such a filter. All other calls get `action`. */
static void make_list(struct allow_list *list, bool ours, uint32_t action)
{
    list->length = 0;
    list->code[list->length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < SBX_COUNT_OF(own_calls); i++) {
        allow(list, (uint32_t)own_calls[i]);
    }
    for (size_t i = 0; ours && i < sbx_calls_on_their_threads_count; i++) {
        allow(list, sbx_calls_on_their_threads[i]);
    }
    for (size_t i = 0; ours && !is_for_one_thread() && i < sbx_calls_on_our_threads_count; i++) {
        allow(list, sbx_calls_on_our_threads[i]);
    }
    for (size_t i = 0; ours && !samples_are_forbidden && i < sbx_calls_for_asking_count; i++) {
        allow(list, sbx_calls_for_asking[i]);
    }
    list->code[list->length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/* The system call itself, without a hook. */
static long call_raw(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

/* Enter the sandbox in the way that HOST_WAY names. */
static void enter(const struct allow_list *list)
{
    const char *way = getenv("HOST_WAY");
    struct sock_fprog program = {.len = list->length, .filter = (struct sock_filter *)list->code};
    long result;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        _exit(77);
    }
    if (is_for_one_thread()) { /* for this thread, and those that it starts from now on */
        result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    } else if (strcmp(way, "unseen") == 0) {
        result = call_raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, (long)&program);
    } else { /* for all threads, including ours */
        result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    }
    if (result != 0) {
        _exit(77);
    }
}

/* Listens, and asks for a client although none has come, as a server's main thread does after each poll(). */
static int listen_for_nobody(void)
{
    const struct sockaddr_un any = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    host_expect(made >= 0 && bind(made, (const struct sockaddr *)&any, sizeof any.sun_family) == 0 &&
                    listen(made, 4) == 0,
                "a socket listens");
    return made;
}

static void accept_nobody(int socket)
{
    host_expect(accept(socket, NULL, NULL) < 0 && errno == EAGAIN, "nobody has come");
}

static int listener = -1; /* of a program that serves clients; -1: of one that does not */

/* An ordinary program, for long enough that the recorder would have looked around many times. */
static void live_in_the_sandbox(void)
{
    for (int i = 0; i < 10; i++) {
        host_loop(60, NULL);
        if (listener >= 0) {
            accept_nobody(listener);
        }
        void *volatile memory = malloc(300000);
        free(memory);
        host_compute_ms(30);
    }
}

/* Start threads that are running when this returns, because libc's calls at the begin of a thread (rseq) may be
 * forbidden later. */
static void begin_busy_threads(pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++) {
        host_expect(pthread_create(&threads[i], NULL, host_keep_busy, NULL) == 0, "a thread starts");
    }
    while (host_busy_threads < count) {
        host_pause_ms(1);
    }
}

static uint32_t action_of_the_test(void)
{
    const char *name = getenv("HOST_ACTION");
    return strcmp(name, "trap") == 0     ? SECCOMP_RET_TRAP
           : strcmp(name, "thread") == 0 ? SECCOMP_RET_KILL_THREAD
                                         : SECCOMP_RET_KILL_PROCESS;
}

static void on_trap(int number)
{
    (void)number;
    _exit(55);
}

static void kills_what_it_does_not_call(void)
{
    static struct allow_list list;
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = on_trap};
    sigemptyset(&action.sa_mask);
    sigaction(SIGSYS, &action, NULL);
    begin_busy_threads(threads, 2);
    host_loop(50, NULL);
    host_expect_snapshot(); /* the recorder works up to here */
    make_list(&list, false, action_of_the_test());
    enter(&list);
    live_in_the_sandbox();
    host_expect(!host_api().is_running(), "the recorder has left");
    host_goes_on = false;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL); /* they end, and so does what the recorder knew of them */
    }
}

static void host_14_a_filter_that_kills_finds_the_recorder_gone(void **state)
{
    static const char *const turns[][2] = {
        {"prctl", "process"}, {"all", "process"}, {"all", "thread"}, {"all", "trap"}};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(turns); i++) {
        setenv("HOST_WAY", turns[i][0], 1);
        setenv("HOST_ACTION", turns[i][1], 1);
        host_run_well(&(struct host_order){.body = "kills_what_it_does_not_call"});
        assert_int_equal(host_count_snapshots(), 1); /* from before; and nothing is left that a kill would leave */
        assert_int_equal(host_count_files(host_recordings, SBX_RECORDING_SUFFIX), 0);
        host_tear_down(state);
    }
}

/* Proof that these filters work: one that is installed without passing a hook ends the program, as LIMITS.md says. */
static void host_14_a_filter_that_kills_and_is_installed_past_us_ends_the_program(void **state)
{
    (void)state;
    setenv("HOST_WAY", "unseen", 1);
    setenv("HOST_ACTION", "process", 1);
    int status = host_run(&(struct host_order){.body = "kills_what_it_does_not_call"});
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}

/* The list of docs/SANDBOXES.md is complete: if it is allowed, the recorder works and makes snapshots. For a filter of
 * one thread only the list for the program's threads is needed. */
static void allows_the_recorders_calls(void)
{
    static struct allow_list list;
    pthread_t threads[2];
    listener = listen_for_nobody();
    begin_busy_threads(threads, 2);
    host_loop(50, NULL);
    make_list(&list, true, SECCOMP_RET_KILL_PROCESS);
    enter(&list);
    live_in_the_sandbox();
    host_expect(host_api().is_running(), "the recorder goes on");
    host_expect_snapshot();
    live_in_the_sandbox();
    host_expect(host_counts().captures_async > 5, "samples were taken");
    host_goes_on = false;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void host_14_a_filter_that_kills_others_lets_the_recorder_live(void **state)
{
    static const char *const ways[] = {"prctl", "all"};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(ways); i++) {
        setenv("HOST_WAY", ways[i], 1);
        host_run_well(&(struct host_order){.body = "allows_the_recorders_calls"});
        assert_int_equal(host_count_snapshots(), 1);
        host_tear_down(state);
    }
}

/* A filter that kills for one call, which the program never makes and the recorder makes only on its own threads. It is
 * judged harmless, because it is for one thread. So the recorder may not make that call on the program's threads, up to
 * the very end. */
static bool is_in(const uint16_t *calls, size_t count, uint32_t call)
{
    for (size_t i = 0; i < count; i++) {
        if (calls[i] == call) {
            return true;
        }
    }
    return false;
}

static uint32_t call_of_the_test(void)
{
    return (uint32_t)atoi(getenv("HOST_CALL"));
}

/* `action` is for the tested call, in this thread and those that it starts. */
static void forbid_one_call(uint32_t action)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call_of_the_test(), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = SBX_COUNT_OF(filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(77);
    }
}

static void is_killed_for_one_call(void)
{
    listener = listen_for_nobody();
    host_loop(20, NULL);
    accept_nobody(listener);
    forbid_one_call(SECCOMP_RET_KILL_PROCESS);
    bool is_judged = is_in(sbx_calls_on_their_threads, sbx_calls_on_their_threads_count, call_of_the_test());
    host_expect(host_api().is_running() == !is_judged, "the recorder goes on, or has left");
    host_loop(20, NULL);
    accept_nobody(listener);
    host_compute_ms(20);
    host_api().snapshot(0);                  /* under way when the process exits */
    printf("the last words of the program"); /* exit() writes this, after our code */
}

/* The same, through every public function that may use files. */
static void is_killed_for_one_call_of_the_interface(void)
{
    enum stallbox_result (*set_consent)(enum stallbox_consent) =
        (enum stallbox_result(*)(enum stallbox_consent))dlsym(RTLD_DEFAULT, "stallbox_set_consent");
    enum stallbox_result (*set_conditions)(uint32_t) =
        (enum stallbox_result(*)(uint32_t))dlsym(RTLD_DEFAULT, "stallbox_set_conditions");
    struct host_api api = host_api();
    host_loop(20, NULL);
    forbid_one_call(SECCOMP_RET_KILL_PROCESS);
    host_expect(api.is_running(), "the recorder goes on");
    host_loop(20, NULL);
    host_expect(api.start(NULL) == STALLBOX_ALREADY_RUNNING, "it was started before");
    host_expect(set_conditions(STALLBOX_UNMETERED) == STALLBOX_OK, "conditions are written down");
    host_expect(set_consent(STALLBOX_CONSENT_GRANTED) == STALLBOX_OK, "a yes is written down");
    host_expect(set_consent(STALLBOX_CONSENT_DENIED) == STALLBOX_OK, "a no is written down");
    host_expect(api.stop(20000) == STALLBOX_OK, "the recorder stops");
    host_expect(api.start(NULL) != STALLBOX_OK, "and does not come again");
}

static void run_killed_for(const char *body, uint32_t call)
{
    char number[16];
    snprintf(number, sizeof number, "%u", (unsigned)call);
    setenv("HOST_CALL", number, 1);
    int status = host_run(&(struct host_order){.body = body});
    if (status != 0) {
        fail_msg("%s, system call %u: %x", body, (unsigned)call, (unsigned)status);
    }
}

static void host_14_no_call_of_ours_is_made_on_the_programs_threads_unjudged(void **state)
{
    /* The calls that libc's stdio and exit_group make for the body itself. */
    static const uint16_t own[] = {SYS_write, SYS_fstat, SYS_newfstatat, SYS_exit, SYS_close, SYS_clock_nanosleep};
    (void)state;
    run_killed_for("is_killed_for_one_call", SYS_fcntl); /* judged because accept() checks whether it waits */
    for (size_t i = 0; i < sbx_calls_on_our_threads_count; i++) {
        uint32_t call = sbx_calls_on_our_threads[i];
        if (!is_in(own, SBX_COUNT_OF(own), call) &&
            !is_in(sbx_calls_on_their_threads, sbx_calls_on_their_threads_count, call)) {
            run_killed_for("is_killed_for_one_call", call);
        }
    }
}

static void host_14_no_function_of_the_interface_makes_a_call_unjudged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sbx_calls_on_our_threads_count; i++) {
        uint32_t call = sbx_calls_on_our_threads[i];
        if (!is_in(sbx_calls_on_their_threads, sbx_calls_on_their_threads_count, call)) {
            run_killed_for("is_killed_for_one_call_of_the_interface", call);
        }
    }
    char path[160];
    snprintf(path, sizeof path, "%s/consent", host_spool);
    assert_int_equal(access(path, F_OK), 0);
}

/* The filter of one thread is inherited by the children that this thread forks, and by all threads that are started
 * there. */
static void forks_below_a_filter(void)
{
    bool is_mild = getenv("HOST_MILD") != NULL;
    int status = 0;
    host_loop(50, NULL);
    forbid_one_call(is_mild ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS);
    host_expect(host_api().is_running(), "the recorder goes on");
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t begin_ms = host_now_ms(), most_ms = is_mild ? 60000 : 500;
        while (!host_api().is_running() && host_now_ms() - begin_ms < most_ms) {
            host_loop(20, NULL);
        }
        _exit(host_api().is_running() ? 8 : 9);
    }
    host_expect(waitpid(pid, &status, 0) == pid, "the child ends");
    host_expect(status == (is_mild ? 8 : 9) << 8, "it is recorded where the filter is mild, and lives in any case");
}

static void host_14_a_child_that_inherits_a_filter_which_kills_begins_no_recorder(void **state)
{
    char number[16];
    (void)state;
    snprintf(number, sizeof number, "%d", SYS_fallocate);
    setenv("HOST_CALL", number, 1);
    host_run_well(&(struct host_order){.body = "forks_below_a_filter"});
}

static void host_14_a_child_that_inherits_a_filter_which_refuses_is_recorded(void **state)
{
    char number[16];
    (void)state;
    snprintf(number, sizeof number, "%d", SYS_socket);
    setenv("HOST_CALL", number, 1);
    setenv("HOST_MILD", "1", 1);
    int status = host_run(&(struct host_order){.body = "forks_below_a_filter"});
    unsetenv("HOST_MILD");
    assert_int_equal(status, 0);
}

/* A filter that kills a thread that makes a timer, and allows everything else of the recorder. */
static void allows_all_but_samples(void)
{
    static struct allow_list list;
    pthread_t threads[2];
    begin_busy_threads(threads, 2);
    for (int i = 0; i < 200 && host_counts().captures_async < 5; i++) {
        host_pause_ms(20);
    }
    host_expect(host_counts().captures_async >= 5, "samples are taken at first");
    samples_are_forbidden = true;
    make_list(&list, true, SECCOMP_RET_KILL_PROCESS);
    enter(&list);
    host_pause_ms(20);
    uint64_t before = host_counts().captures_async;
    live_in_the_sandbox();
    host_expect(host_api().is_running(), "the recorder goes on");
    host_expect(host_counts().captures_async == before, "without samples of running threads");
    host_expect_snapshot();
    host_goes_on = false;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void host_14_a_filter_that_kills_for_samples_alone_ends_these_alone(void **state)
{
    static const char *const ways[] = {"prctl", "all"};
    (void)state;
    for (size_t i = 0; i < SBX_COUNT_OF(ways); i++) {
        setenv("HOST_WAY", ways[i], 1);
        host_run_well(&(struct host_order){.body = "allows_all_but_samples"});
        assert_int_equal(host_count_snapshots(), 1);
        host_tear_down(state);
    }
}

static void *enter_strict_mode(void *unused)
{
    (void)unused;
    host_expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "strict mode is entered");
    for (volatile int i = 0; i < 300000000; i++) { /* a sample would kill it */
    }
    call_raw(SYS_exit, 0, 0, 0); /* libc's calls at the end of a thread are forbidden too */
    return NULL;
}

static void has_a_thread_in_strict_mode(void)
{
    pthread_t thread;
    host_loop(50, NULL);
    pthread_create(&thread, NULL, enter_strict_mode, NULL);
    pthread_detach(thread);
    for (int i = 0; i < 500 && host_thread_count() > 1; i++) {
        host_pause_ms(20);
    }
    host_expect(host_thread_count() == 1 && !host_api().is_running(),
                "the thread ended as it would, and the recorder left");
}

static void host_14_a_thread_in_strict_mode_is_left_alone(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "has_a_thread_in_strict_mode"});
}

/* Privilege separation: the child is in the sandbox and has no recorder. The parent is not, and keeps its recorder. */
static void forks_into_a_sandbox(void)
{
    static struct allow_list list;
    int status = 0;
    host_loop(50, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        make_list(&list, false, SECCOMP_RET_KILL_PROCESS);
        enter(&list);
        live_in_the_sandbox();
        _exit(9);
    }
    host_expect(waitpid(pid, &status, 0) == pid && (status == 9 << 8 || status == 77 << 8),
                "the child lives in its sandbox");
    host_expect(host_api().is_running(), "the parent is recorded");
    host_expect_snapshot();
}

static void host_14_a_forked_child_in_a_sandbox_costs_its_parent_nothing(void **state)
{
    (void)state;
    setenv("HOST_WAY", "all", 1);
    host_run_well(&(struct host_order){.body = "forks_into_a_sandbox"});
    assert_int_equal(host_count_snapshots(), 1);
}

int main(int argc, char **argv)
{
    const struct host_body bodies[] = {
        HOST_BODY(host_work),
        HOST_BODY(is_killed_for_one_call),
        HOST_BODY(is_killed_for_one_call_of_the_interface),
        HOST_BODY(forks_below_a_filter),
        HOST_BODY(forbids_later),
        HOST_BODY(kills_what_it_does_not_call),
        HOST_BODY(allows_the_recorders_calls),
        HOST_BODY(allows_all_but_samples),
        HOST_BODY(has_a_thread_in_strict_mode),
        HOST_BODY(forks_into_a_sandbox),
    };
    const struct CMUnitTest tests[] = {
        HOST_TEST(host_14_a_filter_that_refuses_calls_harms_nobody),
        HOST_TEST(host_14_a_sandbox_entered_later_costs_the_snapshots_only),
        HOST_TEST(host_14_a_filter_that_kills_finds_the_recorder_gone),
        HOST_TEST(host_14_a_filter_that_kills_and_is_installed_past_us_ends_the_program),
        HOST_TEST(host_14_a_filter_that_kills_others_lets_the_recorder_live),
        HOST_TEST(host_14_no_call_of_ours_is_made_on_the_programs_threads_unjudged),
        HOST_TEST(host_14_no_function_of_the_interface_makes_a_call_unjudged),
        HOST_TEST(host_14_a_child_that_inherits_a_filter_which_kills_begins_no_recorder),
        HOST_TEST(host_14_a_child_that_inherits_a_filter_which_refuses_is_recorded),
        HOST_TEST(host_14_a_filter_that_kills_for_samples_alone_ends_these_alone),
        HOST_TEST(host_14_a_thread_in_strict_mode_is_left_alone),
        HOST_TEST(host_14_a_forked_child_in_a_sandbox_costs_its_parent_nothing),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
