/* SPDX-License-Identifier: Apache-2.0 */
/* sample_signal.c - the choice of the signal, which threads may be asked, and what happened to those that were
 * asked. */
#include "sample_signal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "crash_handler.h"
#include "handler_frames.h"
#include "hearing.h"
#include "pages.h"
#include "process_barrier.h"
#include "process_state.h"
#include "sample_handler.h"
#include "sample_number.h"
#include "signal_stack.h"
#include "the_capture.h"
#include "thread_seats.h"
#include "tick_moment.h"
#include "tracer_look.h"

enum {
    TIMERS_MOST = 32,       /* active at one time: each uses one of the signals that a user may queue */
    TIMERS_SHARE = 16,      /* and at most 1/16 of that limit (RLIMIT_SIGPENDING) */
    REVIEW_NS = 20000000,   /* a younger timer is not reviewed */
    LATE_CPU_NS = 50000000, /* its thread has run for this long and did not answer: lost */
    YOUNG_NS = 50000000,    /* a younger process is not sampled by signal */
    STALE_NS = 200000000,   /* its thread sleeps or starves: the next timer is as good */
    SOON_NS = 1,            /* of the thread's CPU time: at the next tick that meets it running */
    /* CPU time between two answers to a standing question. With a tick of 10 ms on top, a message that computes for 60
     * ms always has a look. At 10 us each (3 of them in the kernel) this costs 0.03 % of what the thread computes. */
    AHEAD_CPU_NS = 30000000,
    AHEAD_SHARE = 4,       /* standing questions may use at most 1/4 of the timers, so that others find one */
    KEPT_NS = 1000000000,  /* how long an answered timer is kept for its thread's next question */
    ANNOUNCED_MOST = 8,    /* questions that wait for one barrier: as many as a tick asks (look_turns.h) */
    TEST_SOON_NS = 100000, /* wall time, so that the thread may enter one or two calls meanwhile */
    PROBE_BYTES = 256 * 1024,
    PROBES = 50, /* without result: if no tick ever hits, the worse case is assumed */
    PROBES_ASLEEP = 10,
    PROBE_HITS = 2, /* a tick at the last instructions of a call proves nothing, but not twice in a row */
};
#define ASK_PAUSE_FIRST_NS UINT64_C(100000000)
#define ASK_PAUSE_MOST_NS  UINT64_C(10000000000)
#define PROBE_MOST_NS      UINT64_C(30000000) /* for one probe: the watch thread does nothing else meanwhile */
#define PROBE_PAUSE_NS     UINT64_C(20000000)
#define GUESS_NS           UINT64_C(30000000000) /* a guess costs each call something, and a probe up to PROBE_MOST_NS */
#define TICK_AHEAD_NS \
    UINT64_C(300000) /* a prober wakes up this long before the expected tick, because a sleep ends some 100 us late */
#define TICK_BEHIND_NS UINT64_C(200000) /* and waits this long after it: the signal comes some 100 us after the tick */
/* While questions stand, and ticks come in time. A debugger stops all threads, so the tick after that is late. */
#define TRACER_AHEAD_NS UINT64_C(1000000000)
#define TICK_LATE_NS    UINT64_C(20000000)
#define PAUSE_NS        UINT64_C(1000000000) /* the kernel refused a timer: no thread is asked for this long */

static int number;      /* the signal; 0: none */
static bool is_checked; /* in this step it was already checked whether the signal is still ours */
static uint64_t started_ns;
static unsigned probe_hits;      /* ticks right behind a call, in all probes: rare on a busy machine */
static uint64_t tick_place_ns;   /* where in their round ticks come, as far as known */
static bool ticks_are_elsewhere; /* the last tick did not come there */
static unsigned probes;          /* probes without result */
static bool is_probed;           /* it is known where signals are made, or guessed: */
static bool is_guessed;          /* the probes told nothing, so the worse case is assumed */
static uint64_t guess_again_ns;  /* when the next probe may correct that guess */
static bool fires_anywhere;      /* a test has requested signals in the middle of calls */
static uint32_t timers_most;     /* limit for this process */
static uint32_t timers_out;      /* active in this step: found or armed; without those of standing questions */
static uint32_t ahead_out;       /* those of standing questions */
static uint32_t kept_out;        /* answered timers that are kept for the next question */
static uint32_t kept_wanted;     /* number of threads that found no room for one in this step */
static uint32_t kept_owed;       /* the same for the step before: as many kept ones are given up */
static uint32_t out_before;      /* all of them at the end of the step before, plus those made since */
static uint32_t ahead_wanted;    /* number of threads that found none of these left in this step */
static uint32_t ahead_owed;      /* the same for the step before: as many that had their turn give theirs up */
static uint64_t step_due_ns;     /* a tick that comes later than this is late */
static uint64_t silent_until_ns;
static bool has_asked; /* at least one thread: from here on a tracer may be shown a signal */
SBX_OF_ONE_PROCESS(timers_out);
SBX_OF_ONE_PROCESS(ahead_out);
SBX_OF_ONE_PROCESS(kept_out);
SBX_OF_ONE_PROCESS(out_before);
SBX_OF_ONE_PROCESS(silent_until_ns);
SBX_OF_ONE_PROCESS(has_asked);

