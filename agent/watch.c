/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - sbx-watch: the tick, the watchdog, the snapshots.
 *
 * It ticks only while the application works: when the process has used no CPU time for a few ticks and no message is
 * open it sleeps on the bell without a time-out, and the next record or message rings it. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "pages.h"
#include "point.h"
#include "recording_upkeep.h"
#include "sampler.h"
#include "snapshot_copy.h"
#include "thread_clock.h"
#include "trigger_decision.h"

enum {
    REST_AFTER_TICKS = 4,       /* quiet ticks before the watch thread lies down */
    QUIET_CPU_NS = 20000,       /* CPU time of the application in a tick that counts as quiet */
    SCAN_EVERY_NS = 500000000,  /* how often threads are listed while it is awake */
    CALIBRATE_EVERY_NS = 1000000000, /* once the clock is calibrated */
    SCRATCH_BYTES = 256 * 1024, /* bounce buffer of the snapshot copy */
};

static struct {
    struct sbx_capture_settings settings;
    uint64_t last_look_ns, last_scan_ns, last_calibration_ns;
    uint64_t process_cpu_ns, own_cpu_ns; /* at the last tick */
    uint64_t random;                     /* xorshift state for the phase of the ticks */
    uint64_t late_message, late_ns;      /* the message being judged, and how late looks were while it was open */
    uint64_t last_snapshot_ns[SBX_TRIGGER_KINDS];
    uint32_t quiet_ticks;
    uint32_t answered_request; /* control page's snapshot_request */
    void *scratch;
} watch;

/* ---- snapshots ---- */

static int write_snapshot(const struct sbx_trigger_entry *trigger, const uint8_t id[16], uint64_t now_ns)
{
    char folder_path[SBX_PATH_MAX + 8], name[64], temporary[72];
    snprintf(folder_path, sizeof folder_path, "%s/raw", sbx_the_capture.header->spool_path);
    int result = sbx_make_folders(folder_path);
    if (result != 0) {
        return result;
    }
    int folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return -errno;
    }
    for (unsigned i = 0; i < 16; i++) {
        snprintf(name + 2 * i, 3, "%02x", id[i]);
    }
    memcpy(name + 32, SBX_RAW_SUFFIX, sizeof SBX_RAW_SUFFIX);
    snprintf(temporary, sizeof temporary, ".%s.%u.tmp", name, sbx_the_capture.header->pid);
    int file = openat(folder, temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        result = -errno;
        goto close_folder;
    }
    result = sbx_snapshot_copy(sbx_the_capture.header, file, trigger, id, now_ns, watch.scratch, SCRATCH_BYTES);
    if (result == 0 && fsync(file) != 0) {
        result = -errno;
    }
    if (close(file) != 0 && result == 0) {
        result = -errno;
    }
    if (result == 0 && renameat(folder, temporary, folder, name) != 0) {
        result = -errno;
    }
    if (result == 0 && fsync(folder) != 0) {
        result = -errno;
    }
    if (result != 0) {
        unlinkat(folder, temporary, 0);
    }
close_folder:
    close(folder);
    return result;
}

/* Freeze the recent past. Returns 0 or -errno; every failure is counted where the next snapshot tells of it. */
static int make_snapshot(const struct sbx_trigger_entry *trigger)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    uint64_t now_ns = sbx_now_ns();
    if (!sbx_snapshot_is_allowed(now_ns, watch.last_snapshot_ns[trigger->kind], watch.settings.min_gap_ms)) {
        sbx_count_drop(SBX_DROP_SNAPSHOT_RATE);
        return -EAGAIN;
    }
    sbx_store_release(&sbx_the_agent.snapshot_active, 1); /* order: release snapshot_active - exit waits for it */
    sbx_sampler_capture_all(now_ns);
    uint8_t id[16];
    int result = getrandom(id, sizeof id, GRND_NONBLOCK) == (ssize_t)sizeof id ? 0 : -EAGAIN;
    if (result == 0) {
        result = write_snapshot(trigger, id, sbx_now_ns());
    }
    if (result == 0) {
        watch.last_snapshot_ns[trigger->kind] = now_ns;
        header->snapshots_made++;
    } else {
        header->last_error = (uint32_t)-result;
        sbx_count_drop(SBX_DROP_SNAPSHOT_FAILED);
    }
    sbx_store_release(&sbx_the_agent.snapshot_active, 0); /* order: release snapshot_active */
    syscall(SYS_futex, &sbx_the_agent.snapshot_active, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return result;
}

