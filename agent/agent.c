/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - start and stop of the recorder, in order. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "got_hook.h"
#include "loader_visit.h"
#include "module_map.h"
#include "pages.h"
#include "point.h"
#include "sampler.h"
#include "thread_clock.h"
#include "thread_registry.h"

enum {
    THREAD_STACK_BYTES = 256 * 1024, /* the deepest path is the snapshot's, some 20 KiB */
    EXIT_WAIT_MS = 500,              /* how long an exiting process waits for a snapshot in flight */
};

struct sbx_agent sbx_the_agent;

/* Our threads take no signal of the host's: its handlers must run where the host expects them. */
static int start_thread(pthread_t *thread, void *(*body)(void *))
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return -error;
    }
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, body, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}

static bool is_declined(void)
{
    const char *off = getenv("STALLBOX_DISABLE");
    return (off != NULL && off[0] != 0 && strcmp(off, "0") != 0) || getauxval(AT_SECURE) != 0 || getuid() != geteuid();
}

/* Wait on a futex word for at most `timeout_ms` until it is `wanted`. */
static bool wait_until(uint32_t *word, uint32_t wanted, uint32_t timeout_ms)
{
    uint64_t end_ns = sbx_now_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        uint32_t now = sbx_load_acquire(word); /* order: acquire - pairs with the thread that stores the word */
        if (now == wanted) {
            return true;
        }
        uint64_t now_ns = sbx_now_ns();
        if (now_ns >= end_ns) {
            return false;
        }
        uint64_t left_ns = end_ns - now_ns;
        /* Some of these words are stored without a wake-up: look again soon. */
        const struct timespec pause = {0, (long)(left_ns < 10000000 ? left_ns : 10000000)};
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, now, &pause, NULL, 0);
    }
}

static void set_first_settings(const struct sbx_capture_settings *settings)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    control->wanted = *settings;
    control->in_force = *settings;
    sbx_store_release(&control->generation, 1); /* order: release control.generation */
    sbx_capture_apply(settings);
}

int sbx_agent_start(const char *recordings_folder, const char *spool_path, const struct sbx_capture_settings *settings)
{
    static bool started_before;
    if (sbx_load_acquire(&sbx_the_agent.is_running) != 0) {
        return -EALREADY;
    }
    if (is_declined()) {
        return -ECANCELED;
    }
    if (started_before) {
        return -ENOTSUP; /* pages of the first recording stay mapped for hooks that may still be in them */
    }
    int result = sbx_recording_create(recordings_folder, spool_path, &sbx_the_agent.recording);
    if (result != 0) {
        return result;
    }
    started_before = true;
    sbx_the_capture.gate = sbx_pages_map_wiped_on_fork(4096);
    if (sbx_the_capture.gate == NULL) {
        sbx_recording_unlink(&sbx_the_agent.recording);
        return -ENOMEM;
    }
    sbx_the_capture.agent_begin =
        (uint64_t)(uintptr_t)&sbx_agent_start; /* widened to the module when it is described */
    sbx_the_capture.agent_end = sbx_the_capture.agent_begin + 1;
    sbx_clock_start();
    sbx_capture_attach(sbx_the_agent.recording.header);
    set_first_settings(settings);
    result = sbx_thread_registry_start(sbx_the_capture.header, sbx_the_capture.threads);
    if (result != 0) {
        sbx_recording_unlink(&sbx_the_agent.recording);
        return result;
    }
    sbx_loader_visit_begin();
    sbx_module_map_refresh();
    sbx_loader_visit_end();
    sbx_module_map_build_rows(); /* our own, so that the first walk gets out of us; the rest in the background */
    sbx_got_hook_resolve();
    sbx_the_agent.applied_points = UINT32_MAX;
    sbx_the_agent.wanted_points = settings->enabled != 0 ? settings->points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0;
    sbx_the_capture.header->async_signal = (uint32_t)sbx_sampler_start();
    sbx_store_relaxed(sbx_the_capture.gate + 1, 1);
    sbx_store_relaxed(sbx_the_capture.gate, settings->enabled != 0);
    if ((pid_t)syscall(SYS_gettid) == getpid()) {
        sbx_thread_register_self();
    }
    if (settings->enabled != 0) {
        uint32_t unsettled; /* what another thread is loading right now: the module thread looks again */
        sbx_the_capture.header->hooked_slots = sbx_got_hook_apply(sbx_the_agent.wanted_points, &unsettled);
        sbx_store_relaxed(&sbx_modules_dirty, unsettled != 0);
        sbx_the_agent.applied_points = sbx_the_agent.wanted_points;
        sbx_the_capture.control->hooked_points = sbx_the_agent.wanted_points;
    }
    sbx_loader_visit_start();
    if (sbx_rows_default_folder(sbx_the_agent.rows_folder, sizeof sbx_the_agent.rows_folder) != 0) {
        sbx_the_agent.rows_folder[0] = 0; /* a daemon without a home builds its rows at each start */
    }
    result = start_thread(&sbx_the_agent.module_thread, sbx_module_main);
    if (result == 0) {
        result = start_thread(&sbx_the_agent.watch_thread, sbx_watch_main);
    }
    if (result != 0) {
        sbx_store_relaxed(sbx_the_capture.gate,
                          0); /* the hooks pass through from here on; the module thread takes them out */
        sbx_store_release(&sbx_the_agent.stopping, 1); /* order: release agent.stopping */
        sbx_module_thread_call(0);
        sbx_recording_unlink(&sbx_the_agent.recording);
        return result;
    }
    sbx_store_release(&sbx_the_capture.header->state,
                      SBX_STATE_LIVE);               /* order: release header.state - all sections are whole */
    sbx_store_release(&sbx_the_agent.is_running, 1); /* order: release agent.is_running */
    return 0;
}