/* Questions that were announced. Their timers are armed after the next barrier. */
static struct {
    struct sbx_thread *thread;
    uint32_t timer; /* its word in `sample_timer` */
    uint64_t first_ns, every_ns;
} announced[ANNOUNCED_MOST];
static uint32_t announced_count;
SBX_OF_ONE_PROCESS(announced_count);

void sbx_sample_fire_anywhere(void)
{
    fires_anywhere = is_probed = true; /* and calls are not safe */
}

/* Take our signal out of those pending for this thread. Signals of others that come out meanwhile are sent on. Only we
 * send to a thread of ours alone. */
static void take_out(uint64_t ours, bool is_own_thread)
{
    enum {
        OTHERS = 8
    };
    const struct {
        int64_t s, ns;
    } at_once = {0, 0};
    siginfo_t others[OTHERS];
    int count = 0;
    while (count < OTHERS &&
           sbx_raw_syscall(SYS_rt_sigtimedwait, (long)(uintptr_t)&ours, (long)(uintptr_t)&others[count],
                           (long)(uintptr_t)&at_once, sizeof ours, 0, 0) > 0 &&
           ((uint64_t)(uintptr_t)others[count].si_value.sival_ptr & ~UINT64_C(0xffffffff)) != SBX_SAMPLE_COOKIE) {
        count++;
    }
    for (int i = 0; i < count; i++) {
        if (is_own_thread) { /* it was for any thread: send it to the first one */
            syscall(SYS_rt_tgsigqueueinfo, (long)getpid(), (long)getpid(), number, &others[i]);
        } else {
            sbx_send_again(number, &others[i]);
        }
    }
}

/* Call our handler on the calling thread, without a sample. The signal is made while the thread blocks it. If a hook
 * wants the number, or perhaps has it already, the signal is taken out again. A hook that wants it from here on
 * discards pending signals (sample_number.c). So this signal never calls a handler of the program, even if this thread
 * is without a processor for long. */
static void call_our_handler(void)
{
    if (!sbx_sample_number_try(number, -1)) {
        return;
    }
    uint64_t ours = UINT64_C(1) << (number - 1), blocked = 0;
    sbx_raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)(uintptr_t)&ours, (long)(uintptr_t)&blocked, sizeof ours, 0,
                    0);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_value.sival_ptr = (void *)(uintptr_t)sbx_sample_value(SBX_SAMPLE_NOBODY, 0);
    syscall(SYS_rt_tgsigqueueinfo, (long)info.si_pid, syscall(SYS_gettid), number, &info);
    if (!sbx_sample_number_is_wanted()) {
        sbx_raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)(uintptr_t)&ours, 0, sizeof ours, 0, 0);
    } else {
        take_out(ours, (blocked & ours) != 0);
    }
    sbx_raw_set_signals(blocked);
    sbx_sample_number_end_try();
}

/* Where no row says where handlers return to, our own handler looks at its return address. This is done once now, so
 * that no walk takes a handler of the host for a called function. Not on a stack of the host. */
static void learn_signal_return(void)
{
    stack_t now;
    if (!SBX_HAS_LINK_REGISTER || number == 0 || sbx_raw_sigaltstack(NULL, &now) != 0 ||
        (now.ss_flags & SS_DISABLE) == 0 || (sbx_raw_signal_mask() >> (number - 1) & 1) != 0) {
        return;
    }
    call_our_handler();
}

