/* SPDX-License-Identifier: Apache-2.0 */
/* regression.c - which issues became more or fewer. */
#include "regression.h"

#include <math.h>
#include <stdlib.h>

static const double EFFECT_MIN = 1.25; /* a smaller difference is not worth a look, even if it is certain */
static const double SMALLEST_TERM = 1e-14;

/* ---- Fisher's test ---- */

static double log_choose(double n, double k)
{
    int sign;
    return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

static bool is_rate(struct sbx_rate rate)
{
    return rate.hit >= 0 && rate.hit <= rate.of && rate.of > 0;
}

/* `of` are drawn without replacement from `all`, of which `hit` are marked: the probability that k marked ones are
 * drawn, or a count further away from the most likely one in direction `step` (1 or -1). */
static double tail_from(double k, double step, double all, double hit, double of)
{
    double sum = 0, term = exp(log_choose(hit, k) + log_choose(all - hit, of - k) - log_choose(all, of));
    double first = fmax(0, hit + of - all), last = fmin(hit, of);
    while (k >= first && k <= last && term > SMALLEST_TERM * sum) {
        sum += term;
        term *= step > 0 ? (hit - k) * (of - k) / ((k + 1) * (all - hit - of + k + 1))
                         : k * (all - hit - of + k) / ((hit - k + 1) * (of - k + 1));
        k += step;
    }
    return sum;
}

double sbx_chance_of_more(struct sbx_rate here, struct sbx_rate base)
{
    if (!is_rate(here) || !is_rate(base) || here.hit == 0) {
        return 1;
    }
    double all = (double)here.of + (double)base.of, hit = (double)here.hit + (double)base.hit, of = (double)here.of;
    double k = (double)here.hit, likely = (hit + 1) * (of + 1) / (all + 2);
    return k > likely ? fmin(tail_from(k, 1, all, hit, of), 1) : fmax(1 - tail_from(k - 1, -1, all, hit, of), 0);
}

double sbx_chance_of_less(struct sbx_rate here, struct sbx_rate base)
{
    return is_rate(here) && is_rate(base) ? sbx_chance_of_more(base, here) : 1;
}

/* If one side never had the issue, there is no ratio: it would come from the half that is added to each count. The
 * bound from the side that had it stays. */
static struct sbx_rate_ratio ratio_of_met(struct sbx_rate_ratio ratio, int64_t here, int64_t base)
{
    if (here > 0 && base == 0)
        ratio.ratio = ratio.high = INFINITY;
    else if (here == 0 && base > 0)
        ratio.ratio = ratio.low = 0;
    return ratio;
}

struct sbx_rate_ratio sbx_rate_compare(struct sbx_rate here, struct sbx_rate base)
{
    if (!is_rate(here) || !is_rate(base)) {
        return (struct sbx_rate_ratio){1, 0, INFINITY};
    }
    double a = (double)here.hit + 0.5, b = (double)base.hit + 0.5;
    double n = (double)here.of + 0.5, m = (double)base.of + 0.5;
    double ratio = a / n / (b / m);
    double error = sqrt(fmax(1 / a - 1 / n + 1 / b - 1 / m, 0));
    return ratio_of_met((struct sbx_rate_ratio){ratio, ratio * exp(-1.96 * error), ratio * exp(1.96 * error)}, here.hit,
                        base.hit);
}

/* ---- days ---- */

/* The upper tail of Student's t with a whole number of degrees of freedom, by its closed form. */
static double tail_of_t(double t, int degrees)
{
    double angle = atan(t / sqrt(degrees)), cosine = cos(angle), term, sum, inside;
    if (degrees % 2 != 0) {
        term = sum = degrees > 1 ? cosine : 0;
        for (int i = 3; i < degrees; i += 2) {
            term *= cosine * cosine * (i - 1) / i;
            sum += term;
        }
        inside = 2 / M_PI * (angle + sin(angle) * sum);
    } else {
        term = sum = 1;
        for (int i = 2; i < degrees; i += 2) {
            term *= cosine * cosine * (i - 1) / i;
            sum += term;
        }
        inside = sin(angle) * sum;
    }
    return fmax(1 - inside, 0) / 2;
}

static double log_rate(struct sbx_rate rate)
{
    return log(((double)rate.hit + 0.5) / ((double)rate.of + 1));
}

double sbx_chance_of_surge(struct sbx_rate today, const struct sbx_rate *days, size_t count)
{
    struct sbx_rate before = {0, 0};
    double mean = 0, square = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_rate(days[i])) {
            before.hit += days[i].hit;
            before.of += days[i].of;
            mean += log_rate(days[i]);
            used++;
        }
    }
    if (used < 3 || !is_rate(today)) {
        return 1;
    }
    mean /= used;
    for (size_t i = 0; i < count; i++) {
        square += is_rate(days[i]) ? pow(log_rate(days[i]) - mean, 2) : 0;
    }
    double deviation = sqrt(square / (used - 1)) * sqrt(1 + 1 / used);
    double more = log_rate(today) - mean;
    double by_days = deviation > 0 ? tail_of_t(more / deviation, (int)used - 1) : more > 0 ? 0 : 1;
    return fmax(sbx_chance_of_more(today, before), by_days);
}

