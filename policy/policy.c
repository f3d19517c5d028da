/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the embedded default, the compiled limits, and the way from a policy to numbers.
 *
 * The limits hold whoever signed: a stolen key can make an application record more often, not without bound. */
#include "policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Why these values:
 *   interval 1 ms   btrace's. A thread samples itself at its own calls, which costs some 0.1 us when its stack has kept
 *                   most of its frames: a ten-thousandth of the interval. Nobody ticks for it.
 *   gap 5 ms        A running thread that makes no such calls is looked at by the watch thread's tick. A tick of 1 ms
 *                   would cost up to a hundredth of a core; a stall worth telling lasts hundreds of milliseconds.
 *   refresh 5 ms    Only of a thread that is blocked inside an open message: a stall in the making. A blocked stack does not
 *                   change, but looking costs the thread nothing and us some 10 us, and the history then has no hole.
 *   wait 200 us     Shorter than any wait a person notices, longer than a warm read or an uncontended wake-up. It also
 *                   bounds the ring: no thread writes more than 5,000 wait records a second. A tenth of it would let a
 *                   server at full load fill the ring with successful reads; ten times it would hide the stall that
 *                   many small waits add up to.
 *   anr 5 s         Android's and sentry's limit; below it a person still waits.
 *   slow message    1 s: somebody noticed.
 *   slow frame      700 ms: Android's "frozen frame".
 *   note 500 ms     Before the first limit, so that a process killed by its impatient user has left its note.
 *   min gap 1 s     A snapshot costs a copy of the recording; one a second of one kind bounds it.
 *   history 10 s    Twice the longest default limit: the whole stall and as much of what led to it. */
static const struct sbx_policy embedded_default = {
    .epoch = 0,
    .seq = 0,
    .capture =
        {
            .enabled = 1,
            .points = SBX_POINTS_ALL,
            .interval_us = 1000,
            .gap_us = 5000,
            .blocked_refresh_ms = 5,
            .wait_min_us = 200,
            .anr_ms = 5000,
            .slow_message_ms = 1000,
            .slow_frame_ms = 700,
            .note_ms = 500,
            .min_gap_ms = 1000,
            .history_ms = 10000,
            .detail_level = 1,
        },
    .module_rule = SBX_MODULES_DISTRIBUTION,
};

/* One field's limits. They bound what capture costs the host and how much one payload may tell. */
struct limit {
    const char *name;
    size_t offset;      /* in struct sbx_capture_settings; every field there is a uint32_t */
    uint32_t min, max;
    bool may_be_off;    /* 0 is allowed besides: it switches the thing off */
};

#define LIMIT(field, min, max, may_be_off)                                                                             \
    {#field, offsetof(struct sbx_capture_settings, field), min, max, may_be_off}

static const struct limit limits[] = {
    LIMIT(enabled, 0, 1, false),
    LIMIT(interval_us, 1000, 1000000, false),
    LIMIT(gap_us, 1000, 10000000, false),
    LIMIT(blocked_refresh_ms, 1, 10000, false),
    LIMIT(wait_min_us, 10, 1000000, false),
    LIMIT(anr_ms, 100, 600000, true),
    LIMIT(slow_message_ms, 10, 600000, true),
    LIMIT(slow_frame_ms, 10, 60000, true),
    LIMIT(note_ms, 10, 600000, true),
    LIMIT(min_gap_ms, 100, 86400000, false),
    LIMIT(history_ms, 100, 60000, false),
    LIMIT(detail_level, 0, 2, false),
};

const struct sbx_policy *sbx_policy_default(void)
{
    return &embedded_default;
}

const char *sbx_policy_check(const struct sbx_policy *policy)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        uint32_t value;
        memcpy(&value, (const char *)&policy->capture + limits[i].offset, sizeof value);
        bool off = limits[i].may_be_off && value == 0;
        if (!off && (value < limits[i].min || value > limits[i].max)) {
            return limits[i].name;
        }
    }
    if ((policy->capture.points & ~(uint32_t)SBX_POINTS_ALL) != 0) {
        return "points"; /* a bit this build does not know cannot be honoured */
    }
    if (policy->capture.gap_us < policy->capture.interval_us) {
        return "gap_us"; /* the gap filler would sample threads that are not late */
    }
    for (size_t i = 0; i < SBX_POINT_GROUPS_MAX; i++) {
        const struct sbx_point_limits *group = &policy->capture.limits[i];
        if (i >= SBX_GROUP_COUNT && (group->interval_us != 0 || group->threshold_us != 0)) {
            return "limits"; /* of a group this build does not know */
        }
        if (group->interval_us != 0 && (group->interval_us < 1000 || group->interval_us > 10000000)) {
            return "limits.interval_us";
        }
        if (group->threshold_us != 0 && (group->threshold_us < 10 || group->threshold_us > 10000000)) {
            return "limits.threshold_us";
        }
    }
    for (size_t i = 0; i < sizeof policy->capture.reserved / sizeof policy->capture.reserved[0]; i++) {
        if (policy->capture.reserved[i] != 0) {
            return "reserved";
        }
    }
    if (policy->module_rule != SBX_MODULES_APP_ONLY && policy->module_rule != SBX_MODULES_DISTRIBUTION) {
        return "module_rule";
    }
    return NULL;
}

void sbx_policy_settings(const struct sbx_policy *policy, struct sbx_capture_settings *settings_out)
{
    *settings_out = policy->capture;
}

void sbx_policy_redaction(const struct sbx_policy *policy, struct sbx_redaction *redaction_out)
{
    *redaction_out = (struct sbx_redaction){
        .module_rule = policy->module_rule,
        .detail_level = policy->capture.detail_level,
        .history_ms = policy->capture.history_ms,
    };
}
