/* SPDX-License-Identifier: Apache-2.0 */
/* governor_decision.c - the arithmetic of the governor; no clock, no thread. */
#include "governor_decision.h"

#define NS_PER_S      UINT64_C(1000000000)
#define SHARE_MAX_PPM UINT64_C(1000000000)

enum {
    INTERVAL_MAX_US = 1000000, /* the compiled limits of a policy (policy.c) */
    GAP_MAX_US = 10000000,
    BUDGET_SHARES = 10000,
    SHARE_THAT_MATTERS = 16, /* of the excess cost */
    PAID_BACK_IN = 8,        /* windows; uses half of the budget at most */
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
    /* CPU time of one hour on 100 processors, times a million, needs 79 bits. */
    uint64_t whole = cost_ns / reference_ns, rest = cost_ns % reference_ns;
    uint64_t part =
        reference_ns > UINT64_MAX / 1000000 ? rest / (reference_ns / 1000000) : rest * 1000000 / reference_ns;
    return (uint32_t)(whole * 1000000 + part);
}

/* How often the wanted value may be doubled. */
static uint32_t levels_of(uint32_t wanted_us, uint32_t widest_us)
{
    uint32_t levels = 0;
    while (wanted_us != 0 && (uint64_t)wanted_us << (levels + 1) <= widest_us) {
        levels++;
    }
    return levels;
}

/* What further doubling can still save of a cost. */
static uint64_t savable(uint64_t cost_ns, uint32_t level, uint32_t levels)
{
    return level < levels ? cost_ns - (cost_ns >> (levels - level)) : 0;
}

static bool is_on(const struct sbx_governor *governor, const struct sbx_cost_view *view, uint32_t group)
{
    return ((view->points & ~governor->shed & ~governor->aside) & SBX_POINT_BIT(group)) != 0;
}

static uint64_t cost_of_passes(const struct sbx_governor *governor, const struct sbx_cost_view *view)
{
    uint64_t sum_ns = 0;
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        sum_ns += is_on(governor, view, group) ? view->pass_ns[group] : 0;
    }
    return sum_ns;
}

/* The ranks in which groups are shed. Clock reads and frees come first, because no report is poorer without them. A
 * stall seldom waits in the calls of the second rank. Then come the groups that say who queued the work, and the counts
 * of allocations. The groups that say that a thread waited, and for whom, come last. */
uint32_t sbx_governor_rank(uint32_t group)
{
    enum {
        NOT_LISTED = 5
    };
    static const uint8_t ranks[SBX_GROUP_COUNT] = {
        [SBX_GROUP_CLOCK] = 1,   [SBX_GROUP_FREE] = 1,       [SBX_GROUP_STAT] = 2,     [SBX_GROUP_STDIO] = 2,
        [SBX_GROUP_MAP] = 2,     [SBX_GROUP_DIRECTORY] = 2,  [SBX_GROUP_TASK] = 3,     [SBX_GROUP_GLIB] = 3,
        [SBX_GROUP_QT] = 3,      [SBX_GROUP_UV] = 3,         [SBX_GROUP_LIBEVENT] = 3, [SBX_GROUP_ALLOC] = 4,
        [SBX_GROUP_LOCK] = 6,    [SBX_GROUP_COND] = 6,       [SBX_GROUP_FILE] = 6,     [SBX_GROUP_SELF_PIPE] = 3,
        [SBX_GROUP_ASYNCIO] = 3, [SBX_GROUP_JAVASCRIPT] = 3,
    };
    return group < SBX_GROUP_COUNT && ranks[group] != 0 ? ranks[group] : NOT_LISTED;
}

/* The group to shed, of those that may be shed: the one of the lowest rank, and of equal ranks the dearest. A group that
 * saves less than a sixteenth of the excess goes only when all others are gone. SBX_GROUP_COUNT: no group costs
 * anything, or all together save less than a sixteenth of the excess: then the watch thread's ticks cause the cost, and
 * shedding would lose evidence for nothing. */
