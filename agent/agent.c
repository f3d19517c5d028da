/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - start and stop of the recorder, in order. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attendance.h"
#include "clock.h"
#include "consent.h"
#include "crash_signals.h"
#include "family.h"
#include "got_hook.h"
#include "handover.h"
#include "libc_symbols.h"
#include "loader_visit.h"
#include "locked_memory.h"
#include "message_loop.h"
#include "message_names.h"
#include "module_map.h"
#include "module_thread.h"
#include "own_folder.h"
#include "own_thread.h"
#include "pages.h"
#include "point.h"
#include "process_barrier.h"
#include "process_state.h"
#include "providers.h"
#include "runtime_modules.h"
#include "sample_signal.h"
#include "sampler.h"
#include "service_pings.h"
#include "signal_stack.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_block.h"
#include "thread_clock.h"
#include "thread_end.h"
#include "thread_seats.h"
#include "thread_stack.h"
#include "told_stalls.h"
#include "watch.h"
#include "watchdog.h"

enum {
    EXIT_WAIT_MS = 500,   /* how long an exiting process waits for a snapshot in flight */
    CLOSE_WAIT_MS = 100,  /* how long it waits until the recording's name is removed; usually some 0.05 ms */
    HOOK_MAX_NS = 500000, /* how long the starting thread patches slots: some 10 to 20 modules */
    OPEN_WAIT_MS = 200,   /* how long the starting thread waits until a record can be written; usually 1 to 2 */
    LEAVE_WAIT_MS = 1000, /* how long a program that needs the recorder gone waits for its end */
};

static bool is_declined; /* what sbx_agent_look_at_environment() found */

/* Valgrind's tools run the program on a simulated processor, report a stack walk as a read of uninitialized memory, and
 * preload vgpreload_*.so into the program (Valgrind's manual, 2.8). */
static bool is_in_valgrind(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return preloaded != NULL && strstr(preloaded, "vgpreload_") != NULL;
}

bool sbx_agent_is_declined(void)
{
    const char *off = getenv("STALLBOX_DISABLE");
    return !sbx_libc_is_ours() || is_in_valgrind() || (off != NULL && off[0] != 0 && strcmp(off, "0") != 0) ||
           getauxval(AT_SECURE) != 0 || getuid() != geteuid();
}

/* The environment is read once, by the starting thread or before main(): getenv() is undefined while another thread
 * calls setenv(), and a late start runs on a thread of its own. */

void sbx_agent_look_at_environment(void)
{
    static bool has_looked;
    if (has_looked) {
        return;
    }
    has_looked = true;
    const char *seats = getenv("STALLBOX_SEATS"); /* tests/host: few seats, so that threads take turns */
    if (seats != NULL && atoi(seats) > 0) {
        sbx_seats_allow((uint32_t)atoi(seats));
    }
    const char *children =
        getenv("STALLBOX_FAMILY_SEATS"); /* tests/integration/family: few seats, so that workers take turns */
    if (children != NULL && atoi(children) > 0) {
        sbx_family_allow_seats((uint32_t)atoi(children));
    }
    const char *starts =
        getenv("STALLBOX_FAMILY_STARTS"); /* tests, bench_forks: children are put off at once, or never */
    if (starts != NULL && starts[0] != 0) {
        sbx_family_lend_starts((uint32_t)atoi(starts));
    }
    const char *place = getenv("STALLBOX_SIGNAL_PLACE"); /* tests/host, tests/stress: as on older kernels */
    if (place != NULL && strcmp(place, "anywhere") == 0) {
        sbx_sample_fire_anywhere();
    }
    is_declined = sbx_agent_is_declined();
    sbx_service_pings_look_at_environment();
    sbx_runtime_modules_look_at_environment();
    sbx_own_thread_prepare(&sbx_the_capture.own_threads);
    if (sbx_rows_default_folder(sbx_the_agent.rows_folder, sizeof sbx_the_agent.rows_folder) != 0) {
        sbx_the_agent.rows_folder[0] = 0; /* a daemon without a home builds its rows at each start */
    }
}

/* Does the recording belong to this process? The pid is compared, and not the gate page, because kernels before 4.14 do
 * not wipe that page at a fork. */
static bool is_owner(void)
{
    return sbx_the_capture.header != NULL && sbx_the_capture.header->pid == (uint32_t)getpid();
}

/* `wanted` is what was ordered. `settings` is what is in force of it: nothing if the user refused consent. */
static void set_first_settings(const struct sbx_capture_settings *wanted, const struct sbx_capture_settings *settings)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    control->wanted = *wanted;
    control->in_force = *settings;
    sbx_store_release(&control->generation, 1); /* order: release control.generation */
    sbx_capture_apply(settings);
}

