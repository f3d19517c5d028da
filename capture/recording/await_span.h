/* SPDX-License-Identifier: Apache-2.0 */
/* await_span.h - how often a time span is recorded in which something awaited what a thread ran (SBX_RECORD_AWAITED).
 * Pure.
 *
 * The end of the span is not known in advance, and the trigger may come at any time. So one span is recorded again each
 * time that its length has doubled. A reader takes the longest record, which covers at least half of the span. */
#ifndef SBX_AWAIT_SPAN_H
#define SBX_AWAIT_SPAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_AWAITS_MAX = 64,              /* functions that are recorded */
    SBX_AWAITS_SHORTEST_NS = 10000000 /* shorter messages are not checked, and shorter spans are not recorded */
};

/* Must a span that has lasted `known_ns`, of which `told_ns` are recorded, be recorded again? */
static inline bool sbx_awaits_are_due(uint64_t known_ns, uint64_t told_ns)
{
    return known_ns >= SBX_AWAITS_SHORTEST_NS && known_ns / 2 >= told_ns;
}

#endif
