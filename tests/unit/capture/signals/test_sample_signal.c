/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_signal.c - threads with a question ahead sample themselves as they compute, and stop in time. The test is
 * both the watch thread and the thread that is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attached_recording.h"
#include "clock.h"
#include "sample_number.h"
#include "sample_signal.h"
#include "signal_stack.h"
#include "the_capture.h"
#include "thread_clock.h"
#include "thread_end.h"
#include "thread_registry.h"
#include "thread_timer.h"
#include "tracer_look.h"

enum {
    PERIOD_MS = 30, /* of CPU time, from sample to sample */
    TICK_MS = 10,   /* of the scheduler, at most */
    STAND = 8,      /* questions that stand at the same time */
    TIMERS = 32,    /* of all kinds */
    MORE = 3,       /* additional threads */
};
#define FAR_TICK_NS UINT64_C(160000000)
#define PERIOD_NS   (PERIOD_MS * UINT64_C(1000000))

static struct sbx_thread *self;
static int number;

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static uint64_t spin(uint64_t turns)
{
    uint64_t begin_ns = sbx_read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (volatile uint64_t turn = 0; turn < turns; turn++) {
    }
    return sbx_read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

/* Uses that much CPU time of the calling thread, or more if the processor became slower meanwhile; returns how much. It
 * asks only rarely how much it has used. A thread that asks all the time loses its processor whenever its slice is over
 * (the kernel checks the slice when it answers). That happens between two ticks of the scheduler, but a timer of CPU
 * time is checked at ticks. */
static uint64_t compute_ms(uint64_t ms)
{
    static double turns_a_ns;
    uint64_t wanted_ns = ms * 1000000, done_ns = 0;
    while (turns_a_ns == 0 || done_ns < wanted_ns) {
        uint64_t turns = turns_a_ns == 0 ? 1000000 : (uint64_t)((double)(wanted_ns - done_ns) * turns_a_ns) + 1000;
        uint64_t took_ns = spin(turns);
        turns_a_ns = (double)turns / (double)(took_ns + 1);
        done_ns += took_ns;
    }
    return done_ns;
}

/* Under an emulator this may never become known, so the test waits for it once. */
static bool is_place_known(void)
{
    static int i;
    for (; i < 200 && attached_recording->header->signal_place == SBX_SIGNAL_PLACE_UNKNOWN; i++) {
        pause_ms(25);
        sbx_sample_begin_step();
        sbx_sample_learn_place(sbx_now_ns());
    }
    return attached_recording->header->signal_place == SBX_SIGNAL_PLACE_OUTSIDE;
}

/* The recorder gives no handler stack to threads of a program with a sanitizer's run-time, because the run-time may
 * have set one itself and unmaps the one that it finds. */
static bool has_handler_stack(char *handlers, size_t bytes)
{
    const stack_t stack = {.ss_sp = handlers, .ss_size = bytes};
    stack_t now;
    return sigaltstack(NULL, &now) == 0 && ((now.ss_flags & SS_DISABLE) == 0 || sigaltstack(&stack, NULL) == 0);
}

static int attach(void **state)
{
    (void)state;
    static char handlers[256 * 1024];
    if (!has_handler_stack(handlers, sizeof handlers) || attached_recording_begin_here(&sbx_thread_end, &self) != 0) {
        return -1;
    }
    number = sbx_sample_signal_start();
    return number != 0 ? 0 : -1;
}

static int begin_anew(void **state)
{
    (void)state;
    sbx_sample_take_back(self);
    attached_recording->header->captures_async = 0;
    attached_recording->header->drops[SBX_DROP_SIGNAL_LATE] = 0;
    self->has_loop = true;
    self->ask_again_ns = self->ask_pause_ns = self->mask_asked_ns = self->ahead_until_ns = 0;
    self->sampled_cpu_ns = sbx_thread_cpu_ns(self->tid);
    return 0;
}

static uint64_t samples(void)
{
    return attached_recording->header->captures_async;
}

static uint64_t late(void)
{
    return attached_recording->header->drops[SBX_DROP_SIGNAL_LATE];
}

/* A tick that comes in time. If the machine gave this thread no processor for so long that a debugger could have
 * stopped it, another tick, which is late, comes first. */
static uint64_t begin_tick(void)
{
    static uint64_t due_ns;
    uint64_t now_ns = sbx_now_ns();
    if (now_ns > due_ns) {
        sbx_sample_begin_tick(now_ns, FAR_TICK_NS);
    }
    due_ns = now_ns + FAR_TICK_NS;
    sbx_sample_begin_tick(now_ns, FAR_TICK_NS);
    return now_ns;
}

static void ask_ahead_at(struct sbx_thread *thread, uint64_t now_ns)
{
    sbx_sample_ask_ahead(thread, now_ns);
    sbx_sample_arm();
}

static void ask_ahead(struct sbx_thread *thread)
{
    ask_ahead_at(thread, begin_tick());
}

static bool ask(struct sbx_thread *thread, uint64_t now_ns)
{
    bool is_asked = sbx_sample_ask(thread, now_ns, 0, 0);
    sbx_sample_arm();
    return is_asked && thread->sample_timer != 0;
}

#define SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS() \
    do {                                       \
        if (!is_place_known()) {               \
            skip();                            \
        }                                      \
    } while (0)

static void test_who_is_asked_ahead_is_sampled_again_and_again_as_it_computes(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    uint32_t timer = self->sample_timer;
    assert_int_not_equal(timer, 0);
    uint64_t used_ns = compute_ms(PERIOD_MS / 2);
    assert_true(samples() <= used_ns / PERIOD_NS);
    used_ns += compute_ms(8 * PERIOD_MS - PERIOD_MS / 2);
    assert_in_range(samples(), 8 * PERIOD_MS / (PERIOD_MS + 2 * TICK_MS) - 1, used_ns / PERIOD_NS);
    sbx_sample_review(self, begin_tick());
    assert_int_equal(self->sample_timer, timer);
    assert_int_equal(late(), 0);
}

/* CPU time since the last sample counts, so a thread is looked at even if ticks keep taking its question back. */
static void test_who_has_computed_for_long_when_it_is_asked_ahead_is_sampled_soon(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    bool is_soon = false; /* a thread that only runs between two ticks answers later */
    for (int i = 0; i < 5 && !is_soon; i++) {
        (void)begin_anew(state);
        compute_ms(PERIOD_MS);
        ask_ahead(self);
        compute_ms(2 * TICK_MS);
        is_soon = samples() == 1;
    }
    assert_true(is_soon);
}

static void test_a_question_that_stands_outlasts_a_sleep_and_is_not_called_late(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    uint32_t timer = self->sample_timer;
    for (uint64_t second = 1; second < 5; second++) {
        sbx_sample_review(self, sbx_now_ns() + second * UINT64_C(1000000000));
        assert_int_equal(self->sample_timer, timer);
    }
    assert_int_equal(late(), 0);
    assert_int_equal(samples(), 0);
}

static void set_raw_mask(int how)
{
    const uint64_t ours = UINT64_C(1) << (number - 1);
    assert_int_equal(syscall(SYS_rt_sigprocmask, how, &ours, NULL, sizeof ours), 0);
}

/* The mask is set in a way that hooks do not see, and the kernel has not been asked for it yet. */
static void test_who_does_not_answer_is_late_when_its_question_was_due_and_not_before(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    set_raw_mask(SIG_BLOCK);
    compute_ms(PERIOD_MS + 30);
    self->mask_asked_ns = sbx_now_ns();
    sbx_sample_review(self, begin_tick());
    assert_int_not_equal(self->sample_timer, 0);
    assert_int_equal(late(), 0);
    compute_ms(40);
    self->entry->call_kind = SBX_RECORD_SLEEP; /* in a call the CPU time may be the kernel's work */
    self->mask_asked_ns = sbx_now_ns();
    sbx_sample_review(self, begin_tick());
    self->entry->call_kind = SBX_RECORD_NONE;
    assert_int_equal(late(), 0);
    sbx_sample_review(self, begin_tick());
    assert_int_equal(self->sample_timer, 0);
    assert_int_equal(late(), 1);
    set_raw_mask(SIG_UNBLOCK);
    assert_int_equal(samples(), 0);
    ask_ahead(self);
    assert_int_equal(self->sample_timer, 0); /* the recorder leaves it alone for a while */
}

static void test_who_blocks_the_signal_past_the_hooks_has_its_question_taken_back(void **state)
{
    (void)state;
#ifdef SIGNALS_ARE_THE_EMULATORS
    skip(); /* the emulator hides masks */
#endif
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    set_raw_mask(SIG_BLOCK);
    self->mask_asked_ns = 0; /* long ago */
    compute_ms(PERIOD_MS / 2 + 5);
    sbx_sample_review(self, begin_tick());
    set_raw_mask(SIG_UNBLOCK);
    assert_int_equal(self->sample_timer, 0);
    assert_int_equal(late(), 0);
    assert_int_equal(samples(), 0);
}

static void test_a_question_that_stands_is_hurried_where_a_look_is_wanted_now(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    uint32_t timer = self->sample_timer;
    int at_once = 0; /* a thread that only runs between two ticks answers later */
    for (uint64_t look = 1; look <= 3; look++) {
        assert_true(ask(self, sbx_now_ns()));
        assert_false(ask(self, sbx_now_ns())); /* its answer was not seen yet */
        compute_ms(2 * TICK_MS);
        at_once += samples() == look;
        for (int i = 0; i < 20 && samples() < look; i++) {
            compute_ms(TICK_MS);
        }
        assert_int_equal(samples(), look);
        sbx_sample_review(self, begin_tick());
        assert_int_equal(self->sample_timer, timer);
    }
    assert_true(at_once > 0);
}

static pthread_barrier_t are_there, may_go;

static void *be_there(void *block_out)
{
    static char handlers[STAND + MORE][256 * 1024];
    static _Atomic unsigned used;
    if (has_handler_stack(handlers[used++ % (STAND + MORE)], sizeof handlers[0])) {
        *(struct sbx_thread **)block_out = sbx_thread_register_self();
    }
    pthread_barrier_wait(&are_there);
    pthread_barrier_wait(&may_go);
    return NULL;
}

/* Is there such a timer? */
static bool is_timer(uint32_t word)
{
    return sbx_raw_timer_arm(word - 1, 1, 0) == 0;
}

/* Ask once and let the thread answer. */
static void ask_and_answer(uint64_t now_ns, uint64_t answers)
{
    assert_true(ask(self, now_ns));
    for (int i = 0; i < 20 && samples() < answers; i++) {
        compute_ms(TICK_MS);
    }
    assert_int_equal(samples(), answers);
    assert_false(sbx_sample_is_awaited(self));
}

static void test_a_timer_that_was_answered_is_kept_for_its_threads_next_question(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    uint64_t now_ns = begin_tick();
    ask_and_answer(now_ns, 1);
    uint32_t word = self->sample_timer, timer = word & ~SBX_TIMER_ANSWERED;
    assert_int_not_equal(timer, 0);
    for (uint64_t answers = 2; answers < 4; answers++) {
        now_ns += UINT64_C(1000000); /* whatever the clock says; on a busy machine an answer takes a while */
        sbx_sample_begin_tick(now_ns, FAR_TICK_NS);
        sbx_sample_review(self, now_ns);
        assert_int_equal(self->sample_timer, word);
        compute_ms(2 * TICK_MS);
        assert_int_equal(samples(), answers - 1); /* the timer makes no signal by itself */
        ask_and_answer(now_ns, answers);
        assert_int_equal(self->sample_timer, word);
    }
    assert_int_equal(late(), 0);
}

static void test_a_timer_is_kept_for_a_second_and_not_while_everybody_rests(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    uint64_t now_ns = begin_tick();
    ask_and_answer(now_ns, 1);
    uint32_t timer = self->sample_timer & ~SBX_TIMER_ANSWERED;
    sbx_sample_review(self, now_ns + UINT64_C(900000000));
    assert_int_equal(self->sample_timer, timer | SBX_TIMER_ANSWERED);
    sbx_sample_review(self, now_ns + UINT64_C(1100000000));
    assert_int_equal(self->sample_timer, 0);
    assert_false(is_timer(timer));
    now_ns = begin_tick();
    ask_and_answer(now_ns, 2);
    timer = self->sample_timer & ~SBX_TIMER_ANSWERED;
    sbx_sample_review(self, now_ns);
    sbx_sample_withdraw_ahead();
    assert_int_equal(self->sample_timer, 0);
    assert_false(is_timer(timer));
}

/* A thread that blocks the signal takes its kept timer back as well; it must not be armed again. */
static void test_a_timer_that_is_kept_is_taken_back_as_any_other(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_and_answer(begin_tick(), 1);
    uint32_t timer = self->sample_timer & ~SBX_TIMER_ANSWERED;
    sbx_sample_take_back(self);
    assert_false(is_timer(timer));
    sbx_sample_review(self, begin_tick());
    ask_and_answer(sbx_now_ns(), 2);
    assert_int_not_equal(self->sample_timer & ~SBX_TIMER_ANSWERED, timer);
}

static void test_whoever_keeps_a_timer_gives_it_up_where_others_find_none(void **state)
{
    (void)state;
    pthread_t ids[STAND + MORE];
    struct sbx_thread *threads[STAND + MORE] = {NULL};
    struct rlimit limit;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    if (getrlimit(RLIMIT_SIGPENDING, &limit) != 0 || limit.rlim_cur / 16 < TIMERS) {
        skip();
    }
    pthread_barrier_init(&are_there, NULL, STAND + MORE + 1);
    pthread_barrier_init(&may_go, NULL, STAND + MORE + 1);
    for (int i = 0; i < STAND + MORE; i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, be_there, &threads[i]), 0);
    }
    pthread_barrier_wait(&are_there);
    uint64_t now_ns = begin_tick();
    ask_and_answer(now_ns, 1);
    sbx_sample_begin_tick(now_ns, FAR_TICK_NS);
    sbx_sample_review(self, now_ns);
    assert_int_not_equal(self->sample_timer, 0);
    int asked = 0;
    for (int i = 0; i < TIMERS; i++) { /* timers of one thread are enough: only their number counts */
        asked += ask(threads[0], now_ns);
        sbx_sample_take_back(threads[0]);
    }
    assert_int_equal(asked, TIMERS - 1);
    sbx_sample_begin_tick(now_ns, FAR_TICK_NS);
    sbx_sample_review(self, now_ns);
    assert_int_equal(self->sample_timer, 0);
    pthread_barrier_wait(&may_go);
    for (int i = 0; i < STAND + MORE; i++) {
        pthread_join(ids[i], NULL);
    }
}

