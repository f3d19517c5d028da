/* SPDX-License-Identifier: Apache-2.0 */
/* bench_regressions.c - simulates how often a comparison raises an alarm when the two sides are the same, and how often
 * when they differ.
 *
 * In a fleet, some machines stall often and most never (their rates are log-normal). Few issues are common, and many
 * are rare. The same machines may run both versions. The random numbers are the same in each run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "regression.h"
#include "rounds.h"

enum {
    ISSUES = 30,
    COMPARISONS = 4000,
    DAYS = 8,
};

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15);

static double random_share(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double random_normal(void)
{
    return sqrt(-2 * log(random_share())) * cos(6.283185307179586 * random_share());
}

struct fleet {
    int machines;
    bool is_same;  /* both versions run on the same machines */
    double spread; /* of the machines' rates, on the log scale; 0: all equal */
};

/* Does a machine meet an issue at all, in its days with a version? */
static bool is_met(double rate, double habit)
{
    return random_share() < 1 - exp(-rate * habit);
}

static double habit_of(const struct fleet *fleet)
{
    return fleet->spread > 0 ? exp(fleet->spread * random_normal() - fleet->spread * fleet->spread / 2) : 1;
}

/* Makes one comparison. The third issue is `factor` times as frequent on this side. Returns the number of alarms, and
 * whether this issue was among them. */
static int compare(const struct fleet *fleet, double factor, bool *is_found)
{
    static struct sbx_change_row rows[ISSUES];
    int alarms = 0;
    for (int issue = 0; issue < ISSUES; issue++)
        rows[issue] = (struct sbx_change_row){.was_before = true};
    for (int machine = 0; machine < fleet->machines; machine++) {
        double here = habit_of(fleet), base = fleet->is_same ? here : habit_of(fleet);
        for (int issue = 0; issue < ISSUES; issue++) {
            double rate = 0.1 / (issue + 1);
            rows[issue].here.of++;
            rows[issue].base.of++;
            rows[issue].here.hit += is_met(rate * (issue == 2 ? factor : 1), here);
            rows[issue].base.hit += is_met(rate, base);
        }
    }
    sbx_changes_judge(rows, ISSUES, SBX_CHANGE_ALARMS);
    for (int issue = 0; issue < ISSUES; issue++)
        alarms += rows[issue].change != SBX_CHANGE_NONE;
    *is_found = rows[2].change == SBX_CHANGE_REGRESSED;
    return alarms;
}

/* ---- machine-days ---- */

enum {
    TOLD_ISSUES = 10,
    TOLD_COMPARISONS = 2000,
    TOLD_DAYS_MAX = 30
};

struct told_fleet {
    int machines, here_days, base_days;
    bool is_same;
    double spread, wander; /* of the machines' rates; of the days' */
    bool is_sampled;       /* the first three stalls of an issue are sent, later ones less and less often */
    bool is_told_in_part;  /* half of the machines do not report their days */
    bool is_untold;        /* no machine reports its days */
    int added;             /* an issue, from 1, that does not occur on the other side; 0: none */
};

/* One side. The last row is the sum of all stalls. */
struct told_side {
    struct sbx_told told[TOLD_ISSUES + 1], stalling[TOLD_ISSUES];
    struct sbx_rate met[TOLD_ISSUES];
};

/* Returns 0 if the n-th stall (from 1) is not sent, else how many stalls it stands for (docs/SAMPLING.md). */
static int weight_of(int number, bool is_sampled)
{
    int one_in = 1, last = 3;
    while (is_sampled && number > last) {
        one_in *= 2;
        last += 2 * one_in;
    }
    return random_share() * one_in < 1 ? one_in : 0;
}

/* Draws how much more frequent each issue is on each day. */
static void draw_days(double wander, double days[TOLD_DAYS_MAX][TOLD_ISSUES])
{
    for (int day = 0; day < TOLD_DAYS_MAX; day++)
        for (int issue = 0; issue < TOLD_ISSUES; issue++)
            days[day][issue] = wander > 0 ? exp(wander * random_normal() - wander * wander / 2) : 1;
}

struct told_sums {
    int64_t hit[TOLD_DAYS_MAX][TOLD_ISSUES + 1], active[TOLD_DAYS_MAX], hidden[TOLD_ISSUES + 1];
    double squares[TOLD_ISSUES + 1];
};

