/* SPDX-License-Identifier: Apache-2.0 */
/* range_sweep.c - which one of overlapping ranges counts at each address.
 *
 * Sweeps from the lowest address to the highest, with a heap of the open ranges. The top of the heap counts until it
 * ends or another range begins. A range that ended stays in the heap until it comes to the top. */
#include "range_sweep.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int sbx_ranges_add(struct sbx_ranges *list, struct sbx_range range)
{
    if (range.begin >= range.end) {
        return 0;
    }
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 64 : list->room * 2;
        struct sbx_range *grown = realloc(list->ranges, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        list->ranges = grown;
        list->room = room;
    }
    list->ranges[list->count++] = range;
    return 0;
}

void sbx_ranges_finish(struct sbx_ranges *list)
{
    free(list->ranges);
    *list = (struct sbx_ranges){0};
}

static int by_begin(const void *a, const void *b)
{
    const struct sbx_range *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* Whether `a` counts before `b`. Of equal ranks, the range that begins later counts, so that the answer does not depend
 * on the order of the heap. */
static bool is_above(const struct sbx_range *a, const struct sbx_range *b)
{
    return a->rank != b->rank ? a->rank > b->rank : by_begin(a, b) > 0;
}

struct heap {
    struct sbx_range **open; /* open[0] is the top */
    size_t count;
};

static void push(struct heap *heap, struct sbx_range *range)
{
    size_t at = heap->count++;
    while (at > 0 && is_above(range, heap->open[(at - 1) / 2])) {
        heap->open[at] = heap->open[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->open[at] = range;
}

static void pop(struct heap *heap)
{
    struct sbx_range *last = heap->open[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < heap->count && is_above(heap->open[child + 1], heap->open[child])) {
            child++;
        }
        if (child >= heap->count || !is_above(heap->open[child], last)) {
            break;
        }
        heap->open[at] = heap->open[child];
        at = child;
    }
    if (heap->count > 0) {
        heap->open[at] = last;
    }
}

/* Add the range that counts from `begin` to `end`; join it with the one before if that has the same tag. */
static int append(struct sbx_ranges *swept, const struct sbx_range *range, uint64_t begin, uint64_t end)
{
    if (swept->count > 0) {
        struct sbx_range *last = &swept->ranges[swept->count - 1];
        if (last->end == begin && last->tag == range->tag && last->rank == range->rank) {
            last->end = end;
            return 0;
        }
    }
    return sbx_ranges_add(swept, (struct sbx_range){begin, end, range->rank, range->tag});
}

int sbx_ranges_sweep(struct sbx_ranges *list)
{
    struct sbx_ranges swept = {0};
    struct heap heap = {.open = malloc((list->count + 1) * sizeof *heap.open)};
    int result = heap.open == NULL ? -ENOMEM : 0;
    if (list->count > 1) {
        qsort(list->ranges, list->count, sizeof *list->ranges, by_begin);
    }
    size_t next = 0;
    uint64_t at = 0;
    while (result == 0) {
        while (heap.count > 0 && heap.open[0]->end <= at) {
            pop(&heap);
        }
        if (heap.count == 0) {
            if (next == list->count) {
                break;
            }
            at = list->ranges[next].begin;
        } else {
            uint64_t until = heap.open[0]->end;
            if (next < list->count && list->ranges[next].begin < until) {
                until = list->ranges[next].begin;
            }
            result = append(&swept, heap.open[0], at, until);
            at = until;
        }
        while (next < list->count && list->ranges[next].begin <= at) {
            push(&heap, &list->ranges[next++]);
        }
    }
    free(heap.open);
    sbx_ranges_finish(list);
    if (result != 0) {
        sbx_ranges_finish(&swept);
    }
    *list = swept;
    return result;
}

const struct sbx_range *sbx_ranges_find(const struct sbx_ranges *list, uint64_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->ranges[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < list->ranges[low - 1].end ? &list->ranges[low - 1] : NULL;
}
