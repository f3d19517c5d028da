/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_seats.c - more threads than the recording has seats: a waiting thread gives its seat back
 * (capture/calls/seat_turns.h).
 *
 * The nasty cases have 16 seats (STALLBOX_SEATS) for 100 threads, so that seats change hands thousands of times a
 * second: in handlers on stacks of the host's and of ours, around jumps out of waits, cancellation in waits, and
 * children of vfork. */
#include "host_case.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "snapshot_folder.h"

enum {
    MANY = 1300,
    TOKENS = 50, /* threads that are awake at the same time */
    FEW_SEATS = 16,
    NASTY = 100,
    STACK_BYTES = 96 * 1024,
};

static pthread_t begin_thread(void *(*body)(void *), size_t number)
{
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    host_expect(pthread_create(&thread, &small, body, (void *)number) == 0, "a thread begins");
    pthread_attr_destroy(&small);
    return thread;
}

/* ---- all are seen ---- */

static sem_t turns[MANY];
static _Atomic unsigned long all_turns;
static _Atomic int begun;

static __attribute__((noinline)) void work_in_turn(void)
{
    for (int i = 0; i < 400; i++) {
        void *volatile memory = malloc(100);
        free(memory);
    }
    usleep(4000);
    HOST_KEEP_FRAME();
}

static __attribute__((noinline)) void *wait_for_turns(void *number)
{
    size_t self = (size_t)number;
    begun++;
    while (host_goes_on) {
        while (sem_wait(&turns[self]) != 0) {
        }
        if (host_goes_on) {
            work_in_turn();
            all_turns++;
            sem_post(&turns[(self + TOKENS) % MANY]);
        }
    }
    return NULL;
}