/* Simulates all days of one machine. */
static void live(const struct told_fleet *fleet, double habit, double factor, int lacks, int days, bool tells,
                 double of_days[TOLD_DAYS_MAX][TOLD_ISSUES], struct told_sums *sums, struct told_side *side)
{
    int met[TOLD_ISSUES + 1] = {0}, number[TOLD_ISSUES] = {0};
    for (int day = 0; day < days; day++) {
        bool is_any = false;
        if (random_share() < 0.3)
            continue; /* the machine is off */
        sums->active[day] += tells;
        for (int issue = 0; issue < TOLD_ISSUES; issue++) {
            if (issue + 1 == lacks || !is_met(0.03 / (issue + 1) * factor * of_days[day][issue], habit))
                continue;
            int weight = weight_of(++number[issue], fleet->is_sampled);
            if (weight == 0)
                continue;
            sums->hit[day][issue]++;
            sums->hidden[issue] += weight - 1;
            sums->hidden[TOLD_ISSUES] += weight - 1;
            met[issue]++;
            is_any = true;
        }
        sums->hit[day][TOLD_ISSUES] += is_any;
        met[TOLD_ISSUES] += is_any;
    }
    for (int issue = 0; issue <= TOLD_ISSUES; issue++)
        sums->squares[issue] += (double)met[issue] * met[issue];
    for (int issue = 0; issue < TOLD_ISSUES; issue++) {
        side->met[issue].hit += met[issue] > 0;
        side->met[issue].of += met[TOLD_ISSUES] > 0;
    }
}

static void draw_side(const struct told_fleet *fleet, const double *habits, double factor, int lacks, int days,
                      struct told_side *side)
{
    static struct told_sums sums;
    static double of_days[TOLD_DAYS_MAX][TOLD_ISSUES];
    sums = (struct told_sums){{{0}}, {0}, {0}, {0}};
    *side = (struct told_side){0};
    draw_days(fleet->wander, of_days);
    for (int machine = 0; machine < fleet->machines; machine++)
        live(fleet, habits[machine], factor, lacks, days, !fleet->is_told_in_part || machine % 2 == 0, of_days, &sums,
             side);
    for (int issue = 0; issue <= TOLD_ISSUES; issue++) {
        struct sbx_told *told = &side->told[issue];
        *told = (struct sbx_told){.hidden = sums.hidden[issue], .days = days};
        for (int day = 0; day < days; day++) {
            told->hit += sums.hit[day][issue];
            told->active += sums.active[day];
            told->squares += (double)sums.hit[day][issue] * (double)sums.hit[day][issue] / (double)sums.active[day];
        }
        told->together = told->hit > 0 ? sums.squares[issue] / (double)told->hit : 1;
    }
    for (int issue = 0; issue < TOLD_ISSUES; issue++) {
        side->stalling[issue] = (struct sbx_told){.hit = side->told[issue].hit, .days = days};
        for (int day = 0; day < days; day++) {
            double hit = (double)sums.hit[day][issue];
            side->stalling[issue].active += sums.hit[day][TOLD_ISSUES];
            side->stalling[issue].squares += hit > 0 ? hit * hit / (double)sums.hit[day][TOLD_ISSUES] : 0;
        }
    }
}

/* Everything is `factor` times as frequent on this side. Returns the number of alarms, and whether the difference was
 * found: in the sum of all stalls, or in the new issue. */
static int compare_told(const struct told_fleet *fleet, double factor, bool *is_found)
{
    static struct sbx_change_row rows[TOLD_ISSUES + 1];
    static struct told_side here, base;
    static double habits[2][10000];
    const struct fleet plain = {fleet->machines, fleet->is_same, fleet->spread};
    for (int machine = 0; machine < fleet->machines; machine++) {
        habits[0][machine] = habit_of(&plain);
        habits[1][machine] = fleet->is_same ? habits[0][machine] : habit_of(&plain);
    }
    draw_side(fleet, habits[0], factor, 0, fleet->here_days, &here);
    draw_side(fleet, habits[1], 1, fleet->added, fleet->base_days, &base);
    for (int issue = 0; issue <= TOLD_ISSUES; issue++) {
        rows[issue] = (struct sbx_change_row){.was_before = issue + 1 != fleet->added};
        if (!fleet->is_untold) {
            rows[issue].told_here = here.told[issue];
            rows[issue].told_base = base.told[issue];
        } else if (issue < TOLD_ISSUES) {
            rows[issue].here = here.met[issue];
            rows[issue].base = base.met[issue];
            rows[issue].stalling_here = here.stalling[issue];
            rows[issue].stalling_base = base.stalling[issue];
        }
    }
    sbx_changes_judge(rows, TOLD_ISSUES + 1, SBX_CHANGE_ALARMS);
    int alarms = 0;
    for (int issue = 0; issue <= TOLD_ISSUES; issue++)
        alarms += rows[issue].change != SBX_CHANGE_NONE;
    *is_found = fleet->added > 0 ? rows[fleet->added - 1].change == SBX_CHANGE_NEW
                                 : rows[TOLD_ISSUES].change == SBX_CHANGE_REGRESSED;
    return alarms;
}