/* Is that function the C library's own, in the program's search order? */
static bool is_of_libc(const char *symbol)
{
    Dl_info its, libcs;
    void *function = dlsym(RTLD_DEFAULT, symbol);
    return function != NULL && dladdr(function, &its) != 0 && dladdr((void *)(uintptr_t)getauxval, &libcs) != 0 &&
           its.dli_fbase == libcs.dli_fbase;
}

int sbx_sample_signal_start(void)
{
    /* A library that replaces sigaltstack(), as the sanitizers do, sets stacks past our hook. Later it checks whether a
     * stack is set, and unmaps that stack. It must not find ours. */
    static bool is_asked; /* a forked worker has the same libraries */
    if (!is_asked) {
        is_asked = true;
        sbx_gives_signal_stacks = is_of_libc("sigaltstack");
    }
    struct rlimit limit;
    sbx_the_capture.sample_handler = (void *)(uintptr_t)sbx_on_sample_signal;
    started_ns = sbx_now_ns();
    if (is_probed) { /* found out in the parent of this forked child */
        sbx_the_capture.header->signal_place = sbx_load_relaxed(&sbx_the_capture.calls_are_safe) != 0
                                                   ? SBX_SIGNAL_PLACE_OUTSIDE
                                                   : SBX_SIGNAL_PLACE_ANYWHERE;
    }
    timers_most = TIMERS_MOST;
    if (getrlimit(RLIMIT_SIGPENDING, &limit) == 0 && limit.rlim_cur / TIMERS_SHARE < TIMERS_MOST) {
        timers_most = (uint32_t)(limit.rlim_cur / TIMERS_SHARE);
    }
    /* So that no handler of the program runs here, nor ours, which would wait for this thread. */
    uint64_t all = UINT64_MAX, blocked = 0;
    sbx_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)(uintptr_t)&all, (long)(uintptr_t)&blocked, sizeof all, 0,
                    0);
    sbx_sample_number_start();
    number = sbx_sample_number_choose();
    sbx_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)(uintptr_t)&blocked, 0, sizeof blocked, 0, 0);
    learn_signal_return();
    return number;
}

/* Is the signal still ours? When the host takes it, the host keeps it, and we take another. A host that takes it
 * through our hooks has told us (point_signal.c); one that does not is noticed here. Checked once in a step, and only
 * when there is a thread to ask. */
static void withdraw_all(void);
static bool check_number(void)
{
    if (is_checked) {
        return number != 0;
    }
    is_checked = true;
    uint32_t now = sbx_load_seq_cst(&sbx_the_capture.sample_signal); /* order: seq_cst sample_signal */
    if (number != 0 && now == (uint32_t)number && sbx_sample_number_is_ours(number)) {
        return true;
    }
    if (number != 0) {
        sbx_count_drop(SBX_DROP_SIGNAL_TAKEN);
        withdraw_all(); /* kept timers would send that number */
    }
    number = sbx_sample_number_choose();
    return number != 0;
}

void sbx_sample_show_frame(void)
{
    if (sbx_load_relaxed(&sbx_seats_are_scarce) == 0 || sbx_load_relaxed(&sbx_signal_frames_are_known) != 0) {
        return; /* relaxed: both are hints; checked again after the next scan */
    }
    is_checked = false;
    if (!sbx_tracer_look(sbx_now_ns()) && check_number()) {
        call_our_handler();
    }
}

/* ---- where signals are made ---- */

static bool may_go_on(void)
{
    return sbx_capture_is_open() && !sbx_sample_number_is_wanted();
}

/* Sleep until just before a tick, because computing until one comes costs up to 4 ms. Returns the time of that tick. */
static uint64_t sleep_until_a_tick(void)
{
    uint64_t now_ns = sbx_now_ns(), tick_ns = sbx_tick_next_ns(now_ns + TICK_AHEAD_NS, tick_place_ns);
    const struct timespec pause = {0, (long)(tick_ns - TICK_AHEAD_NS - now_ns)};
    nanosleep(&pause, NULL);
    return tick_ns;
}

/* What the tick proves. The last read returned `got`. */
static enum sbx_signal_place what_was_met(long got)
{
    uint32_t hit = sbx_load_relaxed(&sbx_sample_probe_hit);
    if (got != PROBE_BYTES) {
        return SBX_SIGNAL_PLACE_ANYWHERE;
    }
    ticks_are_elsewhere = hit == SBX_PROBE_NONE;
    tick_place_ns = hit != SBX_PROBE_NONE ? sbx_tick_place_of(sbx_now_ns()) : tick_place_ns;
    if (hit == SBX_PROBE_BEHIND_CALL && ++probe_hits >= PROBE_HITS) {
        return SBX_SIGNAL_PLACE_OUTSIDE;
    }
    return SBX_SIGNAL_PLACE_UNKNOWN;
}

