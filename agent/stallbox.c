/* SPDX-License-Identifier: Apache-2.0 */
/* stallbox.c - the public functions: check arguments, call the agent, translate results. Also the start by preloading:
 * a process that `stallbox run` started finds its orders in the environment and starts recording before main(). */
#include "stallbox/stallbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "clock.h"
#include "consent.h"
#include "consent_in_force.h"
#include "forked_child.h"
#include "frame_pace.h"
#include "late_start.h"
#include "message_loop.h"
#include "message_names.h"
#include "ordered_start.h"
#include "policy.h"
#include "preload.h"
#include "recording_folder.h"
#include "spool_order.h"
#include "task.h"
#include "the_agent.h"
#include "the_capture.h"
#include "thread_block.h"
#include "untried_allocator.h"
#include "watch_table.h"

enum {
    AFTER_MAX_MS = 60000,
    VERSION_NUMBER_MAX = 999999, /* six digits, the limit of the server */
    CONDITIONS_WAIT_MS = 2000    /* for the watch thread, which may be making a snapshot */
};

static enum stallbox_result to_result(int error)
{
    switch (-error) {
    case 0:
        return STALLBOX_OK;
    case EALREADY:
        return STALLBOX_ALREADY_RUNNING;
    case ECANCELED:
        return STALLBOX_DECLINED;
    case ESRCH:
    case ENODATA: /* a worker that has just given up its seat */
        return STALLBOX_NOT_RUNNING;
    case ENOMEM:
        return STALLBOX_NO_MEMORY;
    case ETIMEDOUT:
        return STALLBOX_TIMED_OUT;
    case ENOTSUP:
    case ENOSYS:
        return STALLBOX_UNSUPPORTED;
    case EINVAL:
        return STALLBOX_BAD_ARGUMENT;
    case ENOKEY:
        return STALLBOX_NO_CONSENT;
    default:
        return STALLBOX_IO_FAILED;
    }
}

static uint32_t limit_of(uint32_t given, uint32_t by_default)
{
    return given == 0 ? by_default : given == STALLBOX_OFF ? 0 : given;
}

/* Options -> policy value -> settings. This is the only way from options to capture. */
static int settings_of(const struct stallbox_options *options, struct sbx_capture_settings *settings_out)
{
    struct sbx_policy policy = *sbx_policy_default();
    struct sbx_capture_settings *capture = &policy.capture;
    capture->anr_ms = limit_of(options->anr_ms, capture->anr_ms);
    capture->slow_message_ms = limit_of(options->slow_message_ms, capture->slow_message_ms);
    capture->slow_frame_ms = limit_of(options->slow_frame_ms, capture->slow_frame_ms);
    capture->interval_us = options->interval_us != 0 ? options->interval_us : capture->interval_us;
    capture->after_ms = options->after_ms;
    capture->max_cpu_permille = options->max_cpu_permille != 0 ? options->max_cpu_permille : capture->max_cpu_permille;
    capture->max_cpu_tenths = options->max_cpu_tenths;
    capture->recording_kib = options->recording_kib != 0 ? options->recording_kib : capture->recording_kib;
    if (capture->crash == SBX_CRASH_SETTLED) {
        capture->crash = SBX_CRASH_AT_ONCE; /* the caller installs its own handlers before this, or afterwards */
    }
    if (options->leave_crashes != 0) {
        capture->crash = SBX_CRASH_OFF;
    }
    capture->follow_forks = options->leave_forks == 0;
    if (sbx_policy_check(&policy) != NULL) {
        return -EINVAL;
    }
    sbx_policy_settings(&policy, settings_out);
    return 0;
}

/* Can the name and version be reported unchanged? A name that would be cut is refused, because the rest would name
 * another application. */
