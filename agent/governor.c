/* SPDX-License-Identifier: Apache-2.0 */
/* governor.c - measures what a window cost, lets governor_decision.c decide, and writes down what is in force. */
#include "governor.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process_state.h"
#include "raw_syscall.h"
#include "the_capture.h"
#include "clock.h"
#include "clock_price.h"
#include "family.h"
#include "governor_decision.h"
#include "sampler.h"
#include "service_pings.h"
#include "snapshot_maker.h"
#include "the_agent.h"
#include "thread_block.h"
#include "thread_clock.h"
#include "thread_cost.h"

/* CPU times since the process or thread began. */
struct readings {
    uint64_t process_ns, watch_ns, modules_ns, captures_ns, signals_ns;
    uint64_t pass_ns[SBX_POINT_GROUPS_MAX];
    uint32_t snapshots;
};

static struct {
    struct sbx_governor governor;
    struct sbx_cost_sums costs;
    struct readings begin; /* at the window's begin */
    uint64_t begin_ns, rested_ns, off_in_window_ns;
    bool was_close; /* at any moment of the window a stall was recorded closely */
    /* The recorder is switched off: since when, and the readings at that time. */
    bool is_off;
    uint64_t off_ns;
    struct readings off;
    uint64_t told_ns, told_worked_ns;     /* when the family was last told how much it works, and its CPU time then */
    struct sbx_capture_settings governed; /* the settings of the current or last governed period; zeroed: none yet */
} the;
SBX_OF_ONE_PROCESS(the);

/* Measured once for each clock source: a better source is available after some milliseconds, and is lost in a sandbox.
 * A forked child runs on the same machine, so it keeps the price. */
static const struct sbx_clock_price *price_of_clock(void)
{
    static struct sbx_clock_price price_of_all; /* of the source below; 0: not measured yet */
    static enum sbx_clock_source priced_source;
    enum sbx_clock_source source = sbx_clock_source();
    if (price_of_all.wall_ps == 0 || priced_source != source) {
        price_of_all = sbx_clock_price();
        priced_source = source;
    }
    return &price_of_all;
}