/* ---- penetration ---- */

static bool is_told(const struct sbx_told *told)
{
    return told->days > 0 && told->hit >= 0 && told->hidden >= 0 && told->hit <= told->active && told->active > 0;
}

static double together_of(const struct sbx_told *told)
{
    return fmax(told->together, 1);
}

/* Scale machine-days down to as many as are independent of each other. Fractions are rounded to the side that reports
 * less. */
static struct sbx_rate rate_of_told(const struct sbx_told *told, bool is_base)
{
    double hit = (double)told->hit / together_of(told), active = (double)told->active / together_of(told);
    return (struct sbx_rate){(int64_t)(is_base ? ceil(hit) : hit), (int64_t)(is_base ? ceil(active) : active)};
}

/* Pearson's statistic of a side: each day's machine-days against the same penetration on all of them. */
static double differ_of(const struct sbx_told *told)
{
    double share = (double)told->hit / (double)told->active;
    return share > 0 && share < 1 ? (told->squares / share - (double)told->hit) / (1 - share) : 0;
}

static int degrees_of(const struct sbx_told *here, const struct sbx_told *base)
{
    int64_t degrees = here->days + base->days - 2;
    return degrees < 1000 ? (int)degrees : 1000;
}

/* How much more the days differ than they would by the chance of machines alone. */
static double excess_of(const struct sbx_told *here, const struct sbx_told *base)
{
    return fmax((differ_of(here) + differ_of(base)) / degrees_of(here, base) - 1, 0);
}

static double log_penetration(const struct sbx_told *told)
{
    return log(((double)told->hit + 0.5) / ((double)told->active + 0.5));
}

/* The standard error of the difference of both logarithms. Machine-days are alike for two reasons: one machine has the
 * issue on many days, and many machines have it on one day. Both add to the variance. */
static double error_of(const struct sbx_told *here, const struct sbx_told *base, double excess)
{
    return sqrt((together_of(here) + excess) / ((double)here->hit + 0.5) +
                (together_of(base) + excess) / ((double)base->hit + 0.5));
}

/* The deviance of one side. Its machine-days are divided by `alike`, because they are not independent. They are
 * compared with `share`, the penetration if both sides were alike. */
static double deviance_of(const struct sbx_told *told, double alike, double share)
{
    double hit = (double)told->hit / alike, others = (double)(told->active - told->hit) / alike, all = hit + others;
    double of_hit = hit > 0 ? hit * log(hit / (all * share)) : 0;
    return of_hit + (others > 0 ? others * log(others / (all * (1 - share))) : 0);
}

/* The signed root of the deviance. It is judged by Student's t, because the dispersion between days was estimated from
 * the same days: this is the F test of a quasi-likelihood with one degree of freedom (McCullagh and Nelder, Generalized
 * Linear Models, chapters 4 and 9). The difference of the logarithms divided by its standard error (error_of()) would
 * show little if one side had the issue never or hardly ever. */
static double signed_root(const struct sbx_told *here, const struct sbx_told *base, double excess)
{
    double here_alike = together_of(here) + excess, base_alike = together_of(base) + excess;
    double hit = (double)here->hit / here_alike + (double)base->hit / base_alike;
    double share = hit / ((double)here->active / here_alike + (double)base->active / base_alike);
    if (share <= 0 || share >= 1) {
        return 0;
    }
    double root = sqrt(fmax(2 * (deviance_of(here, here_alike, share) + deviance_of(base, base_alike, share)), 0));
    return (double)here->hit / (double)here->active >= (double)base->hit / (double)base->active ? root : -root;
}

bool sbx_told_is_enough(const struct sbx_told *here, const struct sbx_told *base)
{
    return is_told(here) && is_told(base) && here->days + base->days >= SBX_TOLD_DAYS_MIN;
}