static void print(bool json, const char *metric, double value, const char *unit, const char *reach)
{
    struct bench_series series = {.count = 0};
    bench_series_add(&series, value);
    bench_print(json, &(struct bench_line){"regressions", metric, unit, NULL, reach}, &series, NULL);
}

static void false_alarms(bool json, const char *metric, const struct fleet *fleet)
{
    int with_alarm = 0;
    bool is_found;
    for (int i = 0; i < COMPARISONS; i++)
        with_alarm += compare(fleet, 1, &is_found) > 0;
    print(json, metric, 100.0 * with_alarm / COMPARISONS, "% of comparisons", "value <= 1");
}

static void found(bool json, const char *metric, const struct fleet *fleet, double factor)
{
    int count = 0;
    bool is_found;
    for (int i = 0; i < COMPARISONS / 4; i++) {
        compare(fleet, factor, &is_found);
        count += is_found;
    }
    print(json, metric, 100.0 * count / (COMPARISONS / 4), "% of comparisons", NULL);
}

static void told_alarms(bool json, const char *metric, const struct told_fleet *fleet, const char *reach)
{
    int with_alarm = 0;
    bool is_found;
    for (int i = 0; i < TOLD_COMPARISONS; i++)
        with_alarm += compare_told(fleet, 1, &is_found) > 0;
    print(json, metric, 100.0 * with_alarm / TOLD_COMPARISONS, "% of comparisons", reach);
}

static void told_found(bool json, const char *metric, const struct told_fleet *fleet, double factor)
{
    int count = 0;
    bool is_found;
    for (int i = 0; i < TOLD_COMPARISONS / 4; i++) {
        compare_told(fleet, factor, &is_found);
        count += is_found;
    }
    print(json, metric, 100.0 * count / (TOLD_COMPARISONS / 4), "% of comparisons", NULL);
}

/* The days of all machines, each with its own rate. On the last day, only a part may be reported. */
static void told_surges(bool json, const char *metric, double spread, double factor, double part, const char *reach)
{
    enum {
        MACHINES = 1000
    };
    static double habits[MACHINES];
    int told = 0;
    for (int i = 0; i < TOLD_COMPARISONS; i++) {
        struct sbx_told_day days[DAYS];
        for (int machine = 0; machine < MACHINES; machine++)
            habits[machine] = habit_of(&(struct fleet){MACHINES, true, 1.5});
        for (int day = 0; day < DAYS; day++) {
            double rate = 0.02 * exp(spread * random_normal()) * (day == DAYS - 1 ? factor : 1);
            days[day] = (struct sbx_told_day){.active = 0};
            for (int machine = 0; machine < MACHINES; machine++) {
                if (random_share() < 0.3)
                    continue;
                days[day].active += day < DAYS - 1 || random_share() < part;
                days[day].hit += is_met(rate, habits[machine]);
            }
        }
        told += sbx_chance_of_told_surge(days[DAYS - 1], days, DAYS - 1) <= 0.01;
    }
    print(json, metric, 100.0 * told / TOLD_COMPARISONS, "% of days", reach);
}

/* The days of one issue whose rate varies by `spread` from day to day. */
static void surges(bool json, const char *metric, double spread, double factor, const char *reach)
{
    int told = 0;
    for (int i = 0; i < COMPARISONS; i++) {
        struct sbx_rate days[DAYS];
        for (int day = 0; day < DAYS; day++) {
            double rate = 0.02 * exp(spread * random_normal()) * (day == DAYS - 1 ? factor : 1);
            days[day] = (struct sbx_rate){0, 1000};
            for (int machine = 0; machine < 1000; machine++)
                days[day].hit += random_share() < rate;
        }
        told += sbx_chance_of_surge(days[DAYS - 1], days, DAYS - 1) <= 0.01;
    }
    print(json, metric, 100.0 * told / COMPARISONS, "% of days", reach);
}

