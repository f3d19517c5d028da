/* SPDX-License-Identifier: Apache-2.0 */
/* name_ring.c - a bounded queue with many writers and one reader, without locks. */
#include "name_ring.h"

#include "order.h"
#include "pages.h"

struct slot {
    uint64_t turn;
    struct sbx_told_name name;
};

static struct ring {
    uint64_t next, taken; /* tickets */
    uint64_t full;
    struct slot slots[SBX_NAMES];
} * the_ring;

bool sbx_name_ring_prepare(void)
{
    if (the_ring == NULL) {
        struct ring *ring = sbx_pages_map_wiped_on_fork(sizeof *ring);
        sbx_store_release(&the_ring, ring); /* order: release name_ring - it is zeroed */
    }
    return the_ring != NULL;
}

/* No memcpy: this runs in handlers. */
static uint32_t copy(char *to, size_t room, const char *from, size_t bytes)
{
    uint32_t count = (uint32_t)(bytes < room ? bytes : room);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = from[i];
        __asm__ volatile("" : : : "memory");
    }
    return count;
}

SBX_SIGNAL_SAFE bool sbx_name_ring_tell(uint32_t provider, uint64_t function, uint32_t line, const char *source,
                                        size_t source_bytes, const char *name, size_t name_bytes)
{
    struct ring *ring = sbx_load_acquire(&the_ring); /* order: acquire name_ring */
    if (ring == NULL) {
        return false;
    }
    uint64_t ticket = sbx_load_relaxed(&ring->next); /* relaxed: the swap below decides */
    struct slot *slot;
    do {
        slot = &ring->slots[ticket % SBX_NAMES];
        /* order: acquire name_ring.turn - its reader is done with it */
        if (sbx_load_acquire(&slot->turn) != ticket / SBX_NAMES * 2) {
            if (sbx_load_relaxed(&ring->next) != ticket) {
                ticket = sbx_load_relaxed(&ring->next); /* another writer took the ticket */
                continue;
            }
            sbx_add_relaxed(&ring->full, 1); /* relaxed: statistics */
            return false;
        }
        if (sbx_cas_acq_rel(&ring->next, &ticket, ticket + 1)) { /* order: nothing is read through it */
            break;
        }
    } while (true);
    size_t cut = source_bytes > SBX_NAME_SOURCE_MAX ? source_bytes - SBX_NAME_SOURCE_MAX : 0;
    slot->name.function = function;
    slot->name.provider = provider;
    slot->name.line = line;
    slot->name.source_bytes = copy(slot->name.source, sizeof slot->name.source, source + cut, source_bytes - cut);
    slot->name.name_bytes = copy(slot->name.name, sizeof slot->name.name, name, name_bytes);
    sbx_store_release(&slot->turn, ticket / SBX_NAMES * 2 + 1); /* order: release name_ring.turn - the name is whole */
    return true;
}

bool sbx_name_ring_take(struct sbx_told_name *name_out)
{
    struct ring *ring = sbx_load_acquire(&the_ring); /* order: acquire name_ring */
    if (ring == NULL) {
        return false;
    }
    uint64_t ticket = ring->taken;
    struct slot *slot = &ring->slots[ticket % SBX_NAMES];
    /* order: acquire name_ring.turn - the name is whole */
    if (sbx_load_acquire(&slot->turn) != ticket / SBX_NAMES * 2 + 1) {
        return false;
    }
    *name_out = slot->name;
    /* order: release name_ring.turn - its reader is done with it */
    sbx_store_release(&slot->turn, (ticket / SBX_NAMES + 1) * 2);
    ring->taken = ticket + 1;
    return true;
}

uint64_t sbx_name_ring_full_count(void)
{
    struct ring *ring = sbx_load_acquire(&the_ring); /* order: acquire name_ring */
    return ring == NULL ? 0 : sbx_load_relaxed(&ring->full);
}
