/* SPDX-License-Identifier: Apache-2.0 */
/* parked_pages.c - parks replaced maps and rows until no walk can hold them, and has places for small maps. */
#include "parked_pages.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "pages.h"
#include "process_barrier.h"
#include "process_state.h"
#include "thread_registry.h"

enum {
    PARKED_MAX = 256,
    ROOM = 16,             /* for a map, and the rows that one change may leave unused */
    BATCH_COUNT = 16,      /* check all threads once for this many maps, or */
    BATCH_BYTES = 1 << 20, /* for this much memory */
    PLACES = BATCH_COUNT + 2,
    PLACE_BYTES = 4096, /* a map of some fifty modules */
};

/* A map of few modules lies here: as a mapping of its own, of which up to BATCH_COUNT stay, it would cost each fork
 * some 2 us. */
static _Alignas(64) uint8_t places[PLACES][PLACE_BYTES];
static bool place_is_taken[PLACES]; /* a child keeps the maps of its parent */

static struct {
    void *pages;
    size_t bytes;
} parked[PARKED_MAX];
static uint32_t parked_count;
static size_t parked_bytes;
SBX_OF_ONE_PROCESS(parked);
SBX_OF_ONE_PROCESS(parked_count);
SBX_OF_ONE_PROCESS(parked_bytes);

void *sbx_parked_pages_new(size_t bytes)
{
    for (uint32_t i = 0; bytes <= PLACE_BYTES && i < PLACES; i++) {
        if (!place_is_taken[i]) {
            place_is_taken[i] = true;
            memset(places[i], 0, bytes);
            return places[i];
        }
    }
    return sbx_pages_map(bytes);
}

static void let_go(void *pages, size_t bytes)
{
    uintptr_t at = (uintptr_t)pages - (uintptr_t)places; /* wraps, if it is below */
    if (at < sizeof places) {
        place_is_taken[at / PLACE_BYTES] = false;
    } else {
        munmap(pages, bytes);
    }
}

void sbx_parked_pages_inherit(const void *kept)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        place_is_taken[i] = (const void *)places[i] == kept;
    }
}

/* Unmap the parked pages if no walk can hold them any more. */
static void reclaim(void)
{
    if ((parked_count < BATCH_COUNT && parked_bytes < BATCH_BYTES) || !sbx_process_barrier_start() ||
        !sbx_process_barrier() || !sbx_thread_registry_is_quiet()) {
        return; /* the next put tries again */
    }
    for (uint32_t i = 0; i < parked_count; i++) {
        let_go(parked[i].pages, parked[i].bytes);
    }
    parked_count = 0;
    parked_bytes = 0;
}

bool sbx_parked_pages_have_room(void)
{
    if (parked_count + ROOM > PARKED_MAX) {
        reclaim();
    }
    return parked_count + ROOM <= PARKED_MAX;
}

bool sbx_parked_pages_put(void *pages, size_t bytes)
{
    bool has_room = parked_count < PARKED_MAX;
    if (has_room) {
        parked[parked_count].pages = pages;
        parked[parked_count].bytes = bytes;
        parked_count++;
        parked_bytes += bytes;
    }
    reclaim();
    return has_room;
}