static void read_all(struct readings *readings_out)
{
    uint64_t process_ns = sbx_read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sbx_cost_collect(&the.costs, price_of_clock(), process_ns);
    *readings_out = (struct readings){
        .process_ns = process_ns,
        .watch_ns = sbx_own_cpu_ns(),
        .captures_ns = the.costs.capture_ns[SBX_COST_LEAF] + the.costs.capture_ns[SBX_COST_CALL],
        .signals_ns = the.costs.capture_ns[SBX_COST_SIGNAL],
        .snapshots = sbx_the_capture.header->snapshots_made,
    };
    uint32_t modules = sbx_load_acquire(&sbx_the_agent.module_tid); /* order: acquire agent.tid */
    /* A thread that has ended has no clock; the module thread ends only with the recorder. */
    readings_out->modules_ns = modules != 0 ? sbx_thread_cpu_ns(modules) : the.begin.modules_ns;
    memcpy(readings_out->pass_ns, the.costs.pass_ns, sizeof readings_out->pass_ns);
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static uint64_t sum_of(const uint64_t ns[SBX_POINT_GROUPS_MAX])
{
    uint64_t sum_ns = 0;
    for (unsigned group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        sum_ns += ns[group];
    }
    return sum_ns;
}

/* The application's own part of the CPU time of the process. */
static uint64_t without_us(uint64_t process_ns, uint64_t ours_ns)
{
    return since(process_ns, ours_ns);
}

/* Writes the wanted groups that are shed. This is written last, so that a reader that sees them finds what they
 * cost. */
static void tell_shed(const struct sbx_capture_settings *wanted)
{
    uint64_t shed = (the.governor.shed | the.governor.aside) & wanted->points;
    sbx_store_release(&sbx_the_capture.header->overhead.shed,
                      shed); /* order: release overhead.shed - the rest is written */
}

/* Writes the costs of everything since the start, and of the window that just ended. */
static void tell(const struct readings *now, const struct sbx_cost_view *view,
                 const struct sbx_capture_settings *wanted, const struct sbx_capture_settings *settings)
{
    struct sbx_overhead *overhead = &sbx_the_capture.header->overhead;
    uint64_t calls_ns = sum_of(now->pass_ns), captures_ns = now->captures_ns + now->signals_ns;
    overhead->watch_ns = now->watch_ns;
    overhead->modules_ns = now->modules_ns;
    overhead->captures_ns = captures_ns;
    overhead->calls_ns = calls_ns;
    overhead->application_ns = without_us(now->process_ns, now->watch_ns + now->modules_ns + captures_ns + calls_ns);
    if (view != NULL) {
        uint64_t cost_ns = view->tick_ns + view->capture_ns + sum_of(view->pass_ns);
        overhead->window_ppm = sbx_governor_share_ppm(cost_ns, sbx_governor_reference_ns(view));
    }
    overhead->budget_permille = wanted->max_cpu_permille;
    overhead->budget_tenths = wanted->max_cpu_tenths;
    overhead->interval_us = settings->interval_us;
    overhead->gap_us = settings->gap_us;
    overhead->changes = the.governor.changes;
    tell_shed(wanted);
}

static void begin_window(uint64_t now_ns, const struct readings *now)
{
    the.begin = *now;
    the.begin_ns = now_ns;
    the.rested_ns = 0;
    the.off_in_window_ns = 0;
    the.was_close = the.governor.records_close;
}

/* CPU time used while the recorder was off does not belong to the window that continues. */
static void leave_out(const struct readings *now)
{
    struct readings *begin = &the.begin;
    begin->process_ns += since(now->process_ns, the.off.process_ns);
    begin->watch_ns += since(now->watch_ns, the.off.watch_ns);
    begin->modules_ns += since(now->modules_ns, the.off.modules_ns);
    begin->captures_ns += since(now->captures_ns, the.off.captures_ns);
    begin->signals_ns += since(now->signals_ns, the.off.signals_ns);
    for (unsigned group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        begin->pass_ns[group] += since(now->pass_ns[group], the.off.pass_ns[group]);
    }
}

static bool are_the_same(const struct sbx_capture_settings *wanted, const struct sbx_capture_settings *before)
{
    return before->enabled != 0 && memcmp(wanted, before, sizeof *wanted) == 0;
}

void sbx_governor_begin(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_out,
                        uint64_t now_ns)
{
    struct readings now;
    *settings_out = *wanted;
    read_all(&now);
    if (wanted->enabled == 0) {
        if (!the.is_off) {
            the.is_off = true;
            the.off_ns = now_ns;
            the.off = now;
        }
        return;
    }
    if (the.is_off && are_the_same(wanted, &the.governed)) {
        leave_out(&now);
        the.off_in_window_ns += since(now_ns, the.off_ns);
        sbx_governor_apply(&the.governor, wanted, settings_out);
    } else {
        uint32_t changes = the.governor.changes;
        the.governor = (struct sbx_governor){.changes = changes};
        begin_window(now_ns, &now);
    }
    the.is_off = false;
    the.governed = *wanted;
    tell(&now, NULL, wanted, settings_out);
}

void sbx_governor_has_rested(uint64_t from_ns, uint64_t to_ns)
{
    the.rested_ns += the.is_off ? 0 : since(to_ns, from_ns); /* the time while switched off is left out as a whole */
}

static bool has_java_machine(void)
{
    bool is_found = false;
    for (unsigned i = 0; i < SBX_RUNTIMES_MAX; i++) {
        const struct sbx_runtime_entry *runtime = &sbx_the_capture.header->runtimes[i];
        /* order: acquire header.runtimes - the words are whole */
        is_found |= sbx_load_acquire(&runtime->state) != SBX_RUNTIME_NONE && runtime->kind == SBX_RUNTIME_JAVA;
    }
    return is_found;
}

/* Does the process answer clients on threads without a loop, or may it do so soon? A Java machine's start alone exceeds
 * the budget, and its servers meet their first client later. So such a process gets the first seconds to show whether
 * it serves. */
static bool may_serve(void)
{
    return sbx_load_relaxed(&sbx_the_capture.serves) != 0 || /* relaxed: late by one window */
           (the.governor.windows < SBX_EARLY_WINDOWS && has_java_machine());
}

/* In a process that has always had one thread and has no family to share anything with, no release can wake another
 * thread. A thread of the program has its entry before its first instruction, or since a look at all threads. */
static uint64_t useless_points(void)
{
    bool is_alone =
        sbx_thread_count() <= 1 && sbx_the_agent.family.role != SBX_ROLE_WORKER && !sbx_family_has_children();
    return is_alone ? SBX_POINTS_OF_COMPANY : 0;
}

/* What the starts of its children may cost is a share of the family's work: this process, and the children that it has
 * waited for. */
static void tell_family(uint64_t now_ns, uint64_t process_ns)
{
    struct rusage ended;
    if (!sbx_family_is_of((uint32_t)getpid()) ||
        sbx_raw_syscall(SYS_getrusage, RUSAGE_CHILDREN, (long)(uintptr_t)&ended, 0, 0, 0, 0) != 0) {
        return;
    }
    uint64_t ended_us = (uint64_t)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1000000 +
                        (uint64_t)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec);
    uint64_t worked_ns = process_ns + ended_us * 1000, passed_ns = since(now_ns, the.told_ns);
    if (the.told_ns != 0 && passed_ns != 0) {
        uint64_t permille = since(worked_ns, the.told_worked_ns) * 1000 / passed_ns;
        sbx_family_tell_work(permille < UINT32_MAX ? (uint32_t)permille : UINT32_MAX);
    }
    the.told_ns = now_ns;
    the.told_worked_ns = worked_ns;
}

