/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_growth.c - by how much a number that the kernel counts grew in an interval. */
#include "kernel_growth.h"

#include <errno.h>
#include <stdlib.h>

/* The readings next to a moment: the last one at or before it, and the first one after it. NULL: none. */
struct beside {
    const struct sbx_stall_count *before, *behind;
};

static struct beside readings_beside(const struct sbx_kernel_series *series, int64_t at_ns)
{
    size_t low = 0, high = series->count; /* the first reading after the moment is in [low, high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (series->readings[middle].at_ns <= at_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (struct beside){low > 0 ? &series->readings[low - 1] : NULL,
                           low < series->count ? &series->readings[low] : NULL};
}

/* The value at a moment, interpolated between two readings. With one reading only, its value. */
static double value_at(const struct beside *beside, int64_t at_ns)
{
    const struct sbx_stall_count *a = beside->before, *b = beside->behind;
    if (a == NULL || b == NULL) {
        return (double)(a != NULL ? a : b)->value;
    }
    double share = (double)(at_ns - a->at_ns) / (double)(b->at_ns - a->at_ns);
    return (double)a->value + share * ((double)b->value - (double)a->value);
}

int sbx_kernel_series_init(struct sbx_kernel_series *series, const struct sbx_stall *stall, uint32_t thread,
                           uint32_t what)
{
    const struct sbx_stall_thread *self = &stall->threads[thread];
    *series = (struct sbx_kernel_series){NULL, 0};
    series->readings = malloc((self->count_count + 1) * sizeof *series->readings);
    if (series->readings == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < self->count_count; i++) {
        const struct sbx_stall_count *count = &stall->counts[self->count_begin + i];
        if (count->what == what) {
            series->readings[series->count++] = *count;
        }
    }
    return 0;
}

void sbx_kernel_series_finish(struct sbx_kernel_series *series)
{
    free(series->readings);
    *series = (struct sbx_kernel_series){NULL, 0};
}

struct sbx_kernel_growth sbx_kernel_series_growth(const struct sbx_kernel_series *series, struct sbx_interval interval)
{
    struct sbx_kernel_growth growth = {.is_known = false};
    struct beside begin = readings_beside(series, interval.begin_ns);
    struct beside end = readings_beside(series, interval.end_ns);
    const struct sbx_stall_count *first = begin.before != NULL ? begin.before : begin.behind;
    const struct sbx_stall_count *last = end.behind != NULL ? end.behind : end.before;
    if (first == NULL || last == NULL || last->at_ns <= first->at_ns) {
        return growth;
    }
    int64_t from_ns = first->at_ns > interval.begin_ns ? first->at_ns : interval.begin_ns;
    int64_t to_ns = last->at_ns < interval.end_ns ? last->at_ns : interval.end_ns;
    int64_t wall_ns = interval.end_ns - interval.begin_ns;
    double value = value_at(&end, interval.end_ns) - value_at(&begin, interval.begin_ns);
    growth.is_known = to_ns > from_ns && to_ns - from_ns >= wall_ns - wall_ns * 4 / 10;
    growth.value = value > 0 ? value : 0;
    growth.span_ns = last->at_ns - first->at_ns;
    return growth;
}

struct sbx_kernel_growth sbx_kernel_growth_of(const struct sbx_stall *stall, uint32_t thread, uint32_t what,
                                              struct sbx_interval interval)
{
    struct sbx_kernel_series series;
    struct sbx_kernel_growth growth = {.is_known = false};
    if (sbx_kernel_series_init(&series, stall, thread, what) == 0) {
        growth = sbx_kernel_series_growth(&series, interval);
    }
    sbx_kernel_series_finish(&series);
    return growth;
}

bool sbx_kernel_value_at(const struct sbx_stall *stall, uint32_t thread, uint32_t what, int64_t at_ns,
                         uint64_t *value_out)
{
    struct sbx_kernel_series series;
    if (sbx_kernel_series_init(&series, stall, thread, what) != 0) {
        return false;
    }
    struct beside beside = readings_beside(&series, at_ns);
    const struct sbx_stall_count *count = beside.before != NULL ? beside.before : beside.behind;
    *value_out = count != NULL ? count->value : 0;
    bool is_known = count != NULL;
    sbx_kernel_series_finish(&series);
    return is_known;
}
