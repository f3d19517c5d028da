/* SPDX-License-Identifier: Apache-2.0 */
/* regression.h - which issues became more or less frequent, and how sure that is. Pure; docs/REGRESSIONS.md has the
 * reasons.
 *
 * Machines are counted, each once per side: those that had the issue, of those that stalled at all. A machine that
 * stalls a hundred times a day tells no more about the next machine than one that stalls once. If machines report their
 * days (struct sbx_told), machine-days are counted as well: those with the issue, of all. Only these show if everything
 * became worse. */
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

/* here's rate by base's, and between what it lies with 95 % (on the log scale, half a machine added to each count). Of what base never met ratio and
 * high are infinite, of what here never met ratio and low are 0. */
struct sbx_rate_ratio {
    double ratio, low, high;
};
struct sbx_rate_ratio sbx_rate_compare(struct sbx_rate here, struct sbx_rate base);

/* The probability of so many today, given the days before: the larger one of Fisher's test, and of a test by how much
 * those days differ among themselves (Student's t of the log rates). 1 with fewer than three days. */
double sbx_chance_of_surge(struct sbx_rate today, const struct sbx_rate *days, size_t count);

/* ---- penetration: machine-days, where machines tell those without a stall too ---- */

/* One side, of the days that count (store_told.h). */
struct sbx_told {
    int64_t hit, active; /* machine-days with it; all. 0 <= hit <= active */
    int64_t hidden;      /* stalls that were not sent: on so many more it was met, at most */
    int64_t days;
    double squares;  /* hit * hit / active, added up over days: how much days differ */
    double together; /* as many of `hit` tell what one tells: a machine's days resemble each other. 1 or more; 0 is 1 */
};

/* Do both sides have enough days to be judged by them? */
bool sbx_told_is_enough(const struct sbx_told *here, const struct sbx_told *base);

/* The chance that penetration is so much more here (base: less) if both sides were alike: of machines, and of how much days differ, the larger
 * one. Stalls that were not sent count against it. 1 with fewer than SBX_TOLD_DAYS_MIN days in all. */
double sbx_chance_of_worse(const struct sbx_told *here, const struct sbx_told *base);
struct sbx_rate_ratio sbx_told_compare(const struct sbx_told *here, const struct sbx_told *base);

enum {
    SBX_TOLD_DAYS_MIN = 5 /* on both sides together: three degrees of freedom */
};

/* One day. */
struct sbx_told_day {
    int64_t hit, active, hidden;
};
/* As sbx_chance_of_surge(). Where today fewer machines told their day than on the median day, it is judged as if as many had: a server that was
 * down takes stalls later, and never hears of days. */
double sbx_chance_of_told_surge(struct sbx_told_day today, const struct sbx_told_day *days, size_t count);

/* ---- all issues of a comparison ---- */

enum sbx_change {
    SBX_CHANGE_NONE = 0,
    SBX_CHANGE_NEW = 1,       /* more, and never met before, in no lower version */
    SBX_CHANGE_REGRESSED = 2, /* more */
    SBX_CHANGE_SLOWER = 3,    /* its stalls last longer */
    SBX_CHANGE_SURGING = 4,   /* more today than in the week before */
    SBX_CHANGE_IMPROVED = 5,  /* fewer */
    SBX_CHANGE_GONE = 6,      /* none any more */
    SBX_CHANGES = 7,
};
const char *sbx_change_name(enum sbx_change change); /* "regressed" */

enum {
    SBX_CHANGE_MACHINES_MIN = 5 /* on both sides together: fewer tell nothing, and are not asked */
};
#define SBX_CHANGE_ALARMS 0.01 /* share of comparisons of what does not differ that tell something, at most */

enum {
    SBX_CHANGE_THRESHOLDS = 2
};

/* By what a change was seen. */
enum sbx_measure {
    SBX_OF_STALLING, /* of the machines that stalled at all */
    SBX_OF_ACTIVE,   /* of all machine-days */
};

/* One issue, or all stalls together: of those `here` and `base` are empty. */
struct sbx_change_row {
    struct sbx_rate here, base;
    struct sbx_told told_here, told_base; /* where both have days, these are compared, and not the two above */
    /* The same days of `here` and `base`, of all machine-days with a stall: by how much days differ. Without days they are taken for alike. */
    struct sbx_told stalling_here, stalling_base;
    /* Longer than the p75, and than the p90, of both together, counted as machines; {0, 0}: not compared. The first sees that all of
     * them last longer, the second that some do. */
    struct sbx_rate slow_here[SBX_CHANGE_THRESHOLDS], slow_base[SBX_CHANGE_THRESHOLDS];
    bool was_before; /* a lower version, or an earlier day, met it */
    /* Out: */
    enum sbx_change change;
    enum sbx_measure measure;
    double chance; /* of being told something although nothing differs: of all that is asked together */
    struct sbx_rate_ratio ratio;
};

/* Judge all issues of one comparison together, so that many of them make no alarm: Holm's way, `alarms` (SBX_CHANGE_ALARMS) over all.
 * Without memory nothing is told. */
void sbx_changes_judge(struct sbx_change_row *rows, size_t count, double alarms);

/* If a version is judged again and again while its machines report, chance alone will sometimes look like a change. So
 * it is judged when there are SBX_CHANGE_FIRST_LOOK machines, and each time their number has doubled. Returns the
 * number of the look that is due, from 1; 0: none yet. Each look may use a part of SBX_CHANGE_ALARMS, and all looks
 * together use all of it. */
enum {
    SBX_CHANGE_FIRST_LOOK = 20
};
int sbx_change_look(int64_t machines);
double sbx_change_alarms_of_look(int look);

#endif
