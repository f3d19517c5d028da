/* SPDX-License-Identifier: Apache-2.0 */
/* governor_decision.h - does recording cost too much, and what is done about it: a pure function of numbers.
 *
 * What recording costs is compared with the application's CPU time, window by window (some second of time in which the
 * watch thread is awake). Over the budget, one thing is changed:
 *
 *   the interval    between a thread's samples of itself, and the time a wait must last to be told: captures
 *   the gap         between the watch thread's looks: its ticks, and the signals it sends
 *   a group         of points is shed, its hooks taken out: the calls that go through them
 *
 * The first two are doubled, up to SBX_INTERVAL_WIDEST_US and SBX_GAP_WIDEST_US; of them the one that costs most. Groups
 * are shed only when doubling cannot bring the cost below the budget any more, the one whose calls cost most first. A
 * burst is let pass: nothing is widened before the second window over the budget in a row, nothing shed before the fifth.
 * Below
 * the budget for SBX_CALM_WINDOWS windows, one step is taken back, if what it will cost again leaves a fifth of the budget
 * free: so it does not swing. A group that was shed says nothing of what it would cost now: it is put back after
 * a time, which doubles each time it has to go again soon. */
#ifndef SBX_GOVERNOR_DECISION_H
#define SBX_GOVERNOR_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

enum {
    SBX_INTERVAL_WIDEST_US = 32000, /* 1 ms is doubled five times */
    SBX_GAP_WIDEST_US = 40000,      /* 5 ms three times; ticks are up to four gaps apart (watch.c) */
    SBX_WIDEN_AFTER = 2,            /* windows over the budget in a row */
    SBX_SHED_AFTER = 5,
    SBX_CALM_WINDOWS = 10,
    SBX_SHED_FOR_S = 60,        /* how long a group is out at first */
    SBX_SHED_FOR_MOST_S = 3600, /* and at most */
    SBX_STALL_MOST_S = 60,
};

/* A process that hardly runs has hardly a budget, and a tick costs what it costs: what is compared with is no less than
 * this share of the time itself. 10: a tenth of one processor. */
enum {
    SBX_REFERENCE_SHARE = 10
};

/* Without these there is nothing to judge, or nothing that could say so. */
#define SBX_POINTS_KEPT                                                                                 \
    (SBX_POINT_BIT(SBX_GROUP_POLL) | SBX_POINT_BIT(SBX_GROUP_FRAME) | SBX_POINT_BIT(SBX_GROUP_LOADER) | \
     SBX_POINT_BIT(SBX_GROUP_ASYNC) | SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_PROCESS))

/* Nor without these where the main thread waits for its work in such calls. */
#define SBX_POINTS_OF_RESTS \
    (SBX_POINT_BIT(SBX_GROUP_COND) | SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | SBX_POINT_BIT(SBX_GROUP_FUTEX))

/* What one window cost, in nanoseconds of CPU time. */
struct sbx_cost_view {
    uint64_t window_ns;      /* its length, without the time the watch thread lay down */
    uint64_t application_ns; /* what the application used, without us */
    uint64_t tick_ns;        /* the watch thread, and the signals it sent; 0 when the window cannot be judged by it */
    uint64_t capture_ns;     /* captures by the application's threads at their points */
    uint64_t pass_ns[SBX_POINT_GROUPS_MAX]; /* calls that went through points and recorded nothing */
    uint64_t points;                        /* groups that are wanted */
    uint64_t kept;                          /* and those that may not go besides SBX_POINTS_KEPT */
    uint32_t interval_us, gap_us;           /* the same */
    uint64_t now_ns;
};

enum sbx_governor_step {
    SBX_STEP_NONE = 0,
    SBX_STEP_INTERVAL_WIDER = 1,
    SBX_STEP_GAP_WIDER = 2,
    SBX_STEP_SHED = 3,
    SBX_STEP_INTERVAL_NARROWER = 4,
    SBX_STEP_GAP_NARROWER = 5,
    SBX_STEP_RESTORE = 6,
    SBX_STEP_AT_END = 7, /* over the budget, and nothing is left to change */
};

/* What has been decided so far. Zeroed: nothing. */
struct sbx_governor {
    uint32_t interval_level, gap_level;  /* doublings in force */
    uint64_t shed;                       /* SBX_POINT_BIT() of the groups that are out */
    uint32_t over_windows, calm_windows; /* in a row */
    uint32_t changes;
    uint64_t restore_at_ns[SBX_POINT_GROUPS_MAX]; /* of a group that is out */
    uint64_t restored_ns[SBX_POINT_GROUPS_MAX];   /* when it last came back; 0: never */
    uint32_t shed_for_s[SBX_POINT_GROUPS_MAX];    /* how long it was out last; 0: never */
};

/* What the window's cost is compared with, and its share of that in millionths, at most a thousand times it. */
uint64_t sbx_governor_reference_ns(const struct sbx_cost_view *view);
uint32_t sbx_governor_share_ppm(uint64_t cost_ns, uint64_t reference_ns);

/* Decide, and note it in *governor. At most one step a window. `budget_permille` 0: no budget, nothing is changed. */
enum sbx_governor_step sbx_governor_decide(struct sbx_governor *governor, const struct sbx_cost_view *view,
                                           uint32_t budget_permille);

/* Is a stall in the making, a message having been open since `begin_ns` (0: none has left a note)? A message that never ends
 * is how a program computes in a batch, and no reason to spend without bound: after SBX_STALL_MOST_S it is none. */
bool sbx_governor_is_stalling(uint64_t begin_ns, uint64_t now_ns);

/* The application is at rest: what is out costs nothing inside. */
void sbx_governor_restore_all(struct sbx_governor *governor, uint64_t now_ns);

/* What is in force then: `wanted`, widened and with groups taken out. `is_stalling`: something has been open for so long
 * that a stall is in the making. That is what all this is for, and rare: it is recorded as closely as was wanted, but
 * for the groups that are out. */
void sbx_governor_apply(const struct sbx_governor *governor, const struct sbx_capture_settings *wanted,
                        bool is_stalling, struct sbx_capture_settings *settings_out);

#endif
