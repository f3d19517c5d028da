/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - sbx-watch: the tick, the rest, the settings.
 *
 * The thread ticks only while the application works or something is open that could become a stall. While a stall goes
 * on that has been judged, it stands by: it looks every few seconds, and the end of the stall rings the bell. When the
 * process has used no CPU time for a few ticks and no message and no frame is open, the thread rests: it sleeps on the
 * bell until the next watch or deadline is due, and without a time-out when there is none. The next record or message
 * rings the bell. */
#include "watch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "application_cpu.h"
#include "attendance.h"
#include "clock.h"
#include "crash_signals.h"
#include "family.h"
#include "governor.h"
#include "handover.h"
#include "last_thread.h"
#include "module_thread.h"
#include "outside_holders.h"
#include "own_descriptors.h"
#include "point.h"
#include "process_barrier.h"
#include "provider_names.h"
#include "recording_upkeep.h"
#include "sample_signal.h"
#include "sampler.h"
#include "service_pings.h"
#include "snapshot_maker.h"
#include "spool_order.h"
#include "stall_ends.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_clock.h"
#include "told_stalls.h"
#include "tracer.h"
#include "trigger_decision.h"
#include "watchdog.h"
#include "worker_ring.h"
#include "worker_seat.h"

/* The single sleep while the program ends in its own signal handler. That handler may check all memory, including this
 * thread's stack, so this thread must not wake in between. If the program survives, it rings the bell earlier. */
#define STILL_NS UINT64_C(30000000000)

enum {
    REST_AFTER_TICKS = 4,             /* quiet ticks, counted in gaps, before the watch thread rests */
    FAR_TICK_GAPS = 4,                /* gaps from tick to tick while nothing is close to being a stall */
    SCAN_EVERY_NS = 500000000,        /* how often threads are listed while the watch thread is awake */
    CALIBRATE_EVERY_NS = 1000000000,  /* once the clock is calibrated */
    PAUSE_MIN_NS = 100000,            /* the least time between two looks, whatever is due */
    LAST_THREAD_EVERY_NS = 500000000, /* how often we check whether all threads have ended, after the first one has */
};
/* Time between looks while a stall stands: at first, and at most. Each is twice as long as the one before. */
#define STAND_BY_NS      UINT64_C(1000000000)
#define STAND_BY_MAX_NS  UINT64_C(4000000000)
#define CONSENT_EVERY_NS UINT64_C(5000000000) /* how often the consent in the spool is read, while we are awake */

static struct {
    struct sbx_capture_settings ordered;  /* the last settings from the control page */
    struct sbx_capture_settings settings; /* the same, but switched off if the user has refused consent */
    struct sbx_capture_settings governed; /* the same after the governor's changes: in force */
    struct sbx_gaps gaps;                 /* when this thread did not run */
    uint64_t last_tick_ns;                /* 0: it has rested since */
    uint64_t lay_down_ns;                 /* begin of its last rest; 0: never */
    uint64_t asleep_ns, due_ns;           /* begin of its last sleep, and the planned end */
    uint64_t last_scan_ns, last_calibration_ns, last_consent_ns;
    uint64_t work_ns, work_busy_ns; /* begin of its last work, and the time that snapshots had taken by then */
    struct sbx_application_cpu cpu;
    uint64_t seen_ns;     /* CPU time of the threads that the sampler saw run in this tick */
    uint64_t random;      /* xorshift state for the phase of the ticks */
    uint64_t stand_by_ns; /* length of the next sleep when it stands by; 0: it does not */
    uint32_t quiet_ticks;
    uint32_t tick_gaps;   /* gaps until the next tick: 1 when something is close to being a stall */
    uint32_t paused_gaps; /* gaps since the last tick; 0: it has rested since */
    bool notices_stops;   /* the module thread knows that it must notice stops */
} watch;

/* ---- settings ---- */

/* Adapts the hooks to the settings in force. Hooks of shed groups are removed, except those that shield calls from our
 * signal: these stay and only shield. */
