/* SPDX-License-Identifier: Apache-2.0 */
/* capture_settings.h - the plain numbers that control capture and the triggers.
 *
 * Capture defines them, policy fills them (policy/policy.h), and the control page of the recording transports them
 * (recording_format.h). Capture does not know what a policy is. */
#ifndef SBX_CAPTURE_SETTINGS_H
#define SBX_CAPTURE_SETTINGS_H

#include <stdint.h>

#include "payload_numbers.h"

/* Masks of point groups (enum sbx_point_group in proto/payload_numbers.h). */
#define SBX_POINT_BIT(group) (UINT64_C(1) << (group))
#define SBX_POINTS_ALL       SBX_POINTS_KNOWN
/* The groups that are on by default. Not free(), because counting what is freed costs something at every call, and no
 * report has this number: only `stallbox ctl PID status` shows it. */
#define SBX_POINTS_DEFAULT (SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_FREE))

/* The groups that see a client's question, its answer and waits for work. */
#define SBX_POINTS_OF_CLIENTS                                                                             \
    (SBX_POINT_BIT(SBX_GROUP_SOCKET) | SBX_POINT_BIT(SBX_GROUP_FILE) | SBX_POINT_BIT(SBX_GROUP_OPEN) |    \
     SBX_POINT_BIT(SBX_GROUP_POLL) | SBX_POINT_BIT(SBX_GROUP_COND) | SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | \
     SBX_POINT_BIT(SBX_GROUP_FUTEX))
/* The groups that see a service tell its manager that it lives (capture/calls/notify_socket.h). */
#define SBX_POINTS_OF_PINGS (SBX_POINT_BIT(SBX_GROUP_SOCKET) | SBX_POINT_BIT(SBX_GROUP_FILE))
/* Groups with calls that the kernel does not restart after a handler (signal(7)); for the other groups libc restarts
 * its waits. The hooks of these groups also keep our signal away. So they stay in while threads are sampled by signal,
 * whether calls are recorded or not. */
#define SBX_POINTS_SHIELDING                                                                                  \
    (SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_FILE) | SBX_POINT_BIT(SBX_GROUP_SOCKET) |       \
     SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | SBX_POINT_BIT(SBX_GROUP_EVENTFD) | SBX_POINT_BIT(SBX_GROUP_FUTEX) | \
     SBX_POINT_BIT(SBX_GROUP_STDIO) | SBX_POINT_BIT(SBX_GROUP_LOOKUP) | SBX_POINT_BIT(SBX_GROUP_PROCESS))

enum {
    SBX_POINT_GROUPS_MAX = 64 /* number of bits of a mask */
};

enum {
    SBX_BUDGET_OF_PERMILLE = 10 /* a budget counts ten-thousandths: thousandths and their tenths in one number */
};

/* The limits of one group; 0: the general ones. */
struct sbx_point_limits {
    uint32_t interval_us;  /* a thread takes one leaf sample per this time at most at points of the group */
    uint32_t threshold_us; /* shorter blocking calls of the group leave no record */
};

/* What is done about fatal signals (handler/crash_handler.h). */
enum sbx_crash_setting {
    SBX_CRASH_OFF = 0,     /* nothing: no handler, and no snapshot of a process that died so */
    SBX_CRASH_SETTLED = 1, /* handlers are hidden from the program for a second, in which it installs its own */
    SBX_CRASH_AT_ONCE = 2, /* at the start: the program itself chose that time */
};

struct sbx_capture_settings {
    uint64_t points;             /* SBX_POINT_BIT() of the groups that are on */
    uint32_t enabled;            /* 0: every hook is taken out and nothing is recorded */
    uint32_t interval_us;        /* a thread records one sample per interval at most; 1,000..1,000,000 */
    uint32_t gap_us;             /* a running thread without a sample for this long is sampled asynchronously */
    uint32_t blocked_refresh_ms; /* a blocked thread inside an open message is looked at again this often */
    uint32_t wait_min_us;        /* shorter blocking calls leave no record */
    uint32_t anr_ms;             /* a message open for this long fires `anr`; 0: never */
    uint32_t slow_message_ms;    /* a message that took this long fires `slow_message` when it ends; 0: never */
    uint32_t slow_frame_ms;      /* a frame that took this long fires `slow_frame`, and so does a burst of dropped ones;
                                    0: never */
    uint32_t after_ms;           /* recording goes on this long after a trigger before the snapshot is made */
    uint32_t note_ms;            /* a message open for this long leaves a note for the case of death; 0: never */
    uint32_t min_gap_ms;         /* two snapshots of one trigger kind are at least this far apart */
    uint32_t history_ms;         /* a payload has at most this much history */
    uint32_t detail_level;     /* 0 nothing leaves, 1 stacks, durations and descriptor classes, 2 also the lock graph */
    uint32_t crash;            /* enum sbx_crash_setting */
    uint32_t max_cpu_permille; /* limit of recording's cost, of the application's CPU time; 0: none (benchmarks) */
    uint32_t recording_kib;    /* the ring of the recording, from the next start on; 0: the default. 1,024..65,536 */
    uint32_t follow_forks;     /* children of fork() that call no exec are recorded, if forked from now on */
    uint32_t max_cpu_tenths;   /* tenths of a thousandth to add, 0..9: 2 and 5 are 0.25 per cent */
    struct sbx_point_limits limits[SBX_POINT_GROUPS_MAX]; /* by group */
};                                                        /* no padding: settings are compared as bytes */

/* The most that recording may cost, in ten-thousandths of the application's CPU time; 0: no limit. */
static inline uint32_t sbx_budget_of(const struct sbx_capture_settings *settings)
{
    return settings->max_cpu_permille * SBX_BUDGET_OF_PERMILLE + settings->max_cpu_tenths;
}

#endif
