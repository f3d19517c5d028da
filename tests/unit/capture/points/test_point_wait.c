/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_wait.c - semaphores, barriers, joins and event counters in a process that records itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "order.h"
#include "recorded_process.h"

static sem_t semaphore;
static pthread_barrier_t barrier;
static int counter_fd;

/* ---- semaphores ---- */

__attribute__((noinline)) static void wait_for_the_semaphore(int way)
{
    struct timespec until = in_ten_seconds(way == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME);
    say_about_to_wait();
    int result = way == 0   ? sem_wait(&semaphore)
                 : way == 1 ? sem_timedwait(&semaphore, &until)
                            : sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until);
    child_expect(result == 0, "the semaphore is posted");
    KEEP_FRAME();
}

static void *semaphore_thread(void *way)
{
    wait_for_the_semaphore((int)(intptr_t)way);
    return NULL;
}

__attribute__((noinline)) static void post_the_semaphore(void)
{
    sem_post(&semaphore);
    KEEP_FRAME();
}

static void child_posts_a_semaphore(void)
{
    sem_init(&semaphore, 0, 0);
    for (int way = 0; way < 3; way++) {
        pthread_t thread;
        child_expect(pthread_create(&thread, NULL, semaphore_thread, (void *)(intptr_t)way) == 0, "a thread starts");
        let_them_wait(1);
        post_the_semaphore();
        pthread_join(thread, NULL);
    }
}

static void test_who_waits_for_a_semaphore_learns_who_posted_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_posts_a_semaphore);
    const struct expected_wait plain = {SBX_RECORD_WAIT, SBX_OP_SEM_WAIT, SBX_OP_SEM_POST,
                                        (void *)wait_for_the_semaphore, (void *)post_the_semaphore};
    const struct expected_wait timed = {SBX_RECORD_WAIT, SBX_OP_SEM_TIMEDWAIT, SBX_OP_SEM_POST,
                                        (void *)wait_for_the_semaphore, (void *)post_the_semaphore};
    assert_int_equal(count_pairs(snapshot, &plain), 1);
    assert_int_equal(count_pairs(snapshot, &timed), 2);
    sbx_snapshot_destroy(snapshot);
}

static void child_asks_semaphores(void)
{
    struct timespec past = {1, 0}, bad = {1, -1};
    sem_t own;
    sem_init(&own, 0, 1);
    errno = 77;
    child_expect(sem_wait(&own) == 0 && errno == 77, "a count is taken and errno stays");
    child_expect(sem_timedwait(&own, &past) == -1 && errno == ETIMEDOUT, "a time-out in the past is one");
    child_expect(sem_timedwait(&own, &bad) == -1 && errno == EINVAL, "a bad time-out is refused");
    child_expect(sem_clockwait(&own, CLOCK_THREAD_CPUTIME_ID, &past) == -1 && errno == EINVAL,
                 "a bad clock is refused");
    child_expect(sem_trywait(&own) == -1 && errno == EAGAIN, "there is nothing to take");
    errno = 77;
    child_expect(sem_post(&own) == 0 && errno == 77, "posting leaves errno");
    child_expect(sem_timedwait(&own, &past) == 0, "with a count the time-out is not looked at");
    child_expect(sem_post(&own) == 0 && sem_timedwait(&own, &bad) == -1 && errno == EINVAL, "a bad one is, first");
}

static void test_semaphores_answer_as_without_hooks(void **state)
{
    (void)state;
    child_asks_semaphores(); /* in this process nothing is hooked */
    sbx_snapshot_destroy(run_recorded(child_asks_semaphores));
}

/* A wait is a cancellation point, whether it sleeps or not. */
static void *take_for_ever(void *unused)
{
    (void)unused;
    for (;;) {
        sem_wait(&semaphore);
        sem_post(&semaphore);
    }
    return NULL;
}

static void *sleep_in_it(void *unused)
{
    (void)unused;
    say_about_to_wait();
    sem_wait(&semaphore);
    return NULL;
}

static void child_cancels_semaphore_waits(void)
{
    pthread_t thread;
    void *result = NULL;
    sem_init(&semaphore, 0, 5);
    child_expect(pthread_create(&thread, NULL, take_for_ever, NULL) == 0, "a thread starts");
    child_sleep_ms(20);
    pthread_cancel(thread);
    child_expect(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "who never sleeps is cancelled");
    sem_init(&semaphore, 0, 0);
    child_expect(pthread_create(&thread, NULL, sleep_in_it, NULL) == 0, "a thread starts");
    let_them_wait(1);
    pthread_cancel(thread);
    child_expect(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "who sleeps is cancelled");
    sem_post(&semaphore); /* no waiter is left; this must not record a wake */
}