static void call_for_hooks(void)
{
    uint64_t points = watch.governed.points, shed = watch.settings.points & ~points;
    /* relaxed: once it is 1 it stays 1 */
    bool shields =
        (points & SBX_POINT_BIT(SBX_GROUP_ASYNC)) != 0 && sbx_load_relaxed(&sbx_the_capture.calls_are_safe) == 0;
    uint64_t quiet = shields ? shed & SBX_POINTS_SHIELDING : 0;
    sbx_store_relaxed(&sbx_the_capture.quiet_groups, quiet); /* relaxed: see begin_unrecorded() of blocking_call.c */
    sbx_capture_say_unusual(SBX_UNUSUAL_GROUPS, quiet != 0);
    sbx_service_pings_follow(watch.settings.enabled != 0 ? points : 0);
    uint64_t wanted = watch.settings.enabled != 0 ? points | quiet | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0;
    /* relaxed: only this thread writes `wanted`; what is applied was ordered before */
    if (sbx_load_relaxed(&sbx_the_agent.wanted_points) != wanted ||
        sbx_load_relaxed(&sbx_the_agent.applied_points) != wanted) {
        sbx_module_thread_call(wanted);
    }
}

/* Puts the ordered settings in force, as far as the user allows: after a refusal every hook is removed, whoever ordered
 * it. */
static void put_in_force(void)
{
    struct sbx_capture_settings wanted = watch.ordered;
    if (sbx_load_relaxed(&sbx_the_capture.header->consent) == SBX_CONSENT_DENIED) {
        wanted.enabled = 0;
    }
    if (memcmp(&watch.settings, &wanted, sizeof wanted) != 0) {
        sbx_governor_begin(&wanted, &watch.governed, sbx_now_ns());
    }
    watch.settings = wanted;
    sbx_capture_apply(&watch.governed);
    wanted.enabled = wanted.enabled != 0 && sbx_worker_sits();
    sbx_the_capture.control->in_force = wanted;
    sbx_watchdog_withdraw_note();
    if (wanted.enabled == 0 || sbx_load_relaxed(sbx_the_capture.gate) == 0) {
        sbx_watchdog_forget(sbx_now_ns());
    }
    bool is_stopping = sbx_load_acquire(&sbx_the_agent.stopping) != 0; /* order: acquire agent.stopping */
    sbx_store_relaxed(sbx_the_capture.gate, wanted.enabled != 0 && !is_stopping);
    call_for_hooks();
}