static bool is_application(const struct stallbox_options *options)
{
    const char *name = options->app_name != NULL ? options->app_name : "";
    size_t bytes = strnlen(name, SBX_APP_NAME_MAX);
    bool is_fine = bytes < SBX_APP_NAME_MAX;
    for (size_t i = 0; i < bytes; i++) {
        is_fine = is_fine && (unsigned char)name[i] >= ' ' && name[i] != 0x7f;
    }
    for (int i = 0; i < 3; i++) {
        is_fine = is_fine && options->app_version[i] <= VERSION_NUMBER_MAX;
    }
    return is_fine;
}

/* Reads the options in this library's layout. A caller compiled against an older header passes fewer members: the rest
 * is zero. A caller with a newer header passes more members: these must be zero, because we could not honour them. */
static int read_options(const struct stallbox_options *given, struct stallbox_options *options_out)
{
    const size_t first_bytes = offsetof(struct stallbox_options, slow_frame_ms);
    memset(options_out, 0, sizeof *options_out);
    if (given == NULL) {
        return 0;
    }
    if (given->sizeof_options < first_bytes || given->sizeof_options > 4096) {
        return -EINVAL;
    }
    for (size_t i = sizeof *given; i < given->sizeof_options; i++) {
        if (((const char *)given)[i] != 0) {
            return -EINVAL;
        }
    }
    memcpy(options_out, given, given->sizeof_options < sizeof *given ? given->sizeof_options : sizeof *given);
    bool is_fine = options_out->consent_required <= 1 && options_out->leave_forks <= 1 &&
                   (options_out->max_cpu_tenths == 0 || options_out->max_cpu_permille != 0);
    return is_fine && is_application(options_out) ? 0 : -EINVAL;
}

/* Takes name and version for the recording that will be made. If `stallbox run --app` has given a name before, that
 * name stays. */
static void take_application(const struct stallbox_options *options)
{
    if (options->app_name != NULL && (sbx_the_agent.companion_key == 0 || sbx_the_agent.app_name[0] == '\0')) {
        memset(sbx_the_agent.app_name, 0, sizeof sbx_the_agent.app_name);
        memcpy(sbx_the_agent.app_name, options->app_name, strlen(options->app_name));
    }
    const uint32_t *told = sbx_the_agent.app_version;
    if (sbx_the_agent.companion_key == 0 || (told[0] | told[1] | told[2]) == 0) {
        memcpy(sbx_the_agent.app_version, options->app_version, sizeof sbx_the_agent.app_version);
    }
}

enum stallbox_result stallbox_start(const struct stallbox_options *given)
{
    char folder[SBX_RECORDING_PATH_MAX], spool[SBX_RECORDING_PATH_MAX];
    struct sbx_capture_settings settings;
    struct stallbox_options options;
    int result = sbx_forked_child_start(); /* in a forked child: continues the recorder of its parent */
    if (result != -ESRCH) {
        return to_result(result);
    }
    result = read_options(given, &options);
    if (result == 0) {
        result = settings_of(&options, &settings);
    }
    if (result == 0) { /* before any call that a sandbox may forbid */
        result = sbx_agent_may_start();
    }
    if (result == 0 && options.recording_path == NULL) {
        result = sbx_recordings_choose(folder, NULL, 0);
        options.recording_path = folder;
    }
    if (result == 0 && options.spool_path == NULL) {
        result = sbx_spool_default_path(spool, sizeof spool);
        options.spool_path = spool;
    }
    if (result == 0) {
        take_application(&options);
        result = sbx_agent_start(options.recording_path, options.spool_path, &settings,
                                 sbx_consent_read(options.spool_path), options.consent_required != 0);
        if (result == 0) {
            sbx_forked_child_look_out();
        }
    }
    return to_result(result);
}

enum stallbox_result stallbox_stop(uint32_t timeout_ms)
{
    return to_result(sbx_agent_stop(timeout_ms));
}

bool stallbox_is_running(void)
{
    /* False in a forked child, which has a copy of the word. order: acquire agent.is_running */
    return sbx_load_acquire(&sbx_the_agent.is_running) != 0 && sbx_capture_is_ours();
}

