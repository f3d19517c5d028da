/* SPDX-License-Identifier: Apache-2.0 */
/* range_sweep.h - which one of overlapping ranges counts at each address. */
#ifndef SBX_RANGE_SWEEP_H
#define SBX_RANGE_SWEEP_H

#include <stddef.h>
#include <stdint.h>

struct sbx_range {
    uint64_t begin, end;
    uint32_t rank; /* if several cover an address, the greatest rank counts */
    uint32_t tag;  /* what the range belongs to */
};

/* A growing list of ranges; all zero: an empty list. */
struct sbx_ranges {
    struct sbx_range *ranges;
    size_t count, room;
};

/* Add one. An empty range covers nothing and is skipped. Returns 0 or -ENOMEM. */
int sbx_ranges_add(struct sbx_ranges *list, struct sbx_range range);
void sbx_ranges_finish(struct sbx_ranges *list);

/* Replace the ranges by those that count: sorted, without overlap, neighbours of one tag joined. Returns 0 or -ENOMEM;
 * after that the list is empty. */
int sbx_ranges_sweep(struct sbx_ranges *list);

/* The range of a swept list that covers `address`; NULL: none. */
const struct sbx_range *sbx_ranges_find(const struct sbx_ranges *list, uint64_t address);

#endif
