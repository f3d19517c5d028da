/* SPDX-License-Identifier: Apache-2.0 */
/* governor_decision.h - does recording cost too much, and what is done about it: a pure function of numbers.
 *
 * What recording costs is compared with the application's CPU time, window by window (some second of time in which the
 * watch thread is awake; the first are shorter). Over the budget, something is changed:
 *
 *   the interval    between a thread's samples of itself, and the time a wait must last to be told: captures
 *   the gap         between the watch thread's looks: its ticks, and the signals it sends
 *   a group         of points is shed, its hooks taken out: the calls that go through them
 *
 * The first two are doubled, up to SBX_INTERVAL_WIDEST_US and SBX_GAP_WIDEST_US; of them the one that costs most. Groups
 * are shed only when doubling cannot bring the cost below the budget any more, the one that explains least first
 * (sbx_governor_rank()), of equals the one whose calls cost most. Where no group may go and captures are still too dear, the interval is doubled
 * up to SBX_INTERVAL_LAST_US; how long a wait must last is not.
 *
 * Every window is accounted for. What it leaves of its budget is credit, up to SBX_CREDIT_MOST_S of the budget of one
 * processor; what it takes too much is taken from that. While there is credit, a burst is let pass: nothing is widened
 * before the second window over the budget in a row, nothing shed before the fifth, and one step is taken a window. A stall
 * in the making is recorded as closely as was wanted, for as long as there is credit. In debt, all that is needed is
 * changed at once; only groups stay for a while when something is near to being a stall, for what they would explain. At
 * the start there is an advance of SBX_ADVANCE_S. It is paid back, at any time and debts with it: until then the budget is
 * smaller.
 *
 * Some groups explain nothing in some programs, as who was let go in a process that has but one thread. With a budget they are put aside when
 * the first five seconds are over, whatever they cost, and are back in the tick in which they are of use.
 *
 * Below the budget for SBX_CALM_WINDOWS windows, one step is taken back, if what it will cost again leaves a fifth of the
 * budget free: so it does not swing. A group that was shed says nothing of what it would cost now: it is put back after
 * a time, which doubles each time it has to go again soon. */
#ifndef SBX_GOVERNOR_DECISION_H
#define SBX_GOVERNOR_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "capture_settings.h"

enum {
    SBX_INTERVAL_WIDEST_US = 32000, /* 1 ms is doubled five times */
    SBX_INTERVAL_LAST_US = 256000,  /* and three times more where nothing else is left */
    SBX_GAP_WIDEST_US = 40000,      /* 5 ms three times; ticks are up to four gaps apart (watch.c) */
    SBX_WIDEN_AFTER = 2,            /* windows over the budget in a row */
    SBX_SHED_AFTER = 5,
    SBX_CALM_WINDOWS = 10,
    SBX_SHORTEST_WINDOWS = 4,   /* windows of a 32nd of a second */
    SBX_FIRST_WINDOWS = 11,     /* with those of an eighth of a second after them: the first second */
    SBX_EARLY_WINDOWS = 15,     /* with those of a second: the first five seconds */
    SBX_START_WINDOWS = 20,     /* the first ten */
    SBX_SHED_AT_START_S = 30,   /* how long a group is out that goes in those */
    SBX_SHED_FOR_S = 60,        /* how long a group is out at first */
    SBX_SHED_FOR_MOST_S = 3600, /* and at most */
    SBX_STALL_MOST_S = 60,
    SBX_LOOKS_AT_REST = 4, /* after which all groups come back */
};

/* Of the account, in seconds of the budget of one processor. */
enum {
    SBX_CREDIT_MOST_S = 30, /* how much may be saved */
    SBX_DEBT_MOST_S = 10,   /* a greater debt is forgotten: who can give up nothing any more would not come out of it */
};