static void test_semaphore_waits_are_cancelled_asleep_and_awake(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_cancels_semaphore_waits);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        assert_false(snapshot->records[i].kind == SBX_RECORD_WAKE && snapshot->records[i].op == SBX_OP_SEM_POST);
    }
    sbx_snapshot_destroy(snapshot);
}

/* A jump out of a signal handler leaves a wait for good. The thread lives on and waits again. */
static sigjmp_buf out_of_the_wait;

static void jump_out(int number)
{
    (void)number;
    siglongjmp(out_of_the_wait, 1);
}

static void *jump_and_wait_again(void *unused)
{
    (void)unused;
    if (sigsetjmp(out_of_the_wait, 1) == 0) {
        say_about_to_wait();
        sem_wait(&semaphore);
    }
    wait_for_the_semaphore(0);
    return NULL;
}

static void child_jumps_out_of_a_wait(void)
{
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    signal(SIGUSR1, jump_out);
    child_expect(pthread_create(&thread, NULL, jump_and_wait_again, NULL) == 0, "a thread starts");
    let_them_wait(1);
    pthread_kill(thread, SIGUSR1);
    let_them_wait(1);
    post_the_semaphore();
    pthread_join(thread, NULL);
}

static void test_a_wait_after_a_jump_out_of_another_learns_its_waker(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_jumps_out_of_a_wait);
    const struct expected_wait wait = {SBX_RECORD_WAIT, SBX_OP_SEM_WAIT, SBX_OP_SEM_POST,
                                       (void *)wait_for_the_semaphore, (void *)post_the_semaphore};
    assert_int_equal(count_pairs(snapshot, &wait), 1);
    sbx_snapshot_destroy(snapshot);
}

/* A handler's wait inside of another wait takes its waiter seat. The outer wait is recorded without a waker, and that
 * is counted. */
static void wait_inside(int number)
{
    struct timespec until;
    sem_t own;
    (void)number;
    sem_init(&own, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 5000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (sem_timedwait(&own, &until) != 0 && errno == EINTR) {
    }
}

static void *wait_through_a_signal(void *unused)
{
    (void)unused;
    say_about_to_wait();
    while (sem_wait(&semaphore) != 0 && errno == EINTR) {
    }
    KEEP_FRAME();
    return NULL;
}

static void child_waits_inside_a_wait(void)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = wait_inside, .sa_flags = SA_RESTART};
    sem_init(&semaphore, 0, 0);
    sigaction(SIGUSR1, &action, NULL);
    child_expect(pthread_create(&thread, NULL, wait_through_a_signal, NULL) == 0, "a thread starts");
    let_them_wait(1);
    pthread_kill(thread, SIGUSR1);
    child_sleep_ms(50);
    post_the_semaphore();
    pthread_join(thread, NULL);
}

static void test_a_wait_inside_a_wait_costs_the_outer_one_its_waker_and_is_counted(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_waits_inside_a_wait);
    const struct sbx_record *inner = only_record(snapshot, SBX_RECORD_WAIT, SBX_OP_SEM_TIMEDWAIT, (void *)wait_inside);
    const struct sbx_record *outer =
        only_record(snapshot, SBX_RECORD_WAIT, SBX_OP_SEM_WAIT, (void *)wait_through_a_signal);
    assert_true(outer->begin_ns < inner->begin_ns && inner->end_ns < outer->end_ns);
    assert_int_equal(outer->peer, 0);
    assert_int_equal(inner->peer, 0); /* timed out */
    assert_int_equal(inner->flags & SBX_FLAG_FAILED, SBX_FLAG_FAILED);
    assert_int_equal(snapshot->drops[SBX_DROP_NO_WAITER_SEAT], 1);
    sbx_snapshot_destroy(snapshot);
}

/* ---- barriers ---- */

enum {
    AT_THE_BARRIER = 4
};

__attribute__((noinline)) static void come_early(void)
{
    say_about_to_wait();
    pthread_barrier_wait(&barrier);
    KEEP_FRAME();
}

__attribute__((noinline)) static void come_last(void)
{
    int result = pthread_barrier_wait(&barrier);
    child_expect(result == PTHREAD_BARRIER_SERIAL_THREAD, "the last that comes gets the special value");
    KEEP_FRAME();
}

