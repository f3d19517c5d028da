/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_spans.h - ranges of code, each of one place. */
#ifndef SBX_SYMBOL_SPANS_H
#define SBX_SYMBOL_SPANS_H

#include <stddef.h>
#include <stdint.h>

/* Code of one place (symbol_places.h). */
struct sbx_span {
    uint64_t begin, end;
    uint32_t place;
};

/* Growing list, sorted and without overlap; zero is an empty one. */
struct sbx_spans {
    struct sbx_span *spans;
    size_t count, room;
};

/* Add code of a place behind what is there; joined with it when it is the same. Returns 0 or -ENOMEM. */
int sbx_spans_add(struct sbx_spans *spans, struct sbx_span span);
void sbx_spans_finish(struct sbx_spans *spans);
/* The span that covers `address`; NULL when none does. */
const struct sbx_span *sbx_spans_find(const struct sbx_spans *spans, uint64_t address);

#endif
