/* SPDX-License-Identifier: Apache-2.0 */
/* governor_decision.h - decides whether recording costs too much, and what to change: a pure function of numbers.
 *
 * What recording costs is compared with the application's CPU time, window by window. A window is about a second in
 * which the watch thread is awake; the first windows are shorter. When the cost is over the budget, one of these is
 * changed:
 *
 *   the interval    between a thread's samples of itself, and the least time of a recorded wait: the cost of captures
 *   the gap         between the watch thread's ticks: the cost of ticks, and of the signals it sends
 *   a group         of points is shed, its hooks are removed: the cost of the calls that pass through them
 *
 * The interval and the gap are doubled, up to SBX_INTERVAL_WIDEST_US and SBX_GAP_WIDEST_US; the one that costs more is
 * doubled first. Groups are shed only when doubling cannot bring the cost below the budget any more: first the group
 * that explains least (sbx_governor_rank()), and of equal groups the one whose calls cost most. When no group may be
 * shed and captures still cost too much, the interval is doubled up to SBX_INTERVAL_LAST_US, but not the least time of
 * a wait.
 *
 * Every window is accounted for. The unused part of its budget is added to the credit, up to SBX_CREDIT_MOST_S of the
 * budget of one processor; the excess cost is subtracted from it. While there is credit, a burst is tolerated: nothing
 * is widened before the second window in a row over the budget, nothing is shed before the fifth, and one step is taken
 * in a window. A developing stall is recorded as closely as was wanted, as long as there is credit. In debt, everything
 * that is needed is changed at once; but while a message is close to becoming a stall, groups stay for a while, because
 * they would explain it. At the start there is an advance of SBX_ADVANCE_S. The advance and later debts are always paid
 * back: until then the budget is smaller.
 *
 * Some groups explain nothing in some programs: for example, who released a lock in a process of one thread. With a
 * budget such groups are put aside after the first five seconds, whatever they cost, and are restored in the tick in
 * which they become useful.
 *
 * After SBX_CALM_WINDOWS windows below the budget, one step is taken back, if its cost would leave a fifth of the
 * budget free. This avoids oscillation. What a shed group would cost now is unknown: it is restored after a time, which
 * doubles each time the group has to be shed again soon. */
#ifndef SBX_GOVERNOR_DECISION_H
#define SBX_GOVERNOR_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

enum {
    SBX_INTERVAL_WIDEST_US = 32000, /* 1 ms is doubled five times */
    SBX_INTERVAL_LAST_US = 256000,  /* doubled three times more when nothing else is left to change */
    SBX_GAP_WIDEST_US = 40000,      /* 5 ms is doubled three times; ticks are up to four gaps apart (watch.c) */
    SBX_WIDEN_AFTER = 2,            /* windows over the budget in a row */
    SBX_SHED_AFTER = 5,
    SBX_CALM_WINDOWS = 10,
    SBX_SHORTEST_WINDOWS = 4,   /* windows of a 32nd of a second */
    SBX_FIRST_WINDOWS = 11,     /* together with windows of an eighth of a second: the first second */
    SBX_EARLY_WINDOWS = 15,     /* together with windows of a second: the first five seconds */
    SBX_START_WINDOWS = 20,     /* the first ten seconds */
    SBX_SHED_AT_START_S = 30,   /* how long a group is shed that is shed in those */
    SBX_SHED_FOR_S = 60,        /* how long a group is shed at first */
    SBX_SHED_FOR_MOST_S = 3600, /* at most */
    SBX_STALL_MOST_S = 60,
    SBX_LOOKS_AT_REST = 4, /* looks at rest, after which all groups are restored */
};

/* Limits of the account, in seconds of the budget of one processor. */
enum {
    SBX_CREDIT_MOST_S = 30, /* how much may be saved */
    SBX_DEBT_MOST_S = 10,   /* a greater debt is forgotten: it could never be repaid when nothing more can be saved */
};

/* Further limits, in seconds of the budget at the application's present share of the processors. */
enum {
    SBX_ADVANCE_S = 2,   /* at the start */
    SBX_CLOSELY_S = 1,   /* the credit that is needed to begin close recording of a developing stall */
    SBX_OVERDRAFT_S = 5, /* debt in which groups are shed even when a message is close to a stall */
};

/* A process that hardly runs has hardly a budget, but a tick has a fixed cost. So the cost is compared with at least
 * this share of the elapsed time. 10: a tenth of one processor. */
enum {
    SBX_REFERENCE_SHARE = 10
};

/* Without these groups nothing can be judged, or no judgement can be reported. */
#define SBX_POINTS_KEPT                                                                                 \
    (SBX_POINT_BIT(SBX_GROUP_POLL) | SBX_POINT_BIT(SBX_GROUP_FRAME) | SBX_POINT_BIT(SBX_GROUP_LOADER) | \
     SBX_POINT_BIT(SBX_GROUP_ASYNC) | SBX_POINT_BIT(SBX_GROUP_SLEEP) | SBX_POINT_BIT(SBX_GROUP_PROCESS))

/* These groups must stay, too, when the main thread waits for its work in such calls. */
#define SBX_POINTS_OF_RESTS \
    (SBX_POINT_BIT(SBX_GROUP_COND) | SBX_POINT_BIT(SBX_GROUP_SEMAPHORE) | SBX_POINT_BIT(SBX_GROUP_FUTEX))

