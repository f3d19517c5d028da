/* SPDX-License-Identifier: Apache-2.0 */
/* governor_decision.c - the arithmetic of the governor; no clock, no thread. */
#include "governor_decision.h"

#define NS_PER_S      UINT64_C(1000000000)
#define SHARE_MAX_PPM UINT64_C(1000000000)

enum {
    INTERVAL_MAX_US = 1000000, /* the compiled limits of a policy (policy.c) */
    GAP_MAX_US = 10000000,
};

uint64_t sbx_governor_reference_ns(const struct sbx_cost_view *view)
{
    uint64_t floor_ns = view->window_ns / SBX_REFERENCE_SHARE;
    return view->application_ns > floor_ns ? view->application_ns : floor_ns;
}

uint32_t sbx_governor_share_ppm(uint64_t cost_ns, uint64_t reference_ns)
{
    if (reference_ns == 0) {
        return cost_ns == 0 ? 0 : (uint32_t)SHARE_MAX_PPM;
    }
    if (cost_ns / 1000 >= reference_ns) {
        return (uint32_t)SHARE_MAX_PPM;
    }
    /* An hour of CPU time of 100 processors times a million needs 79 bits. */
    uint64_t whole = cost_ns / reference_ns, rest = cost_ns % reference_ns;
    uint64_t part =
        reference_ns > UINT64_MAX / 1000000 ? rest / (reference_ns / 1000000) : rest * 1000000 / reference_ns;
    return (uint32_t)(whole * 1000000 + part);
}

/* How often what is wanted may be doubled. */
static uint32_t levels_of(uint32_t wanted_us, uint32_t widest_us)
{
    uint32_t levels = 0;
    while (wanted_us != 0 && (uint64_t)wanted_us << (levels + 1) <= widest_us) {
        levels++;
    }
    return levels;
}

/* What doubling can still save of a cost. */
static uint64_t savable(uint64_t cost_ns, uint32_t level, uint32_t levels)
{
    return level < levels ? cost_ns - (cost_ns >> (levels - level)) : 0;
}

static bool is_on(const struct sbx_governor *governor, const struct sbx_cost_view *view, uint32_t group)
{
    return ((view->points & ~governor->shed) & SBX_POINT_BIT(group)) != 0;
}

static uint64_t cost_of_passes(const struct sbx_governor *governor, const struct sbx_cost_view *view)
{
    uint64_t sum_ns = 0;
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        sum_ns += is_on(governor, view, group) ? view->pass_ns[group] : 0;
    }
    return sum_ns;
}

/* The group whose calls cost most, of those that may go; SBX_GROUP_COUNT: none costs anything. */
static uint32_t dearest(const struct sbx_governor *governor, const struct sbx_cost_view *view)
{
    uint32_t found = SBX_GROUP_COUNT;
    uint64_t most_ns = 0;
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        bool may_go = is_on(governor, view, group) && ((SBX_POINTS_KEPT | view->kept) & SBX_POINT_BIT(group)) == 0;
        if (may_go && view->pass_ns[group] > most_ns) {
            most_ns = view->pass_ns[group];
            found = group;
        }
    }
    return found;
}

/* Out at first for SBX_SHED_FOR_S; for twice as long as the last time when it did not last that long inside. */
static void shed(struct sbx_governor *governor, uint32_t group, uint64_t now_ns)
{
    uint32_t last_s = governor->shed_for_s[group];
    bool has_lasted = last_s == 0 || now_ns - governor->restored_ns[group] > last_s * NS_PER_S;
    uint32_t for_s = has_lasted ? SBX_SHED_FOR_S : 2 * last_s;
    for_s = for_s < SBX_SHED_FOR_MOST_S ? for_s : SBX_SHED_FOR_MOST_S;
    governor->shed |= SBX_POINT_BIT(group);
    governor->shed_for_s[group] = for_s;
    governor->restore_at_ns[group] = now_ns + for_s * NS_PER_S;
}

static enum sbx_governor_step spend_less(struct sbx_governor *governor, const struct sbx_cost_view *view,
                                         uint64_t excess_ns)
{
    uint32_t interval_levels = levels_of(view->interval_us, SBX_INTERVAL_WIDEST_US);
    uint32_t gap_levels = levels_of(view->gap_us, SBX_GAP_WIDEST_US);
    bool has_interval = governor->interval_level < interval_levels && view->capture_ns != 0;
    bool has_gap = governor->gap_level < gap_levels && view->tick_ns != 0;
    uint64_t savable_ns = savable(view->capture_ns, governor->interval_level, interval_levels) +
                          savable(view->tick_ns, governor->gap_level, gap_levels);
    uint32_t group = dearest(governor, view);
    if (governor->over_windows < SBX_WIDEN_AFTER) {
        return SBX_STEP_NONE;
    }
    if (savable_ns < excess_ns && group != SBX_GROUP_COUNT && governor->over_windows >= SBX_SHED_AFTER) {
        shed(governor, group, view->now_ns);
        return SBX_STEP_SHED;
    }
    if (has_interval && (!has_gap || view->capture_ns >= view->tick_ns)) {
        governor->interval_level++;
        return SBX_STEP_INTERVAL_WIDER;
    }
    if (has_gap) {
        governor->gap_level++;
        return SBX_STEP_GAP_WIDER;
    }
    return group != SBX_GROUP_COUNT ? SBX_STEP_NONE : SBX_STEP_AT_END;
}

