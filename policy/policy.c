/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the embedded default, the compiled limits, and the conversion of a policy to numbers.
 *
 * The limits hold whoever has signed a policy: with a stolen key an application can be made to record more often, but
 * not without bound. */
#include "policy.h"

#include <assert.h>
#include <string.h>

/* Why these values:
 *   interval 1 ms   As in btrace. A thread samples itself at its own calls, which costs some 0.1 us when its stack has
 *                   kept most of its frames: a ten-thousandth of the interval. No timer tick is needed for it.
 *   gap 5 ms        A running thread that makes no such calls is sampled by the watch thread's tick. A tick of 1 ms
 *                   would cost up to a hundredth of a core; a stall worth reporting lasts hundreds of milliseconds.
 *   refresh 5 ms    Only for a thread that is blocked inside an open message: a developing stall. A blocked stack does
 *                   not change, but looking costs the thread nothing and us some 10 us, and the history then has no
 *                   hole.
 *   wait 200 us     Shorter than any wait that a person notices, longer than a warm read or an uncontended wake-up. It
 *                   also bounds the ring: no thread writes more than 5,000 wait records a second. With a tenth of it, a
 *                   server at full load would fill the ring with successful reads; with ten times of it, a stall that
 *                   consists of many small waits would be hidden.
 *   anr 5 s         The limit of Android and Sentry; up to that time a person still waits.
 *   slow message    1 s: a person noticed.
 *   slow frame      700 ms: Android's "frozen frame".
 *   note 500 ms     Before the first limit, so that a process killed by its impatient user has left its note.
 *   min gap 1 s     A snapshot costs a copy of the recording; one a second for each kind bounds this cost.
 *   crash settled   A handler installed before the program's own would be visible to the program (docs/DEATH.md).
 *   5 permille      Of the application's CPU time: nobody notices this, and it is enough for useful reports.
 *   4 MiB of ring   At 16 bytes a sample, 8 threads that record one each millisecond fill it in 30 s. The limit of 64
 *                   MiB bounds how much of a machine's memory a signed policy can take.
 *   follow forks    The work of a server is done by its workers.
 *   16 MiB, 200     Limits of payloads that wait: enough for 20 days without a network.
 *   168 h           For anything in the spool: it is still reported after a week without a network; later it would be
 *                   about an old release. The limit of 720 h bounds what a machine stores about its user.
 *   history 10 s    Twice the longest default limit: the whole stall and the same time before it.
 *   10 and 3 a day  Snapshots of a machine, and of one trigger: the tenth stall of a day shows what the first nine
 *                   showed. (Crashpad sends one an hour, Glean 15 a minute, Chromium's traces one a week.)
 *   3 of a place    The first shows the problem, the second confirms it, the third can be compared. Later ones only
 *                   show how often it happens, and for that a sample of one in N is enough (docs/SAMPLING.md).
 *   1 MiB a day     Ten payloads; a quarter of that when bytes may cost money.
 *   poll 6 h        A fleet follows within a working day; Firebase asks every 12 h, Chromium every 30 min. */
static const struct sbx_policy embedded_default = {
    .epoch = 0,
    .seq = 0,
    .capture =
        {
            .enabled = 1,
            .points = SBX_POINTS_DEFAULT,
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
            .crash = SBX_CRASH_SETTLED,
            .max_cpu_permille = 5,
            .recording_kib = 4096,
            .follow_forks = 1,
        },
    .module_rule = SBX_MODULES_DISTRIBUTION,
    .delivery =
        {
            .snapshots_day = 10,
            .snapshots_kind_day = 3,
            .bytes_day = 1 << 20,
            .bytes_day_metered = 256 << 10,
            .upload_conditions = 0,
            .poll_s = 21600,
            .spool_kib = 16384,
            .spool_files = 200,
            .spool_hours = 168,
            .upload_jitter_s = 0,
            .sampling = {.first = 3,
                         .one_in = {[SBX_TRIGGER_ANR] = 1,
                                    [SBX_TRIGGER_DEADLINE] = 1,
                                    [SBX_TRIGGER_SLOW_MESSAGE] = 1,
                                    [SBX_TRIGGER_SLOW_FRAME] = 1,
                                    [SBX_TRIGGER_WATCHDOG] = 1,
                                    [SBX_TRIGGER_KILLED] = 1,
                                    [SBX_TRIGGER_CRASH] = 1}},
        },
};