/* The probability by how much days differ; 0, so that another test decides, if there are too few days. */
static double chance_by_days(const struct sbx_told *here, const struct sbx_told *base)
{
    if (!sbx_told_is_enough(here, base)) {
        return 0;
    }
    return tail_of_t(signed_root(here, base, excess_of(here, base)), degrees_of(here, base));
}

double sbx_chance_of_worse(const struct sbx_told *here, const struct sbx_told *base)
{
    if (!sbx_told_is_enough(here, base)) {
        return 1;
    }
    struct sbx_told most = *base;
    most.hit = base->hidden < base->active - base->hit ? base->hit + base->hidden : base->active;
    double by_machines = sbx_chance_of_more(rate_of_told(here, false), rate_of_told(&most, true));
    double by_days = tail_of_t(signed_root(here, &most, excess_of(here, base)), degrees_of(here, base));
    return fmax(by_machines, by_days);
}

struct sbx_rate_ratio sbx_told_compare(const struct sbx_told *here, const struct sbx_told *base)
{
    if (!sbx_told_is_enough(here, base)) {
        return (struct sbx_rate_ratio){1, 0, INFINITY};
    }
    double ratio = exp(log_penetration(here) - log_penetration(base));
    double error = 1.96 * error_of(here, base, excess_of(here, base));
    return ratio_of_met((struct sbx_rate_ratio){ratio, ratio * exp(-error), ratio * exp(error)}, here->hit, base->hit);
}