static void *barrier_thread(void *unused)
{
    (void)unused;
    come_early();
    return NULL;
}

static void child_meets_at_a_barrier(void)
{
    pthread_t threads[AT_THE_BARRIER];
    pthread_barrier_init(&barrier, NULL, AT_THE_BARRIER + 1);
    for (int i = 0; i < AT_THE_BARRIER; i++) {
        child_expect(pthread_create(&threads[i], NULL, barrier_thread, NULL) == 0, "a thread starts");
        child_sleep_ms(5); /* posts in between find waiters too, but end no wait */
    }
    let_them_wait(AT_THE_BARRIER);
    come_last();
    for (int i = 0; i < AT_THE_BARRIER; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void test_a_barrier_opens_by_who_comes_last(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_meets_at_a_barrier);
    const struct expected_wait wait = {SBX_RECORD_WAIT, SBX_OP_BARRIER_WAIT, SBX_OP_BARRIER_LAST, (void *)come_early,
                                       (void *)come_last};
    assert_int_equal(count_pairs(snapshot, &wait), AT_THE_BARRIER);
    for (size_t i = 0; i < snapshot->record_count; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_WAKE && snapshot->records[i].op == SBX_OP_BARRIER_LAST) {
            assert_int_equal(tid_of_record(snapshot, &snapshot->records[i]), snapshot->header.pid);
        }
    }
    sbx_snapshot_destroy(snapshot);
}

/* ---- the end of a thread ---- */

static atomic_uint joined_tid;
static atomic_bool may_end;

static void *long_lived(void *unused)
{
    void *volatile memory = NULL;
    (void)unused;
    joined_tid = (unsigned)syscall(SYS_gettid);
    child_sleep_ms(1); /* a point: the recorder knows the thread from here on */
    (void)memory;
    say_about_to_wait();
    while (!may_end) {
        child_sleep_ms(1);
    }
    return NULL;
}

__attribute__((noinline)) static void join_it(pthread_t thread, int way)
{
    struct timespec until = in_ten_seconds(way == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME);
    int result = way == 0   ? pthread_join(thread, NULL)
                 : way == 1 ? pthread_timedjoin_np(thread, NULL, &until)
                            : pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until);
    child_expect(result == 0, "the thread is joined");
    KEEP_FRAME();
}

static void *let_it_end(void *unused)
{
    (void)unused;
    child_sleep_ms(50);
    may_end = true;
    return NULL;
}

static void child_joins(void)
{
    for (int way = 0; way < 3; way++) {
        pthread_t thread, other;
        may_end = false;
        child_expect(pthread_create(&thread, NULL, long_lived, NULL) == 0, "a thread starts");
        let_them_wait(1);
        child_expect(pthread_create(&other, NULL, let_it_end, NULL) == 0, "a thread starts");
        join_it(thread, way);
        child_expect(pthread_join(other, NULL) == 0, "the other is joined");
    }
}

static void test_a_join_names_the_thread_it_waited_for(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_joins);
    const struct expected_wait plain = {SBX_RECORD_WAIT, SBX_OP_JOIN, SBX_OP_THREAD_EXIT, (void *)join_it, NULL};
    const struct expected_wait timed = {SBX_RECORD_WAIT, SBX_OP_TIMEDJOIN, SBX_OP_THREAD_EXIT, (void *)join_it, NULL};
    assert_int_equal(count_pairs(snapshot, &plain), 1);
    assert_int_equal(count_pairs(snapshot, &timed), 2);
    sbx_snapshot_destroy(snapshot);
}

static int c11_thread(void *unused)
{
    (void)unused;
    child_sleep_ms(50);
    return 3;
}

__attribute__((noinline)) static void join_the_c11_thread(void)
{
    thrd_t thread;
    int result = 0;
    child_expect(thrd_create(&thread, c11_thread, NULL) == thrd_success, "a thread starts");
    child_expect(thrd_join(thread, &result) == thrd_success && result == 3, "its result is had");
    KEEP_FRAME();
}

static void test_a_c11_join_is_a_point_as_well(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(join_the_c11_thread);
    only_record(snapshot, SBX_RECORD_WAIT, SBX_OP_JOIN, (void *)join_the_c11_thread);
    sbx_snapshot_destroy(snapshot);
}

/* ---- event counters ---- */