/* Find out where signals are made, on this thread. While the kernel fills pages from /dev/zero it checks for signals
 * page by page (drivers/char/mem.c, read_iter_zero(), in all kernels). A timer of ours fires in the middle of this.
 * There are two cases. The call may be cut short. Or the signal comes after the call: then the handler finds itself
 * right behind the call, and the call has read everything. If this cannot be found out, the worse case is assumed. Each
 * probe waits for one tick, asleep, unless no tick came where one was expected, or this thread woke up too late several
 * times. */
static enum sbx_signal_place probe(bool *no_timer_out)
{
    enum sbx_signal_place place = SBX_SIGNAL_PLACE_UNKNOWN;
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    void *pages = sbx_pages_map(PROBE_BYTES);
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    long timer = sbx_raw_thread_timer(tid, sbx_thread_clock_of(tid), number, sbx_sample_value(SBX_SAMPLE_PROBE, 0));
    uint64_t blocked = 0, ours = UINT64_C(1) << (number - 1);
    *no_timer_out = timer == -EAGAIN;
    if (file < 0 || pages == NULL || (timer < 0 && timer != -EAGAIN)) {
        place = SBX_SIGNAL_PLACE_ANYWHERE;
    }
    uint64_t until_ns = UINT64_MAX;
    bool may_try = place == SBX_SIGNAL_PLACE_UNKNOWN && timer >= 0;
    if (may_try && !ticks_are_elsewhere && probes < PROBES_ASLEEP) {
        /* The read maps the pages. It comes before the try, because a thread that sets a handler waits for the end of
         * the try. */
        (void)sbx_raw_syscall(SYS_read, file, (long)(uintptr_t)pages, PROBE_BYTES, 0, 0, 0);
        until_ns = sleep_until_a_tick() + TICK_BEHIND_NS;
    }
    uint64_t begin_ns = sbx_now_ns();
    bool is_tried = may_try && begin_ns < until_ns && may_go_on() && sbx_sample_number_try(number, timer);
    if (is_tried) {
        sbx_raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)(uintptr_t)&ours, (long)(uintptr_t)&blocked, sizeof ours,
                        0, 0);
        sbx_store_relaxed(&sbx_sample_probe_hit, SBX_PROBE_NONE);
        until_ns = until_ns < begin_ns + PROBE_MOST_NS ? until_ns : begin_ns + PROBE_MOST_NS;
        long got = sbx_raw_timer_arm((uint32_t)timer, SOON_NS, 0) == 0 ? PROBE_BYTES : 0;
        bool is_armed = got != 0;
        while (is_armed && got == PROBE_BYTES && sbx_load_relaxed(&sbx_sample_probe_hit) == SBX_PROBE_NONE &&
               may_go_on() && sbx_now_ns() < until_ns) { /* stopping the recorder waits for this thread */
            got = sbx_raw_syscall(SYS_read, file, (long)(uintptr_t)pages, PROBE_BYTES, 0, 0, 0);
        }
        place = is_armed ? what_was_met(got) : place;
    }
    if (is_tried) {
        sbx_sample_number_delete_timer();
        sbx_raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)(uintptr_t)&blocked, 0, sizeof blocked, 0, 0);
        sbx_sample_number_end_try(); /* a handler that the program sets from here on is not called by us */
    } else if (timer >= 0) {
        (void)sbx_raw_timer_delete((uint32_t)timer);
    }
    if (pages != NULL) {
        munmap(pages, PROBE_BYTES);
    }
    if (file >= 0) {
        close(file);
    }
    return place;
}

/* The kernel had no timer for us: ask no thread for a while. */
static void leave_in_peace(uint64_t now_ns)
{
    sbx_count_drop(SBX_DROP_SIGNAL_LATE);
    silent_until_ns = now_ns + PAUSE_NS;
}

static void set_place(enum sbx_signal_place place)
{
    is_probed = true;
    sbx_the_capture.header->signal_place = place;
    sbx_capture_say_calls_are_safe(place == SBX_SIGNAL_PLACE_OUTSIDE);
}

void sbx_sample_guess_place(uint64_t now_ns)
{
    is_guessed = true;
    guess_again_ns = now_ns + GUESS_NS;
    probes = 0; /* so that the next ones wait asleep */
    set_place(SBX_SIGNAL_PLACE_ANYWHERE);
}