/* A window has ended. The cost of a snapshot that was made in it is no cost of a tick, and is not counted. */
static void judge(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings, uint64_t now_ns,
                  uint64_t awake_ns, bool is_near)
{
    struct readings now;
    read_all(&now);
    bool has_snapshot = now.snapshots != the.begin.snapshots || sbx_snapshot_maker_is_busy();
    uint64_t watch_ns = since(now.watch_ns, the.begin.watch_ns),
             modules_ns = since(now.modules_ns, the.begin.modules_ns);
    struct sbx_cost_view view = {.window_ns = awake_ns,
                                 .points = wanted->points,
                                 .now_ns = now_ns,
                                 .interval_us = wanted->interval_us,
                                 .gap_us = wanted->gap_us,
                                 .useless = useless_points(),
                                 .rested_ns = the.rested_ns,
                                 .was_close = the.was_close,
                                 .is_near = is_near};
    /* relaxed: late by one window */
    view.kept = (sbx_load_relaxed(&sbx_the_capture.rests) != 0 ? SBX_POINTS_OF_RESTS : 0) |
                (may_serve() ? SBX_POINTS_OF_CLIENTS : 0) | (sbx_service_pings_are_awaited() ? SBX_POINTS_OF_PINGS : 0);
    view.tick_ns = has_snapshot ? 0 : watch_ns + since(now.signals_ns, the.begin.signals_ns);
    view.capture_ns = since(now.captures_ns, the.begin.captures_ns);
    for (unsigned group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        view.pass_ns[group] = since(now.pass_ns[group], the.begin.pass_ns[group]);
    }
    view.application_ns = without_us(since(now.process_ns, the.begin.process_ns),
                                     watch_ns + modules_ns + view.capture_ns + sum_of(view.pass_ns));
    sbx_governor_decide(&the.governor, &view, sbx_budget_of(wanted));
    sbx_governor_apply(&the.governor, wanted, settings);
    tell(&now, &view, wanted, settings);
    tell_family(now_ns, now.process_ns);
    begin_window(now_ns, &now);
}

uint64_t sbx_governor_doubt_ns(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_inout,
                               uint64_t now_ns)
{
    uint64_t shed = the.governor.shed, due_ns = sbx_governor_look_again_ns(&the.governor, now_ns);
    if (the.governor.shed != shed) {
        sbx_governor_apply(&the.governor, wanted, settings_inout);
        sbx_the_capture.header->overhead.changes = the.governor.changes;
        tell_shed(wanted);
    }
    return due_ns;
}

bool sbx_governor_tick(const struct sbx_capture_settings *wanted, struct sbx_capture_settings *settings_inout,
                       bool is_near, uint64_t now_ns)
{
    struct sbx_capture_settings settings = *settings_inout;
    const struct sbx_note *note = &sbx_the_capture.header->note; /* written by this thread only */
    bool is_stalling = sbx_governor_is_stalling(note->open != 0 ? note->begin_ns : 0, now_ns);
    bool was_close = the.governor.records_close;
    bool is_close = sbx_governor_records_closely(&the.governor, is_stalling, sbx_budget_of(wanted));
    uint64_t awake_ns = since(now_ns - the.begin_ns, the.rested_ns + the.off_in_window_ns);
    if (is_close != was_close) {
        the.was_close |= is_close;
        sbx_governor_apply(&the.governor, wanted, &settings);
    }
    if (the.governor.aside != 0 &&
        sbx_governor_put_aside(&the.governor, the.governor.aside & useless_points(), sbx_budget_of(wanted))) {
        sbx_governor_apply(&the.governor, wanted, &settings);
        tell_shed(wanted);
    }
    if (awake_ns >= sbx_governor_window_ns(&the.governor)) {
        judge(wanted, &settings, now_ns, awake_ns, is_near);
    }
    bool has_changed = memcmp(&settings, settings_inout, sizeof settings) != 0;
    *settings_inout = settings;
    return has_changed;
}