__attribute__((noinline)) static void read_the_counter(void)
{
    eventfd_t value = 0;
    say_about_to_wait();
    child_expect(eventfd_read(counter_fd, &value) == 0 && value == 7, "the count is read");
    KEEP_FRAME();
}

static void *counter_thread(void *unused)
{
    (void)unused;
    read_the_counter();
    return NULL;
}

__attribute__((noinline)) static void write_the_counter(void)
{
    child_expect(eventfd_write(counter_fd, 7) == 0, "the count is written");
    KEEP_FRAME();
}

static void child_counts_events(void)
{
    pthread_t thread;
    counter_fd = eventfd(0, EFD_CLOEXEC);
    child_expect(pthread_create(&thread, NULL, counter_thread, NULL) == 0, "a thread starts");
    let_them_wait(1);
    write_the_counter();
    pthread_join(thread, NULL);
}

static void test_who_reads_an_event_counter_learns_who_wrote_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_counts_events);
    const struct expected_wait wait = {SBX_RECORD_WAIT, SBX_OP_EVENTFD_READ, SBX_OP_EVENTFD_WRITE,
                                       (void *)read_the_counter, (void *)write_the_counter};
    assert_int_equal(count_pairs(snapshot, &wait), 1);
    sbx_snapshot_destroy(snapshot);
}

enum {
    QUICK_READS = 500
};

static void read_what_cannot_wait(int fd)
{
    uint64_t value = 0;
    for (int i = 0; i < QUICK_READS; i++) {
        child_expect(read(fd, &value, sizeof value) == -1 && errno == EAGAIN, "nothing was written");
    }
    close(fd);
}

/* One counter is non-blocking from its creation, the other by fcntl(), as Java does. */
static void child_reads_what_cannot_wait(void)
{
    child_counts_events();
    read_what_cannot_wait(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int fd = eventfd(0, EFD_CLOEXEC);
    child_expect(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0, "it does not wait from here on");
    read_what_cannot_wait(fd);
    child_counts_events();
}

static void child_counts_what_does_not_wait(void)
{
    uint64_t value = 1;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), pipe_fds[2];
    child_expect(child_header() != NULL && pipe(pipe_fds) == 0, "a pipe");
    child_sleep_ms(1);
    uint32_t before = child_entry()->call_op;
    child_expect(write(fd, &value, sizeof value) == sizeof value && read(fd, &value, sizeof value) == sizeof value,
                 "one event");
    child_expect(child_entry()->call_op == before, "calls that do not wait are shown to nobody");
    child_expect(dup2(pipe_fds[1], fd) == fd && write(fd, &value, sizeof value) == sizeof value, "a pipe in its place");
    child_expect(child_entry()->call_op == SBX_OP_WRITE, "a write to a pipe is shown");
}

static void test_writes_to_an_event_counter_and_reads_that_cannot_wait_are_shown_to_nobody(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_counts_what_does_not_wait));
}

/* Each wait that another thread may end has a number of its own. */
static void test_a_read_of_an_event_counter_that_cannot_wait_is_no_wait_that_another_thread_ends(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_reads_what_cannot_wait);
    uint32_t first = UINT32_MAX, last = 0, count = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_WAIT && record->op == SBX_OP_EVENTFD_READ) {
            first = record->wait < first ? record->wait : first;
            last = record->wait > last ? record->wait : last;
            count++;
        }
    }
    assert_int_equal(count, 2);
    assert_true(last - first < QUICK_READS / 2);
    sbx_snapshot_destroy(snapshot);
}

/* ---- out of a call by a jump, and calls in calls ---- */

static volatile double sum;

/* Computes without a capture point, so nothing here tells the recorder that the wait is over. On a busy machine it
 * computes for longer, until a signal has come, because only a signal can record this thread. */
__attribute__((noinline)) static void compute_after_the_jump(void)
{
    const uint64_t *recorded_ns = &child_entry()->last_record_ns;
    uint64_t before_ns = sbx_load_relaxed(recorded_ns);
    for (volatile long i = 0; i < 400000000 || (i < 8000000000 && sbx_load_relaxed(recorded_ns) == before_ns); i++) {
    }
    sum += 1;
}

static void *jump_and_compute(void *unused)
{
    (void)unused;
    child_sleep_ms(1); /* a point: the thread is known from here on, also if the signal comes before the wait */
    if (sigsetjmp(out_of_the_wait, 1) == 0) {
        say_about_to_wait();
        pause();
    }
    compute_after_the_jump();
    return NULL;
}

