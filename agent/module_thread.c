/* SPDX-License-Identifier: Apache-2.0 */
/* module_thread.c - sbx-modules: the loader's list, the unwind rows, the hooks.
 *
 * At its first rest it also recovers what dead processes have left (orphans.c). Each time it is called, it reads the
 * user's consent as well.
 *
 * This work has a thread of its own, apart from the watch thread, because all of it may wait for the loader's lock. A
 * constructor in a slow dlopen holds that lock as long as it likes, and the watch thread must record exactly such a
 * stall. */
#include "module_thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "consent_in_force.h"
#include "got_hook.h"
#include "loader_visit.h"
#include "module_map.h"
#include "module_rows.h"
#include "orphans.h"
#include "own_descriptors.h"
#include "own_folder.h"
#include "point.h"
#include "process_barrier.h"
#include "process_state.h"
#include "runtime_modules.h"
#include "sample_signal.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_block.h"
#include "tracer_look.h"

/* The hook of dlopen is a tail call, so it reports the call before anything is loaded, and one look is not enough: look
 * again after these pauses. A look that finds nothing new costs 30 ns. */
static const uint32_t look_again_ms[] = {1, 5, 20, 100, 500, 2000};

void sbx_module_thread_call(uint64_t points)
{
    sbx_store_relaxed(&sbx_the_agent.wanted_points, points);
    sbx_light_sleep_ring(&sbx_the_agent.module_sleep);
}

/* Returns how many modules the loader was still loading. */
static uint32_t apply_hooks(void)
{
    uint64_t points = sbx_load_relaxed(&sbx_the_agent.wanted_points);
    uint32_t unsettled;
    uint32_t slots = sbx_got_hook_apply(points, UINT64_MAX, &unsettled);
    sbx_store_relaxed(&sbx_the_capture.header->hooked_slots, slots);
    /* order: release control.hooked_points - hooked_slots belongs to them */
    sbx_store_release(&sbx_the_capture.control->hooked_points, points);
    sbx_store_relaxed(&sbx_the_agent.applied_points, points); /* relaxed: this thread alone reads it */
    if (unsettled == 0 && points != 0) {
        sbx_capture_hooks_are_in(points);
        sbx_store_release(&sbx_the_agent.hooks_were_whole, 1); /* order: release agent.hooks_were_whole */
    }
    return unsettled;
}

/* One round: modules that were loaded or unloaded, and hooks to change. Returns true when the loader was still busy
 * with a module. */
static bool look_around(bool *changed)
{
    static bool is_behind;
    SBX_OF_ONE_PROCESS(is_behind);
    sbx_loader_visit_begin(); /* no rows are built in a visit, because a fork waits for its end */
    bool has_changed = sbx_module_map_refresh();
    *changed |= has_changed;
    if (has_changed || is_behind ||
        sbx_load_relaxed(&sbx_the_agent.wanted_points) != sbx_load_relaxed(&sbx_the_agent.applied_points)) {
        is_behind = apply_hooks() != 0;
    }
    sbx_loader_visit_end();
    return is_behind;
}