/* Hooks the program's own calls and those of the first libraries, within the time that a start may take. The module
 * thread hooks the rest, and the modules that another thread is loading right now. */
static void hook_what_is_quick(void)
{
    uint64_t wanted = sbx_the_agent.wanted_points;
    uint32_t left;
    sbx_loader_visit_begin(); /* in a late start the program's threads run meanwhile, and may fork */
    sbx_the_capture.header->hooked_slots = sbx_got_hook_apply(wanted, sbx_now_ns() + HOOK_MAX_NS, &left);
    sbx_loader_visit_end();
    sbx_the_agent.hooks_were_whole = left == 0;
    if (left == 0) {
        sbx_capture_hooks_are_in(
            wanted); /* a forked child's parent that served no clients had no hooks of the client points */
        sbx_the_agent.applied_points = wanted;
        sbx_the_capture.control->hooked_points = wanted;
    }
}

/* The start has failed while our threads run. From here on the hooks pass every call through; the module thread removes
 * them. */
static int give_up(int result)
{
    sbx_store_relaxed(sbx_the_capture.gate, 0);
    sbx_store_release(&sbx_the_agent.stopping, 1); /* order: release agent.stopping */
    sbx_module_thread_call(0);
    sbx_crash_signals_stop();
    sbx_recording_unlink(&sbx_the_agent.recording);
    return result;
}

static void leave_to_the_program(void);

/* A process starts once, by whichever thread comes first: the pages of the first recording stay mapped because hooks
 * may still use them. A start that failed before there was a recording may be tried again. */
static uint32_t has_started;
SBX_OF_ONE_PROCESS(has_started);

int sbx_agent_may_start(void)
{
    /* order: acquire agent.is_running; a forked child has a copy of the word, but no recorder */
    if (sbx_load_acquire(&sbx_the_agent.is_running) != 0) {
        return is_owner() ? -EALREADY : -ENOTSUP;
    }
    if (sbx_load_acquire(&has_started) == 0) { /* order: acquire agent.has_started */
        return 0;
    }
    return sbx_load_acquire(&sbx_the_agent.stopping) == 0 ? -EALREADY : -ENOTSUP; /* order: acquire agent.stopping */
}

/* Creates the recording and writes into it what this process is. 0 or -errno: then there is no recording, and the start
 * may be tried again. */
static int make_recording(const char *recordings_folder, const char *spool_path,
                          const struct sbx_capture_settings *wanted, enum sbx_consent consent)
{
    /* The recording's name contains an identifier of the spool folder (recording_name.h), so the folder must exist. If
     * it cannot be created, the first snapshot that cannot be written reports the error. */
    bool is_worker = sbx_the_agent.family.role == SBX_ROLE_WORKER; /* its parent has made it, or its root has changed */
    int result = !is_worker && access(spool_path, F_OK) != 0 ? sbx_make_folders(spool_path) : 0;
    result = is_worker ? sbx_recording_create_for_worker(recordings_folder, spool_path, sbx_the_agent.parent_modules,
                                                         &sbx_the_agent.recording)
                       : sbx_recording_create_sized(recordings_folder, spool_path, wanted->recording_kib,
                                                    &sbx_the_agent.recording);
    if (result != 0) {
        return result;
    }
    struct sbx_recording_header *header = sbx_the_agent.recording.header;
    header->consent = consent;
    header->family = sbx_the_agent.family;
    memcpy(header->app_name, sbx_the_agent.app_name, sizeof sbx_the_agent.app_name);
    memcpy(header->app_version, sbx_the_agent.app_version, sizeof sbx_the_agent.app_version);
    uint32_t *gate = sbx_pages_map_wiped_on_fork(4096);
    if (gate == NULL) {
        sbx_recording_unlink(&sbx_the_agent.recording);
        return -ENOMEM;
    }
    sbx_the_capture.gate = gate;
    return 0;
}

/* From here on capture writes to this recording, as far as it can without hooks, a module map and a ring. 0 or
 * -errno. */