static struct sbx_thread *main_thread(void)
{
    uint32_t index = sbx_the_capture.header->main_thread;
    return index < SBX_THREADS_MAX ? sbx_thread_at(index) : NULL;
}

static int make_manual_snapshot(uint64_t now_ns)
{
    const struct sbx_thread *thread = main_thread();
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_MANUAL, .begin_ns = now_ns, .end_ns = now_ns};
    if (thread != NULL) {
        uint64_t begin_ns = sbx_load_acquire(&thread->entry->message_begin_ns);
        trigger.thread = thread->index;
        if (begin_ns != 0 && begin_ns < now_ns) {
            trigger.begin_ns = begin_ns;
            trigger.message = thread->entry->message;
            trigger.in_progress = 1;
        }
    }
    return make_snapshot(&trigger);
}

static void answer_requests(uint64_t now_ns)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    uint32_t request = sbx_load_acquire(&control->snapshot_request); /* order: acquire control.snapshot_request */
    if (request != watch.answered_request) {
        watch.answered_request = request;
        control->snapshot_result = (uint32_t)-make_manual_snapshot(now_ns);
        sbx_store_release(&control->snapshot_answer, request); /* order: release control.snapshot_answer */
        syscall(SYS_futex, &control->snapshot_answer, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    uint32_t wanted = sbx_load_acquire(&sbx_the_agent.snapshot_wanted); /* order: acquire agent.snapshot_wanted */
    if (wanted != sbx_load_relaxed(&sbx_the_agent.snapshot_done)) {
        sbx_the_agent.snapshot_result = make_manual_snapshot(now_ns);
        sbx_store_release(&sbx_the_agent.snapshot_done, wanted); /* order: release agent.snapshot_done */
        syscall(SYS_futex, &sbx_the_agent.snapshot_done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
}

/* ---- the watchdog ---- */

static void withdraw_note(void)
{
    if (sbx_the_capture.header->note.open != 0) {
        sbx_store_release(&sbx_the_capture.header->note.open, 0); /* order: release note.open */
    }
}

static void leave_note(const struct sbx_thread *thread, uint64_t message, uint64_t begin_ns)
{
    struct sbx_note *note = &sbx_the_capture.header->note;
    if (note->open != 0 && note->message == message) {
        return;
    }
    sbx_store_release(&note->open, 0); /* order: release note.open - a reader after a kill finds whole notes only */
    note->thread = thread->index;
    note->message = message;
    note->begin_ns = begin_ns;
    sbx_store_release(&note->open, 1); /* order: release note.open */
}

/* The message that just ended was slow: unless the process was stopped meanwhile, or it fired as `anr` already. */
static void judge_slow_message(struct sbx_thread *thread)
{
    struct sbx_message_loop *loop = &thread->loop;
    uint64_t message = sbx_load_acquire(&loop->slow_message); /* order: acquire loop.slow_message */
    if (message == 0) {
        return;
    }
    struct sbx_message_view view = {.now_ns = loop->slow_end_ns,
                                    .begin_ns = loop->slow_begin_ns,
                                    .late_ns = watch.late_message == message ? watch.late_ns : 0,
                                    .has_fired = loop->anr_message == message};
    uint32_t limit_ms = watch.settings.slow_message_ms;
    struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_SLOW_MESSAGE,
                                        .thread = thread->index,
                                        .begin_ns = view.begin_ns,
                                        .end_ns = view.now_ns,
                                        .message = message,
                                        .threshold_ms = limit_ms};
    sbx_store_release(&loop->slow_message, 0); /* order: release loop.slow_message - the next may be told */
    if (sbx_message_is_over(&view, limit_ms)) {
        make_snapshot(&trigger);
    }
}

/* Look at the message that is open now. */
static void judge_open_message(struct sbx_thread *thread, uint64_t now_ns)
{
    uint64_t begin_ns = sbx_load_acquire(&thread->entry->message_begin_ns); /* order: acquire entry.message_begin_ns */
    uint64_t message = thread->entry->message;
    if (begin_ns == 0 || now_ns <= begin_ns) {
        withdraw_note();
        return;
    }
    if (sbx_the_capture.header->note.open != 0 && sbx_the_capture.header->note.message != message) {
        withdraw_note();
    }
    struct sbx_message_view view = {.now_ns = now_ns,
                                    .begin_ns = begin_ns,
                                    .last_look_ns = watch.last_look_ns,
                                    .tick_ns = (uint64_t)watch.settings.gap_us * 1000u,
                                    .has_fired = thread->loop.anr_message == message};
    if (watch.late_message != message) {
        watch.late_message = message;
        watch.late_ns = 0;
    }
    watch.late_ns += sbx_late_ns(&view);
    view.late_ns = watch.late_ns;
    struct sbx_message_view note_view = view;
    note_view.has_fired = false;
    if (sbx_message_is_over(&note_view, watch.settings.note_ms)) {
        leave_note(thread, message, begin_ns);
    }
    if (sbx_message_is_over(&view, watch.settings.anr_ms)) {
        struct sbx_trigger_entry trigger = {.kind = SBX_TRIGGER_ANR,
                                            .thread = thread->index,
                                            .begin_ns = begin_ns,
                                            .end_ns = now_ns,
                                            .message = message,
                                            .threshold_ms = watch.settings.anr_ms,
                                            .in_progress = 1};
        thread->loop.anr_message = message; /* one report a message */
        make_snapshot(&trigger);
    }
}

/* ---- settings ---- */

static void take_settings(void)
{
    struct sbx_control_page *control = sbx_the_capture.control;
    uint32_t generation = sbx_load_acquire(&control->generation); /* order: acquire control.generation */
    if (generation == control->applied) {
        return;
    }
    struct sbx_capture_settings wanted = control->wanted;
    if (sbx_load_acquire(&control->generation) != generation) {
        return; /* a writer is at it: the next tick has it whole */
    }
    watch.settings = wanted;
    sbx_capture_apply(&wanted);
    control->in_force = wanted;
    withdraw_note();
    struct sbx_thread *thread = main_thread();
    if (thread != NULL && sbx_load_relaxed(sbx_the_capture.gate) == 0) {
        /* What was open when recording stopped has long ended: the loop must be met anew before it is judged. */
        thread->loop.hits = 0;
        sbx_store_seq_cst(&thread->entry->message_begin_ns, 0);
    }
    sbx_store_relaxed(sbx_the_capture.gate, wanted.enabled != 0);
    sbx_module_thread_call(wanted.enabled != 0 ? wanted.points | SBX_POINT_BIT(SBX_GROUP_LOADER) : 0);
    sbx_store_release(&control->applied, generation); /* order: release control.applied */
    syscall(SYS_futex, &control->applied, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- the tick ---- */

/* The application's own CPU time since the last tick: the process's without ours. Two system calls, however many
 * threads. */
static uint64_t application_cpu_ns(void)
{
    uint64_t process_ns = sbx_read_clock_ns(CLOCK_PROCESS_CPUTIME_ID), own_ns = sbx_own_cpu_ns();
    uint64_t process_ran = process_ns - watch.process_cpu_ns, own_ran = own_ns - watch.own_cpu_ns;
    watch.process_cpu_ns = process_ns;
    watch.own_cpu_ns = own_ns;
    return process_ran > own_ran ? process_ran - own_ran : 0;
}

static bool any_message_open(void)
{
    const struct sbx_thread *thread = main_thread();
    return thread != NULL && sbx_load_seq_cst(&thread->entry->message_begin_ns) != 0;
}

static void wait_for_bell(uint32_t bell, uint64_t timeout_ns)
{
    struct timespec pause = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    syscall(SYS_futex, &sbx_the_capture.control->bell, FUTEX_WAIT, bell, timeout_ns != 0 ? &pause : NULL, NULL, 0);
}

/* The tick's length: the gap filler's, with some jitter so that it does not beat with the application's own rhythm
 * (Profilo randomizes the phase for the same reason), between 3/4 and 5/4 of the gap. */
static uint64_t next_pause_ns(void)
{
    watch.random ^= watch.random << 13; /* xorshift64, Marsaglia 2003 */
    watch.random ^= watch.random >> 7;
    watch.random ^= watch.random << 17;
    uint64_t gap_ns = (uint64_t)watch.settings.gap_us * 1000u;
    return gap_ns * 3 / 4 + watch.random % (gap_ns / 2 + 1);
}

/* Lie down until somebody rings: by then each thread is due at its next point. */
static void rest(uint32_t bell)
{
    sbx_store_seq_cst(&sbx_the_capture.resting, 1); /* order: seq_cst resting - Dekker with message_begin_ns */
    if (!any_message_open() && sbx_load_acquire(&sbx_the_agent.stopping) == 0) {
        wait_for_bell(bell, 0);
    }
    sbx_store_seq_cst(&sbx_the_capture.resting, 0);
    watch.quiet_ticks = 0;
    watch.last_look_ns = 0; /* the time asleep was no gap of ours */
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

static void tick(uint64_t now_ns)
{
    struct sbx_recording_header *header = sbx_the_capture.header;
    header->heartbeat_ns = now_ns;
    if (watch.last_look_ns != 0) {
        int64_t distance_ns = (int64_t)(now_ns - watch.last_look_ns), mean_ns = (int64_t)header->async_interval_ns;
        header->async_interval_ns = (uint64_t)(mean_ns == 0 ? distance_ns : mean_ns + (distance_ns - mean_ns) / 16);
    }
    header->tick++;
    take_settings();
    answer_requests(now_ns);
    if (watch.settings.enabled == 0) {
        watch.last_look_ns = now_ns;
        return;
    }
    if (now_ns - watch.last_scan_ns >= SCAN_EVERY_NS) {
        watch.last_scan_ns = now_ns;
        sbx_thread_registry_scan(sbx_the_agent.watch_tid, sbx_the_agent.module_tid);
    }
    struct sbx_thread *thread = main_thread();
    if (thread != NULL) {
        judge_slow_message(thread);
        judge_open_message(thread, now_ns);
    }
    sbx_sampler_step(&watch.settings, now_ns);
    sbx_upkeep_callstacks();
    sbx_upkeep_chunks(now_ns);
    calibrate(now_ns);
    watch.last_look_ns = now_ns;
}

void *sbx_watch_main(void *unused)
{
    (void)unused;
    sbx_thread_become(SBX_THREAD_GONE);
    prctl(PR_SET_NAME, "sbx-watch");
    sbx_store_release(&sbx_the_agent.watch_tid, (uint32_t)syscall(SYS_gettid)); /* order: release agent.tid */
    memset(&watch, 0, sizeof watch);
    watch.random = sbx_now_ns() | 1;
    watch.scratch = sbx_pages_map(SCRATCH_BYTES);
    watch.answered_request = sbx_the_capture.control->snapshot_request;
    while (sbx_load_acquire(&sbx_the_agent.stopping) == 0 &&
           watch.scratch != NULL) {                                       /* order: acquire agent.stopping */
        uint32_t bell = sbx_load_acquire(&sbx_the_capture.control->bell); /* order: acquire bell */
        tick(sbx_now_ns());
        if (sbx_load_relaxed(&sbx_modules_dirty) != 0) {
            sbx_module_thread_call(sbx_load_relaxed(&sbx_the_agent.wanted_points));
        }
        bool is_quiet = application_cpu_ns() < QUIET_CPU_NS && !any_message_open();
        watch.quiet_ticks = is_quiet ? watch.quiet_ticks + 1 : 0;
        if (watch.quiet_ticks >= REST_AFTER_TICKS || watch.settings.enabled == 0) {
            rest(bell);
        } else {
            wait_for_bell(bell, next_pause_ns());
        }
    }
    sbx_store_release(&sbx_the_agent.watch_tid, 0); /* order: release agent.tid */
    return NULL;
}
