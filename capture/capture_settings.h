/* SPDX-License-Identifier: Apache-2.0 */
/* capture_settings.h - the plain numbers that steer capture and the triggers.
 *
 * Capture defines them; policy fills them (policy/policy.h); they travel through the control page of the recording
 * (recording_format.h). Capture never learns what a policy is. */
#ifndef SBX_CAPTURE_SETTINGS_H
#define SBX_CAPTURE_SETTINGS_H

#include <stdint.h>

#include "payload_numbers.h"

/* Masks of point groups (enum sbx_point_group in proto/payload_numbers.h). */
#define SBX_POINT_BIT(group) (UINT32_C(1) << (group))
#define SBX_POINTS_ALL (SBX_POINT_BIT(SBX_GROUP_COUNT) - 1)

enum { SBX_POINT_GROUPS_MAX = 32 };

/* What a group may have of its own; 0: as everybody. */
struct sbx_point_limits {
    uint32_t interval_us;  /* a thread takes one leaf sample per this time at most at points of the group */
    uint32_t threshold_us; /* shorter blocking calls of the group leave no record */
};

struct sbx_capture_settings {
    uint32_t enabled;            /* 0: every hook is taken out and nothing is recorded */
    uint32_t points;             /* SBX_POINT_BIT() of the groups that are on */
    uint32_t interval_us;        /* a thread records one sample per interval at most; 1,000..1,000,000 */
    uint32_t gap_us;             /* a running thread without a sample for this long is sampled asynchronously */
    uint32_t blocked_refresh_ms; /* a blocked thread inside an open message is looked at again this often */
    uint32_t wait_min_us;        /* shorter blocking calls are counted in no record */
    uint32_t anr_ms;             /* a message open for this long fires `anr`; 0: never */
    uint32_t slow_message_ms;    /* a message that took this long fires `slow_message` when it ends; 0: never */
    uint32_t slow_frame_ms;      /* a frame that took this long fires `slow_frame`; 0: never */
    uint32_t note_ms;            /* a message open for this long leaves a note for the case of death; 0: never */
    uint32_t min_gap_ms;         /* two snapshots of one trigger kind are at least this far apart */
    uint32_t history_ms;         /* how far back a payload reaches at most */
    uint32_t detail_level; /* 0 nothing leaves, 1 stacks and durations, 2 also descriptor classes and lock graph */
    uint32_t reserved[3];
    struct sbx_point_limits limits[SBX_POINT_GROUPS_MAX]; /* by group */
};

#endif
