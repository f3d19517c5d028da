/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_spans.c - ranges of code, each with one place. */
#include "symbol_spans.h"

#include <errno.h>
#include <stdlib.h>

int sbx_spans_add(struct sbx_spans *spans, struct sbx_span span)
{
    if (span.begin >= span.end) {
        return 0;
    }
    struct sbx_span *last = spans->count == 0 ? NULL : &spans->spans[spans->count - 1];
    if (last != NULL && last->end == span.begin && last->place == span.place) {
        last->end = span.end;
        return 0;
    }
    if (spans->count == spans->room) {
        size_t room = spans->room == 0 ? 256 : spans->room + spans->room / 2;
        struct sbx_span *grown = realloc(spans->spans, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        spans->spans = grown;
        spans->room = room;
    }
    spans->spans[spans->count++] = span;
    return 0;
}

void sbx_spans_finish(struct sbx_spans *spans)
{
    free(spans->spans);
    *spans = (struct sbx_spans){0};
}

const struct sbx_span *sbx_spans_find(const struct sbx_spans *spans, uint64_t address)
{
    size_t low = 0, high = spans->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->spans[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < spans->spans[low - 1].end ? &spans->spans[low - 1] : NULL;
}