static uint32_t least_telling(const struct sbx_governor *governor, const struct sbx_cost_view *view, uint64_t excess_ns)
{
    enum {
        SAVES_LITTLE = 256 /* more than any rank */
    };
    uint32_t found = SBX_GROUP_COUNT, found_rank = UINT32_MAX;
    uint64_t found_ns = 0, all_ns = 0;
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        uint64_t pass_ns = view->pass_ns[group];
        bool may_go = is_on(governor, view, group) && ((SBX_POINTS_KEPT | view->kept) & SBX_POINT_BIT(group)) == 0;
        if (!may_go || pass_ns == 0) {
            continue;
        }
        all_ns += pass_ns;
        uint32_t rank = sbx_governor_rank(group) + (pass_ns >= excess_ns / SHARE_THAT_MATTERS ? 0 : SAVES_LITTLE);
        if (rank < found_rank || (rank == found_rank && pass_ns > found_ns)) {
            found = group;
            found_rank = rank;
            found_ns = pass_ns;
        }
    }
    return all_ns >= excess_ns / SHARE_THAT_MATTERS ? found : SBX_GROUP_COUNT;
}

/* A group is shed for SBX_SHED_FOR_S at first, and for less at the start. If the group did not stay restored as long as
 * it was shed last time, it is shed for twice as long. */
static void shed(struct sbx_governor *governor, uint32_t group, uint64_t now_ns)
{
    uint32_t last_s = governor->shed_for_s[group];
    bool has_lasted = last_s == 0 || now_ns - governor->restored_ns[group] > last_s * NS_PER_S;
    uint32_t first_s = governor->windows > SBX_START_WINDOWS ? SBX_SHED_FOR_S : SBX_SHED_AT_START_S;
    uint32_t for_s = has_lasted ? first_s : 2 * last_s;
    for_s = for_s < SBX_SHED_FOR_MOST_S ? for_s : SBX_SHED_FOR_MOST_S;
    governor->shed |= SBX_POINT_BIT(group);
    governor->shed_for_s[group] = for_s;
    governor->restore_at_ns[group] = now_ns + for_s * NS_PER_S;
}