static int compare_numbers(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

double sbx_chance_of_told_surge(struct sbx_told_day today, const struct sbx_told_day *days, size_t count)
{
    enum {
        DAYS = 31
    };
    struct sbx_rate rates[DAYS];
    int64_t active[DAYS];
    size_t used = 0;
    for (size_t i = 0; i < count && used < DAYS; i++) {
        if (days[i].active > 0 && days[i].hit <= days[i].active) {
            int64_t room = days[i].active - days[i].hit, hidden = days[i].hidden < room ? days[i].hidden : room;
            active[used] = days[i].active;
            rates[used++] = (struct sbx_rate){days[i].hit + hidden, days[i].active};
        }
    }
    if (used == 0 || today.hit > today.active) { /* no day counts, or machines stalled that did not report their day */
        return 1;
    }
    qsort(active, used, sizeof active[0], compare_numbers);
    int64_t median = active[used / 2];
    return sbx_chance_of_surge((struct sbx_rate){today.hit, today.active > median ? today.active : median}, rates,
                               used);
}

/* ---- all issues of a comparison ---- */

const char *sbx_change_name(enum sbx_change change)
{
    static const char *const names[SBX_CHANGES] = {
        [SBX_CHANGE_NONE] = "unchanged", [SBX_CHANGE_NEW] = "new",         [SBX_CHANGE_REGRESSED] = "regressed",
        [SBX_CHANGE_SLOWER] = "slower",  [SBX_CHANGE_SURGING] = "surging", [SBX_CHANGE_IMPROVED] = "improved",
        [SBX_CHANGE_GONE] = "gone"};
    return (unsigned)change < SBX_CHANGES ? names[change] : "?";
}

/* One test of one issue. */
struct question {
    struct sbx_change_row *row;
    enum sbx_change change; /* the result, if it is not chance */
    enum sbx_measure measure;
    struct sbx_rate_ratio ratio;
    double chance;
};

static int compare_questions(const void *left, const void *right)
{
    const struct question *a = left, *b = right;
    return a->chance < b->chance ? -1 : a->chance > b->chance;
}

/* Whether an issue is tested. The total of both sides does not depend on which side has more. So leaving out small
 * totals does not change the probabilities. */
static bool is_asked(struct sbx_rate here, struct sbx_rate base)
{
    return is_rate(here) && is_rate(base) && here.hit + base.hit >= SBX_CHANGE_MACHINES_MIN;
}

static bool is_asked_of_days(const struct sbx_told *here, const struct sbx_told *base)
{
    return sbx_told_is_enough(here, base) &&
           rate_of_told(here, false).hit + rate_of_told(base, false).hit >= SBX_CHANGE_MACHINES_MIN;
}

static size_t ask_of_machines(struct sbx_change_row *row, struct question *questions)
{
    if (!is_asked(row->here, row->base)) {
        return 0;
    }
    bool is_new = !row->was_before && row->base.hit == 0, is_gone = row->here.hit == 0;
    double more =
        fmax(sbx_chance_of_more(row->here, row->base), chance_by_days(&row->stalling_here, &row->stalling_base));
    double less =
        fmax(sbx_chance_of_less(row->here, row->base), chance_by_days(&row->stalling_base, &row->stalling_here));
    questions[0] =
        (struct question){row, is_new ? SBX_CHANGE_NEW : SBX_CHANGE_REGRESSED, SBX_OF_STALLING, row->ratio, more};
    questions[1] =
        (struct question){row, is_gone ? SBX_CHANGE_GONE : SBX_CHANGE_IMPROVED, SBX_OF_STALLING, row->ratio, less};
    return 2;
}

static size_t ask_of_days(struct sbx_change_row *row, struct question *questions)
{
    const struct sbx_told *here = &row->told_here, *base = &row->told_base;
    if (!is_asked_of_days(here, base)) {
        return 0;
    }
    bool is_new = !row->was_before && base->hit == 0, is_gone = here->hit == 0;
    struct sbx_rate_ratio ratio = sbx_told_compare(here, base);
    questions[0] = (struct question){row, is_new ? SBX_CHANGE_NEW : SBX_CHANGE_REGRESSED, SBX_OF_ACTIVE, ratio,
                                     sbx_chance_of_worse(here, base)};
    questions[1] = (struct question){row, is_gone ? SBX_CHANGE_GONE : SBX_CHANGE_IMPROVED, SBX_OF_ACTIVE, ratio,
                                     sbx_chance_of_worse(base, here)};
    return 2;
}

static size_t ask(struct sbx_change_row *row, struct question *questions)
{
    row->change = SBX_CHANGE_NONE;
    row->measure = SBX_OF_STALLING;
    row->chance = 1;
    row->ratio = sbx_rate_compare(row->here, row->base);
    /* Penetration is the better measure. Shares of the machines that stalled change with all other issues, and with the
     * days. */
    bool has_days = sbx_told_is_enough(&row->told_here, &row->told_base);
    size_t count = has_days ? ask_of_days(row, questions) : ask_of_machines(row, questions);
    for (int i = 0; i < SBX_CHANGE_THRESHOLDS; i++) {
        struct sbx_rate here = row->slow_here[i], base = row->slow_base[i];
        if (is_asked(here, base)) {
            questions[count++] = (struct question){row, SBX_CHANGE_SLOWER, SBX_OF_STALLING,
                                                   sbx_rate_compare(here, base), sbx_chance_of_more(here, base)};
        }
    }
    return count;
}

static bool is_large(const struct question *question)
{
    bool is_less = question->change == SBX_CHANGE_IMPROVED || question->change == SBX_CHANGE_GONE;
    double ratio = is_less ? 1 / question->ratio.ratio : question->ratio.ratio;
    return ratio >= EFFECT_MIN;
}

enum {
    QUESTIONS = 2 /* whether it became more, and whether it became less */
};

void sbx_changes_judge(struct sbx_change_row *rows, size_t count, double alarms)
{
    struct question *questions = calloc((QUESTIONS + SBX_CHANGE_THRESHOLDS) * count + 1, sizeof *questions);
    size_t asked = 0;
    double reached = 0; /* Holm's probabilities never decrease */
    for (size_t i = 0; i < count && questions != NULL; i++) {
        asked += ask(&rows[i], questions + asked);
    }
    if (asked > 0) {
        qsort(questions, asked, sizeof *questions, compare_questions);
    }
    for (size_t i = 0; i < asked; i++) {
        struct sbx_change_row *row = questions[i].row;
        reached = fmax(reached, fmin(questions[i].chance * (double)(asked - i), 1));
        bool is_told = reached <= alarms && is_large(&questions[i]);
        if (is_told && row->change == SBX_CHANGE_NONE) { /* of two results, the more certain one */
            row->change = questions[i].change;
            row->measure = questions[i].measure;
            row->ratio = questions[i].ratio;
            row->chance = reached;
        } else if (row->change == SBX_CHANGE_NONE) {
            row->chance = fmin(row->chance, reached);
        }
    }
    free(questions);
}

int sbx_change_look(int64_t machines)
{
    int look = 0;
    for (int64_t due = SBX_CHANGE_FIRST_LOOK; due <= machines && look < 60; due *= 2) {
        look++;
    }
    return look;
}

/* 1/2 + 1/6 + 1/12 + ... = 1 */
double sbx_change_alarms_of_look(int look)
{
    return look > 0 ? SBX_CHANGE_ALARMS / ((double)look * (look + 1)) : 0;
}