/* Symptom: on a machine that was busy at the start of nginx, all its calls took the slow way for as long as it lived. */
static void test_a_guess_where_signals_are_made_is_corrected_once_a_probe_tells(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    uint64_t now_ns = begin_tick();
    sbx_sample_guess_place(now_ns);
    assert_int_equal(attached_recording->header->signal_place, SBX_SIGNAL_PLACE_ANYWHERE);
    assert_false(sbx_capture_is_usual());
    for (int i = 0; i < 200 && sbx_the_capture.calls_are_safe == 0; i++) {
        uint64_t again_ns = now_ns + UINT64_C(29) * 1000000000;
        sbx_sample_begin_step();
        ask(self, again_ns);
        sbx_sample_take_back(self);
        assert_int_equal(sbx_the_capture.calls_are_safe, 0); /* it is not time yet */
        now_ns += UINT64_C(31) * 1000000000;
        sbx_sample_begin_step();
        ask(self, now_ns);
        sbx_sample_take_back(self);
    }
    assert_int_equal(sbx_the_capture.calls_are_safe, 1);
    assert_true(sbx_capture_is_usual());
    assert_int_equal(attached_recording->header->signal_place, SBX_SIGNAL_PLACE_OUTSIDE);
}

static void test_no_question_stands_where_signals_are_made_in_calls(void **state)
{
    (void)state;
    uint32_t are_safe = self != NULL && is_place_known();
    sbx_the_capture.calls_are_safe = 0;
    ask_ahead(self);
    sbx_the_capture.calls_are_safe = are_safe;
    assert_int_equal(self->sample_timer, 0);
}