static void say_opened(enum sbx_opening opened)
{
    sbx_store_release(&sbx_the_agent.opened, opened); /* order: release agent.opened */
    syscall(SYS_futex, &sbx_the_agent.opened, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Work that no application thread should do: reserve the memory of the recording, then add the first modules and our
 * own rows, so that the first stack walk gets out of our code. Before this, points count and see calls but record
 * nothing, because the ring has no chunk and walks have no module map. If there is no memory it stays so, and the hooks
 * are removed again. */
void sbx_module_thread_open(void)
{
    if (sbx_recording_reserve_again(&sbx_the_agent.recording) !=
        0) { /* a worker may have dropped its privileges meanwhile */
        sbx_store_relaxed(sbx_the_capture.gate, 0);
        sbx_store_relaxed(&sbx_the_agent.wanted_points, 0);
        say_opened(SBX_OPEN_NOT);
        return;
    }
    sbx_loader_visit_begin();
    sbx_module_map_refresh(); /* from here on stacks are walked and interned */
    sbx_loader_visit_end();
    sbx_module_rows_get_next();
    sbx_ring_open_whole(&sbx_the_capture.ring, sbx_the_capture.header);
    say_opened(SBX_OPENED);
    sbx_capture_ring_bell(); /* a snapshot may have been requested already */
}

/* The starting thread installs the first hooks while this thread opens the recording. That takes half a millisecond. */
static void wait_for_the_hooks(void)
{
    while (sbx_load_acquire(&sbx_the_agent.hooks_are_handed_over) == 0) { /* order: acquire agent.hooks */
        syscall(SYS_futex, &sbx_the_agent.hooks_are_handed_over, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

/* While this thread sleeps, a debugger may attach and stop all threads. The watch thread checks for a tracer before it
 * sends a sampling request, but an earlier request may be pending, and its signal would be the first that the debugger
 * is shown. So this thread sleeps lightly while requests are pending: it runs again when the other threads do, and
 * takes all requests back. */
static void sleep_until_called(uint32_t bell, const struct timespec *pause)
{
    struct sbx_light_sleep *sleep = &sbx_the_agent.module_sleep;
    bool is_light = sbx_sample_has_asked();
    sbx_tracer_stops_are_noticed(is_light && sleep->trust == SBX_LIGHT_WORKS);
    if (sbx_light_sleep_until(sleep, bell, pause, is_light)) {
        sbx_sample_was_stopped();
    }
    sbx_tracer_stops_are_noticed(false);
}

bool sbx_module_thread_become(void)
{
    sbx_thread_become(SBX_THREAD_GONE);
    bool has_own_descriptors = sbx_descriptors_become_own();
    sbx_module_rows_share_a_file(has_own_descriptors);
    prctl(PR_SET_NAME, "sbx-modules");
    sbx_store_release(&sbx_the_agent.module_tid, (uint32_t)syscall(SYS_gettid)); /* order: release agent.tid */
    return has_own_descriptors;
}

void *sbx_module_main(void *unused)
{
    (void)unused;
    (void)sbx_module_thread_become();
    sbx_module_thread_open();
    sbx_module_thread_go_on();
    return NULL;
}

/* Opens the rows cache once. A worker usually inherits its rows from its parent, and creates no folders, because it may
 * be below another root. */
static void open_rows_cache(bool *is_open)
{
    bool is_worker = sbx_the_agent.family.role == SBX_ROLE_WORKER;
    if (*is_open || (is_worker && !sbx_module_rows_are_wanted())) {
        return;
    }
    *is_open = true;
    if (sbx_the_agent.rows_folder[0] != 0 && (is_worker || sbx_make_folders(sbx_the_agent.rows_folder) == 0)) {
        sbx_module_rows_open_cache(sbx_the_agent.rows_folder);
    }
}

void sbx_module_thread_go_on(void)
{
    bool is_worker = sbx_the_agent.family.role == SBX_ROLE_WORKER, is_cache_open = false;
    open_rows_cache(&is_cache_open);
    wait_for_the_hooks();
    unsigned looks_left = 0;
    bool has_recovered = false, has_changed = true;                         /* the first look was made at the opening */
    while (sbx_load_acquire(&sbx_the_agent.stopping) == 0) {                /* order: acquire agent.stopping */
        uint32_t bell = sbx_load_acquire(&sbx_the_agent.module_sleep.bell); /* order: acquire module_bell */
        if (sbx_swap_acq_rel(&sbx_modules_dirty, 0) != 0) {                 /* order: acquire modules_dirty */
            looks_left = SBX_COUNT_OF(look_again_ms);
        }
        bool is_behind = look_around(&has_changed);
        open_rows_cache(&is_cache_open);
        /* order: acquire agent.stopping */
        while (sbx_load_acquire(&sbx_the_agent.stopping) == 0 && sbx_module_rows_get_next()) {
            is_behind = look_around(&has_changed); /* new modules must not wait for the rows of all others */
        }
        if (!has_recovered) {
            has_recovered = true;
            (void)sbx_process_barrier_start(); /* in a process with threads this takes a grace period of the kernel */
            if (!is_worker) {                  /* its parent has recovered them, and may have had the right to */
                sbx_agent_recover_orphans();
            }
        }
        sbx_agent_follow_consent(); /* a worker that was put off started with an older answer */
        if (is_behind && looks_left == 0) {
            looks_left = SBX_COUNT_OF(look_again_ms);
        }
        uint32_t pause_ms = sbx_runtime_modules_step(has_changed);
        has_changed = false;
        if (looks_left > 0) {
            uint32_t ms = look_again_ms[SBX_COUNT_OF(look_again_ms) - looks_left];
            looks_left--;
            pause_ms = pause_ms == 0 || ms < pause_ms ? ms : pause_ms;
        }
        struct timespec pause = {pause_ms / 1000, (long)(pause_ms % 1000) * 1000000};
        sleep_until_called(bell, pause_ms != 0 ? &pause : NULL);
    }
    sbx_module_rows_share_a_file(false);
    /* Stopping: the hooks are removed on the thread that installed them. */
    sbx_store_relaxed(&sbx_the_agent.wanted_points, 0);
    sbx_loader_visit_begin();
    apply_hooks();
    sbx_loader_visit_end();
    sbx_store_release(&sbx_the_agent.module_tid, 0); /* order: release agent.tid */
}
