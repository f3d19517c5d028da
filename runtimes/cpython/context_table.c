/* SPDX-License-Identifier: Apache-2.0 */
/* context_table.c - the table. Each context has one possible place in it. */
#include "context_table.h"

#include <stddef.h>

#include "wiped_pages.h"

struct place {
    uint64_t context; /* 0: free; BUSY: a thread uses the place, and alone may use the rest */
    uint64_t id, task;
};

enum {
    BUSY = 1 /* no object's address */
};

static struct place *places;

bool context_table_prepare(void)
{
    if (places == NULL) {
        places = wiped_pages(CONTEXT_TABLE_PLACES * sizeof *places); /* CT4 */
    }
    return places != NULL;
}

/* Objects are at multiples of 16. Multiplication by the golden ratio spreads them (Knuth, TAOCP vol. 3, 6.4). */
static struct place *place_of(uint64_t context)
{
    return &places[(context * UINT64_C(0x9e3779b97f4a7c15) >> 40) % CONTEXT_TABLE_PLACES];
}

bool context_table_has(uint64_t context)
{
    /* relaxed: the thread that stored it held the interpreter lock, and so does the caller; take() checks again */
    return __atomic_load_n(&place_of(context)->context, __ATOMIC_RELAXED) == context;
}

struct context_item context_table_put(uint64_t context, uint64_t id, uint64_t task)
{
    struct place *place = place_of(context);
    /* order: acquire place.context - what was stored before is read below */
    uint64_t former_context = __atomic_exchange_n(&place->context, BUSY, __ATOMIC_ACQUIRE);
    if (former_context == BUSY) {
        return (struct context_item){context, id}; /* CT3 */
    }
    struct context_item former = {former_context, former_context != 0 ? place->id : 0};
    place->id = id;
    __atomic_store_n(&place->task, task, __ATOMIC_RELAXED); /* relaxed: released with the context */
    /* order: release place.context - a thread that finds the context also finds its item */
    __atomic_store_n(&place->context, context, __ATOMIC_RELEASE);
    return former;
}

uint64_t context_table_task(uint64_t context)
{
    return __atomic_load_n(&place_of(context)->task, __ATOMIC_RELAXED); /* relaxed: as above */
}

uint64_t context_table_take(uint64_t context)
{
    if (!context_table_has(context)) {
        return 0;
    }
    struct place *place = place_of(context);
    uint64_t expected = context;
    /* order: acquire place.context - its item is whole */
    if (!__atomic_compare_exchange_n(&place->context, &expected, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return 0;
    }
    uint64_t id = place->id;
    /* order: release place.context - the thread that uses the place next stores after this */
    __atomic_store_n(&place->context, 0, __ATOMIC_RELEASE);
    return id;
}