/* The thread is in a wait that must not be interrupted, io_uring_enter(). There the timer would be taken back
 * anyway. */
static void test_who_is_in_a_wait_that_no_signal_may_reach_is_not_asked_ahead(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    uint32_t question = self->question;
    self->blocking = SBX_BLOCKING_ALWAYS;
    ask_ahead(self);
    self->blocking = SBX_BLOCKING_NOT;
    assert_int_equal(self->sample_timer, 0);
    assert_int_equal(self->question, question); /* not even tried, because that costs a timer and a barrier each tick */
}

/* Visit all threads as the sampler does. */
static uint32_t look_at_all(struct sbx_thread *const *threads, uint64_t now_ns)
{
    uint32_t asked = 0;
    sbx_sample_begin_tick(now_ns, FAR_TICK_NS);
    for (int i = 0; i < STAND + MORE; i++) {
        sbx_sample_review(threads[i], now_ns);
        sbx_sample_ask_ahead(threads[i], now_ns);
    }
    sbx_sample_arm();
    for (int i = 0; i < STAND + MORE; i++) {
        asked |= threads[i]->sample_timer != 0 ? UINT32_C(1) << i : 0;
    }
    return asked;
}

static void test_where_more_threads_want_one_those_that_had_their_turn_give_way_and_the_loop_does_not(void **state)
{
    (void)state;
    pthread_t ids[STAND + MORE];
    struct sbx_thread *threads[STAND + MORE] = {NULL};
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    pthread_barrier_init(&are_there, NULL, STAND + MORE + 1);
    pthread_barrier_init(&may_go, NULL, STAND + MORE + 1);
    for (int i = 0; i < STAND + MORE; i++) {
        assert_int_equal(pthread_create(&ids[i], NULL, be_there, &threads[i]), 0);
    }
    pthread_barrier_wait(&are_there);
    threads[0]->has_loop = true;
    uint64_t now_ns = sbx_now_ns();
    assert_int_equal(look_at_all(threads, now_ns), 0x0ff);
    assert_int_equal(look_at_all(threads, now_ns + 1), 0x0ff); /* they have only just begun */
    assert_int_equal(look_at_all(threads, now_ns + UINT64_C(300000000)), 0x7f1);
    assert_true(ask(self, now_ns)); /* a direct question still finds a timer */
    sbx_sample_take_back(self);
    sbx_sample_withdraw_ahead();
    pthread_barrier_wait(&may_go);
    for (int i = 0; i < STAND + MORE; i++) {
        assert_int_equal(threads[i]->sample_timer, 0);
        pthread_join(ids[i], NULL);
    }
}