/* A busy machine may have kept the ticks away from all probes, and it may be quiet by now. */
static void correct_guess(uint64_t now_ns)
{
    bool has_no_timer;
    guess_again_ns = now_ns + GUESS_NS;
    enum sbx_signal_place place = probe(&has_no_timer);
    if (place != SBX_SIGNAL_PLACE_UNKNOWN) {
        is_guessed = false;
        set_place(place);
    }
}

static bool knows_place(uint64_t now_ns)
{
    if (is_probed) {
        if (SBX_UNLIKELY(is_guessed) && now_ns >= guess_again_ns) {
            correct_guess(now_ns);
        }
        return true;
    }
    if (now_ns - started_ns < YOUNG_NS) { /* it costs two ticks, too much for a process that lives for milliseconds */
        return false;
    }
    unsigned hits = probe_hits;
    bool has_no_timer;
    enum sbx_signal_place place = probe(&has_no_timer);
    /* The programs of this user have used up all timers. That proves nothing about the kernel. */
    if (place == SBX_SIGNAL_PLACE_UNKNOWN && has_no_timer) {
        leave_in_peace(now_ns);
        return false;
    }
    probes += probe_hits == hits; /* no tick hit right behind a call: a busy machine */
    if (place == SBX_SIGNAL_PLACE_UNKNOWN && probes < PROBES) {
        silent_until_ns = now_ns + PROBE_PAUSE_NS;
        return false;
    }
    if (place == SBX_SIGNAL_PLACE_UNKNOWN) {
        sbx_sample_guess_place(now_ns);
    } else {
        set_place(place);
    }
    return true;
}

/* ---- asking ---- */

void sbx_sample_begin_step(void)
{
    is_checked = false;
    out_before = timers_out + ahead_out + kept_out;
    timers_out = 0;
}

void sbx_sample_begin_all(void)
{
    (void)sbx_thread_take_back_all();
    timers_out = ahead_out = kept_out = 0;
    sbx_sample_begin_step();
}

static bool is_asked_ahead(const struct sbx_thread *thread)
{
    return sbx_load_relaxed(&thread->sample_timer) != 0 &&
           (sbx_load_relaxed(&thread->question) & SBX_QUESTION_AHEAD) != 0;
}

/* Does the thread have an answered timer? */
static bool is_kept(const struct sbx_thread *thread)
{
    return (sbx_load_relaxed(&thread->sample_timer) & SBX_TIMER_ANSWERED) != 0;
}

static void withdraw_all(void)
{
    for (uint32_t i = 0, count = sbx_thread_count(); i < count; i++) {
        struct sbx_thread *thread = sbx_thread_at(i);
        if (thread != NULL && (is_asked_ahead(thread) || is_kept(thread))) {
            sbx_sample_take_back(thread);
        }
    }
    ahead_out = kept_out = 0;
}

void sbx_sample_withdraw_ahead(void)
{
    if (ahead_out != 0 || kept_out != 0) {
        withdraw_all();
    }
}

bool sbx_sample_has_asked(void)
{
    return sbx_load_relaxed(&has_asked) && sbx_load_relaxed(&sbx_asking_is_forbidden) == 0; /* relaxed: hints, both */
}

void sbx_sample_was_stopped(void)
{
    sbx_tracer_note_stop();
    (void)sbx_thread_take_back_all();
}

void sbx_sample_begin_tick(uint64_t now_ns, uint64_t tick_ns)
{
    sbx_sample_begin_step();
    if (now_ns > step_due_ns) { /* stopped, perhaps, and the thread that would notice has not run yet */
        sbx_tracer_note_stop();
    }
    if (ahead_out != 0) {
        bool may_have_come = now_ns > step_due_ns || sbx_tracer_look_age_ns(now_ns) >= TRACER_AHEAD_NS;
        if ((may_have_come && sbx_tracer_look(now_ns)) || !check_number()) {
            sbx_sample_withdraw_ahead();
        }
    }
    step_due_ns = now_ns + tick_ns * 5 / 4 + TICK_LATE_NS;
    ahead_owed = ahead_wanted;
    kept_owed = kept_wanted;
    ahead_wanted = kept_wanted = 0;
    ahead_out = kept_out = 0;
}

/* The thread ran and did not answer. It blocks the signal without our knowledge, or another thread has taken the signal
 * out. */