/* Groups that explain nothing in a process of one thread that shares nothing with a family: who woke whom. Not who
 * holds a lock: the holder may be the thread itself, or a process that shares only this lock. */
#define SBX_POINTS_OF_COMPANY SBX_POINT_BIT(SBX_GROUP_WAKE)

/* What one window cost, in nanoseconds of CPU time. */
struct sbx_cost_view {
    uint64_t window_ns;      /* its length, without the time when the watch thread slept */
    uint64_t application_ns; /* CPU time of the application, without ours */
    uint64_t tick_ns;        /* the watch thread and the signals it sent; 0: not to be judged in this window */
    uint64_t capture_ns;     /* captures by the application's threads at their points */
    uint64_t pass_ns[SBX_POINT_GROUPS_MAX]; /* calls that went through points and recorded nothing */
    uint64_t points;                        /* groups that are wanted */
    uint64_t kept;                          /* groups that must stay in addition to SBX_POINTS_KEPT */
    uint64_t useless;                       /* groups that explain nothing at present: SBX_POINTS_OF_COMPANY */
    uint32_t interval_us, gap_us;           /* the wanted values */
    uint64_t rested_ns;                     /* besides the window: the application and the watch thread rested */
    uint64_t now_ns;
    bool was_close; /* in a part of the window a developing stall was recorded closely */
    bool is_near;   /* at its end a message was close to becoming a stall */
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

/* The decisions so far. Zeroed: none. */
struct sbx_governor {
    uint32_t interval_level, gap_level;  /* doublings in force */
    uint64_t shed;                       /* SBX_POINT_BIT() of the groups that are shed because of their cost */
    uint64_t aside;                      /* of the groups that are put aside because they explain nothing */
    uint32_t over_windows, calm_windows; /* in a row */
    uint32_t changes;
    uint32_t windows;       /* that were judged */
    int64_t credit_ns;      /* below 0: debt; the first window brings SBX_ADVANCE_S */
    int64_t rate_ns;        /* the budget of a second, at the application's processor share in the last window */
    bool records_close;     /* a developing stall is recorded closely */
    uint32_t looks_at_rest; /* since the last window, with groups shed */
    uint64_t look_again_ns; /* when the next of these looks is due; 0: the application has not rested since */
    uint64_t restore_at_ns[SBX_POINT_GROUPS_MAX]; /* of a group that is shed */
    uint64_t restored_ns[SBX_POINT_GROUPS_MAX];   /* when the group was last restored; 0: never */
    uint32_t shed_for_s[SBX_POINT_GROUPS_MAX];    /* how long the group was shed last time; 0: never */
};

/* The time that the window's cost is compared with, and the cost's share of it in millionths, limited to 1,000 times
 * that time. */
uint64_t sbx_governor_reference_ns(const struct sbx_cost_view *view);
uint32_t sbx_governor_share_ppm(uint64_t cost_ns, uint64_t reference_ns);

/* The length of the next window. */
uint64_t sbx_governor_window_ns(const struct sbx_governor *governor);

/* How much a group of points explains of a stall: groups of a lower rank are shed first. */
uint32_t sbx_governor_rank(uint32_t group);

/* Account for a window, decide, and note the decision in *governor. Returns the last step taken: while there is credit
 * at most one step is taken, in debt as many as are needed. `budget` 0: no budget, nothing is changed. */
enum sbx_governor_step sbx_governor_decide(struct sbx_governor *governor, const struct sbx_cost_view *view,
                                           uint32_t budget);

/* Decide which of the groups in `useless` are put aside from now on: with a budget, and after the first seconds. A
 * group that has become useful is restored at once. Returns true when the set has changed. */
bool sbx_governor_put_aside(struct sbx_governor *governor, uint64_t useless, uint32_t budget);

/* Is a stall developing, when a message has been open since `begin_ns` (0: no note of an open message)? A program that
 * computes in a batch may have a message that never ends, which must not cost without bound: so after SBX_STALL_MOST_S
 * the answer is false. */
bool sbx_governor_is_stalling(uint64_t begin_ns, uint64_t now_ns);

/* Is the developing stall recorded as closely as was wanted from now on? True while there is credit, or without a
 * budget. */
bool sbx_governor_records_closely(struct sbx_governor *governor, bool is_stalling, uint32_t budget);

/* The watch thread is about to sleep, because it found the application at rest. While groups are shed it must look
 * again at the time that this returns (UINT64_MAX: need not): a second after it first went to sleep since the last
 * window, and then 4, 16 and 64 seconds after the previous look. An earlier awakening does not count as a look. At the
 * fourth look that finds the application at rest, all groups are restored: a resting application does not pass through
 * their hooks, so they cost nothing. */
uint64_t sbx_governor_look_again_ns(struct sbx_governor *governor, uint64_t now_ns);

/* The settings in force: `wanted`, widened and without the groups that are out. While a stall is recorded closely
 * nothing is widened. */
void sbx_governor_apply(const struct sbx_governor *governor, const struct sbx_capture_settings *wanted,
                        struct sbx_capture_settings *settings_out);

#endif