/* Takes one step. What the step saves is subtracted from the costs in *view. */
static enum sbx_governor_step spend_less(struct sbx_governor *governor, struct sbx_cost_view *view, uint64_t excess_ns,
                                         bool may_shed)
{
    uint32_t interval_levels = levels_of(view->interval_us, SBX_INTERVAL_WIDEST_US);
    uint32_t gap_levels = levels_of(view->gap_us, SBX_GAP_WIDEST_US);
    bool has_interval = governor->interval_level < interval_levels && view->capture_ns != 0;
    bool has_gap = governor->gap_level < gap_levels && view->tick_ns != 0;
    uint64_t savable_ns = savable(view->capture_ns, governor->interval_level, interval_levels) +
                          savable(view->tick_ns, governor->gap_level, gap_levels);
    uint32_t group = least_telling(governor, view, excess_ns);
    if (savable_ns < excess_ns && group != SBX_GROUP_COUNT && may_shed) {
        shed(governor, group, view->now_ns);
        return SBX_STEP_SHED;
    }
    if (has_interval && (!has_gap || view->capture_ns >= view->tick_ns)) {
        governor->interval_level++;
        view->capture_ns -= view->capture_ns / 2;
        return SBX_STEP_INTERVAL_WIDER;
    }
    if (has_gap) {
        governor->gap_level++;
        view->tick_ns -= view->tick_ns / 2;
        return SBX_STEP_GAP_WIDER;
    }
    if (group != SBX_GROUP_COUNT) {
        return SBX_STEP_NONE;
    }
    /* All remaining groups must stay, and the cost is still over the budget, as in a server with a runtime that needs
     * all of them: samples become rarer still. */
    uint32_t last_levels = levels_of(view->interval_us, SBX_INTERVAL_LAST_US);
    uint64_t last_savable_ns = savable(view->capture_ns, governor->interval_level, last_levels);
    if (last_savable_ns > 0 && last_savable_ns >= excess_ns / SHARE_THAT_MATTERS) {
        governor->interval_level++;
        view->capture_ns -= view->capture_ns / 2;
        return SBX_STEP_INTERVAL_WIDER;
    }
    return SBX_STEP_AT_END;
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

/* `room_ns` is what may be spent in addition. If a doubling is taken back, the cost rises by its present amount. */
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

static bool is_change(enum sbx_governor_step step)
{
    return step != SBX_STEP_NONE && step != SBX_STEP_AT_END;
}

bool sbx_governor_put_aside(struct sbx_governor *governor, uint64_t useless, uint32_t budget)
{
    uint64_t before = governor->aside;
    bool is_early = governor->windows <= SBX_EARLY_WINDOWS;
    governor->aside = budget == 0 ? 0 : is_early ? before & useless : useless;
    governor->changes += governor->aside != before;
    return governor->aside != before;
}

static uint64_t cost_of(const struct sbx_governor *governor, const struct sbx_cost_view *view)
{
    return view->tick_ns + view->capture_ns + cost_of_passes(governor, view);
}

/* The budget of one processor for a second. */
static int64_t second_of(uint32_t budget)
{
    return (int64_t)budget * (int64_t)(NS_PER_S / BUDGET_SHARES);
}

/* The budget for a second in which the application gets the same share of the processors as in this window. */
static int64_t rate_of(const struct sbx_cost_view *view, uint64_t budget_ns)
{
    uint64_t window_ms = view->window_ns / (NS_PER_S / 1000);
    return (int64_t)(budget_ns * 1000 / (window_ms != 0 ? window_ms : 1));
}

/* Over the budget while there is credit: a short burst is tolerated. */
static enum sbx_governor_step spend_less_slowly(struct sbx_governor *governor, struct sbx_cost_view *view,
                                                uint64_t excess_ns)
{
    bool may_shed = governor->over_windows >= SBX_SHED_AFTER && !view->is_near;
    enum sbx_governor_step step = SBX_STEP_NONE;
    if (governor->over_windows >= SBX_WIDEN_AFTER) {
        step = spend_less(governor, view, excess_ns, may_shed);
    }
    governor->changes += is_change(step);
    return step;
}

/* Over the budget without credit: takes every step that is needed to bring the cost down to `allowed_ns`. */
static enum sbx_governor_step spend_less_at_once(struct sbx_governor *governor, struct sbx_cost_view *view,
                                                 uint64_t allowed_ns, bool may_shed)
{
    enum sbx_governor_step step = SBX_STEP_NONE, next = SBX_STEP_NONE;
    for (uint64_t cost_ns; (cost_ns = cost_of(governor, view)) > allowed_ns;) {
        next = spend_less(governor, view, cost_ns - allowed_ns, may_shed);
        if (!is_change(next)) {
            break;
        }
        step = next;
        governor->changes++;
    }
    return step != SBX_STEP_NONE ? step : next;
}

enum sbx_governor_step sbx_governor_decide(struct sbx_governor *governor, const struct sbx_cost_view *seen,
                                           uint32_t budget)
{
    enum sbx_governor_step step = SBX_STEP_NONE;
    struct sbx_cost_view view = *seen;
    int64_t second_ns = second_of(budget), credit_ns = governor->credit_ns;
    bool is_first = governor->windows == 0;
    governor->windows += governor->windows != UINT32_MAX;
    governor->looks_at_rest = 0;
    governor->look_again_ns = 0;
    (void)sbx_governor_put_aside(governor, view.useless & ~view.kept, budget);
    if (budget == 0) {
        return step;
    }
    governor->shed &= ~view.kept; /* a group that turned out to be needed is restored at once */
    uint64_t budget_ns = sbx_governor_reference_ns(&view) / BUDGET_SHARES * budget;
    uint64_t cost_ns = cost_of(governor, &view);
    governor->rate_ns = rate_of(&view, budget_ns);
    int64_t advance_ns = SBX_ADVANCE_S * governor->rate_ns;
    credit_ns += is_first ? advance_ns : 0;
    credit_ns +=
        (int64_t)(view.rested_ns / SBX_REFERENCE_SHARE / BUDGET_SHARES * budget + budget_ns) - (int64_t)cost_ns;
    credit_ns = credit_ns < SBX_CREDIT_MOST_S * second_ns ? credit_ns : SBX_CREDIT_MOST_S * second_ns;
    credit_ns = credit_ns > -SBX_DEBT_MOST_S * second_ns ? credit_ns : -SBX_DEBT_MOST_S * second_ns;
    governor->credit_ns = credit_ns;
    if (view.was_close) {
        return step; /* the cost of close recording says nothing about the usual cost; it ends with the credit */
    }
    uint64_t debt_ns = credit_ns < 0 ? (uint64_t)-credit_ns : 0;
    uint64_t owed_ns = credit_ns < advance_ns ? (uint64_t)(advance_ns - credit_ns) : 0;
    uint64_t paid_ns = owed_ns / PAID_BACK_IN < budget_ns / 2 ? owed_ns / PAID_BACK_IN : budget_ns / 2;
    uint64_t allowed_ns = budget_ns - paid_ns;
    if (cost_ns > allowed_ns) {
        governor->calm_windows = 0;
        governor->over_windows++;
        bool may_shed = !view.is_near || debt_ns >= (uint64_t)(SBX_OVERDRAFT_S * governor->rate_ns);
        return debt_ns == 0 ? spend_less_slowly(governor, &view, cost_ns - allowed_ns)
                            : spend_less_at_once(governor, &view, allowed_ns, may_shed);
    }
    governor->over_windows = 0;
    if (++governor->calm_windows >= SBX_CALM_WINDOWS) {
        uint64_t aim_ns = budget_ns - budget_ns / 5;
        if (cost_ns < aim_ns && owed_ns == 0) {
            step = spend_more(governor, &view, aim_ns - cost_ns);
        }
        governor->calm_windows = step != SBX_STEP_NONE ? 0 : SBX_CALM_WINDOWS;
    }
    governor->changes += is_change(step);
    return step;
}

uint64_t sbx_governor_window_ns(const struct sbx_governor *governor)
{
    if (governor->windows < SBX_SHORTEST_WINDOWS) {
        return NS_PER_S / 32;
    }
    return governor->windows < SBX_FIRST_WINDOWS ? NS_PER_S / 8 : NS_PER_S;
}

bool sbx_governor_records_closely(struct sbx_governor *governor, bool is_stalling, uint32_t budget)
{
    int64_t least_ns = governor->records_close ? 0 : SBX_CLOSELY_S * governor->rate_ns;
    governor->records_close = is_stalling && (budget == 0 || governor->credit_ns > least_ns);
    return governor->records_close;
}

static void restore_all(struct sbx_governor *governor, uint64_t now_ns)
{
    for (uint32_t group = 0; group < SBX_GROUP_COUNT; group++) {
        if ((governor->shed & SBX_POINT_BIT(group)) != 0) {
            governor->restored_ns[group] = now_ns;
        }
    }
    governor->changes += governor->shed != 0;
    governor->shed = 0;
}

uint64_t sbx_governor_look_again_ns(struct sbx_governor *governor, uint64_t now_ns)
{
    if (governor->shed == 0) {
        return UINT64_MAX;
    }
    if (governor->look_again_ns == 0) {
        governor->look_again_ns = now_ns + NS_PER_S;
    } else if (now_ns >= governor->look_again_ns) {
        if (++governor->looks_at_rest == SBX_LOOKS_AT_REST) {
            restore_all(governor, now_ns);
            return UINT64_MAX;
        }
        governor->look_again_ns = now_ns + (NS_PER_S << 2 * governor->looks_at_rest);
    }
    return governor->look_again_ns;
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
                        struct sbx_capture_settings *settings_out)
{
    *settings_out = *wanted;
    settings_out->points = wanted->points & ~governor->shed & ~governor->aside;
    if (governor->records_close) {
        return;
    }
    uint32_t widest = levels_of(wanted->interval_us, SBX_INTERVAL_WIDEST_US), level = governor->interval_level;
    uint32_t wait_level = level < widest ? level : widest; /* a wait of a tenth of a second is always recorded */
    settings_out->interval_us = widened(wanted->interval_us, level, INTERVAL_MAX_US);
    settings_out->wait_min_us = widened(wanted->wait_min_us, wait_level, INTERVAL_MAX_US);
    settings_out->gap_us = widened(wanted->gap_us, governor->gap_level, GAP_MAX_US);
    for (uint32_t group = 0; group < SBX_POINT_GROUPS_MAX; group++) {
        struct sbx_point_limits *limits = &settings_out->limits[group];
        /* A group's own interval counts only if it is longer than the general interval (the_capture.c), so it needs no
         * widening. */
        if (limits->threshold_us != 0) {
            limits->threshold_us = widened(limits->threshold_us, wait_level, GAP_MAX_US);
        }
    }
}