/* Wait for what was promised: a snapshot being made, or a slow message told but not judged yet. */
static bool wait_for_snapshot(uint32_t timeout_ms)
{
    uint32_t index = sbx_the_capture.header->main_thread;
    struct sbx_thread *thread = index < SBX_THREADS_MAX ? sbx_thread_at(index) : NULL;
    for (uint32_t waited_ms = 0; thread != NULL && waited_ms < timeout_ms; waited_ms++) {
        if (sbx_load_acquire(&thread->loop.slow_message) == 0) { /* order: acquire loop.slow_message */
            break;
        }
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    return wait_until(&sbx_the_agent.snapshot_active, 0, timeout_ms); /* order: acquire snapshot_active */
}

static void close_recording(void)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    sbx_store_release(&header->note.open, 0);           /* order: release note.open */
    sbx_store_release(&header->state, SBX_STATE_CLEAN); /* order: release header.state */
    sbx_recording_unlink(&sbx_the_agent.recording);
}

int sbx_agent_stop(uint32_t timeout_ms)
{
    uint32_t expected = 1;
    if (!sbx_cas_acq_rel(&sbx_the_agent.is_running, &expected, 0)) { /* order: acq_rel agent.is_running - one stopper */
        return -ESRCH;
    }
    bool in_time = wait_for_snapshot(timeout_ms);
    sbx_store_relaxed(sbx_the_capture.gate, 0);
    sbx_thread_registry_stop();
    sbx_store_release(&sbx_the_agent.stopping, 1); /* order: release agent.stopping */
    sbx_module_thread_call(0);
    sbx_capture_ring_bell();
    /* order: acquire agent.tid - what the threads did is done */
    in_time &= wait_until(&sbx_the_agent.module_tid, 0, timeout_ms);
    in_time &= wait_until(&sbx_the_agent.watch_tid, 0, timeout_ms);
    if (in_time) {
        pthread_join(sbx_the_agent.module_thread, NULL);
        pthread_join(sbx_the_agent.watch_thread, NULL);
    } else {
        pthread_detach(sbx_the_agent.module_thread);
        pthread_detach(sbx_the_agent.watch_thread);
    }
    close_recording();
    return in_time ? 0 : -ETIMEDOUT;
}

void sbx_agent_process_exits(void)
{
    /* A forked child runs the same exit handlers: the recording is not its own, and its gate page is wiped. */
    if (sbx_load_acquire(&sbx_the_agent.is_running) == 0 || sbx_the_capture.header->pid != (uint32_t)getpid()) {
        return;
    }
    wait_for_snapshot(EXIT_WAIT_MS);
    sbx_store_relaxed(sbx_the_capture.gate, 0);
    close_recording();
}