static int attach(const struct sbx_capture_settings *wanted, const struct sbx_capture_settings *settings)
{
    sbx_the_capture.agent_begin =
        (uint64_t)(uintptr_t)&sbx_agent_start; /* widened to the whole module when the module is described */
    sbx_the_capture.agent_end = sbx_the_capture.agent_begin + 1;
    sbx_clock_start();
    sbx_capture_attach(sbx_the_agent.recording.header);
    sbx_providers_publish();
    sbx_ring_close_whole(&sbx_the_capture.ring);
    set_first_settings(wanted, settings);
    sbx_the_capture.control->handover.key = sbx_the_agent.companion_key;
    sbx_the_capture.control->handover.roster = sbx_attendance_roster();
    int result = sbx_thread_registry_start(sbx_the_capture.header, sbx_the_capture.threads, &sbx_thread_end);
    if (result != 0) {
        sbx_recording_unlink(&sbx_the_agent.recording);
        return result;
    }
    sbx_the_agent.applied_points = UINT64_MAX;
    sbx_the_agent.hooks_were_whole = 0;
    sbx_the_agent.wanted_points = settings->enabled != 0 ? settings->points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0;
    sbx_the_capture.header->async_signal = (uint32_t)sbx_sampler_start();
    sbx_store_relaxed(sbx_the_capture.gate + 1, 1);
    sbx_message_names_publish(); /* a forked child's parent may have named some */
    sbx_loader_visit_start();
    return 0;
}