/* The group that is due to come back first; SBX_GROUP_COUNT: none is due. */
static uint32_t due_back(const struct sbx_governor *governor, uint64_t now_ns)
{
    uint32_t found = SBX_GROUP_COUNT;
    uint64_t first_ns = now_ns + 1;
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        if ((governor->shed & SBX_POINT_BIT(group)) != 0 && governor->restore_at_ns[group] < first_ns) {
            first_ns = governor->restore_at_ns[group];
            found = group;
        }
    }
    return found;
}

/* `room_ns` is what may be spent besides. A level that is taken back costs again what it costs now. */
static enum sbx_governor_step spend_more(struct sbx_governor *governor, const struct sbx_cost_view *view,
                                         uint64_t room_ns)
{
    bool can_narrow_interval = governor->interval_level > 0 && view->capture_ns <= room_ns;
    bool can_narrow_gap = governor->gap_level > 0 && view->tick_ns <= room_ns;
    if (can_narrow_interval && (!can_narrow_gap || governor->interval_level >= governor->gap_level)) {
        governor->interval_level--;
        return SBX_STEP_INTERVAL_NARROWER;
    }
    if (can_narrow_gap) {
        governor->gap_level--;
        return SBX_STEP_GAP_NARROWER;
    }
    uint32_t group = due_back(governor, view->now_ns);
    if (group != SBX_GROUP_COUNT) {
        governor->shed &= ~SBX_POINT_BIT(group);
        governor->restored_ns[group] = view->now_ns;
        return SBX_STEP_RESTORE;
    }
    return SBX_STEP_NONE;
}

static enum sbx_governor_step count_change(struct sbx_governor *governor, enum sbx_governor_step step)
{
    governor->changes += step != SBX_STEP_NONE && step != SBX_STEP_AT_END;
    return step;
}

enum sbx_governor_step sbx_governor_decide(struct sbx_governor *governor, const struct sbx_cost_view *view,
                                           uint32_t budget_permille)
{
    enum sbx_governor_step step = SBX_STEP_NONE;
    if (budget_permille == 0) {
        return step;
    }
    governor->shed &= ~view->kept; /* what turned out to be needed comes back at once */
    uint64_t budget_ns = sbx_governor_reference_ns(view) / 1000 * budget_permille;
    uint64_t cost_ns = view->tick_ns + view->capture_ns + cost_of_passes(governor, view);
    if (cost_ns > budget_ns) {
        governor->calm_windows = 0;
        governor->over_windows++;
        step = spend_less(governor, view, cost_ns - budget_ns);
        return count_change(governor, step);
    }
    governor->over_windows = 0;
    if (++governor->calm_windows >= SBX_CALM_WINDOWS) {
        uint64_t aim_ns = budget_ns - budget_ns / 5;
        if (cost_ns < aim_ns) {
            step = spend_more(governor, view, aim_ns - cost_ns);
        }
        governor->calm_windows = step != SBX_STEP_NONE ? 0 : SBX_CALM_WINDOWS;
    }
    return count_change(governor, step);
}

void sbx_governor_restore_all(struct sbx_governor *governor, uint64_t now_ns)
{
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        if ((governor->shed & SBX_POINT_BIT(group)) != 0) {
            governor->restored_ns[group] = now_ns;
        }
    }
    governor->changes += governor->shed != 0;
    governor->shed = 0;
}

bool sbx_governor_is_stalling(uint64_t begin_ns, uint64_t now_ns)
{
    return begin_ns != 0 && (now_ns <= begin_ns || now_ns - begin_ns < SBX_STALL_MOST_S * NS_PER_S);
}

static uint32_t widened(uint32_t us, uint32_t level, uint32_t max_us)
{
    uint64_t wide_us = (uint64_t)us << level;
    return wide_us < max_us ? (uint32_t)wide_us : us > max_us ? us : max_us;
}

void sbx_governor_apply(const struct sbx_governor *governor, const struct sbx_capture_settings *wanted,
                        bool is_stalling, struct sbx_capture_settings *settings_out)
{
    *settings_out = *wanted;
    settings_out->points = wanted->points & ~governor->shed;
    if (is_stalling) {
        return;
    }
    settings_out->interval_us = widened(wanted->interval_us, governor->interval_level, INTERVAL_MAX_US);
    settings_out->wait_min_us = widened(wanted->wait_min_us, governor->interval_level, INTERVAL_MAX_US);
    settings_out->gap_us = widened(wanted->gap_us, governor->gap_level, GAP_MAX_US);
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        struct sbx_point_limits *limits = &settings_out->limits[group];
        /* A group's own interval holds when it is longer than everybody's (the_capture.c): it is widened in effect. */
        if (limits->threshold_us != 0) {
            limits->threshold_us = widened(limits->threshold_us, governor->interval_level, GAP_MAX_US);
        }
    }
}