/* The limits bound the cost of capture for the host, the amount of data in one payload, and the amount that a machine
 * may send. */
#define FIELD(number, name, form, place, min, max, may_be_off)                       \
    {                                                                                \
        name, number, form, offsetof(struct sbx_policy, place), min, max, may_be_off \
    }
#define CAPTURE(number, name, form, min, max, may_be_off) FIELD(number, #name, form, capture.name, min, max, may_be_off)
#define DELIVERY(number, name, form, min, max)            FIELD(number, #name, form, delivery.name, min, max, false)

#define ONE_IN(number, name, kind) FIELD(number, name, SBX_FIELD_NUMBER, delivery.sampling.one_in[kind], 1, 1000, false)

enum {
    SBX_BUDGET_MOST = 500 /* five per cent */
};

static const struct sbx_policy_field fields[] = {
    CAPTURE(10, enabled, SBX_FIELD_SWITCH, 0, 1, false),
    CAPTURE(11, detail_level, SBX_FIELD_NUMBER, 0, 2, false),
    CAPTURE(12, points, SBX_FIELD_POINTS, 0, SBX_POINTS_ALL, false),
    CAPTURE(13, interval_us, SBX_FIELD_NUMBER, 1000, 1000000, false),
    CAPTURE(14, gap_us, SBX_FIELD_NUMBER, 1000, 10000000, false),
    CAPTURE(15, blocked_refresh_ms, SBX_FIELD_NUMBER, 1, 10000, false),
    CAPTURE(16, wait_min_us, SBX_FIELD_NUMBER, 10, 1000000, false),
    CAPTURE(17, anr_ms, SBX_FIELD_NUMBER, 100, 600000, true),
    CAPTURE(18, slow_message_ms, SBX_FIELD_NUMBER, 10, 600000, true),
    CAPTURE(19, slow_frame_ms, SBX_FIELD_NUMBER, 10, 60000, true),
    CAPTURE(20, note_ms, SBX_FIELD_NUMBER, 10, 600000, true),
    CAPTURE(21, min_gap_ms, SBX_FIELD_NUMBER, 100, 86400000, false),
    CAPTURE(22, history_ms, SBX_FIELD_NUMBER, 100, 60000, false),
    FIELD(23, "modules", SBX_FIELD_MODULES, module_rule, SBX_MODULES_APP_ONLY, SBX_MODULES_DISTRIBUTION, false),
    DELIVERY(24, snapshots_day, SBX_FIELD_NUMBER, 0, 50),
    DELIVERY(25, snapshots_kind_day, SBX_FIELD_NUMBER, 0, 50),
    DELIVERY(26, bytes_day, SBX_FIELD_NUMBER, 0, 4 << 20),
    DELIVERY(27, bytes_day_metered, SBX_FIELD_NUMBER, 0, 4 << 20),
    DELIVERY(28, upload_conditions, SBX_FIELD_CONDITIONS, 0, SBX_UPLOAD_CONDITIONS_ALL),
    DELIVERY(30, poll_s, SBX_FIELD_NUMBER, 900, 604800),
    CAPTURE(31, after_ms, SBX_FIELD_NUMBER, 0, 10000, false),
    CAPTURE(32, crash, SBX_FIELD_NUMBER, SBX_CRASH_OFF, SBX_CRASH_AT_ONCE, false),
    CAPTURE(33, max_cpu_permille, SBX_FIELD_NUMBER, 1, SBX_BUDGET_MOST / SBX_BUDGET_OF_PERMILLE, false),
    FIELD(34, "sample_first", SBX_FIELD_NUMBER, delivery.sampling.first, 1, 100, false),
    CAPTURE(35, recording_kib, SBX_FIELD_NUMBER, 1024, 65536, false),
    DELIVERY(36, spool_kib, SBX_FIELD_NUMBER, 1024, 16384),
    DELIVERY(37, spool_files, SBX_FIELD_NUMBER, 1, 200),
    DELIVERY(38, upload_jitter_s, SBX_FIELD_NUMBER, 0, 86400),
    DELIVERY(39, spool_hours, SBX_FIELD_NUMBER, 1, 720),
    ONE_IN(42, "sample_anr", SBX_TRIGGER_ANR),
    ONE_IN(43, "sample_deadline", SBX_TRIGGER_DEADLINE),
    ONE_IN(44, "sample_slow_message", SBX_TRIGGER_SLOW_MESSAGE),
    ONE_IN(45, "sample_slow_frame", SBX_TRIGGER_SLOW_FRAME),
    ONE_IN(46, "sample_watchdog", SBX_TRIGGER_WATCHDOG),
    ONE_IN(47, "sample_killed", SBX_TRIGGER_KILLED),
    ONE_IN(48, "sample_crash", SBX_TRIGGER_CRASH),
    CAPTURE(49, follow_forks, SBX_FIELD_SWITCH, 0, 1, false),
    CAPTURE(50, max_cpu_tenths, SBX_FIELD_NUMBER, 0, 9, false),
};
enum {
    FIELD_COUNT = sizeof fields / sizeof fields[0]
};
static_assert(sizeof(enum sbx_module_rule) == sizeof(uint32_t), "every field but masks of points is a uint32_t");