enum stallbox_result stallbox_snapshot_after(uint32_t timeout_ms, uint32_t after_ms)
{
    if (after_ms > AFTER_MAX_MS) {
        return STALLBOX_BAD_ARGUMENT;
    }
    if (!stallbox_is_running() || !sbx_capture_is_open()) {
        return STALLBOX_NOT_RUNNING;
    }
    /* relaxed: if two threads ask at the same time, one value holds for both */
    sbx_store_relaxed(&sbx_the_agent.snapshot_after_ms, after_ms);
    /* order: acq_rel agent.snapshot_wanted - pairs with the watch thread's check */
    uint32_t ticket = sbx_add_acq_rel(&sbx_the_agent.snapshot_wanted, 1) + 1;
    sbx_capture_ring_bell();
    uint64_t end_ns = sbx_now_ns() + (uint64_t)timeout_ms * 1000000u;
    while (timeout_ms != 0) {
        uint32_t done = sbx_load_acquire(&sbx_the_agent.snapshot_done); /* order: acquire agent.snapshot_done */
        if ((int32_t)(done - ticket) >= 0) {
            return to_result(sbx_the_agent.snapshot_result == -EAGAIN ? 0 : sbx_the_agent.snapshot_result);
        }
        if (sbx_now_ns() >= end_ns) {
            return STALLBOX_TIMED_OUT;
        }
        const struct timespec pause = {0, 10000000};
        syscall(SYS_futex, &sbx_the_agent.snapshot_done, FUTEX_WAIT_PRIVATE, done, &pause, NULL, 0);
    }
    return STALLBOX_OK;
}

enum stallbox_result stallbox_snapshot(uint32_t timeout_ms)
{
    return stallbox_snapshot_after(timeout_ms, 0);
}

/* ---- calls of the application about its work ----
 *
 * A closed gate costs one branch. The functions that end something do not check the gate: without a begin they do
 * nothing, and what was begun before recording was switched off must be ended. */

void stallbox_message_begin(uint32_t kind)
{
    if (sbx_capture_is_open()) {
        sbx_message_enter(kind);
    }
}

void stallbox_message_end(void)
{
    if (sbx_thread_is_registered(sbx_self)) {
        sbx_message_leave();
    }
}

void stallbox_message_name(uint32_t kind, const char *name)
{
    if ((stallbox_is_running() || sbx_forked_child_is_to_come()) && name != NULL) {
        sbx_message_set_name(kind, name);
    }
}

void stallbox_set_scene(uint32_t scene)
{
    sbx_store_relaxed(&sbx_the_agent.scene, scene < SBX_SCENES ? scene : 0);
}

void stallbox_scene_name(uint32_t scene, const char *name)
{
    if ((stallbox_is_running() || sbx_forked_child_is_to_come()) && name != NULL) {
        sbx_scene_set_name(scene, name);
    }
}

void stallbox_frame_begin(void)
{
    if (sbx_capture_is_open()) {
        sbx_frame_enter();
    }
}

void stallbox_frame_end(void)
{
    if (sbx_thread_is_registered(sbx_self)) {
        sbx_frame_leave();
    }
}

uint64_t stallbox_deadline_begin(const char *what, uint32_t timeout_ms)
{
    return sbx_capture_is_open() ? sbx_watch_begin(SBX_WATCH_DEADLINE, what, timeout_ms) : 0;
}

void stallbox_deadline_end(uint64_t id)
{
    if (id != 0) {
        sbx_watch_end(id);
    }
}

uint64_t stallbox_watch_open(const char *what, uint32_t timeout_ms)
{
    return sbx_capture_is_open() ? sbx_watch_begin(SBX_WATCH_WATCHDOG, what, timeout_ms) : 0;
}

void stallbox_watch_beat(uint64_t id)
{
    if (id != 0) {
        (void)sbx_watch_beat(id);
    }
}

void stallbox_watch_rest(uint64_t id)
{
    if (id != 0) {
        sbx_watch_rest(id);
    }
}

void stallbox_watch_close(uint64_t id)
{
    if (id != 0) {
        sbx_watch_end(id);
    }
}