static void give_up_asking(struct sbx_thread *thread, uint64_t now_ns)
{
    sbx_sample_take_back(thread);
    sbx_count_drop(SBX_DROP_SIGNAL_LATE);
    thread->mask_asked_ns = 0;
    thread->ask_pause_ns = thread->ask_pause_ns == 0 ? ASK_PAUSE_FIRST_NS : 2 * thread->ask_pause_ns;
    thread->ask_pause_ns = thread->ask_pause_ns < ASK_PAUSE_MOST_NS ? thread->ask_pause_ns : ASK_PAUSE_MOST_NS;
    thread->ask_again_ns = now_ns + thread->ask_pause_ns;
}

static bool is_late(const struct sbx_thread *thread, uint64_t cpu_ns)
{
    return cpu_ns > thread->due_cpu_ns && cpu_ns - thread->due_cpu_ns >= LATE_CPU_NS;
}

/* A standing question does not become too old while its thread sleeps, because it costs nothing then. It is given up
 * when other threads want one, and when the thread now blocks the signal. (A thread that has answered did not block
 * it.) */
static void review_ahead(struct sbx_thread *thread, uint64_t now_ns)
{
    uint32_t answers = sbx_load_relaxed(&thread->answers);
    uint64_t cpu_ns = sbx_thread_cpu_ns(thread->tid);
    bool has_answered = answers != thread->seen_answers;
    bool had_its_turn = has_answered || (now_ns > thread->armed_ns && now_ns - thread->armed_ns >= STALE_NS);
    if (has_answered) {
        thread->seen_answers = answers;
        thread->is_hurried = false;
        thread->ask_pause_ns = 0;
        thread->armed_ns = now_ns;
        thread->due_cpu_ns = cpu_ns + AHEAD_CPU_NS;
    }
    /* During a call the kernel may work for the thread for long, and makes the signal after that. */
    bool is_lost = is_late(thread, cpu_ns) && sbx_load_relaxed(&thread->entry->call_kind) == SBX_RECORD_NONE;
    bool is_due_soon = cpu_ns + AHEAD_CPU_NS / 2 > thread->due_cpu_ns;
    if (is_lost) {
        give_up_asking(thread, now_ns);
    } else if (ahead_owed > 0 && had_its_turn && !thread->has_loop) {
        ahead_owed--;
        thread->ahead_until_ns = now_ns;
        sbx_sample_take_back(thread);
    } else if (is_due_soon && number != 0 && !sbx_thread_hears(thread, number, now_ns)) {
        sbx_sample_take_back(thread);
    } else {
        ahead_out++;
    }
}

/* An answered timer makes no signal until it is armed again. Arming is one system call, while a new timer needs three
 * and a barrier. So the timer is kept for the thread's next question, but not for long, and not when others find no
 * room. It is also not kept where calls take timers back, because the next call would do so. */
static void review_kept(struct sbx_thread *thread, uint64_t now_ns)
{
    bool is_wanted = now_ns <= thread->armed_ns || now_ns - thread->armed_ns < KEPT_NS;
    if (is_wanted && kept_owed == 0 && sbx_load_relaxed(&sbx_the_capture.calls_are_safe) != 0) {
        kept_out++;
        return;
    }
    kept_owed -= kept_owed != 0;
    sbx_sample_take_back(thread);
}

void sbx_sample_review(struct sbx_thread *thread, uint64_t now_ns)
{
    uint32_t timer = sbx_load_relaxed(&thread->sample_timer);
    if (timer == 0) {
        return;
    }
    if ((timer & SBX_TIMER_ANSWERED) != 0) {
        thread->ask_pause_ns = 0;
        review_kept(thread, now_ns);
        return;
    }
    if (is_asked_ahead(thread)) {
        review_ahead(thread, now_ns);
        return;
    }
    uint64_t age_ns = now_ns > thread->armed_ns ? now_ns - thread->armed_ns : 0;
    if (age_ns < REVIEW_NS) {
        timers_out++;
        return;
    }
    if (is_late(thread, sbx_thread_cpu_ns(thread->tid))) {
        give_up_asking(thread, now_ns);
    } else if (age_ns >= STALE_NS) {
        sbx_sample_take_back(thread); /* it sleeps: another thread may use its timer */
    } else {
        timers_out++;
    }
}