int main(int count, char **arguments)
{
    struct bench_options options;
    if (!bench_read_options(count, arguments, &options))
        return 2;
    bool json = options.json;
    bench_print_heading(json, "Alarms of comparisons, simulated");
    false_alarms(json, "nothing differs, 100 machines a side", &(struct fleet){100, false, 0});
    false_alarms(json, "nothing differs, 1,000 machines a side", &(struct fleet){1000, false, 0});
    false_alarms(json, "nothing differs, 1,000 machines of which some stall far more often",
                 &(struct fleet){1000, false, 1.5});
    false_alarms(json, "nothing differs, the same 1,000 machines on both sides", &(struct fleet){1000, true, 1.5});
    found(json, "an issue of 3 % of the machines became twice as many, 1,000 a side", &(struct fleet){1000, false, 0},
          2);
    found(json, "the same, three times as many", &(struct fleet){1000, false, 0}, 3);
    found(json, "the same, twice as many, 5,000 machines", &(struct fleet){5000, false, 0}, 2);
    surges(json, "a day like the week before it, told as a surge", 0, 1, "value <= 1");
    surges(json, "the same where days differ by a half", 0.4, 1, "value <= 1");
    surges(json, "a day of three times as many, told", 0, 3, NULL);
    surges(json, "the same where days differ by a half", 0.4, 3, NULL);
    told_alarms(json, "days differ by a half, and no machine-days are told",
                &(struct told_fleet){1000, 7, 7, .spread = 1.5, .wander = 0.4, .is_untold = true}, "value <= 1");
    told_alarms(json, "the same machines on both sides, 3 days against 28, days differ by a half, none are told",
                &(struct told_fleet){1000, 3, 28, .is_same = true, .spread = 1.5, .wander = 0.4, .is_untold = true},
                "value <= 1");
    told_alarms(json, "machine-days, nothing differs, 300 machines, 7 days a side",
                &(struct told_fleet){300, 7, 7, .spread = 0}, "value <= 1");
    told_alarms(json, "machine-days, 1,000 machines of which some stall far more often",
                &(struct told_fleet){1000, 7, 7, .spread = 1.5}, "value <= 1");
    told_alarms(json, "the same where days differ by a half",
                &(struct told_fleet){1000, 7, 7, .spread = 1.5, .wander = 0.4}, "value <= 1");
    told_alarms(json, "the same machines on both sides, 3 days against 28, days differ by a half",
                &(struct told_fleet){1000, 3, 28, .is_same = true, .spread = 1.5, .wander = 0.4}, "value <= 1");
    told_alarms(json, "the same, and stalls are sampled",
                &(struct told_fleet){1000, 3, 28, .is_same = true, .spread = 1.5, .wander = 0.4, .is_sampled = true},
                "value <= 1");
    told_alarms(json, "half of the machines tell no machine-days",
                &(struct told_fleet){1000, 7, 7, .spread = 1.5, .is_told_in_part = true}, "value <= 1");
    told_found(json, "everything became twice as frequent, 1,000 machines, 7 days a side",
               &(struct told_fleet){1000, 7, 7, .spread = 1.5}, 2);
    told_found(json, "the same where days differ by a half",
               &(struct told_fleet){1000, 7, 7, .spread = 1.5, .wander = 0.4}, 2);
    told_found(json, "the same, 3 days against 28",
               &(struct told_fleet){1000, 3, 28, .is_same = true, .spread = 1.5, .wander = 0.4}, 2);
    told_found(json, "the same, and stalls are sampled",
               &(struct told_fleet){1000, 3, 28, .is_same = true, .spread = 1.5, .wander = 0.4, .is_sampled = true}, 2);
    told_found(json, "the same, and no machine-days are told",
               &(struct told_fleet){1000, 7, 7, .spread = 1.5, .is_untold = true}, 2);
    told_found(json, "a new issue of 1 % of the machine-days, no machine-days are told, 7 days a side",
               &(struct told_fleet){1000, 7, 7, .spread = 1.5, .wander = 0.4, .is_untold = true, .added = 3}, 1);
    told_found(json, "a new issue of 1 % of the machine-days, 300 machines, 3 days against 28",
               &(struct told_fleet){300, 3, 28, .is_same = true, .spread = 1.5, .wander = 0.4, .added = 3}, 1);
    told_found(json, "the same, 1,000 machines",
               &(struct told_fleet){1000, 3, 28, .is_same = true, .spread = 1.5, .wander = 0.4, .added = 3}, 1);
    told_surges(json, "machine-days like those of the week before, told as a surge", 0, 1, 1, "value <= 1");
    told_surges(json, "the same where days differ by a half", 0.4, 1, 1, "value <= 1");
    told_surges(json, "the same where half of the day's machine-days were lost", 0, 1, 0.5, "value <= 1");
    told_surges(json, "a day of three times as many machine-days, told", 0, 3, 1, NULL);
    return 0;
}
