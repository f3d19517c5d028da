/* SPDX-License-Identifier: Apache-2.0 */
/* regression.c - which issues became more or fewer. */
#include "regression.h"

#include <math.h>
#include <stdlib.h>

static const double EFFECT_MIN = 1.25; /* what differs by less is not worth a look, however sure it is */
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

/* `hit` of `all` are drawn from, `of` of them are drawn, without putting back: the chance that k are hit and `step` (1 or -1) further
 * away from what is most likely. */
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

struct sbx_rate_ratio sbx_rate_compare(struct sbx_rate here, struct sbx_rate base)
{
    if (!is_rate(here) || !is_rate(base)) {
        return (struct sbx_rate_ratio){1, 0, INFINITY};
    }
    double a = (double)here.hit + 0.5, b = (double)base.hit + 0.5;
    double n = (double)here.of + 0.5, m = (double)base.of + 0.5;
    double ratio = a / n / (b / m);
    double error = sqrt(fmax(1 / a - 1 / n + 1 / b - 1 / m, 0));
    return (struct sbx_rate_ratio){ratio, ratio * exp(-1.96 * error), ratio * exp(1.96 * error)};
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
    return (1 - inside) / 2;
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

/* ---- all issues of a comparison ---- */

const char *sbx_change_name(enum sbx_change change)
{
    static const char *const names[SBX_CHANGES] = {
        [SBX_CHANGE_NONE] = "unchanged", [SBX_CHANGE_NEW] = "new",         [SBX_CHANGE_REGRESSED] = "regressed",
        [SBX_CHANGE_SLOWER] = "slower",  [SBX_CHANGE_SURGING] = "surging", [SBX_CHANGE_IMPROVED] = "improved",
        [SBX_CHANGE_GONE] = "gone"};
    return (unsigned)change < SBX_CHANGES ? names[change] : "?";
}

/* One thing that is asked of one issue. */
struct question {
    struct sbx_change_row *row;
    enum sbx_change change; /* the answer, if it is not chance */
    struct sbx_rate_ratio ratio;
    double chance;
};

static int compare_questions(const void *left, const void *right)
{
    const struct question *a = left, *b = right;
    return a->chance < b->chance ? -1 : a->chance > b->chance;
}

/* What both sides have together does not depend on which has more of it: leaving out what is few changes no chance. */
static bool is_asked(struct sbx_rate here, struct sbx_rate base)
{
    return is_rate(here) && is_rate(base) && here.hit + base.hit >= SBX_CHANGE_MACHINES_MIN;
}

static size_t ask(struct sbx_change_row *row, struct question *questions)
{
    size_t count = 0;
    row->change = SBX_CHANGE_NONE;
    row->chance = 1;
    row->ratio = sbx_rate_compare(row->here, row->base);
    if (is_asked(row->here, row->base)) {
        bool is_new = !row->was_before && row->base.hit == 0, is_gone = row->here.hit == 0;
        questions[count++] = (struct question){row, is_new ? SBX_CHANGE_NEW : SBX_CHANGE_REGRESSED, row->ratio,
                                               sbx_chance_of_more(row->here, row->base)};
        questions[count++] = (struct question){row, is_gone ? SBX_CHANGE_GONE : SBX_CHANGE_IMPROVED, row->ratio,
                                               sbx_chance_of_less(row->here, row->base)};
    }
    for (int i = 0; i < SBX_CHANGE_THRESHOLDS; i++) {
        struct sbx_rate here = row->slow_here[i], base = row->slow_base[i];
        if (is_asked(here, base)) {
            questions[count++] =
                (struct question){row, SBX_CHANGE_SLOWER, sbx_rate_compare(here, base), sbx_chance_of_more(here, base)};
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

void sbx_changes_judge(struct sbx_change_row *rows, size_t count, double alarms)
{
    struct question *questions = calloc((2 + SBX_CHANGE_THRESHOLDS) * count + 1, sizeof *questions);
    size_t asked = 0;
    double reached = 0; /* Holm's chances never fall */
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
        if (is_told && row->change == SBX_CHANGE_NONE) { /* of two answers the surer one */
            row->change = questions[i].change;
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