/* After the announcement: has the thread, or the host, said meanwhile that the thread must not be asked? */
static bool may_still_be_asked(const struct sbx_thread *thread)
{
    uint32_t how = sbx_load_seq_cst(&thread->blocking);
    bool is_away = how == SBX_BLOCKING_ALWAYS ||
                   (how == SBX_BLOCKING_CALL && sbx_load_relaxed(&sbx_the_capture.calls_are_safe) == 0);
    return !is_away && sbx_load_seq_cst(&thread->may_be_asked) != 0 && !sbx_thread_is_told_to_block(thread, number) &&
           sbx_load_seq_cst(&sbx_the_capture.sample_signal) == (uint32_t)number &&
           sbx_load_seq_cst(&sbx_asking_is_forbidden) == 0 && !sbx_tracer_may_have_come();
}

void sbx_sample_learn_place(uint64_t now_ns)
{
    /* The last try would settle for the worse case. It is left to a caller that needs the result. */
    if (!is_probed && number != 0 && probes + 1 < PROBES && now_ns >= silent_until_ns &&
        sbx_load_relaxed(&sbx_asking_is_forbidden) == 0 && check_number()) {
        (void)knows_place(now_ns);
    }
}

static bool may_be_asked(struct sbx_thread *thread, uint64_t now_ns)
{
    return now_ns >= silent_until_ns && now_ns >= thread->ask_again_ns &&
           sbx_load_relaxed(&sbx_asking_is_forbidden) == 0 && !sbx_tracer_look(now_ns) && check_number() &&
           sbx_thread_hears(thread, number, now_ns) && knows_place(now_ns);
}

void sbx_sample_arm(void)
{
    bool may_arm = announced_count != 0 && sbx_process_barrier_between();
    for (uint32_t i = 0; i < announced_count; i++) {
        struct sbx_thread *thread = announced[i].thread;
        uint32_t timer = announced[i].timer;
        if (sbx_load_relaxed(&thread->sample_timer) != timer) {
            continue; /* it was taken back, and deleted */
        }
        if (!may_arm || !may_still_be_asked(thread) ||
            sbx_raw_timer_arm(timer - 1, fires_anywhere ? TEST_SOON_NS : (int64_t)announced[i].first_ns,
                              (int64_t)announced[i].every_ns) != 0) {
            sbx_sample_take_back(thread);
        }
    }
    announced_count = 0;
}

/* Make a timer that fires when its thread's CPU time is `first_ns` more than `cpu_ns`, its present value, and then
 * every `every_ns` (0: once). It starts with sbx_sample_arm(). */
static bool put_question(struct sbx_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint32_t flags, uint64_t first_ns,
                         uint64_t every_ns)
{
    uint32_t question = (sbx_load_relaxed(&thread->question) + 1) & (SBX_QUESTION_AHEAD - 1);
    question |= every_ns != 0 ? SBX_QUESTION_AHEAD : 0;
    long timer =
        sbx_raw_thread_timer(thread->tid, fires_anywhere ? (uint32_t)CLOCK_MONOTONIC : sbx_thread_clock_of(thread->tid),
                             number, sbx_sample_value(thread->index, (uint16_t)question));
    if (timer < 0) {
        /* -EINVAL: a thread that has just ended. Otherwise the user's signals are used up, or a filter refuses. */
        if (timer != -EINVAL) {
            leave_in_peace(now_ns);
        }
        return false;
    }
    sbx_store_relaxed(&has_asked, true);
    sbx_store_relaxed(&thread->question, question);
    sbx_store_relaxed(&thread->signal_flags, flags);
    thread->armed_ns = now_ns;
    thread->due_cpu_ns = cpu_ns + first_ns;
    thread->seen_answers = sbx_load_relaxed(&thread->answers);
    thread->is_hurried = false;
    /* order: seq_cst sample_timer - Dekker with `blocking`, may_be_asked, mask_changes, sample_signal */
    sbx_store_seq_cst(&thread->sample_timer, (uint32_t)timer + 1);
    announced[announced_count].thread = thread;
    announced[announced_count].timer = (uint32_t)timer + 1;
    announced[announced_count].first_ns = first_ns;
    announced[announced_count].every_ns = every_ns;
    announced_count++;
    out_before++;
    if (announced_count == ANNOUNCED_MOST) {
        sbx_sample_arm();
    }
    return true;
}

/* Arm the timer again that the thread has answered. It was announced when it was made, so no barrier is needed: a
 * thread that has said since then that it must not be asked has taken the timer back, and deleted it. */