/* Queue numbers are usually addresses; this one is not. */
enum {
    UNNAMED_QUEUE = 1
};

uint64_t stallbox_task_queued_in(const void *queue)
{
    uint64_t number = queue != NULL ? (uint64_t)(uintptr_t)queue : UNNAMED_QUEUE;
    return sbx_capture_is_open() ? sbx_task_queued(SBX_GROUP_TASK, SBX_OP_TASK, number, 0, 0) : 0;
}

uint64_t stallbox_task_queued(void)
{
    return stallbox_task_queued_in(NULL);
}

void stallbox_task_begin(uint64_t id)
{
    if (id != 0) {
        sbx_task_begin(id);
    }
}

void stallbox_task_end(uint64_t id)
{
    if (id != 0) {
        sbx_task_end(id);
    }
}

void stallbox_task_cancelled(uint64_t id)
{
    if (id != 0) {
        sbx_task_cancelled(id);
    }
}

enum stallbox_result stallbox_set_consent(enum stallbox_consent consent)
{
    static_assert((int)STALLBOX_CONSENT_GRANTED == (int)SBX_CONSENT_GRANTED &&
                      (int)STALLBOX_CONSENT_DENIED == (int)SBX_CONSENT_DENIED,
                  "the recording's numbers are the interface's");
    if ((unsigned)consent > STALLBOX_CONSENT_DENIED) {
        return STALLBOX_BAD_ARGUMENT;
    }
    return to_result(sbx_agent_set_consent((enum sbx_consent)consent));
}

enum stallbox_result stallbox_set_conditions(uint32_t conditions)
{
    if ((conditions & ~(uint32_t)(STALLBOX_UNMETERED | STALLBOX_CHARGING | STALLBOX_IDLE)) != 0) {
        return STALLBOX_BAD_ARGUMENT;
    }
    if (!stallbox_is_running()) {
        return STALLBOX_NOT_RUNNING;
    }
    int saved_errno = errno;
    int result = sbx_spool_order(SBX_SPOOL_CONDITIONS, conditions, CONDITIONS_WAIT_MS);
    errno = saved_errno;
    return to_result(result);
}

enum stallbox_result stallbox_read_counts(struct stallbox_counts *counts)
{
    if (counts == NULL || counts->sizeof_counts < sizeof(size_t)) {
        return STALLBOX_BAD_ARGUMENT;
    }
    if (!stallbox_is_running()) {
        return STALLBOX_NOT_RUNNING;
    }
    const struct sbx_recording_header *header = sbx_the_capture.header;
    struct stallbox_counts now = {.sizeof_counts = counts->sizeof_counts,
                                  .captures_sync = sbx_captures_by_threads(header),
                                  .captures_async = sbx_load_relaxed(&header->captures_async),
                                  .captures_observed = sbx_load_relaxed(&header->captures_observed),
                                  .snapshots = sbx_load_relaxed(&header->snapshots_made)};
    for (uint32_t i = 0; i < sbx_thread_count(); i++) {
        const struct sbx_thread *thread = sbx_thread_at(i);
        now.messages += thread != NULL ? sbx_load_relaxed(&thread->entry->message) : 0;
        now.frames += thread != NULL ? sbx_load_relaxed(&thread->frame.count) : 0;
    }
    for (unsigned i = 0; i < SBX_DROP_COUNT; i++) {
        now.dropped += sbx_load_relaxed(&header->drops[i]);
    }
    now.watches = sbx_load_relaxed(&header->watch_count);
    now.watches_dropped = sbx_load_relaxed(&header->drops[SBX_DROP_NO_WATCH]);
    now.triggers_dropped = sbx_load_relaxed(&header->drops[SBX_DROP_SNAPSHOT_BUSY]) +
                           sbx_load_relaxed(&header->drops[SBX_DROP_SNAPSHOT_RATE]) +
                           sbx_load_relaxed(&header->drops[SBX_DROP_NO_CONSENT]);
    now.snapshots_failed = sbx_load_relaxed(&header->drops[SBX_DROP_SNAPSHOT_FAILED]);
    now.consent = sbx_load_relaxed(&header->consent);
    size_t bytes = counts->sizeof_counts < sizeof now ? counts->sizeof_counts : sizeof now;
    for (size_t i = 0; i < bytes; i++) { /* not memcpy: this may run in a signal handler */
        ((volatile char *)counts)[i] = ((const char *)&now)[i];
    }
    return STALLBOX_OK;
}