static void test_what_is_withdrawn_makes_no_signal_any_more(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    uint32_t timer = self->sample_timer;
    sbx_sample_withdraw_ahead();
    assert_int_equal(self->sample_timer, 0);
    assert_false(is_timer(timer));
}

static void take_back_and_end(void)
{
    sbx_sample_take_back(self);
    _exit(0);
}

/* A separate function, and the child calls another one, because values that a compiler keeps in registers may not
 * outlive vfork(). */
__attribute__((noinline)) static pid_t let_a_child_take_back(void)
{
    void (*volatile body)(void) = take_back_and_end;
    pid_t child = vfork();
    if (child == 0) {
        body();
    }
    return child;
}

/* The child runs on its parent's block but has none of its parent's timers. If it dropped the timer from the block, the
 * timer would go on firing unknown. */
static void test_a_child_of_vfork_leaves_its_parents_timer_to_its_parent(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    uint32_t timer = self->sample_timer;
    pid_t child = let_a_child_take_back();
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(self->sample_timer, timer);
    sbx_sample_take_back(self);
    assert_int_equal(self->sample_timer, 0);
    assert_false(is_timer(timer));
}

/* In a child: attach to the parent as a debugger does, which stops the parent. Returns the process id; 0: not
 * allowed. */
static pid_t begin_tracer(void)
{
    int ends[2];
    char is_there = 0;
    pid_t parent = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (pipe(ends) != 0) {
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        bool has_it = ptrace(PTRACE_SEIZE, parent, NULL, NULL) == 0;
        (void)!write(ends[1], has_it ? "y" : "n", 1);
        for (;;) {
            pause();
        }
    }
    (void)!read(ends[0], &is_there, 1);
    close(ends[0]);
    close(ends[1]);
    if (is_there == 'y') {
        return child;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}

static void test_a_tracer_that_comes_finds_no_question_standing_behind_the_next_late_tick(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    pid_t tracer = begin_tracer();
    if (tracer == 0) {
        skip();
    }
    uint64_t late_ns = sbx_now_ns() + 2 * FAR_TICK_NS;
    sbx_sample_begin_tick(late_ns, FAR_TICK_NS);
    uint32_t timer = self->sample_timer;
    ask_ahead_at(self, late_ns);
    uint32_t again = self->sample_timer;
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    assert_int_equal(timer, 0);
    assert_int_equal(again, 0);
    sbx_sample_begin_tick(late_ns + UINT64_C(1000000000), FAR_TICK_NS);
    ask_ahead_at(self, late_ns + UINT64_C(1000000000));
    assert_int_not_equal(self->sample_timer, 0); /* the tracer has gone again */
}

static void test_a_stop_takes_every_question_back(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    uint32_t timer = self->sample_timer;
    assert_int_not_equal(timer, 0);
    sbx_sample_was_stopped();
    assert_int_equal(self->sample_timer, 0);
    assert_false(is_timer(timer));
    ask_ahead(self);
    assert_int_not_equal(self->sample_timer, 0); /* no tracer came */
}

/* If no stop were noticed, the result of the last look would be used for a tenth of a second. */
static void test_behind_a_stop_a_tracer_is_looked_for_before_anybody_is_asked(void **state)
{
    (void)state;
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    uint64_t now_ns = begin_tick();
    assert_true(ask(self, now_ns));
    sbx_sample_take_back(self);
    pid_t tracer = begin_tracer();
    if (tracer == 0) {
        skip();
    }
    sbx_sample_was_stopped();
    bool is_asked = ask(self, now_ns + 1);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    assert_false(is_asked);
    sbx_sample_was_stopped(); /* the tracer detaches, which stops us again */
    assert_true(ask(self, now_ns + 2));
}

/* This tracer stops nobody, so no stop is noticed. */
static void test_while_stops_are_noticed_a_look_for_a_tracer_holds_for_a_second(void **state)
{
    const uint64_t tick_ns = UINT64_C(200000000), second_ns = UINT64_C(1000000000);
    (void)state;
    uint64_t now_ns = sbx_now_ns() + 10 * second_ns;
    sbx_tracer_stops_are_noticed(true);
    assert_false(sbx_tracer_look(now_ns));
    pid_t tracer = begin_tracer();
    if (tracer == 0) {
        sbx_tracer_stops_are_noticed(false);
        skip();
    }
    bool is_seen_at_tick = sbx_tracer_look(now_ns + tick_ns);
    bool is_seen_later = sbx_tracer_look(now_ns + second_ns);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    bool is_seen_gone = !sbx_tracer_look(now_ns + second_ns + tick_ns);
    tracer = begin_tracer();
    sbx_tracer_note_stop();
    bool is_seen_behind_stop = sbx_tracer_look(now_ns + second_ns + tick_ns + 1);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    sbx_tracer_stops_are_noticed(false);
    bool is_seen_gone_again = !sbx_tracer_look(now_ns + second_ns + 2 * tick_ns);
    assert_false(is_seen_at_tick);
    assert_true(is_seen_later);
    assert_true(is_seen_gone);
    assert_true(is_seen_behind_stop);
    assert_true(is_seen_gone_again);
}

/* Must be the last test, because another signal number is taken. */
static void test_a_number_that_is_taken_past_the_hooks_is_seen_by_the_next_tick(void **state)
{
    (void)state;
    const struct sbx_kernel_sigaction ignored = {.handler = (void *)(uintptr_t)SIG_IGN};
    SKIP_WHERE_SIGNALS_ARE_MADE_IN_CALLS();
    ask_ahead(self);
    uint32_t timer = self->sample_timer;
    assert_int_equal(syscall(SYS_rt_sigaction, number, &ignored, NULL, sizeof ignored.mask), 0);
    uint64_t now_ns = begin_tick();
    assert_int_equal(self->sample_timer, 0);
    assert_false(is_timer(timer));
    ask_ahead_at(self, now_ns);
    compute_ms(PERIOD_MS + 2 * TICK_MS);
    assert_true(samples() > 0); /* with the next number */
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, begin_anew)
    const struct CMUnitTest tests[] = {
        CASE(test_who_is_asked_ahead_is_sampled_again_and_again_as_it_computes),
        CASE(test_who_has_computed_for_long_when_it_is_asked_ahead_is_sampled_soon),
        CASE(test_a_question_that_stands_outlasts_a_sleep_and_is_not_called_late),
        CASE(test_who_does_not_answer_is_late_when_its_question_was_due_and_not_before),
        CASE(test_who_blocks_the_signal_past_the_hooks_has_its_question_taken_back),
        CASE(test_a_question_that_stands_is_hurried_where_a_look_is_wanted_now),
        CASE(test_a_timer_that_was_answered_is_kept_for_its_threads_next_question),
        CASE(test_a_timer_is_kept_for_a_second_and_not_while_everybody_rests),
        CASE(test_a_timer_that_is_kept_is_taken_back_as_any_other),
        CASE(test_whoever_keeps_a_timer_gives_it_up_where_others_find_none),
        CASE(test_a_guess_where_signals_are_made_is_corrected_once_a_probe_tells),
        CASE(test_no_question_stands_where_signals_are_made_in_calls),
        CASE(test_who_is_in_a_wait_that_no_signal_may_reach_is_not_asked_ahead),
        CASE(test_where_more_threads_want_one_those_that_had_their_turn_give_way_and_the_loop_does_not),
        CASE(test_what_is_withdrawn_makes_no_signal_any_more),
        CASE(test_a_child_of_vfork_leaves_its_parents_timer_to_its_parent),
        CASE(test_a_tracer_that_comes_finds_no_question_standing_behind_the_next_late_tick),
        CASE(test_a_stop_takes_every_question_back),
        CASE(test_behind_a_stop_a_tracer_is_looked_for_before_anybody_is_asked),
        CASE(test_while_stops_are_noticed_a_look_for_a_tracer_holds_for_a_second),
        CASE(test_a_number_that_is_taken_past_the_hooks_is_seen_by_the_next_tick),
    };
    return cmocka_run_group_tests(tests, attach, attached_recording_end);
}