static void child_jumps_out_and_computes(void)
{
    pthread_t thread;
    signal(SIGUSR1, jump_out);
    child_expect(pthread_create(&thread, NULL, jump_and_compute, NULL) == 0, "a thread starts");
    let_them_wait(1);
    child_sleep_ms(100); /* long enough to be seen in the wait */
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}

/* On other machines the recorder does not know the content of a jmp_buf, and only the next blocking call shows the
 * jump: LIMITS.md. */
#ifdef __x86_64__
enum {
    JUMPS_ARE_SEEN = 1
};
#else
enum {
    JUMPS_ARE_SEEN = 0
};
#endif

static void test_a_thread_that_jumped_out_of_a_call_is_in_none(void **state)
{
    (void)state;
    if (!JUMPS_ARE_SEEN) {
        skip();
    }
    struct sbx_snapshot *snapshot = run_recorded(child_jumps_out_and_computes);
    uint64_t jumped_ns = UINT64_MAX;
    unsigned by_signal = 0, asleep = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_ASYNC && passes_through(snapshot, record, (void *)compute_after_the_jump)) {
            by_signal++;
            jumped_ns = record->begin_ns < jumped_ns ? record->begin_ns : jumped_ns;
        }
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        asleep += record->kind == SBX_RECORD_BLOCKED && record->op == SBX_OP_PAUSE && record->end_ns > jumped_ns;
    }
    assert_true(by_signal > 0); /* no signal is sent to a thread that is in such a call */
    assert_int_equal(asleep, 0);
    sbx_snapshot_destroy(snapshot);
}

static volatile sig_atomic_t nested, most_nested;

static void sleep_inside(int number)
{
    const struct timespec pause_of_its_own = {0, 30000000};
    (void)number;
    nested++;
    most_nested = nested > most_nested ? nested : most_nested;
    if (nested <= 8) {
        nanosleep(&pause_of_its_own, NULL);
    }
    nested--;
}

__attribute__((noinline)) static void sleep_outside(void)
{
    struct timespec rest = {0, 100000000};
    while (nanosleep(&rest, &rest) != 0) {
    }
    __asm__ volatile(""); /* keeps the last call from becoming a tail call */
}

/* A timer fires again and again while its handler sleeps: calls within calls, more than there are seats for. */
static void child_sleeps_in_handlers(void)
{
    struct sigaction action = {.sa_handler = sleep_inside, .sa_flags = SA_NODEFER};
    const struct itimerval often = {{0, 5000}, {0, 5000}}, off = {{0, 0}, {0, 0}};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 100 && most_nested < 6; i++) {
        usleep(20000);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    child_expect(most_nested >= 6, "handlers sleep in handlers");
    child_sleep_ms(50);
    sleep_outside();
}

static void test_calls_in_calls_in_calls_are_left_in_order(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_sleeps_in_handlers);
    unsigned outside = 0;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        outside += record->kind == SBX_RECORD_SLEEP && record->end_ns - record->begin_ns >= 100000000 &&
                   passes_through(snapshot, record, (void *)sleep_outside);
    }
    assert_int_equal(outside, 1);
    sbx_snapshot_destroy(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_waits_for_a_semaphore_learns_who_posted_it),
        cmocka_unit_test(test_semaphores_answer_as_without_hooks),
        cmocka_unit_test(test_semaphore_waits_are_cancelled_asleep_and_awake),
        cmocka_unit_test(test_a_wait_after_a_jump_out_of_another_learns_its_waker),
        cmocka_unit_test(test_a_thread_that_jumped_out_of_a_call_is_in_none),
        cmocka_unit_test(test_calls_in_calls_in_calls_are_left_in_order),
        cmocka_unit_test(test_a_wait_inside_a_wait_costs_the_outer_one_its_waker_and_is_counted),
        cmocka_unit_test(test_a_barrier_opens_by_who_comes_last),
        cmocka_unit_test(test_a_join_names_the_thread_it_waited_for),
        cmocka_unit_test(test_a_c11_join_is_a_point_as_well),
        cmocka_unit_test(test_who_reads_an_event_counter_learns_who_wrote_it),
        cmocka_unit_test(test_a_read_of_an_event_counter_that_cannot_wait_is_no_wait_that_another_thread_ends),
        cmocka_unit_test(test_writes_to_an_event_counter_and_reads_that_cannot_wait_are_shown_to_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