static void has_threads_that_wait_for_their_turns(void)
{
    static pthread_t threads[MANY];
    for (size_t i = 0; i < MANY; i++) {
        sem_init(&turns[i], 0, 0);
        threads[i] = begin_thread(wait_for_turns, i);
    }
    while (begun < MANY) {
        host_pause_ms(10);
    }
    host_pause_ms(1500); /* twice a second the recorder looks which threads exist */
    for (int i = 0; i < TOKENS; i++) {
        sem_post(&turns[i]);
    }
    /* Long enough for each thread to have several turns on any machine, and for the seats to go round. */
    uint64_t begin_ms = host_now_ms(), now_ms = begin_ms;
    for (int i = 0; all_turns < 10ul * MANY || now_ms - begin_ms < 9000; i++) {
        host_pause_ms(800);
        host_expect_snapshot();
        now_ms = host_now_ms();
        host_expect(now_ms - begin_ms < 120000, "turns are taken");
    }
    host_goes_on = false;
    for (size_t i = 0; i < MANY; i++) {
        sem_post(&turns[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
    }
}

struct sights {
    const void *function;
    bool is_seen[1 << 22]; /* by tid: PID_MAX_LIMIT */
    int count;
};

static const char *see_threads(void *context, const char *path, struct sbx_snapshot *snapshot)
{
    struct sights *sights = context;
    (void)path;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint32_t tid = snapshot->threads[record->thread].entry.tid;
        bool is_known = tid != 0; /* a thread whose entry has a new thread is unknown */
        if (is_known && !sights->is_seen[tid] && host_passes(snapshot, record->stack, sights->function)) {
            sights->is_seen[tid] = true;
            sights->count++;
        }
    }
    sbx_snapshot_destroy(snapshot);
    return NULL;
}

static void host_05_of_more_threads_than_seats_each_is_recorded_in_its_turn(void **state)
{
    static struct sights sights;
    char why[700] = "";
    (void)state;
    sights.function = (void *)work_in_turn;
    /* Without a budget. With one, threads that hardly compute may cost only little, so the governor would shed points
     * after some seconds. Points where threads take seats are among them, and the number of changes would depend on
     * which points it sheds when. */
    host_run_well(&(struct host_order){.body = "has_threads_that_wait_for_their_turns", .has_no_budget = true});
    assert_int_equal(snapshot_folder_visit(host_raw, see_threads, &sights, why, sizeof why), 0);
    print_message("%d of %d threads were seen at work\n", sights.count, MANY);
    assert_in_range(sights.count, 1101,
                    MANY); /* usually 1,230 to 1,280; names that are not read in time are overwritten */
}

/* ---- nobody is harmed ---- */

static _Atomic unsigned long handled, jumped, cancelled, children;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;
static __thread unsigned self_number;
static _Atomic pid_t nasty_tids[NASTY];

static bool has_few_seats(void)
{
    char text[12];
    snprintf(text, sizeof text, "%d", FEW_SEATS);
    return setenv("STALLBOX_SEATS", text, 1) == 0;
}

/* A wait in a handler, with words of the handler's own on the stack that it was given. The thread must find them
 * unchanged when it comes back. */
static void wait_with_words(unsigned long sign)
{
    volatile unsigned long words[96];
    const struct timespec shortly = {0, 300000};
    int saved_errno = errno;
    for (size_t i = 0; i < 96; i++) {
        words[i] = sign + i;
    }
    nanosleep(&shortly, NULL);
    free(NULL);
    for (size_t i = 0; i < 96; i++) {
        host_expect(words[i] == sign + i, "nobody writes to a handler's stack");
    }
    handled++;
    errno = saved_errno;
}

static void on_signal(int number)
{
    wait_with_words((unsigned long)number << 32 | (unsigned long)self_number << 16);
}

static void on_jump(int number)
{
    const struct timespec shortly = {0, 50000};
    if (may_jump != 0) {
        may_jump = 0;
        nanosleep(&shortly, NULL);
        siglongjmp(back, number);
    }
}

static void install(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaddset(&action.sa_mask, SIGALRM);
    sigaddset(&action.sa_mask, SIGVTALRM);
    host_expect(sigaction(number, &action, NULL) == 0, "a handler is set");
}

static void *wait_until_cancelled(void *unused)
{
    sem_t never;
    (void)unused;
    sem_init(&never, 0, 0);
    while (true) {
        free(malloc(30));
        sem_wait(&never);
    }
    return NULL;
}

static void cancel_one_in_a_wait(void)
{
    void *result = NULL;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* in the other thread: it is no target of ours */
    pthread_t victim = begin_thread(wait_until_cancelled, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    usleep(300);
    pthread_cancel(victim);
    host_expect(pthread_join(victim, &result) == 0 && result == PTHREAD_CANCELED, "it was cancelled");
    cancelled++;
}

static __attribute__((noinline)) void jump_out_of_a_wait(void)
{
    const struct timespec shortly = {0, 400000};
    if (sigsetjmp(back, 1) == 0) {
        may_jump = 1;
        nanosleep(&shortly, NULL);
        may_jump = 0;
    } else {
        jumped++;
    }
}

/* Runs on our stack and our thread-local words, with waits of its own. */
static __attribute__((noinline)) void have_a_child(void)
{
    const struct timespec shortly = {0, 200000};
    sigset_t all, before;
    int status = -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* what the host's handlers note would go into the parent's memory */
    pid_t child = vfork();
    if (child == 0) {
        nanosleep(&shortly, NULL);
        usleep(100);
        _exit(7);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    host_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child of vfork ends as it meant to");
    children++;
}

/* Eight waiting places, so that a stack shows which threads it can belong to. */
#define NASTY_PLACE(number)                                          \
    static __attribute__((noinline)) void nasty_place_##number(void) \
    {                                                                \
        for (int i = 0; i < 60; i++) {                               \
            void *volatile memory = malloc(64 + number);             \
            free(memory);                                            \
        }                                                            \
        usleep(200);                                                 \
        HOST_KEEP_FRAME();                                           \
    }
NASTY_PLACE(0)
NASTY_PLACE(1)
NASTY_PLACE(2)
NASTY_PLACE(3)
NASTY_PLACE(4)
NASTY_PLACE(5)
NASTY_PLACE(6)
NASTY_PLACE(7)
static void (*const nasty_places[])(void) = {nasty_place_0, nasty_place_1, nasty_place_2, nasty_place_3,
                                             nasty_place_4, nasty_place_5, nasty_place_6, nasty_place_7};

static __attribute__((noinline)) void *be_nasty(void *number)
{
    char name[16];
    self_number = (unsigned)(size_t)number;
    unsigned random = self_number * 2654435761u + 1;
    snprintf(name, sizeof name, "nasty-%u", self_number % 8);
    pthread_setname_np(pthread_self(), name);
    if (self_number % 3 == 0) { /* one of its own; the other threads have ours, or none */
        stack_t own = {.ss_sp = malloc(32768), .ss_size = 32768};
        sigaltstack(&own, NULL);
    }
    nasty_tids[self_number] = gettid();
    while (host_goes_on) {
        random = random * 1664525u + 1013904223u;
        switch (random >> 24 & 15) {
        case 0:
            jump_out_of_a_wait();
            break;
        case 1:
            if ((random >> 16 & 7) == 0) {
                cancel_one_in_a_wait();
            }
            break;
        case 2:
            if ((random >> 16 & 7) == 0) {
                have_a_child();
            }
            break;
        default:
            nasty_places[self_number % 8]();
        }
    }
    nasty_tids[self_number] = 0;
    return NULL;
}

static bool was_nasty(void)
{
    return handled > 100 && jumped > 100 && cancelled > 20 && children > 20;
}

static void is_nasty_with_few_seats(void)
{
    static pthread_t threads[NASTY];
    static const int signals[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM};
    install(SIGUSR1, on_signal, SA_ONSTACK | SA_RESTART);
    install(SIGUSR2, on_signal, SA_RESTART);
    install(SIGALRM, on_jump, SA_ONSTACK);
    install(SIGVTALRM, on_jump, 0);
    for (size_t i = 0; i < NASTY; i++) {
        threads[i] = begin_thread(be_nasty, i);
    }
    uint64_t begin_ms = host_now_ms(), length_ms = (uint64_t)host_size(120000, 5000);
    for (unsigned random = 1; host_now_ms() - begin_ms < length_ms ||
                              (!was_nasty() && host_now_ms() - begin_ms < 60000);) { /* longer on a busy machine */
        for (int i = 0; i < 10; i++) { /* a tenth of each thread's time is spent in handlers */
            random = random * 1664525u + 1013904223u;
            size_t target = (random >> 8) % NASTY;
            if (nasty_tids[target] != 0) {
                pthread_kill(threads[target], signals[random >> 28 & 3]);
            }
        }
        host_pause_ms(4);
    }
    host_expect_snapshot();
    host_goes_on = false;
    for (size_t i = 0; i < NASTY; i++) {
        pthread_join(threads[i], NULL);
    }
    host_expect(was_nasty(), "it was as nasty as it meant to be");
}

/* The number in the name of a nasty thread; -1: another thread, or unknown. */
static int nasty_number(const struct sbx_snapshot_thread *thread)
{
    int number = -1;
    return sscanf(thread->entry.name, "nasty-%d", &number) == 1 ? number : -1;
}

static void host_05_seats_that_change_hands_harm_nobody(void **state)
{
    static uint32_t thread_of[1 << 22]; /* by tid: thread + 1, to which its records belong */
    int known = 0, records = 0;
    (void)state;
    host_run_well(
        &(struct host_order){.body = "is_nasty_with_few_seats", .interval_us = 200, .before_exec = has_few_seats});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        const struct sbx_snapshot_thread *thread = &snapshot->threads[record->thread];
        if (!host_passes(snapshot, record->stack, (void *)be_nasty)) {
            continue;
        }
        records++;
        int number = nasty_number(thread);
        known += number >= 0;
        for (int place = 0; place < 8; place++) { /* no record is attributed to another thread */
            assert_true(number < 0 || number == place ||
                        !host_passes(snapshot, record->stack, (void *)nasty_places[place]));
        }
        uint32_t tid = thread->entry.tid;
        if (tid != 0) { /* and a thread is one thread, however often it came back */
            assert_true(thread_of[tid] == 0 || thread_of[tid] == record->thread + 1);
            thread_of[tid] = record->thread + 1;
        }
    }
    sbx_snapshot_destroy(snapshot);
    int threads = 0;
    for (size_t i = 0; i < sizeof thread_of / sizeof thread_of[0]; i++) {
        threads += thread_of[i] != 0;
    }
    print_message("%d records of %d threads, %d with a name\n", records, threads, known);
    assert_in_range(threads, FEW_SEATS + 1, NASTY); /* more than had seats at any time */
    assert_true(known > 0);
}

int main(int argc, char **argv)
{
    static const struct host_body bodies[] = {
        HOST_BODY(has_threads_that_wait_for_their_turns),
        HOST_BODY(is_nasty_with_few_seats),
    };
    static const struct CMUnitTest tests[] = {
        HOST_TEST(host_05_of_more_threads_than_seats_each_is_recorded_in_its_turn),
        HOST_TEST(host_05_seats_that_change_hands_harm_nobody),
    };
    return host_main(argc, argv, bodies, sizeof bodies / sizeof bodies[0], tests, sizeof tests / sizeof tests[0]);
}