/* The calling thread installs the first hooks, and then hands the hooks over to the module thread. */
static void hook(const struct sbx_capture_settings *settings)
{
    sbx_got_hook_resolve();
    sbx_store_relaxed(sbx_the_capture.gate, settings->enabled != 0);
    if ((pid_t)syscall(SYS_gettid) == getpid()) {
        sbx_thread_register_self();
    }
    if (settings->enabled != 0) {
        hook_what_is_quick();
    }
    sbx_store_release(&sbx_the_agent.hooks_are_handed_over,
                      1); /* order: release agent.hooks - the module thread owns the hooks */
    syscall(SYS_futex, &sbx_the_agent.hooks_are_handed_over, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    /* before the watch thread starts, because that thread continues with them */
    sbx_crash_signals_start(
        settings, sbx_load_acquire(&sbx_the_agent.hooks_were_whole), /* order: acquire agent.hooks_were_whole */
        sbx_now_ns());
}

static void say_that_it_runs(void)
{
    sbx_store_release(&sbx_the_capture.header->state,
                      SBX_STATE_LIVE);               /* order: release header.state - all sections are whole */
    sbx_store_release(&sbx_the_agent.is_running, 1); /* order: release agent.is_running */
    sbx_store_relaxed(&sbx_the_capture.own_tid,
                      sbx_load_acquire(&sbx_the_agent.module_tid));  /* order: acquire agent.tid */
    sbx_store_release(&sbx_the_capture.leave, leave_to_the_program); /* order: release capture.leave */
}

/* Start from a thread that continues with other work: the module thread runs beside it, and the caller waits for it. */
static int start_threads(const struct sbx_capture_settings *settings)
{
    /* The module thread opens the recording while we look for calls to hook. It touches no hook before the hooks are
     * handed over. */
    int result = sbx_own_thread_start(SBX_OWN_MODULES, &sbx_the_agent.module_thread, sbx_module_main);
    if (result != 0) {
        sbx_recording_unlink(&sbx_the_agent.recording);
        return result;
    }
    sbx_thread_learn_stack_bounds(sbx_the_agent.module_thread);
    hook(settings);
    result = sbx_own_thread_start(SBX_OWN_WATCH, &sbx_the_agent.watch_thread, sbx_watch_main);
    if (result != 0) {
        return give_up(result);
    }
    /* The caller may expect that what it does after the start is recorded. The module thread has worked in parallel, so
     * we wait for it, but not for ever: if the machine has no processor for the module thread, it has none for the
     * application either. */
    uint64_t begin_ns = sbx_now_ns();
    if (!sbx_agent_wait_for(&sbx_the_agent.opened, SBX_OPENED, OPEN_WAIT_MS) &&
        sbx_load_acquire(&sbx_the_agent.opened) == SBX_OPEN_NOT) { /* order: acquire agent.opened */
        return give_up(-ENOSPC);
    }
    uint64_t waited_ms = (sbx_now_ns() - begin_ns) / 1000000;
    if (sbx_the_agent.companion_key != 0 && waited_ms < OPEN_WAIT_MS) { /* the host may drop its privileges next */
        /* order: acquire agent.watch_is_up */
        (void)sbx_agent_wait_for(&sbx_the_agent.watch_is_up, 1, OPEN_WAIT_MS - (uint32_t)waited_ms);
    }
    return 0;
}

/* Start from the module thread: there is one thread less, no thread to wait for, and both threads share one descriptor
 * table. */
static int start_watch_thread(const struct sbx_capture_settings *settings)
{
    sbx_the_agent.module_thread = pthread_self();
    hook(settings);
    sbx_module_thread_open();
    if (sbx_load_acquire(&sbx_the_agent.opened) == SBX_OPEN_NOT) { /* order: acquire agent.opened */
        return give_up(-ENOSPC);
    }
    if (sbx_the_agent.shares_descriptors != 0) { /* the host may drop its privileges next */
        sbx_handover_start();
    }
    int result = sbx_own_thread_start(SBX_OWN_WATCH, &sbx_the_agent.watch_thread, sbx_watch_main);
    return result != 0 ? give_up(result) : 0;
}

static int start(const char *recordings_folder, const char *spool_path, const struct sbx_capture_settings *wanted,
                 enum sbx_consent said, bool is_consent_required, bool by_module_thread)
{
    struct sbx_capture_settings settings = *wanted;
    enum sbx_consent consent = said == SBX_CONSENT_UNKNOWN && !is_consent_required ? SBX_CONSENT_GRANTED : said;
    sbx_agent_look_at_environment();
    uint32_t expected = 0;
    int result = sbx_agent_may_start();
    if (result != 0) {
        return result;
    }
    if (is_declined || sbx_may_lock_all_memory()) {
        return -ECANCELED;
    }
    if (!sbx_cas_acq_rel(&has_started, &expected, 1)) { /* order: acq_rel agent.has_started - one starter */
        return sbx_agent_may_start();
    }
    result = make_recording(recordings_folder, spool_path, wanted, consent);
    if (result != 0) {
        sbx_store_release(&has_started, 0); /* order: release agent.has_started */
        return result;
    }
    sbx_the_agent.is_consent_required = is_consent_required;
    sbx_store_relaxed(&sbx_the_agent.consent_said, said);
    settings.enabled = consent == SBX_CONSENT_DENIED ? 0 : wanted->enabled;
    result = attach(wanted, &settings);
    if (result == 0) {
        result = by_module_thread ? start_watch_thread(&settings) : start_threads(&settings);
    }
    if (result == 0) {
        say_that_it_runs();
    }
    return result;
}

int sbx_agent_start(const char *recordings_folder, const char *spool_path, const struct sbx_capture_settings *wanted,
                    enum sbx_consent said, bool is_consent_required)
{
    return start(recordings_folder, spool_path, wanted, said, is_consent_required, false);
}

int sbx_agent_start_by_module_thread(const char *recordings_folder, const char *spool_path,
                                     const struct sbx_capture_settings *wanted, enum sbx_consent said,
                                     bool is_consent_required)
{
    return start(recordings_folder, spool_path, wanted, said, is_consent_required, true);
}

/* Wait for pending work: a snapshot being made, a reported slow message that has not been judged yet, the end of a
 * reported stall. */
static bool wait_for_snapshot(uint32_t timeout_ms)
{
    sbx_store_release(&sbx_the_agent.hurry, 1); /* order: release agent.hurry */
    sbx_capture_ring_bell();
    for (uint32_t waited_ms = 0;
         waited_ms < timeout_ms && sbx_capture_is_open() && (sbx_watchdog_has_news() || sbx_told_is_open());
         waited_ms++) {
        uint32_t nobodys_word =
            0; /* at an exit this is the program's thread: only calls for which its filter was judged */
        (void)sbx_agent_wait_for(&nobodys_word, 1, 1);
    }
    return sbx_agent_wait_for(&sbx_the_agent.snapshot_active, 0, timeout_ms); /* order: acquire snapshot_active */
}

static void mark_clean(void)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    sbx_store_release(&header->note.open, 0);           /* order: release note.open */
    sbx_store_release(&header->state, SBX_STATE_CLEAN); /* order: release header.state */
}

/* The calling thread is the program's. It exits, perhaps in a sandbox that allows futex but not unlink, so the watch
 * thread removes the name. If it does not do so in time, the process that looks next finds a clean recording of a dead
 * process. */
static void have_recording_closed(void)
{
    mark_clean();
    if (sbx_self == SBX_THREAD_GONE) { /* this is the last thread, and it is ours */
        sbx_recording_unlink(&sbx_the_agent.recording);
        return;
    }
    sbx_store_release(&sbx_the_agent.exit_asked, 1); /* order: release agent.exit_asked */
    sbx_capture_ring_bell();
    if (sbx_load_acquire(&sbx_the_agent.watch_tid) != 0) {                    /* order: acquire agent.tid */
        (void)sbx_agent_wait_for(&sbx_the_agent.exit_done, 1, CLOSE_WAIT_MS); /* order: acquire agent.exit_done */
    }
}

