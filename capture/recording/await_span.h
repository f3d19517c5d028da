/* SPDX-License-Identifier: Apache-2.0 */
/* await_span.h - how often a span is told in which what a thread ran was awaited (SBX_RECORD_AWAITED). Pure.
 *
 * Nobody knows when it will be over, and the trigger may come at any time: so one span is told again and again as it gets longer, each
 * time it has doubled. A reader takes the longest, which is half of the truth at least. */
#ifndef SBX_AWAIT_SPAN_H
#define SBX_AWAIT_SPAN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SBX_AWAITS_MAX = 64,              /* functions that are told */
    SBX_AWAITS_SHORTEST_NS = 10000000 /* shorter messages are not asked about, and shorter spans are not told */
};

/* Is a span that is known for `known_ns`, of which `told_ns` were told, to be told again? */
static inline bool sbx_awaits_are_due(uint64_t known_ns, uint64_t told_ns)
{
    return known_ns >= SBX_AWAITS_SHORTEST_NS && known_ns / 2 >= told_ns;
}

#endif