static bool put_again(struct sbx_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint32_t flags)
{
    uint32_t answered = sbx_load_relaxed(&thread->sample_timer), timer = answered & ~SBX_TIMER_ANSWERED;
    sbx_store_relaxed(&thread->signal_flags, flags);
    thread->armed_ns = now_ns;
    thread->due_cpu_ns = cpu_ns + SOON_NS;
    /* order: release sample_timer - the handler that reads it finds the flags */
    if (answered == timer || !sbx_cas_acq_rel(&thread->sample_timer, &answered, timer)) {
        return false;
    }
    if (sbx_load_seq_cst(&sbx_asking_is_forbidden) != 0 || sbx_raw_timer_arm(timer - 1, SOON_NS, 0) != 0) {
        sbx_sample_take_back(thread);
        return false;
    }
    return true;
}

/* Is there room for one more timer? Threads that this step has not reached yet are counted as in the step before. */
static bool has_room(void)
{
    uint32_t out = timers_out + ahead_out + kept_out;
    return (out > out_before ? out : out_before) < timers_most;
}

/* Let the standing question be answered at once. If the timer was taken back since, it is deleted, and arming it
 * fails. */
static bool hurry(struct sbx_thread *thread, uint64_t now_ns, uint64_t cpu_ns)
{
    for (uint32_t i = 0; i < announced_count; i++) {
        if (announced[i].thread == thread) {
            sbx_sample_arm(); /* not before the barrier */
        }
    }
    uint32_t timer = sbx_load_relaxed(&thread->sample_timer);
    thread->seen_answers = sbx_load_relaxed(&thread->answers);
    if (timer == 0 || sbx_raw_timer_arm(timer - 1, SOON_NS, AHEAD_CPU_NS) != 0) {
        return false;
    }
    thread->armed_ns = now_ns;
    thread->due_cpu_ns = cpu_ns;
    thread->is_hurried = true;
    return true;
}

bool sbx_sample_ask(struct sbx_thread *thread, uint64_t now_ns, uint64_t cpu_ns, uint32_t flags)
{
    bool is_ahead = is_asked_ahead(thread), has_one = is_ahead || is_kept(thread);
    if (!has_one && !has_room()) {
        kept_wanted++;
        return false;
    }
    if ((is_ahead && thread->is_hurried) || (!has_one && sbx_load_relaxed(&thread->sample_timer) != 0) ||
        !may_be_asked(thread, now_ns)) {
        return false;
    }
    cpu_ns = cpu_ns != 0 ? cpu_ns : sbx_thread_cpu_ns(thread->tid);
    if (!(is_ahead  ? hurry(thread, now_ns, cpu_ns)
          : has_one ? put_again(thread, now_ns, cpu_ns, flags)
                    : put_question(thread, now_ns, cpu_ns, flags, SOON_NS, 0))) {
        return false;
    }
    sbx_store_relaxed(&thread->signal_sent_ns, now_ns);
    timers_out += !is_ahead;
    kept_out -= !is_ahead && has_one && kept_out != 0;
    return true;
}

void sbx_sample_ask_ahead(struct sbx_thread *thread, uint64_t now_ns)
{
    if (is_kept(thread)) {
        sbx_sample_take_back(thread); /* ticks are far apart now */
    }
    /* relaxed: all are hints */
    if (sbx_load_relaxed(&thread->sample_timer) != 0 || sbx_load_relaxed(&thread->blocking) == SBX_BLOCKING_ALWAYS ||
        timers_most < AHEAD_SHARE || thread->ahead_until_ns == now_ns) {
        return;
    }
    if (ahead_out >= timers_most / AHEAD_SHARE && !thread->has_loop) {
        ahead_wanted++;
        return;
    }
    if (!has_room() || !may_be_asked(thread, now_ns) || sbx_load_relaxed(&sbx_the_capture.calls_are_safe) == 0) {
        return;
    }
    uint64_t cpu_ns = sbx_thread_cpu_ns(thread->tid), sampled_ns = sbx_load_relaxed(&thread->sampled_cpu_ns);
    uint64_t since_ns = cpu_ns > sampled_ns ? cpu_ns - sampled_ns : 0;
    uint64_t left_ns = since_ns < AHEAD_CPU_NS ? AHEAD_CPU_NS - since_ns : SOON_NS;
    ahead_out += put_question(thread, now_ns, cpu_ns, 0, left_ns, AHEAD_CPU_NS);
}
