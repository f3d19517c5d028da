/* SPDX-License-Identifier: Apache-2.0 */
/* stallbox.c - the public functions: check arguments, call the agent, translate results. And the preload door: a
 * process that `stallbox run` started finds its orders in the environment and starts recording before main(). */
#include "stallbox/stallbox.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "capture.h"
#include "clock.h"
#include "policy.h"
#include "preload.h"

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
    default:
        return STALLBOX_IO_FAILED;
    }
}

/* Options -> policy value -> settings. The one way numbers reach capture. */
static int settings_of(const struct stallbox_options *options, struct sbx_capture_settings *settings_out)
{
    struct sbx_policy policy = *sbx_policy_default();
    if (options != NULL) {
        if (options->anr_ms != 0) {
            policy.capture.anr_ms = options->anr_ms;
        }
        if (options->slow_message_ms != 0) {
            policy.capture.slow_message_ms = options->slow_message_ms;
        }
        if (options->interval_us != 0) {
            policy.capture.interval_us = options->interval_us;
        }
    }
    if (sbx_policy_check(&policy) != NULL) {
        return -EINVAL;
    }
    sbx_policy_settings(&policy, settings_out);
    return 0;
}

enum stallbox_result stallbox_start(const struct stallbox_options *options)
{
    char folder[SBX_RECORDING_PATH_MAX], spool[SBX_RECORDING_PATH_MAX];
    struct sbx_capture_settings settings;
    if (options != NULL && options->sizeof_options != sizeof *options) {
        return STALLBOX_BAD_ARGUMENT;
    }
    int result = settings_of(options, &settings);
    const char *folder_path = options != NULL ? options->recording_path : NULL;
    const char *spool_path = options != NULL ? options->spool_path : NULL;
    if (result == 0 && folder_path == NULL) {
        result = sbx_recordings_default_folder(folder, sizeof folder);
        folder_path = folder;
    }
    if (result == 0 && spool_path == NULL) {
        result = sbx_spool_default_path(spool, sizeof spool);
        spool_path = spool;
    }
    return to_result(result != 0 ? result : sbx_agent_start(folder_path, spool_path, &settings));
}

enum stallbox_result stallbox_stop(uint32_t timeout_ms)
{
    return to_result(sbx_agent_stop(timeout_ms));
}

bool stallbox_is_running(void)
{
    return sbx_load_acquire(&sbx_the_agent.is_running) != 0; /* order: acquire agent.is_running */
}

enum stallbox_result stallbox_snapshot(uint32_t timeout_ms)
{
    if (!stallbox_is_running() || !sbx_capture_is_open()) {
        return STALLBOX_NOT_RUNNING;
    }
    /* order: acq_rel agent.snapshot_wanted - pairs with the watch thread's look */
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
    if (header->main_thread < SBX_THREADS_MAX) {
        now.messages = sbx_load_relaxed(&sbx_the_capture.threads[header->main_thread].message);
    }
    for (unsigned i = 0; i < SBX_DROP_COUNT; i++) {
        now.dropped += sbx_load_relaxed(&header->drops[i]);
    }
    size_t bytes = counts->sizeof_counts < sizeof now ? counts->sizeof_counts : sizeof now;
    for (size_t i = 0; i < bytes; i++) { /* not memcpy: this may run in a handler */
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
    };
    return (unsigned)result < SBX_COUNT_OF(names) ? names[result] : "STALLBOX_UNKNOWN";
}

const char *stallbox_version(void)
{
    return STALLBOX_VERSION_STRING;
}

/* ---- the preload door ---- */

__attribute__((constructor)) static void start_when_preloaded(void)
{
    const char *spool = getenv(SBX_ENV_SPOOL);
    if (getenv(SBX_ENV_AUTOSTART) == NULL || spool == NULL) {
        return;
    }
    char folder[SBX_RECORDING_PATH_MAX];
    const char *folder_path = getenv(SBX_ENV_RECORDINGS);
    struct sbx_preload_orders orders;
    int saved_errno = errno;
    if (folder_path == NULL && sbx_recordings_default_folder(folder, sizeof folder) == 0) {
        folder_path = folder;
    }
    const char *text = getenv(SBX_ENV_ORDERS);
    if (text == NULL || !sbx_orders_parse(text, &orders)) {
        sbx_policy_settings(sbx_policy_default(), &orders.settings);
    }
    if (folder_path != NULL) {
        /* Whatever it comes to, the program runs: the companion sees that there is no recording and says so. */
        (void)sbx_agent_start(folder_path, spool, &orders.settings);
    }
    errno = saved_errno;
}

__attribute__((destructor)) static void close_at_exit(void)
{
    sbx_agent_process_exits();
}