static void take_settings(void)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    uint32_t generation = sbx_load_acquire(&control->generation); /* order: acquire control.generation */
    if (generation == control->applied) {
        return;
    }
    struct sbx_capture_settings wanted = control->wanted;
    if (sbx_load_acquire(&control->generation) != generation) {
        return; /* a writer is changing it: the next tick reads it whole */
    }
    watch.ordered = wanted;
    put_in_force();
    sbx_store_release(&control->applied, generation); /* order: release control.applied */
    syscall(SYS_futex, &control->applied, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static enum sbx_consent consent_of(uint32_t order)
{
    switch (order) {
    case SBX_CONSENT_ORDER_UNKNOWN:
        return SBX_CONSENT_UNKNOWN;
    case SBX_CONSENT_ORDER_GRANTED:
        return SBX_CONSENT_GRANTED;
    case SBX_CONSENT_ORDER_NOT_ASKED:
        return sbx_the_agent.is_consent_required != 0 ? SBX_CONSENT_UNKNOWN : SBX_CONSENT_GRANTED;
    default:
        return SBX_CONSENT_DENIED; /* an unknown order is no yes */
    }
}

/* Puts the user's answer in force. A yes counts from now on: what was recorded before stays in chunks of its own, which
 * no copy contains (snapshot_copy.h, C5). After a no the hooks are removed and the recording is wiped. */
static void take_consent(void)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    struct sbx_control_page *control = sbx_the_capture.control;
    uint32_t order = sbx_load_acquire(&control->consent_order); /* order: acquire control.consent_order */
    if (order == SBX_CONSENT_ORDER_NONE) {
        return;
    }
    if (order == SBX_CONSENT_ORDER_READ) {
        sbx_module_thread_call(sbx_load_relaxed(&sbx_the_agent.wanted_points));
        /* order: release control.consent_order */
        (void)sbx_cas_acq_rel(&control->consent_order, &order, SBX_CONSENT_ORDER_NONE);
        return;
    }
    enum sbx_consent consent = consent_of(order), before = header->consent;
    if (consent == SBX_CONSENT_GRANTED && before != SBX_CONSENT_GRANTED) {
        sbx_upkeep_begin_anew();
        header->consent_ns = sbx_now_ns();
    }
    bool is_silent = order == SBX_CONSENT_ORDER_NOT_ASKED;
    sbx_store_relaxed(&sbx_the_agent.consent_said, is_silent ? SBX_CONSENT_UNKNOWN : consent);
    sbx_store_release(&header->consent, consent); /* order: release header.consent - consent_ns belongs to it */
    if ((consent == SBX_CONSENT_DENIED) != (before == SBX_CONSENT_DENIED)) {
        put_in_force();
    }
    if (consent == SBX_CONSENT_DENIED) {
        sbx_upkeep_wipe();
    }
    /* Not a store: a caller that orders meanwhile has rung the bell, and its order is taken in the next tick. */
    /* order: release control.consent_order */
    if (sbx_cas_acq_rel(&control->consent_order, &order, SBX_CONSENT_ORDER_NONE)) {
        syscall(SYS_futex, &control->consent_order, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/* Other processes may write an answer into the spool without knowing of us. The disk may be slow, so the module thread
 * reads the spool. */
static void look_for_consent(uint64_t now_ns)
{
    if (now_ns - watch.last_consent_ns >= CONSENT_EVERY_NS) {
        watch.last_consent_ns = now_ns;
        sbx_module_thread_call(sbx_load_relaxed(&sbx_the_agent.wanted_points));
    }
}

/* A worker may pass its seat to another worker of its family, or get one again. When it passes the seat on, the hooks
 * stay. They cost as little as those of a child that is not recorded yet, and when the worker gets a seat again it is
 * recorded at once. */
static void take_turns(uint64_t now_ns)
{
    if (!sbx_worker_seat_is_due(now_ns)) {
        return; /* the following visits all threads */
    }
    bool is_free_to_go = !sbx_watchdog_is_armed() && !sbx_watchdog_stands_by() && !sbx_told_is_open() &&
                         !sbx_snapshot_maker_is_busy() && sbx_watchdog_due_ns(&watch.gaps) == UINT64_MAX &&
                         watch.settings.enabled != 0;
    if (sbx_worker_seat_look(now_ns, is_free_to_go)) {
        put_in_force();
        if (!sbx_worker_sits() && !sbx_worker_seat_pass_on(now_ns)) {
            put_in_force();
        }
    }
}

/* ---- the tick ---- */

/* The application's own CPU time so far: that of the process without ours. */
static uint64_t application_cpu_ns(void)
{
    uint64_t process_ns = sbx_read_clock_ns(CLOCK_PROCESS_CPUTIME_ID), own_ns = sbx_own_cpu_ns();
    return process_ns > own_ns ? process_ns - own_ns : 0;
}

static void wait_for_bell(uint32_t bell, uint64_t timeout_ns)
{
    struct timespec pause = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    syscall(SYS_futex, &sbx_the_capture.control->bell, FUTEX_WAIT, bell, timeout_ns != 0 ? &pause : NULL, NULL, 0);
}

/* The length of a tick, which depends on the gap. */
static uint64_t tick_ns(void)
{
    return (uint64_t)watch.governed.gap_us * 1000u * watch.tick_gaps;
}

/* The next pause: a tick with some jitter, between 3/4 and 5/4 of it. The jitter avoids a fixed phase with the
 * application's own rhythm (Profilo randomizes the phase for the same reason). */
static uint64_t next_pause_ns(void)
{
    watch.random ^= watch.random << 13; /* xorshift64, Marsaglia 2003 */
    watch.random ^= watch.random >> 7;
    watch.random ^= watch.random << 17;
    uint64_t mean_ns = tick_ns();
    return mean_ns * 3 / 4 + watch.random % (mean_ns / 2 + 1);
}

/* A tick costs the application some 80 us of CPU time when it has to give us its processor (two context switches, ten
 * calls). So one tick a gap is used only when it matters: something has been open longer than the short messages of a
 * program that responds, frames are shown, or a pending snapshot needs the time after its trigger. Otherwise the points
 * do the sampling, and a look at each thread every few gaps is all that the sampler needs for threads that sample
 * themselves. If the governor has widened the gaps, a message that only computes could lie between two such ticks: its
 * thread is asked ahead of time (sbx_sampler_step()). */
static uint32_t gaps_to_next_tick(bool is_near)
{
    return is_near || sbx_snapshot_maker_due_ns() != UINT64_MAX ? 1 : FAR_TICK_GAPS;
}

/* When the next watch, deadline or pending snapshot is due. */
static uint64_t next_due_ns(void)
{
    uint64_t watch_ns = sbx_watchdog_due_ns(&watch.gaps), snapshot_ns = sbx_snapshot_maker_due_ns();
    return watch_ns < snapshot_ns ? watch_ns : snapshot_ns;
}

/* Sleeps until due_ns (UINT64_MAX: no limit) or the bell. A thread that begins something that is due earlier rings the
 * bell. */
static void sleep_until(uint32_t bell, uint64_t due_ns)
{
    watch.asleep_ns = sbx_now_ns();
    sbx_gaps_work(&watch.gaps, watch.work_ns, watch.asleep_ns, sbx_snapshot_maker_busy_ns() - watch.work_busy_ns,
                  watch.cpu.ran_ns);
    watch.due_ns = due_ns;
    if (due_ns == UINT64_MAX) {
        wait_for_bell(bell, 0);
    } else {
        uint64_t left_ns = due_ns > watch.asleep_ns ? due_ns - watch.asleep_ns : 0;
        wait_for_bell(bell, left_ns > PAUSE_MIN_NS ? left_ns : PAUSE_MIN_NS);
    }
}

/* Publishes the end of our sleep, and checks again whether something is due earlier. */
static uint64_t say_when(uint64_t wanted_ns)
{
    uint64_t due_ns = next_due_ns();
    for (;;) {
        uint64_t wake_ns = due_ns < wanted_ns ? due_ns : wanted_ns;
        sbx_store_seq_cst(&sbx_the_capture.wake_ns, wake_ns); /* order: seq_cst wake_ns - Dekker with watch.word */
        sbx_fence_seq_cst();
        due_ns = next_due_ns();
        if (due_ns >= wake_ns) {
            return wake_ns;
        }
    }
}

/* From here on time counts as work, before it counted as sleep. */
static void begin_work(uint64_t now_ns)
{
    watch.work_ns = now_ns;
    watch.work_busy_ns = sbx_snapshot_maker_busy_ns();
}

/* Sleeps for a tick, or less when something is due. */
static void pause_for_a_tick(uint32_t bell)
{
    watch.paused_gaps = watch.tick_gaps;
    sleep_until(bell, say_when(sbx_now_ns() + next_pause_ns()));
}

/* When to wake up without a bell: points that are shed cannot ring it. */
static uint64_t doubt_rest(uint64_t now_ns)
{
    uint64_t points = watch.governed.points;
    uint64_t doubt_ns = sbx_governor_doubt_ns(&watch.settings, &watch.governed, now_ns);
    if (watch.governed.points != points) {
        call_for_hooks();
    }
    return doubt_ns;
}

/* From here on a thread that begins something rings the bell and stores the time. Returns the time. */
static uint64_t lie_down(void)
{
    sbx_store_relaxed(&sbx_the_capture.rung_ns, 0); /* relaxed: before `resting`, which they read first */
    sbx_sampler_lies_down();
    watch.lay_down_ns = sbx_now_ns();
    return watch.lay_down_ns;
}

/* Rests until the bell: a ringing thread samples itself at its next point. Watches, deadlines and snapshots that become
 * due meanwhile are handled without leaving the rest. */
static void rest(uint32_t bell)
{
    uint64_t lay_down_ns = lie_down(), doubt_ns = doubt_rest(lay_down_ns);
    sbx_crash_signals_learn();
    sbx_store_seq_cst(&sbx_the_capture.resting, SBX_RESTS); /* order: seq_cst resting - Dekker with message_begin_ns */
    bool may_rest = sbx_process_barrier_between();          /* else a message might begin without seeing that we rest */
    if (!may_rest) {
        pause_for_a_tick(bell);
    }
    while (may_rest) {
        uint64_t fatal_ns = sbx_crash_signals_due_ns(&watch.settings);
        uint64_t end_ns = sbx_thread_main() == NULL ? sbx_now_ns() + LAST_THREAD_EVERY_NS : UINT64_MAX;
        end_ns = end_ns < doubt_ns ? end_ns : doubt_ns;
        uint64_t seat_ns = sbx_worker_seat_due_ns(), look_ns = seat_ns < end_ns ? seat_ns : end_ns;
        uint64_t due_ns = say_when(fatal_ns < look_ns ? fatal_ns : look_ns);
        if (sbx_watchdog_is_armed() ||
            sbx_load_acquire(&sbx_the_agent.stopping) != 0) { /* order: acquire agent.stopping */
            break;
        }
        sleep_until(bell, due_ns);
        uint64_t now_ns = sbx_now_ns();
        if (sbx_load_acquire(&sbx_the_capture.control->bell) != bell) { /* order: acquire bell */
            break;
        }
        if (now_ns >= fatal_ns || now_ns >= end_ns || (now_ns >= seat_ns && sbx_worker_seat_is_wanted(now_ns))) {
            break;
        }
        sbx_gaps_look(&watch.gaps, watch.asleep_ns, due_ns, now_ns, true);
        begin_work(now_ns);
        sbx_the_capture.header->heartbeat_ns = now_ns;
        sbx_the_capture.header->scene = sbx_load_relaxed(&sbx_the_agent.scene);
        if (watch.settings.enabled != 0) {
            sbx_watchdog_look_at_watches(&watch.settings, &watch.gaps, now_ns);
        }
        sbx_snapshot_maker_step(&watch.settings, now_ns);
    }
    sbx_store_seq_cst(&sbx_the_capture.resting, SBX_AWAKE);
    watch.quiet_ticks = 0;
    watch.paused_gaps = 0;
    watch.last_tick_ns = 0; /* the time of the rest is no gap */
    sbx_governor_has_rested(lay_down_ns, sbx_now_ns());
}

/* Sleeps for seconds: a stall goes on that was reported already, and its thread rings the bell when it ends. A thread
 * that begins a message or a frame rings as well. Records do not ring, so that a program whose other threads work does
 * not cost ticks without end. */
static void stand_by(uint32_t bell)
{
    uint64_t lay_down_ns = lie_down();
    /* order: seq_cst resting - Dekker with message_begin_ns */
    sbx_store_seq_cst(&sbx_the_capture.resting, SBX_STANDS_BY);
    bool may_rest = sbx_process_barrier_between();
    if (!may_rest || !sbx_watchdog_stands_by()) {
        sbx_store_seq_cst(&sbx_the_capture.resting, SBX_AWAKE);
        pause_for_a_tick(bell);
        return;
    }
    watch.stand_by_ns = watch.stand_by_ns == 0 ? STAND_BY_NS : watch.stand_by_ns * 2;
    watch.stand_by_ns = watch.stand_by_ns < STAND_BY_MAX_NS ? watch.stand_by_ns : STAND_BY_MAX_NS;
    /* No thread rings when the last thread of the program ends, nor when the program has survived a fatal signal. */
    uint64_t most_ns = sbx_thread_main() == NULL ? LAST_THREAD_EVERY_NS : watch.stand_by_ns;
    uint64_t fatal_ns = sbx_crash_signals_due_ns(&watch.settings), end_ns = lay_down_ns + most_ns;
    uint64_t due_ns = say_when(fatal_ns < end_ns ? fatal_ns : end_ns);
    sleep_until(bell, due_ns);
    uint64_t now_ns = sbx_now_ns();
    sbx_gaps_look(&watch.gaps, watch.asleep_ns, due_ns, now_ns, true);
    sbx_store_seq_cst(&sbx_the_capture.resting, SBX_AWAKE);
    watch.quiet_ticks = 0;
    watch.paused_gaps = 0;
    watch.last_tick_ns = 0;
    sbx_governor_has_rested(lay_down_ns, now_ns);
}

/* Another worker has the seat: sleeps until it is time to check whether the program works. */
static void sit_out(uint32_t bell)
{
    uint64_t lay_down_ns = sbx_now_ns(), due_ns = sbx_worker_seat_due_ns();
    sbx_sampler_lies_down();
    sleep_until(bell, due_ns);
    uint64_t now_ns = sbx_now_ns();
    sbx_gaps_look(&watch.gaps, watch.asleep_ns, due_ns, now_ns, true);
    watch.quiet_ticks = 0;
    watch.paused_gaps = 0;
    watch.last_tick_ns = 0;
    sbx_governor_has_rested(lay_down_ns, now_ns);
}

static void calibrate(uint64_t now_ns)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    if (header->clock_source == SBX_CLOCK_KERNEL || now_ns - watch.last_calibration_ns >= CALIBRATE_EVERY_NS) {
        watch.last_calibration_ns = now_ns;
        header->clock_source = (uint32_t)sbx_clock_calibrate();
        sbx_store_relaxed(&header->drops[SBX_DROP_CLOCK_FOREIGN], sbx_clock_foreign_words());
    }
}

/* Keeps the CPU budget: something may be recorded less often from here on, or again as often as ordered. */
static void govern(bool is_near, uint64_t now_ns)
{
    uint64_t points = watch.governed.points;
    if (sbx_governor_tick(&watch.settings, &watch.governed, is_near, now_ns)) {
        sbx_capture_apply(&watch.governed);
        if (watch.governed.points != points) {
            call_for_hooks();
        }
    }
}

/* Another process waits for what a thread of this one holds, and is about to report it (guest_look.h). Find out where
 * our threads sleep, and whom they wait for in turn: while nothing is open here, no look has been made. */
static void look_for_who_waits(void)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    uint32_t request = sbx_load_acquire(&control->look_request); /* order: acquire control.look_request */
    if (SBX_LIKELY(request == control->look_answer)) {
        return;
    }
    if (watch.settings.enabled != 0 && sbx_worker_sits()) {
        uint64_t now_ns = sbx_now_ns();
        sbx_sampler_capture_sleepers(now_ns);
        sbx_outside_holders_look(now_ns, true);
        control->looked_ns = now_ns;
    }
    /* order: release control.look_answer - looked_ns belongs to the look, and what was seen is in the ring */
    sbx_store_release(&control->look_answer, request);
}

/* The thread rested while nothing was open. A thread that began something then rang the bell, and we should have looked
 * at once: a delay is a gap. An older rung_ns was stored by a thread that had seen the rest before this one. */
static void look_for_late_rising(uint64_t now_ns)
{
    uint64_t rung_ns = sbx_load_relaxed(&sbx_the_capture.rung_ns); /* relaxed: stored before the bell was rung */
    if (watch.lay_down_ns != 0 && rung_ns >= watch.lay_down_ns) {
        sbx_gaps_look(&watch.gaps, rung_ns, rung_ns, now_ns, false);
    }
    sbx_store_relaxed(&sbx_the_capture.rung_ns, 0);
}

static void tick(uint64_t now_ns)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    header->heartbeat_ns = now_ns;
    header->scene = sbx_load_relaxed(&sbx_the_agent.scene);
    if (watch.last_tick_ns != 0) {
        int64_t distance_ns = (int64_t)(now_ns - watch.last_tick_ns), mean_ns = (int64_t)header->async_interval_ns;
        header->async_interval_ns = (uint64_t)(mean_ns == 0 ? distance_ns : mean_ns + (distance_ns - mean_ns) / 16);
        sbx_gaps_look(&watch.gaps, watch.asleep_ns, watch.due_ns, now_ns, false);
    } else {
        look_for_late_rising(now_ns);
    }
    watch.last_tick_ns = now_ns;
    begin_work(now_ns);
    header->tick++;
    watch.seen_ns = 0;
    take_settings();
    /* order: acquire agent.hooks_were_whole - from here on a query with sigaction() goes through a hook */
    bool hooks_are_in = sbx_load_acquire(&sbx_the_agent.hooks_were_whole) != 0;
    sbx_crash_signals_tick(&watch.settings, hooks_are_in, now_ns);
    take_consent();
    sbx_spool_orders_carry_out();
    sbx_provider_names_write(); /* before the snapshot, whose reader needs them */
    sbx_snapshot_maker_step(&watch.settings, now_ns);
    take_turns(now_ns);
    if (!sbx_worker_sits()) {
        sbx_snapshot_maker_refuse(-ENODATA);
    }
    if (watch.settings.enabled == 0 || !sbx_worker_sits()) {
        look_for_who_waits();
        return;
    }
    look_for_consent(now_ns);
    sbx_attendance_look();
    if (now_ns - watch.last_scan_ns >= SCAN_EVERY_NS) {
        watch.last_scan_ns = now_ns;
        sbx_thread_registry_scan(sbx_the_agent.watch_tid, sbx_the_agent.module_tid);
        sbx_sample_show_frame();
        if (sbx_family_has_children()) {
            sbx_sample_learn_place(now_ns); /* once for all its future workers */
        }
    }
    bool is_near = sbx_watchdog_look(&watch.settings, &watch.gaps, now_ns);
    watch.tick_gaps = gaps_to_next_tick(is_near);
    /* order: acquire agent.hurry - from here on the ends of reported stalls are not seen. After the look: it has seen
     * those that have ended */
    if (SBX_UNLIKELY(sbx_load_acquire(&sbx_the_agent.hurry) != 0)) {
        bool exits = sbx_load_acquire(&sbx_the_agent.is_running) != 0; /* order: acquire agent.is_running */
        sbx_stall_ends_close(exits ? SBX_END_DIED : SBX_END_UNSEEN, now_ns);
    }
    watch.seen_ns = sbx_sampler_step(&watch.governed, tick_ns(), now_ns);
    sbx_outside_holders_look(now_ns, false);
    look_for_who_waits(); /* after the sampler: this look is the newest */
    govern(is_near, now_ns);
    sbx_upkeep_callstacks();
    sbx_upkeep_chunks(now_ns);
    sbx_worker_ring_look();
    calibrate(now_ns);
}

