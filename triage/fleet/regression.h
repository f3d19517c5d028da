/* SPDX-License-Identifier: Apache-2.0 */
/* regression.h - which issues became more or less frequent, and how sure that is. Pure; docs/REGRESSIONS.md has the
 * reasons.
 *
 * Machines are counted, each once per side: how many had the issue, of all machines that stalled at all. A machine that
 * stalls a hundred times a day tells no more about the next machine than one that stalls once. If machines report their
 * days (struct sbx_told), machine-days are counted as well: how many had the issue, of all machine-days. Only
 * machine-days show that everything became worse. */
#ifndef SBX_REGRESSION_H
#define SBX_REGRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_rate {
    int64_t hit, of; /* 0 <= hit <= of */
};

/* The probability of at least (at most) so many hits here if both sides are alike: Fisher's exact test, one-sided. 1 if
 * a side has no machines. */
double sbx_chance_of_more(struct sbx_rate here, struct sbx_rate base);
double sbx_chance_of_less(struct sbx_rate here, struct sbx_rate base);

/* The rate of `here` divided by that of `base`, with the bounds of its 95 % confidence interval (on the log scale, half
 * a machine added to each count). If `base` never had the issue, `ratio` and `high` are infinite. If `here` never had
 * it, `ratio` and `low` are 0. */
struct sbx_rate_ratio {
    double ratio, low, high;
};
struct sbx_rate_ratio sbx_rate_compare(struct sbx_rate here, struct sbx_rate base);

/* The probability of at least so many today, given the days before. Two tests are made, and the larger probability is
 * returned: Fisher's test, and a test by how much those days differ from each other (Student's t of the log rates). 1
 * if there are fewer than three days. */
double sbx_chance_of_surge(struct sbx_rate today, const struct sbx_rate *days, size_t count);

/* ---- penetration: machine-days, if machines also report days without a stall ---- */

/* The machine-days of one side, on the days that count (store_told.h). */
struct sbx_told {
    int64_t hit, active; /* machine-days with the issue; all machine-days. 0 <= hit <= active */
    int64_t hidden;      /* stalls that were not sent: at most so many more machine-days had the issue */
    int64_t days;
    double squares;  /* sum of hit * hit / active over the days: it tells how much days differ */
    double together; /* so many of `hit` count as one, because a machine's days are alike. 1 or more; 0 means 1 */
};

/* Whether both sides have enough days to be judged by machine-days. */
bool sbx_told_is_enough(const struct sbx_told *here, const struct sbx_told *base);

/* The probability that penetration is at least so much higher in `here` if both sides are alike. (For lower, exchange
 * the sides.) Two tests are made, by the number of machines and by how much days differ, and the larger probability is
 * returned. Stalls of `base` that were not sent count as if they had the issue. 1 if there are fewer than
 * SBX_TOLD_DAYS_MIN days on both sides together. */
double sbx_chance_of_worse(const struct sbx_told *here, const struct sbx_told *base);
struct sbx_rate_ratio sbx_told_compare(const struct sbx_told *here, const struct sbx_told *base);

enum {
    SBX_TOLD_DAYS_MIN = 5 /* on both sides together, which gives three degrees of freedom */
};

/* One day. */
struct sbx_told_day {
    int64_t hit, active, hidden;
};
/* As sbx_chance_of_surge(), for machine-days. If fewer machines reported their day today than on the median day, it is
 * judged as if as many had reported it. The reason: after a server was down, it gets the stalls later, but it never
 * gets the days. */
double sbx_chance_of_told_surge(struct sbx_told_day today, const struct sbx_told_day *days, size_t count);

/* ---- all issues of a comparison ---- */

enum sbx_change {
    SBX_CHANGE_NONE = 0,
    SBX_CHANGE_NEW = 1,       /* more, and no lower version or earlier day had it */
    SBX_CHANGE_REGRESSED = 2, /* more */
    SBX_CHANGE_SLOWER = 3,    /* its stalls last longer */
    SBX_CHANGE_SURGING = 4,   /* more today than in the week before */
    SBX_CHANGE_IMPROVED = 5,  /* fewer */
    SBX_CHANGE_GONE = 6,      /* it does not occur any more */
    SBX_CHANGES = 7,
};
const char *sbx_change_name(enum sbx_change change); /* "regressed" */

enum {
    SBX_CHANGE_MACHINES_MIN = 5 /* on both sides together; an issue with fewer is not tested */
};
#define SBX_CHANGE_ALARMS 0.01 /* at most this share of comparisons reports a change although nothing differs */

enum {
    SBX_CHANGE_THRESHOLDS = 2
};

/* What was counted when a change was found. */
enum sbx_measure {
    SBX_OF_STALLING, /* of the machines that stalled at all */
    SBX_OF_ACTIVE,   /* of all machine-days */
};

/* One issue, or all stalls together. For all stalls together, `here` and `base` are empty. */
struct sbx_change_row {
    struct sbx_rate here, base;
    struct sbx_told told_here, told_base; /* if both have days, these are compared instead of the two above */
    /* The same issue on the days of `here` and `base`, with `active` counting only machine-days with a stall. They tell
     * how much days differ. If there are no days, all days are taken to be alike. */
    struct sbx_told stalling_here, stalling_base;
    /* Machines with stalls longer than the p75, and longer than the p90, of both sides together; {0, 0}: not compared.
     * The first shows that all stalls last longer, the second that some do. */
    struct sbx_rate slow_here[SBX_CHANGE_THRESHOLDS], slow_base[SBX_CHANGE_THRESHOLDS];
    bool was_before; /* a lower version, or an earlier day, had it */
    /* Out: */
    enum sbx_change change;
    enum sbx_measure measure;
    double chance; /* the probability of a false alarm, corrected for all tests of the comparison */
    struct sbx_rate_ratio ratio;
};

/* Judge all issues of one comparison together, so that a large number of issues alone makes no alarm. Holm's method is
 * used; `alarms` (SBX_CHANGE_ALARMS) is the limit for all issues together. If memory runs out, no change is found. */
void sbx_changes_judge(struct sbx_change_row *rows, size_t count, double alarms);

/* If a version is judged again and again while its machines report, chance alone will sometimes look like a change. So
 * it is judged when there are SBX_CHANGE_FIRST_LOOK machines, and each time their number has doubled. Such a time is a
 * look. Returns the number of the look that is due, from 1; 0: none yet. Each look may use a part of SBX_CHANGE_ALARMS,
 * and all looks together use all of it. */
enum {
    SBX_CHANGE_FIRST_LOOK = 20
};
int sbx_change_look(int64_t machines);
double sbx_change_alarms_of_look(int look);

#endif