int sbx_agent_stop(uint32_t timeout_ms)
{
    uint32_t expected = 1;
    if (!is_owner()) { /* a forked child must not close its parent's recording */
        return -ESRCH;
    }
    if (!sbx_cas_acq_rel(&sbx_the_agent.is_running, &expected, 0)) { /* order: acq_rel agent.is_running - one stopper */
        return -ESRCH;
    }
    bool in_time = wait_for_snapshot(timeout_ms);
    sbx_store_relaxed(sbx_the_capture.gate, 0);
    sbx_thread_registry_stop();
    sbx_store_relaxed(&sbx_the_agent.is_closing, 1); /* relaxed: before `stopping`. Another thread removes the name */
    sbx_store_release(&sbx_the_agent.stopping, 1);   /* order: release agent.stopping */
    sbx_module_thread_call(0);
    sbx_capture_ring_bell();
    /* order: acquire agent.tid - what the threads did is visible */
    in_time &= sbx_agent_wait_for(&sbx_the_agent.module_tid, 0, timeout_ms);
    in_time &= sbx_agent_wait_for(&sbx_the_agent.watch_tid, 0, timeout_ms);
    /* Again: a watch thread that was applying settings at that moment may have opened the gate. */
    sbx_store_relaxed(sbx_the_capture.gate, 0);
    if (in_time) {
        pthread_join(sbx_the_agent.module_thread, NULL);
        pthread_join(sbx_the_agent.watch_thread, NULL);
    } else {
        pthread_detach(sbx_the_agent.module_thread);
        pthread_detach(sbx_the_agent.watch_thread);
    }
    sbx_thread_forbid_asking();
    sbx_crash_signals_stop();
    mark_clean();
    sbx_family_give_seat((uint32_t)getpid());
    return in_time ? 0 : -ETIMEDOUT;
}

/* A thread that was joined may still be counted as one of the process for some microseconds. */
static bool is_gone(uint32_t tid)
{
    return tid == 0 || (syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH);
}

/* The program is about to do what it cannot do while the recorder runs: enter a sandbox that would kill it for our
 * system calls, or request something that is only granted to a process of one thread. So the recorder stops first, its
 * threads end, and every thread of the program leaves the hook that it is in: a system call that the hook would still
 * make could kill the process. */
static void leave_to_the_program(void)
{
    uint32_t watch_tid = sbx_load_acquire(&sbx_the_agent.watch_tid); /* order: acquire agent.tid */
    uint32_t module_tid = sbx_load_acquire(&sbx_the_agent.module_tid);
    sbx_agent_stop(LEAVE_WAIT_MS);
    sbx_attendance_left();
    for (uint32_t waited = 0; waited < 10 * LEAVE_WAIT_MS && !(is_gone(watch_tid) && is_gone(module_tid)); waited++) {
        const struct timespec pause = {0, 100000};
        nanosleep(&pause, NULL);
    }
    (void)sbx_process_barrier();
    for (uint32_t waited_ms = 0; waited_ms < LEAVE_WAIT_MS && !sbx_thread_registry_is_quiet(); waited_ms++) {
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
}

/* If exit() is called on the thread whose message is open too long, that message has ended after all. If it is called
 * on another thread, perhaps by the host's own watchdog, a process that does not respond is being ended. Then the
 * recording stays as a kill would leave it, and the process that looks next makes the snapshot. This does not delay the
 * exit. */
static bool ends_in_a_stall(void)
{
    const struct sbx_note *note = &sbx_the_capture.header->note;
    if (sbx_load_acquire(&note->open) == 0 || note->thread >= SBX_THREADS_MAX) { /* order: acquire note.open */
        return false;
    }
    /* The end was reported, but our thread has not run since: the note still says that the message is open. */
    return sbx_watchdog_has_news() ||
           sbx_load_relaxed(&sbx_the_capture.threads[note->thread].tid) != (uint32_t)syscall(SYS_gettid);
}

void sbx_agent_process_exits(void)
{
    /* A forked child runs the same exit handlers: the recording is not its own, and its gate page is wiped. */
    if (sbx_load_acquire(&sbx_the_agent.is_running) == 0 || !is_owner()) {
        return;
    }
    sbx_attendance_look();
    sbx_message_exit();
    bool is_made = wait_for_snapshot(EXIT_WAIT_MS); /* false: it is still being written, and is cut off */
    bool is_killed = !is_made || ends_in_a_stall();
    sbx_family_give_seat((uint32_t)getpid());
    sbx_store_relaxed(sbx_the_capture.gate, 0);
    if (!is_killed) {
        have_recording_closed();
    }
}