/* The process is exiting, and waits for this. */
static void close_for_exit(void)
{
    if (sbx_load_relaxed(&sbx_the_agent.exit_done) == 0) { /* relaxed: written by this thread only */
        sbx_recording_unlink(&sbx_the_agent.recording);
        sbx_store_release(&sbx_the_agent.exit_done, 1); /* order: release agent.exit_done */
        syscall(SYS_futex, &sbx_the_agent.exit_done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
}

/* Are our threads the only ones left? Then we end, and the process with us: its exit handlers run in the thread that
 * ends last. */
static bool leave_with_the_last_thread(uint64_t now_ns)
{
    static uint64_t last_ns;
    if (now_ns - last_ns < LAST_THREAD_EVERY_NS) {
        return false;
    }
    last_ns = now_ns;
    if (!sbx_application_has_ended(sbx_the_agent.watch_tid, sbx_the_agent.module_tid)) {
        return false;
    }
    sbx_store_release(&sbx_the_agent.stopping, 1); /* order: release agent.stopping */
    sbx_module_thread_call(0);
    return true;
}

/* After the first sampling request the module thread must sleep so that it notices a debugger's stop: it is called for
 * that, once. */
static void have_stops_noticed(void)
{
    if (SBX_UNLIKELY(!watch.notices_stops && sbx_sample_has_asked())) {
        watch.notices_stops = true;
        sbx_module_thread_call(sbx_load_relaxed(&sbx_the_agent.wanted_points));
    }
}

void *sbx_watch_main(void *unused)
{
    (void)unused;
    sbx_thread_become(SBX_THREAD_GONE);
    bool has_own_descriptors = sbx_the_agent.shares_descriptors == 0 && sbx_descriptors_become_own();
    prctl(PR_SET_NAME, "sbx-watch");
    sbx_store_release(&sbx_the_agent.watch_tid, (uint32_t)syscall(SYS_gettid)); /* order: release agent.tid */
    memset(&watch, 0, sizeof watch);
    watch.tick_gaps = 1;
    watch.random = sbx_now_ns() | 1;
    if (has_own_descriptors) { /* otherwise it has begun already, or has no table of its own */
        sbx_handover_start();
    }
    sbx_store_release(&sbx_the_agent.watch_is_up, 1); /* order: release agent.watch_is_up */
    syscall(SYS_futex, &sbx_the_agent.watch_is_up, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    watch.last_consent_ns = sbx_now_ns(); /* consent was read at the start */
    sbx_worker_seat_begin(watch.last_consent_ns);
    bool is_ready = sbx_snapshot_maker_start();
    while (is_ready && sbx_load_acquire(&sbx_the_agent.stopping) == 0) {      /* order: acquire agent.stopping */
        uint32_t bell = sbx_load_acquire(&sbx_the_capture.control->bell);     /* order: acquire bell */
        if (SBX_UNLIKELY(sbx_load_acquire(&sbx_the_agent.exit_asked) != 0)) { /* order: acquire agent.exit_asked */
            close_for_exit();
            sbx_spool_orders_carry_out();
            sbx_sample_withdraw_ahead();
            wait_for_bell(bell, STILL_NS);
            continue;
        }
        if (SBX_UNLIKELY(sbx_crash_signals_host_is_ending(sbx_now_ns()))) {
            sbx_sample_withdraw_ahead();
            wait_for_bell(bell, STILL_NS);
            continue;
        }
        tick(sbx_now_ns());
        have_stops_noticed();
        if (sbx_load_relaxed(&sbx_modules_dirty) != 0) {
            sbx_module_thread_call(sbx_load_relaxed(&sbx_the_agent.wanted_points));
        }
        if (sbx_thread_main() == NULL && leave_with_the_last_thread(sbx_now_ns())) {
            break;
        }
        bool has_run = sbx_application_has_run(&watch.cpu, sbx_thread_count(), watch.seen_ns, application_cpu_ns);
        bool is_quiet = !has_run && !sbx_watchdog_is_armed();
        watch.quiet_ticks = is_quiet ? watch.quiet_ticks + watch.paused_gaps : 0;
        if (watch.quiet_ticks >= REST_AFTER_TICKS && sbx_sampler_finds_ready(&watch.governed, sbx_now_ns())) {
            watch.quiet_ticks = 0;
        }
        bool stands_by = watch.settings.enabled != 0 && sbx_watchdog_stands_by();
        watch.stand_by_ns = stands_by ? watch.stand_by_ns : 0;
        bool rests = watch.quiet_ticks >= REST_AFTER_TICKS || watch.settings.enabled == 0;
        if (!sbx_worker_sits() || stands_by || rests) {
            sbx_sample_withdraw_ahead();
        }
        if (!sbx_worker_sits()) {
            sit_out(bell);
        } else if (stands_by) {
            stand_by(bell);
        } else if (rests) {
            rest(bell);
        } else {
            pause_for_a_tick(bell);
        }
    }
    sbx_sample_withdraw_ahead();
    sbx_provider_names_write();
    sbx_spool_orders_carry_out();
    if (sbx_load_relaxed(&sbx_the_agent.is_closing) != 0) { /* relaxed: stored before `stopping` */
        sbx_recording_unlink(&sbx_the_agent.recording);
    }
    sbx_store_release(&sbx_the_agent.watch_tid, 0); /* order: release agent.tid */
    return NULL;
}
