/* SPDX-License-Identifier: Apache-2.0 */
/* the_capture.c - the state of the one capture: attached to a recording, given its settings, and woken. */
#include "the_capture.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "fork_path.h"
#include "raw_syscall.h"

/* The gate before the start is shut, so that a call of our public interface costs one branch. */
static uint32_t shut_gate[2] SBX_FORK_DATA;

struct sbx_capture sbx_the_capture SBX_FORK_DATA = {.gate = shut_gate, .unusual = SBX_UNUSUAL_SIGNALS};

SBX_FORK_CODE void sbx_capture_shut_gate(void)
{
    sbx_store_relaxed(&sbx_the_capture.gate, shut_gate); /* relaxed: a child has one thread */
}

/* The largest power of two of places that fits in the table, less one. It masks an index. */
static uint32_t mask_of(const struct sbx_section *section)
{
    return section->count < 2 ? 0 : (UINT32_C(1) << (31 - __builtin_clz(section->count))) - 1;
}

void sbx_capture_attach(struct sbx_recording_header *header)
{
    uint8_t *base = (uint8_t *)header;
    sbx_the_capture.header = header;
    sbx_the_capture.control = (struct sbx_control_page *)(base + SBX_CONTROL_AT);
    sbx_the_capture.modules = (struct sbx_module_entry *)(base + header->modules.at);
    sbx_the_capture.threads = (struct sbx_thread_entry *)(base + header->threads.at);
    sbx_the_capture.watches = (struct sbx_watch_entry *)(base + header->watches.at);
    sbx_the_capture.tasks = (struct sbx_task_entry *)(base + header->tasks.at);
    sbx_the_capture.queues = (struct sbx_queue_entry *)(base + header->queues.at);
    sbx_the_capture.task_mask = mask_of(&header->tasks);
    sbx_the_capture.queue_mask = mask_of(&header->queues);
    sbx_callstack_table_init(&sbx_the_capture.table, header);
    sbx_ring_init(&sbx_the_capture.ring, header);
}

void sbx_capture_forget_parent(void)
{
    struct sbx_capture *capture = &sbx_the_capture;
    sbx_store_relaxed(&capture->leave, NULL);
    sbx_store_relaxed(&capture->map, NULL); /* in the new recording its modules have other numbers */
    capture->quiet_groups = 0;
    capture->signal_changes = 0;
    capture->unusual &= SBX_UNUSUAL_SIGNALS;
    capture->follows_lightly = 0;
    capture->resting = SBX_AWAKE;
    capture->wake_ns = capture->rung_ns = 0;
    capture->news = capture->own_tid = capture->has_frames = capture->has_clients = capture->serves = capture->rests =
        0;
}

/* When one of these points is out, an answer to a client's question would never be seen. When the points come back, it
 * takes a while until all hooks are in; sbx_capture_hooks_are_in() says when. If that call does not come within this
 * time, some module was being loaded all the time. */
static void follow_clients(uint64_t points)
{
    enum {
        HOOKS_ARE_IN_NS = 1000000000
    };
    uint64_t *since_ns = &sbx_the_capture.clients_since_ns;
    if ((points & SBX_POINTS_OF_CLIENTS) != SBX_POINTS_OF_CLIENTS) {
        sbx_store_relaxed(since_ns, UINT64_MAX);
    } else if (sbx_load_relaxed(since_ns) == UINT64_MAX) {
        sbx_store_relaxed(since_ns, sbx_now_ns() + HOOKS_ARE_IN_NS);
    }
}

void sbx_capture_hooks_are_in(uint64_t points)
{
    uint64_t since_ns = sbx_load_relaxed(&sbx_the_capture.clients_since_ns), now_ns = sbx_now_ns();
    if ((points & SBX_POINTS_OF_CLIENTS) == SBX_POINTS_OF_CLIENTS && since_ns != UINT64_MAX && since_ns > now_ns) {
        sbx_store_relaxed(&sbx_the_capture.clients_since_ns, now_ns); /* relaxed: seen one look late at most */
    }
}

void sbx_capture_apply(const struct sbx_capture_settings *settings)
{
    /* relaxed: each is a number of its own; a record made under the old number is as good */
    uint64_t least_ns = UINT64_MAX;
    sbx_store_relaxed(&sbx_the_capture.interval_ns, (uint64_t)settings->interval_us * 1000u);
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        const struct sbx_point_limits *limits = &settings->limits[group];
        uint32_t interval_us =
            limits->interval_us > settings->interval_us ? limits->interval_us : settings->interval_us;
        uint32_t threshold_us = limits->threshold_us != 0 ? limits->threshold_us : settings->wait_min_us;
        sbx_store_relaxed(&sbx_the_capture.leaf_interval_ns[group], (uint64_t)interval_us * 1000u);
        sbx_store_relaxed(&sbx_the_capture.threshold_ns[group], (uint64_t)threshold_us * 1000u);
        least_ns = (uint64_t)threshold_us * 1000u < least_ns ? (uint64_t)threshold_us * 1000u : least_ns;
    }
    sbx_store_relaxed(&sbx_the_capture.threshold_least_ns, least_ns);
    follow_clients(settings->points);
}

SBX_HOOK_SAFE void sbx_capture_ring_bell(void)
{
    uint32_t *bell = &sbx_the_capture.control->bell;
    int saved_errno = errno;
    sbx_add_acq_rel(bell, 1); /* order: release bell - the woken thread sees what the ringer stored before */
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = saved_errno;
}

SBX_HOOK_SAFE void sbx_capture_ring_for(uint64_t begin_ns)
{
    if (sbx_load_relaxed(&sbx_the_capture.rung_ns) == 0) { /* relaxed: when two begin at once, either value will do */
        sbx_store_relaxed(&sbx_the_capture.rung_ns, begin_ns);
    }
    sbx_capture_ring_bell();
}

SBX_HOOK_SAFE bool sbx_capture_is_callers(void)
{
    return sbx_raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == (long)sbx_the_capture.header->pid;
}
