/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_spans.h - ranges of code, each with one place. */
#ifndef SBX_SYMBOL_SPANS_H
#define SBX_SYMBOL_SPANS_H

#include <stddef.h>
#include <stdint.h>

/* Code with one place (symbol_places.h). */
struct sbx_span {
    uint64_t begin, end;
    uint32_t place;
};

/* Growing list, sorted and without overlap; all zero: an empty list. */
struct sbx_spans {
    struct sbx_span *spans;
    size_t count, room;
};

/* Append code of a place. It is joined with the last span if it continues it with the same place. Returns 0 or
 * -ENOMEM. */
int sbx_spans_add(struct sbx_spans *spans, struct sbx_span span);
void sbx_spans_finish(struct sbx_spans *spans);
/* The span that covers `address`; NULL: none. */
const struct sbx_span *sbx_spans_find(const struct sbx_spans *spans, uint64_t address);

#endif