const char *stallbox_result_name(enum stallbox_result result)
{
    static const char *const names[] = {
        [STALLBOX_OK] = "STALLBOX_OK",
        [STALLBOX_NOT_RUNNING] = "STALLBOX_NOT_RUNNING",
        [STALLBOX_ALREADY_RUNNING] = "STALLBOX_ALREADY_RUNNING",
        [STALLBOX_BAD_ARGUMENT] = "STALLBOX_BAD_ARGUMENT",
        [STALLBOX_NO_MEMORY] = "STALLBOX_NO_MEMORY",
        [STALLBOX_TIMED_OUT] = "STALLBOX_TIMED_OUT",
        [STALLBOX_DECLINED] = "STALLBOX_DECLINED",
        [STALLBOX_UNSUPPORTED] = "STALLBOX_UNSUPPORTED",
        [STALLBOX_IO_FAILED] = "STALLBOX_IO_FAILED",
        [STALLBOX_NO_CONSENT] = "STALLBOX_NO_CONSENT",
    };
    return (unsigned)result < SBX_COUNT_OF(names) ? names[result] : "STALLBOX_UNKNOWN";
}

const char *stallbox_version(void)
{
    return STALLBOX_VERSION_STRING;
}

/* ---- the start by preloading ---- */

/* Is this a zygote, a process from which a browser forks others? Chromium's zygote, which Electron, CEF and Qt
 * WebEngine have too, counts its threads and ends itself when it finds more than one
 * (content/zygote/zygote_main_linux.cc). Its forked children have no recorder in any case. */
static bool is_zygote(void)
{
    static const char option[] = "--type=zygote";
    char text[4096];
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    for (const char *at = text; at < text + got; at += strlen(at) + 1) {
        if (strcmp(at, option) == 0) {
            return true;
        }
    }
    return false;
}

/* Is the order for this very process, or for every process that reads it? Programs that it starts begin late
 * (late_start.h). */
static bool is_to_start_at_once(const char *whose)
{
    long number = strtol(whose, NULL, 10);
    return number == SBX_AUTOSTART_ALL || number == (long)getpid();
}

__attribute__((constructor)) static void start_when_preloaded(void)
{
    const char *spool = getenv(SBX_ENV_SPOOL);
    const char *whose = getenv(SBX_ENV_AUTOSTART);
    if (whose == NULL || spool == NULL || spool[0] == '\0' ||
        (!is_to_start_at_once(whose) && !sbx_late_start_may_come())) {
        return;
    }
    char folder[SBX_RECORDING_PATH_MAX];
    const char *folder_path = sbx_recordings_given();
    struct sbx_preload_orders orders;
    int saved_errno = errno;
    if (folder_path == NULL && sbx_recordings_choose(folder, NULL, 0) == 0) {
        folder_path = folder;
    }
    const char *text = getenv(SBX_ENV_ORDERS);
    if (text == NULL || !sbx_orders_parse(text, &orders)) {
        memset(&orders, 0, sizeof orders); /* no name was given either */
        sbx_policy_settings(sbx_policy_default(), &orders.settings);
    }
    if (folder_path != NULL && !is_zygote()) {
        if (is_to_start_at_once(whose) && !sbx_has_untried_allocator()) {
            sbx_ordered_start(folder_path, spool, &orders);
        } else {
            (void)sbx_late_start_arm(folder_path, spool, &orders);
        }
    }
    errno = saved_errno;
}

__attribute__((destructor)) static void close_at_exit(void)
{
    sbx_late_start_settle_at_exit();
    sbx_forked_child_settle_at_exit();
    sbx_agent_process_exits();
}