const struct sbx_policy_field *sbx_policy_fields(size_t *count_out)
{
    *count_out = FIELD_COUNT;
    return fields;
}

const struct sbx_policy_field *sbx_policy_field_of_number(uint32_t number)
{
    size_t count;
    const struct sbx_policy_field *all = sbx_policy_fields(&count);
    for (size_t i = 0; i < count; i++) {
        if (all[i].number == number) {
            return &all[i];
        }
    }
    return NULL;
}

uint64_t sbx_policy_get(const struct sbx_policy *policy, const struct sbx_policy_field *field)
{
    const char *place = (const char *)policy + field->offset;
    uint64_t points;
    uint32_t value;
    if (field->form == SBX_FIELD_POINTS) {
        memcpy(&points, place, sizeof points);
        return points;
    }
    memcpy(&value, place, sizeof value);
    return value;
}

void sbx_policy_set(struct sbx_policy *policy, const struct sbx_policy_field *field, uint64_t value)
{
    char *place = (char *)policy + field->offset;
    uint32_t number = (uint32_t)value;
    if (field->form == SBX_FIELD_POINTS) {
        memcpy(place, &value, sizeof value);
    } else {
        memcpy(place, &number, sizeof number);
    }
}

bool sbx_policy_field_holds(const struct sbx_policy_field *field, uint64_t value)
{
    if (field->form == SBX_FIELD_POINTS || field->form == SBX_FIELD_CONDITIONS) {
        return (value & ~field->max) == 0; /* an unknown bit cannot be honoured */
    }
    return (field->may_be_off && value == 0) || (value >= field->min && value <= field->max);
}

const struct sbx_policy *sbx_policy_default(void)
{
    return &embedded_default;
}

void sbx_policy_reduced(struct sbx_policy *policy_out)
{
    *policy_out = embedded_default;
    policy_out->capture.slow_message_ms = 0;
    policy_out->capture.slow_frame_ms = 0;
    policy_out->delivery.snapshots_day = 1;
    policy_out->delivery.snapshots_kind_day = 1;
}

void sbx_policy_off(struct sbx_policy *policy_out)
{
    *policy_out = embedded_default;
    policy_out->capture.enabled = 0;
    policy_out->capture.points = 0;
    policy_out->capture.detail_level = 0;
    policy_out->delivery.snapshots_day = 0;
    policy_out->delivery.bytes_day = 0;
    policy_out->delivery.bytes_day_metered = 0;
}

const char *sbx_policy_check(const struct sbx_policy *policy)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!sbx_policy_field_holds(&fields[i], sbx_policy_get(policy, &fields[i]))) {
            return fields[i].name;
        }
    }
    if (policy->capture.gap_us < policy->capture.interval_us) {
        return "gap_us"; /* the gap filler would sample threads that are on time */
    }
    if (sbx_budget_of(&policy->capture) > SBX_BUDGET_MOST) {
        return "max_cpu_tenths";
    }
    for (size_t i = 0; i < SBX_POINT_GROUPS_MAX; i++) {
        const struct sbx_point_limits *group = &policy->capture.limits[i];
        if (group->interval_us != 0 && (group->interval_us < 1000 || group->interval_us > 10000000)) {
            return "limits.interval_us";
        }
        if (group->threshold_us != 0 && (group->threshold_us < 10 || group->threshold_us > 10000000)) {
            return "limits.threshold_us";
        }
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
