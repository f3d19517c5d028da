/* SPDX-License-Identifier: Apache-2.0 */
/* bench_regressions.c - how often a comparison of what does not differ tells something, and how often one of what does, simulated.
 *
 * A fleet of machines, some of which stall often and most never (their rates are spread log-normally), and issues of which
 * few are common and many rare. The same machines may run both versions. Random numbers are the same in each run. */
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
    double spread; /* of machines' rates, on the log scale; 0: all alike */
};

/* Does a machine meet an issue at all, in its days on a version? */
static bool is_met(double rate, double habit)
{
    return random_share() < 1 - exp(-rate * habit);
}

static double habit_of(const struct fleet *fleet)
{
    return fleet->spread > 0 ? exp(fleet->spread * random_normal() - fleet->spread * fleet->spread / 2) : 1;
}

/* One comparison; `factor`: by which the third issue is more on this side. Returns how many alarms, and whether that one was told. */
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

/* Days of one issue whose rate wanders by `spread` from day to day. */
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
    return 0;
}