/* And in seconds of the budget of what the application gets of the processors at present. */
enum {
    SBX_ADVANCE_S = 2,   /* at the start */
    SBX_CLOSELY_S = 1,   /* what must be there when a stall in the making begins to be recorded closely */
    SBX_OVERDRAFT_S = 5, /* debt in which groups are shed even when something is near to being a stall */
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

/* What can explain nothing in a process of one thread that shares nothing with a family: who let go whom. Not who holds a lock: that may be the thread
 * itself, or a process that shares no more than this lock with it. */
#define SBX_POINTS_OF_COMPANY SBX_POINT_BIT(SBX_GROUP_WAKE)

/* What one window cost, in nanoseconds of CPU time. */
struct sbx_cost_view {
    uint64_t window_ns;      /* its length, without the time the watch thread lay down */
    uint64_t application_ns; /* what the application used, without us */
    uint64_t tick_ns;        /* the watch thread, and the signals it sent; 0 when the window cannot be judged by it */
    uint64_t capture_ns;     /* captures by the application's threads at their points */
    uint64_t pass_ns[SBX_POINT_GROUPS_MAX]; /* calls that went through points and recorded nothing */
    uint64_t points;                        /* groups that are wanted */
    uint64_t kept;                          /* and those that may not go besides SBX_POINTS_KEPT */
    uint64_t useless;                       /* and those that explain nothing as things are: SBX_POINTS_OF_COMPANY */
    uint32_t interval_us, gap_us;           /* the same */
    uint64_t rested_ns;                     /* besides the window: the application was at rest, and we were */
    uint64_t now_ns;
    bool was_close; /* in some of the window a stall in the making was recorded closely */
    bool is_near;   /* at its end something was near to being a stall */
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
    uint64_t shed;                       /* SBX_POINT_BIT() of the groups that are out for what they cost */
    uint64_t aside;                      /* and of those that are out because they explain nothing */
    uint32_t over_windows, calm_windows; /* in a row */
    uint32_t changes;
    uint32_t windows;       /* that were judged */
    int64_t credit_ns;      /* below 0: debt; the first window brings SBX_ADVANCE_S */
    int64_t rate_ns;        /* the budget of a second, of what the application got in the last window */
    bool records_close;     /* a stall in the making is recorded closely */
    uint32_t looks_at_rest; /* since the last window, with groups out */
    uint64_t look_again_ns; /* when the next of them is due; 0: the application was not at rest since */
    uint64_t restore_at_ns[SBX_POINT_GROUPS_MAX]; /* of a group that is out */
    uint64_t restored_ns[SBX_POINT_GROUPS_MAX];   /* when it last came back; 0: never */
    uint32_t shed_for_s[SBX_POINT_GROUPS_MAX];    /* how long it was out last; 0: never */
};

/* What the window's cost is compared with, and its share of that in millionths, at most a thousand times it. */
uint64_t sbx_governor_reference_ns(const struct sbx_cost_view *view);
uint32_t sbx_governor_share_ppm(uint64_t cost_ns, uint64_t reference_ns);

/* How long the next window is to be. */
uint64_t sbx_governor_window_ns(const struct sbx_governor *governor);

/* How much a group of points explains of a stall: those of a lower rank are shed first. */
uint32_t sbx_governor_rank(uint32_t group);

/* Account for a window and decide, and note it in *governor. Returns the last step taken: one at most while there is credit,
 * in debt as many as are needed. `budget` 0: no budget, nothing is changed. */
enum sbx_governor_step sbx_governor_decide(struct sbx_governor *governor, const struct sbx_cost_view *view,
                                           uint32_t budget);

/* Which of the groups in `useless` are aside from now on: with a budget, and when the first seconds have shown that they stay useless; those
 * that came to be of use are back at once. Returns true when that has changed. */
bool sbx_governor_put_aside(struct sbx_governor *governor, uint64_t useless, uint32_t budget);

/* Is a stall in the making, a message having been open since `begin_ns` (0: none has left a note)? A message that never ends
 * is how a program computes in a batch, and no reason to spend without bound: after SBX_STALL_MOST_S it is none. */
bool sbx_governor_is_stalling(uint64_t begin_ns, uint64_t now_ns);

/* Is it recorded as closely as was wanted from here on? While there is credit, or no budget. */
bool sbx_governor_records_closely(struct sbx_governor *governor, bool is_stalling, uint32_t budget);

/* The watch thread is about to lie down, because it found the application at rest. While groups are out it is to look again at
 * the time this returns (UINT64_MAX: need not), which is a second after it first lay down since the last window, then 4, 16
 * and 64 after the look before. Whoever gets up earlier and lies down again has proved nothing. At the fourth look that finds rest
 * all groups come back: what is out costs nothing inside. */
uint64_t sbx_governor_look_again_ns(struct sbx_governor *governor, uint64_t now_ns);

/* What is in force then: `wanted`, widened and with groups taken out. While a stall is recorded closely only the groups that
 * are out are missing. */
void sbx_governor_apply(const struct sbx_governor *governor, const struct sbx_capture_settings *wanted,
                        struct sbx_capture_settings *settings_out);

#endif
