/* SPDX-License-Identifier: Apache-2.0 */
/* shared_hands.c - one page of places, found by hashing the address.
 *
 * This file knows nothing of threads or hooks, so that a test can drive it alone. */
#include "shared_hands.h"

#include <assert.h>
#include <stddef.h>

#include "order.h"

/* One cache line each, so that processes that use different objects do not share lines. */
struct place {
    uint64_t object; /* 0: free, or just being given to another object */
    uint64_t taken_by, let_go_by;
    uint32_t turns, is_returned;
    uint64_t spare[4];
};
static_assert(sizeof(struct place) * SBX_HANDS_PLACES == SBX_HANDS_BYTES, "the page is full of them");

static struct place *shared_places; /* NULL: this process shares nothing */

void sbx_hands_use(void *page)
{
    sbx_store_relaxed(&shared_places, page); /* relaxed: the page has zeroes or hints */
}

SBX_SIGNAL_SAFE static struct place *place_of(uint64_t object)
{
    struct place *first = sbx_load_relaxed(&shared_places);
    return first != NULL && object != 0 ? first + (object * UINT64_C(0x9e3779b97f4a7c15) >> 58) : NULL;
}
static_assert(SBX_HANDS_PLACES == 1 << (64 - 58), "as many as the shift leaves");

/* Every word is relaxed, as the header says. */

SBX_SIGNAL_SAFE static struct place *claim(uint64_t object)
{
    struct place *place = place_of(object);
    if (place != NULL && sbx_load_relaxed(&place->object) != object) {
        sbx_store_relaxed(&place->object, 0);
        sbx_store_relaxed(&place->taken_by, 0);
        sbx_store_relaxed(&place->let_go_by, 0);
        sbx_store_relaxed(&place->is_returned, 0);
        sbx_store_relaxed(&place->object, object);
    }
    return place;
}

SBX_SIGNAL_SAFE void sbx_hands_taken(uint64_t object, uint64_t who)
{
    struct place *place = claim(object);
    if (place != NULL && sbx_load_relaxed(&place->taken_by) != who) {
        sbx_store_relaxed(&place->taken_by, who);
    }
}

SBX_SIGNAL_SAFE void sbx_hands_let_go(uint64_t object, uint64_t who)
{
    struct place *place = claim(object);
    if (place != NULL) {
        sbx_store_relaxed(&place->is_returned, sbx_load_relaxed(&place->taken_by) == who);
        sbx_store_relaxed(&place->let_go_by, who);
        sbx_add_relaxed(&place->turns, 1);
    }
}

SBX_SIGNAL_SAFE bool sbx_hands_find(uint64_t object, struct sbx_hands *hands_out)
{
    const struct place *place = place_of(object);
    if (place == NULL || sbx_load_relaxed(&place->object) != object) {
        return false;
    }
    *hands_out = (struct sbx_hands){.taken_by = sbx_load_relaxed(&place->taken_by),
                                    .let_go_by = sbx_load_relaxed(&place->let_go_by),
                                    .turns = sbx_load_relaxed(&place->turns),
                                    .is_returned = sbx_load_relaxed(&place->is_returned) != 0};
    return sbx_load_relaxed(&place->object) == object;
}

uint64_t sbx_hands_next(const struct sbx_hands *hands)
{
    return hands->is_returned || hands->let_go_by == 0 ? hands->taken_by : hands->let_go_by;
}
